"""Weights of messages and the trust in what a provider counted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from compaction_reference import tokens
from compaction_reference.errors import Refusal


def reply(**usage: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [], "usage": usage, "stopReason": "stop"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("😀😀", 1), ([{"type": "image"}], 1200), ([{"type": "text", "text": ""}], 0)],
)
def test_four_units_are_a_token(content: Any, expected: int) -> None:
    assert tokens.of_message({"role": "user", "content": content}) == expected


def test_arguments_weigh_what_javascript_writes() -> None:
    call = {"type": "toolCall", "name": "t", "arguments": {"a": 1.0, "b": 1e21}}
    assert tokens.of_message({"role": "assistant", "content": [call]}) == math.ceil(len('t{"a":1,"b":1e+21}') / 4)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": 5},
        {"role": "assistant", "content": [{"type": "toolCall", "name": "t"}]},
        {"role": "assistant", "content": [{"type": "text"}]},
        {"role": "assistant", "content": [None]},
        {"role": "compactionSummary"},
    ],
)
def test_what_has_no_length_is_refused(message: Any) -> None:
    with pytest.raises(Refusal) as refusal:
        tokens.of_message(message)
    assert refusal.value.kind == "malformed_input"


def test_a_length_of_something_else_is_no_number() -> None:
    assert math.isnan(tokens.of_message({"role": "assistant", "content": [{"type": "text", "text": 5}]}))


def test_the_total_stands_for_the_parts() -> None:
    assert tokens.from_usage({"totalTokens": 7, "input": 100}) == 7
    assert tokens.from_usage({"totalTokens": 0, "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": None}) == 6
    assert math.isnan(tokens.from_usage({"totalTokens": 0, "input": 1}))


@pytest.mark.parametrize("total", [0, -5, None])
def test_a_usage_that_counted_nothing_is_not_usable(total: Any) -> None:
    assert tokens.usable_usage(reply(totalTokens=total)) is None


def test_the_newest_usage_anchors_the_context() -> None:
    messages = [reply(totalTokens=5), reply(totalTokens=100), {"role": "user", "content": "abcde"}]
    expected = {"tokens": 102, "usageTokens": 100, "trailingTokens": 2, "lastUsageIndex": 1}
    assert tokens.of_context(messages) == expected
