"""Dates, and verdicts and versions as JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json

import numpy as np
import pytest

from ndcore.store.verdict import Verdict, Version, microseconds, moment


@pytest.mark.parametrize(("date", "expected"), [
    (0, 0), (1.5, 1_500_000), (-0.25, -250_000), (np.float64(2), 2_000_000), ("1970-01-01", 0),
    ("1970-01-01T00:00:01Z", 1_000_000), ("1970-01-01T01:00:00+01:00", 0), (dt.date(1970, 1, 2), 86_400_000_000),
    (dt.datetime(1969, 12, 31, 23, 59, 59), -1_000_000), ("0001-01-01", -62_135_596_800_000_000),
    ("9999-12-31T23:59:59.999999", 253_402_300_799_999_999),
])
def test_dates_are_microseconds(date, expected):
    assert microseconds(date) == expected
    assert Version(expected, None, None).datetime.timestamp() == pytest.approx(expected / 1e6)


def test_none_is_now():
    assert abs(microseconds(None) / 1e6 - dt.datetime.now().timestamp()) < 60


@pytest.mark.parametrize("date", ["soon", "", True, [0], 1e300, float("inf"), -1e12, b"2020-01-01"])
def test_other_dates_are_refused(date):
    with pytest.raises((TypeError, ValueError), match="date"):
        microseconds(date)


def test_a_verdict_is_json():
    verdict = Verdict(b"\xffk", "near", 7, None, 0.9, 0.95, 0.93, None, 0)
    assert (verdict.kept, verdict.cluster) == (False, 7)
    assert Verdict("a", "kept", None, None, None, None, None, None, 0).cluster == "a"
    assert json.loads(json.dumps(verdict.as_dict()))["key"] == "\ufffdk"
    assert verdict.as_dict()["date"] == "1970-01-01T00:00:00+00:00"
    assert list(verdict.as_dict()) == [field.name for field in dataclasses.fields(Verdict)]
    version = Version(0, "lexical", 1.0)
    assert list(version.as_dict()) == [field.name for field in dataclasses.fields(Version)]
    assert not version.real and version.as_dict()["change"] == "lexical"


@pytest.mark.parametrize("date", ["9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01", 10**400, -(10**400)])
def test_dates_that_are_out_of_all_years_in_utc_are_refused(date):
    with pytest.raises(ValueError, match="between the years 1 and 9999"):
        microseconds(date)
    assert moment(microseconds("9999-12-31T23:59:59Z")).year == 9999
