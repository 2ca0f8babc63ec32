"""Search: generated inputs, properties and differential runs, until an answer is wrong; then the smallest such input.

Every wrong answer is traced to one request, which an oracle judges: the first of an example to which the oracle answers
otherwise. So shrinking stays on one cause, and what is found can be written down as an ordinary vector.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import HypothesisException
from hypothesis.reporting import with_reporter
from hypothesis.stateful import get_state_machine_test
from hypothesis.strategies import SearchStrategy
from hypothesis.strategies import data as drawn_data

from compaction_conformance import schemas
from compaction_conformance.attest import expectation_from
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result, Verdict, read_expectation
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import Difference
from compaction_conformance.properties import Ask, OutOfReach, Property, Violation, all_properties
from compaction_conformance.properties.machine import NEEDED, REQUIREMENTS, SENTENCE, machine_for
from compaction_conformance.search_cause import Cause, cause_of
from compaction_conformance.search_inputs import inputs_for, left_open

_FIRST_ROUND = 16
_GRACE = 10.0
_STEPS = 15
_AGAIN = 4


class _Enough(BaseException):
    """The time is up. No `except Exception` on the way catches it."""


@dataclass(frozen=True)
class Sides:
    """Who is under test, who is asked beside it, and who decides. `against` and `oracle` may be the same."""

    tested: Implementation
    against: Implementation
    oracle: Implementation


@dataclass(frozen=True)
class Finding:
    """One request that `implementation` answers wrongly. `expected` is the oracle's reply."""

    cause: Cause
    found_by: str
    sentence: str
    implementation: str
    request: Request
    reply: Reply
    expected: Result | Error
    verdict: Verdict
    seed: int = 0
    requirements: tuple[str, ...] = ()

    @property
    def params(self) -> Any:
        return json.loads(self.request.params_text)

    @property
    def size(self) -> tuple[int, str]:
        """The smaller of two findings of one cause is the one to keep."""
        return len(self.request.params_text), self.request.params_text


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


# ---- what is hunted --------------------------------------------------------------------------------------------------


Probe = Callable[[Any], Finding | None]  # looks at one example


@dataclass(frozen=True)
class Hunt:
    """Examples and what looks at them. One example costs `weight` of the ordinary ones."""

    id: str
    given: SearchStrategy[Any]
    probe: Probe
    weight: int = 1


def hunts(sides: Sides, report: SearchReport, only: Callable[[str, Sequence[str]], bool]) -> list[Hunt]:
    """Properties and differential runs in turn, as far as the sides declare what they need."""
    made: list[Hunt] = []
    for each in all_properties():
        if each.asked_of(sides.tested) and only(each.id, (*each.operations, *each.requirements)):
            made.append(Hunt(each.id, each.given, _property_probe(each, sides, report), each.weight))
    shared = sides.tested.description.operations & sides.against.description.operations
    for operation in sorted(shared & sides.oracle.description.operations):
        given_params = inputs_for(operation)
        name = f"differential {operation}"
        if given_params is not None and only(name, (operation,)):
            made.append(Hunt(name, given_params, _differential_probe(operation, name, sides)))
    if NEEDED in sides.tested.description.operations and only("PROP-machine", (NEEDED, *REQUIREMENTS)):
        made.append(Hunt("PROP-machine", drawn_data(), _machine_probe(sides, report), 4))
    return made


def _property_probe(each: Property, sides: Sides, report: SearchReport) -> Probe:
    def probe(example: Any) -> Finding | None:
        ask = Ask(sides.tested)
        try:
            each.examine(ask, example)
        except Violation as violation:
            found = blamed(ask, sides, each.id, each.sentence, each.operations[0], each.requirements)
            if found is None:
                report.unexplained.setdefault(each.id, violation.what)
            return found
        return None

    return probe


