"""Files of fingerprints: every format gives the same numbers and ids; the rest is refused by name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore.files import fingerprint_files
from ndcore.files.errors import UsageError
from ndcore.files.fingerprint_files import FingerprintColumns, is_saved, load_fingerprints, parse_fingerprint, read_pieces

VALUES = [0, 1, 2**64 - 1, 0xDEADBEEF, 1 << 63, 1]  # one of them twice
WIDE = [[1, 2], [2**64 - 1, 0]]  # of 128 bits, the most significant word first
BY_POSITION = FingerprintColumns()


def write(path: Path, values: list[int]) -> str:
    """Write fingerprints in the format that the suffix names."""
    if path.suffix == ".npy":
        np.save(path, np.array(values, np.uint64))
    elif path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {"id": [f"d{i}" for i in range(len(values))], "code": pa.array(values, pa.uint64())}
        parquet.write_table(pa.table(columns), path, row_group_size=2)
    elif path.suffix == ".bin":
        path.write_bytes(b"".join(value.to_bytes(8, "little") for value in values))
    else:
        separator = {".tsv": "\t", ".csv": ","}.get(path.suffix, "  ")
        rows = [f"d{i}{separator}{value if i % 2 else hex(value)}\n" for i, value in enumerate(values)]
        path.write_text("\n".join(rows))  # with empty lines between
    return str(path)


@pytest.mark.parametrize(("name", "column"), [
    ("a.npy", BY_POSITION), ("a.bin", BY_POSITION), ("a.parquet", FingerprintColumns(fingerprint="code", id="id")),
    ("a.tsv", FingerprintColumns(fingerprint="2", id="1")), ("a.csv", FingerprintColumns(fingerprint="2", id="1")),
    ("a.txt", FingerprintColumns(fingerprint="2", id="1")),
])
def test_every_format_gives_the_same(tmp_path, monkeypatch, name, column):
    path = write(tmp_path / name, VALUES)
    read = load_fingerprints(path, column)
    assert read.fingerprints.dtype == np.uint64 and read.fingerprints.tolist() == VALUES and read.recipe is None
    assert read.ids == (None if column.id is None else [f"d{i}" for i in range(len(VALUES))])
    monkeypatch.setattr(fingerprint_files, "ROWS", 2)
    pieces = list(read_pieces(path, column))
    assert np.concatenate(pieces).tolist() == VALUES and len(pieces) == (3 if name == "a.parquet" else 1)


def test_fingerprints_of_128_bits(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = [high << 64 | low for high, low in WIDE]
    (tmp_path / "a.bin").write_bytes(b"".join(word.to_bytes(8, "little") for words in WIDE for word in words))
    np.save(tmp_path / "a.npy", np.array(WIDE, np.uint64))
    (tmp_path / "a.txt").write_text("".join(f"{number:#x}\n" for number in numbers))
    codes = pa.array([number.to_bytes(16, "big") for number in numbers], pa.binary(16))
    parquet.write_table(pa.table({"code": codes}), tmp_path / "a.parquet")
    for suffix in ("bin", "npy", "txt", "parquet"):
        assert load_fingerprints(str(tmp_path / f"a.{suffix}"), BY_POSITION, 128).fingerprints.tolist() == WIDE
    with pytest.raises(UsageError, match=r"a\.npy holds fingerprints of 128 bits; asked are 64"):
        load_fingerprints(str(tmp_path / "a.npy"), BY_POSITION, 64)
    with pytest.raises(UsageError, match=r"a\.parquet holds fingerprints of 128 bits; asked are 256"):
        list(read_pieces(str(tmp_path / "a.parquet"), BY_POSITION, 256))


def test_saved_simhashes_are_those_of_documents_with_shingles(tmp_path):
    texts = ["a rose is a rose is a rose", "", "something else that is as long"]
    sketches, path = nd.SimHasher().sketch_many(texts), tmp_path / "s.nds"
    sketches.save(path)
    read = load_fingerprints(str(path), BY_POSITION)
    assert read.ids == [0, 2] and read.recipe == sketches.recipe
    assert read.fingerprints.tolist() == sketches.values[[0, 2]].tolist()
    assert is_saved(str(path), "sketches") and not is_saved(str(path)) and not is_saved("-")
    nd.MinHasher().sketch_many(texts).save(tmp_path / "m.nds")
    with pytest.raises(UsageError, match="holds minhash sketches; fingerprints are made by ndcore sketch --kind simhash"):
        load_fingerprints(str(tmp_path / "m.nds"), BY_POSITION)


@pytest.mark.parametrize(("number", "kind", "bits", "value"), [
    ("17", "text", None, 17), ("0x1f", "text", None, 31), (" 0X1F ", "text", None, 31), ("1f", "hex", None, 31),
    ("0x1f", "hex", None, 31), ("17", "decimal", 64, 17), (str(2**64 - 1), "decimal", None, 2**64 - 1),
    (hex(2**127), "text", 128, 2**127),
])
def test_numbers(number, kind, bits, value):
    assert parse_fingerprint(number, kind, bits) == value


@pytest.mark.parametrize(("number", "kind", "message"), [
    (str(2**64), "text", r"'18446744073709551616' is not a decimal number below 2\^64; write hexadecimal ones with 0x"),
    ("1f", "text", "not a decimal number"), ("1_000", "decimal", "not a decimal number"), ("-1", "decimal", "decimal"),
    ("+1", "text", "decimal"), ("\u0661", "text", "decimal"), ("", "hex", "not a hexadecimal number"),
    ("0x", "hex", "hexadecimal"), ("0x0x1", "text", "hexadecimal"), ("0x1f", "decimal", "not a decimal number"),
])
def test_what_is_no_number(number, kind, message):
    with pytest.raises(ValueError, match=message):
        parse_fingerprint(number, kind)


@pytest.mark.parametrize(("name", "column", "error", "message"), [
    ("a.npy", FingerprintColumns(id="1"), UsageError, "is read as npy, which has no columns; leave --field and --id-field"),
    ("a.parquet", BY_POSITION, UsageError, "has the columns id, code; name the one with the fingerprints by --field"),
    ("a.parquet", FingerprintColumns(fingerprint="x"), UsageError, "has no column 'x'; it has id, code"),
    ("a.parquet", FingerprintColumns(fingerprint="id"), ValueError, "the column 'id' is string; fingerprints are uint64"),
    ("a.tsv", FingerprintColumns(fingerprint="0"), UsageError, "--field is '0'; in text, columns are numbered from 1"),
    ("a.tsv", FingerprintColumns(fingerprint="3"), ValueError, r"a\.tsv:1: 2 columns; there must be 3"),
    ("a.tsv", BY_POSITION, ValueError, r"a\.tsv:1: 'd0' is not a decimal number"),
])
def test_what_a_file_does_not_have(tmp_path, name, column, error, message):
    with pytest.raises(error, match=message):
        load_fingerprints(write(tmp_path / name, VALUES), column)


@pytest.mark.parametrize("line", [b"\xff3", b"3 \xe4", b"3 \xc3"])
def test_text_that_is_not_utf_8_is_told_with_its_line(tmp_path, line):
    (tmp_path / "a.txt").write_bytes("1 \u00e4\n\r\n".encode() + line + b"\n4\n")
    byte = max(line)
    with pytest.raises(ValueError, match=rf"a\.txt:3: byte {byte:#04x} is not UTF-8; text is read as UTF-8"):
        load_fingerprints(str(tmp_path / "a.txt"), BY_POSITION)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_pipe_is_not_mapped(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(UsageError, match="is not a regular file, and npy is mapped; save it first"):
        load_fingerprints(str(tmp_path / "pipe.npy"), FingerprintColumns("npy"))
