"""On which line of a JSON text a value begins."""

from __future__ import annotations

import json
from collections.abc import Sequence

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, counted from 1, on which the value at a path of keys and indices begins.

    Where the path leads nowhere, the line of the last value that exists; `text` is sound JSON.
    """
    at = _skip(text, 0)
    for part in path:
        found = _member(text, at, part) if isinstance(part, str) else _element(text, at, part)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _member(text: str, at: int, key: str) -> int | None:
    if text[at : at + 1] != "{":
        return None
    at = _skip(text, at + 1)
    while text[at : at + 1] == '"':
        name, end = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, end) + 1)  # past the colon
        if name == key:
            return at
        at = _next(text, at)
    return None


def _element(text: str, at: int, index: int) -> int | None:
    if text[at : at + 1] != "[":
        return None
    at = _skip(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        if index == 0:
            return at
        index -= 1
        at = _next(text, at)
    return None


def _next(text: str, at: int) -> int:
    """Where the value after this one begins, past the comma."""
    _, end = _DECODER.raw_decode(text, at)
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at : at + 1] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at
