"""``ndcore store decide`` with files: keys, dates, tables, and what cannot be read."""

from __future__ import annotations

import csv
import datetime
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, lines, printed, refused, run, text
from store_commands import PAGES, VERDICTS, answers
from webarchives import html, http, save, warc

from ndcore.store.store import Store
from ndcore.store.verdict import Verdict

MAY = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)


def dates(store: Store, key: Any) -> list[datetime.datetime]:
    return [version.datetime for version in store.history(key)]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    assert run("store", "create", tmp_path / "s", "-q", "--threshold", "0.5") == 0
    return tmp_path / "s"


def test_the_account(empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.jsonl").write_bytes(jsonl(PAGES))
    words = ("store", "decide", empty, tmp_path / "p.jsonl", "--id-field", "key", "--date-field", "date")
    assert run(*words) == 0
    told = capsys.readouterr().out
    assert told.startswith("Decided 5 pages\n  kept       3  new\n")
    assert told.endswith("The store has 5 pages\n")
    assert run(*words, "--json") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["counts"] == {"read": 5, "decided": 5, "rejected": 0}
    assert account["verdicts"] == {"kept": 3, "identical": 0, "lexical": 1, "shingle": 0, "near": 1}
    assert account["versions"] == {"unchanged": 5, "lexical": 0, "near": 0, "other": 0}
    assert account["live"] == 5
    assert run(*words) == 0
    assert "5 pages are new versions of pages in the store: 5 unchanged (the same text)" in capsys.readouterr().out
    assert run(*words, "-q") == 0
    assert capsys.readouterr() == ("", "")


def test_keys_and_dates_of_archives(empty: Path, tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    captures = [
        warc("response", http(html(text(1, change))), "http://a.example/", WARC_Date=f"2024-0{change + 5}-01T10:00:00Z",
             Content_Type="application/http")
        for change in (0, 2)
    ]
    path = save(tmp_path / "a.warc.gz", captures, "gz")
    assert run("store", "decide", empty, path, "-q") == 0
    with Store.open(empty, read_only=True) as store:
        assert [(one.datetime, one.change) for one in store.history("http://a.example/")] == [
            (MAY, None), (MAY.replace(month=7), "near")]


def test_keys_and_dates_of_files(empty: Path, tmp_path: Path) -> None:
    """Read the same paths below two sweeps: the second one brings new versions."""
    for sweep, change in (("2024-05", 0), ("2024-06", 1)):
        folder = tmp_path / sweep / "docs"
        folder.mkdir(parents=True)
        (folder / "same.txt").write_text(text(1))
        (folder / "changed.txt").write_text(text(2, change))
        assert run("store", "decide", empty, tmp_path / sweep, "-q", "--date", sweep) == 0
    with Store.open(empty, read_only=True) as store:
        assert len(store) == 2
        first = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
        for key, change in (("docs/same.txt", "unchanged"), ("docs/changed.txt", "near")):
            assert [(one.datetime, one.change) for one in store.history(key)] == [
                (first, None), (first.replace(month=6), change)]


def test_the_field_date_is_read_where_records_have_it(
    empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.jsonl").write_bytes(jsonl([{"id": 1, "text": "one", "date": "2024-05-01T10:00:00Z"},
                                              {"id": 2, "text": "two"}, {"id": 3, "text": "three", "date": None}]))
    (tmp_path / "p.csv").write_text("id,text,date\n4,four,2024-05-01T10:00:00Z\n5,five,\n")
    (tmp_path / "q.csv").write_text("id,text\n6,six\n")
    paths = [tmp_path / name for name in ("p.jsonl", "p.csv", "q.csv")]
    assert run("store", "decide", empty, *paths, "-q") == 0
    now = datetime.datetime.now(datetime.UTC)
    with Store.open(empty, read_only=True) as store:
        assert [dates(store, key)[0] for key in (1, "4")] == [MAY, MAY]
        assert all(abs(dates(store, key)[0] - now) < datetime.timedelta(minutes=10) for key in (2, 3, "5", "6"))
    said = refused(capsys, 1, "store", "decide", empty, paths[0], "--date-field", "date")
    assert f"{paths[0]}:2: no field 'date'" in said
    paths[0].write_bytes(jsonl([{"id": 7, "text": "seven", "date": "in spring"}]))
    assert "the date field 'date': str 'in spring' is not a date" in refused(capsys, 1, "store", "decide", empty, paths[0])


