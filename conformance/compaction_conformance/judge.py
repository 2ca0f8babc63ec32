"""Compare an answer with the expectation: the comparison of `fixtures/README.md`, down to the first difference."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from compaction_conformance.guarded_json import refuse_constant

TOO_DEEP = "nested too deeply to be compared"
_PLACEHOLDER = re.compile(r"<(id|time|ms):([0-9]+)>")
_ISO_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


class Nothing:
    """Stands for a value that is not there; its own class, since `None` is JSON's null."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = Nothing()


@dataclass(frozen=True)
class Difference:
    """Where two values first differ: a JSON pointer (RFC 6901) and what stands there on either side."""

    pointer: str
    want: Any
    got: Any
    note: str = ""


def first_difference(want: Any, got: Any, params: Any = None) -> Difference | None:
    """The first place where `got` is not what `want` accepts, or None. `params` are the request's, for made ids."""
    try:
        return _Comparison(params).compare(want, got, "")
    except RecursionError:
        return Difference("", want, got, TOO_DEEP)


def accepted_value(want: Any) -> Any:
    """A value in which `first_difference` finds nothing: what may differ in `want` is filled in."""
    if type(want) is str and want[:1] == "<" and (placeholder := _PLACEHOLDER.fullmatch(want)):
        return _made(placeholder[1], int(placeholder[2]))
    if isinstance(want, list):
        return [accepted_value(item) for item in want]
    if not isinstance(want, dict):
        return want
    if want.keys() == {"$lines"}:
        return "\n".join(_line_of(accepted_value(line)) for line in want["$lines"])
    if want.keys() == {"$text"}:
        text = want["$text"]
        return "".join((text.get("starts", ""), *text.get("holds", ()), text.get("ends", "")))
    return {key: accepted_value(value) for key, value in want.items()}


