"""Times as session files write them (chapter ECM): ISO 8601 text on entries, milliseconds since 1970 on messages."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from .ecma import is_number

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE = timedelta(days=146_097)  # 400 years, after which the calendar repeats itself
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
    takes a date and time to be local. (ECM-20, ECM-21)"""
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
    year, month, day = (int(part[name] or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int((part["fraction"] or "0")[:3].ljust(3, "0"))
    is_midnight_after = hour == 24 and not (minute or second or fraction)
    offset = _offset(part["zone"])
    if not (1 <= month <= 12 and 1 <= day <= 31 and minute <= 59 and second <= 59 and offset is not None):
        return math.nan
    if hour > 23 and not is_midnight_after:
        return math.nan
    cycle, year_of_cycle = divmod(year, 400)  # `datetime` knows no year 0
    since_epoch = datetime(400 + year_of_cycle, month, 1, tzinfo=UTC) - _EPOCH + (cycle - 1) * _CYCLE
    time = timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)  # 31 April is 1 May
    return (since_epoch + time - offset) // timedelta(milliseconds=1) + fraction


def _offset(zone: str | None) -> timedelta | None:
    if zone is None or zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        return None
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


def iso_text(moment: datetime) -> str:
    """The moment as JavaScript writes it: UTC, milliseconds, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
