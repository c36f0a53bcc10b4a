"""CSV and TSV: rows unchanged, values, refusals, annotations."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordfiles import KEPT, ROWS, TEXTS, csv, dedup, read, refusal, source, text, write

from ndcore.cli.main import main
from ndcore.files import csv_tsv
from ndcore.files.csv_tsv import read_raw_rows, split_cells
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, Rejected
from ndcore.files.sources import TextForm, TooLong


def test_rows_as_they_stand(tmp_path: Path) -> None:
    rows = [b"id,text\r\n", b'1,"a\r\n""b"",\nc"\r\n', b'2,5" disk\n', b"\n", b'3,""\n', b'"4","x"']
    path = write(tmp_path / "a.csv", b"".join(rows))
    assert [row for _, row in read_raw_rows(source(path, "csv"))] == rows
    assert [number for number, _ in read_raw_rows(source(path, "csv"))] == [1, 2, 5, 6, 7, 8]
    assert read(path) == (['a\r\n"b",\nc', '5" disk', "", "x"], ["1", "2", "3", "4"])
    with FileDocuments([path]) as documents:
        assert (len(documents), documents.blank) == (4, 1)


@given(st.lists(st.lists(st.text(alphabet='ab",\n\r\té'), min_size=3, max_size=3), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_rows_of_any_table(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    import csv as standard

    path = tmp_path_factory.mktemp("any") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        standard.writer(file).writerows([["a", "b", "c"], *table])
    rows = [row for _, row in read_raw_rows(source(path, "csv"))]
    assert b"".join(rows) == path.read_bytes()
    assert [[cell.decode() for cell in split_cells(row, b",")] for row in rows[1:]] == table


def _rows_or_refusal(path: Path, encoding: str, longest: int) -> tuple[list[tuple[int, bytes]], tuple[int | None, str]]:
    """Return the rows of a table in an encoding, and number and reason of the error that ends them, if one does."""
    given, rows = source(path, "csv"), list[tuple[int, bytes]]()
    given.encoding, given.delimiter, given.longest = encoding, ",", longest
    try:
        for number, row in read_raw_rows(given):
            rows.append((number, row.reason.encode() if isinstance(row, TooLong) else row))
    except DocumentError as error:
        return rows, (error.number, error.reason)
    return rows, (None, "")


def test_blocks_of_utf8_have_the_rows_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of other encodings are cut line by line: the same bytes have the same rows, numbers and errors either way."""
    rng, path, ends = random.Random(5), tmp_path / "a.csv", set[str]()
    for _ in range(3000):
        monkeypatch.setattr(csv_tsv, "_BLOCK", rng.choice([1, 2, 7, 30, 1000]))
        monkeypatch.setattr(csv_tsv, "_LONG_ROW", rng.choice([1, 5, 20, 1000]))
        data = "".join(rng.choices(['"', '""', ",", "\n", "\r\n", "a", '",', ',"', '"\n'], k=rng.randrange(40))).encode()
        path.write_bytes(data)
        longest = rng.choice([3, 8, 25, 1000])
        blocks, lines = _rows_or_refusal(path, "utf-8", longest), _rows_or_refusal(path, "latin-1", longest)
        assert blocks == lines, (data, longest)
        ends.add(lines[1][1])
        if not any(b"longer than" in row for _, row in blocks[0]) and not blocks[1][1]:
            assert b"".join(row for _, row in blocks[0]) == data
    assert len(ends) == 2  # with an open quote, and without


def test_a_row_of_very_many_fields(tmp_path: Path) -> None:
    rows = [b"id,text\n", b"," * (3 << 20) + b"\n", b'"' + b'""' * (1 << 20) + b'\n",x\n', b"2,b\n"]
    path = write(tmp_path / "a.csv", b"".join(rows))
    assert [row for _, row in read_raw_rows(source(path, "csv"))] == rows


