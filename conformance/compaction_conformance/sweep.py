"""Sweeps: an implementation is asked about every prefix and leaf of the golden sessions, and its answers are held
against the digests of the oracle's.

A sweep is one outcome a session and operation, so that a report stays readable; what failed is told by the first entry
at which the implementation diverges. The value that was expected there is the embedded reference's, once its digest was
found equal to the recorded one.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.connect import REFERENCE, Settings, connect
from compaction_conformance.expectation import (
    Broken,
    Error,
    ExpectAnswer,
    ExpectRefusal,
    ExpectResult,
    NotRun,
    Reply,
    Result,
    Verdict,
)
from compaction_conformance.golden_sessions import GoldenSession, load_sessions, numbered_ids
from compaction_conformance.implementation import Implementation, Request, call
from compaction_conformance.invariants import broken_invariant
from compaction_conformance.judge import Difference
from compaction_conformance.questions import (
    FILE,
    MESSAGES,
    Material,
    Question,
    request_of_file,
    request_of_messages,
)
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome
from compaction_conformance.spec import Spec
from compaction_conformance.sweep_data import Sweep, answer_digest, is_open, load_sweep
from compaction_conformance.vectors import Vector

_PROJECTION = "projection/messages"


@dataclass(frozen=True)
class SweepVector(Vector):
    """All questions of one operation about one session. `answers` is how many are asked, `left_open` how many of them
    are not judged. Its params name the data alone; the params of a failure are in the outcome's example."""

    session: str = ""
    answers: int = 0
    left_open: int = 0


@dataclass(frozen=True)
class SweepOutcome(Outcome):
    """`example` stands for the first request that failed, in the shape of an ordinary outcome."""

    example: Outcome | None = None


OnOutcome = Callable[[Outcome], None]


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
            evidence=("observed", "pi 0.87.0"),
            editions=rule.editions,
            profile=spec.profiles[rule.chapter],
            session=session.id,
            answers=len(recorded),
            left_open=sum(map(is_open, recorded)),
        )


def run_sweeps(
    sides: Sequence[Implementation], vectors: Sequence[SweepVector], on_outcome: OnOutcome = lambda _: None
) -> tuple[Outcome, ...]:
    """An outcome for each vector, in order. Several processes of one implementation share the sessions."""
    by_session: dict[str, list[SweepVector]] = {}
    for vector in vectors:
        by_session.setdefault(vector.session, []).append(vector)
    outcomes: dict[str, Outcome] = {}
    lock = threading.Lock()

    def report(outcome: Outcome) -> None:
        with lock:
            outcomes[outcome.vector.id] = outcome
            on_outcome(outcome)

    shares = _shared_out(list(by_session.values()), len(sides))
    run_each(
        [lambda side=side, share=share: sweep_sessions(side, share, report) for side, share in zip(sides, shares, strict=True)]
    )
    return tuple(outcomes[vector.id] for vector in vectors)


def run_each(tasks: Sequence[Callable[[], None]]) -> None:
    """Every task in a thread of its own (one alone in this thread); the first error is raised here."""
    if len(tasks) == 1:
        tasks[0]()
        return
    errors: list[BaseException] = []

    def work(task: Callable[[], None]) -> None:
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


def _shared_out(groups: list[list[SweepVector]], count: int) -> list[list[list[SweepVector]]]:
    """Sessions in `count` shares of about the same work: the largest first, each to the smallest share."""
    shares: list[list[list[SweepVector]]] = [[] for _ in range(count)]
    sizes = [0] * count

    def work(group: list[SweepVector]) -> int:
        return sum(vector.answers for vector in group) * session_size(group[0])

    for group in sorted(groups, key=work, reverse=True):
        smallest = sizes.index(min(sizes))
        shares[smallest].append(group)
        sizes[smallest] += work(group)
    return shares


def session_size(vector: SweepVector) -> int:
    return (vector.file.parent.parent.parent / "sessions" / f"{vector.session}.jsonl").stat().st_size


# ---- asking ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """One request and what is recorded of its answer; `place` says which prefix or size it is about."""

    question: Question
    request: Request
    recorded: str
    place: int
    content: bytes = b""


