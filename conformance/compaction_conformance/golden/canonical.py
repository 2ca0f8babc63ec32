"""One text for one JSON value, whatever program wrote it, and its digest (see `fixtures/golden/README.md`)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from compaction_conformance.expectation import Error, Result

DIGEST_LENGTH = 8

_plain = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_WHOLE = (b".0,", b".0}", b".0]")
_LONG = (*(before + b"0" * 16 for before in (b":", b",", b"[", b"-")), b"0e-0", b"0e+0")
_BEYOND_ASCII = (b"\\ud", b"\\ue", b"\\uf")
_ODD_NAME = re.compile(rb'\\u[d-f][0-9a-f]{3}[^",:]*":')
_HIGH_EXPONENT, _LOW_EXPONENT = 21, -7


def canonical(value: Any) -> str:
    """Names sorted by UTF-16 units, no spaces, ASCII alone, numbers as JavaScript writes them."""
    text = _plain(value)
    return _careful(value) if _may_differ(text.encode("ascii")) else text


def _may_differ(text: bytes) -> bool:
    """Whether Python may have written something otherwise than JavaScript: floats that are whole or have an exponent,
    integers that no double holds, names whose order by code point is not that by unit."""
    if text.endswith(b".0") or any(part in text for part in _WHOLE):
        return True
    shape = text.translate(_DIGITS)
    if any(part in shape for part in _LONG) or shape.startswith(b"0" * 16):
        return True
    return any(part in text for part in _BEYOND_ASCII) and _ODD_NAME.search(text) is not None


def digest(reply: Result | Error) -> str:
    """The first eight hexadecimal digits of the SHA-256 of an answer; of a refusal, its kind counts alone."""
    value = {"result": reply.value} if isinstance(reply, Result) else {"error": {"kind": reply.kind}}
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()[:DIGEST_LENGTH]


def _careful(value: Any) -> str:
    """The same part by part; most parts are not unusual themselves."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join([f"{_plain(name)}:{canonical(value[name])}" for name in names]) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value)
    return _plain(value)


def _number(value: int | float) -> str:
    """The shortest digits that read back as the same double; an exponent from 1e21 up and below 1e-6."""
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    mantissa, _, exponent_text = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent_text or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return ("-" if number < 0 else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """`digits` with the decimal point after the first `point` of them."""
    exponent = point - 1
    if not _LOW_EXPONENT < exponent < _HIGH_EXPONENT:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{fraction}e{exponent:+d}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"