def _machine_probe(sides: Sides, report: SearchReport) -> Probe:
    driven = machine_for(sides.tested)
    steps = settings(stateful_step_count=_STEPS, suppress_health_check=list(HealthCheck), deadline=None)
    drive = get_state_machine_test(driven, settings=steps).hypothesis.inner_test  # type: ignore[attr-defined]

    def probe(data: Any) -> Finding | None:
        try:
            drive(data)
        except Violation as violation:
            found = blamed(driven.ask, sides, "PROP-machine", SENTENCE, "", REQUIREMENTS)
            if found is None:
                report.unexplained.setdefault("PROP-machine", violation.what)
            return found
        return None

    return probe


def blamed(
    ask: Ask, sides: Sides, found_by: str, sentence: str, main: str, requirements: tuple[str, ...]
) -> Finding | None:
    """The first request of an example to which the oracle answers otherwise. A wrong value of the property's main
    operation breaks the property's rules; of another one, and of an answer that is no value, the place tells the
    rule."""
    for exchange in ask.exchanges:
        request = exchange.request
        if request.method not in sides.oracle.description.operations:
            continue
        found = judged(request, exchange.reply, sides.tested, sides.oracle, found_by, sentence)
        if found is not None:
            if request.method != main or found.cause.failure != "mismatch":
                return replace(found, sentence="")
            cause = replace(found.cause, requirement=requirements[0])
            return replace(found, cause=cause, requirements=requirements)
    return None


def judged(
    request: Request, reply: Reply, side: Implementation, oracle: Implementation, found_by: str, sentence: str
) -> Finding | None:
    """A finding when the oracle answers otherwise. What the oracle cannot answer is no finding."""
    expected = call(oracle, request)
    if not isinstance(expected, Result | Error) or (isinstance(expected, Error) and expected.kind is None):
        return None
    params = json.loads(request.params_text)
    if left_open(request.method, params, reply, expected):
        return None
    verdict = verdict_on(request.method, params, reply, expected)
    if verdict.met:
        return None
    cause = cause_of(verdict, request.method, params)
    label = side.description.label
    return Finding(
        cause, found_by, sentence, label, request, reply, expected, verdict, requirements=(cause.requirement,)
    )


def expectation_for(operation: str, expected: Result | Error, params: Any) -> dict[str, Any]:
    """The `expect` member of a vector. Entries that are written one after the other may have times of their own."""
    made = expectation_from(expected, params)
    if operation != "session/write" or not isinstance(made.get("result", {}).get("content"), dict):
        return made
    numbers = count(1)
    text = re.sub(r'"<time:[0-9]+>"', lambda _: f'"<time:{next(numbers)}>"', json.dumps(made))
    again: dict[str, Any] = json.loads(text)
    return again


def verdict_on(operation: str, params: Any, reply: Reply, expected: Result | Error) -> Verdict:
    """As in a run of vectors: ids and times that the oracle made up may be others."""
    if isinstance(reply, NotRun):
        raise OutOfReach(reply.reason)
    if isinstance(reply, Broken):
        return Verdict(reply.failure, Difference("", "an answer", reply.shown(), reply.detail))
    verdict = read_expectation(expectation_for(operation, expected, params)).judge(reply, params)
    if verdict.failure != "mismatch" or not isinstance(reply, Result):
        return verdict
    if error := schemas.first_error(schemas.result_schema(operation), reply.value):
        return Verdict("schema_violation", Difference(error.pointer, error.message, reply.value))
    return verdict


def _differential_probe(operation: str, name: str, sides: Sides) -> Probe:
    def probe(params: Any) -> Finding | None:
        request = Request(operation, json.dumps(params, separators=(",", ":")))
        mine = call(sides.tested, request)
        if isinstance(mine, NotRun):
            raise OutOfReach(mine.reason)
        found = judged(request, mine, sides.tested, sides.oracle, name, "")
        if found is not None or sides.against is sides.oracle:
            return found
        return judged(request, call(sides.against, request), sides.against, sides.oracle, name, "")

    return probe


# ---- hunting ---------------------------------------------------------------------------------------------------------


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
        everything = hunts(self.sides, self.report, self.only)
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
