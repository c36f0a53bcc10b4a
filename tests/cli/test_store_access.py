"""Keys, dates and tables as the commands of ``ndcore store`` print them."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from commands import run

from ndcore.cli.store import as_json, check_key, find_key, show_date, show_key, unit_of
from ndcore.files.errors import DocumentError
from ndcore.files.records import RecordError
from ndcore.store.store import Store

MAY = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)


def test_keys_that_a_word_stands_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s") as store:
        for key in ("7", -5, b"bytes", "text"):
            store.decide(key, f"a text about {key!r}")
        assert [find_key(store, "s", word) for word in ("7", "-5", "bytes", "text")] == ["7", -5, b"bytes", "text"]
        store.remove("7")
        store.decide(7, "a text about seven")
        assert find_key(store, "s", "7") == 7
        for word in ("8", "", "９", "9" * 40):
            with pytest.raises(DocumentError, match="no page has the key"):
                find_key(store, "s", word)


def test_keys_of_urls(tmp_path: Path) -> None:
    pytest.importorskip("w3lib")
    with Store.open(tmp_path / "s", keys="url", scope="host") as store:
        store.decide("http://a.example/?b=1&a=2", "a text")
        assert find_key(store, "s", "http://a.example/?a=2&b=1") == "http://a.example/?a=2&b=1"
        check_key(store, "http://a.example/")
        for key in (7, b"http://a.example/", "http://[::1"):
            with pytest.raises(RecordError, match="the key"):
                check_key(store, key)


def test_the_unit(tmp_path: Path) -> None:
    assert run("store", "create", tmp_path / "s", "-q", "--unit", "line") == 0
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert unit_of(store) == "line"


def test_what_is_shown() -> None:
    assert show_date(MAY.astimezone(datetime.timezone(datetime.timedelta(hours=5)))) == "2024-05-01 10:00:00"
    assert show_date(datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)) == "0001-01-01T00:00:00+00:00"
    assert [show_key(key) for key in ("a\x1b", b"\xff\n", -1, None)] == ["a\\x1b", "\\xff\\n", "-1", "None"]
    assert as_json({"key": b"a\xff", "list": [MAY, (1, None)]}) == {
        "key": "a\ufffd", "list": ["2024-05-01T10:00:00+00:00", [1, None]]}
