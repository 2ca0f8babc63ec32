"""Reading, migrating and writing the text of a session file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from compaction_reference.errors import Refusal
from compaction_reference.session_file import FileMakers, open_file, text_after_appends

HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}'
AT = "2025-01-01T00:00:00.000Z"
USER = {"type": "message", "message": {"role": "user", "content": "hi", "timestamp": 1}}
REPLY = {"type": "message", "message": {"role": "assistant", "content": [], "timestamp": 2}}


@pytest.fixture
def makers() -> FileMakers:
    numbers: Iterator[int] = iter(range(1, 1000))
    return FileMakers(lambda: f"id{next(numbers)}", lambda: AT, lambda: "session-1", lambda: "/w")


def test_a_torn_line_is_closed_and_passed_over() -> None:
    opened = open_file(HEADER + '\n{"type":"custom","id":"a"}\n{"type":"cus')
    assert [entry["id"] for entry in opened.entries] == ["a"]
    assert opened.text is not None
    assert opened.text.endswith('{"type":"cus\n')


@pytest.mark.parametrize(
    "content", [" ", "\n", "hello\n", "\ufeff" + HEADER + "\n", '{"type":"session","id":5}\n', "42\n"]
)
def test_content_without_a_header_is_no_session(content: str) -> None:
    with pytest.raises(Refusal) as refusal:
        open_file(content)
    assert refusal.value.kind == "not_a_session"


def test_a_line_nested_too_deeply_is_not_passed_over() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(RecursionError):
        open_file(f"{HEADER}\n{deep}\n")


def test_version_1_is_chained_and_its_places_become_ids(makers: FileMakers) -> None:
    lines: list[Any] = [
        {"type": "session", "id": "s"},
        USER,
        {"type": "message", "message": {"role": "hookMessage", "content": "x"}},
        {"type": "compaction", "summary": "S", "firstKeptEntryIndex": 2},
    ]
    opened = open_file("".join(json.dumps(line) + "\n" for line in lines), makers)
    assert [(entry["id"], entry["parentId"]) for entry in opened.entries] == [
        ("id1", None),
        ("id2", "id1"),
        ("id3", "id2"),
    ]
    assert opened.entries[1]["message"]["role"] == "custom"
    assert opened.entries[2] == {
        "type": "compaction",
        "summary": "S",
        "id": "id3",
        "parentId": "id2",
        "firstKeptEntryId": "id2",
    }
    assert opened.header["version"] == 3
    assert opened.text is not None
    assert "firstKeptEntryIndex" not in opened.text


def test_a_file_is_created_with_the_first_answer(makers: FileMakers) -> None:
    assert text_after_appends(None, [USER], makers) is None
    text = text_after_appends(None, [USER, REPLY], makers)
    assert text is not None
    header, user, reply = map(json.loads, text.splitlines())
    assert header == {"type": "session", "version": 3, "id": "session-1", "timestamp": AT, "cwd": "/w"}
    assert reply["parentId"] == user["id"]


def test_an_existing_file_grows_at_its_end_alone(makers: FileMakers) -> None:
    before = HEADER + "\nnot json\n"
    after = text_after_appends(before, [USER], makers)
    assert after is not None
    assert after.startswith(before)
    assert len(after.splitlines()) == 3


def test_made_ids_are_of_the_usual_shape() -> None:
    text = text_after_appends("", [USER])
    assert text is not None
    header, entry = map(json.loads, text.splitlines())
    assert header["id"][14] == "7"
    assert len(entry["id"]) == 8
