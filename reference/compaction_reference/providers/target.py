"""Who is asked, and with what."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..types import Json

QUESTION = "Say hello."
MAX_OUTPUT = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """A provider's address below which the style appends its path, and the model. `timeout` is seconds without a byte.

    Raises ValueError for an address that is no http or https one.
    """

    base_url: str
    api: str
    provider: str
    model: str
    timeout: float = 60.0
    key: str = "no-key"

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{self.base_url[:200]!r} is no base address; give http(s)://host[:port][/path]")


@dataclass(frozen=True, slots=True)
class Request:
    """One POST. `path` is appended to the base address. `whole_seconds` limits the exchange from end to end, where a
    style does that."""

    path: str
    body: Json
    headers: dict[str, str] = field(default_factory=dict)
    whole_seconds: float | None = None
