"""Values of fields: dates parsed, and the order of values."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pytest

from ndcore.files.field_values import SortKeys, describe_string_order, make_comparable, parse_date, sort_keys
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
    found = parse_date(value)
    assert found == expected
    assert found.utcoffset() == datetime.timedelta(0)


@pytest.mark.parametrize("value", [
    None, True, "", "yesterday", "2024", "2024-13", "2024-05-32", "20241301000000", "1", float("nan"), float("inf"), 1e300,
    10**30, [], {}, b"2024-05-01", "0001-01-01T00:00:00+14:00",
])
def test_refused(value: Any) -> None:
    with pytest.raises(RecordError, match="is not a date; dates are ISO 8601"):
        parse_date(value)


def test_keys_of_numbers_sort_as_the_numbers_do() -> None:
    rng = random.Random(5)
    texts = ["0", "-0", "0.0", "+1", "1.", ".5", "1e9999", "-1e9999", "1e-9999", "-1e-9999", "10", "9", "99", "100", "-10",
             "-9", "-99", "-100", "1000e-2", "12", "123", "-12", "-123"]
    for sign in ("", "-"):
        texts += [f"{sign}{rng.randrange(10 ** rng.randrange(1, 30))}e{rng.randrange(-40, 40)}" for _ in range(150)]
    keys = {text: sort_keys(text).number or b"" for text in texts}
    for a in texts:
        for b in texts:
            assert (keys[a] < keys[b], keys[a] == keys[b]) == (Decimal(a) < Decimal(b), Decimal(a) == Decimal(b)), (a, b)
    typed = [float("-inf"), -(2**70), -1.5, -5e-324, False, 5e-324, 0.1, True, 2**53, 2**53 + 1, 1e300, float("inf")]
    assert sorted(typed, key=lambda value: sort_keys(value).number or b"") == typed
    assert sort_keys(2) == SortKeys("number", sort_keys("2.0").number)


def test_keys_of_dates_sort_as_the_dates_do() -> None:
    texts = ["0001-01-01", "1969-12-31T23:59:59.999999", "2024-05", "2024-05-01T00:00:00+02:00",
             "Wed, 1 May 2024 10:00:00 GMT", "2024-05-01T10:00:00Z", "9999-12-31"]
    for a in texts:
        for b in texts:
            one, other = sort_keys(a).date or b"", sort_keys(b).date or b""
            assert (one < other, one == other) == (parse_date(a) < parse_date(b), parse_date(a) == parse_date(b))
    day = datetime.date(2024, 5, 1)
    assert sort_keys(day) == SortKeys("date", date=sort_keys("2024-05-01").date)


def test_strings_missing_values_and_what_has_no_order() -> None:
    assert sort_keys(None) == sort_keys(" \u00a0") == SortKeys()
    assert sort_keys("\ud800 x") == SortKeys("string", text=b"\xed\xa0\x80 x")
    assert sort_keys("20240501").number and sort_keys("20240501").date  # ISO 8601 too
    for value, said in (([1], "an array"), (float("nan"), "nan")):
        with pytest.raises(RecordError, match=f"{said}; --keep needs numbers, strings or dates"):
            sort_keys(value)


def test_what_is_said_of_strings() -> None:
    keys, examples = make_comparable(["10", "2024-05-01", "31.12.2019"])
    assert keys["10"] == "10" and examples == ["31.12.2019", "2024-05-01"]
    said = """the field 'n' as strings, letter by letter: its values, for example "31.12.2019" and "2024-05-01", are"""
    assert said in describe_string_order("n", examples)
