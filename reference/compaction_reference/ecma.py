"""The JavaScript facts that the rules rest on (chapter ECM).

The rules were born in a JavaScript program, and session files hold whatever some program wrote. So lengths are UTF-16
units, "empty" means falsy, numbers are doubles, and a field that is absent differs from one that is `null`. Here an
absent field is an absent key (test it with `in`), `null` is `None`, and NaN is `math.nan`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from .errors import malformed

MAX_SAFE_INTEGER = 2**53 - 1
_MAX_ARRAY_INDEX = 2**32 - 2

# What JavaScript trims: the white space of ECMA-262 and its line ends.
_WHITE_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")


# ---- values ----------------------------------------------------------------------------------------------------------


def members(value: Any) -> Mapping[str, Any]:
    """The fields of any JSON value: those of an object, none for text, numbers and arrays. Of `null`, and of something
    absent, no field can be read at all: that refuses (`malformed_input`)."""
    if isinstance(value, dict):
        return value
    if value is None:
        raise malformed("a field of null")
    return {}


def pick(source: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The named fields that are there; an absent one stays absent."""
    return {name: source[name] for name in names if name in source}


def truthy(value: Any) -> bool:
    """False for `null`, `false`, zero, NaN and `""`; true for all else, empty arrays and objects included. (ECM-18)"""
    if isinstance(value, (dict, list)):
        return True
    return bool(value) and value == value


def iterate(value: Any) -> Iterable[Any]:
    """What a loop over the value visits: array elements or characters. Nothing else can be looped over."""
    if isinstance(value, (list, str)):
        return value
    raise malformed("a loop over something that is no array")


def own_entries(value: Any) -> list[tuple[str, Any]]:
    """The fields in JavaScript's order: those named like array indices first, by number, then the rest as written.
    (ECM-08, ECM-09)"""
    if isinstance(value, str):
        return [(str(index), utf16_slice(value, index, index + 1)) for index in range(utf16_length(value))]
    if isinstance(value, list):
        return [(str(index), item) for index, item in enumerate(value)]
    entries = list(members(value).items())
    indexed = [entry for entry in entries if is_array_index(entry[0])]
    if not indexed:
        return entries
    return sorted(indexed, key=lambda entry: int(entry[0])) + [e for e in entries if not is_array_index(e[0])]


def is_array_index(name: str) -> bool:
    """Whether a field name is an array index in its shortest form: `"0"`, `"17"`, not `"017"` or `"-1"`."""
    if not (name.isascii() and name.isdigit()) or len(name) > 10:
        return False
    return int(name) <= _MAX_ARRAY_INDEX and str(int(name)) == name


def map_key(value: Any) -> Any:
    """What a JavaScript Map or Set tells a value by: text and numbers by value, objects by identity."""
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return ("object", id(value))
    if isinstance(value, bool):
        return ("boolean", value)
    return value


# ---- text ------------------------------------------------------------------------------------------------------------


def utf16_length(text: str) -> int:
    """Length in UTF-16 units: characters outside the basic plane count two, lone surrogates one."""
    return len(text) if text.isascii() else len(_utf16(text)) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    """The units from `start` to before `end`; a cut through a pair leaves a lone surrogate."""
    return _utf16(text)[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def length(value: Any) -> float:
    """`value.length`: units of a text, elements of an array, NaN where there is none; refuses for `null` or absent."""
    if isinstance(value, str):
        return utf16_length(value)
    if isinstance(value, list):
        return len(value)
    return number_of(members(value), "length")


def trim(text: str) -> str:
    """The text without white space at both ends, the byte order mark counting as white space. (ECM-11)"""
    return text.strip(_WHITE_SPACE)


def sort_key(value: Any) -> bytes:
    """Key of JavaScript's default sort: by the value as text, unit by unit (not by code point). (ECM-10)"""
    return string(value).encode("utf-16-be", "surrogatepass")


def string(value: Any) -> str:
    """The value as JavaScript writes it into a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return ",".join("" if item is None else string(item) for item in value)
    return "[object Object]" if isinstance(value, dict) else number_text(value)


def string_of(source: Mapping[str, Any], name: str) -> str:
    """A field as text; an absent one reads `undefined`."""
    return string(source[name]) if name in source else "undefined"


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


# ---- numbers ---------------------------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_safe_integer(value: Any) -> bool:
    """A whole number that a double holds exactly together with its neighbours; `5.0` is one. (ECM-22)"""
    return is_number(value) and math.isfinite(value) and value == int(value) and abs(value) <= MAX_SAFE_INTEGER


def number_of(source: Mapping[str, Any], name: str) -> float:
    """A field as an operand: absent gives NaN, `null` zero, `true` one, text its number or NaN, the rest NaN."""
    return to_number(source[name]) if name in source else math.nan


def to_number(value: Any) -> float:
    """The value as an operand, as in `number_of`."""
    if value is None:
        return 0
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        text = trim(value)
        if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
            return float(text)
        return math.nan if text else 0
    return math.nan


def number_text(value: float) -> str:
    """The shortest text that reads back as the same double: `1`, `0.5`, `1e+21`, `1e-7`. (ECM-05, ECM-07)"""
    double = float(value)
    if not math.isfinite(double):
        return "NaN" if math.isnan(double) else "Infinity" if double > 0 else "-Infinity"
    if double == 0:
        return "0"
    sign = "-" if double < 0 else ""
    _, digit_tuple, exponent = Decimal(repr(abs(double))).as_tuple()
    written = "".join(map(str, digit_tuple))
    point = len(written) + int(exponent)  # where the decimal point stands, counted from the first digit
    digits = written.rstrip("0")
    if 0 < point <= 21:
        whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
        return f"{sign}{whole}.{fraction}" if fraction else sign + whole
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{sign}{mantissa}e{point - 1:+d}"


def or_null(number: float) -> float | None:
    """A number that JSON can hold, or `None` for NaN and the infinities."""
    return number if math.isfinite(number) else None


# ---- JSON ------------------------------------------------------------------------------------------------------------


def parse_json(text: str) -> Any:
    """`JSON.parse`: strict JSON, every number a double. Raises ValueError for anything else. (ECM-06)"""
    return json.loads(text, parse_int=_parse_integer, parse_constant=_refuse_constant)


def _parse_integer(digits: str) -> float:
    return int(digits) if len(digits) < 16 else float(digits)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def json_value(value: Any) -> Any:
    """The value as it comes out of `JSON.stringify` and `JSON.parse`: NaN and the infinities are `null`."""
    if isinstance(value, dict):
        return {name: json_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    return or_null(value) if isinstance(value, float) else value


def json_text(value: Any) -> str:
    """`JSON.stringify` without spaces: JavaScript's numbers and field order, and only what must be escaped is.
    (ECM-02 to ECM-04)"""
    if isinstance(value, str):
        return _json_string(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json_string(name)}:{json_text(item)}" for name, item in own_entries(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if is_number(value) and not math.isfinite(value):
        return "null"
    return string(value)


def _json_string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    if not _SURROGATE.search(written):
        return written
    paired = _utf16(written).decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub(lambda unit: f"\\u{ord(unit[0]):04x}", paired)
