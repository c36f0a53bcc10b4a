"""Results as tables for other programs: what is in them, in every format, and where they may be written."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from commands import ROWS, jsonl, run, text
from webarchives import html, response, save

import ndcore as nd
from ndcore.files import table_files
from ndcore.files.errors import UsageError
from ndcore.files.records import ANNOTATION_COLUMNS
from ndcore.files.table_files import ABSENT, Blocks, CodedValues, Column, Table, TableFile, encode_lines, list_records


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def read(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table in any format; values of CSV are strings."""
    if path.suffix == ".jsonl":
        return lines(path)
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    found: list[dict[str, Any]] = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    return found


VALUES = ["plain", "quote \" and\nline", "é", "with a lone \udc80", None]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("values", [VALUES[:3], VALUES[:4], VALUES, [7, -(2**63), 5], [7, None], []], ids=str)
def test_coded_values_are_written_as_their_values(tmp_path: Path, suffix: str, values: list[Any]) -> None:
    pytest.importorskip("pyarrow")
    kind: Literal["string", "integer"] = "integer" if values and isinstance(values[0], int) else "string"
    columns = [Column("value", kind), Column("number", "integer")]
    codes = np.array([2, 0, 1, 1, 0, len(values) - 1] if len(values) > 2 else [0] * len(values), np.int64)
    listed = [values[code] for code in codes.tolist()]
    coded = CodedValues(values, codes)
    assert (list(coded), len(coded), [coded[i] for i in range(len(codes))]) == (listed, len(listed), listed)
    written = []
    for name, column in (("coded", coded), ("listed", listed)):
        with TableFile(str(tmp_path / f"{name}{suffix}")) as file:
            assert file.write(Table(columns, Blocks([[column, np.arange(len(codes))]]))) == len(codes)
            file.staging.commit()
        written.append(read(tmp_path / f"{name}{suffix}"))
    assert written[0] == written[1]
    if suffix == ".jsonl":
        assert [row["value"] for row in written[0]] == listed


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "c.jsonl").write_bytes(jsonl(ROWS))
    return tmp_path / "c.jsonl"


