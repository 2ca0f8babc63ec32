"""The text of a case file: one member of a case a line, one frame a line, so that a diff shows what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_ORDER = (
    "id",
    "provider",
    "providerId",
    "api",
    "contextWindow",
    "response",
    "label",
    "of",
    "reason",
    "class",
    "disputed",
    "policy",
    "requirements",
    "evidence",
    "answers",
)
_BY_MEMBER = ("response", "answers")


def case_file_text(family: str, cases: Iterable[Mapping[str, Any]]) -> str:
    """The whole file for a family's cases, in the order given, ending in a newline."""
    bodies = ",\n".join(_case_text(case) for case in cases)
    return f'{{\n"family": {_json(family)},\n"cases": [\n{bodies}\n]\n}}\n'


def _case_text(case: Mapping[str, Any]) -> str:
    keys = [key for key in _ORDER if key in case] + [key for key in case if key not in _ORDER]
    members = ",\n".join(f"  {_json(key)}: {_member_text(key, case[key])}" for key in keys)
    return f" {{\n{members}\n }}"


def _member_text(key: str, value: Any) -> str:
    if key not in _BY_MEMBER or not isinstance(value, dict) or not value:
        return _json(value)
    members = ",\n".join(f"    {_json(name)}: {_lines(item)}" for name, item in value.items())
    return f"{{\n{members}\n  }}"


def _lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _json(value)
    elements = ",\n".join(f"      {_json(item)}" for item in value)
    return f"[\n{elements}\n    ]"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate travels as an escape
        text = json.dumps(value)
    return text