@pytest.mark.parametrize("delimiter", ["^", "]", "-", "\\", " ", "é", "→"])
def test_delimiters_that_mean_something_in_a_pattern(tmp_path: Path, delimiter: str) -> None:
    rows = [f"id{delimiter}text\n", f'1{delimiter}"a\n{delimiter}b"\n', f'"2"{delimiter}c" ""\n', f'{delimiter}"d"\n']
    given = source(write(tmp_path / "a.csv", "".join(rows).encode()), "csv")
    given.encoding, given.delimiter = "utf-8", delimiter
    assert [row.decode() for _, row in read_raw_rows(given)] == rows


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b"id,content\n1,a\n", None, "no column 'text' (the file has: id, content); name the right one with --text-field"),
        (b"text,text\na,b\n", None, "2 columns are called 'text'"),
        (b"id,text\n1,a\n2\n", 3, "1 fields, where the header has 2"),
        (b'id,text\n1,"a\nb"\n2,b,c\n', 4, "3 fields, where the header has 2"),
        (b'id,text\n1,"a"b\n', 2, "after the closing quote of field 2 comes 'b'"),
        (b'id,text\n1,"a\n2,b\n', 2, "a quoted field of this row is not closed"),
        ("id,text\n1,éàüöñ éàüöñ\n".encode() + b"2,\xe9\n", 3, "the row is not UTF-8"),
        (b"id,text\r1,a\r2,b\r", None, "its lines end with CR alone"),
        (b"\n", None, "has no header: its first line is empty"),
        (b"", None, "has no header: its first line is empty"),
        (b"\xef\xbb\xbf\r\n", None, "has no header: its first line is empty"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, data: bytes, number: int | None, reason: str) -> None:
    error = refusal(write(tmp_path / "a.csv", data))
    assert (error.number, reason in error.reason) == (number, True), error.reason


@pytest.mark.parametrize("data", [b'"a"b,text\n1,x\n', b'id,"text\n1,x\n', gzip.compress(csv(ROWS))[:-4] + b"xxxx"])
def test_a_table_without_a_header_is_rejected_as_a_whole(tmp_path: Path, data: bytes) -> None:
    paths = write(tmp_path / "a.csv", data), write(tmp_path / "b.txt", b"words")
    summary = dedup(tmp_path, *paths, "--on-error", "skip")
    assert [(item["path"], item["line"]) for item in summary["rejected"]] == [(paths[0], None)]
    assert [path.name for path in (tmp_path / "out" / "kept").iterdir()] == ["b.txt"]


def test_rejected_rows_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"id,text\n1,one\n2\n\n3,three\n")
    summary = dedup(tmp_path, path, "--on-error", "skip")
    assert [item["line"] for item in summary["rejected"]] == [3]
    assert (tmp_path / "out" / "kept" / "a.csv").read_bytes() == b"id,text\n1,one\n3,three\n"


def test_rows_before_an_open_quote_are_documents(tmp_path: Path) -> None:
    data = b'id,text\n1,one\n\n2,"two\nlines"\n3,"three\n4,four\n'
    path = write(tmp_path / "a.csv", data)
    with FileDocuments([path], on_error="skip") as documents:
        assert [text for batch in documents.batches() for text in batch] == ["one", "two\nlines"]
        assert [(documents.place(i)[1], documents.ids[i]) for i in range(2)] == [(2, "1"), (4, "2")]
        assert [rejected.number for rejected in documents.rejected] == [6]
        assert [text for batch in documents.batches() for text in batch] == ["one", "two\nlines"]
    dedup(tmp_path, path, "--on-error", "skip")
    assert (tmp_path / "out/kept/a.csv").read_bytes() == b'id,text\n1,one\n2,"two\nlines"\n'


def test_tables_annotated_ordered_and_on_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = write(tmp_path / "a.csv", csv(ROWS))
    summary = dedup(tmp_path, path, "--annotate", "--keep", "n:desc")
    assert summary["counts"]["kept"] == 3
    found, _ = read(tmp_path / "out" / "annotated" / "a.csv", text_field="ndcore_class")
    assert found == ["lexical", "identical", "kept", "kept", "kept"]
    assert read(tmp_path / "out" / "annotated" / "a.csv")[0] == TEXTS
    assert main(["dedup", path, "-o", "-", "-q"]) == 0
    out = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert out == [{**ROWS[i], "n": str(ROWS[i]["n"])} for i in KEPT]


