"""Fields of records: inside of objects and structs, several as one text, and documents without the field of --keep."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments
from ndcore.files.json_lines import RecordParser
from ndcore.files.records import MISSING, Fields, RecordError, lookup

RECORD = {"data": {"text": "inside", "deep": {"er": 7}, "x.y": "dotted"}, "a.b": {"c": "half"}, "a": {"b": {"d": "split"}},
          "top": "top", "null": None, "list": [1]}


@pytest.mark.parametrize("field, value", [
    ("top", "top"), ("data.text", "inside"), ("data.deep.er", 7), ("data.deep", {"er": 7}), ("data.x.y", "dotted"),
    ("a.b.c", "half"), ("a.b.d", "split"), ("a.b", {"c": "half"}), ("null", None),
    ("data.none", MISSING), ("top.text", MISSING), ("list.0", MISSING), ("null.x", MISSING), ("", MISSING), (".", MISSING),
    ("data.", MISSING), (".data", MISSING), ("none.of.these", MISSING),
])
def test_a_field_of_that_name_wins_over_one_inside(field, value):
    assert lookup(RECORD, field) == value if value is not MISSING else lookup(RECORD, field) is MISSING
    both = {**RECORD, field: "of that name"}
    assert lookup(both, field) == "of that name"


def outcome(parser, line):
    try:
        return parser.parse(2, line)
    except RecordError as error:
        return str(error)


NAMES = st.sampled_from(["a", "b", "a.b", "b.c", "c", "id", 'q"', ""])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(NAMES, VALUES | st.text()), st.lists(NAMES, min_size=1, max_size=3, unique=True), NAMES,
       st.sampled_from(["a.b.c", "b.c", "id"]), st.booleans())
def test_with_and_without_msgspec_the_same(record, texts, field, ident, optional):
    pytest.importorskip("msgspec")
    fields = Fields(tuple(texts), ident, True, (field,), frozenset([field] if optional else []))
    parsers = [RecordParser(fields, fast) for fast in (True, False)]
    line = json.dumps(record).encode()
    fast, slow = (outcome(parser, line) for parser in parsers)
    assert repr(fast) == repr(slow)
    if not isinstance(slow, str):
        assert slow.text == "\n".join(lookup(record, name) for name in texts)
        assert slow.values == (None if lookup(record, field) is MISSING else lookup(record, field),)


def run(*arguments):
    return main([str(argument) for argument in arguments])


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def nested(i, text):
    return {"meta": {"key": f"k{i}", "rank": i % 3}, "data": {"title": f"Title {i}", "text": text}}


TEXTS = ["one two three four five six", "one two three four five six", "seven eight nine ten eleven twelve"]


@pytest.fixture(params=["jsonl", "parquet"])
def records(request, tmp_path):
    rows = [nested(i, text) for i, text in enumerate(TEXTS)]
    if request.param == "jsonl":
        return lines(tmp_path / "in.jsonl", *rows)
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


def test_every_command_looks_inside(records, tmp_path, capsys):
    fields = ("--text-field", "data.text", "--id-field", "meta.key")
    assert run("dedup", records, "-o", tmp_path / "out", *fields, "--keep", "meta.rank:desc", "-q") == 0
    dropped = (tmp_path / "out/clusters.jsonl").read_text().splitlines()
    assert [json.loads(line)["representative"] for line in dropped] == ["k1"]
    assert json.loads((tmp_path / "out/summary.json").read_text())["parameters"]["text_field"] == "data.text"
    assert run("dedup", records, "-o", tmp_path / "by", *fields, "--by", "meta.rank", "-q") == 0
    assert json.loads((tmp_path / "by/summary.json").read_text())["counts"]["kept"] == 3
    assert run("sketch", records, "-o", tmp_path / "s.nds", *fields, "-q") == 0
    assert nd.load(tmp_path / "s.nds").ids == ["k0", "k1", "k2"] and nd.load(tmp_path / "s.nds").resemblance(0, 1) == 1
    assert run("cluster", records, "-o", tmp_path / "c", *fields, "-q") == 0
    assert nd.Collection.open(tmp_path / "c").members("k1") == ["k0", "k1"]
    assert run("compare", f"{records}#k0", f"{records}#k1", *fields, "--json") == 0
    assert run("query", tmp_path / "c", f"{records}#k2", *fields, "--json") == 0
    assert "k2" in capsys.readouterr().out


def test_several_fields_are_one_text(records, tmp_path):
    fields = ("--text-field", "data.title", "--text-field", "data.text")
    with FileDocuments([str(records)], text_field=["data.title", "data.text"]) as documents:
        texts = [text for batch in documents.batches() for text in batch]
    assert texts == [f"Title {i}\n{text}" for i, text in enumerate(TEXTS)]
    assert run("dedup", records, "-o", tmp_path / "out", *fields, "-q") == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["parameters"]["text_field"] == ["data.title", "data.text"]
    kept = tmp_path / "out" / "kept" / records.name
    assert kept.stat().st_size > 100  # records as they were
    assert run("cluster", records, "-o", tmp_path / "c", *fields, "-q") == 0
    assert run("cluster", records, "-o", tmp_path / "d", "--text-field", "data.text", "-q") == 0
    sizes = [nd.Collection.open(tmp_path / name).sketches.sizes.tolist() for name in "cd"]
    assert sizes == [[4, 4, 4], [2, 2, 2]]
    for wrong in ([], ["a", "a"]):
        with pytest.raises(ValueError, match="text_field"):
            FileDocuments([str(records)], text_field=wrong)


def test_a_record_has_all_of_several_fields(tmp_path, capsys):
    path = lines(tmp_path / "in.jsonl", {"title": "a", "body": "b"}, {"body": "c"}, {"title": None, "body": "d"})
    fields = ("--text-field", "title", "--text-field", "body")
    assert run("dedup", path, "-o", tmp_path / "out", *fields) == 1
    assert "in.jsonl:2: no text field 'title'" in capsys.readouterr().err
    assert run("dedup", path, "-o", tmp_path / "out", *fields, "--on-error", "skip", "-q") == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["counts"] | {} == {
        "read": 3, "kept": 1, "dropped": 0, "rejected": 2,
        "dropped_by_class": {"identical": 0, "lexical": 0, "shingle": 0, "near": 0}}


def test_a_nested_text_is_suggested(tmp_path, capsys):
    path = lines(tmp_path / "in.jsonl", {"meta": {"n": 1}, "data": {"body": "a text of some words"}})
    assert run("dedup", path, "-o", tmp_path / "out") == 1
    assert "use --text-field data.body" in capsys.readouterr().err


def test_columns_of_structs(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def read(table, **options):
        pq.write_table(table, tmp_path / "in.parquet")
        with FileDocuments([str(tmp_path / "in.parquet")], on_error="skip", **options) as documents:
            texts = [text for batch in documents.batches() for text in batch]
            return texts, [item.reason for item in documents.rejected]

    rows = [{"a": {"b": "in"}, "a.b": "top"}, {"a": None, "a.b": None}]
    assert read(pa.Table.from_pylist(rows), text_field="a.b") == (["top"], ["the text column 'a.b' is null"])
    rows = [{"a": {"b": {"c": "in"}}}, {"a": {"b": None}}, {"a": None}]
    assert read(pa.Table.from_pylist(rows), text_field="a.b.c") == (["in"], ["the text column 'a.b.c' is null"] * 2)
    table = pa.table({"a": pa.array([{"b": b"\xff\x00", "t": "x"}], pa.struct([("b", pa.binary()), ("t", pa.string())]))})
    assert read(table, text_field=["a.t", "a.b"])[0] == [b"x\n\xff\x00"]
    for wrong, words in (("a.c", "no column 'a.c'"), ("a.t.x", "no column"), ("a", "holds struct")):
        assert words in read(table, text_field=wrong)[1][0]


@pytest.mark.parametrize("order, first", [("desc", "c"), ("asc", "b")])
def test_documents_without_the_field_of_keep_come_last(tmp_path, capsys, order, first):
    text = "one two three four five six seven"
    rows = [{"id": "a", "text": text}, {"id": "b", "text": text, "n": 1}, {"id": "c", "text": text, "n": 2},
            {"id": "d", "text": text, "n": None}]
    assert run("dedup", lines(tmp_path / "in.jsonl", *rows), "-o", tmp_path / "out", "--keep", f"n:{order}") == 0
    assert "2 documents without a value in the field of --keep, last" in capsys.readouterr().out
    assert json.loads((tmp_path / "out/kept/in.jsonl").read_text())["id"] == first
    assert json.loads((tmp_path / "out/summary.json").read_text())["without_keep_field"] == 2
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist([{"n": None, **row} for row in rows]), tmp_path / "in/b.parquet")
    pq.write_table(pa.Table.from_pylist([{"id": "z", "text": text}]), tmp_path / "in/a.parquet")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "both", "--keep", f"n:{order}", "-q") == 0
    assert json.loads((tmp_path / "both/summary.json").read_text())["without_keep_field"] == 3
    assert pq.read_table(tmp_path / "both/kept/in/b.parquet")["id"].to_pylist() == [first]


def test_a_field_that_no_document_has_is_refused(tmp_path, capsys):
    path = lines(tmp_path / "in.jsonl", {"text": "one"}, {"text": "two", "n": 1})
    assert run("dedup", path, "-o", tmp_path / "out", "--keep", "m:desc") == 1
    assert "no field 'm' to keep documents by: of 2 none has it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_group_is_needed(tmp_path, capsys):
    path = lines(tmp_path / "in.jsonl", {"text": "one"}, {"text": "two", "n": 1})
    assert run("dedup", path, "-o", tmp_path / "out", "--by", "n") == 1
    told = capsys.readouterr().err
    assert "in.jsonl:1: no field 'n'" in told and "--on-error skip" in told
    assert run("dedup", path, "-o", tmp_path / "out", "--by", "n", "--on-error", "skip", "-q") == 0
    assert json.loads((tmp_path / "out/summary.json").read_text())["rejected"][0]["line"] == 1


def test_cells_of_tables(tmp_path, capsys):
    """Read tables with a missing column and an empty cell, both without a value, and several columns as one text."""
    text = "one two three four five six seven"
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text(f"id,title,text\nz,T,{text}\n")
    (tmp_path / "in/b.csv").write_text(f"id,title,text,n\na,T,{text},\nb,T,{text},7\n")
    fields = ("--text-field", "title", "--text-field", "text")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--keep", "n:desc", *fields, "-q") == 0
    account = json.loads((tmp_path / "out/summary.json").read_text())
    assert account["without_keep_field"] == 2 and account["counts"]["kept"] == 1
    assert "b,T," in (tmp_path / "out/kept/in/b.csv").read_text()
    with FileDocuments([str(tmp_path / "in/a.csv")], text_field=["title", "text"]) as documents:
        assert next(documents.batches()) == [f"T\n{text}"]


def test_structs_of_arrow_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pylist([nested(i, text) for i, text in enumerate(TEXTS)])
    with pa.ipc.new_file(str(tmp_path / "in.arrow"), table.schema) as writer:
        writer.write_table(table)
    fields = {"text_field": ["data.title", "data.text"], "id_field": "meta.key"}
    with FileDocuments([str(tmp_path / "in.arrow")], **fields) as documents:
        assert next(documents.batches()) == [f"Title {i}\n{text}" for i, text in enumerate(TEXTS)]
        assert [*documents.ids] == ["k0", "k1", "k2"]
