"""Growth probes: how the time of an operation grows with the session, as ratios within one run.

Each operation is asked at n, 2n and 4n entries, and so is an implementation that does nothing. What an operation costs
is its time over the time of that echo, which grows with the size of the request and no faster. Where the cost itself
grows by more than `LIMIT` at both steps, the work is super-linear: advice, never a failure.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from compaction_conformance.expectation import Result
from compaction_conformance.generate import session_entries
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.schema_words import printable
from compaction_conformance.stdio import Stdio
from compaction_conformance.terminal import shown

LIMIT = 1.5
_STEPS = (1, 2, 4)
_RUNS = 5
_SETTINGS = {"enabled": True, "reserveTokens": 16384, "keepRecentTokens": 20000}
_BAR = 40

Params = Callable[[list[dict[str, Any]]], dict[str, Any]]

PROBES: dict[str, Params] = {
    "projection/messages": lambda entries: {"entries": entries},
    "tokens/of_projection": lambda entries: {"entries": entries},
    "compaction/prepare": lambda entries: {"entries": entries, "settings": _SETTINGS},
    "cut/find": lambda entries: {
        "entries": entries,
        "startIndex": 0,
        "endIndex": len(entries),
        "keepRecentTokens": 20000,
    },
    "session/path": lambda entries: {"entries": entries},
    "session/tree": lambda entries: {"entries": entries},
    "branch/prepare": lambda entries: {"entries": entries, "tokenBudget": 0},
}


@dataclass(frozen=True)
class Point:
    """Seconds at a number of entries, of the implementation and of the echo."""

    entries: int
    seconds: float
    echo: float

    @property
    def cost(self) -> float:
        return self.seconds / self.echo


@dataclass(frozen=True)
class Curve:
    """The points of one operation, by size; none, and the trouble, where it was not answered."""

    operation: str
    points: tuple[Point, ...]
    trouble: str = ""

    @property
    def ratios(self) -> list[float]:
        return [later.cost / earlier.cost for earlier, later in pairwise(self.points)]

    @property
    def superlinear(self) -> bool:
        return bool(self.ratios) and all(ratio > LIMIT for ratio in self.ratios)


def probe(side: Implementation, size: int, *, edition: str, profile: str, time_limit: float) -> Iterator[Curve]:
    """A curve for every probed operation that the implementation declares. Sessions are without compactions, so that
    all of the path is visited. `time_limit` is the echo's, in seconds a request; the implementation has its own."""
    sessions = {size * step: session_entries(size * step, compactions=0) for step in _STEPS}
    command = [sys.executable, "-m", "compaction_conformance.echo"]
    echo = Stdio(command, edition=edition, profile=profile, time_limit=time_limit)
    try:
        for operation, params in PROBES.items():
            if operation in side.description.operations:
                yield _curve(operation, params, sessions, side, echo)
    finally:
        echo.close()


def _curve(
    operation: str,
    params: Params,
    sessions: dict[int, list[dict[str, Any]]],
    side: Implementation,
    echo: Implementation,
) -> Curve:
    """The sizes take turns: a slower while of the machine slows all of them."""
    requests = {
        count: Request(operation, json.dumps(params(entries), separators=(",", ":")))
        for count, entries in sessions.items()
    }
    for count, request in requests.items():
        reply = call(side, request)
        if not isinstance(reply, Result):
            return Curve(operation, (), f"{count} entries: {shown(reply.shown())}")
    rounds = [
        {count: (_timed(side, request), _timed(echo, request)) for count, request in requests.items()}
        for _ in range(_RUNS)
    ]
    return Curve(
        operation,
        tuple(
            Point(count, min(each[count][0] for each in rounds), min(each[count][1] for each in rounds))
            for count in requests
        ),
    )


def _timed(side: Implementation, request: Request) -> float:
    start = time.perf_counter()
    call(side, request)
    return time.perf_counter() - start


def drawn(curve: Curve) -> str:
    """The curve as bars, and the word on it."""
    if not curve.points:
        return printable(f"{curve.operation}: not measured, {curve.trouble}")
    longest = max(point.seconds for point in curve.points)
    word = "super-linear" if curve.superlinear else "linear"
    growth = " and ".join(f"{ratio:.2f}" for ratio in curve.ratios)
    lines = [f"{curve.operation}: {word}; its cost grows by {growth} ({LIMIT} at both steps is too much)"]
    for point in curve.points:
        bar = "█" * round(point.seconds / longest * _BAR)
        lines.append(f"  {point.entries:>7} entries  {point.seconds * 1000:>9.1f} ms  {point.cost:>6.2f} × echo  {bar}")
    return "\n".join(lines)


def superlinear(curves: Sequence[Curve]) -> list[str]:
    """The operations that are advised against."""
    return [curve.operation for curve in curves if curve.superlinear]
