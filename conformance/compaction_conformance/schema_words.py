"""A validation error in plain words: what is there, and what is expected instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from jsonschema import ValidationError

_SHOWN = 60
_LISTED = 12
_TYPES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


@dataclass(frozen=True)
class _Breach:
    """The keyword that the value breaks, what that keyword asks for, and the schema in which it stands."""

    keyword: str
    asked: Any
    value: Any
    schema: Mapping[str, Any]


def told(error: ValidationError) -> str:
    """One line: what is wrong, and what is expected."""
    schema = error.schema if isinstance(error.schema, dict) else {}
    say = _SENTENCES.get(str(error.validator))
    if say is None:
        return printable(error.message[: 4 * _SHOWN])
    return say(_Breach(str(error.validator), error.validator_value, error.instance, schema))


def pointer_to(path: Iterable[str | int]) -> str:
    """The JSON Pointer of a path of keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def printable(text: str) -> str:
    """Control characters, direction marks and lone surrogates become escapes, so that no input moves the cursor."""
    return text if text.isprintable() else text.translate(_ESCAPES)


class _Escapes:
    """What `str.translate` asks for every character: it takes no more memory than the text that comes of it."""

    def __getitem__(self, code: int) -> str:
        char = chr(code)
        return char if char.isprintable() else ascii(char)[1:-1]


_ESCAPES = _Escapes()


def printable_lines(text: str) -> str:
    """The same of each line, so that the lines stay apart."""
    return "\n".join(map(printable, text.split("\n")))


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that a name is nearly, the nearest first."""
    return get_close_matches(name[:_SHOWN], list(known), most)


def brief(text: str, most: int = 80) -> str:
    """As `printable`, and cut where it is longer than so many characters."""
    return printable(text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)")


def shown(value: Any) -> str:
    """A value in a few characters: scalars as JSON, containers by their kind."""
    if isinstance(value, (dict, list)):
        return kind_of(value)
    if isinstance(value, str):
        tail = "…" if len(value) > _SHOWN else ""
        return f'"{printable(value[:_SHOWN])}{tail}"'
    try:
        return json.dumps(value)[:_SHOWN]
    except ValueError:  # Python refuses to print integers of many thousand digits
        return "a huge number"


def kind_of(value: Any) -> str:
    """The kind of a JSON value, as a noun."""
    if isinstance(value, bool):
        return "a boolean"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (str, "a string"),
        ((int, float), "a number"),
        (list, "an array"),
        (dict, "an object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _type(breach: _Breach) -> str:
    names = [breach.asked] if isinstance(breach.asked, str) else list(breach.asked)
    words = [_TYPES[name] for name in names]
    either = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    return _is(breach, either + _called(breach))


def _required(breach: _Breach) -> str:
    absent = [name for name in breach.asked if name not in breach.value]
    return f"{_list(absent)} {'is' if len(absent) == 1 else 'are'} missing"


def _const(breach: _Breach) -> str:
    return _is(breach, shown(breach.asked))


def _enum(breach: _Breach) -> str:
    return _is(breach, f"one of {_list(breach.asked)}{_called(breach)}")


def _pattern(breach: _Breach) -> str:
    return _is(breach, str(breach.schema.get("title", f"text that matches {breach.asked}")))


def _extra(breach: _Breach) -> str:
    known = breach.schema.get("properties", {})
    extra = [name for name in breach.value if name not in known]
    return (
        f"{_list(extra)} {'is' if len(extra) == 1 else 'are'} not known here; known: {', '.join(known) or 'no member'}"
    )


def _count(breach: _Breach) -> str:
    bound = "at least" if breach.keyword.startswith("min") else "at most"
    unit = " characters" if breach.keyword.endswith("Length") else ""
    return f"has {len(breach.value)}{unit}; expected {bound} {breach.asked}{_called(breach)}"


def _bound(breach: _Breach) -> str:
    return _is(breach, f"{_BOUNDS[breach.keyword]} {breach.asked}{_called(breach)}")


def _twice(breach: _Breach) -> str:
    return "has the same element twice; expected each one once"


def _not(breach: _Breach) -> str:
    title = breach.asked.get("title") if isinstance(breach.asked, dict) else None
    return f"is {shown(breach.value)}; {title or 'this value is not allowed here'}"


def _is(breach: _Breach, expected: str) -> str:
    return f"is {shown(breach.value)}; expected {expected}"


def _called(breach: _Breach) -> str:
    title = breach.schema.get("title")
    return f" ({title})" if title else ""


def _list(values: list[Any]) -> str:
    more = [f"{len(values) - _LISTED} more"] if len(values) > _LISTED else []
    return ", ".join([shown(value) for value in values[:_LISTED]] + more)


_SENTENCES: dict[str, Callable[[_Breach], str]] = {
    "type": _type,
    "required": _required,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "additionalProperties": _extra,
    "minItems": _count,
    "maxItems": _count,
    "minProperties": _count,
    "maxProperties": _count,
    "minLength": _count,
    "maxLength": _count,
    "minimum": _bound,
    "exclusiveMinimum": _bound,
    "maximum": _bound,
    "exclusiveMaximum": _bound,
    "uniqueItems": _twice,
    "not": _not,
}
