"""From a status and a body to a case of the corpus: placeholders for what is private, then every check of the lint."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compaction_conformance.corpus import personal
from compaction_conformance.corpus.cases import load_corpus, read_case_file
from compaction_conformance.corpus.lint import Problem, lint_case
from compaction_conformance.corpus.text import case_file_text
from compaction_conformance.errors import InvalidInput
from compaction_conformance.json_files import write_text, writing
from compaction_conformance.schema_words import printable

MAX_BODY = 1 << 20  # bytes
_EXPECTED = ("answers",)  # a warning that every new case has until its answers are recorded


@dataclass(frozen=True)
class Draft:
    """What a maintainer knows of a response. `body` is what the provider sent, byte for byte."""

    family: str
    body: bytes
    members: Mapping[str, Any]
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Added:
    """The case as it is written, where, and in words what was replaced by placeholders."""

    file: Path
    case: Mapping[str, Any]
    redacted: tuple[str, ...]
    warnings: tuple[Problem, ...]


def add_case(draft: Draft, folder: Path, *, allow_similar: bool = False, write: bool = True) -> Added:
    """Append a case to its family's file, which is made if there is none.

    Raises `InvalidInput` when the case is not sound, or is in the corpus already.
    """
    file = _family_file(draft.family, folder)
    case, redacted = _case(draft)
    known = load_corpus(folder) if folder.is_dir() and any(folder.glob("*.json")) else ()
    problems = [problem for problem in lint_case(case, draft.family, file, known) if problem.code not in _EXPECTED]
    refused = [
        one for one in problems if one.severity == "error" or (one.code == "duplicate-message" and not allow_similar)
    ]
    if refused:
        first = refused[0]
        similar = first.code == "duplicate-message"
        remedy = "if the numbers decide the label, add it with --allow-similar" if similar else first.remedy
        raise InvalidInput(
            f"the case is refused: {first.message}", where=printable(str(case.get("id", ""))), remedy=remedy
        )
    if write:
        existing = read_case_file(file)["cases"] if file.exists() else []
        with writing(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, case_file_text(draft.family, [*existing, case]))
    return Added(file, case, tuple(redacted), tuple(problems))


def _family_file(family: str, folder: Path) -> Path:
    if not family or not all(char in "abcdefghijklmnopqrstuvwxyz0123456789-" for char in family):
        raise InvalidInput(
            f"{printable(family)!r} is no name of a family",
            where="--family",
            remedy="use small letters, digits, hyphens",
        )
    return folder / f"{family}.json"


def _case(draft: Draft) -> tuple[dict[str, Any], list[str]]:
    """The case with placeholders, and what they stand for."""
    if len(draft.body) > MAX_BODY:
        raise InvalidInput(f"the body has {len(draft.body)} bytes", remedy=f"a case holds at most {MAX_BODY} of them")
    redacted: list[str] = []
    members = {name: _clean(value, redacted) for name, value in draft.members.items()}
    response: dict[str, Any] = {"status": draft.status}
    headers = {name.lower(): _clean(value, redacted) for name, value in draft.headers.items()}
    if draft.body and "content-type" not in headers:
        headers["content-type"] = _content_type(draft.body)
    if headers:
        response["headers"] = headers
    try:
        text = draft.body.decode("utf-8")
    except UnicodeDecodeError:
        response["bodyBase64"] = base64.b64encode(draft.body).decode("ascii")
    else:
        cleaned = _clean(text, redacted)
        if headers.get("content-type", "").startswith("text/event-stream"):
            response["frames"] = [f"{frame}\n\n" for frame in cleaned.split("\n\n") if frame.strip()]
        else:
            response["body"] = cleaned
    return {**members, "response": response}, redacted


def _clean(value: Any, redacted: list[str]) -> Any:
    if isinstance(value, str):
        redacted += [f"{detail.kind} {printable(detail.hint)}" for detail in personal.find(value)]
        return personal.redact(value)
    if isinstance(value, Mapping):
        return {name: _clean(item, redacted) for name, item in value.items()}
    return value


def _content_type(body: bytes) -> str:
    start = body.lstrip()[:64].lower()
    if start.startswith((b"data:", b"event:")):
        return "text/event-stream"
    if start.startswith(b"<"):
        return "text/html"
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return "text/plain"
    return "application/json"
