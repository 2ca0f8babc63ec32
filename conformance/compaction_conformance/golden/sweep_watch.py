"""Sweeps under way: their requests in one stream, and for each operation the first wrong answer."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compaction_conformance.expectation import Broken, Error, NotRun, Reply, Result
from compaction_conformance.golden.questions import (
    FILE,
    MESSAGES,
    Material,
    request_of_file,
    request_of_messages,
)
from compaction_conformance.golden.sweep_example import example_of, reference_messages
from compaction_conformance.golden.sweep_run import OnOutcome, SweepOutcome, SweepVector
from compaction_conformance.golden.sweeps import Asked, is_open
from compaction_conformance.implementation import Implementation, Request
from compaction_conformance.run import FAILED, NOT_RUN, PASSED, UNSUPPORTED, Outcome

_PROJECTION = "projection/messages"


def sweep_sessions(side: Implementation, groups: Iterable[list[SweepVector]], report: OnOutcome) -> None:
    """All sessions in one stream of requests, so that the implementation is never waited for without need."""
    watches = deque(_Watch(side, group, report) for group in groups)
    followers: deque[tuple[_Watch, Asked]] = deque()
    under_way: deque[tuple[_Watch, Asked]] = deque()
    stream = ((watch, asked) for watch in tuple(watches) for asked in watch.requests())

    def requests() -> Iterator[Request]:
        """Those that need messages go out as soon as the messages are known."""
        for item in stream:
            while followers:
                yield noted(followers.popleft())
            yield noted(item)
        while followers:
            yield noted(followers.popleft())

    def noted(item: tuple[_Watch, Asked]) -> Request:
        under_way.append(item)
        return item[1].request

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


@dataclass(frozen=True)
class _Wrong:
    asked: Asked
    reply: Result | Error | Broken
    log: str


class _Watch:
    """What becomes of one session, whose vectors are all given."""

    def __init__(self, side: Implementation, vectors: Sequence[SweepVector], report: OnOutcome) -> None:
        assert vectors[0].sweep is not None
        self._side, self._report, self._sweep = side, report, vectors[0].sweep
        self._vectors = {vector.operation: vector for vector in vectors}
        self._declared = {name for name in self._vectors if name in side.description.operations}
        self._rows = {q: row for q, row in self._sweep.digests if q.operation in self._declared}
        self._wrong: dict[str, _Wrong] = {}
        self._answered = Counter[str]()
        self._unasked = NotRun("the questions before it were not answered")
        self._asked_all = False
        self._waiting = 0

    @property
    def finished(self) -> bool:
        return self._asked_all and self._waiting == 0

    def requests(self) -> Iterator[Asked]:
        """All but those that follow from answers."""
        for asked in self._requests():
            self._waiting += 1
            yield asked
        self._asked_all = True

    def _requests(self) -> Iterator[Asked]:
        session = self._sweep.session
        for question, row in self._rows.items():
            if question.takes == FILE:
                for place, size in enumerate(self._sweep.sizes):
                    content = session.content[:size]
                    yield Asked(self._sweep, question, request_of_file(question, content), row[place], place)
        material = Material(session.entries)
        questions = tuple(self._rows)
        for place, point in enumerate(self._sweep.points):
            for question, request in material.requests(point, questions):
                yield Asked(self._sweep, question, request, self._rows[question][place], place)
            if _PROJECTION not in self._declared and any(question.takes == MESSAGES for question in questions):
                state = json.dumps({"entries": session.entries[: point.length], "leafId": point.leaf_id})
                yield from self._of_messages(reference_messages(state), place)

    def _of_messages(self, messages: object, place: int) -> Iterator[Asked]:
        for question, row in self._rows.items():
            if question.takes == MESSAGES:
                yield Asked(self._sweep, question, request_of_messages(question, messages), row[place], place)

    def take(self, asked: Asked, reply: Reply) -> list[Asked]:
        """Judges a reply. Those to `projection/messages` lead to further requests about their messages, or about those
        of the reference when they are wrong."""
        self._waiting -= 1
        right = isinstance(reply, (Result, Error)) and asked.meets(reply)
        operation = asked.question.operation
        if isinstance(reply, NotRun):
            self._unasked = reply
            return []
        self._answered[operation] += 1
        if not right:
            self._wrong.setdefault(operation, _Wrong(asked, reply, self._side.log))
        if operation != _PROJECTION:
            return []
        if right and isinstance(reply, Result) and not is_open(asked.recorded):
            messages = reply.value["messages"]
        else:
            messages = reference_messages(asked.request.params_text)
        followers = list(self._of_messages(messages, asked.place))
        self._waiting += len(followers)
        return followers

    def close(self) -> None:
        for operation, vector in self._vectors.items():
            self._report(self._outcome(operation, vector))

    def _outcome(self, operation: str, vector: SweepVector) -> Outcome:
        if operation not in self._declared:
            return SweepOutcome(vector, UNSUPPORTED)
        if operation not in self._wrong:
            if self._answered[operation] < vector.answers:
                return SweepOutcome(vector, NOT_RUN, reply=self._unasked)
            return SweepOutcome(vector, PASSED)
        wrong = self._wrong[operation]
        example = example_of(vector, wrong.asked, wrong.reply, wrong.log)
        return SweepOutcome(vector, FAILED, example.verdict, wrong.reply, wrong.log, example)