def as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def test_the_same_rows_in_every_format(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    found = {}
    for suffix in (".jsonl", ".csv", ".parquet"):
        out, table, pairs = tmp_path / f"out{suffix}", tmp_path / f"t{suffix}", tmp_path / f"p{suffix}"
        assert run("dedup", corpus, "-o", out, "--table", table, "--pairs", pairs) == 0
        said = capsys.readouterr().out
        assert f"A table for other programs is {table}" in said and f"A table for other programs is {pairs}" in said
        found[suffix] = read(table), read(pairs)
    assert found[".csv"] == tuple([{name: as_text(value) for name, value in row.items()} for row in rows]
                                  for rows in found[".jsonl"])
    as_strings = tuple([{name: str(value) if name.endswith(("id", "representative")) else value
                         for name, value in row.items()} for row in rows] for rows in found[".jsonl"])
    assert found[".parquet"] == as_strings  # ids are of one type in a column
    table, pairs = found[".jsonl"]
    assert [row["id"] for row in table] == [row["id"] for row in ROWS]
    near = nd.resemblance(text(2), text(2, 1))
    file = str(corpus)
    assert table[4] == {
        "id": "e", "file": file, "line": 5, "cluster": 1, "representative": "b", "representative_file": file,
        "representative_line": 2, "class": "near", "resemblance": near, "cluster_size": 2,
    }
    assert [(row["cluster"], row["class"], row["cluster_size"]) for row in table] == [
        (0, "kept", 3), (1, "kept", 2), (0, "identical", 3), (0, "lexical", 3), (1, "near", 2), (5, "kept", 1)
    ]
    assert pairs[0] == {
        "a": 0, "a_id": "a", "a_file": file, "a_line": 1, "b": 2, "b_id": "c", "b_file": file, "b_line": 3,
        "class": "identical", "resemblance": 1.0, "estimated": False,
    }
    assert [(row["a"], row["b"], row["class"], row["resemblance"]) for row in pairs] == [
        (0, 2, "identical", 1.0), (0, 3, "lexical", 1.0), (1, 4, "near", near)
    ]


def test_archives_against_and_sketches(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("resiliparse")
    save(tmp_path / "a.warc", [response(1), response(2)])
    (tmp_path / "old.html").write_bytes(html("other words " * 9))
    given = [tmp_path / "old.html", "--against", tmp_path / "a.warc", "-o", tmp_path / "out", "--table"]
    assert run("dedup", *given, tmp_path / "t.parquet", "-q") == 0
    [row] = read(tmp_path / "t.parquet")
    assert (row["file"], row["line"], row["offset"], row["date"]) == (str(tmp_path / "old.html"), None, None, None)
    assert (row["class"], row["against"], row["cluster"]) == ("kept", False, 0)
    given = [tmp_path / "a.warc", "--against", tmp_path / "a.nds", "-o", tmp_path / "out2", "--table"]
    assert run("sketch", tmp_path / "a.warc", "-o", tmp_path / "a.nds", "-q") == 0
    assert run("dedup", *given, tmp_path / "t2.parquet", "-q", "--pairs", tmp_path / "p.jsonl") == 0
    row = read(tmp_path / "t2.parquet")[1]
    assert row["date"] == datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC) and row["offset"] == len(response(1))
    assert (row["representative"], row["representative_file"], row["cluster"]) == ("http://example.org/2", None, 3)
    assert (row["against"], row["estimated"], row["class"], row["cluster_size"]) == (True, False, "identical", 2)
    assert [(pair["a"], pair["b"], pair["a_date"], pair["b_file"]) for pair in read(tmp_path / "p.jsonl")] == [
        (0, 2, "2024-05-01T10:00:00Z", None), (1, 3, "2024-05-01T10:00:00Z", None)
    ]
    assert run("dedup", tmp_path / "a.nds", "-o", tmp_path / "out3", "--table", tmp_path / "t3.csv", "-q") == 0
    assert list(read(tmp_path / "t3.csv")[0]) == ["id", "cluster", "representative", "class", "resemblance", "cluster_size",
                                                  "estimated"]


def test_clusters_of_a_collection(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [row["text"] for row in ROWS] + ["...", "..."]
    for ids in (None, [f"i{n}" for n in range(8)]):
        place = tmp_path / f"c{ids is None}"
        made = nd.Collection.build(place, texts, ids, threshold=0.8)
        capsys.readouterr()
        assert run("clusters", place) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        names = list(range(8)) if ids is None else ids
        assert [row["id"] for row in rows] == names
        assert [row["cluster"] for row in rows] == made.clustering.labels.tolist() == [0, 1, 0, 0, 1, 5, 6, 6]
        assert [row["representative"] for row in rows] == [names[i] for i in made.clustering.labels]
        assert [row["class"] for row in rows] == made.clustering.classes.tolist()
        assert [row["cluster_size"] for row in rows] == [3, 2, 3, 3, 2, 1, 2, 2]
        assert rows[-1]["resemblance"] is None and rows[0]["resemblance"] == 1.0
        for suffix in (".parquet", ".csv"):
            if suffix == ".parquet":
                pytest.importorskip("pyarrow")
            table = tmp_path / f"t{ids is None}{suffix}"
            assert run("clusters", place, "-o", table) == 0
            assert capsys.readouterr().out == f"8 documents in {table}\n"
            assert [str(row["id"]) for row in read(table)] == [str(name) for name in names]
            assert run("clusters", place, "-o", table) == 2
            assert "exists already" in capsys.readouterr().err
            assert run("clusters", place, "-o", table, "--overwrite", "-q") == 0
            assert capsys.readouterr().out == ""
    empty = nd.Collection.build(tmp_path / "empty", [])
    assert run("clusters", empty.path) == 0 and capsys.readouterr().out == ""
    assert run("clusters", corpus) == 1


COLUMNS = ["id", "file", "line", "cluster", "representative", "representative_file", "representative_line", "class",
           "resemblance", "cluster_size"]  # fmt: skip


def test_collections_know_where_their_documents_stand(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ask collections that extend another one, also with its saved sketches: they know all places that it knew."""

    def table(*words: object) -> list[dict[str, Any]]:
        assert run("cluster", *words, "-q", "--threshold", "0.8") == 0
        capsys.readouterr()
        assert run("clusters", words[words.index("-o") + 1]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "empty.jsonl").write_text("\n")
    (tmp_path / "in" / "one.txt").write_text(text(3))
    rows = table(corpus, "-o", tmp_path / "c.ndc", "--on-error", "skip")
    assert list(rows[0]) == COLUMNS
    assert [(row["file"], row["line"], row["representative_line"]) for row in rows] == [
        (str(corpus), i + 1, line) for i, line in enumerate([1, 2, 1, 1, 2, 6])
    ]
    again = table(tmp_path / "c.ndc", "-o", tmp_path / "d.ndc")
    assert again == rows
    more = table(tmp_path / "c.ndc", tmp_path / "in", "-o", tmp_path / "e.ndc")
    assert more[:5] == rows[:5] and [row["cluster_size"] for row in more[5:]] == [2, 2]
    assert (more[6]["file"], more[6]["line"]) == (str(tmp_path / "in" / "one.txt"), None)
    assert (more[6]["representative_file"], more[6]["representative_line"]) == (str(corpus), 6)
    sketches = nd.ModSketcher("adaptive").sketch_many([text(9)])
    sketches.ids = ["s"]
    sketches.save(tmp_path / "s.nds")
    rest = table(tmp_path / "c.ndc", tmp_path / "s.nds", "-o", tmp_path / "f.ndc")
    assert [row["file"] for row in rest] == [str(corpus)] * 6 + [None] and rest[6]["line"] is None
    alone = table(tmp_path / "s.nds", "-o", tmp_path / "g.ndc")
    assert "file" not in alone[0]
    nd.Collection.build(tmp_path / "h.ndc", [text(1)], ["x"])  # of Python: no files
    both = table(tmp_path / "h.ndc", corpus, "-o", tmp_path / "i.ndc")
    assert [row["line"] for row in both] == [None, 1, 2, 3, 4, 5, 6] and both[1]["representative_file"] is None


def test_collections_of_archives_have_offsets_and_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("resiliparse")
    save(tmp_path / "a.warc", [response(1), response(1).replace(b"2024-05-01", b"2025-05-01")])
    (tmp_path / "b.txt").write_text("other words")
    given = [tmp_path / "b.txt", tmp_path / "a.warc", tmp_path / "t.jsonl"]
    (tmp_path / "t.jsonl").write_bytes(jsonl([{"text": "one more"}]))
    assert run("cluster", *given, "-o", tmp_path / "c.ndc", "-q") == 0
    capsys.readouterr()
    assert run("clusters", tmp_path / "c.ndc") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["line"], row["offset"], row["date"]) for row in rows] == [
        (None, None, None), (1, 0, "2024-05-01T10:00:00Z"), (2, len(response(1)), "2025-05-01T10:00:00Z"), (1, None, None)
    ]
    assert rows[2]["representative_date"] == "2024-05-01T10:00:00Z" and rows[2]["class"] == "identical"


def test_forged_places_are_refused(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("cluster", corpus, "-o", tmp_path / "c.ndc", "-q") == 0
    made = nd.Collection.open(tmp_path / "c.ndc")
    assert made.places is not None
    header, arrays = made.places
    arrays = {name: np.array(array) for name, array in arrays.items()}
    for wrong, message in (
        ({"file": np.array([0, 0, 0, 0, 0, 1], np.uint32)}, "in file 1 of 1"),
        ({"line": arrays["line"][:5]}, "have no line for each"),
        ({"line": arrays["line"].astype(np.float64)}, "have no line for each"),
        ({"date": np.full(6, 2**62)}, "microseconds since 1970"),
    ):
        made.keep_places(header, {**arrays, **wrong})
        assert run("clusters", tmp_path / "c.ndc") == 1
        assert message in capsys.readouterr().err
    for files in (None, "a", [1]):
        made.keep_places({"files": files}, arrays)
        assert run("clusters", tmp_path / "c.ndc") == 1
        assert "without a list of files" in capsys.readouterr().err


def test_where_tables_may_be(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check everything before anything is read, and a run that fails leaves no table."""
    out = tmp_path / "out"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / "there.csv").write_text("old")
    for given, message in (
        (["--table", tmp_path / "t.xlsx"], "end its name in .parquet, .csv, .jsonl"),
        (["--table", tmp_path / "t"], "end its name in"),
        (["--pairs", tmp_path / "there.csv"], "exists already"),
        (["--table", tmp_path / "t.csv", "--pairs", tmp_path / "t.csv"], "are the same"),
        (["--table", out / "t.csv"], "one lies in the other"),
        (["--table", tmp_path / "no" / "t.csv"], "there is no directory"),
        (["--table", tmp_path / "in" / "t.csv"], "lies in the input"),
        (["--pairs", "-"], "cannot be written to standard output"),
    ):
        assert run("dedup", tmp_path / "in", "-o", out, *given) == 2
        assert message in capsys.readouterr().err
        assert not out.exists() and (tmp_path / "there.csv").read_text() == "old"
    assert run("dedup", tmp_path / "in", "-o", out, "--table", tmp_path / "there.csv", "--overwrite", "-q") == 0
    assert len(read(tmp_path / "there.csv")) == 6
    before = sorted(path.name for path in tmp_path.iterdir())

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ndcore.cli.dedup_findings.write_clusters", fails)
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out2", "--table", tmp_path / "new.csv") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    capsys.readouterr()
    real = table_files.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "pyarrow" else real(name, *rest))
    assert run("dedup", corpus, "-o", tmp_path / "out3", "--table", tmp_path / "t.parquet") == 2
    assert "pip install 'ndcore[parquet]'; or write .csv or .jsonl" in capsys.readouterr().err


def test_tables_beside_kept_records_on_standard_output(tmp_path: Path, corpus: Path, capfdbinary: Any) -> None:
    assert run("dedup", corpus, "-o", "-", "--table", tmp_path / "t.jsonl", "-q") == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 3 and len(read(tmp_path / "t.jsonl")) == 6


AWKWARD = ["a,b", 'say "x"', "two\nlines", "\ud800 alone", "", "=1+1", "ü"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_awkward_values_in_batches(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(table_files, "BATCH", 3)
    columns = [Column("id", "id"), Column("n", "integer"), Column("x", "number"), Column("t", "truth"), Column("d", "time")]
    day = datetime.datetime(2024, 2, 29, 1, 2, 3, 4000, tzinfo=datetime.timezone(datetime.timedelta(hours=-2)))
    rows = [(ident, None if i else 2**62, None, bool(i % 2), day if i else None) for i, ident in enumerate(AWKWARD)]
    with TableFile(str(tmp_path / f"t{suffix}")) as file:
        assert file.write(Table(columns, iter(rows))) == 7
        assert not (tmp_path / f"t{suffix}").exists()
        file.commit()
    found = read(tmp_path / f"t{suffix}")
    surrogate = "\ud800 alone" if suffix == ".jsonl" else "\\ud800 alone"
    assert [row["id"] for row in found] == [surrogate if "\ud800" in name else name for name in AWKWARD]
    assert str(found[0]["n"]) == str(2**62) and found[1]["n"] in (None, "") and found[0]["x"] in (None, "")
    assert found[1]["t"] in (True, "true") and found[2]["t"] in (False, "false")
    assert found[1]["d"] in (day, "2024-02-29T03:02:03.004000Z") and found[0]["d"] in (None, "")
    assert list(tmp_path.iterdir()) == [tmp_path / f"t{suffix}"]


def test_rows_in_blocks_become_the_same_lines() -> None:
    columns = [Column("id", "id"), Column("50 % é", "integer"), Column("x", "number"), Column("d", "time")]
    day = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    for first in ("\ud800 é", "plain é"):
        rows = [(first, 2**70, 0.1, day), (7, None, None, None), ('é, "x"\n', -1, 1e300, day), ("7", 0, 2, None)]
        lines, blocks = io.BytesIO(), io.BytesIO()
        assert table_files.write_json_lines(lines, Table(columns, iter(rows))) == 4
        parts = [list(zip(*part, strict=True)) for part in (rows[:1], rows[1:])]
        assert table_files.write_json_lines(blocks, Table(columns, Blocks([*parts, [[], [], [], []]]))) == 4
        assert blocks.getvalue() == lines.getvalue()
        assert [list(json.loads(line).values()) for line in lines.getvalue().splitlines()] == [
            [*row[:3], row[3] and "2024-02-29T00:00:00Z"] for row in rows]
    with pytest.raises(ValueError, match="not JSON compliant"):
        table_files.write_json_lines(io.BytesIO(), Table(columns[2:3], Blocks([[[1.0, math.nan]]])))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("lone", ["", "\ud800"])
def test_arrays_are_written_as_lists_are(tmp_path: Path, suffix: str, lone: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    columns = [Column("i", "integer"), Column("s", "string"), Column("%s \"", "integer")]
    numbers = np.array([[5, -7], [0, 2**62], [-1, 3]])  # columns of it are not contiguous
    strings = ["a", "é" + lone, "a"]
    for name, block in [("arrays", [numbers[:, 0], strings, numbers[:, 1]]),
                        ("lists", [[5, 0, -1], strings, [-7, 2**62, 3]])]:
        assert table_files.WRITERS[suffix](tmp_path / f"{name}{suffix}", Table(columns, Blocks([block] * 2))) == 6
    assert (tmp_path / f"arrays{suffix}").read_bytes() == (tmp_path / f"lists{suffix}").read_bytes()
    [first, *_] = read(tmp_path / f"arrays{suffix}")
    assert list(first.values()) == (["5", "a", "-7"] if suffix == ".csv" else [5, "a", -7])


def test_blocks_are_written_in_order_by_several_threads() -> None:
    columns, blocks = [Column("i", "integer"), Column("s", "string")], [[np.array([i]), [str(i)]] for i in range(50)]
    written = io.BytesIO()
    assert table_files.write_json_lines(written, Table(columns, Blocks(blocks)), 2) == 50
    assert written.getvalue() == b"".join(b'{"i": %d, "s": "%d"}\n' % (i, i) for i in range(50))


def test_ids_are_numbers_where_all_are(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for last, kind in ((3, pa.int64()), (2**63, pa.string()), ("3", pa.string())):
        (tmp_path / "c.jsonl").write_bytes(jsonl([{"id": 1, "text": "a"}, {"id": last, "text": "b"}]))
        assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "out", "--overwrite", "--table", tmp_path / "t.parquet",
                   "-q") == 0  # fmt: skip
        schema = pq.read_schema(tmp_path / "t.parquet")
        assert schema.field("id").type == schema.field("representative").type == kind


def test_a_table_needs_a_suffix_in_python_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of no known format"):
        TableFile(str(tmp_path / "t.txt"))


def test_annotation_is_the_same_in_every_format_of_tables(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    rows = [{"id": "a", "text": "one, two and three"}, {"id": "b", "text": "one, two and three"}, {"id": "c", "text": "x"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    (tmp_path / "known.jsonl").write_text('{"id": "k", "text": "x"}\n')
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as file:
            written = csv.DictWriter(file, ["id", "text"], delimiter=delimiter)
            written.writeheader()
            written.writerows(rows)
    for options in ([], ["--against", tmp_path / "known.jsonl"], ["--lost", "--drop-common", "0.5"]):
        given = {"ndcore_against": "--against", "ndcore_score": "--drop-common", "ndcore_lost": "--lost"}
        names = [name for name in ANNOTATION_COLUMNS if name not in given or given[name] in options]
        for name in ("t.csv", "t.tsv", "t.parquet"):
            out = tmp_path / f"{name}{len(options)}"
            assert run("dedup", tmp_path / name, *options, "-o", out, "-q", "--annotate") == 0
            path = out / "annotated" / name
            if name == "t.parquet":
                found = [{key: as_text(value) for key, value in row.items()} for row in pq.read_table(path).to_pylist()]
            else:
                with path.open(newline="") as file:
                    found = list(csv.DictReader(file, delimiter="\t" if name == "t.tsv" else ","))
            assert list(found[0]) == ["id", "text", *names]
            line = found[1]
            assert (line["ndcore_class"], line["ndcore_representative"]) == ("identical", "a")
            assert line["ndcore_cluster_size"] == "2"
            assert line["ndcore_representative_line"] == ("1" if name == "t.parquet" else "2")  # a header is a line
            assert line["ndcore_representative_file"] == str(tmp_path / name)
            assert line.get("ndcore_against") == ("false" if "--against" in options else None)


def test_what_has_no_shingles_has_no_resemblance_anywhere(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"text": ""}\n{"text": ""}\n')
    for suffix in (".jsonl", ".csv", ".parquet"):
        if suffix == ".parquet":
            pytest.importorskip("pyarrow")
        out, table, pairs = tmp_path / f"out{suffix}", tmp_path / f"t{suffix}", tmp_path / f"p{suffix}"
        assert run("dedup", tmp_path / "c.jsonl", "-o", out, "--table", table, "--pairs", pairs, "-q") == 0
        nothing = "" if suffix == ".csv" else None
        assert [row["resemblance"] for row in read(pairs)] == [nothing] == [read(table)[1]["resemblance"]]
        assert lines(out / "clusters.jsonl")[0]["resemblance"] is None


@pytest.mark.parametrize("last", ["c", "\udc80"])  # a lone surrogate is escaped
def test_absent_values_leave_their_fields_out(last: str) -> None:
    columns = {"id": [7, "a", "b"], "mixed": [True, 1, ABSENT], "count": np.arange(3), "text": [ABSENT, 'q"', last],
               "never": [ABSENT, ABSENT, ABSENT], "null": [None, ABSENT, 1.5]}
    records = [{"id": 7, "mixed": True, "count": 0, "null": None}, {"id": "a", "mixed": 1, "count": 1, "text": 'q"'},
               {"id": "b", "count": 2, "text": last, "null": 1.5}]
    assert list_records(columns) == records
    lines = encode_lines(columns).splitlines()
    assert [json.loads(line) for line in lines] == records
    assert b'"mixed": true' in lines[0] and b'"mixed": 1,' in lines[1]
