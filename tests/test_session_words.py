"""What is shown of the text of a session file: entries by name, and what a reader could not see."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from compaction_conformance.terminal import describe_input

HEADER = json.dumps({"type": "session", "version": 3, "id": "s-1"})
SAID = json.dumps({"type": "message", "id": "u1", "message": {"role": "user", "content": "a"}})


def shown(*lines: str, end: str = "\n") -> str:
    return describe_input({"content": "\n".join(lines) + end})


def test_lines_are_shown_as_entries() -> None:
    assert shown(HEADER, SAID) == "content: s-1 session 3 · u1 user"
    assert shown(HEADER, SAID, end="") == "content: s-1 session 3 · u1 user · (no line feed at the end)"
    assert "no line feed" not in shown(HEADER, "x" * 2_000_000)
    assert describe_input({"content": ""}) == "content: an empty text"
    assert describe_input({"content": None}) == "content=null"


@pytest.mark.parametrize(
    ("char", "escape"),
    [
        ("\u2028", "\\u2028"),
        ("\xa0", "\\xa0"),
        ("\ufeff", "\\ufeff"),
        ("\r", "\\r"),
        ("\x85", "\\x85"),
        ("\x00", "\\x00"),
        ("\ud800", "\\ud800"),
    ],
)
def test_an_odd_character_is_shown_where_it_stands(char: str, escape: str) -> None:
    assert f"d{escape}e" in shown(HEADER, SAID.replace('"a"', f'"{"x" * 300}d{char}e{"x" * 300}"'))
    assert shown(HEADER + char, SAID).startswith("content: ")
    assert f'3, "id": "s-1"}}{escape}`'[-len(escape) - 3 :] in shown(HEADER + char, SAID)
    assert f"`{escape}`" in shown(HEADER, char, SAID)


def test_a_line_that_is_no_json_is_shown_from_where_it_breaks() -> None:
    assert f"…{SAID[-12:]}{SAID[:20]}" in shown(HEADER, SAID + SAID)
    assert "`not json`" in shown(HEADER, "not json")
    assert shown(HEADER, "42", "", "[]").endswith("· `42` · a blank line · `[]`")
    assert "NaN" in shown(HEADER, '{"a": NaN}')


def test_few_of_many_lines_are_shown_and_the_odd_ones_among_them() -> None:
    lines = [SAID.replace("u1", f"u{number}") for number in range(500)]
    lines[300] += "\r"
    text = shown(HEADER, *lines)
    assert text.startswith("content: s-1 session 3 · u0 user · u1 user · ")
    assert " · … · u300 user `" in text
    assert text.endswith(" · (495 more lines)")
    assert len(shown(*["x" * 10_000] * 500)) < 1_000


def test_bytes_are_shown_as_text_with_escapes_for_what_is_none() -> None:
    data = f"{HEADER}\n".encode() + SAID.encode().replace(b'"a"', b'"a\xe2\x82b"') + b"\n"
    text = describe_input({"contentBase64": base64.b64encode(data).decode()})
    assert text.startswith("contentBase64: s-1 session 3 · ")
    assert '"a\\xe2\\x82b"' in text
    for odd in ("%%%", 5, None):
        assert describe_input({"contentBase64": odd}) == f"contentBase64={json.dumps(odd)}"


def test_drafts_are_shown_by_type_and_role() -> None:
    drafts: list[Any] = [{"type": "message", "message": {"role": "user"}}, {"type": "label", "targetId": "u1"}]
    assert describe_input({"drafts": drafts}) == "drafts: user · label→u1"
    assert describe_input({"drafts": []}) == "drafts: none"


def test_a_line_that_is_nested_too_deeply_is_shown_in_part() -> None:
    assert len(shown(HEADER, "[" * 200_000)) < 300
