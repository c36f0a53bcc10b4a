"""Answers as JSON: keys of every kind, dates, and nothing that JSON does not have."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pytest

from ndcore.serve.answers import EXCERPT, About, ListPage, Located, Match, cut_excerpt, cut_page, encode, write_iso


def test_keys() -> None:
    for key, value in (("\ud800", "\ud800"), (7, 7), (b"\xff", {"bytes": "ff"})):
        assert json.loads(encode(Located(key, key, None))) == {"key": value, "located": value, "date": None}


def test_values() -> None:
    about = About("store", "x", 1, {"a": np.int64(2), "b": {"c": (1, None)}}, {"d": object})
    told = json.loads(encode(about))
    assert told["settings"] == {"a": 2, "b": {"c": [1, None]}} and told["figures"]["d"].startswith("<class")
    assert json.loads(encode(Match("x", float("nan"), 0.5, 1.0, "y")))["resemblance"] is None


@pytest.mark.parametrize(
    ("date", "words"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (10**30, None),
        ("x", None),
        (dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2026-01-02T02:00:00Z"),
    ],
)
def test_dates(date: object, words: str | None) -> None:
    assert write_iso(date) == words


def test_pages() -> None:
    assert cut_page(range(5), {"page": 1, "size": 2}) == ([0, 1], ListPage(1, 2, 5, True))
    assert cut_page(range(5), {"page": 3, "size": 2}) == ([4], ListPage(3, 2, 5, False))
    assert cut_page(range(5), {"page": 9, "size": 2}) == ([], ListPage(9, 2, 5, False))
    assert cut_page([], {"versions": 1, "size": 2}, "versions") == ([], ListPage(1, 2, 0, False))


def test_excerpts() -> None:
    assert cut_excerpt(None) is None
    short, long = cut_excerpt("é"), cut_excerpt(b"\xff" * (EXCERPT + 1))
    assert short is not None and (short.text, short.length, short.unit, short.cut) == ("é", 1, "character", False)
    assert long is not None and (long.text, long.length, long.unit, long.cut) == (
        "\\xff" * EXCERPT,
        EXCERPT + 1,
        "byte",
        True,
    )
