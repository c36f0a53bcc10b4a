"""Dates of records: what is accepted, in which zone, and what is refused."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ndcore.files.dates import parsed_date
from ndcore.files.records import RecordError

MAY = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
EAST = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(("value", "expected"), [
    ("2024-05-01", MAY), ("2024-05", MAY), ("20240501", MAY), (" 2024-05-01T00:00:00Z ", MAY),
    ("2024-05-01T02:00:00+02:00", MAY), ("2024-05-01 00:00", MAY), ("20240501000000", MAY),
    ("1714521600", MAY), ("1714521600.5", MAY + datetime.timedelta(seconds=0.5)), (1714521600, MAY), (1714521600.0, MAY),
    (-1, datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)),
    (datetime.date(2024, 5, 1), MAY), (datetime.datetime(2024, 5, 1), MAY), (MAY.astimezone(EAST), MAY),
])
def test_accepted(value: Any, expected: datetime.datetime) -> None:
    found = parsed_date(value)
    assert found == expected
    assert found.utcoffset() == datetime.timedelta(0)


@pytest.mark.parametrize("value", [
    None, True, "", "yesterday", "2024", "2024-13", "2024-05-32", "20241301000000", "1", float("nan"), float("inf"), 1e300,
    10**30, [], {}, b"2024-05-01", "0001-01-01T00:00:00+14:00",
])
def test_refused(value: Any) -> None:
    with pytest.raises(RecordError, match="is not a date; dates are ISO 8601"):
        parsed_date(value)