def _line_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _made(kind: str, number: int) -> Any:
    if kind == "id":
        return f"made-{number}"
    instant = datetime(2100, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    if kind == "ms":
        return round(instant.timestamp() * 1000)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_of(time: Any) -> int | None:
    """The instant of an ISO 8601 time as JavaScript writes it, in milliseconds; None for a day that never was."""
    if not isinstance(time, str) or not _ISO_TIME.fullmatch(time):
        return None
    try:
        return round(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)
    except ValueError:
        return None


def kind_of(value: Any) -> str:
    """JSON's name for the type of a value; `true` is no number."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object", type(None): "null"}.get(type(value), "nothing")


@dataclass
class _Comparison:
    params: Any
    bound: dict[str, Any] = field(default_factory=dict)
    known: set[str] | None = None

    def compare(self, want: Any, got: Any, pointer: str) -> Difference | None:
        if type(want) is str and want[:1] == "<" and (placeholder := _PLACEHOLDER.fullmatch(want)):
            return self._made_value(placeholder[1], want, got, pointer)
        if isinstance(want, dict) and len(want) == 1:
            if "$lines" in want:
                return self._lines(want["$lines"], got, pointer)
            if "$text" in want:
                return _text_difference(want["$text"], got, pointer)
        if kind_of(want) != kind_of(got):
            return Difference(pointer, want, got)
        if isinstance(want, dict):
            return self._object(want, got, pointer)
        if isinstance(want, list):
            return self._array(want, got, pointer)
        return None if want == got or _same_number(want, got) else Difference(pointer, want, got)

    def _object(self, want: dict[str, Any], got: dict[str, Any], pointer: str) -> Difference | None:
        for key, value in want.items():
            if (found := self.compare(value, got.get(key, NOTHING), f"{pointer}/{_escape(key)}")) is not None:
                return found
        for key, value in got.items():
            if key not in want:
                return Difference(f"{pointer}/{_escape(key)}", NOTHING, value)
        return None

    def _array(self, want: list[Any], got: list[Any], pointer: str) -> Difference | None:
        for index in range(max(len(want), len(got))):
            left = want[index] if index < len(want) else NOTHING
            right = got[index] if index < len(got) else NOTHING
            if (found := self.compare(left, right, f"{pointer}/{index}")) is not None:
                return found
        return None

    def _lines(self, want: list[Any], got: Any, pointer: str) -> Difference | None:
        if not isinstance(got, str):
            return Difference(pointer, {"$lines": want}, got)
        lines = got.split("\n", len(want))  # the first line that nothing is expected of is a difference
        if len(lines) > len(want):
            lines[-1] = lines[-1].partition("\n")[0]
        for index in range(max(len(want), len(lines))):
            left = want[index] if index < len(want) else NOTHING
            line: Any = lines[index] if index < len(lines) else NOTHING
            if isinstance(left, (dict, list)) and isinstance(line, str):
                try:
                    line = json.loads(line, parse_constant=refuse_constant)
                except (ValueError, RecursionError):
                    return Difference(f"{pointer}/{index}", left, line, "line is not JSON")
            if (found := self.compare(left, line, f"{pointer}/{index}")) is not None:
                return found
        return None

    def _made_value(self, kind: str, name: str, got: Any, pointer: str) -> Difference | None:
        if name in self.bound:
            same = kind_of(got) == kind_of(self.bound[name]) and got == self.bound[name]
            return None if same else Difference(pointer, self.bound[name], got, f"{name} was bound earlier")
        if problem := _MADE[kind](self, name, got):
            return Difference(pointer, name, got, problem)
        self.bound[name] = got
        return None

    def _check_id(self, name: str, got: Any) -> str:
        if not isinstance(got, str) or not got:
            return "an id made by the implementation is a non-empty string"
        if got in self._strings_of_params():
            return "an id made by the implementation occurs nowhere in the params"
        twice = any(key.startswith("<id:") and value == got for key, value in self.bound.items())
        return "two different ids are expected here" if twice else ""

    def _check_time(self, name: str, got: Any) -> str:
        instant = milliseconds_of(got)
        if instant is None:
            return "a time is one of the calendar, written like 2025-01-01T00:00:00.000Z"
        return _same_instant(instant, self.bound.get(name.replace("time", "ms")))

    def _check_ms(self, name: str, got: Any) -> str:
        if kind_of(got) != "number" or not abs(got) <= sys.float_info.max or got != int(got):
            return "a message's time is an integer of milliseconds"
        return _same_instant(milliseconds_of(self.bound.get(name.replace("ms", "time"))), got)

    def _strings_of_params(self) -> set[str]:
        if self.known is None:
            self.known = strings_of_params(self.params)
        return self.known


def _same_instant(instant: int | None, milliseconds: Any) -> str:
    if instant is None or milliseconds is None or instant == milliseconds:
        return ""
    return f"{milliseconds} ms are not the same instant as the time of this number, which is {instant} ms"


def _text_difference(want: dict[str, Any], got: Any, pointer: str) -> Difference | None:
    """`starts`, `holds` (in this order), `lacks`, `ends`: what a text whose wording is free has to keep to."""
    if not isinstance(got, str):
        return Difference(pointer, {"$text": want}, got)
    if not got.startswith(want.get("starts", "")):
        return Difference(pointer, want["starts"], got, "the text starts otherwise")
    if not got.endswith(want.get("ends", "")):
        return Difference(pointer, want["ends"], got, "the text ends otherwise")
    at = 0
    for part in want.get("holds", ()):
        found = got.find(part, at)
        if found < 0:
            return Difference(pointer, part, got, "the text lacks this part, or has it too early")
        at = found + len(part)
    for part in want.get("lacks", ()):
        if part in got:
            return Difference(pointer, f"a text without {part!r}", got)
    return None


_MADE: dict[str, Callable[[_Comparison, str, Any], str]] = {
    "id": _Comparison._check_id,
    "time": _Comparison._check_time,
    "ms": _Comparison._check_ms,
}


def _same_number(want: Any, got: Any) -> bool:
    """Numbers are JavaScript's: integers beyond 2^53 are equal when their nearest doubles are."""
    if kind_of(want) != "number":
        return False
    try:
        return float(want) == float(got)
    except OverflowError:
        return False


def strings_of_params(params: Any) -> set[str]:
    """Every string in a request's params, and in the lines of the session file that they may hold."""
    strings: set[str] = set()
    stack = [params, *_lines_of_file(params)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            strings.add(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return strings


def _lines_of_file(params: Any) -> Iterator[Any]:
    content = params.get("content") if isinstance(params, dict) else None
    if isinstance(params, dict) and isinstance(params.get("contentBase64"), str):
        with suppress(ValueError):
            content = base64.b64decode(params["contentBase64"]).decode("utf-8", "replace")
    for line in content.split("\n") if isinstance(content, str) else ():
        with suppress(ValueError, RecursionError):
            yield json.loads(line)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
