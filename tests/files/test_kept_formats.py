"""``kept/`` in each format against a slow writer of plain Python: order, bytes, fields, and what a file has besides."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run, tree

import ndcore as nd
from ndcore.files.documents import FileDocuments


def texts(count: int) -> list[str]:
    rng = random.Random(9)
    words = [f"w{rng.getrandbits(30):x}é" for _ in range(400)]
    made: list[str] = []
    for i in range(count):
        made.append(rng.choice(made) if i % 3 == 2 else " ".join(rng.choices(words, k=40)))
    return made


TEXTS = texts(600)
FIRST = [i for i, text in enumerate(TEXTS) if TEXTS.index(text) == i]  # what is kept
EXTRA = ["null", '{"a": [1.50, "x"]}', '"\\u00e9"', "-0"]


def zstd(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").compress(data)
    return packed


def unzstd(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(data))


PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "": (bytes, bytes), ".gz": (gzip.compress, gzip.decompress), ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress), ".zst": (zstd, unzstd),
}


@pytest.mark.parametrize("ending", PACKED)
def test_lines(tmp_path: Path, ending: str) -> None:
    """Blank and rejected lines, other line ends, and a last line without one."""
    pack, unpack = PACKED[ending]
    lines = [b'{"x":%s , "text": %s}%s' % (EXTRA[i % 4].encode(), json.dumps(text).encode(), (b"\n", b"\r\n")[i % 2])
             for i, text in enumerate(TEXTS)]
    lines[-1] = lines[-1].rstrip()
    whole = b"".join(line + (b"\n  \n", b"{broken\n", b"", b"")[i % 4] for i, line in enumerate(lines[:-1])) + lines[-1]
    (tmp_path / f"a.jsonl{ending}").write_bytes(pack(whole))
    for threads in (1, 2):
        out = tmp_path / f"out{threads}"
        assert run("dedup", tmp_path / f"a.jsonl{ending}", "-o", out, "-q", "--on-error", "skip", "--threads", threads) == 0
        kept = unpack((out / "kept" / f"a.jsonl{ending}").read_bytes())
        assert kept == b"".join(lines[i] for i in FIRST)
    assert tree(tmp_path / "out1")[f"kept/a.jsonl{ending}"] == tree(tmp_path / "out2")[f"kept/a.jsonl{ending}"]


def test_files_are_copied(tmp_path: Path) -> None:
    """Short files, and long ones that the file system may copy."""
    folder = tmp_path / "in"
    for i, text in enumerate(TEXTS[:60]):
        place = folder / str(i % 7) / f"{i}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        long = " ".join(f"{i}x{j}" for j in range(20_000))
        place.write_bytes((long if i % 20 == 0 else text).encode() + b"\r\n")
    files = {str(place.relative_to(tmp_path)): place.read_bytes() for place in folder.rglob("*.txt")}
    ordered = sorted(files)
    first = {files[name]: name for name in reversed(ordered)}
    assert run("dedup", folder, "-o", tmp_path / "out", "-q") == 0
    kept = {name.removeprefix("kept/"): data for name, data in tree(tmp_path / "out").items() if name.startswith("kept/")}
    assert kept == {name: data for data, name in first.items()}


ROWS = [{"id": i, "text": text, "n": None if i % 5 == 0 else i / 7, "tags": [str(i % 3)] * (i % 4),
         "in": {"a": i, "b": "é" * (i % 3)}, "raw": bytes([i % 256]) * (i % 6)} for i, text in enumerate(TEXTS)]


def table() -> Any:
    pa = pytest.importorskip("pyarrow")
    made = pa.Table.from_pylist(ROWS)
    return made.replace_schema_metadata({"made by": "a test", "pandas": "{}"})


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", {"text": "zstd", "id": "none", "n": "snappy"}])
@pytest.mark.parametrize("dictionaries", [True, False, ["text"]])
def test_rows_of_parquet(tmp_path: Path, codec: object, dictionaries: object) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(table(), tmp_path / "a.parquet", compression=codec, use_dictionary=dictionaries, row_group_size=128)
    assert run("dedup", tmp_path / "a.parquet", "-o", tmp_path / "out", "-q") == 0
    before, after = (pq.ParquetFile(place) for place in (tmp_path / "a.parquet", tmp_path / "out" / "kept" / "a.parquet"))
    assert after.read().to_pylist() == [ROWS[i] for i in FIRST]
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    groups = np.bincount(np.array(FIRST) // 128).tolist()
    assert [after.metadata.row_group(i).num_rows for i in range(after.num_row_groups)] == groups
    for i in range(before.metadata.num_columns):
        old, new = (each.metadata.row_group(0).column(i) for each in (before, after))
        assert (old.path_in_schema, old.compression) == (new.path_in_schema, new.compression)
        assert old.has_dictionary_page == new.has_dictionary_page


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "string_view", "dictionary"])
@pytest.mark.parametrize("spoilt", [False, True])
def test_blocks_and_records_of_columns_are_the_same(tmp_path: Path, name: str, kind: str, spoilt: bool) -> None:
    """Rows that are read together and one by one: texts, ids, places, what is rejected, and what is read again."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    form = pa.dictionary(pa.int32(), pa.string()) if kind == "dictionary" else getattr(pa, kind)()
    values: list[Any] = [text.encode() for text in TEXTS] if kind == "binary" else [*TEXTS]
    idents: list[Any] = [None if spoilt and i == 301 else f"d{i}" for i in range(600)]
    if spoilt:
        values[100] = None
    columns = pa.table({"id": idents, "text": pa.array(values, pa.string() if kind == "dictionary" else form).cast(form)})
    path = tmp_path / name
    if name == "a.parquet":
        pq.write_table(columns, path, row_group_size=100)
    else:
        with pa.ipc.new_file(str(path), columns.schema) as writer:
            writer.write_table(columns, max_chunksize=100)
    wanted = np.zeros(600 - 2 * spoilt, np.bool_)
    wanted[[3, 250, 251, 597]] = True
    read = []
    for fast in (True, False):
        with FileDocuments([str(path)], fast=fast, on_error="skip") as documents:
            every = [text for batch in documents.batches() for text in batch]
            again = [text for batch in documents.batches() for text in batch]
            some = [(int(at), text) for positions, batch in documents.selected(wanted)
                    for at, text in zip(positions, batch, strict=True)]
            places = [documents.place(i) for i in range(len(documents))]
            read.append((every, again, some, list(documents.ids), places, documents.rejected))
    assert read[0] == read[1]
    whole = [text for i, text in enumerate(values) if not spoilt or i not in (100, 301)]
    assert read[0][0] == read[0][1] == whole
    assert read[0][2] == [(i, whole[i]) for i in (3, 250, 251, 597)]
    assert len(read[0][5]) == 2 * spoilt


