"""The overflow corpus of `fixtures/overflow/`: responses of providers, what they mean, and what Pi made of them.

`load_corpus` is strict and ends at the first fault; `corpus_lint` finds them all. A case crosses every boundary as a
frozen `Case`; the bytes of its response are exact.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compaction_conformance import schemas
from compaction_conformance.errors import InvalidInput
from compaction_conformance.guarded_json import JsonError, parse
from compaction_conformance.json_files import read_text
from compaction_conformance.paths import fixtures_dir
from compaction_conformance.schema_words import printable

MODEL = "test-model"  # what every case is asked with; no provider gives another answer for it
MAX_FILE_BYTES = 8 << 20
_SCHEMA = "overflow-case-file"


@dataclass(frozen=True)
class Response:
    """What the provider sends. `status` None: the connection ends before a status line.

    `chunks` are the bytes of the body; a streamed body is sent one chunk at a time, any other has at most one. `end`:
    `close` is an orderly end, `cut` a connection that drops after the last chunk, `stall` one that stays silent.
    """

    status: int | None
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[bytes, ...]
    streamed: bool
    end: str

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def text(self) -> str:
        """The body as people read it; bytes that are no UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True)
class Answer:
    """What an edition of Pi makes of a response. `retryable` None: not known."""

    stop_reason: str
    error_message: str | None
    overflow: bool
    retryable: bool | None = None


@dataclass(frozen=True)
class Evidence:
    """Where a case comes from: `grade` is verbatim, message-verbatim, reconstructed or synthetic."""

    grade: str
    source: str
    seen: str


@dataclass(frozen=True)
class Case:
    """One response with its label. `kind` is the member `class` of the file; `of` is empty where nothing overflows.
    `requirements` are the rules of the chapter RSP that the case is about, the main one first."""

    id: str
    family: str
    provider: str
    provider_id: str
    api: str
    context_window: int | None
    response: Response
    label: str
    of: str
    reason: str
    kind: str
    disputed: bool
    policy: str
    evidence: Evidence
    answers: Mapping[str, Answer]
    file: Path
    requirements: tuple[str, ...] = ()

    @property
    def overflow(self) -> bool:
        """The label as a verdict."""
        return self.label == "overflow"

    def classify_params(self, base_url: str, timeout_ms: int) -> dict[str, Any]:
        """The params of `overflow/classify` for this case, served below `base_url`. Nothing of the label is in them."""
        params: dict[str, Any] = {
            "baseUrl": base_url,
            "api": self.api,
            "provider": self.provider_id,
            "model": MODEL,
            "timeoutMs": timeout_ms,
        }
        return params if self.context_window is None else {**params, "contextWindow": self.context_window}


def corpus_dir() -> Path:
    """The folder of the corpus that comes with the suite."""
    return fixtures_dir() / "overflow"


def case_files(folder: Path) -> list[Path]:
    """The case files of a folder, by name. Raises `InvalidInput` where there are none."""
    if not folder.is_dir():
        raise InvalidInput("is no folder", where=str(folder), remedy="name a folder of case files (*.json)")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InvalidInput("holds no case file", where=str(folder), remedy="name a folder of case files (*.json)")
    return files


def load_corpus(folder: Path | None = None) -> tuple[Case, ...]:
    """Every case of a folder, by file and place. Raises `InvalidInput` at the first fault."""
    return _own_corpus() if folder is None else _read(folder)


def find_case(cases: Iterable[Case], case_id: str) -> Case:
    """The case with an id. Raises `InvalidInput` for one that does not exist."""
    for case in cases:
        if case.id == case_id:
            return case
    raise InvalidInput(f"there is no case {printable(case_id[:80])}", remedy="the corpus lists its ids")


def read_case_file(path: Path) -> dict[str, Any]:
    """The checked JSON of one case file, as it stands. Raises `InvalidInput`."""
    value = parsed_case_file(path)
    if error := schemas.first_error(_SCHEMA, value):
        raise InvalidInput(str(error), where=f"{path}{_case_at(value, error.pointer)}", remedy=_SHAPE)
    return dict(value)


