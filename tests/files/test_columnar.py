"""Arrow files and streams, and datasets saved to disk: read, kept, and refused where they are damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from recordfiles import KEPT, ROWS, TEXTS, dedup, read, refusal, source, write

from ndcore.cli.main import main
from ndcore.files import columnar
from ndcore.files.arrow import ArrowFile
from ndcore.files.blocks import Block, PackedIds
from ndcore.files.columnar import open_file, rewrite
from ndcore.files.document_fields import GroupingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.records import Fields


def write_arrow(path: Path, form: str, codec: str | None = None, rows: list[dict[str, Any]] = ROWS) -> str:
    pa = pytest.importorskip("pyarrow")
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"made by": "a test"})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(str(path), table.schema, options=options) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write_batch(batch)
    return str(path)


FORMS = [("a.arrow", "file"), ("a.feather", "file"), ("a.arrow", "stream"), ("a", "stream")]


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_arrow_is_read_and_kept(tmp_path: Path, name: str, form: str, codec: str | None) -> None:
    pa = pytest.importorskip("pyarrow")
    path = write_arrow(tmp_path / name, form, codec)
    assert read(path) == (TEXTS, [row["id"] for row in ROWS])
    assert dedup(tmp_path, path)["counts"]["kept"] == 3
    kept = tmp_path / "out" / "kept" / name
    opened = (pa.ipc.open_file if form == "file" else pa.ipc.open_stream)(pa.memory_map(str(kept)))
    table = opened.read_all()
    assert table.to_pylist() == [ROWS[i] for i in KEPT]
    assert table.schema.metadata == {b"made by": b"a test"}
    with ArrowFile(source(kept, "arrow")) as file:
        assert file._find_codec() == codec


def test_arrow_that_is_damaged_forged_or_old(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = Path(write_arrow(tmp_path / "a.arrow", "stream"))
    data = path.read_bytes()
    for cut in (20, 200, len(data) // 2, len(data) - 20):
        path.write_bytes(data[:cut])
        assert "Arrow file" in refusal(path).reason
    strings = pa.array(["ab", "cd"])
    offsets = pa.py_buffer(b"\0\0\0\0\xff\xff\xff\x7f\4\0\0\0")
    forged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, strings.buffers()[2]])
    batch = pa.record_batch([forged], ["text"])
    with pa.ipc.new_stream(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    assert "damaged Arrow file" in refusal(path).reason
    path.write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    assert "Feather of version 1" in refusal(path).reason
    packed = write(tmp_path / "b.arrow.gz", gzip.compress(data))
    assert "Arrow data in a gzip file; decompress it first" in refusal(packed).reason


def test_arrow_with_changed_bytes_is_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    random = Random(7)
    originals = [Path(write_arrow(tmp_path / "o", form, codec)).read_bytes() for form, codec in (
        ("file", None), ("stream", None), ("stream", "lz4"))]
    refused = 0
    for _ in range(150):
        data = bytearray(random.choice(originals))
        for _ in range(random.choice([1, 2, 8])):
            data[random.randrange(len(data))] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        path = tmp_path / "a.arrow"
        path.write_bytes(data)
        (tmp_path / "kept").unlink(missing_ok=True)
        try:
            with FileDocuments([str(path)], on_error="skip") as documents:
                documents.scan()
                rewrite(documents.sources[0], tmp_path / "kept", np.arange(100) % 2 == 0, None)
        except DocumentError:
            refused += 1
    assert 0 < refused < 150


def test_a_dataset_saved_to_disk(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "ds"
    for split in ("train", "test"):
        write_arrow(folder / split / "data-00000-of-00001.arrow", "stream")
        files = [{"filename": "data-00000-of-00001.arrow"}]
        state = {"_data_files": files, "_fingerprint": "0123456789abcdef", "_split": split}
        write(folder / split / "state.json", json.dumps(state).encode())
        write(folder / split / "dataset_info.json", b'{"features": {}}')
    write(folder / "dataset_dict.json", b'{"splits": ["train", "test"]}')
    summary = dedup(tmp_path, folder)
    assert (summary["counts"]["read"], summary["counts"]["kept"]) == (10, 3)
    assert {item["kind"] for item in summary["ignored"]} == {"description of a dataset"}
    kept = tmp_path / "out" / "kept" / "ds"
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*.*")) == sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert (kept / "dataset_dict.json").read_bytes() == (folder / "dataset_dict.json").read_bytes()
    state = json.loads((kept / "train" / "state.json").read_bytes())
    assert (state["_split"], len(state["_fingerprint"])) == ("train", 16)
    assert state["_fingerprint"] != "0123456789abcdef"


@pytest.mark.parametrize("name", ["in.parquet", "in.arrow"])
@pytest.mark.parametrize("form", ["string_view", "binary_view"])
def test_columns_of_views_are_kept(tmp_path: Path, name: str, form: str) -> None:
    """PyArrow does not take rows of such columns."""
    pa = pytest.importorskip("pyarrow")
    texts = ["one text of six words here", "one text of six words here", "", "another text with other words in it"]
    column = pa.array([text.encode() if form == "binary_view" else text for text in texts], getattr(pa, form)())
    table = pa.table({"id": pa.array([1, 2, 3, 4]), "text": column})
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(str(tmp_path / name), table.schema) as writer:
            writer.write_table(table)
    for kept in ([1, 3, 4], [2, 3], [], [1, 2, 3, 4]):
        target = tmp_path / f"{len(kept)}.{name}"
        rewrite(source(tmp_path / name, name[3:]), target, np.isin(np.arange(5), kept), None)
        if name.endswith("parquet"):
            found = pytest.importorskip("pyarrow.parquet").read_table(target)
        else:
            found = pa.ipc.open_file(str(target)).read_all()
        assert found["id"].to_pylist() == kept
        assert [text.decode() if isinstance(text, bytes) else text for text in found["text"].to_pylist()] == [
            texts[number - 1] for number in kept]


@pytest.mark.parametrize("form", ["file", "stream"])
def test_progress_within_a_batch_goes_on_from_the_one_before(tmp_path: Path, form: str) -> None:
    """Read three equal batches row by row: before row i of n, about i / n of the file are read."""
    pa = pytest.importorskip("pyarrow")
    path, rows, size = tmp_path / "a.arrow", 1000, 1000
    table = pa.table({"text": [f"{i:0{size}}" for i in range(3 * rows)]})
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    it = source(path, "arrow")
    reached = [it.seen for _ in columnar.read_rows(it, Fields(), in_blocks=False)]
    assert len(reached) == 3 * rows
    assert (abs(reached - np.arange(3 * rows) / (3 * rows) * path.stat().st_size) < 100 * size).all()


def damaged(path: Path, form: str) -> list[str]:
    """Write 300 rows in three groups or batches, of which the third is damaged and row 5 has no text; return the texts."""
    import pyarrow as pa

    rng = Random(1)
    texts = [" ".join(f"{rng.getrandbits(40):x}" for _ in range(40)) for _ in range(300)]
    ids, column = [f"d{i}" for i in range(300)], [*texts[:4], None, *texts[5:]]
    table = pa.table({"id": ids, "text": column})
    if form == "parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(table, path, row_group_size=100, use_dictionary=False, compression="zstd")
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(str(path), table.schema, options=options) as writer:
            for batch in table.to_batches(max_chunksize=100):
                writer.write_batch(batch)
    before, magic, after = path.read_bytes().rpartition(b"\x28\xb5\x2f\xfd")  # of the last frame of zstd
    path.write_bytes(before + bytes(len(magic)) + after)
    return [text for i, text in enumerate(texts[:200]) if i != 4]


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_rows_before_damage_are_kept(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], form: str) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{'parquet' if form == 'parquet' else 'arrow'}"
    kind, texts = path.suffix[1:], damaged(path, form)

    def rows(name: str, output: str = "out") -> list[dict[str, Any]]:
        (file,) = (tmp_path / output / name).iterdir()
        with open_file(source(file, kind)) as opened:
            return [row for _, batch in opened.batches() for row in batch.to_pylist()]

    skip = ("--on-error", "skip", "-q")
    assert main(["dedup", str(path), "-o", str(tmp_path / "out"), *skip]) == 0
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [(item["line"], item["saved_in"]) for item in account["rejected"]] == [(5, f"rejected/{path.name}"), (201, None)]
    assert "this row and what follows cannot be read" in account["rejected"][1]["reason"]
    assert account["counts"]["kept"] == 199 == len(rows("kept"))
    assert [row["text"] for row in rows("kept")] == texts
    assert [row["id"] for row in rows("rejected")] == ["d4"]
    assert main(["repeats", str(path), "-o", str(tmp_path / "unrepeated"), *skip]) == 0
    assert [row["text"] for row in rows("cleaned", "unrepeated")] == texts
    for more in ((), ("--annotate",)):
        capfdbinary.readouterr()
        assert main(["dedup", str(path), "-o", "-", *more, *skip]) == 0
        assert [json.loads(line)["text"] for line in capfdbinary.readouterr().out.splitlines()] == texts
    again = FileDocuments([str(path)], on_error="skip")
    assert [text for batch in again.batches() for text in batch] == texts
    assert [text for batch in again.batches() for text in batch] == texts


STRINGS = [f"d{i}é" if i % 7 else "" for i in range(40)]


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_ids_of_a_part_of_a_batch(kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    part = pa.record_batch({"id": pa.array(STRINGS, getattr(pa, kind)())}).slice(2, 30)
    packed = columnar._get_ids(part, "id")
    assert isinstance(packed, PackedIds) and packed.tolist() == STRINGS[2:32]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary", "int8", "uint64"])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_ids_lie_in_their_column(tmp_path: Path, form: str, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    ids = [2**64 - 1 - i for i in range(40)] if kind == "uint64" else [-i for i in range(40)] if kind == "int8" else STRINGS
    column = pa.array(ids).dictionary_encode() if kind == "dictionary" else pa.array(ids, getattr(pa, kind)())
    table = pa.table({"id": column, "text": STRINGS, "group": [None if i % 5 == 0 else i % 2 for i in range(40)]})
    path = tmp_path / f"a.{form}"
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, row_group_size=17)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            for batch in table.to_batches(max_chunksize=13):
                writer.write_batch(batch)
    fields = Fields(("text",), "id", False)
    with open_file(source(path, form)) as file:
        given = {type(columnar._get_ids(batch, "id")) for _, batch in file.batches()}
    assert given == {list if kind == "string_view" else PackedIds}
    blocks = [item for item in columnar.read_rows(source(path, form), fields) if isinstance(item, Block)]
    assert [ident for block in blocks for ident in block.list_ids()] == ids
    with FileDocuments([str(path)], by=GroupingField("group"), on_error="skip") as documents:
        documents.scan()
        assert list(documents.ids) == [ident for i, ident in enumerate(ids) if i % 5]
        assert [item.number for item in documents.rejected] == list(range(1, 41, 5))
