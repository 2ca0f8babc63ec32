"""The one contract between the suite and the thing under test; `in_process` and `stdio` fulfil it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from compaction_conformance import schemas
from compaction_conformance.errors import HandshakeFailed
from compaction_conformance.expectation import Reply
from compaction_conformance.schema_words import nearest

PROTOCOL_VERSION = 1
HANDSHAKE_SECONDS = 60.0  # for the start and the answer to `initialize`


@dataclass(frozen=True)
class Request:
    """One call. `params_text` is JSON on one line; `time_limit` is in seconds, None for the run's default."""

    method: str
    params_text: str
    time_limit: float | None = None


@dataclass(frozen=True)
class Description:
    """What an implementation says of itself in the handshake. Operations that the suite does not know stand apart."""

    name: str
    version: str
    language: str
    url: str
    editions: tuple[str, ...]
    profiles: tuple[str, ...]
    operations: frozenset[str]
    unknown_operations: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}".strip()


class Implementation(Protocol):
    """Something that answers requests, in order, one reply for each; it never raises for what the other side does."""

    @property
    def description(self) -> Description: ...

    def answers(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """Make the requests and yield the replies in the same order. The iterator may read ahead."""
        ...

    @property
    def log(self) -> str:
        """The tail of what the other side wrote to its log, for showing beside a failure."""
        ...

    def close(self) -> None: ...


def call(implementation: Implementation, request: Request) -> Reply:
    """One request, one reply."""
    return next(iter(implementation.answers([request])))


def initialize_params(edition: str, profile: str) -> dict[str, Any]:
    return {"protocolVersion": PROTOCOL_VERSION, "edition": edition, "profile": profile}


def _remedy(error: schemas.SchemaError) -> str:
    """For the name of an operation, the one that may be meant."""
    if not error.pointer.startswith("/operations/") or not isinstance(error.value, str):
        return "see 'Life of an adapter' in spec/protocol.md"
    meant = nearest(error.value, schemas.operations(), 1)
    asked = f"{meant[0]} is one; " if meant else ""
    return f"{asked}`compaction-conformance list --operations` shows those that are known"


def read_description(value: Any, edition: str, profile: str) -> Description:
    """From the answer to `initialize`. Raises `HandshakeFailed` when it breaks its schema or does not fit the run."""
    if error := schemas.first_error("protocol/initialize.result", value):
        raise HandshakeFailed(
            f"the answer to initialize breaks its schema at {error.pointer or 'the top'}: {error.message}",
            remedy=_remedy(error),
        )
    if value["protocolVersion"] != PROTOCOL_VERSION:
        raise HandshakeFailed(f"it speaks protocol version {value['protocolVersion']}, the suite {PROTOCOL_VERSION}")
    for wanted, offered in ((edition, value["editions"]), (profile, value["profiles"])):
        if wanted not in offered:
            raise HandshakeFailed(f"it does not offer {wanted}, only {', '.join(offered) or 'nothing'}")
    about, known = value["implementation"], frozenset(schemas.operations())
    return Description(
        name=about["name"],
        version=about["version"],
        language=about.get("language", ""),
        url=about.get("url", ""),
        editions=tuple(value["editions"]),
        profiles=tuple(value["profiles"]),
        operations=frozenset(value["operations"]) & known,
        unknown_operations=tuple(sorted(frozenset(value["operations"]) - known)),
        features=frozenset(value.get("features", ())),
    )
