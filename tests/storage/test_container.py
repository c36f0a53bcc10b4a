"""Containers: every value comes back, and every damaged or forged file is refused."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ndcore.storage import container
from ndcore.storage.container import PREAMBLE, START, CorruptFile, aligned, peek, read, read_head, write
from ndcore.storage.disk_space import sync

SMALL = {"values": np.arange(5, dtype=np.uint32), "valid": np.array([True, False, True]), "none": np.empty((0, 4)),
         "ids": np.array([b"a", b"bcd"]), "one": np.array(7, dtype=np.int64)}
HEADER = {"recipe": "{}", "n": 5, "nested": {"list": [1, 2.5, None, True], "text": "caf\u00e9 \ud800"}}

_dtypes = st.one_of(hnp.boolean_dtypes(), hnp.integer_dtypes(endianness="?"),
                    hnp.unsigned_integer_dtypes(endianness="?"),
                    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
                    hnp.byte_string_dtypes(min_len=1, max_len=5))
_arrays = hnp.arrays(_dtypes, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].dtype.isnative
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.nd"
    write(path, "sketches", HEADER, SMALL)
    return path


@settings(max_examples=150, deadline=None)
@given(header=st.dictionaries(st.text(), _json, max_size=3),
       arrays=st.dictionaries(st.text(min_size=1, max_size=5), _arrays, max_size=4),
       kind=st.text(min_size=1, max_size=5), mmap=st.booleans())
def test_round_trip(tmp_path_factory, header, arrays, kind, mmap):
    path = tmp_path_factory.mktemp("container") / "file"
    write(path, kind, header, arrays)
    found_header, found = read(path, kind, mmap)
    assert found_header == header
    assert_same(found, arrays)
    contents = peek(path)
    assert contents.kind == kind and contents.header == header
    assert contents.arrays == {name: (array.dtype.newbyteorder("<"), array.shape) for name, array in arrays.items()}


def test_memory_order_of_the_input_does_not_matter(tmp_path):
    arrays = {"f": np.asfortranarray(np.arange(12.0).reshape(3, 4)), "step": np.arange(20)[::-3],
              "zero-d": np.array(2.5), "view": np.broadcast_to(np.uint8(1), (3, 2))}
    write(tmp_path / "x", "k", {}, arrays)
    assert_same(read(tmp_path / "x")[1], arrays)


def test_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, "sketches", HEADER, SMALL)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_layout_is_frozen(small):
    data = small.read_bytes()
    assert data[:16] == b"\x89NDCORE\n\x01\x00\x00\x00\x00\x00\x00\x00"
    assert int.from_bytes(data[24:32], "little") == len(data)
    length = int.from_bytes(data[16:24], "little")
    assert data[32:64] == hashlib.blake2b(data[:32] + data[64:64 + length], digest_size=32).digest()
    top = json.loads(data[64:64 + length])
    start = -(-(64 + length) // 64) * 64
    row = top["arrays"][0]
    assert row == {"name": "values", "dtype": "<u4", "shape": [5], "offset": 0,
                   "checksum": hashlib.blake2b(SMALL["values"].tobytes(), digest_size=16).hexdigest()}
    assert data[start:start + 20] == SMALL["values"].astype("<u4").tobytes()
    assert all(row["offset"] % 64 == 0 for row in top["arrays"])


def test_no_arrays(tmp_path):
    write(tmp_path / "x", "k", {"a": 1}, {})
    assert read(tmp_path / "x") == ({"a": 1}, {})


def test_mapped_arrays_are_aligned_and_read_only(small):
    _, arrays = read(small, mmap=True)
    assert_same(arrays, SMALL)
    for name in ("values", "ids"):
        assert arrays[name].ctypes.data % 64 == 0
        assert not arrays[name].flags.writeable
    _, arrays = read(small)
    arrays["values"][0] = 9  # a read array is the caller's own


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be replaced there")
def test_a_mapped_file_can_be_replaced(small):
    _, arrays = read(small, mmap=True)
    write(small, "sketches", {}, {"values": np.zeros(3)})
    assert_same(arrays, SMALL)
    assert read(small)[1]["values"].shape == (3,)


def test_wrong_kind(small):
    with pytest.raises(ValueError, match=r"small\.nd: the file holds 'sketches', not 'index'") as caught:
        read(small, "index")
    assert not isinstance(caught.value, CorruptFile)


# ---- damage


@pytest.mark.parametrize("mmap", [False, True])
def test_every_truncation_is_found(small, tmp_path, mmap):
    data = small.read_bytes()
    path = tmp_path / "short.nd"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(CorruptFile, match=r"short\.nd: "):
            read(path, mmap=mmap)


@pytest.mark.parametrize("mmap", [False, True])
def test_every_changed_byte_is_found(small, tmp_path, mmap):
    data = bytearray(small.read_bytes())
    path = tmp_path / "changed.nd"
    for at in range(len(data)):
        for change in (1, 0x80, 0xFF):
            data[at] ^= change
            path.write_bytes(data)
            with pytest.raises(CorruptFile, match=r"changed\.nd: "):
                read(path, mmap=mmap)
            data[at] ^= change


def test_appended_bytes_are_found(small):
    with small.open("ab") as file:
        file.write(b"\0" * 64)
    with pytest.raises(CorruptFile, match="bytes and should have"):
        read(small)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes(tmp_path_factory, data, ours):
    path = tmp_path_factory.mktemp("container") / "file"
    path.write_bytes(container.MAGIC * ours + data)
    with pytest.raises(CorruptFile):
        read(path)


def test_verify_false_skips_only_the_array_checksums(small):
    data = bytearray(small.read_bytes())
    data[-1] ^= 1
    small.write_bytes(data)
    with pytest.raises(CorruptFile, match="checksum of array 'one'"):
        read(small, mmap=True)
    assert read(small, mmap=True, verify=False)[1]["one"] != 7
    data[70] ^= 1
    small.write_bytes(data)
    with pytest.raises(CorruptFile, match="checksum of the header"):
        read(small, verify=False)


def test_revisions_of_a_kind(tmp_path):
    path = tmp_path / "small.nd"
    write(path, "sketches", HEADER, SMALL, revision=3)
    assert peek(path).revision == 3 and path.read_bytes()[12:16] == b"\x03\0\0\0"
    assert_same(read(path, "sketches", revision=3)[1], SMALL)
    assert_same(read(path)[1], SMALL)  # whoever asks for no kind gets what is there
    with pytest.raises(CorruptFile, match=r"small\.nd: 'sketches' of revision 3, this ndcore reads up to 2: upgrade ndcore"):
        read(path, "sketches", revision=2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_special_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(CorruptFile, match="not a regular file"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent")


# ---- hostile files: every checksum is right, the content is not


def forge(path, top=None, *, data=b"", text=None, length=None, size=None, version=1):
    text = json.dumps(top).encode() if text is None else text
    body = text + bytes(-len(text) % 64) + data if data else text
    preamble = container.PREAMBLE.pack(container.MAGIC, version, 0, len(text) if length is None else length,
                                        64 + len(body) if size is None else size)
    path.write_bytes(preamble + hashlib.blake2b(preamble + text, digest_size=32).digest() + body)


def row(name="a", dtype="<u8", shape=(8,), offset=0, data=bytes(64), **more):
    return {"name": name, "dtype": dtype, "shape": list(shape) if isinstance(shape, tuple) else shape, "offset": offset,
            "checksum": hashlib.blake2b(data, digest_size=16).hexdigest(), **more}


def top(*rows, **more):
    return {"kind": "k", "header": {}, "arrays": list(rows), **more}


def test_forged_files_can_be_read_where_they_are_sound(tmp_path):
    forge(tmp_path / "x", top(row()), data=bytes(64))
    assert read(tmp_path / "x", "k")[1]["a"].tolist() == [0] * 8


HUGE = 1 << 61
BAD_ROWS = {
    "huge": [row(shape=(HUGE,))],
    "overflowing": [row(shape=(1 << 31, 1 << 31, 1 << 31))],
    "overflowing to zero": [row(shape=(1 << 32, 1 << 32))],
    "huge beside zero": [row(shape=(0, HUGE, HUGE))],
    "more than int64": [row(shape=(1 << 70,))],
    "ten to the four thousand": [row(shape=(10**4000,))],
    "negative": [row(shape=(-8,))],
    "two negatives": [row(shape=(-8, -1))],
    "float size": [row(shape=(8.0,))],
    "bool size": [row(shape=(True, 8))],
    "text size": [row(shape=("8",))],
    "shape not a list": [row(shape=8)],
    "too many dimensions": [row(shape=(1,) * 9)],
    "past the end": [row(shape=(9,))],
    "not all used": [row(shape=(7,))],
    "offset past the end": [row(offset=64)],
    "negative offset": [row(offset=-64)],
    "huge offset": [row(offset=1 << 63)],
    "offset not aligned": [row(offset=1, shape=(7,))],
    "float offset": [row(offset=0.0)],
    "overlap": [row(), row("b")],
    "inside another": [row(), row("b", offset=32, shape=(4,))],
    "same name": [row(shape=(0,)), row()],
    "object": [row(dtype="|O")],
    "object, short": [row(dtype="O")],
    "pickled object": [row(dtype="|O8")],
    "unicode": [row(dtype="<U2")],
    "void": [row(dtype="|V8")],
    "complex": [row(dtype="<c16", shape=(4,))],
    "date": [row(dtype="<M8[s]")],
    "big-endian": [row(dtype=">u8")],
    "empty bytes": [row(dtype="|S0")],
    "huge bytes": [row(dtype="|S9999999999")],
    "structure": [row(dtype="u8,u8", shape=(4,))],
    "list as dtype": [row(dtype=[["a", "<u8"]])],
    "no dtype": [row(dtype=None)],
    "newline": [row(dtype="<u8\n")],
    "long double": [row(dtype="<f16", shape=(4,))],
    "wrong checksum": [row(checksum="0" * 32)],
    "no checksum": [row(checksum=None)],
    "checksum in capitals": [row(checksum=row()["checksum"].upper())],
    "name empty": [row(name="")],
    "name not text": [row(name=3)],
    "extra field": [row(extra=1)],
    "missing field": [{k: v for k, v in row().items() if k != "shape"}],
    "not an object": [[1, 2]],
    "no rows": [],
    "bool values": [row(dtype="|b1", shape=(64,), data=bytes([2] * 64))],
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("case", BAD_ROWS)
def test_hostile_tables(tmp_path, case, mmap):
    forge(tmp_path / "x", top(*BAD_ROWS[case]), data=bytes([2] * 64) if case == "bool values" else bytes(64))
    with pytest.raises(CorruptFile, match="x: "):
        read(tmp_path / "x", mmap=mmap)


@pytest.mark.parametrize("text", [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"kind": "k", "header": {}}',
    json.dumps(top(kind=3)).encode(), json.dumps(top(kind="")).encode(), json.dumps(top(header=[])).encode(),
    json.dumps({**top(), "arrays": {}}).encode(), json.dumps(top(more=1)).encode(),
    b'{"kind": "k", "header": {"x": NaN}, "arrays": []}', '{"kind": "é", "header": {}, "arrays": []}'.encode(),
    b'{"kind": "k", "header": {"x": ' + b"9" * 10000 + b'}, "arrays": []}',
], ids=lambda text: text[:20].decode("latin-1"))
def test_hostile_headers(tmp_path, text):
    forge(tmp_path / "x", text=text)
    with pytest.raises(CorruptFile, match="x: "):
        read(tmp_path / "x")
    with pytest.raises(CorruptFile, match="x: "):
        peek(tmp_path / "x")


@pytest.mark.parametrize("more", [{"length": 1 << 62}, {"length": (1 << 64) - 1}, {"size": 1 << 62}, {"length": 0}])
def test_hostile_sizes(tmp_path, more):
    forge(tmp_path / "x", top(), **more)
    with pytest.raises(CorruptFile, match="x: "):
        read(tmp_path / "x")


def test_a_sparse_file_does_not_make_a_large_header(tmp_path):
    path = tmp_path / "x"
    size = 1 << 40
    preamble = container.PREAMBLE.pack(container.MAGIC, 1, 0, size - 64, size)
    path.write_bytes(preamble + bytes(32))
    try:
        os.truncate(path, size)
    except OSError:
        pytest.skip("no large sparse files here")
    with pytest.raises(CorruptFile, match="does not fit"):
        read(path)


# ---- writing


@pytest.mark.parametrize("array, message", [
    (np.array([object()]), "dtype object"), (np.array(["text"]), "encode str first"), (np.array([1j]), "complex"),
    (np.array(["2020"], "M8[Y]"), "datetime64"), (np.zeros(2, "u4,u4"), "dtype"), (np.zeros(2, "V3"), "dtype"),
])
def test_refused_arrays(tmp_path, array, message):
    with pytest.raises(TypeError, match=message):
        write(tmp_path / "x", "k", {}, {"a": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind, header, arrays, message", [
    ("", {}, {}, "kind"), (3, {}, {}, "kind"), ("k", {1: 2}, {}, "unchanged"), ("k", {"a": (1, 2)}, {}, "unchanged"),
    ("k", {"a": float("nan")}, {}, "as JSON"), ("k", {"a": b"x"}, {}, "as JSON"), ("k", {"a": {1}}, {}, "as JSON"),
    ("k", {}, {"": np.zeros(1)}, "name of an array"), ("k", {}, {"a": np.zeros((1,) * 9)}, "9 dimensions"),
    ("k", {"a": "x" * (container.MAX_HEADER + 1)}, {}, "store bulk as an array"),
])
def test_refused_content(tmp_path, kind, header, arrays, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "x", kind, header, arrays)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("owner, name", [(container.os, "fsync"), (container.Path, "replace")])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(small, tmp_path, monkeypatch, owner, name, error):
    before = small.read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(type(error)):
        write(small, "sketches", {}, {"values": np.zeros(1000)})
    monkeypatch.undo()
    assert small.read_bytes() == before
    assert list(tmp_path.iterdir()) == [small]


def test_a_failure_between_two_arrays_leaves_the_old_file(small, tmp_path, monkeypatch):
    before = small.read_bytes()
    calls = iter(range(5))
    real = container._view_bytes

    def third_fails(array):
        if next(calls) == 4:  # two for the checksums, then two of the writing
            raise MemoryError
        return real(array)

    monkeypatch.setattr(container, "_view_bytes", third_fails)
    with pytest.raises(MemoryError):
        write(small, "sketches", {}, {"a": np.zeros(10), "b": np.zeros(10), "c": np.zeros(10)})
    assert small.read_bytes() == before
    assert list(tmp_path.iterdir()) == [small]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are different there")
def test_modes_and_links(tmp_path):
    previous = os.umask(0o027)
    try:
        write(tmp_path / "real", "k", {}, {})
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "k", {"new": True}, {})
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real")[0] == {"new": True}


@pytest.mark.parametrize("name", ["nowhere/file", "folder"])
def test_errors_name_the_path_that_was_given(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as caught:
        container.write(tmp_path / name, "some", {}, {})
    assert caught.value.filename == str(tmp_path / name)
    assert ".tmp" not in str(caught.value)


def test_the_kind_of_any_file(tmp_path):
    path = tmp_path / "file"
    container.write(path, "some", {}, {"a": np.arange(3)})
    assert container.kind_of(path) == "some"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(container.CorruptFile, match="cut short"):
        container.kind_of(path)
    path.write_bytes(b"something else that is long enough to be a file of ours")
    assert container.kind_of(path) is container.kind_of(tmp_path) is container.kind_of(tmp_path / "nowhere") is None


@pytest.mark.parametrize(("number", "raises"), [(errno.EIO, True), (errno.ENOSPC, True), (errno.EINVAL, False)])
def test_a_disk_that_fails_is_told_and_a_system_that_cannot_tell_is_not(tmp_path, monkeypatch, number, raises):
    def failing(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    if not raises:
        sync(tmp_path)
        return
    with pytest.raises(OSError) as caught:
        sync(tmp_path)
    assert (caught.value.errno, caught.value.filename) == (number, str(tmp_path))


TEXT = b'{"kind":"k","header":{"n":1},"arrays":[]}'


def file_of(text: bytes = TEXT, version: int = 1, revision: int = 0, size: int | None = None) -> bytes:
    """A file without arrays, with the checksum that belongs to it (see the layout in `container`)."""
    first = PREAMBLE.pack(b"\x89NDCORE\n", version, revision, len(text), START + len(text) if size is None else size)
    return first + hashlib.blake2b(first + text, digest_size=32).digest() + text


def head_of(data: bytes):
    return read_head(io.BytesIO(data), len(data), "name")


def test_a_sound_head():
    assert head_of(file_of(revision=7)) == ("k", 7, {"n": 1}, [])


@pytest.mark.parametrize("version", [2, 3, 0xFFFFFFFF])
def test_a_newer_format_is_refused_by_its_number(version):
    with pytest.raises(CorruptFile, match=f"^name: format version {version}, this ndcore reads up to 1: upgrade ndcore$"):
        head_of(file_of(b"what a newer version may hold", version))


def test_there_is_no_version_0():
    with pytest.raises(CorruptFile, match="format version 0 does not exist"):
        head_of(file_of(version=0))


def test_damage_is_not_taken_for_a_newer_format():
    data = bytearray(file_of())
    for at in range(8, START):
        data[at] ^= 2
        with pytest.raises(CorruptFile) as caught:
            head_of(bytes(data))
        assert "upgrade" not in str(caught.value), at
        data[at] ^= 2


def test_alignment():
    assert [aligned(offset) for offset in (0, 1, 63, 64, 65)] == [0, 64, 64, 64, 128]