def test_dates_of_columns_and_now(empty: Path, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    when = arrow.array([MAY, None], arrow.timestamp("us", "UTC"))
    table = arrow.table({"id": [1, 2], "text": [text(1), text(2)], "when": when})
    parquet.write_table(table, tmp_path / "t.parquet")
    words = ("store", "decide", empty, tmp_path / "t.parquet", "-q")
    assert run(*words, "--date-field", "when", "--date", "2025-01-01") == 0
    assert run(*words) == 0
    now = datetime.datetime.now(datetime.UTC)
    with Store.open(empty, read_only=True) as store:
        assert dates(store, 1)[0] == MAY
        assert dates(store, 2)[0] == datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
        assert all(abs(dates(store, key)[1] - now) < datetime.timedelta(minutes=10) for key in (1, 2))


# ---- verdicts


def test_verdicts_as_a_table(empty: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(jsonl(PAGES))
    words = ("store", "decide", empty, path, "--id-field", "key", "--date-field", "date", "-q")
    assert run(*words, "-o", tmp_path / "v.jsonl") == 0
    found = lines(tmp_path / "v.jsonl")
    assert [row["verdict"] for row in found] == VERDICTS
    assert [row["of"] for row in found] == [None, PAGES[0]["key"], None, PAGES[2]["key"], None]
    assert [row["key"] for row in found] == [page["key"] for page in PAGES]
    assert [(row["file"], row["line"]) for row in found] == [(str(path), n) for n in range(1, 6)]
    assert found[0]["date"] == "2024-05-01T00:00:00Z"
    assert found[1]["resemblance"] == 1.0
    assert [row["version"] for row in found] == [None] * 5
    out, err = printed(capfdbinary, *words, "-o", "-")
    assert [(row["verdict"], row["version"]) for row in answers(out)] == [(verdict, "unchanged") for verdict in VERDICTS]
    assert err == ""
    assert run(*words, "-o", tmp_path / "v.csv") == 0
    with (tmp_path / "v.csv").open() as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == VERDICTS


def test_refused_outputs(empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(jsonl(PAGES))
    words = ("store", "decide", empty, path, "--id-field", "key")
    assert "lies in the input" in refused(capsys, 2, *words, "-o", empty / "v.jsonl")
    assert "--json and -o - both write" in refused(capsys, 2, *words, "-o", "-", "--json")
    (tmp_path / "v.jsonl").write_text("")
    assert "exists already" in refused(capsys, 2, *words, "-o", tmp_path / "v.jsonl")
    with Store.open(empty, read_only=True) as store:
        assert len(store) == 0  # nothing is decided before
    assert run(*words, "-q", "-o", tmp_path / "v.jsonl", "--overwrite") == 0
    assert len(lines(tmp_path / "v.jsonl")) == 5


# ---- what cannot be read


def test_pages_before_an_error_stay(empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(jsonl(PAGES[:2]) + b"broken\n" + jsonl(PAGES[2:]))
    words = ("store", "decide", empty, path, "--id-field", "key", "--date-field", "date", "-o", tmp_path / "v.jsonl")
    told = refused(capsys, 1, *words)
    assert told.startswith(f"{path}:3: invalid JSON")
    assert "ndcore: 2 pages decided and in the store; with --on-error skip" in told
    assert [row["verdict"] for row in lines(tmp_path / "v.jsonl")] == VERDICTS[:2]
    with Store.open(empty, read_only=True) as store:
        assert len(store) == 2
    assert run(*words, "--overwrite", "--on-error", "skip") == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"ndcore: rejected {path}:3: invalid JSON")
    assert "rejected   1  could not be read; standard error lists them" in captured.out
    assert [(row["line"], row["version"]) for row in lines(tmp_path / "v.jsonl")] == [
        (1, "unchanged"), (2, "unchanged"), (4, None), (5, None), (6, None)]


def test_verdicts_that_were_given_are_written_when_a_signal_ends_it(
    empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decide_many = Store.decide_many

    def interrupted(self: Store, items: Any, threads: int | None = None) -> Iterator[Verdict]:
        yield from itertools.islice(decide_many(self, items, threads), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "decide_many", interrupted)
    path = tmp_path / "p.jsonl"
    path.write_bytes(jsonl(PAGES))
    told = refused(capsys, 130, "store", "decide", empty, path, "--id-field", "key", "-o", tmp_path / "v.jsonl")
    assert told == "interrupted; 2 pages decided and in the store"
    assert [row["verdict"] for row in lines(tmp_path / "v.jsonl")] == VERDICTS[:2]


def test_keys_that_a_store_cannot_have(empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(jsonl([{"id": "a", "text": text(1)}, {"id": 2**64, "text": text(2)}, {"id": "b", "text": text(3)}]))
    told = refused(capsys, 1, "store", "decide", empty, path)
    assert told.startswith(f"{path}:2: the key {2**64} does not fit in 64 bits")
    assert run("store", "decide", empty, path, "--on-error", "skip", "--json") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["counts"] == {"read": 3, "decided": 2, "rejected": 1}


def test_urls_as_keys_and_hosts_as_scopes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("w3lib")
    urls = ["http://a.example/?b=1&a=2#top", "http://a.example/?a=2&b=1", "http://b.example/", "http://b.example/2"]
    pages = [{"key": url, "text": text(1)} for url in urls]
    records = tmp_path / "p.jsonl"
    records.write_bytes(jsonl(pages))
    assert run("store", "create", tmp_path / "s", "-q", "--keys", "url", "--scope", "host") == 0
    capsys.readouterr()
    assert run("store", "decide", tmp_path / "s", records, "--id-field", "key", "-o", "-", "-q") == 0
    found = answers(capsys.readouterr().out)
    assert [(row["key"], row["verdict"], row["of"], row["version"]) for row in found] == [
        ("http://a.example/?a=2&b=1", "kept", None, None), ("http://a.example/?a=2&b=1", "kept", None, "unchanged"),
        ("http://b.example/", "kept", None, None), ("http://b.example/2", "identical", "http://b.example/", None)]
    records.write_bytes(jsonl([{"key": 7, "text": text(1)}]))
    told = refused(capsys, 1, "store", "decide", tmp_path / "s", records, "--id-field", "key")
    assert "with keys='url' a key is a str" in told
    assert run("store", "history", tmp_path / "s", "http://a.example/?b=1&a=2") == 0
    assert "2 versions" in capsys.readouterr().out


def test_nothing_to_read(empty: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    assert "no documents: the directory" in refused(capsys, 1, "store", "decide", empty, tmp_path / "folder")
    assert "no such file" in refused(capsys, 1, "store", "decide", empty, tmp_path / "none")
    (tmp_path / "folder" / "data.bin").write_bytes(bytes(range(256)))
    assert "among 1 path" in refused(capsys, 1, "store", "decide", empty, tmp_path / "folder")
    assert "is not a date; dates are ISO 8601" in refused(capsys, 2, "store", "decide", empty, "x", "--date", "2024")


def test_bytes_as_pages(tmp_path: Path) -> None:
    assert run("store", "create", tmp_path / "s", "-q", "--unit", "byte") == 0
    (tmp_path / "data.bin").write_bytes(bytes(range(256)) * 4)
    assert run("store", "decide", tmp_path / "s", tmp_path / "data.bin", "-q") == 0
    with Store.open(tmp_path / "s", read_only=True) as store:
        assert "data.bin" in store
