"""Recorded sweeps: for one session every point, every question, and the digest of the oracle's answer.

A session is append-only, so each of its prefixes was once the whole session: one file gives as many checks as it has
entries. `fixtures/golden/README.md` describes the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compaction_conformance.errors import ConformanceError
from compaction_conformance.expectation import Error, Reply, Result
from compaction_conformance.golden.canonical import DIGEST_LENGTH, digest
from compaction_conformance.golden.leeway import open_rule
from compaction_conformance.golden.questions import (
    FILE,
    MESSAGES,
    Material,
    Point,
    Question,
    all_questions,
    request_of_file,
    request_of_messages,
)
from compaction_conformance.golden.sessions import GoldenSession, leaves_of, numbered_ids, read_checked
from compaction_conformance.implementation import Implementation, Request, call

_TORN_EVERY = 5
_NOTABLE = ("compaction", "context_edit", "branch_summary")


@dataclass(frozen=True)
class Sweep:
    """`digests` hold one text a point (a size, for what takes the file): eight hexadecimal digits, or the id of the
    rule that leaves the answer open. `sizes` are lengths in bytes to which the file is cut."""

    session: GoldenSession
    source: str
    points: tuple[Point, ...]
    sizes: tuple[int, ...]
    digests: tuple[tuple[Question, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Asked:
    """One request of a sweep and what is recorded of its answer; `place` is the index of its point or size."""

    sweep: Sweep
    question: Question
    request: Request
    recorded: str
    place: int

    @property
    def is_file(self) -> bool:
        return self.question.takes == FILE

    def meets(self, reply: Result | Error) -> bool:
        """Whether the answer has the recorded digest; one that is left open meets anything."""
        if is_open(self.recorded):
            return True
        try:
            return answer_digest(self.question, reply, self.sweep.session.content) == self.recorded
        except (RecursionError, ValueError, AttributeError):  # nested too deeply, or digits beyond measure
            return False

    @property
    def where(self) -> str:
        """In words for people: the first entry, or the bytes, with which the answer diverges."""
        if self.is_file:
            return f"first divergence at {self.sweep.sizes[self.place]} bytes"
        point, entries = self.sweep.points[self.place], self.sweep.session.entries
        about = f", {self.question.about}" if self.question.about else ""
        if not point.length:
            return f"first divergence without an entry{about}"
        last = entries[point.length - 1]
        leaf = "" if point.leaf_id == last.get("id") else f", seen from the leaf {point.leaf_id}"
        return f"first divergence at entry {point.length} ({last.get('id')}, {last.get('type')}){leaf}{about}"


def load_sweep(session: GoldenSession) -> Sweep:
    """Raises `InvalidInput` when the file breaks its schema."""
    data = read_checked(session.sweep_file, "sweep-file")
    by_key = {(question.operation, canonical_more(question.more)): question for question in all_questions()}
    digests = tuple(
        (by_key[answer["operation"], canonical_more(answer.get("with", {}))], tuple(answer["digests"]))
        for answer in data["answers"]
    )
    points = tuple(Point(length, leaf) for length, leaf in data["points"])
    return Sweep(session, data["source"], points, tuple(data["sizes"]), digests)


def canonical_more(more: Any) -> str:
    return json.dumps(more, sort_keys=True)


def is_open(text: str) -> bool:
    """Whether a recorded answer is left open: then the id of a rule stands there."""
    return "-" in text


def answer_digest(question: Question, reply: Result | Error, content: bytes) -> str:
    """Of an answer about the file, ids that were made count by their order."""
    if question.takes == FILE and isinstance(reply, Result):
        reply = Result(numbered_ids(reply.value, content))
    return digest(reply)


# ---- points ----------------------------------------------------------------------------------------------------------


def points_of(session: GoldenSession, entries: Sequence[Any]) -> list[Point]:
    """Every prefix, seen from its last entry; then every other leaf of the whole session. A large session is sampled:
    evenly, and around what changes the context."""
    count = len(entries)
    lengths = set(range(count + 1))
    if session.sample is not None and session.sample < count:
        even = {round(index * count / (session.sample - 1)) for index in range(session.sample)}
        notable = {
            index + step for index, entry in enumerate(entries) if entry.get("type") in _NOTABLE for step in (0, 1, 2)
        }
        lengths &= even | notable
    points = [Point(length, entries[length - 1]["id"] if length else None) for length in sorted(lengths)]
    return points + [Point(count, leaf) for leaf in leaves_of(entries) if leaf != entries[-1]["id"]]


def sizes_of(session: GoldenSession) -> list[int]:
    """The end of every line, and the middle of some: a file that was torn there."""
    content, start = session.content, 0
    sizes: list[int] = []
    lines = content.split(b"\n")
    every = 1 if session.sample is None else max(1, len(lines) // (session.sample // 2))
    for number, line in enumerate(lines):
        end = min(start + len(line) + 1, len(content))
        if number % (every * _TORN_EVERY) == _TORN_EVERY - 1 and len(line) > 1:
            sizes.append(start + len(line) // 2)
        if number % every == 0 or number >= len(lines) - 2:
            sizes.append(end)
        start = end
    return sorted({size for size in sizes if size})


# ---- recording -------------------------------------------------------------------------------------------------------


def recorded_sweep(side: Implementation, session: GoldenSession) -> dict[str, Any]:
    """The content of a sweep file, from a run of the oracle. The session's golden document has to be there."""
    material = Material(session.entries)
    points, sizes = points_of(session, session.entries), sizes_of(session)
    rows: dict[Question, list[str]] = {question: [] for question in all_questions()}
    for question in rows:
        if question.takes == FILE:
            for size in sizes:
                reply = _answer(side, request_of_file(question, session.content[:size]))
                rows[question].append(answer_digest(question, reply, session.content))
    for point in points:
        for question, request, reply in _answers_at(side, point, material):
            rule = open_rule(question, request, reply, point, material, lambda asked: call(side, asked))
            rows[question].append(rule or answer_digest(question, reply, session.content))
    return {
        "session": session.id,
        "edition": "pi-0.87",
        "source": side.description.label,
        "points": [[point.length, point.leaf_id] for point in points],
        "sizes": sizes,
        "answers": [
            {"operation": question.operation, **({"with": question.more} if question.more else {}), "digests": row}
            for question, row in rows.items()
        ],
    }


