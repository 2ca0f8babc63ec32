"""Token usages, as providers report them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

COSTS = ("input", "output", "cacheRead", "cacheWrite", "total")


def usage_of(
    input: int, output: int = 0, cache_read: int = 0, cache_write: int = 0, *, total: int | None = None
) -> dict[str, Any]:
    """A usage in tokens; without a total that is given, the total is the sum of the four parts. It cost nothing."""
    parts = {"input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write}
    return {**parts, "totalTokens": sum(parts.values()) if total is None else total, "cost": dict.fromkeys(COSTS, 0)}


def usages(max_tokens: int = 300, *, zero: bool = True) -> SearchStrategy[dict[str, Any]]:
    """Usages with all their members. Totals are the sum of the parts, another number, or (`zero`) 0.

    With `zero` a usage may count nothing at all, as failed answers and some providers report.
    """
    part = st.integers(0, max_tokens)
    totals = st.none() | st.integers(1, max_tokens)
    counted = st.builds(_counted, st.integers(1, max_tokens), part, part, part, totals)
    if not zero:
        return counted
    untotalled = st.builds(_counted, part, part, part, part, st.just(0))
    return st.one_of(counted, untotalled, st.just(usage_of(0)))


def _counted(input: int, output: int, cache_read: int, cache_write: int, total: int | None) -> dict[str, Any]:
    return usage_of(input, output, cache_read, cache_write, total=total)
