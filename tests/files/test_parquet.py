"""Pages of Parquet files: their headers are read as pyarrow reads them, and few rows at a time share a long string."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ndcore.files.arrow import refuse_bomb
from ndcore.files.columnar import open_file
from ndcore.files.discovery import find
from ndcore.files.errors import DocumentError
from ndcore.files.parquet import ParquetPage, read_page_headers

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WORDS = "word " * (1 << 18)  # 1.25 MiB
PAGE = b"\x15\0\x15\xc8\1\x15\x14"  # data, of 100 bytes, of 10 in the file
REST = b"\x2c\x15\2\x15\0\x15\6\x15\6\0\0"  # the header of a data page, end
FOUND = [ParquetPage(10, 100, False, False, True)]


def rows_at_once(path: Path, columns: list[str] | None = None) -> list[int]:
    """Return the rows of each batch of a file whose rows all have WORDS."""
    with open_file(find([str(path)]).sources[0]) as file:
        sizes = []
        for _, batch in file.batches(columns):
            assert {str(text) for text in batch[batch.num_columns - 1].cast("string").unique()} == {WORDS}
            sizes.append(len(batch))
        return sizes


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_all_pages_are_met(tmp_path: Path, codec: str, version: str) -> None:
    table = pa.table({"a": range(5000), "b": [f"text {i}" for i in range(5000)], "c": [["x", str(i)] for i in range(5000)],
                      "d": [i % 7 for i in range(5000)]})
    pq.write_table(table, tmp_path / "a.parquet", compression=codec, data_page_version=version, data_page_size=2000,
                   write_batch_size=100, use_dictionary=["c.list.element", "d"], column_encoding={"b": "DELTA_BYTE_ARRAY"})
    group = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0)
    with (tmp_path / "a.parquet").open("rb") as file:
        for i in range(4):
            column = group.column(i)
            start = column.dictionary_page_offset if i > 1 else column.data_page_offset
            met = list(read_page_headers(file, start, start + column.total_compressed_size))
            headers = column.total_compressed_size - sum(page.stored for page in met)
            assert sum(page.expanded for page in met) + headers == column.total_uncompressed_size
            assert [page.is_dictionary for page in met] == [number == 0 and i > 1 for number in range(len(met))]
            assert {page.is_delta for page in met} == {i == 1} and len(met) > (1 if i > 1 else 4)
            assert {page.is_plain for page in met} == {i == 0}


@pytest.mark.parametrize(("header", "expected"), [
    (PAGE + REST, FOUND),
    (b"\x05\2\0\x05\4\xc8\1\x05\6\x14" + b"\x0c\x0a\x15\2\x15\0\x15\6\x15\6\0\0", FOUND),  # numbers written out
    (PAGE + b"\x25\2" + REST.replace(b"\x2c", b"\x0c\x0a", 1), FOUND),  # a checksum
    (b"\x15\0\x15\2\x05\4\xc8\1\x15\x14" + REST, FOUND),  # the last of two sizes counts
    (b"\x15\0\x15\2\x05\x84\x80\x08\xc8\1\x15\x14" + REST, FOUND),  # 65,538 is 2 in 16 bits
    (b"\x15\0\x15\xc8\x81\x80\x80\x80\x80\x80\x80\x80\0\x15\x14" + REST, FOUND),  # a number in ten bytes
    (PAGE + b"\xd9\x35\2\2\2\x1a\x28\1a\0\x1b\1\x58\2\1a" + b"\x12\x14\0\x17abcdefgh\x13a\x1dabcdefghijklmnop\0",
     [ParquetPage(10, 100, False, False)]),
    (PAGE + b"\x2c\x15\2\x15\x0e\0\0", [ParquetPage(10, 100, False, True)]),
    (PAGE + b"\x5c\x15\2\x35\x0e\0\0", [ParquetPage(10, 100, False, True)]),
    (b"\x15\4" + PAGE[2:] + b"\x4c\x15\2\x15\0\0\0", [ParquetPage(10, 100, True, False)]),
    (PAGE, []), (PAGE + b"\x1e\0", []), (PAGE + b"\x18\xff\xff\xff\xff\x0f", []), (PAGE[:2] + b"\0", []),
    (b"\x15\0\x15\xc8\1\x15\x13\0", []), (b"\x15\0\x15\xc7\1\x15\x14\0", []), (PAGE + b"\x1c" * 100_000, []),
    (PAGE + b"\x19\x19" * 100_000, []), (PAGE + b"\x19\xf7\xff\xff\xff\xff\x0f", []), (b"\x15" + b"\xff" * 20, []),
])
def test_headers_in_every_form_of_thrift(header: bytes, expected: list[ParquetPage]) -> None:
    data = b"PAR1" + header
    assert list(read_page_headers(io.BytesIO(data), 4, len(data))) == expected
    assert list(read_page_headers(io.BytesIO(data), -1, len(data))) == []


@pytest.mark.parametrize("kind", ["string", "binary", "large_string", "large_binary", "string_view", "binary_view"])
@pytest.mark.parametrize("how", ["dictionary", "delta", "struct", "fixed"])
def test_rows_that_share_a_long_string_are_read_few_at_a_time(tmp_path: Path, kind: str, how: str) -> None:
    path, form = tmp_path / "a.parquet", getattr(pa, kind)()
    column = pa.array([WORDS.encode() if "binary" in kind else WORDS] * 120, form)
    options: dict[str, Any] = {"dictionary_pagesize_limit": 4 << 20}
    if how == "delta":
        options = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    elif how == "fixed":
        column = pa.array([WORDS.encode()] * 120, pa.binary(len(WORDS)))
    table = pa.table({"text": column})
    if how == "struct":
        table = pa.table({"a": pa.StructArray.from_arrays([column], ["text"])})
    pq.write_table(table, path, **options)
    assert path.stat().st_size < 300_000
    with open_file(find([str(path)]).sources[0]) as file:
        sizes = [len(batch) for _, batch in file.batches()]
    assert (sum(sizes), max(sizes) <= 51) == (120, True)


def test_a_dictionary_that_was_given_up_is_not_gathered_again(tmp_path: Path) -> None:
    """A long string in the first page makes batches smaller; as dictionary indices the strings of all rows would stay."""
    path, texts = tmp_path / "a.parquet", [f"{i:06} {'words ' * (4000 if i == 9 else 100)}" for i in range(60_000)]
    pq.write_table(pa.table({"text": texts}), path)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).has_dictionary_page
    with open_file(find([str(path)]).sources[0]) as file:
        before, most, read = pa.total_allocated_bytes(), 0, list[str]()
        for _, batch in file.batches():
            most = max(most, pa.total_allocated_bytes() - before)
            read += batch[0].to_pylist()
            assert len(batch) * len(texts[9]) <= 64 << 20
    assert read == texts and most < 24 << 20  # of 36 MB


def test_a_dictionary_that_the_footer_denies(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [WORDS] * 120}), path, dictionary_pagesize_limit=4 << 20)
    encodings = b"\x19\x35\0\6\x10"  # PLAIN, RLE, RLE_DICTIONARY
    data = path.read_bytes()
    assert data.count(encodings) == 1
    path.write_bytes(data.replace(encodings, encodings[:-1] + b"\0"))
    sizes = rows_at_once(path, ["text"])
    assert (sum(sizes), max(sizes) <= 51) == (120, True)


def test_a_page_that_grows(tmp_path: Path) -> None:
    """The bound holds for each page, and for all of a column together; other files are read."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a" * 1000] * 50_000}), path, compression="zstd", use_dictionary=False)
    for longest, what in ((1 << 19, "page 1 of the column 'text'"), (5 << 20, "the column 'text'"), (64 << 20, "")):
        source = find([str(path)]).sources[0]
        source.longest = longest
        with open_file(source) as file:
            if not what:
                assert sum(len(batch) for _, batch in file.batches()) == 50_000
                continue
            with pytest.raises(DocumentError, match=f"a.parquet: {what} of row group 1 has .* and grows to"):
                list(file.batches())


def test_a_column_chunk_is_not_held_as_a_whole(tmp_path: Path) -> None:
    texts = pa.array([bytes([65 + i % 26]) * 4096 for i in range(12_000)])  # 48 MB in one row group
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", use_dictionary=False, compression="none")
    before = pa.total_allocated_bytes()
    with open_file(find([str(tmp_path / "a.parquet")]).sources[0]) as file:
        _, batch = next(file.batches())
        assert batch.nbytes < 9 << 20 and pa.total_allocated_bytes() - before < 24 << 20


def test_data_that_grow_to_the_longest_record_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").touch()
    source = find([str(tmp_path / "a.parquet")]).sources[0]
    source.longest = 1000
    for stored, expanded in ((1, 1000), (11, 1001), (100, 10_000)):  # no longer than a record, or at most hundredfold
        refuse_bomb(source, "it", stored, expanded)
    with pytest.raises(DocumentError, match=r"it has 10 bytes and grows to 1,001"):
        refuse_bomb(source, "it", 10, 1001)
