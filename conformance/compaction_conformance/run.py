"""A run: every vector is asked, every reply judged, every outcome kept."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result, Verdict
from compaction_conformance.implementation import Description, Implementation, Request
from compaction_conformance.judge import Difference
from compaction_conformance.vectors import Vector

PASSED, FAILED, UNSUPPORTED, NOT_RUN = "passed", "failed", "unsupported", "not_run"
STATUSES = (PASSED, FAILED, UNSUPPORTED, NOT_RUN)

CONFORMANT, NOT_CONFORMANT, BAD_USAGE, INCOMPLETE = 0, 1, 2, 3


@dataclass(frozen=True)
class Outcome:
    """What became of one vector. `log` is the tail of the adapter's stderr, kept for failures only."""

    vector: Vector
    status: str
    verdict: Verdict = field(default_factory=Verdict)
    reply: Reply | None = None
    log: str = ""


@dataclass(frozen=True)
class RunReport:
    implementation: Description
    outcomes: tuple[Outcome, ...]

    @cached_property
    def counts(self) -> Counter[tuple[str, str]]:
        """How many outcomes there are by (level, status)."""
        return Counter((outcome.vector.level, outcome.status) for outcome in self.outcomes)

    def of(self, level: str, *statuses: str) -> int:
        return sum(self.counts[level, status] for status in statuses or STATUSES)

    def exit_code(self, *, strict: bool = False, declared_only: bool = False) -> int:
        """0 conformant, 1 not, 3 incomplete. What an implementation does not declare keeps it from being conformant,
        unless only the declared operations are asked about."""
        ran = sum(self.of(level, PASSED, FAILED) for level in ("MUST", "SHOULD", "QUIRK"))
        if not ran or any(self.of(level, NOT_RUN) for level in ("MUST", "SHOULD", "QUIRK")):
            return INCOMPLETE
        bad = (FAILED,) if declared_only else (FAILED, UNSUPPORTED)
        levels = ("MUST", "QUIRK", "SHOULD") if strict else ("MUST", "QUIRK")
        return NOT_CONFORMANT if any(self.of(level, *bad) for level in levels) else CONFORMANT


OnOutcome = Callable[[Outcome], None]


def binds(vector: Vector, about: Description) -> bool:
    """Whether the vector is of no optional feature, or of one that the implementation declares."""
    return vector.feature is None or vector.feature in about.features


def run(implementation: Implementation, vectors: Sequence[Vector], on_outcome: OnOutcome = lambda _: None) -> RunReport:
    """Ask all vectors, in order. `on_outcome` is told of each as soon as it is known.

    A vector of an optional feature is left out when the implementation does not declare the feature.
    """
    vectors = [vector for vector in vectors if binds(vector, implementation.description)]
    operations = implementation.description.operations
    asked = [vector for vector in vectors if vector.operation in operations]
    by_id = {}
    replies = implementation.answers(Request(v.operation, v.params_text, v.time_limit) for v in asked)
    for vector, reply in zip(asked, replies, strict=True):
        by_id[vector.id] = outcome_of(vector, reply, implementation)
        on_outcome(by_id[vector.id])
    for vector in vectors:
        if vector.id not in by_id:
            by_id[vector.id] = Outcome(vector, UNSUPPORTED)
            on_outcome(by_id[vector.id])
    return RunReport(implementation.description, tuple(by_id[vector.id] for vector in vectors))


def run_shared(
    implementations: Sequence[Implementation], vectors: Sequence[Vector], on_outcome: OnOutcome = lambda _: None
) -> RunReport:
    """The same over several processes of one implementation, each taking every n-th vector in a thread of its own."""
    outcomes: dict[str, Outcome] = {}
    lock = threading.Lock()

    def report(outcome: Outcome) -> None:
        with lock:
            outcomes[outcome.vector.id] = outcome
            on_outcome(outcome)

    def task(index: int, side: Implementation) -> Callable[[], RunReport]:
        return lambda: run(side, vectors[index :: len(implementations)], report)

    run_each([task(index, side) for index, side in enumerate(implementations)])
    asked = tuple(outcomes[vector.id] for vector in vectors if vector.id in outcomes)
    return RunReport(implementations[0].description, asked)


def run_each(tasks: Sequence[Callable[[], Any]]) -> None:
    """Every task in a thread of its own (one alone in this thread); the first error is raised here."""
    if len(tasks) == 1:
        tasks[0]()
        return
    errors: list[BaseException] = []

    def work(task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def outcome_of(vector: Vector, reply: Reply, implementation: Implementation) -> Outcome:
    if isinstance(reply, NotRun):
        return Outcome(vector, NOT_RUN, reply=reply)
    verdict = judge(vector, reply)
    if verdict.met:
        return Outcome(vector, PASSED, verdict, reply)
    return Outcome(vector, FAILED, verdict, reply, implementation.log)


def judge(vector: Vector, reply: Result | Error | Broken) -> Verdict:
    """A result that differs is held against the operation's schema too, so that the failure class tells which it is."""
    if isinstance(reply, Broken):
        return Verdict(reply.failure, Difference("", "an answer", reply.shown(), reply.detail))
    verdict = vector.expect.judge(reply, vector.params)
    if verdict.failure != "mismatch" or not isinstance(reply, Result):
        return verdict
    return against_schema(vector.operation, reply.value, verdict)


def against_schema(operation: str, value: Any, verdict: Verdict) -> Verdict:
    """What was found of a result; a `schema_violation` where no result of the operation can be so."""
    error = schemas.first_error(schemas.result_schema(operation), value)
    if error is None or verdict.difference is None:
        return verdict
    notes = (verdict.difference.note, f"no result of {operation} can be so: {error}")
    return Verdict("schema_violation", replace(verdict.difference, note="; ".join(filter(None, notes))))
