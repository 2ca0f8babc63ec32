"""Hunting: rounds of generated examples over all hunts, until the time is up; what is found is shrunk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import HypothesisException
from hypothesis.reporting import with_reporter

from compaction_conformance.properties import OutOfReach
from compaction_conformance.search.cause import Cause
from compaction_conformance.search.hunts import Finding, Hunt, Sides, hunts

_FIRST_ROUND = 16
_GRACE = 10.0
_AGAIN = 4


class _Enough(BaseException):
    """The time is up. No `except Exception` on the way catches it."""


@dataclass(frozen=True)
class Limits:
    """`examples`: of each hunt, None for as many as the time allows. `share`: (which, of how many) of the hunts."""

    seconds: float = 60.0
    seed: int = 0
    examples: int | None = None
    share: tuple[int, int] = (0, 1)
    database: Path | None = None


@dataclass
class SearchReport:
    """`unexplained`: properties that did not hold although every single answer is the oracle's."""

    findings: dict[Cause, Finding] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)
    hunts: int = 0
    examples: int = 0
    seconds: float = 0.0
    incomplete: str = ""


class Found(Exception):
    """An example whose answer is wrong."""


@cache
def _exception_for(cause: Cause) -> type[Found]:
    """Hypothesis tells failures apart by their type: with one a cause, shrinking stays on the cause."""
    return type(f"Found {cause}", (Found,), {})


@dataclass
class Search:
    """One process's search. `on_round` is told of the round and the findings so far."""

    sides: Sides
    limits: Limits
    only: Callable[[str, Sequence[str]], bool] = lambda _id, _names: True
    on_round: Callable[[int, SearchReport], None] = lambda _round, _report: None
    report: SearchReport = field(default_factory=SearchReport)

    def run(self) -> SearchReport:
        """Rounds over all hunts, each with twice the examples of the one before, until the time or the examples end."""
        began = time.monotonic()
        everything = hunts(self.sides, self.report.unexplained, self.only)
        mine, of = self.limits.share
        self.report.hunts = len(everything)
        try:
            for number, examples in enumerate(self._rounds() if everything else ()):
                self._check_time(began, shrinking=False)
                for place, hunt in enumerate(everything):
                    if (place + number) % of == mine:
                        self._hunt_all(hunt, max(examples // hunt.weight, 2), began, number * 1009 + place)
                self.on_round(number + 1, self.report)
        except _Enough:
            pass
        except OutOfReach as end:
            self.report.incomplete = str(end)
        self.report.seconds = time.monotonic() - began
        return self.report

    def _rounds(self) -> Iterator[int]:
        if self.limits.examples is not None:
            yield self.limits.examples
            return
        examples = _FIRST_ROUND
        while True:
            yield examples
            examples = min(examples * 2, 1000)

    def _hunt_all(self, hunt: Hunt, examples: int, began: float, number: int) -> None:
        """A hunt ends when something is found; what was found may have hidden something else."""
        for again in range(_AGAIN):
            before = len(self.report.findings)
            self._hunt(hunt, examples, began, number + again * 500)
            if len(self.report.findings) == before:
                return

    def _hunt(self, hunt: Hunt, examples: int, began: float, number: int) -> None:
        """Once. Findings of causes that are known are passed over, so that others come to light."""
        known = set(self.report.findings)
        own_seed = self.limits.seed * 1_000_003 + number
        fresh: dict[Cause, Finding] = {}

        def look(example: Any) -> None:
            self._check_time(began, shrinking=bool(fresh))
            self.report.examples += 1
            self._raise_fresh(hunt.probe(example), known, fresh)

        look.__name__ = look.__qualname__ = re.sub(r"\W", "_", hunt.id)
        digest = f"{hunt.id} {self.sides.tested.description.label}"
        look._hypothesis_internal_add_digest = digest.encode()  # type: ignore[attr-defined]
        try:
            # the settings come last: a seed alone would put the database away
            with with_reporter(lambda _text: None):
                self._settings(examples)(seed(own_seed)(given(hunt.given)(look)))()
        except (Found, ExceptionGroup, HypothesisException):
            pass  # what was found is noted, smallest first
        finally:
            for cause, finding in fresh.items():
                self.report.findings[cause] = replace(finding, seed=self.limits.seed)

    def _raise_fresh(self, found: Finding | None, known: set[Cause], fresh: dict[Cause, Finding]) -> None:
        if found is None or found.cause in known:
            return
        before = fresh.get(found.cause)
        if before is None or found.size <= before.size:
            fresh[found.cause] = found
        raise _exception_for(found.cause)()

    def _check_time(self, began: float, *, shrinking: bool) -> None:
        limit = self.limits.seconds + (_GRACE if shrinking else 0)
        if time.monotonic() - began > limit:
            raise _Enough

    def _settings(self, examples: int) -> settings:
        folder = self.limits.database
        return settings(
            max_examples=examples,
            deadline=None,
            database=None if folder is None else DirectoryBasedExampleDatabase(folder),
            phases=[Phase.reuse, Phase.generate, Phase.target, Phase.shrink],
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=True,
            print_blob=False,
        )