def _answers_at(
    side: Implementation, point: Point, material: Material
) -> Iterator[tuple[Question, Request, Result | Error]]:
    messages: Any = []
    for question, request in material.requests(point, all_questions()):
        reply = _answer(side, request)
        if question.operation == "projection/messages" and isinstance(reply, Result):
            messages = reply.value["messages"]
        yield question, request, reply
    for question in all_questions():
        if question.takes == MESSAGES:
            request = request_of_messages(question, messages)
            yield question, request, _answer(side, request)


def _answer(side: Implementation, request: Request) -> Result | Error:
    reply: Reply = call(side, request)
    if isinstance(reply, (Result, Error)):
        return reply
    raise ConformanceError(f"{request.method}: {reply.shown()}", remedy="record from an implementation that answers")


def sweep_text(data: dict[str, Any]) -> str:
    """A few digests or points a line."""

    def rows(items: Sequence[Any], per_line: int) -> str:
        texts = [json.dumps(item, ensure_ascii=True) for item in items]
        lines = [", ".join(texts[index : index + per_line]) for index in range(0, len(texts), per_line)]
        return "[\n  " + ",\n  ".join(lines) + "\n ]" if len(lines) > 1 else f"[{''.join(lines)}]"

    head = "".join(f' "{name}": {json.dumps(data[name])},\n' for name in ("session", "edition", "source"))
    per_line = 120 // (DIGEST_LENGTH + 4)
    answers = ",\n".join(
        "  {"
        + "".join(f'"{name}": {json.dumps(answer[name])}, ' for name in ("operation", "with") if name in answer)
        + f'"digests": {rows(answer["digests"], per_line)}}}'
        for answer in data["answers"]
    )
    places = f' "points": {rows(data["points"], 6)},\n "sizes": {rows(data["sizes"], 16)},\n'
    return f'{{\n{head}{places} "answers": [\n{answers}\n ]\n}}\n'
