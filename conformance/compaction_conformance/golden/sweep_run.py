"""Sweeps: an implementation is asked about every prefix and leaf of the golden sessions, and its answers are held
against the digests of the oracle's.

A sweep is one outcome a session and operation, so that a report stays readable; what failed is told by the first entry
at which the implementation diverges.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compaction_conformance.expectation import ExpectAnswer
from compaction_conformance.golden.questions import Question
from compaction_conformance.golden.sessions import GoldenSession, load_sessions
from compaction_conformance.golden.sweeps import Sweep, is_open, load_sweep
from compaction_conformance.implementation import Implementation
from compaction_conformance.run import Outcome, run_each
from compaction_conformance.spec import Spec
from compaction_conformance.vectors import Vector

OnOutcome = Callable[[Outcome], None]


@dataclass(frozen=True)
class SweepVector(Vector):
    """All questions of one operation about one session. `answers` is how many are asked, `left_open` how many of them
    are not judged. Its params name the data alone; the params of a failure are in the outcome's example."""

    answers: int = 0
    left_open: int = 0
    sweep: Sweep | None = field(default=None, repr=False, compare=False)

    @property
    def session(self) -> GoldenSession:
        assert self.sweep is not None
        return self.sweep.session


@dataclass(frozen=True)
class SweepOutcome(Outcome):
    """`example` stands for the first request that failed, in the shape of an ordinary outcome."""

    example: Outcome | None = None


def shown_outcome(outcome: Outcome) -> Outcome:
    """What is to be shown and repeated of an outcome: of a sweep that failed its example, else the outcome itself."""
    return outcome.example or outcome if isinstance(outcome, SweepOutcome) else outcome


def load_sweeps(spec: Spec, folder: Path | None = None) -> tuple[SweepVector, ...]:
    """One vector a session and operation, by session. Raises `InvalidInput` for data that is not sound."""
    return tuple(vector for session in load_sessions(folder) for vector in _vectors_of(session, spec))


def _vectors_of(session: GoldenSession, spec: Spec) -> Iterator[SweepVector]:
    sweep = load_sweep(session)
    rows: dict[str, list[tuple[Question, tuple[str, ...]]]] = {}
    for question, digests in sweep.digests:
        rows.setdefault(question.operation, []).append((question, digests))
    for operation, asked in rows.items():
        rule = spec.requirements[asked[0][0].requirement]
        touched = [spec.requirements[name] for name in session.requirements if name != rule.id]
        recorded = [text for _, digests in asked for text in digests]
        yield SweepVector(
            id=f"SWEEP-{session.id}-{operation.replace('/', '-')}",
            requirements=(rule, *(other for other in touched if other.chapter == rule.chapter)),
            description=f"every prefix and every leaf of the session {session.id}: {session.about}",
            operation=operation,
            params={"session": session.id, "sha256": hashlib.sha256(" ".join(recorded).encode()).hexdigest()},
            expect=ExpectAnswer(),
            chapter=rule.chapter,
            file=session.sweep_file,
            evidence=("observed", sweep.source),
            editions=rule.editions,
            profile=spec.profiles[rule.chapter],
            answers=len(recorded),
            left_open=sum(map(is_open, recorded)),
            sweep=sweep,
        )


def run_sweeps(
    sides: Sequence[Implementation], vectors: Sequence[SweepVector], on_outcome: OnOutcome = lambda _: None
) -> tuple[Outcome, ...]:
    """An outcome for each vector, in order. Several processes of one implementation share the sessions."""
    from compaction_conformance.golden.sweep_watch import sweep_sessions

    by_session: dict[str, list[SweepVector]] = {}
    for vector in vectors:
        by_session.setdefault(vector.session.id, []).append(vector)
    outcomes: dict[str, Outcome] = {}
    lock = threading.Lock()

    def report(outcome: Outcome) -> None:
        with lock:
            outcomes[outcome.vector.id] = outcome
            on_outcome(outcome)

    def task(side: Implementation, groups: list[list[SweepVector]]) -> Callable[[], None]:
        return lambda: sweep_sessions(side, groups, report)

    shares = _shared_out(list(by_session.values()), len(sides))
    run_each([task(side, groups) for side, groups in zip(sides, shares, strict=True)])
    return tuple(outcomes[vector.id] for vector in vectors)


def _shared_out(groups: list[list[SweepVector]], count: int) -> list[list[list[SweepVector]]]:
    """Sessions in `count` shares of about the same work: the largest first, each to the smallest share."""
    shares: list[list[list[SweepVector]]] = [[] for _ in range(count)]
    sizes = [0] * count

    def work(group: list[SweepVector]) -> int:
        return sum(vector.answers for vector in group) * len(group[0].session.content)

    for group in sorted(groups, key=work, reverse=True):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(group)
        sizes[smallest] += work(group)
    return shares
