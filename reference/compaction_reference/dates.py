"""Times as session files write them (chapter ECM): ISO 8601 text on entries, milliseconds since 1970 on messages."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from .ecma import is_number

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_MS = 8.64e15
_ISO = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)


def milliseconds(time: Any) -> float:
    """An entry's `timestamp` in milliseconds since 1970. A number is taken as milliseconds, `null` is zero, and what
    is no time (or absent: pass NaN) is NaN. Text must be ISO 8601; without a zone it is read as UTC, where JavaScript
    takes a date and time to be local."""
    if time is None or isinstance(time, bool):
        return int(bool(time))
    if is_number(time):
        return math.trunc(time) if abs(time) <= _LARGEST_MS else math.nan
    return _iso_milliseconds(time) if isinstance(time, str) else math.nan


def _iso_milliseconds(text: str) -> float:
    found = _ISO.fullmatch(text)
    if found is None:
        return math.nan
    part = found.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int((part["fraction"] or "0")[:3].ljust(3, "0"))
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second or fraction)):
        return math.nan
    try:
        day = datetime(int(part["year"]), int(part["month"] or 1), int(part["day"] or 1), tzinfo=UTC)
    except ValueError:
        return math.nan
    since_1970 = day - _EPOCH + timedelta(hours=hour, minutes=minute, seconds=second) - _offset(part["zone"])
    return since_1970 // timedelta(milliseconds=1) + fraction


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def iso_text(moment: datetime) -> str:
    """The moment as JavaScript writes it: UTC, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
