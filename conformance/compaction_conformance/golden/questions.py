"""What is asked about a golden session at every point, read from `fixtures/golden/questions.json`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from compaction_conformance.golden.sessions import path_of, read_checked
from compaction_conformance.implementation import Request
from compaction_conformance.paths import fixtures_dir

FILE, STATE, ENTRIES, PATH, MESSAGES = "file", "state", "entries", "path", "messages"


@dataclass(frozen=True)
class Question:
    """One operation with fixed further params. `takes` says what of a point goes into its params."""

    operation: str
    takes: str
    requirement: str
    more: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def about(self) -> str:
        """The further params in words, empty without any."""
        return ", ".join(f"{name} {json.dumps(value)}" for name, value in self.more.items())


@cache
def all_questions(file: Path | None = None) -> tuple[Question, ...]:
    data = read_checked(file or fixtures_dir() / "golden" / "questions.json", "questions-file")
    return tuple(
        Question(raw["operation"], raw["takes"], raw["requirement"], more)
        for raw in data["questions"]
        for more in raw.get("with", [{}])
    )


@dataclass(frozen=True)
class Point:
    """A state of a session: its first `length` entries, seen from a leaf."""

    length: int
    leaf_id: str | None


@dataclass(frozen=True)
class Material:
    """The entries of one session, and each as the text that goes into params."""

    entries: Sequence[Any]

    @cached_property
    def texts(self) -> list[str]:
        return [json.dumps(entry, separators=(",", ":")) for entry in self.entries]

    def requests(self, point: Point, questions: Sequence[Question]) -> Iterator[tuple[Question, Request]]:
        """Of all questions that take a state, entries or a path."""
        entries = f'"entries":[{",".join(self.texts[: point.length])}]'
        state = f'{entries},"leafId":{json.dumps(point.leaf_id)}'
        path = ""
        for question in questions:
            if question.takes == PATH and not path:
                path = self._path(point)
            start = {STATE: state, ENTRIES: entries, PATH: path}.get(question.takes)
            if start is not None:
                yield question, _request(question, start)

    def _path(self, point: Point) -> str:
        path = path_of(self.entries[: point.length], point.leaf_id)
        text = ",".join(json.dumps(entry, separators=(",", ":")) for entry in path)
        return f'"entries":[{text}],"startIndex":0,"endIndex":{len(path)}'


def request_of_messages(question: Question, messages: Any) -> Request:
    return _request(question, f'"messages":{json.dumps(messages, separators=(",", ":"))}')


def request_of_file(question: Question, content: bytes) -> Request:
    return _request(question, f'"contentBase64":"{base64.b64encode(content).decode("ascii")}"')


def _request(question: Question, start: str) -> Request:
    more = json.dumps(question.more, separators=(",", ":"))[1:-1]
    return Request(question.operation, f"{{{start}{',' if more else ''}{more}}}")
