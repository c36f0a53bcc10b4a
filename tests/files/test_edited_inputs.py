"""``cleaned/`` in each format against a slow writer of plain Python: bytes of records and cells, values of columns."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordfiles import PACK, UNPACK

from ndcore.files.documents import FileDocuments
from ndcore.files.edited_inputs import write_edited
from ndcore.files.errors import DocumentError
from ndcore.files.jsonl_output import Edited
from ndcore.files.outputs import OutputDirectory
from ndcore.files.sources import TextForm
from ndcore.progress import Progress

LETTERS = ["a", "b ", "é", "在", "😀", '"', "\\", "/", "\n", "\t", "\x01", "\x7f", ",", ";", "\u2028", "x" * 50]


def quiet(*_: object) -> None:
    """Report nothing."""


REPORT: Progress = quiet


def words(rng: random.Random, least: int = 1) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randint(least, 12)))


def choose(rng: random.Random, count: int) -> tuple[list[bool], dict[int, str]]:
    """Draw what is kept, and the new texts of some documents: also of some that are not kept, as of empty ones."""
    return [rng.random() < 0.8 for _ in range(count)], {i: words(rng) for i in range(count) if rng.random() < 0.5}


def written(
    tmp_path: Path, inputs: list[Path], kept: list[bool], new: dict[int, Any], field: str = "text", **how: Any
) -> Path:
    """Write the inputs with new texts, and return the folder."""
    with FileDocuments([str(each) for each in inputs], text_field=field, **how) as documents:
        documents.scan()
        assert len(documents.ids) == len(kept)
        asked: list[int] = []

        def text(position: int) -> Any:
            asked.append(position)
            return new[position]

        edited = Edited(field, np.isin(np.arange(len(kept)), list(new)), text)
        with OutputDirectory(str(tmp_path / "out")) as output:
            write_edited(output, documents, np.array(kept, np.bool_), edited, REPORT)
            assert asked == sorted(i for i in new if kept[i])
            output.staging.commit()
    return tmp_path / "out"


# ---------------------------------------------------------------------------------------------- records of JSON


def spelled(rng: random.Random, text: str) -> str:
    """Spell a string of JSON in one of the ways that there are for each character."""
    def one(character: str) -> str:
        units = character.encode("utf-16-be")
        escaped = "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
        plain = json.dumps(character, ensure_ascii=False)[1:-1]
        return rng.choice([escaped, escaped.upper().replace("\\U", "\\u"), plain, "\\/" if character == "/" else plain])

    return '"' + "".join(map(one, text)) + '"'


def record(rng: random.Random, number: int, text: str) -> tuple[str, str, str]:
    """Make a record: what comes before its text, the text, and what comes after."""
    before = [f'"id" : {number}', '"text": "an earlier one, which does not count"', '"in": {"text": "in", "a.text": [1]}',
              '"n": 1.50', '"n": -0', '"\\u0074ex\\u0074s": null', f'"other":{spelled(rng, words(rng))}']
    behind = ['"x": 1e999', '"Text": "t"', '"list": ["text", {"text": "}"}]', '"\\"text": "\\\\"']
    some, more = rng.sample(before, rng.randint(0, 5)), rng.sample(behind, rng.randint(0, 3))
    name = rng.choice(['"text"', '"te\\u0078t"', '"text"'])
    return ("{" + rng.choice(["", " "]) + "".join(f"{each}, " for each in some) + name + rng.choice([":", " : ", ": "]),
            spelled(rng, text), "".join(f" , {each}" for each in more) + rng.choice(["}", " }"]))


def edited_record(pieces: tuple[str, str, str], new: str | None) -> str:
    """Put a new text between what comes before and after."""
    return pieces[0] + (pieces[1] if new is None else json.dumps(new, ensure_ascii=False)) + pieces[2]


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("seed", range(4))
def test_lines(tmp_path: Path, ending: str, seed: int) -> None:
    """Escapes, repeated and nested names, line ends, a byte order mark, blank and broken lines, files of equal names."""
    rng = random.Random(seed)
    kept, new = choose(rng, 120)
    records = [record(rng, i, words(rng)) for i in range(120)]
    ends = [rng.choice(["\n", "\r\n", " \n"]) for _ in records]
    mark, ends[119] = rng.choice(["", "\ufeff"]), rng.choice(["\n", ""])
    inputs, expected = [tmp_path / "a" / f"in.jsonl{ending}", tmp_path / "b" / f"in.jsonl{ending}"], ["", ""]
    for file, place in enumerate(inputs):
        body = mark
        for i in range(60 * file, 60 * file + 60):
            body += "".join(records[i]) + ends[i] + rng.choice(["", "", "", " \n", "{broken\n"] if ends[i] else [""])
            if kept[i]:
                expected[file] += mark * (i % 60 == 0) + edited_record(records[i], new.get(i)) + ends[i]
        place.parent.mkdir()
        place.write_bytes(PACK[ending](body.encode()))
    out = written(tmp_path, inputs, kept, new, on_error="skip")
    places = sorted((out / "cleaned").rglob("in*.jsonl*"))
    assert len(places) == 2 and not (out / "cleaned.jsonl").exists()
    assert [UNPACK[ending](place.read_bytes()).decode() for place in places] == expected


@pytest.mark.parametrize("array", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_elements(tmp_path: Path, array: bool, seed: int) -> None:
    """Arrays of JSON and objects one after another: the bytes between elements stay where both are kept."""
    rng = random.Random(seed)
    kept, new = choose(rng, 60)
    kept[0] = True
    records = [record(rng, i, words(rng)) for i in range(60)]
    between = [rng.choice([" ,\n", ",", ", "] if array else ["\n", " \n\n"]) for _ in records]
    opening, closing = ("\ufeff [\n", "\n]\n") if array else ("\n", "\n")
    records[0] = ("{\n" + records[0][0][1:], *records[0][1:])  # not JSON lines
    body = opening + "".join((between[i] if i else "") + "".join(each) for i, each in enumerate(records)) + closing
    (tmp_path / "in.json").write_text(body, encoding="utf-8", newline="")
    expected = opening + "".join((between[i] if i else "") + edited_record(records[i], new.get(i))
                                 for i in range(60) if kept[i]) + closing
    out = written(tmp_path, [tmp_path / "in.json"], kept, new)
    assert (out / "cleaned" / "in.json").read_bytes().decode() == expected


def test_a_field_of_an_object(tmp_path: Path) -> None:
    lines = ['{"data": {"text": "a", "n": 1.0}, "text": "b"}', '{"data": {"text": "c"}, "data.text": "d"}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    out = written(tmp_path, [tmp_path / "in.jsonl"], [True, True], {0: "x", 1: "y"}, field="data.text")
    assert (out / "cleaned" / "in.jsonl").read_text() == (
        '{"data": {"text": "x", "n": 1.0}, "text": "b"}\n{"data": {"text": "c"}, "data.text": "y"}')


# ---------------------------------------------------------------------------------------------- tables


def cell(text: str, delimiter: str, quoted: bool) -> str:
    needed = quoted or any(special in text for special in (delimiter, '"', "\r", "\n"))
    return '"' + text.replace('"', '""') + '"' if needed else text


def rows_of(data: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(data, newline=""), delimiter=delimiter)


@pytest.mark.parametrize(("ending", "delimiter"), [
    (".tsv", "\t"), *((ending, delimiter) for ending in (".csv", ".csv.gz", ".csv.zst") for delimiter in ",;")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("seed", range(2))
def test_tables(tmp_path: Path, ending: str, delimiter: str, encoding: str, seed: int) -> None:
    """Cells with and without quotes, line ends within and behind them, empty cells, blank rows, other columns."""
    rng = random.Random(seed)
    kept, new = choose(rng, 80)
    if encoding == "cp1252":
        new = {i: text.encode(encoding, "ignore").decode(encoding) or "-" for i, text in new.items()}
    end, mark = rng.choice(["\n", "\r\n"]), rng.choice(["", "\ufeff"]) if encoding == "utf-8" else ""
    header = mark + delimiter.join(["id", '"text"', "n"]) + end
    body = expected = header
    for i in range(80):
        text, other = (words(rng).encode(encoding, "ignore").decode(encoding) + "z" for _ in range(2))
        quotes = [rng.random() < 0.5 for _ in range(3)]
        cells = [cell(str(i), delimiter, quotes[0]), cell(text, delimiter, quotes[1]),
                 rng.choice(["", cell(other, delimiter, quotes[2])])]
        body += delimiter.join(cells) + end + rng.choice(["", "", end])
        if i in new:
            cells[1] = cell(new[i], delimiter, cells[1].startswith('"'))
        if kept[i]:
            expected += delimiter.join(cells) + end
            assert i not in new or next(rows_of(delimiter.join(cells), delimiter))[1] == new[i]
    name = f"in{ending}"
    packed = "." + ending.split(".")[2] if ending.count(".") > 1 else ""
    (tmp_path / name).write_bytes(PACK[packed](body.encode(encoding)))
    how = {} if encoding == "utf-8" else {"form": text_form(encoding)}
    out = written(tmp_path, [tmp_path / name], kept, new, **how)
    assert UNPACK[packed]((out / "cleaned" / name).read_bytes()).decode(encoding) == expected


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "iso2022_jp", "hz", "utf-7", "utf-16-be"])
def test_all_but_the_text_of_a_row_stays(tmp_path: Path, encoding: str) -> None:
    """In cp932 some characters have two codes. In UTF-7 the characters stay."""
    han = "\u5728" if encoding == "hz" else "\u5728\u3042"
    two = b"\xfaT\x87\x90" if encoding == "cp932" else b""
    cells = [f"{han}{han}".encode(encoding) + two, f'"{han},"'.encode(encoding), two + han.encode(encoding)]
    comma, end = ",".encode(encoding), "\r\n".encode(encoding)
    header = "before,text,behind\r\n".encode(encoding)
    (tmp_path / "in.csv").write_bytes(header + comma.join(cells) + end)
    out = written(tmp_path, [tmp_path / "in.csv"], [True], {0: f"new{han}"}, form=text_form(encoding))
    made = (out / "cleaned" / "in.csv").read_bytes()
    assert made.decode(encoding) == (
        f"before,text,behind\r\n{cells[0].decode(encoding)},\"new{han}\",{cells[2].decode(encoding)}\r\n")
    if encoding not in ("utf-7", "hz"):
        cells[1] = f'"new{han}"'.encode(encoding)
        assert made == header + comma.join(cells) + end


def test_a_text_that_the_encoding_of_its_table_lacks_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("id,text\n1,é\n\n2,ö\n".encode("cp1252"))
    with pytest.raises(DocumentError, match=r"in\.csv:4: cannot be written with its new text: cp1252 has no '在'; convert"):
        written(tmp_path, [tmp_path / "in.csv"], [True] * 2, {1: "a 在"}, form=text_form("cp1252"))


def text_form(encoding: str) -> Any:
    return TextForm(encoding, "")


# ---------------------------------------------------------------------------------------------- columns


def batches(kinds: dict[str, Any], texts: list[Any]) -> Any:
    pa = pytest.importorskip("pyarrow")
    n = len(texts)
    fields = [pa.field("id", pa.int32()), pa.field("text", kinds["text"], metadata={"of": "the text"}),
              pa.field("in", pa.struct([pa.field("a", pa.int8()), pa.field("text", kinds["inner"])])),
              pa.field("tags", pa.list_(pa.string())), pa.field("few", pa.dictionary(pa.int8(), pa.string()))]
    inner = [None if i % 7 == 3 else {"a": i % 100, "text": texts[i]} for i in range(n)]
    arrays = [pa.array(range(n), pa.int32()), pa.array(texts, kinds["text"]), pa.array(inner, fields[2].type),
              pa.array([[str(i % 3)] * (i % 4) for i in range(n)], fields[3].type),
              pa.array([str(i % 5) for i in range(n)]).dictionary_encode().cast(fields[4].type)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"made by": "a test"}))


def kind_of(name: str) -> Any:
    pa = pytest.importorskip("pyarrow")
    if name.startswith("dictionary"):
        return pa.dictionary(pa.int16(), pa.large_string() if name.endswith("large") else pa.string())
    if not hasattr(pa, name):
        pytest.skip(f"this pyarrow has no {name}")
    return getattr(pa, name)()


def write_file(table: Any, place: Path, form: str) -> Callable[[Path], tuple[Any, list[int]]]:
    """Write a table in pieces of 70 rows, and return a function that reads such a file, and the rows of its pieces."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        pq.write_table(table, place, row_group_size=70, compression="zstd")

        def read(path: Path) -> tuple[Any, list[int]]:
            file = pq.ParquetFile(path)
            return file.read(), [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]

        return read
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(str(place), table.schema) as writer:
        writer.write_table(table, 70)

    def read_batches(path: Path) -> tuple[Any, list[int]]:
        with pa.memory_map(str(path)) as source:
            reader = (pa.ipc.open_file if form == "file" else pa.ipc.open_stream)(source)
            some = [reader.get_batch(i) for i in range(reader.num_record_batches)] if form == "file" else list(reader)
            return pa.Table.from_batches(some, reader.schema), [len(batch) for batch in some]

    return read_batches


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "large_binary", "dictionary",
                                  "dictionary_large"])
