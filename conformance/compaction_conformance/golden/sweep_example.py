"""What is told of a sweep that failed: the first request that was answered wrong, in the shape of an ordinary outcome.

A sweep knows digests alone. The value that was due is the embedded reference's, once its digest was found equal to the
recorded one; where it is not, the digest is all that can be said.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.expectation import (
    Broken,
    Error,
    ExpectAnswer,
    ExpectRefusal,
    ExpectResult,
    Reply,
    Result,
    Verdict,
)
from compaction_conformance.golden.invariants import broken_invariant
from compaction_conformance.golden.sessions import numbered_ids
from compaction_conformance.golden.sweep_run import SweepVector
from compaction_conformance.golden.sweeps import Asked
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.judge import Difference
from compaction_conformance.run import FAILED, Outcome, against_schema
from compaction_conformance.vectors import Vector


def example_of(vector: SweepVector, asked: Asked, reply: Result | Error | Broken, log: str) -> Outcome:
    """The outcome of the one request, with its params, the value wanted and the place in the session."""
    due = call(reference(), asked.request)
    known = isinstance(due, (Result, Error)) and asked.meets(due)
    shown = Vector(
        id=vector.id,
        requirements=vector.requirements,
        description=f"{asked.where} of the session {vector.session.id}",
        operation=vector.operation,
        params=json.loads(asked.request.params_text),
        expect=_expectation(asked, due) if known else ExpectAnswer(),
        chapter=vector.chapter,
        file=vector.file,
        evidence=vector.evidence,
    )
    return Outcome(shown, FAILED, _verdict(shown, asked, reply, known=known), reply, log)


def _expectation(asked: Asked, due: Reply) -> ExpectResult | ExpectRefusal | ExpectAnswer:
    """Ids that parsing made are compared by their order."""
    if isinstance(due, Result):
        return ExpectResult(numbered_ids(due.value, asked.sweep.session.content) if asked.is_file else due.value)
    return ExpectRefusal(due.kind) if isinstance(due, Error) and due.kind else ExpectAnswer()


def _verdict(shown: Vector, asked: Asked, reply: Result | Error | Broken, *, known: bool) -> Verdict:
    if isinstance(reply, Broken):
        return Verdict(reply.failure, Difference("", "an answer", reply.shown(), f"{asked.where}: {reply.detail}"))
    verdict = _differing(shown, asked, reply, known=known)
    return against_schema(shown.operation, reply.value, verdict) if isinstance(reply, Result) else verdict


def _differing(shown: Vector, asked: Asked, reply: Result | Error, *, known: bool) -> Verdict:
    note = f"{asked.where}{_invariant(shown, asked, reply)}"
    if known:
        seen = reply
        if asked.is_file and isinstance(reply, Result):
            seen = Result(numbered_ids(reply.value, asked.sweep.session.content))
        verdict = shown.expect.judge(seen, shown.params)
        if verdict.difference is not None:
            told = f"{note}; the value wanted is the reference's, whose digest is the recorded one"
            return Verdict(verdict.failure, replace(verdict.difference, note=told))
    failure = "unexpected_error" if isinstance(reply, Error) else "mismatch"
    want = f"an answer whose digest is {asked.recorded}"
    return Verdict(failure, Difference("", want, reply.shown(), f"{note}; the reference has no such answer either"))


def _invariant(shown: Vector, asked: Asked, reply: Result | Error) -> str:
    broken = broken_invariant(asked.question, shown.params, reply.value) if isinstance(reply, Result) else ""
    return f"; {broken}" if broken else ""


# ---- the reference, where a value is needed and not just its digest --------------------------------------------------

_lock = threading.Lock()
_connected: list[Implementation] = []


def reference() -> Implementation:
    with _lock:
        if not _connected:
            _connected.append(connect(REFERENCE, Settings()))
        return _connected[0]


def reference_messages(state: str) -> Any:
    """The projected messages of a state that is given as params."""
    reply = call(reference(), Request("projection/messages", state))
    return reply.value["messages"] if isinstance(reply, Result) else []
