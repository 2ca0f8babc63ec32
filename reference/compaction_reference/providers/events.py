"""Server-sent events: a stream of lines, in which an empty line ends an event."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..ecma import parse_json
from .complaint import complaint
from .failure import Failed


@dataclass(frozen=True, slots=True)
class Event:
    """The lines of one event. `finished`: an empty line ended it, not the end of the stream."""

    lines: tuple[str, ...]
    finished: bool

    @property
    def name(self) -> str:
        """The last one that is told; empty where there is none."""
        return [*self._values("event"), ""][-2:][0]

    @property
    def data(self) -> str | None:
        """The data lines as one text; `None` where there are none."""
        lines = list(self._values("data"))
        return "\n".join(lines) if lines else None

    def _values(self, wanted: str) -> Iterator[str]:
        for line in self.lines:
            field, _, value = line.partition(":")
            if field == wanted:
                yield value.removeprefix(" ")


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Each event as soon as it is complete. Lines end in LF, CR or both; bytes that are no UTF-8 are replaced."""
    lines: list[str] = []
    for line in io.TextIOWrapper(io.BufferedReader(_Body(chunks)), "utf-8-sig", errors="replace", newline=None):
        if line != "\n":
            lines.append(line.removesuffix("\n"))
        elif lines:
            yield Event(tuple(lines), finished=True)
            lines = []
    if lines:
        yield Event(tuple(lines), finished=False)


def json_of(text: str) -> Any:
    """The value of a text that has to be JSON. Raises `Failed` with the parser's complaint. (RSP-26)"""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        raise Failed(complaint(text)) from None


class _Body(io.RawIOBase):
    """The chunks of a body as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
