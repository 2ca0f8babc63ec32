"""JSON from files that nobody vouches for: bounded lines, and one clear reason where a text is no JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

_CHUNK = 1 << 20


class JsonError(ValueError):
    """Why a text is no JSON. `column` counts characters from 1; None where it is not known."""

    def __init__(self, reason: str, column: int | None = None, *, too_deep: bool = False) -> None:
        self.reason, self.column, self.too_deep = reason, column, too_deep
        super().__init__(reason)


@dataclass(frozen=True)
class Parsed:
    """A value, and the keys that one of its objects has more than once."""

    value: Any
    repeated_keys: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One line without its line feed. `data` is empty when the line is longer than the limit."""

    number: int
    data: bytes
    size: int
    ended: bool
    too_long: bool


def parse(text: str) -> Parsed:
    """Read one JSON value. Raises `JsonError`."""
    repeated: dict[str, None] = {}

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            repeated.update((key, None) for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return value

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=refuse_constant, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise JsonError(error.msg[:1].lower() + error.msg[1:], error.pos + 1) from None
    except RecursionError:
        raise JsonError("it is nested too deeply to be read", too_deep=True) from None
    return Parsed(value, tuple(repeated))


def read_lines(stream: BinaryIO, limit: int) -> Iterator[Line]:
    """The lines of a stream, split at line feeds alone; no more than `limit` bytes are held at a time."""
    number = 0
    while data := stream.readline(limit + 1):
        number += 1
        if data.endswith(b"\n"):
            yield Line(number, data[:-1], len(data) - 1, ended=True, too_long=False)
        elif len(data) <= limit:
            yield Line(number, data, len(data), ended=False, too_long=False)
        else:
            size, ended = _skip_rest(stream)
            yield Line(number, b"", len(data) + size, ended=ended, too_long=True)


def _skip_rest(stream: BinaryIO) -> tuple[int, bool]:
    size = 0
    while data := stream.readline(_CHUNK):
        size += len(data)
        if data.endswith(b"\n"):
            return size - 1, True
    return size, False


def refuse_constant(name: str) -> NoReturn:
    """For `json.loads`: NaN and the infinities, which Python reads, are no JSON. Raises `JsonError`."""
    raise JsonError(f"{name} is no JSON number")


def _whole(digits: str) -> int | float:
    # Python refuses to read integers of many thousand digits; JavaScript reads them as Infinity.
    return int(digits) if len(digits) <= 4000 else float(digits)
