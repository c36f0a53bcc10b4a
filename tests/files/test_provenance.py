"""Every document of a result is named without doubt, and what is printed can be given to ndcore compare."""

from __future__ import annotations

import datetime
import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import jsonl, run, text
from webarchives import INFO, arc, html, http, response, save, words

from ndcore.files.documents import FileDocuments
from ndcore.files.provenance import Place, Places, SavedPlaces

DAY = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)


def clusters(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / "clusters.jsonl").read_text().splitlines()]


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Return the answer of ndcore compare as JSON."""
    capsys.readouterr()
    assert run("compare", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def example(out: str) -> list[str]:
    """Return the arguments of the example that a run prints."""
    [line] = [line for line in out.splitlines() if line.startswith("Look at a pair with: ndcore compare ")]
    return shlex.split(line.partition(" compare ")[2])


@pytest.mark.parametrize("compress", ["", "gz"])
def test_one_url_captured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], compress: str
) -> None:
    """Tell the captures apart by file, record, offset and date; the offset is the one of the record in the file."""
    pytest.importorskip("resiliparse")
    monkeypatch.chdir(tmp_path)  # reports shorten long names
    records = [INFO, response(1), response(2), response(1).replace(b"2024-05-01", b"2024-06-02")]
    path = Path(f"a b.warc{'.gz' if compress else ''}")
    save(path, records, compress)
    assert run("dedup", path, "-o", tmp_path / "out", "--report", tmp_path / "r.html") == 0
    report = (tmp_path / "r.html").read_text()
    assert f"{path}:2 (" in report and f"{path}:4 (" in report  # not one URL twice
    said = capsys.readouterr().out
    [line] = clusters(tmp_path / "out")
    url = "http://example.org/1"
    assert (line["id"], line["representative"], line["class"]) == (url, url, "identical")
    assert (line["file"], line["line"], line["date"]) == (str(path), 4, "2024-06-02T10:00:00Z")
    assert (line["representative_file"], line["representative_line"]) == (str(path), 2)
    assert line["representative_date"] == "2024-05-01T10:00:00Z"
    for offset, record in ((line["offset"], records[3]), (line["representative_offset"], records[1])):
        data = path.read_bytes()[offset:]
        assert (gzip.decompress(data) if compress else data).startswith(record)
    assert f"1 dropped for {path}:2 ({url})" in said
    assert example(said) == [f"{path}:2", f"{path}:4"]
    assert compared(capsys, *example(said))["verdict"] == "identical"
    assert run("compare", f"{path}#{url}", f"{path}:3") == 1  # which of the two?
    assert f"2 records have the id {url!r}; name one of them: {path}:2, {path}:4" in capsys.readouterr().err
    assert compared(capsys, f"{path}#http://example.org/2", f"{path}:3")["verdict"] == "identical"


def test_an_archive_without_dates_and_one_compressed_as_a_whole(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(response(1) + response(1)))
    save(tmp_path / "b.arc", [arc("http://example.org/1", http(html(words(1))))])
    with FileDocuments([str(tmp_path / "a.warc.gz"), str(tmp_path / "b.arc")]) as documents:
        documents.scan()
        places = [documents.place(i) for i in range(3)]
    assert places[:2] == [Place(str(tmp_path / "a.warc.gz"), i, None, DAY) for i in (1, 2)]
    assert places[2] == Place(str(tmp_path / "b.arc"), 1, 0, datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC))


def test_repeated_and_missing_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Look into a directory, with blank lines and rejected lines between; by the line in the file."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    rows = [{"id": "x", "text": text(1)}, {"text": text(2)}, {"id": "x", "text": text(1, 1)}]
    (tmp_path / "in" / "a.jsonl").write_bytes(b"\n" + jsonl(rows[:1]) + b"{}\n" + jsonl(rows[1:]))
    (tmp_path / "in" / "sub" / "b.txt").write_text(text(2))
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--on-error", "skip") == 0
    said = capsys.readouterr().out
    file = str(tmp_path / "in" / "a.jsonl")
    first, second = clusters(tmp_path / "out")
    assert (first["id"], first["file"], first["line"], first["representative_line"]) == ("x", file, 5, 2)
    assert (second["file"], second["line"]) == (str(tmp_path / "in" / "sub" / "b.txt"), None)
    assert (second["representative_file"], second["representative_line"]) == (file, 4)
    assert f"1 dropped for {file}:2 (x): 1 near" in said and f"1 dropped for {file}:4: 1 identical" in said
    assert example(said) == [f"{file}:2", f"{file}:5"]
    assert compared(capsys, *example(said))["verdict"] == "near"
    assert compared(capsys, second["file"], f"{file}:4")["verdict"] == "identical"
    for name, message in (("#x", "2 records have the id 'x'"), (":1", "no document is at line, row or record 1"),
                          (":3", "no text field 'text'"), (":9", "no document is at"), ("", f"{file}:LINE or {file}#ID")):
        assert run("compare", f"{file}{name}", f"{file}:2") in (1, 2)
        assert message in capsys.readouterr().err


def test_rows_and_what_the_example_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("resiliparse")
    rows = [{"url": "u", "page": html(text(n)).decode()} for n in (1, 2, 3, 2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet", row_group_size=2)
    options = ["--text-field", "page", "--id-field", "url", "--html", "main", "--unit", "char", "--width", "9"]
    assert run("dedup", tmp_path / "t.parquet", "-o", tmp_path / "out", *options, "--threshold", "0.9") == 0
    given = example(capsys.readouterr().out)
    assert given[:2] == [f"{tmp_path / 't.parquet'}:2", f"{tmp_path / 't.parquet'}:4"]
    found = compared(capsys, *given)
    assert (found["verdict"], found["threshold"], found["shingling"]["unit"]) == ("identical", 0.9, "char")
    assert found["a"]["length"] < len(rows[1]["page"])


def test_the_example_names_every_text_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl([{"t": text(1), "a": {"b": text(2)}}] * 2))
    assert run("dedup", tmp_path / "a.jsonl", "-o", tmp_path / "out", "--text-field", "t", "--text-field", "a.b") == 0
    given = example(capsys.readouterr().out)
    assert given[2:] == ["--text-field", "t", "--text-field", "a.b"]
    assert compared(capsys, *given)["a"]["length"] > len(text(1) + text(2))


def test_against_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import types

    (tmp_path / "old.txt").write_text(text(1))
    (tmp_path / "new.jsonl").write_bytes(jsonl([{"text": text(1)}, {"text": text(2)}]))
    assert run("dedup", tmp_path / "new.jsonl", "--against", tmp_path / "old.txt", "-o", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert example(said) == [str(tmp_path / "old.txt"), f"{tmp_path / 'new.jsonl'}:1"]
    assert f"1 dropped for {tmp_path / 'old.txt'} (in --against)" in said
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(jsonl([{"text": text(1)}] * 2))))
    assert run("dedup", "-", "-o", tmp_path / "out2") == 0
    said = capsys.readouterr().out
    assert "save standard input to a file" in said and "Look at a pair" not in said
    [line] = clusters(tmp_path / "out2")
    assert (line["file"], line["line"], line["representative_line"]) == ("-", 2, 1)


def test_saved_sketches_have_ids_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl([{"id": 1, "text": text(1)}, {"id": 2, "text": text(1)}]))
    assert run("sketch", tmp_path / "a.jsonl", "-o", tmp_path / "a.nds", "-q") == 0
    assert run("dedup", tmp_path / "a.nds", "-o", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "1 dropped for 1: 1 identical" in said and "Look at a pair" not in said
    [line] = clusters(tmp_path / "out")
    assert set(line) == {"id", "class", "representative", "resemblance", "cluster_size"}
    assert run("dedup", tmp_path / "a.jsonl", "--against", tmp_path / "a.nds", "-o", tmp_path / "out2") == 0
    assert "Look at a pair" not in capsys.readouterr().out  # one of each pair is a sketch


def test_places_take_eight_bytes_until_one_has_a_date() -> None:
    places = Places()
    for line in range(1, 4):
        places.append(line, None, None)
    places.append(None, None, None)
    assert not places._offsets and not places._dates
    old = datetime.datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    places.append(9, 0, old)
    places.append(10, None, None)
    assert [places.place(i, "f") for i in (2, 3, 4, 5)] == [
        Place("f", 3), Place("f", None), Place("f", 9, 0, old), Place("f", 10)
    ]
    assert places.place(4, "f").fields("x_") == {
        "x_file": "f", "x_line": 9, "x_offset": 0, "x_date": "1969-07-20T18:17:40.123456Z"
    }
    assert str(places.place(3, "f")) == "f" and str(places.place(5, "f")) == "f:10"


def test_places_with_offsets_and_no_dates_are_of_archives() -> None:
    arrays = {"file": np.zeros(1, np.uint32), "line": np.ones(1, np.int64)}
    assert not SavedPlaces({"files": ["a"]}, arrays, 1).of_archives
    offset, date = {"offset": np.full(1, 7)}, {"date": np.full(1, 7)}
    for more in (offset, date, offset | date):
        assert SavedPlaces({"files": ["a"]}, arrays | more, 1).of_archives