def test_numbers_of_a_table_are_ordered_as_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"text,n\n" + b"".join(b"%s,%d\n" % (text(1).encode(), n) for n in (9, 10, 2)))
    dedup(tmp_path, path, "--keep", "n:desc")
    assert (tmp_path / "out" / "kept" / "a.csv").read_bytes().endswith(b",10\n")


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "iso2022_jp"])
def test_verdicts_that_an_encoding_lacks_are_written_in_utf8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    """Write the whole table in UTF-8, header and line ends too, and say so; a table whose encoding has all stays in it."""
    text, other = " ".join(f"word{i}" for i in range(20)), " ".join(f"other{i}" for i in range(20))
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "\u5317\u20ac\u010d", "text": text}))
    for name, content in (("b", text), ("c", other)):
        (tmp_path / f"{name}.csv").write_bytes(f"id,text\r\n{name},{content}\r\n".encode(encoding))
    given = [str(tmp_path / name) for name in ("a.jsonl", "b.csv", "c.csv")]
    assert main(["dedup", *given, "--encoding", encoding, "--annotate", "-o", str(tmp_path / "out")]) == 0
    assert f"annotated as utf-8, because {encoding} has no " in capsys.readouterr().err
    header, row = (tmp_path / "out" / "annotated" / "b.csv").read_bytes().decode().split("\r\n")[:2]
    assert header.startswith("id,text,ndcore_class,")
    assert row.startswith(f"b,{text},identical,\u5317\u20ac\u010d,")
    assert f"c,{other},kept,c," in (tmp_path / "out" / "annotated" / "c.csv").read_bytes().decode(encoding)


# U+0A01, U+0022, U+2200 and U+0A0A: bytes of LF and of quotes in other units than those two
ODD = "ਁ∀一∀ਊ\u0a00\u0100ĊĢ"
WIDE = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", [*WIDE, "cp1252"])
def test_rows_of_every_encoding(tmp_path: Path, encoding: str, end: str, mark: str) -> None:
    """Places, texts, rejected and kept rows are as in UTF-8, to the byte; the last row has no line end."""
    odd = ODD if encoding in WIDE else "à"
    mark = mark if encoding in WIDE else ""
    rows = [f'1,"{odd} one two three{end}{odd}, ""{odd}"" four"{end}', end, f"2,{odd} wrong,{odd}{end}",
            f'3,"{odd} one two three{end}{odd}, ""{odd}"" four"{end}', f"4,{odd} other words of this row{end}", f'5,"{odd}"']
    data = [row.encode(encoding) for row in (f"{mark}id,text{end}", *rows)]
    path = write(tmp_path / "a.csv", b"".join(data))
    form = TextForm(encoding)
    with FileDocuments([path], on_error="skip", form=form) as documents:
        texts = [text for batch in documents.batches() for text in batch]
        assert texts == [f'{odd} one two three{end}{odd}, "{odd}" four'] * 2 + [f"{odd} other words of this row", odd]
        assert documents.rejected == [Rejected(path, 5, "3 fields, where the header has 2")]
        assert [documents.place(i)[:2] for i in range(4)] == [(path, number) for number in (2, 6, 8, 9)]
    assert main(["dedup", path, "-o", str(tmp_path / "out"), "--on-error", "skip", "--encoding", encoding, "-q"]) == 0
    assert (tmp_path / "out/rejected/a.csv").read_bytes() == data[0] + data[3]
    assert (tmp_path / "out/kept/a.csv").read_bytes() == data[0] + data[1] + data[5] + data[6]


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("quoted", [False, True])
def test_a_row_of_every_encoding_that_is_too_long(tmp_path: Path, encoding: str, quoted: bool) -> None:
    """Quotes of a row that is passed over are counted where they are characters."""
    for odd in ("∀", ODD, "一∀∀"):
        long = '"' * quoted + odd * 40_000 + '\n' * quoted + odd + '"' * quoted
        path = write(tmp_path / "a.csv", f"id,text\n1,{long}\n2,good\n".encode(encoding))
        with FileDocuments([path], on_error="skip", form=TextForm(encoding)) as documents:
            for source in documents.sources:
                source.longest = 30_000
            assert [text for batch in documents.batches() for text in batch] == ["good"]
            assert documents.place(0)[:2] == (path, 3 + quoted)
            (rejected,) = documents.rejected
            assert (rejected.number, "is longer than 30,000 bytes" in rejected.reason) == (2, True)
