"""What is hunted: properties, differential runs and the state machine, and how one example of each is looked at.

Every wrong answer is traced to one request, which an oracle judges: the first of an example to which the oracle answers
otherwise. So shrinking stays on one cause, and what is found can be written down as an ordinary vector.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import get_state_machine_test
from hypothesis.strategies import SearchStrategy
from hypothesis.strategies import data as drawn_data

from compaction_conformance.attest import expectation_from
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result, Verdict, read_expectation
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import Difference
from compaction_conformance.properties import Ask, OutOfReach, Property, Violation, all_properties
from compaction_conformance.properties.machine import NEEDED, REQUIREMENTS, SENTENCE, machine_for
from compaction_conformance.run import against_schema
from compaction_conformance.search.cause import Cause, cause_of
from compaction_conformance.search.inputs import inputs_for, left_open

_STEPS = 15


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


# ---- what is hunted --------------------------------------------------------------------------------------------------


Unexplained = dict[str, str]  # properties that did not hold although every single answer is the oracle's
Probe = Callable[[Any], Finding | None]  # looks at one example


@dataclass(frozen=True)
class Hunt:
    """Examples and what looks at them. One example costs `weight` of the ordinary ones."""

    id: str
    given: SearchStrategy[Any]
    probe: Probe
    weight: int = 1


def hunts(sides: Sides, unexplained: Unexplained, only: Callable[[str, Sequence[str]], bool]) -> list[Hunt]:
    """Properties and differential runs in turn, as far as the sides declare what they need."""
    made: list[Hunt] = []
    for each in all_properties():
        if each.asked_of(sides.tested) and only(each.id, (*each.operations, *each.requirements)):
            made.append(Hunt(each.id, each.given, _property_probe(each, sides, unexplained), each.weight))
    shared = sides.tested.description.operations & sides.against.description.operations
    for operation in sorted(shared & sides.oracle.description.operations):
        given_params = inputs_for(operation)
        name = f"differential {operation}"
        if given_params is not None and only(name, (operation,)):
            made.append(Hunt(name, given_params, _differential_probe(operation, name, sides)))
    if NEEDED in sides.tested.description.operations and only("PROP-machine", (NEEDED, *REQUIREMENTS)):
        made.append(Hunt("PROP-machine", drawn_data(), _machine_probe(sides, unexplained), 4))
    return made


def _property_probe(each: Property, sides: Sides, unexplained: Unexplained) -> Probe:
    def probe(example: Any) -> Finding | None:
        ask = Ask(sides.tested)
        try:
            each.examine(ask, example)
        except Violation as violation:
            found = blamed(ask, sides, each.id, each.sentence, each.operations[0], each.requirements)
            if found is None:
                unexplained.setdefault(each.id, violation.what)
            return found
        return None

    return probe


def _machine_probe(sides: Sides, unexplained: Unexplained) -> Probe:
    driven = machine_for(sides.tested)
    steps = settings(stateful_step_count=_STEPS, suppress_health_check=list(HealthCheck), deadline=None)
    drive = get_state_machine_test(driven, settings=steps).hypothesis.inner_test  # type: ignore[attr-defined]

    def probe(data: Any) -> Finding | None:
        try:
            drive(data)
        except Violation as violation:
            found = blamed(driven.ask, sides, "PROP-machine", SENTENCE, "", REQUIREMENTS)
            if found is None:
                unexplained.setdefault("PROP-machine", violation.what)
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
    return against_schema(operation, reply.value, verdict)


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
