"""What a regex costs on long texts that tempt it to walk them again, measured in a child with a time limit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from compaction_conformance.errors import InvalidInput
from compaction_conformance.overflow.worker import SIZES

MEGABYTE_SECONDS = 0.05  # what a megabyte may cost
_GROWTH = 3.0  # time at twice the length over time at the length; 2 is linear, 4 is quadratic
_SOUND = 0.004  # seconds; shorter times are noise
_UNITS = 14


@dataclass(frozen=True)
class Cost:
    """The dearest text. `seconds` is for a megabyte, or for as much of it as was tried; `growth` as defined above."""

    beginning: str
    unit: str
    seconds: float
    size: int
    growth: float

    @property
    def linear(self) -> bool:
        return self.growth < _GROWTH


@dataclass(frozen=True)
class Trial:
    """What came of trying a regex. `matches` is None where it did not end in time on the texts themselves."""

    matches: frozenset[int] | None
    cost: Cost | None
    finished: bool


def try_regex(regex: str, texts: Sequence[str], time_limit: float) -> Trial:
    """Search the texts and measure the cost, for no longer than a time limit in seconds.

    Raises `InvalidInput` for what is no regex.
    """
    task = {"regex": regex, "texts": list(texts), "repeated": tempting_texts(regex)}
    command = [sys.executable, "-m", "compaction_conformance.overflow.worker"]
    finished = True
    try:
        done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=time_limit)
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        finished = False
        output = late.stdout.decode("utf-8", "replace") if isinstance(late.stdout, bytes) else late.stdout or ""
    told = [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith("\n")]
    if told and "error" in told[0]:
        raise InvalidInput(f"is no regex: {told[0]['error']}", where=repr(regex))
    if finished and len(told) != 1 + len(task["repeated"]):
        raise InvalidInput("the trial of the regex broke down", where=repr(regex), remedy="try a smaller one")
    return Trial(frozenset(told[0]["matches"]) if told else None, _dearest(told[1:]), finished)


def tempting_texts(regex: str) -> list[tuple[str, str]]:
    """(beginning, unit) pairs made of the regex's own letters: words, their starts, single characters, blanks."""
    words = [word for word in re.findall(r"[a-z0-9_][a-z0-9_ '-]*", _plain(regex)) if word.strip()]
    units = [
        " ",
        "a",
        "1",
        "1,",
        "(",
        *words,
        *(f"{word} " for word in words),
        *(word[:-1] for word in words if len(word) > 1),
    ]
    units = list(dict.fromkeys(unit for unit in units if unit))[: 4 * _UNITS]
    beginnings = ["", *dict.fromkeys(words)][: _UNITS // 2]
    return [("", unit) for unit in units] + [(start, unit) for start in beginnings[1:] for unit in (" ", "a", "1")]


def _plain(regex: str) -> str:
    """The regex without its operators."""
    return re.sub(r"\(\?:|\\.|\[(?:\\.|[^\]\\])*\]|[()|?*+^$.{}]", "\x00", regex.lower())


def _dearest(measured: Sequence[Any]) -> Cost | None:
    costs = [_cost(one) for one in measured if one["seconds"]]
    return max(costs, key=lambda cost: (not cost.linear, cost.seconds / cost.size), default=None)


def _cost(one: Any) -> Cost:
    times = one["seconds"]
    ratios = [later / sooner for sooner, later in pairwise(times) if sooner >= _SOUND]
    # one doubling may jump where a cache overflows; two in a row do not
    growth = max((min(pair) for pair in pairwise(ratios)), default=ratios[-1] if ratios else 1.0)
    return Cost(one["beginning"], one["unit"], times[-1], SIZES[len(times) - 1], growth)
