"""The cases of the corpus as vectors of the chapter RSP: what `overflow/classify` has to answer for each.

A vector names the address at which a replay server serves its response, so it is made when the server runs:

    with ReplayServer(cases) as server:
        report = run(side, response_vectors(cases, spec, server.url))
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compaction_conformance.corpus import Case
from compaction_conformance.corpus_record import OPERATION, timeout_for
from compaction_conformance.expectation import Error, Expectation, ExpectReading, ExpectResult, Result, Verdict
from compaction_conformance.judge import Difference
from compaction_conformance.response_rules import RECORDED, rules_of
from compaction_conformance.spec import Requirement, Spec
from compaction_conformance.vectors import Vector

NOWHERE = "http://127.0.0.1:9"
_TIME_LIMIT = 30.0  # seconds a request may take, the queue before it included
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


def response_vectors(cases: Iterable[Case], spec: Spec, url: str = NOWHERE) -> tuple[Vector, ...]:
    """One vector for each case with a recorded answer, in order; `url` is the replay server's."""
    return tuple(_vector(case, spec, url) for case in cases if RECORDED in case.answers)


def _vector(case: Case, spec: Spec, url: str) -> Vector:
    rules = tuple(spec.requirements[name] for name in case.requirements or rules_of(case))
    return Vector(
        id=f"RSP-{case.id}",
        requirements=rules,
        description=f"{case.provider}, {case.response.status or 'no status'}: {case.reason}",
        operation=OPERATION,
        params=case.classify_params(f"{url}/case/{case.id}", timeout_for(case)),
        expect=_expectation(case, rules[0]),
        chapter=rules[0].chapter,
        file=case.file,
        time_limit=_TIME_LIMIT,
        evidence=("observed", "pi 0.87.0"),
        editions=rules[0].editions,
        profile=spec.profiles[rules[0].chapter],
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
