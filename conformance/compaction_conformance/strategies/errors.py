"""What providers say when a request fails, made from the pattern table of the specification."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from compaction_conformance.paths import spec_dir
from compaction_conformance.strategies.messages import assistant_message
from compaction_conformance.strategies.usage import usages

_PASSING = (
    "overloaded",
    "429",
    "503",
    "rate limit",
    "fetch failed",
    "socket hang up",
    "timed out",
    "too many requests",
)
_LASTING = ("insufficient_quota", "billing", "out of budget", "quota exceeded", "Monthly usage limit reached")
_PLAIN = ("no", "400 bad request", "invalid api key", "model not found", "content filtered", "null")


@cache
def table(name: str) -> tuple[str, ...]:
    """The examples of `patterns` or `exclusions`."""
    rows = json.loads((spec_dir() / "overflow-patterns.json").read_text(encoding="utf-8"))[name]
    return tuple(row["example"] for row in rows)


def overflow_errors() -> SearchStrategy[str]:
    """Texts that tell of an overflow, in the words of the table."""
    return st.sampled_from(table("patterns"))


def passing_errors() -> SearchStrategy[str]:
    """Texts of failures that may pass, and that are worth another try."""
    return st.sampled_from(_PASSING)


def lasting_errors() -> SearchStrategy[str]:
    """Texts of limits that last, beside words that would otherwise be worth another try."""
    return st.builds(lambda lasting, passing: f"{passing}: {lasting}", st.sampled_from(_LASTING), passing_errors())


def plain_errors() -> SearchStrategy[str]:
    """Texts that tell of neither."""
    return st.sampled_from(_PLAIN)


def provider_errors() -> SearchStrategy[str]:
    """Any of these."""
    return st.one_of(plain_errors(), overflow_errors(), passing_errors(), lasting_errors())


def failed_answers(texts: SearchStrategy[str] | None = None) -> SearchStrategy[dict[str, Any]]:
    """Answers that ended in an error with one of the texts."""
    chosen = provider_errors() if texts is None else texts
    return st.builds(lambda text, usage: assistant_message([], "error", usage, errorMessage=text), chosen, usages())
