"""The text of a vector file: one member a line, one entry or message a line, so that a diff shows what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_ORDER = (
    "id",
    "requirements",
    "feature",
    "description",
    "twin",
    "given",
    "operation",
    "params",
    "expect",
    "timeLimit",
    "evidence",
    "editions",
)


def vector_file_text(chapter: str, vectors: Iterable[dict[str, Any]]) -> str:
    """The whole file for a chapter's vectors, in the order given, ending in a newline."""
    bodies = ",\n".join(_vector_text(vector) for vector in vectors)
    return f'{{\n"chapter": {_json(chapter)},\n"vectors": [\n{bodies}\n]\n}}\n'


def _vector_text(vector: dict[str, Any]) -> str:
    known = [key for key in _ORDER if key in vector]
    keys = known + [key for key in vector if key not in _ORDER]
    members = ",\n".join(f"  {_json(key)}: {_member_text(vector[key], depth=4)}" for key in keys)
    return f" {{\n{members}\n }}"


def _member_text(value: Any, depth: int) -> str:
    """One line where that stays readable; otherwise a long object by member and a long array by element."""
    line = _json(value)
    if len(line) <= 110 or depth > 12:
        return line
    pad, end = " " * depth, " " * (depth - 2)
    if isinstance(value, dict) and value:
        members = ",\n".join(f"{pad}{_json(key)}: {_member_text(item, depth + 2)}" for key, item in value.items())
        return f"{{\n{members}\n{end}}}"
    if isinstance(value, list) and value:
        elements = ",\n".join(f"{pad}{_json(item)}" for item in value)
        return f"[\n{elements}\n{end}]"
    return line


def _json(value: Any) -> str:
    """Readable text stays as it is; what a reader of the file could not see, or a file could not hold, is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
