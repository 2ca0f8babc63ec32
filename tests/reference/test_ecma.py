"""The JavaScript facts, against what a real engine writes."""

from __future__ import annotations

import math

import pytest

from compaction_reference import ecma
from compaction_reference.errors import Refusal

# What JSON.stringify(JSON.parse(text)) gives.
NUMBERS = [
    ("0", "0"),
    ("-0.0", "0"),
    ("1.0", "1"),
    ("-1", "-1"),
    ("123.456", "123.456"),
    ("4.35", "4.35"),
    ("1e5", "100000"),
    ("1e20", "100000000000000000000"),
    ("123456789012345680000", "123456789012345680000"),
    ("1e21", "1e+21"),
    ("33e20", "3.3e+21"),
    ("1.5e300", "1.5e+300"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ("1e-6", "0.000001"),
    ("0.000001234", "0.000001234"),
    ("1e-7", "1e-7"),
    ("-2.5e-10", "-2.5e-10"),
    ("5e-324", "5e-324"),
    ("9007199254740993", "9007199254740992"),
    ("12345678901234567890", "12345678901234567000"),
]


@pytest.mark.parametrize(("written", "read_back"), NUMBERS)
def test_a_number_has_its_shortest_form(written: str, read_back: str) -> None:
    assert ecma.json_text(ecma.parse_json(written)) == read_back


def test_numbers_that_json_cannot_hold_become_null() -> None:
    assert ecma.json_text([math.nan, math.inf]) == "[null,null]"
    assert ecma.or_null(math.nan) is None
    assert ecma.string(-math.inf) == "-Infinity"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("é😀\u2028\u007f", '"é😀\u2028\u007f"'),
        ('\u0001"\\\n\b\f\r\t\u001f', '"\\u0001\\"\\\\\\n\\b\\f\\r\\t\\u001f"'),
        ("\ud83d", '"\\ud83d"'),
        ("\ud83d" + "\ude00", '"😀"'),
    ],
)
def test_json_escapes_only_what_it_must(text: str, written: str) -> None:
    assert ecma.json_text(text) == written


def test_fields_named_like_indices_come_first() -> None:
    value = ecma.parse_json('{"b":1,"10":2,"2":[true,null],"01":3,"-1":4}')
    assert ecma.json_text(value) == '{"2":[true,null],"10":2,"b":1,"01":3,"-1":4}'


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "{'a':1}", "[1,]", '"\t"', "\ufeff{}", ""])
def test_what_is_not_json_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ecma.parse_json(text)


@pytest.mark.parametrize(
    ("text", "units"), [("", 0), ("abc", 3), ("日本", 2), ("😀", 2), ("\ud83d", 1), ("e\u0301", 2)]
)
def test_length_counts_utf16_units(text: str, units: int) -> None:
    assert ecma.utf16_length(text) == units


def test_a_slice_can_cut_a_pair() -> None:
    assert ecma.utf16_slice("a😀b", 0, 2) == "a\ud83d"
    assert ecma.utf16_slice("a😀b", 1, 3) == "😀"


def test_sorting_goes_by_units() -> None:
    assert sorted(["\uff5e", "😀", "a", "B", "10", "9"], key=ecma.sort_key) == ["10", "9", "B", "a", "😀", "\uff5e"]


@pytest.mark.parametrize("value", [None, False, 0, -0.0, "", math.nan])
def test_falsy(value: object) -> None:
    assert not ecma.truthy(value)


@pytest.mark.parametrize("value", [True, 1, -1, " ", "0", [], {}, math.inf])
def test_truthy(value: object) -> None:
    assert ecma.truthy(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), (1.0, "1"), ([1, None, "a"], "1,,a"), ({}, "[object Object]")],
)
def test_values_inside_a_text(value: object, text: str) -> None:
    assert ecma.string(value) == text


def test_an_absent_field_reads_undefined() -> None:
    assert ecma.string_of({}, "summary") == "undefined"
    assert math.isnan(ecma.number_of({}, "input"))
    assert ecma.number_of({"input": None}, "input") == 0


def test_null_has_no_fields() -> None:
    with pytest.raises(Refusal) as refusal:
        ecma.members(None)
    assert refusal.value.kind == "malformed_input"
    assert ecma.members("text") == {}


@pytest.mark.parametrize(
    ("value", "is_safe"),
    [
        (0, True),
        (5.0, True),
        (2**53 - 1, True),
        (2**53, False),
        (0.5, False),
        (True, False),
        ("5", False),
        (math.inf, False),
    ],
)
def test_safe_integers(value: object, is_safe: bool) -> None:
    assert ecma.is_safe_integer(value) is is_safe


def test_trimming_takes_the_byte_order_mark_and_leaves_zero_width_spaces() -> None:
    assert ecma.trim("\ufeff\u00a0 a\u200b \u2029") == "a\u200b"
