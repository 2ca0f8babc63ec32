"""Properties of overflow detection and of what is worth another try."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from compaction_conformance.properties.base import Ask, equal, holds, prop
from compaction_conformance.strategies import (
    failed_answers,
    lasting_errors,
    overflow_errors,
    passing_errors,
    provider_errors,
)
from compaction_conformance.strategies.errors import plain_errors, table
from compaction_conformance.strategies.messages import assistant_message
from compaction_conformance.strategies.usage import usage_of

_OVERFLOW, _LENGTH, _RETRY = "overflow/is_overflow", "overflow/is_recoverable_length", "retry/is_retryable"
_WINDOWS = st.sampled_from([None, 1000, 200_000])
_NOISE = st.text('ab {}"\n:0', max_size=8)
_STOPS = st.sampled_from(["stop", "length", "toolUse", "error", "aborted"])
_TOKENS = st.integers(0, 1200)
_COUNTED = st.builds(usage_of, _TOKENS, st.integers(0, 3), _TOKENS, _TOKENS)
_FINISHED = st.builds(lambda stop, usage: assistant_message([], stop, usage), _STOPS, _COUNTED)


def _overflows(ask: Ask, message: Any, window: Any = None) -> bool:
    known = {} if window is None else {"contextWindow": window}
    return bool(ask(_OVERFLOW, {"message": message, **known})["overflow"])


@prop("OVF-anywhere", rules="OVF-05 OVF-01", asks=_OVERFLOW, given=st.tuples(_NOISE, overflow_errors(), _NOISE))
def a_phrase_counts_anywhere(ask: Ask, parts: tuple[str, str, str]) -> None:
    """A text that holds the words of an overflow is one, whatever stands before and after them."""
    answer = assistant_message([], "error", errorMessage=" ".join(parts))
    equal(_OVERFLOW, True, _overflows(ask, answer), at="/overflow")


@prop(
    "OVF-exclusions",
    rules="OVF-06",
    asks=_OVERFLOW,
    given=st.tuples(st.sampled_from(table("exclusions")), _NOISE, overflow_errors()),
)
def an_exclusion_beats_every_pattern(ask: Ask, parts: tuple[str, str, str]) -> None:
    """A text that holds the words of an exclusion is no overflow, whatever follows."""
    answer = assistant_message([], "error", errorMessage=" ".join(parts))
    equal(_OVERFLOW, False, _overflows(ask, answer), at="/overflow")


@prop(
    "OVF-case",
    rules="OVF-07",
    asks=_OVERFLOW,
    given=st.tuples(provider_errors(), st.sampled_from([str.upper, str.lower, str.swapcase])),
)
def case_never_matters(ask: Ask, example: tuple[str, Any]) -> None:
    """The answer for a text is the same in capitals and small letters."""
    text, change = example
    one, other = (assistant_message([], "error", errorMessage=each) for each in (text, change(text)))
    ask.same(_OVERFLOW, {"message": one}, {"message": other})


@prop("OVF-error-alone", rules="OVF-09 OVF-10", asks=_OVERFLOW, given=st.tuples(failed_answers(), _WINDOWS, _COUNTED))
def an_error_needs_neither_window_nor_usage(ask: Ask, example: tuple[Any, Any, Any]) -> None:
    """The answer for an error does not depend on window, usage, model and provider."""
    answer, window, usage = example
    other = {**answer, "usage": usage, "provider": "other", "model": "other"}
    equal(_OVERFLOW, _overflows(ask, answer), _overflows(ask, other, window), at="/overflow")


@prop("OVF-stop-reason", rules="OVF-02", asks=_OVERFLOW, given=st.tuples(overflow_errors(), _FINISHED, _WINDOWS))
def the_text_counts_after_an_error_alone(ask: Ask, example: tuple[str, Any, Any]) -> None:
    """The error text of an answer that did not fail is not looked at, and content never is."""
    text, answer, window = example
    if answer["stopReason"] != "error":
        said = {**answer, "errorMessage": text, "content": [{"type": "text", "text": text}]}
        equal(_OVERFLOW, _overflows(ask, answer, window), _overflows(ask, said, window), at="/overflow")


@prop("OVF-plain", rules="OVF-04 OVF-03", asks=_OVERFLOW, given=st.one_of(plain_errors(), st.just("")))
def other_errors_are_none(ask: Ask, text: str) -> None:
    """An error text without such words is no overflow, and neither is an error without a text."""
    answer = assistant_message([], "error", usage_of(10**6), errorMessage=text)
    equal(_OVERFLOW, False, _overflows(ask, answer, 1000), at="/overflow")


@prop(
    "OVF-silent",
    rules="OVF-41 OVF-42 OVF-43 OVF-44 OVF-45 OVF-46 OVF-47",
    asks=_OVERFLOW,
    given=st.tuples(_FINISHED, st.sampled_from([None, 0, -1, 1, 500])),
)
def a_silent_overflow_is_counted(ask: Ask, example: tuple[Any, Any]) -> None:
    """Without an error an answer overflows when its input is above the window, or fills it and nothing came out."""
    answer, room = example
    usage, stop = answer["usage"], answer["stopReason"]
    given = usage["input"] + usage["cacheRead"]
    window = None if room is None or given + room < 1 else given + room
    silent = stop == "stop" and window is not None and given > window
    filled = stop == "length" and window is not None and usage["output"] == 0 and given >= window * 0.99
    equal(_OVERFLOW, silent or filled, _overflows(ask, answer, window), at="/overflow")


@prop("OVF-length", rules="OVF-48 OVF-49 OVF-50 OVF-51", asks=_LENGTH, given=st.tuples(_FINISHED, st.integers(-1, 5)))
def a_length_stop_is_recoverable_below_the_limit(ask: Ask, example: tuple[Any, int]) -> None:
    """An answer that broke off is recoverable when less came out than was wanted, and something was."""
    answer, wanted = example
    want = answer["stopReason"] == "length" and answer["usage"]["output"] < wanted
    found = ask(_LENGTH, {"message": answer, "desiredMaxOutput": wanted})["recoverable"]
    equal(_LENGTH, want, found, at="/recoverable")


@prop(
    "RTY-passing",
    rules="SUM-60",
    asks=_RETRY,
    given=st.tuples(passing_errors(), st.sampled_from([str.upper, str.lower]), _STOPS),
)
def what_may_pass_is_worth_another_try(ask: Ask, example: tuple[str, Any, str]) -> None:
    """A failure that may pass is worth another try in any letter case, and only after an error."""
    text, change, stop = example
    answer = assistant_message([], stop, errorMessage=change(text))
    equal(_RETRY, stop == "error", ask(_RETRY, {"message": answer})["retryable"], at="/retryable")


@prop(
    "RTY-lasting",
    rules="SUM-61 SUM-60",
    asks=_RETRY,
    given=st.one_of(lasting_errors(), plain_errors().filter(lambda text: "4" not in text)),
)
def what_lasts_is_not_tried_again(ask: Ask, text: str) -> None:
    """A limit that lasts is not tried again, whatever else the text says, and neither is an unknown error."""
    answer = assistant_message([], "error", errorMessage=text)
    found = ask(_RETRY, {"message": answer})["retryable"]
    holds(found is False, _RETRY, "it is tried again", "/retryable", False, found)
