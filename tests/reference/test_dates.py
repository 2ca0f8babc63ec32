"""Times of entries, against what a real engine reads in UTC."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from compaction_reference.dates import iso_text, milliseconds

TIMES = [
    ("2025-01-01T00:00:00.000Z", 1735689600000),
    ("2025-01-01T02:00:00+02:00", 1735689600000),
    ("2025-01-01T00:00Z", 1735689600000),
    ("2025-01-01", 1735689600000),
    ("2025-01", 1735689600000),
    ("2025", 1735689600000),
    ("2025-01-01T00:00:00.5Z", 1735689600500),
    ("2025-01-01T00:00:00.1239Z", 1735689600123),
    ("2025-01-01T24:00:00Z", 1735776000000),
    ("2025-01-01T00:00:00+23:59", 1735603260000),
    ("2025-02-30", 1740873600000),
    ("1969-12-31T23:59:59.999Z", -1),
    ("0001-01-01T00:00:00Z", -62135596800000),
    ("0000-01-01T00:00:00Z", -62167219200000),
    ("0000-02-29", -62162121600000),
    ("9999-12-31T24:00:00Z", 253402300800000),
    (1735689600000, 1735689600000),
    (1735689600000.7, 1735689600000),
    (-1.9, -1),
    (None, 0),
    (True, 1),
]
NO_TIMES = ["garbage", "", "2025-13-01", "2025-02-32", "2025-01-01T24:00:01Z", "2025-01-01T23:60:00Z", 8.64e15 + 1]
NO_TIMES += ["2025-01-01T00:00:00+24:00", "2025-01-01T00:00:00+02:60", math.nan, [], {}]


@pytest.mark.parametrize(("time", "expected"), TIMES)
def test_a_time_in_milliseconds(time: object, expected: int) -> None:
    assert milliseconds(time) == expected


@pytest.mark.parametrize("time", NO_TIMES)
def test_what_is_no_time(time: object) -> None:
    assert math.isnan(milliseconds(time))


def test_a_time_as_it_is_written() -> None:
    assert iso_text(datetime(2025, 1, 1, 0, 0, 1, 5999, tzinfo=UTC)) == "2025-01-01T00:00:01.005Z"