@pytest.mark.parametrize("ids", ["integers", "none"])
def test_ids_of_rows(tmp_path: Path, ids: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"text": TEXTS, **({"id": pa.array(range(2**64 - 600, 2**64), pa.uint64())} if ids == "integers" else {})}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with FileDocuments([str(tmp_path / "a.parquet")]) as documents:
        assert len(documents) == 600
        made = [f"a.parquet:{i}" for i in range(1, 601)]
        assert list(documents.ids) == ([*range(2**64 - 600, 2**64)] if ids == "integers" else made)


def test_a_row_group_without_a_wanted_row_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from ndcore.files.parquet import ParquetFile

    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "a.parquet", row_group_size=100)
    groups: list[int] = []
    plain = ParquetFile._read_group

    def noted(self: ParquetFile, index: int, columns: list[str] | None = None) -> Any:
        groups.append(index)
        return plain(self, index, columns)

    monkeypatch.setattr(ParquetFile, "_read_group", noted)
    with FileDocuments([str(tmp_path / "a.parquet")]) as documents:
        documents.scan()
        groups.clear()
        wanted = np.isin(np.arange(600), [150, 470])
        assert [text for _, batch in documents.selected(wanted) for text in batch] == [TEXTS[150], TEXTS[470]]
    assert groups == [1, 4]


def test_texts_of_columns_have_the_verdicts_of_a_list(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "a.parquet")
    with FileDocuments([str(tmp_path / "a.parquet")]) as documents:
        assert nd.near_duplicates(documents).labels.tolist() == nd.near_duplicates(TEXTS).labels.tolist()
