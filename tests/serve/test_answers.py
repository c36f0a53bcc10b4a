"""Answers as JSON: keys of every kind, dates, and nothing that JSON does not have."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from ndcore.serve.answers import (
    EXCERPT,
    About,
    ListPage,
    Located,
    Match,
    PageDecision,
    Removed,
    cut_excerpt,
    cut_page,
    encode,
    write_iso,
)


def test_keys() -> None:
    for key, value in (("\ud800", "\ud800"), (7, 7), (b"\xff", {"bytes": "ff"})):
        assert json.loads(encode(Located(key, key, None))) == {"key": value, "located": value, "date": None}


def test_values() -> None:
    about = About("store", "x", 1, {"a": np.int64(2), "b": {"c": (1, None)}}, {"d": object})
    told = json.loads(encode(about))
    assert told["settings"] == {"a": 2, "b": {"c": [1, None]}} and told["figures"]["d"].startswith("<class")
    assert json.loads(encode(Match("x", float("nan"), 0.5, 1.0, "y")))["resemblance"] is None


@pytest.mark.parametrize("key", ["k", 'a "b" \\ \n\x00\x7f é 𝄞', "\ud800", 7, -(2**63), b"\xff"])
@pytest.mark.parametrize("score", [None, 1.0, 0.1 + 0.2, 1e-300, float("nan"), np.float64(0.25)])
def test_a_decision_is_written_as_json_writes_its_values(key: Any, score: Any) -> None:
    answer = PageDecision(key, "near", "of", None, score, 0.5, 1.0, None, "2026-01-02T03:04:05Z", True, 2**60, False)
    values = {**asdict(answer), "key": {"bytes": "ff"} if key == b"\xff" else key,
              "resemblance": None if score is None or score != score else float(score)}  # fmt: skip
    assert encode(answer).decode() == json.dumps(values, ensure_ascii=key == "\ud800")
    assert encode(Removed(3)) == b'{"pages": 3}'


def test_an_infinite_number_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        encode(Match("x", float("inf"), 0.5, 1.0, "y"))


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