@pytest.mark.parametrize("field", ["text", "in.text"])
def test_columns(tmp_path: Path, form: str, kind: str, field: str) -> None:
    """Types, schema, metadata, row groups and all other values stay; nulls make rejected rows."""
    rng = random.Random(3)
    of_bytes = "binary" in kind
    texts: list[Any] = [None if i % 11 == 5 else words(rng) for i in range(200)]
    texts = [text.encode() + b"\xff" if of_bytes and text is not None else text for text in texts]
    plain = form == "parquet" and kind.startswith(("dictionary", "string_view"))  # which pyarrow does not read in structs
    kinds = {"text": kind_of(kind), "inner": kind_of("string" if plain else kind)}
    place = tmp_path / f"in.{'parquet' if form == 'parquet' else 'arrow'}"
    table = batches(kinds, texts)
    read = write_file(table, place, form)
    before, _ = read(place)
    documents = [i for i in range(200) if texts[i] is not None and (field == "text" or i % 7 != 3)]
    kept, new = choose(rng, len(documents))
    given: dict[int, Any] = {i: text.encode() + b"\xfe" if of_bytes else text for i, text in new.items()}
    out = written(tmp_path, [place], kept, given, field, on_error="skip")
    after, sizes = read(out / "cleaned" / place.name)
    rows, expected = before.to_pylist(), []
    for position, row in enumerate(documents):
        if kept[position]:
            if position in given:
                (rows[row] if field == "text" else rows[row]["in"])["text"] = given[position]
            expected.append(rows[row])
    assert after.to_pylist() == expected
    after.validate(full=True)
    assert after.schema.equals(before.schema, check_metadata=True)
    left = np.bincount([row // 70 for at, row in enumerate(documents) if kept[at]])
    assert sizes == left.tolist()


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_two_columns_have_one_name(tmp_path: Path, form: str) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = [pa.array([1, 2, 3]), pa.array(["a", "b", "c"]), pa.array([True, False, None])]
    place = tmp_path / f"in.{'parquet' if form == 'parquet' else 'arrow'}"
    read = write_file(pa.Table.from_arrays(columns, ["twice", "text", "twice"]), place, form)
    out = written(tmp_path, [place], [True, False, True], {2: "new"})
    after, _ = read(out / "cleaned" / place.name)
    assert after.column_names == ["twice", "text", "twice"]
    assert [column.to_pylist() for column in after.columns] == [[1, 3], ["a", "new"], [True, None]]


def test_an_index_that_is_too_narrow_is_an_error(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": pa.array([f"t{i % 128}" for i in range(200)], pa.dictionary(pa.int8(), pa.string()))})
    place = tmp_path / "in.arrow"
    write_file(table, place, "stream")
    with pytest.raises(DocumentError, match=r"in\.arrow: its rows cannot be written again"):
        written(tmp_path, [place], [True] * 200, {i: f"new {i}" for i in range(200)})


# ---------------------------------------------------------------------------------------------- texts, and all others


@pytest.mark.parametrize(("encoding", "mark"), [
    ("utf-8", ""), ("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff"), ("utf-32-le", "\ufeff"),
    ("cp1252", ""), ("gb18030", ""),
])
def test_texts(tmp_path: Path, encoding: str, mark: str) -> None:
    """The encoding and a byte order mark stay; UTF-8 is read as bytes, with its mark."""
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_bytes(f"{mark}Wörter here, {name}\r\n".encode(encoding))
    how = {} if encoding.startswith("utf") else {"form": text_form(encoding)}
    new: Any = f"{mark}Wörter\r\n".encode() if encoding == "utf-8" else "Wörter\r\n"
    out = written(tmp_path, [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")], [True, True, False], {1: new, 2: new},
                  **how)
    assert {place.name: place.read_bytes() for place in (out / "cleaned").iterdir()} == {
        "a.txt": (tmp_path / "a.txt").read_bytes(), "b.txt": f"{mark}Wörter\r\n".encode(encoding)}


def test_pages_and_mail_become_lines_beside_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>One page</p>")
    (tmp_path / "b.jsonl").write_text('{"id": 1,"text": "old"}\n')
    (tmp_path / "c.eml").write_text("From: a@b.example\nDate: Mon, 1 Jan 2024 10:00:00 +0000\nSubject: s\n\nA letter\n")
    out = written(tmp_path, [tmp_path / name for name in ("a.html", "b.jsonl", "c.eml")], [True] * 3,
                  {0: "new page", 1: "new"})
    assert (out / "cleaned" / "b.jsonl").read_text() == '{"id": 1,"text": "new"}\n'
    lines = [json.loads(line) for line in (out / "cleaned.jsonl").read_bytes().splitlines()]
    assert [(line["id"][-6:], line["text"].split()[-2:]) for line in lines] == [
        ("a.html", ["new", "page"]), ("c.eml", ["A", "letter"])]


def test_the_fingerprint_of_a_dataset_tells_texts_apart(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    folder = tmp_path / "data"
    folder.mkdir()
    write_file(pa.table({"text": ["one", "two"]}), folder / "data-00000-of-00001.arrow", "stream")
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "abc", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    prints = []
    for i, new in enumerate(({}, {0: "x"}, {0: "y"}, {0: "x"})):
        (tmp_path / f"{i}").mkdir()
        out = written(tmp_path / f"{i}", [folder], [True, True], new)
        prints.append(json.loads((out / "cleaned" / "data" / "state.json").read_bytes())["_fingerprint"])
    assert prints[0] == "abc" and prints[1] == prints[3] and len({*prints}) == 3
