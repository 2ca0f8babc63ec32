"""The overflow pattern table: examples match, near misses do not, and every engine reads it alike and cheaply."""

from __future__ import annotations

import json
import re
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

FILE = Path(__file__).parents[1] / "spec" / "overflow-patterns.json"
TABLE: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
GROUPS = {"patterns": ("OVP", 24), "exclusions": ("OVX", 3), "providerRules": ("OVC", 1)}
ROWS: list[Row] = [row for group in GROUPS for row in TABLE[group]]
FOLD = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])

# The portable subset: literals, classes, (?:), |, ?, *, +, a leading ^ and these escapes, all in small letters.
ESCAPES = set("tnfr()") | {"x0b"}
TOKEN = re.compile(r"\\(?P<escape>x[0-9a-f]{2}|.)|\((?P<open>\?:|\?|)|(?P<other>.)", re.DOTALL)

# Texts that tempt a backtracking engine to walk them again and again: a beginning, and what is repeated after it.
BEGINNINGS = (
    "",
    "400",
    "input token count",
    "exceeds maximum context length",
    "exceeds maximum context length of ",
    "maximum context length is ",
    "prompt has ",
    "input (",
)
REPEATED = (
    "input token count",
    "input token coun ",
    "i",
    " ",
    "1",
    "1,",
    "400",
    "exceeds the ",
    "exceeds maximum context length ",
)


def matches(row: Row, text: str) -> bool:
    """What the note of the table asks for: lower the ASCII letters, then search."""
    return _compiled(row["regex"]).search(text.translate(FOLD)) is not None


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


@pytest.mark.parametrize("group", GROUPS)
def test_ids_count_up_without_a_gap(group: str) -> None:
    prefix, count = GROUPS[group]
    assert [row["id"] for row in TABLE[group]] == [f"{prefix}-{number:02d}" for number in range(1, count + 1)]


@EVERY_ROW
def test_an_example_matches_its_own_row(row: Row) -> None:
    assert matches(row, row["example"])


@pytest.mark.parametrize("row", TABLE["patterns"], ids=lambda row: row["id"])
def test_an_example_names_one_pattern(row: Row) -> None:
    also = {"OVP-20": ["OVP-01"]}.get(row["id"], [])
    assert [other["id"] for other in TABLE["patterns"] if matches(other, row["example"])] == [*also, row["id"]]


@pytest.mark.parametrize("group", GROUPS)
def test_a_near_miss_matches_no_row_of_its_kind(group: str) -> None:
    rows: list[Row] = TABLE[group]
    assert [(row["id"], other["id"]) for row in rows for other in rows if matches(other, row["nearMiss"])] == []


@EVERY_ROW
def test_a_near_miss_is_near(row: Row) -> None:
    words, near = (set(re.findall("[a-z0-9]+", row[key].translate(FOLD))) for key in ("example", "nearMiss"))
    assert row["example"] != row["nearMiss"]
    assert len(words & near) >= len(words) / 2


@EVERY_ROW
def test_a_regex_stays_in_the_portable_subset(row: Row) -> None:
    assert _foreign_parts(row["regex"]) == []


@pytest.mark.parametrize(
    "regex",
    [
        r"\d",
        r"\s",
        r"\w",
        r"\b",
        "(?=b)",
        "(?!b)",
        "(?<=a)",
        "(a)",
        r"\1",
        "(?P<n>a)",
        "a.b",
        "a{2}",
        "A",
        "a$",
        "a^b",
        r"\u00a0",
    ],
)
def test_the_lint_names_what_engines_read_differently(regex: str) -> None:
    assert _foreign_parts(regex) != []


@EVERY_ROW
def test_only_ascii_letters_fold(row: Row) -> None:
    example: str = row["example"]
    assert matches(row, example.upper())
    assert matches(row, example.lower())
    for plain, strange in (("s", "\u017f"), ("k", "\u212a"), ("i", "\u0131"), ("i", "\u0130")):
        text = example.lower().replace(plain, strange)
        assert not matches(row, text) or matches(row, example.lower().replace(plain, "\u2603"))


@EVERY_ROW
def test_an_engines_own_ascii_fold_gives_the_same_answer(row: Row) -> None:
    own = re.compile(row["regex"], re.IGNORECASE | re.ASCII)
    texts = [variant for other in ROWS for text in (other["example"], other["nearMiss"]) for variant in _variants(text)]
    assert [bool(own.search(text)) for text in texts] == [matches(row, text) for text in texts]


@EVERY_ROW
def test_the_cost_of_a_megabyte_grows_with_its_length(row: Row) -> None:
    size = 1_000_000
    for beginning in BEGINNINGS:
        for unit in REPEATED:
            if _grows_faster_than_its_text(row, beginning, unit, size):
                pytest.fail(f"{row['id']} walks {beginning!r} + {unit!r} * n more than once")


def _grows_faster_than_its_text(row: Row, beginning: str, unit: str, size: int) -> bool:
    """Whether two doublings in a row each take more than three times as long.

    One doubling may, where the engine's memory outgrows what the allocator had at hand. Small texts come first, so
    that a quadratic regex is found out before it has a megabyte to chew on.
    """
    for at in (size // 32, size // 4):
        if _seconds(row, beginning, unit, 4 * at) < 0.02:
            continue
        if all(_doubling_ratio(row, beginning, unit, at, repeats) > 3 for repeats in (1, 3)):
            return True
    return False


def _doubling_ratio(row: Row, beginning: str, unit: str, at: int, repeats: int) -> float:
    """The smaller of the two ratios between `at`, twice and four times that, each from the best of some runs."""
    once, twice, fourfold = (
        min(_seconds(row, beginning, unit, size) for _ in range(repeats)) for size in (at, 2 * at, 4 * at)
    )
    return min(twice / once, fourfold / twice)


def _seconds(row: Row, beginning: str, unit: str, size: int) -> float:
    text = beginning + unit * (size // len(unit))
    pattern = _compiled(row["regex"])
    start = time.process_time()
    pattern.search(text)
    return time.process_time() - start


def test_the_plain_form_of_a_gap_is_caught_by_the_measurement() -> None:
    plain = {"id": "plain", "regex": "input token count.*exceeds the maximum"}
    assert _grows_faster_than_its_text(plain, "", "input token count", 250_000)


def _variants(text: str) -> list[str]:
    swapped = text.swapcase().replace("s", "\u017f").replace("K", "\u212a")
    return [text, text.upper(), text.lower(), swapped, json.dumps(text), f"\n{text}", text.replace(" ", "\u00a0")]


def _foreign_parts(regex: str) -> list[str]:
    """The parts that do not mean the same in JavaScript, Python's re and RE2, or that hide a capital letter."""
    bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "[]", regex)
    found: list[str] = re.findall("[A-Z]", regex)
    found += [f"\\{escape}" for escape in re.findall(r"\\(x[0-9a-f]{2}|.)", regex) if escape not in ESCAPES]
    for place, token in ((match.start(), match) for match in TOKEN.finditer(bare)):
        if token["open"] is not None and token["open"] != "?:":
            found.append("(" + token["open"])
        if token["other"] in {".", "$", "{", "}"} or (token["other"] == "^" and place > 0):
            found.append(token["other"])
    return found
