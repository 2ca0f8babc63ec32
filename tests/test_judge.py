"""The comparison of fixtures/README.md: what an expected value accepts, and where a difference is found."""

from __future__ import annotations

from typing import Any

import pytest

from compaction_conformance.judge import NOTHING, Difference, first_difference


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (1, 1.0),
        ({"tokens": 1e21}, {"tokens": 1000000000000000000000}),
        (12345678901234567890, 12345678901234567000),
        ("\ud83d", "\ud83d"),
        ([], []),
        ({"id": "<id:1>", "again": "<id:1>"}, {"id": "x1", "again": "x1"}),
        ({"at": "<time:1>", "ms": "<ms:1>"}, {"at": "2025-01-01T00:00:01.500Z", "ms": 1735689601500}),
        ({"ms": "<ms:1>"}, {"ms": 5}),
        (["<time:1>", "<ms:1>"], ["2024-02-29T23:59:59.999Z", 1709251199999]),
        ({"$lines": ["raw", {"a": 1}, ""]}, 'raw\n{ "a": 1.0 }\n'),
        ("<id:x>", "<id:x>"),
    ],
)
def test_accepts(want: Any, got: Any) -> None:
    assert first_difference(want, got, {"entries": ["e1"]}) is None


@pytest.mark.parametrize(
    ("want", "got", "pointer"),
    [
        (True, 1, ""),
        (0, False, ""),
        (None, 0, ""),
        ({"a": None}, {}, "/a"),
        ({}, {"a": None}, "/a"),
        ([1, 2], [1], "/1"),
        ([1], [1, 2], "/1"),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, "/a~1b/~0"),
        ("1", 1, ""),
        ("<id:1>", "e1", ""),
        ("<id:1>", "in-file", ""),
        ("<id:1>", "", ""),
        (["<id:1>", "<id:2>"], ["x", "x"], "/1"),
        (["<id:1>", "<id:1>"], ["x", "y"], "/1"),
        ("<time:1>", "2025-01-01", ""),
        (["<time:1>", "<ms:1>"], ["2025-01-01T00:00:01.500Z", 1735689601501], "/1"),
        (["<ms:1>", "<time:1>"], [1735689601501, "2025-01-01T00:00:01.500Z"], "/1"),
        ("<time:1>", "2026-99-99T00:00:00.000Z", ""),
        ("<time:1>", "2025-02-29T00:00:00.000Z", ""),
        ("<time:1>", "2025-01-01T24:00:00.000Z", ""),
        (["<time:1>", "<ms:1>"], ["2026-99-99T00:00:00.000Z", 5], "/0"),
        (["<ms:1>", "<time:1>"], [5, "2026-99-99T00:00:00.000Z"], "/1"),
        (["<time:1>", "<ms:1>"], ["2025-01-01T00:00:01.500Z", float("inf")], "/1"),
        ("<ms:1>", float("inf"), ""),
        ("<ms:1>", float("nan"), ""),
        ("<ms:1>", 10**400, ""),
        ({"$lines": [{"a": None}]}, '{"a": NaN}', "/0"),
        ("<ms:1>", 1.5, ""),
        ("<ms:1>", True, ""),
        ({"$lines": ["raw"]}, "raw\n", "/1"),
        ({"$lines": [{"a": 1}]}, "not json", "/0"),
        ({"$lines": []}, None, ""),
    ],
)
def test_finds_the_first_difference(want: Any, got: Any, pointer: str) -> None:
    params = {"entries": ["e1"], "content": '{"id": "in-file"}\nbroken'}
    found = first_difference(want, got, params)
    assert found is not None
    assert found.pointer == pointer


def test_an_absent_member_is_shown_as_nothing() -> None:
    assert first_difference({"messages": [1]}, {"messages": [1, 2]}) == Difference("/messages/1", NOTHING, 2)
    assert repr(NOTHING) == "nothing"


def test_a_value_nested_deeper_than_expected_is_a_difference() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    found = first_difference([[]], deep)
    assert found is not None
    assert found.pointer == "/0/0"
