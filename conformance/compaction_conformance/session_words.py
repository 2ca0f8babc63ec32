"""The text of a session file in a few words: its lines as entries, and what a reader could not see as it stands."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from compaction_conformance.guarded_json import refuse_constant

_LINES = 6
_BEFORE = 12  # characters that are shown before an odd one
_PART = 48  # characters that are shown of a line
_LOOKED_AT = 1_000_000


def session_words(text: str, item: Callable[[Any], str]) -> str:
    """One line, not escaped yet. `item` tells of an entry; what is no object is quoted."""
    lines = text[:_LOOKED_AT].split("\n")
    if not lines[-1]:
        lines.pop()
    chosen = _chosen(lines)
    told: list[str] = []
    for place, number in enumerate(chosen):
        if place and number != chosen[place - 1] + 1:
            told.append("…")
        told.append(_line(lines[number], item))
    if (more := len(lines) - len(chosen)) > 0:
        told.append(f"({more} more lines)")
    if text and not text.endswith("\n"):
        told.append("(no line feed at the end)")
    return " · ".join(told) or "an empty text"


def text_of_bytes(encoded: Any) -> str | None:
    """The text that Base64 stands for, with an escape for each byte that is no UTF-8; None where it is no Base64."""
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8", "backslashreplace")
    except (ValueError, TypeError):
        return None


def _chosen(lines: Sequence[str]) -> list[int]:
    """The places of the lines that are shown: the first one, then those that are odd."""
    ranked = sorted(range(len(lines)), key=lambda number: (number > 0 and not _is_odd(lines[number]), number))
    return sorted(ranked[:_LINES])


def _is_odd(line: str) -> bool:
    return not (line.isprintable() and line.startswith("{") and line.endswith("}"))


def _line(line: str, item: Callable[[Any], str]) -> str:
    if not line:
        return "a blank line"
    odd = _first_odd(line)
    try:
        value = json.loads(line, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as problem:
        return _quoted(line, getattr(problem, "pos", 0) if odd is None else odd)
    told = item(value) if isinstance(value, dict) else ""
    return " ".join([told] * bool(told) + [_quoted(line, odd or 0)] * (odd is not None or not told))


def _first_odd(line: str) -> int | None:
    """The place of the first character that could not be seen."""
    return None if line.isprintable() else next(place for place, char in enumerate(line) if not char.isprintable())


def _quoted(line: str, at: int) -> str:
    start = max(at - _BEFORE, 0)
    part = line[start : start + _PART]
    return f"`{'…' * (start > 0)}{part}{'…' * (start + _PART < len(line))}`"
