"""The cases of the corpus as vectors of the chapter RSP: what `overflow/classify` has to answer for each.

The params of a vector name the address at which a replay server serves the response, so they are known only while one
runs:

    with served(vectors, side) as vectors:
        report = run(side, vectors)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from compaction_conformance.corpus.cases import Case
from compaction_conformance.corpus.record import OPERATION, timeout_for
from compaction_conformance.corpus.response_rules import RECORDED, rules_of
from compaction_conformance.corpus.server import Limits, ReplayServer
from compaction_conformance.expectation import Error, Expectation, ExpectReading, ExpectResult, Result, Verdict
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.judge import Difference
from compaction_conformance.spec import Requirement, Spec
from compaction_conformance.vectors import Vector

NOWHERE = "http://127.0.0.1:9"
_TIME_LIMIT = 30.0  # seconds a request may take, the queue before it included
_STALL_MS = 200
_QUICK = Limits(between_frames=0.002)
_ANY_ERROR = ("own-words", "error")


@dataclass(frozen=True)
class ExpectMembers(ExpectResult):
    """A result with these members; others are free. `holds` is a part that the error text has to have."""

    holds: str = ""

    def judge(self, reply: Result | Error, params: Any) -> Verdict:
        if not isinstance(reply, Result) or not isinstance(reply.value, dict):
            return super().judge(reply, params)
        named = {name: value for name, value in reply.value.items() if name in self.value}
        verdict = super().judge(Result(named), params)
        text = reply.value.get("errorMessage")
        if verdict.met and self.holds and self.holds not in str(text):
            return Verdict("mismatch", Difference("/errorMessage", f"a text that holds {self.holds!r}", text))
        return verdict


@dataclass(frozen=True)
class ResponseVector(Vector):
    """A vector whose response has to be served."""

    case: Case | None = None

    def at(self, url: str) -> ResponseVector:
        """The same with the address of a replay server."""
        assert self.case is not None
        limit = _STALL_MS if self.case.response.end == "stall" else timeout_for(self.case)
        return replace(self, params=self.case.classify_params(f"{url}/case/{self.case.id}", limit))


def response_vectors(cases: Iterable[Case], spec: Spec, url: str = NOWHERE) -> tuple[ResponseVector, ...]:
    """One vector for each case with a recorded answer, in order; without the address of a server nothing serves it."""
    return tuple(_vector(case, spec).at(url) for case in cases if RECORDED in case.answers)


@contextmanager
def served(vectors: Sequence[Vector], side: Implementation) -> Iterator[tuple[Vector, ...]]:
    """The vectors, those of responses with the address of a server that runs meanwhile. They bind only who declares
    the operation, and are left out for others."""
    responses = [vector for vector in vectors if isinstance(vector, ResponseVector)]
    if not responses or OPERATION not in side.description.operations:
        yield tuple(vector for vector in vectors if not isinstance(vector, ResponseVector))
        return
    cases = [vector.case for vector in responses if vector.case]
    with ReplayServer(cases, limits=_QUICK) as server:
        yield tuple(vector.at(server.url) if isinstance(vector, ResponseVector) else vector for vector in vectors)


def asked_again(request: Request, named: Sequence[Vector]) -> Request:
    """A request of a reproduction file; of a response with the address of the server that runs now."""
    for vector in named:
        if isinstance(vector, ResponseVector) and request.method == OPERATION:
            return Request(OPERATION, vector.params_text, vector.time_limit)
    return request


def _vector(case: Case, spec: Spec) -> ResponseVector:
    rules = tuple(spec.requirements[name] for name in case.requirements or rules_of(case))
    return ResponseVector(
        id=f"RSP-{case.id}",
        requirements=rules,
        description=f"{case.provider}, {case.response.status or 'no status'}: {case.reason}",
        operation=OPERATION,
        params={},
        expect=_expectation(case, rules[0]),
        chapter=rules[0].chapter,
        file=case.file,
        time_limit=_TIME_LIMIT,
        evidence=("observed", "pi 0.87.0"),
        editions=rules[0].editions,
        profile=spec.profiles[rules[0].chapter],
        case=case,
    )


def _expectation(case: Case, rule: Requirement) -> Expectation:
    answer = case.answers[RECORDED]
    verdict = {"overflow": answer.overflow} if answer.overflow == case.overflow else {}
    as_pi = ExpectMembers({"stopReason": answer.stop_reason, "errorMessage": answer.error_message, **verdict})
    if not rule.readings:
        return as_pi
    others = tuple((name, _other(name, case, verdict)) for name in rule.readings if name != "pi")
    return ExpectReading((("pi", as_pi), *others))


def _other(reading: str, case: Case, verdict: dict[str, Any]) -> ExpectMembers:
    """What another reading than Pi's asks for. A text that holds more than Pi's may tell an overflow that Pi misses."""
    body = case.response.text
    if reading in _ANY_ERROR:
        return ExpectMembers({"stopReason": "error", **verdict})
    if reading == "kept":
        return ExpectMembers({"stopReason": "error"}, holds=_compact(body))
    if reading == "native":
        return _native(body)
    if reading == "partial":
        return ExpectMembers({"stopReason": "error"}, holds=body)
    return ExpectMembers({"stopReason": "error"}, holds=_message(body))


def _compact(body: str) -> str:
    return json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))


def _message(body: str) -> str:
    """The message of an error object, at the top of the body or in an event."""
    value = json.loads(body.removeprefix("data: "))
    error = value.get("error", value)
    return str(error["message"])


def _native(body: str) -> ExpectMembers:
    """The last line of Ollama's own route tells how the reply ends."""
    last = json.loads(body.splitlines()[-1])
    if "error" in last:
        return ExpectMembers({"stopReason": "error"}, holds=last["error"])
    return ExpectMembers({"stopReason": last["done_reason"]})
