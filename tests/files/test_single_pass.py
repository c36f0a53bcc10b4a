"""Documents that are read once: the same as `Documents` reads, with their dates."""

from __future__ import annotations

import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from recordfiles import ROWS, lines
from webarchives import INFO, REQUEST, html, http, save, warc

from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.single_pass import Dated, SinglePass

MAY = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)


def read(*paths: object, **options: Any) -> list[Dated]:
    with SinglePass(find([str(path) for path in paths]), **options) as documents:
        return list(documents)


def failed(*paths: object, **options: Any) -> str:
    with pytest.raises(DocumentError) as error:
        read(*paths, **options)
    return str(error.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a file of every kind of reader."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "1.jsonl").write_bytes(b"\n" + lines(ROWS))
    (place / "2.jsonl.gz").write_bytes(gzip.compress(lines(ROWS[:2])))
    (place / "3.json").write_text(json.dumps(ROWS))
    (place / "4.csv").write_text("id,text\r\nc1,one two\r\n,three four\r\n")
    (place / "5.txt").write_text("a text")
    (place / "6.html").write_bytes(html("a page"))
    (place / "7.jsonl").write_text('{"text": "without an id"}\n')
    (place / "8.json").write_text('{"settings": 1}')
    (place / "9.bin").write_bytes(bytes(range(256)))
    page = warc("response", http(html("archived")), "http://a.example/", Content_Type="application/http")
    save(place / "a.warc.gz", [INFO, REQUEST, page], "gz")
    return place


def test_the_documents_are_the_ones_of_every_other_command(folder: Path) -> None:
    pytest.importorskip("resiliparse")
    found = read(folder)
    with FileDocuments([str(folder)]) as documents:
        texts = [text for batch in documents.batches() for text in batch]
        assert [one.id for one in found] == list(documents.ids)
        assert [bytes(one.text, "utf-8") if isinstance(one.text, str) else one.text for one in found] == [
            bytes(text, "utf-8") if isinstance(text, str) else text for text in texts]
        places = [documents.place(i) for i in range(len(texts))]
        assert [one.place[:3] for one in found] == [place[:3] for place in places]
        assert [one.date for one in found] == [place.date for place in places]
    assert [one.date for one in found if one.date is not None] == [MAY]


def test_ignored_and_read(folder: Path) -> None:
    with SinglePass(find([str(folder)])) as documents:
        assert len(list(documents)) == documents.read == 18
        assert [Path(item.path).name for item in documents.ignored] == ["9.bin", "8.json"]
        assert documents.rejected == []


def test_columns(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    when = [MAY, None]
    table = arrow.table({"id": [1, 2], "text": ["one", "two"], "when": arrow.array(when, arrow.timestamp("us", "UTC"))})
    parquet.write_table(table, tmp_path / "t.parquet")
    later = MAY.replace(year=2025)
    found = read(tmp_path / "t.parquet", date_field="when", date=later)
    assert [(one.id, one.text, one.date, one.place.line) for one in found] == [(1, "one", MAY, 1), (2, "two", later, 2)]


# ---- dates


DATED = [{"id": "a", "text": "x", "meta": {"fetched": "2024-05-01T10:00:00Z"}}, {"id": "b", "text": "y", "meta": {}}]


def test_dates_of_a_field(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(lines(DATED[:1]))
    assert [one.date for one in read(path, date_field="meta.fetched")] == [MAY]
    path.write_bytes(lines(DATED))
    assert "d.jsonl:2: no field 'meta.fetched'" in failed(path, date_field="meta.fetched")
    later = MAY.replace(year=2025)
    assert [one.date for one in read(path, date_field="meta.fetched", date=later)] == [MAY, later]
    assert [one.date for one in read(path, date=later)] == [later, later]
    assert [one.date for one in read(path)] == [None, None]


def test_a_date_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(lines([{"text": "x", "d": "2024"}, {"text": "y", "d": None}, {"text": "z", "d": "2024-05"}]))
    assert "d.jsonl:1: the date field 'd': str '2024' is not a date" in failed(path, date_field="d")
    with SinglePass(find([str(path)]), date_field="d", on_error="skip") as documents:
        assert [one.id for one in documents] == ["d.jsonl:3"]
        assert [item.number for item in documents.rejected] == [1, 2]
        assert documents.read == 3


def test_the_date_of_capture(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    page = warc("response", http(html("archived")), "http://a.example/", Content_Type="application/http")
    path = save(tmp_path / "a.warc", [page])
    assert [one.date for one in read(path, date=MAY.replace(year=2025))] == [MAY]
    assert [one.date for one in read(path, date_field="date")] == [MAY]
    assert "no field 'when'; records of archives have url, host, date" in failed(path, date_field="when")


# ---- what cannot be read


def test_errors(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(b'{"text": "one"}\nbroken\n{"text": "two"}\n')
    with SinglePass(find([str(path)])) as documents:
        each = iter(documents)
        assert next(each).text in ("one", b"one")
        with pytest.raises(DocumentError, match=r"e\.jsonl:2: invalid JSON"):
            next(each)
    with SinglePass(find([str(path)]), on_error="skip") as documents:
        assert [one.place.line for one in documents] == [1, 3]
        assert [item.number for item in documents.rejected] == [2]
        assert documents.position() == (path.stat().st_size, path.stat().st_size)
    (tmp_path / "bin").write_bytes(bytes(range(256)))
    assert "binary" in failed(tmp_path / "bin") or "not text" in failed(tmp_path / "bin")


def test_a_document_that_its_reader_cannot_use(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines(ROWS[:2]))
    for skip in (True, False):
        with SinglePass(find([str(path)]), on_error="skip" if skip else "stop") as documents:
            page = next(iter(documents))
            if skip:
                documents.refuse(page.place, "too long")
                assert (documents.read, documents.rejected) == (1, [(str(path), 1, "too long")])
            else:
                with pytest.raises(DocumentError, match=r"e\.jsonl:1: too long"):
                    documents.refuse(page.place, "too long")