def parsed_case_file(path: Path) -> Any:
    """The JSON of a case file, of whatever shape. Raises `InvalidInput`."""
    try:
        parsed = parse(read_text(path, MAX_FILE_BYTES))
    except JsonError as error:
        raise InvalidInput(f"is no JSON: {error.reason}", where=str(path), remedy=_SHAPE) from None
    if parsed.repeated_keys:
        raise InvalidInput(f"has the key {printable(parsed.repeated_keys[0])} twice in one object", where=str(path))
    return parsed.value


def read_case(raw: Mapping[str, Any], family: str, file: Path) -> Case:
    """A case from its JSON, which has passed the schema. Raises `InvalidInput` where its response has no bytes."""
    evidence = raw["evidence"]
    try:
        response = read_response(raw["response"])
    except UnicodeEncodeError as error:
        what = f"the response holds half of a surrogate pair, {error.object[error.start]!a}, which no bytes stand for"
        raise InvalidInput(what, where=f"{file} case {raw['id']}", remedy=_BYTES) from None
    return Case(
        id=raw["id"],
        family=family,
        provider=raw["provider"],
        provider_id=raw["providerId"],
        api=raw["api"],
        context_window=raw.get("contextWindow"),
        response=response,
        label=raw["label"],
        of=raw.get("of", ""),
        reason=raw["reason"],
        kind=raw["class"],
        disputed=raw["disputed"],
        policy=raw.get("policy", ""),
        evidence=Evidence(evidence["grade"], evidence["source"], evidence["seen"]),
        answers=MappingProxyType({name: _answer(one) for name, one in raw.get("answers", {}).items()}),
        file=file,
        requirements=tuple(raw.get("requirements", ())),
    )


def read_response(raw: Mapping[str, Any]) -> Response:
    """A response from its JSON, which has passed the schema. Raises `UnicodeEncodeError` for a lone surrogate."""
    streamed = "frames" in raw
    pieces = [_bytes(piece) for piece in raw["frames"]] if streamed else [_body(raw)]
    return Response(
        status=raw.get("status"),
        headers=tuple(raw.get("headers", {}).items()),
        chunks=tuple(piece for piece in pieces if piece),
        streamed=streamed,
        end=raw.get("end", "close"),
    )


_SHAPE = "fixtures/overflow/README.md tells the shape of a case"
_BYTES = "give the body as bodyBase64, or the frame as an object with base64"


@cache
def _own_corpus() -> tuple[Case, ...]:
    return _read(corpus_dir())


def _read(folder: Path) -> tuple[Case, ...]:
    cases: dict[str, Case] = {}
    for path in case_files(folder):
        raw = read_case_file(path)
        for one in raw["cases"]:
            case = read_case(one, raw["family"], path)
            if first := cases.get(case.id):
                raise InvalidInput(f"the id {case.id} is used in {first.file.name} already", where=str(path))
            cases[case.id] = case
    return tuple(cases.values())


def _body(raw: Mapping[str, Any]) -> bytes:
    if "bodyBase64" in raw:
        return base64.b64decode(raw["bodyBase64"], validate=True)
    return str(raw.get("body", "")).encode()


def _bytes(piece: Any) -> bytes:
    return piece.encode() if isinstance(piece, str) else base64.b64decode(piece["base64"], validate=True)


def _answer(raw: Mapping[str, Any]) -> Answer:
    return Answer(raw["stopReason"], raw["errorMessage"], raw["overflow"], raw.get("retryable"))


def _case_at(value: Any, pointer: str) -> str:
    """` case ID` where the pointer leads into one that has an id."""
    parts = pointer.split("/")
    try:
        return f" case {printable(value['cases'][int(parts[2])]['id'])}"
    except (LookupError, ValueError, TypeError):
        return ""