def sweep_sessions(side: Implementation, groups: Iterable[list[SweepVector]], report: OnOutcome) -> None:
    """All sessions in one stream of requests, so that the implementation is never waited for without need."""
    watches = deque(_Watch(side, group, report) for group in groups)
    followers: deque[tuple[_Watch, _Asked]] = deque()
    under_way: deque[tuple[_Watch, _Asked]] = deque()
    stream = ((watch, asked) for watch in tuple(watches) for asked in watch.requests())

    def requests() -> Iterator[Request]:
        """Those that need messages go out as soon as the messages are known."""
        for item in stream:
            while followers:
                yield _noted(followers.popleft(), under_way)
            yield _noted(item, under_way)
        while followers:
            yield _noted(followers.popleft(), under_way)

    while True:
        for reply in side.answers(requests()):
            watch, asked = under_way.popleft()
            followers.extend((watch, follower) for follower in watch.take(asked, reply))
            while watches and watches[0].finished:
                watches.popleft().close()
        if not followers:
            break
    for watch in watches:
        watch.close()


def _noted(item: tuple[_Watch, _Asked], under_way: deque[tuple[_Watch, _Asked]]) -> Request:
    under_way.append(item)
    return item[1].request


class _Watch:
    """What becomes of one session: its requests, and for each operation the first answer that is wrong."""

    def __init__(self, side: Implementation, vectors: Sequence[SweepVector], report: OnOutcome) -> None:
        self._side, self._report = side, report
        declared = side.description.operations
        self._vectors = {vector.operation: vector for vector in vectors}
        self._declared = {name for name in self._vectors if name in declared}
        self._wrong: dict[str, tuple[_Asked, Reply]] = {}
        self._sweep = load_sweep(next(s for s in load_sessions(vectors[0].file.parent.parent.parent / "sessions") if s.id == vectors[0].session))
        self._rows = [(question, row) for question, row in self._sweep.digests if question.operation in self._declared]
        self._recorded = {question: row for question, row in self._sweep.digests}
        self._asked_all = False
        self._waiting = 0
        self._logs: dict[str, str] = {}

    @property
    def finished(self) -> bool:
        return self._asked_all and self._waiting == 0

    def requests(self) -> Iterator[_Asked]:
        yield from map(self._counted, self._requests())
        self._asked_all = True

    def _counted(self, asked: _Asked) -> _Asked:
        self._waiting += 1
        return asked

    def _requests(self) -> Iterator[_Asked]:
        session, sweep = self._sweep.session, self._sweep
        for question, row in self._rows:
            if question.takes == FILE:
                for place, size in enumerate(sweep.sizes):
                    content = session.content[:size]
                    yield _Asked(question, request_of_file(question, content), row[place], place, session.content)
        material = Material(session.entries)
        questions = [question for question, _ in self._rows]
        by_messages = [question for question in questions if question.takes == MESSAGES]
        for place, point in enumerate(sweep.points):
            for question, request in material.requests(point, questions):
                yield _Asked(question, request, self._recorded[question][place], place)
            if by_messages and _PROJECTION not in self._declared:
                state = json.dumps({"entries": session.entries[: point.length], "leafId": point.leaf_id})
                yield from self._of_messages(_reference_messages(state), place)

    def _of_messages(self, messages: Any, place: int) -> Iterator[_Asked]:
        for question, row in self._rows:
            if question.takes == MESSAGES:
                yield _Asked(question, request_of_messages(question, messages), row[place], place)

    def take(self, asked: _Asked, reply: Reply) -> list[_Asked]:
        """Judges a reply. Those to `projection/messages` lead to further requests about their messages."""
        self._waiting -= 1
        right = is_open(asked.recorded) or self._is_right(asked, reply)
        if not right and asked.question.operation not in self._wrong:
            self._wrong[asked.question.operation] = asked, reply
            self._logs[asked.question.operation] = self._side.log
        if asked.question.operation != _PROJECTION:
            return []
        if right and isinstance(reply, Result):
            messages = reply.value["messages"]
        else:
            messages = _reference_messages(asked.request.params_text)
        return [self._counted(follower) for follower in self._of_messages(messages, asked.place)]

    def _is_right(self, asked: _Asked, reply: Reply) -> bool:
        if not isinstance(reply, (Result, Error)):
            return False
        try:
            return answer_digest(asked.question, reply, asked.content) == asked.recorded
        except (RecursionError, ValueError):
            return False

    def close(self) -> None:
        for operation, vector in self._vectors.items():
            self._report(self._outcome(operation, vector))

    def _outcome(self, operation: str, vector: SweepVector) -> Outcome:
        if operation not in self._declared:
            return SweepOutcome(vector, UNSUPPORTED)
        if operation not in self._wrong:
            return SweepOutcome(vector, PASSED)
        asked, reply = self._wrong[operation]
        if isinstance(reply, NotRun):
            return SweepOutcome(vector, NOT_RUN, reply=reply)
        example = self._example(vector, asked, reply)
        return SweepOutcome(vector, FAILED, example.verdict, reply, self._logs[operation], example)

    # ---- telling what is wrong

    def _example(self, vector: SweepVector, asked: _Asked, reply: Result | Error | Broken) -> Outcome:
        params = json.loads(asked.request.params_text)
        expected = call(reference(), asked.request)
        known = isinstance(expected, (Result, Error)) and self._is_right(asked, expected)
        expect = _expectation(expected) if known else ExpectAnswer()
        shown = Vector(
            id=vector.id,
            requirements=vector.requirements,
            description=f"{self._where(asked)} of the session {vector.session}",
            operation=vector.operation,
            params=params,
            expect=expect,
            chapter=vector.chapter,
            file=vector.file,
            evidence=vector.evidence,
        )
        return Outcome(shown, FAILED, self._verdict(shown, asked, reply, known=known), reply, self._logs[vector.operation])

    def _verdict(self, shown: Vector, asked: _Asked, reply: Result | Error | Broken, *, known: bool) -> Verdict:
        note = f"{self._where(asked)}; the value wanted is the reference's, whose digest is the recorded one"
        if isinstance(reply, Broken):
            return Verdict(reply.failure, Difference("", "an answer", reply.shown(), f"{self._where(asked)}: {reply.detail}"))
        if isinstance(reply, Result):
            if error := schemas.first_error(schemas.result_schema(shown.operation), reply.value):
                return Verdict("schema_violation", Difference(error.pointer, error.message, reply.value, self._where(asked)))
            if broken := broken_invariant(asked.question, shown.params, reply.value):
                note = f"{note}; {broken}"
        if not known:
            want = f"an answer whose digest is {asked.recorded}"
            failure = "unexpected_error" if isinstance(reply, Error) else "mismatch"
            return Verdict(failure, Difference("", want, reply.shown(), f"{self._where(asked)}; the reference differs too"))
        judged = Result(numbered_ids(reply.value, asked.content)) if asked.content and isinstance(reply, Result) else reply
        verdict = _numbered(shown, asked).expect.judge(judged, shown.params)
        if verdict.met or verdict.difference is None:
            return Verdict("mismatch", Difference("", shown.expect, reply.shown(), note))
        return Verdict(verdict.failure, replace(verdict.difference, note=note))

    def _where(self, asked: _Asked) -> str:
        if asked.question.takes == FILE:
            return f"the first {self._sweep.sizes[asked.place]} bytes"
        point = self._sweep.points[asked.place]
        entries = self._sweep.session.entries
        last = entries[point.length - 1] if point.length else {}
        kind = last.get("type", "entry")
        at = f"entry {point.length} ({last.get('id')}, {kind})" if point.length else "no entry"
        leaf = "" if not point.length or point.leaf_id == last.get("id") else f", seen from the leaf {point.leaf_id}"
        about = f", {asked.question.about}" if asked.question.about else ""
        return f"first divergence at {at}{leaf}{about}"


def _expectation(reply: Reply) -> ExpectResult | ExpectRefusal:
    if isinstance(reply, Error) and reply.kind:
        return ExpectRefusal(reply.kind)
    return ExpectResult(reply.value if isinstance(reply, Result) else None)


def _numbered(shown: Vector, asked: _Asked) -> Vector:
    """Ids that parsing made are compared by their order."""
    if not asked.content or not isinstance(shown.expect, ExpectResult):
        return shown
    return replace(shown, expect=ExpectResult(numbered_ids(shown.expect.value, asked.content)))


_REFERENCE: list[Implementation] = []
_LOCK = threading.Lock()


def reference() -> Implementation:
    """The embedded reference, which stands in where a value is needed and not just its digest."""
    with _LOCK:
        if not _REFERENCE:
            _REFERENCE.append(connect(REFERENCE, Settings()))
        return _REFERENCE[0]


def _reference_messages(state: str) -> Any:
    reply = call(reference(), Request(_PROJECTION, state))
    return reply.value["messages"] if isinstance(reply, Result) else []
