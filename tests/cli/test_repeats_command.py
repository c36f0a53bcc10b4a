"""``ndcore repeats``: documents without their repeated passages, rows, refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import ndcore as nd
from ndcore.cli.main import main

pytest.importorskip("msgspec")

RIGHTS = "All rights reserved by the printers of Oslo"
TEXTS = [f"{RIGHTS}. A cat sat.", f"A dog ran: {RIGHTS}.", RIGHTS]
ATTRIBUTES = [{"id": f"d{i}", "attributes": {"ndcore__repeats": spans}}
              for i, spans in enumerate([[], [[11, 54, 3]], [[0, 43, 3]]])]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    return {place.name: place.read_bytes() for place in sorted(folder.iterdir())}


def texts_of(folder: Path) -> list[str]:
    """Read the texts of files of JSON lines, and of text."""
    texts = []
    for name, data in files(folder).items():
        texts += [data.decode()] if name.endswith(".txt") else [json.loads(line)["text"] for line in data.splitlines()]
    return texts


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": text, "n": i % 2}) + "\n" for i, text in enumerate(TEXTS)))
    return path


def test_cleaned_documents_rows_and_what_is_left_empty(corpus, tmp_path, capsys):
    out = tmp_path / "out"
    assert run("repeats", corpus, "-o", out, "--min-tokens", 5, "-q") == 0
    cleaned = [{"id": "d0", "text": TEXTS[0], "n": 0}, {"id": "d1", "text": "A dog ran: .", "n": 1}]
    assert lines(out / "cleaned" / "in.jsonl") == cleaned
    assert (out / "cleaned" / "in.jsonl").read_bytes().splitlines()[0] == corpus.read_bytes().splitlines()[0]
    assert not (out / "cleaned.jsonl").exists()
    assert lines(out / "empty.jsonl") == [{"id": "d2", "file": str(corpus), "line": 3}]
    rows = lines(out / "rows.jsonl")
    assert [(row["id"], row["source"], row["copies"]) for row in rows] == [("d1", "d0", 3), ("d2", "d0", 3)]
    assert TEXTS[1][rows[0]["start_char"] : rows[0]["end_char"]] == RIGHTS
    account = json.loads((out / "summary.json").read_bytes())
    assert account["tokens"] == {"all": 30, "repeated": 16, "cut": 16}
    assert account["counts"] == {"read": 3, "documents": 3, "with_passages": 2, "empty": 1, "rejected": 0}
    assert capsys.readouterr().out == ""


def test_annotated_records_and_attributes(corpus, tmp_path):
    assert run("repeats", corpus, "-o", tmp_path / "a", "--min-tokens", 5, "-q", "--write", "annotated") == 0
    found = lines(tmp_path / "a" / "annotated.jsonl")
    assert [record["text"] for record in found] == TEXTS
    assert found[0]["ndcore"] == {"tokens": 11, "repeated": 0, "spans": []}
    assert found[2]["ndcore"]["spans"] == [{"start": 0, "end": 8, "start_char": 0, "end_char": 43, "start_byte": 0,
                                            "end_byte": 43, "copies": 3}]
    assert run("repeats", corpus, "-o", tmp_path / "b", "--min-tokens", 5, "-q", "--write", "attributes") == 0
    assert lines(tmp_path / "b" / "attributes" / "in.jsonl") == ATTRIBUTES
    assert not (tmp_path / "b" / "attributes.jsonl").exists()


def test_attributes_stand_in_files_like_the_inputs(corpus, tmp_path, capfdbinary):
    folder = tmp_path / "documents"
    (folder / "deep").mkdir(parents=True)
    records = corpus.read_bytes().splitlines(keepends=True)
    (folder / "a.jsonl").write_bytes(records[0])
    (folder / "b.jsonl").write_bytes(b"")
    (folder / "deep" / "c.jsonl.gz").write_bytes(gzip.compress(records[1]))
    (folder / "d.txt").write_text(TEXTS[2])
    options = ("--min-tokens", 5, "-q", "--write", "attributes")
    assert run("repeats", folder, "-o", tmp_path / "out", *options, "--copies", "none") == 0
    below = tmp_path / "out" / "attributes" / "documents"
    names = sorted(path.relative_to(below).as_posix() for path in below.rglob("*.jsonl*"))
    assert names == ["a.jsonl", "b.jsonl", "deep/c.jsonl.gz"]
    assert lines(below / "a.jsonl") == [{"id": "d0", "attributes": {"ndcore__repeats": [[0, 43, 1]]}}]
    assert (below / "b.jsonl").read_bytes() == b""
    assert json.loads(gzip.decompress((below / "deep" / "c.jsonl.gz").read_bytes()))["attributes"] == {
        "ndcore__repeats": [[11, 54, 1]]}
    assert lines(tmp_path / "out" / "attributes.jsonl") == [
        {"id": "d.txt", "attributes": {"ndcore__repeats": [[0, 43, 1]]}}]
    assert run("repeats", corpus, "-o", "-", *options) == 0
    assert [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()] == ATTRIBUTES


def test_standard_output_gets_documents_and_standard_error_the_report(corpus, capfdbinary):
    assert run("repeats", corpus, "-o", "-", "--min-tokens", 5, "--copies", "none") == 0
    captured = capfdbinary.readouterr()
    assert [json.loads(line)["text"] for line in captured.out.splitlines()] == [". A cat sat.", "A dog ran: ."]
    assert b"16 of 30 tokens (53.3 %) are repeated, in 2 passages of 2 documents" in captured.err
    assert b"24 tokens were cut; nothing is left of 1 document" in captured.err


@pytest.mark.parametrize(("options", "documents"), [
    (["--keep", "longest"], ["d1", "d2"]), (["--keep", "n:desc"], ["d0", "d2"]), (["--by", "n"], ["d2"]),
    (["--other-documents"], ["d1", "d2"]), (["--min-copies", 4], []), (["--max-copies", 2], []),
    (["--memory", "1M"], ["d1", "d2"]),
])
def test_which_places_count(corpus, tmp_path, options, documents):
    assert run("repeats", corpus, "-o", tmp_path / "out", "--min-tokens", 5, "-q", *options) == 0
    assert [row["id"] for row in lines(tmp_path / "out" / "rows.jsonl")] == documents


def test_other_inputs(corpus, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text(f"{RIGHTS} and others")
    assert run("repeats", corpus, "--against", other, "-o", tmp_path / "a", "--min-tokens", 5, "-q") == 0
    rows = lines(tmp_path / "a" / "rows.jsonl")
    assert [(row["id"], row["source_file"]) for row in rows] == [(f"d{i}", str(other)) for i in range(3)]
    assert run("repeats", corpus, "--exceptions", other, "-o", tmp_path / "b", "--min-tokens", 5, "-q") == 0
    assert lines(tmp_path / "b" / "rows.jsonl") == []


def test_inputs_of_every_kind_keep_their_form_and_become_json_lines_on_standard_output(tmp_path, capfdbinary):
    (tmp_path / "a.txt").write_text(TEXTS[0])
    (tmp_path / "b.csv").write_bytes(f'id,text,n\r\nx,"{TEXTS[1]}",7\r\n'.encode())
    (tmp_path / "c.json").write_text(json.dumps([{"id": 1, "text": TEXTS[2] + " too"}], indent=1))
    (tmp_path / "d.html").write_text(f"<p>{TEXTS[2]} also</p>")
    inputs = [tmp_path / name for name in ("a.txt", "b.csv", "c.json", "d.html")]
    assert run("repeats", *inputs, "-o", tmp_path / "out", "--min-tokens", 5, "-q") == 0
    assert files(tmp_path / "out" / "cleaned") == {
        "a.txt": TEXTS[0].encode(), "b.csv": b'id,text,n\r\nx,"A dog ran: .",7\r\n',
        "c.json": json.dumps([{"id": 1, "text": "too"}], indent=1).encode()}
    page = {"id": "d.html", "text": "also"}
    assert lines(tmp_path / "out" / "cleaned.jsonl") == [page]
    assert run("repeats", *inputs, "-o", "-", "--min-tokens", 5, "-q") == 0
    printed = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert printed == [{"id": "a.txt", "text": TEXTS[0]}, {"id": "x", "text": "A dog ran: .", "n": "7"},
                       {"id": 1, "text": "too"}, page]


def test_columns_and_fields_of_objects(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"id": [1, 2], "text": TEXTS[:2]}), tmp_path / "in.parquet")
    table = tmp_path / "rows.parquet"
    assert run("repeats", tmp_path / "in.parquet", "-o", tmp_path / "a", "--min-tokens", 5, "-q", "--table", table) == 0
    assert parquet.read_table(tmp_path / "a" / "cleaned" / "in.parquet").to_pylist()[1] == {"id": 2, "text": "A dog ran: ."}
    assert parquet.read_table(table).column("source").to_pylist() == [1]
    texts = [b"\xff kept", *(text.encode() + b" \xfe" for text in TEXTS)]
    parquet.write_table(pa.table({"id": range(4), "text": pa.array(texts, pa.binary())}), tmp_path / "bytes.parquet")
    assert run("repeats", tmp_path / "bytes.parquet", "-o", tmp_path / "c", "--min-tokens", 5, "-q") == 0
    assert parquet.read_table(tmp_path / "c" / "cleaned" / "bytes.parquet").column("text").to_pylist() == [
        b"\xff kept", texts[1], b"A dog ran: . \xfe"]
    assert json.loads((tmp_path / "c" / "summary.json").read_bytes())["not_utf8"] == 0
    nested = tmp_path / "nested.jsonl"
    nested.write_text("".join(json.dumps({"id": i, "data": {"text": text}}) + "\n" for i, text in enumerate(TEXTS)))
    assert run("repeats", nested, "-o", tmp_path / "b", "--min-tokens", 5, "-q", "--text-field", "data.text") == 0
    assert lines(tmp_path / "b" / "cleaned" / "nested.jsonl")[1] == {"id": 1, "data": {"text": "A dog ran: ."}}


def test_units(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"text": "one\ntwo\nthree"}) + "\n" + json.dumps({"text": "two\nfour"}) + "\n")
    assert run("repeats", source, "-o", tmp_path / "out", "--min-tokens", 1, "--unit", "line", "-q") == 0
    assert [record["text"] for record in lines(tmp_path / "out" / "cleaned" / "in.jsonl")] == ["one\ntwo\nthree", "four"]


def test_a_dry_run_writes_nothing(corpus, tmp_path, capsys):
    assert run("repeats", corpus, "-o", tmp_path / "out", "--dry-run") == 0
    assert "A dry run: nothing was written" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("options", "message"), [
    (["--by", "n", "--against", "."], "--by excludes --against"),
    (["--min-copies", 5, "--max-copies", 4], "--max-copies 4 is below --min-copies 5"),
    (["--text-field", "a", "--text-field", "b"], "names several"),
    (["--min-tokens", 0], "0"), (["--table", "rows.html"], "end its name in"),
])
def test_refusals(corpus, tmp_path, capsys, options, message):
    try:
        assert run("repeats", corpus, "-o", tmp_path / "out", *options) == 2
    except SystemExit as stop:
        assert stop.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_output_is_named_where_it_is_given_as_input(corpus, tmp_path, capsys):
    assert run("repeats", corpus, "-o", tmp_path / "out", "--min-tokens", 5, "-q") == 0
    assert run("repeats", tmp_path / "out", "-o", tmp_path / "again") == 2
    assert f"{tmp_path / 'out'}/cleaned: name that" in capsys.readouterr().err


def test_the_result_is_the_one_of_the_library(corpus, tmp_path):
    assert run("repeats", corpus, "-o", tmp_path / "out", "--min-tokens", 3, "-q") == 0
    expected = [text for text in nd.repeats(TEXTS, 3).cleaned() if text]
    assert [record["text"] for record in lines(tmp_path / "out" / "cleaned" / "in.jsonl")] == expected


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_bytes_that_differ_keep_their_character(name, tmp_path):
    texts = ["abcdefgh在", "abcdefgh因", "abcdefgh "]
    if name == "a.txt":
        sources = [tmp_path / f"{i}.txt" for i in range(3)]
        for source, text in zip(sources, texts, strict=True):
            source.write_text(text, encoding="utf-8")
    else:
        sources = [tmp_path / name]
        sources[0].write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    options = ("--unit", "byte", "--min-tokens", 5, "-q")
    assert run("repeats", *sources, "-o", tmp_path / "out", *options) == 0
    assert texts_of(tmp_path / "out" / "cleaned") == ["abcdefgh在", "因", " "]
    assert lines(tmp_path / "out" / "empty.jsonl") == []
    assert [row["end_char"] for row in lines(tmp_path / "out" / "rows.jsonl")] == [8, 8]
    assert run("repeats", *sources, "-o", tmp_path / "b", *options, "--write", "attributes") == 0
    (found,) = (tmp_path / "b").rglob("a*.jsonl") if name == "a.jsonl" else [tmp_path / "b" / "attributes.jsonl"]
    assert [line["attributes"]["ndcore__repeats"] for line in lines(found)] == [[], [[0, 8, 2]], [[0, 8, 3]]]
    item = tmp_path / "item.jsonl"
    item.write_text(json.dumps({"text": texts[0]}) + "\n")
    assert run("contamination", item, "--in", *sources[-2:], "-o", tmp_path / "c", "--trim", *options) == 0
    assert texts_of(tmp_path / "c" / "cleaned")[-2:] == ["因", " "]
