"""The search for a cut at the edges of its range."""

from __future__ import annotations

from typing import Any

import pytest

from compaction_reference.cut_point import CutPoint, find, turn_start
from compaction_reference.errors import Refusal


def message(role: str, tokens: int) -> dict[str, Any]:
    text = "x" * 4 * tokens
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    return {"type": "message", "id": role, "message": {"role": role, "content": content}}


TURNS = [message("user", 5), message("assistant", 5), message("user", 5), message("assistant", 5)]


@pytest.mark.parametrize(
    ("budget", "cut"),
    [
        (5, CutPoint(3, 2)),
        (6, CutPoint(2)),
        (10, CutPoint(2)),
        (11, CutPoint(1, 0)),
        (99, CutPoint(0)),
        (0, CutPoint(3, 2)),
    ],
)
def test_the_budget_decides_where_the_cut_falls(budget: int, cut: CutPoint) -> None:
    assert find(TURNS, 0, 4, budget) == cut


def test_indices_count_from_the_start_of_the_list() -> None:
    assert find(TURNS, 2, 4, 5) == CutPoint(3, 2)


def test_a_range_without_a_place_to_cut_is_kept_whole() -> None:
    assert find([message("user", 1), message("toolResult", 9)], 1, 2, 1) == CutPoint(1)


def test_metadata_before_the_cut_goes_with_it() -> None:
    entries = [*TURNS[:2], {"type": "model_change", "id": "m"}, *TURNS[2:]]
    assert find(entries, 0, 5, 10).first_kept == 2


@pytest.mark.parametrize(("start", "end"), [(0, 5), (-1, 2)])
def test_a_range_outside_the_list_is_refused(start: int, end: int) -> None:
    with pytest.raises(Refusal):
        find(TURNS, start, end, 1)


def test_no_turn_starts_in_a_range_of_replies() -> None:
    assert turn_start(TURNS, 1, 1) == -1
    assert turn_start(TURNS, 1, 0) == 0
