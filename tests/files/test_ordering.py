"""Keys of values of --keep FIELD: they sort as numbers and dates do."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pytest

from ndcore.files.dates import parsed_date
from ndcore.files.ordering import SortKeys, as_strings, comparable, sort_keys
from ndcore.files.records import RecordError


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
            assert (one < other, one == other) == (parsed_date(a) < parsed_date(b), parsed_date(a) == parsed_date(b))
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
    keys, examples = comparable(["10", "2024-05-01", "31.12.2019"])
    assert keys["10"] == "10" and examples == ["31.12.2019", "2024-05-01"]
    said = """the field 'n' as strings, letter by letter: its values, for example "31.12.2019" and "2024-05-01", are"""
    assert said in as_strings("n", examples)
