"""Texts in Arrow buffers: every producer, every layout, and arrays that are not what they say."""

from __future__ import annotations

import ctypes
import gc
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from generated import texts as any_texts
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore._arrow import ArrowTexts
from ndcore._pipeline import Batch
from ndcore.text.inputs import as_texts, lengths, pieces, take

TEXTS = ["a rose is a rose is a rose", "", "ein Straßenname", "人", "just twelve.", "and thirteen.", "x" * 100]
STRINGS = ["string", "large_string", "string_view"]
BINARIES = ["binary", "large_binary", "binary_view"]
HASHER = nd.MinHasher(8, shingling=nd.Shingling(width=2))


def column(texts, kind="string"):
    pa = pytest.importorskip("pyarrow")
    kind, _, dictionary = kind.partition(" ")
    items = [None if text is None else text.encode() for text in texts] if "binary" in kind else list(texts)
    array = pa.array(items, getattr(pa, kind)())
    return array.dictionary_encode() if dictionary else array


def signatures(texts):
    return HASHER.sketch_many(texts).values


# ---------------------------------------------------------------------------------------------- producers


class Only:
    """A producer of another library, that has one method of the protocol and nothing else."""

    def __init__(self, producer, method):
        setattr(self, method, getattr(producer, method))


@pytest.mark.parametrize("kind", [*STRINGS, *BINARIES, "string dictionary", "large_binary dictionary"])
def test_pyarrow(kind):
    array = column(TEXTS, kind)
    items = [text.encode() for text in TEXTS] if "binary" in kind else TEXTS
    for given_ in (array, Only(array, "__arrow_c_array__")):
        texts = as_texts(given_)
        assert isinstance(texts, ArrowTexts) and list(texts) == items
        np.testing.assert_array_equal(signatures(given_), signatures(TEXTS))
    assert list(as_texts(array[2:5])) == items[2:5]
    assert list(as_texts(array[3:3])) == [] == list(as_texts(array[:0]))


@pytest.mark.parametrize("kind", [*STRINGS, "binary_view", "string dictionary"])
def test_pyarrow_chunks(kind):
    pa = pytest.importorskip("pyarrow")
    array = column(TEXTS, kind)
    chunks = pa.chunked_array([array[:2], array[2:2], array[2:3], array[4:]], array.type)
    texts = as_texts(chunks)
    assert list(texts) == chunks.to_pylist()
    assert list(as_texts(Only(chunks, "__arrow_c_stream__"))) == chunks.to_pylist()
    assert list(as_texts(pa.chunked_array([], array.type))) == []
    np.testing.assert_array_equal(signatures(chunks), signatures(chunks.to_pylist()))


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_indices_of_dictionaries(index):
    pa = pytest.importorskip("pyarrow")
    positions = [6, 0, 0, 3, 2]
    values = column([None, *TEXTS])[1:]
    array = pa.DictionaryArray.from_arrays(pa.array(positions, getattr(pa, index)()), values)
    assert list(as_texts(array)) == [TEXTS[i] for i in positions]


def test_a_null_in_the_dictionary_counts_where_it_is_meant():
    pa = pytest.importorskip("pyarrow")
    values = pa.array(["a", None])
    assert list(as_texts(pa.DictionaryArray.from_arrays(pa.array([0, 0]), values))) == ["a", "a"]
    with pytest.raises(TypeError, match="document 2 is None"):
        as_texts(pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), values))


@pytest.mark.parametrize("dtype", ["String", "Binary", "Categorical", "Enum"])
def test_polars(dtype):
    pl = pytest.importorskip("polars")
    items = [text.encode() for text in TEXTS] if dtype == "Binary" else TEXTS
    series = pl.Series(items, dtype=pl.Enum(TEXTS) if dtype == "Enum" else getattr(pl, dtype))
    for part in (series, series[2:5], pl.concat([series, series[1:]], rechunk=False), series[:0]):
        texts = as_texts(part)
        assert isinstance(texts, ArrowTexts) and list(texts) == part.to_list()
    np.testing.assert_array_equal(signatures(series), signatures(TEXTS))
    with pytest.raises(TypeError, match=r"document 3 is None \(a missing value\)"):
        as_texts(pl.concat([series[:2], pl.Series([items[1], None], dtype=series.dtype)]))


def test_polars_without_pyarrow():
    pytest.importorskip("polars")
    program = (
        "import sys; sys.modules['pyarrow'] = None; import polars as pl, ndcore as nd\n"
        "from ndcore.text.inputs import as_texts\n"
        "assert list(as_texts(pl.Series(['a', 'ß' * 9]))) == ['a', 'ß' * 9]\n"
        "assert nd.near_duplicates(pl.Series(['a b c d e'] * 3)).labels.tolist() == [0, 0, 0]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("storage", ["str", "string[pyarrow]", "arrow", "arrow large", "category", "object", "python"])
def test_pandas(storage):
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    dtype = {
        "arrow": pd.ArrowDtype(pa.string()), "arrow large": pd.ArrowDtype(pa.large_string()),
        "python": pd.StringDtype("python"),
    }.get(storage, storage)  # fmt: skip
    series = pd.Series(TEXTS, index=[7, 7, 1, 0, 2, 3, 3], dtype=dtype)
    assert list(as_texts(series)) == TEXTS
    if storage != "str":  # whose storage depends on what is installed
        assert isinstance(as_texts(series), list if storage in ("object", "python") else ArrowTexts)
    assert list(as_texts(series.iloc[2:5])) == TEXTS[2:5]
    assert list(as_texts(series.iloc[:0])) == []
    np.testing.assert_array_equal(signatures(series), signatures(TEXTS))
    with pytest.raises(TypeError, match="document 1 is "):
        as_texts(pd.Series(["a", None], dtype=dtype))


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    relation = duckdb.sql("select 'document ' || range || ' of a relation' as text, range as n from range(5000)")
    expected = [f"document {i} of a relation" for i in range(5000)]
    for views in ("false", "true"):
        duckdb.sql(f"set produce_arrow_string_view = {views}")
        try:
            assert sorted(as_texts(relation.to_arrow_table()["text"])) == sorted(expected)
        finally:
            duckdb.sql("reset produce_arrow_string_view")
    with pytest.raises(TypeError, match=r"texts is a table, with the columns 'text', 'n'; .*to_arrow_table\(\)"):
        nd.near_duplicates(relation)


# ---------------------------------------------------------------------------------------------- the sequence


@pytest.mark.parametrize("kind", ["string", "string_view", "large_binary"])
def test_it_is_a_sequence(kind):
    array = column(TEXTS, kind)
    items, texts = array.to_pylist(), as_texts(array)
    assert isinstance(texts, Sequence) and len(texts) == len(items) and texts.is_text == (kind != "large_binary")
    assert [texts[i] for i in range(len(items))] == items and texts[-1] == items[-1]
    assert list(reversed(texts)) == items[::-1] and items[2] in texts
    assert texts.index(items[2]) == 2 and texts.count(items[2]) == 1
    for part in (slice(1, 3), slice(None, None, -1), slice(5, 2), slice(-3, None, 2)):
        assert list(texts[part]) == items[part]
    assert list(texts[1:][1:][np.int64(0) : 2]) == items[2:4]
    assert list(texts.take(np.array([3, 0, 3]))) == [items[3], items[0], items[3]] == list(take(texts, np.array([3, 0, 3])))
    assert lengths(texts).tolist() == [len(text.encode()) for text in TEXTS]
    assert as_texts(texts) is texts and pickle.loads(pickle.dumps(texts)) == items
    assert str(len(texts)) in repr(texts)
    for wrong in (7, -8):
        with pytest.raises(IndexError, match=f"no text {wrong}; there are 7"):
            texts[wrong]
    with pytest.raises(ValueError, match="read-only"):
        texts.lengths[0] = 1
    with pytest.raises(TypeError, match="as_texts"):
        ArrowTexts()


def test_what_is_no_utf8_comes_as_bytes():
    pa = pytest.importorskip("pyarrow")
    data = [b"a rose \xff is", "ß".encode()]
    array = pa.array(data).view(pa.string())
    assert list(as_texts(array)) == [data[0], "ß"]
    np.testing.assert_array_equal(signatures(array), signatures(data))
    assert nd.near_duplicates(array).invalid_bytes == 1


# ---------------------------------------------------------------------------------------------- the same as lists

documents = st.lists(
    st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(TEXTS) | st.text("ab é人", max_size=40), max_size=12
)
EXTRACT = {
    "word": nd.Shingling(width=2), "labelled": nd.Shingling(width=1, labelled=True), "char": nd.Shingling("char", width=3),
    "NFKC": nd.Shingling(width=2, normalize="NFKC"), "char NFKC": nd.Shingling("char", normalize="NFKC"),
    "byte": nd.Shingling("byte", width=4), "line": nd.Shingling("line", width=1), "callable": nd.Shingling(list, width=2),
}  # fmt: skip


@given(documents, st.sampled_from([*STRINGS, "string dictionary"]), st.sampled_from(sorted(EXTRACT)), st.integers(1, 3))
def test_the_same_as_a_list(texts, kind, shingling, cut):
    pa = pytest.importorskip("pyarrow")
    array = column(["cut off", *texts, "too"], kind)[1:-1]
    array = pa.chunked_array([array[:cut], array[cut:]], array.type)
    assert list(as_texts(array)) == texts
    how = EXTRACT[shingling]
    for found, expected in zip(how.fingerprints_many(array), how.fingerprints_many(texts), strict=True):
        np.testing.assert_array_equal(found, expected)
    bottom = nd.BottomSketcher(5, shingling=how)
    np.testing.assert_array_equal(bottom.sketch_many(array).values, bottom.sketch_many(texts).values)


@pytest.mark.parametrize("kind", ["string", "string_view", "binary", "string dictionary"])
@pytest.mark.parametrize("verify", ["fingerprints", "tokens"])
def test_near_duplicates(kind, verify):
    rose = "a rose is a rose, and no flower but a rose is a rose, whatever its name in the garden of {}"
    texts = [rose.format(name) for name in ("Ada", "Bób", "Ada", "Cäcilie")] + ["something else", "", "人" * 30, ""]
    array, how = column(texts, kind), {"threshold": 0.6, "verify": verify, "keep": "longest"}
    found, expected = nd.near_duplicates(array, **how), nd.near_duplicates(texts, **how)
    assert found.labels.tolist() == expected.labels.tolist() and found.classes.tolist() == expected.classes.tolist()
    np.testing.assert_array_equal(found.sketches.digests, expected.sketches.digests)
    np.testing.assert_array_equal(found.pairs.resemblance, expected.pairs.resemblance)
    for pair in ((0, 1), (0, 2), (4, 6)):
        assert repr(found.explain(*pair)) == repr(expected.explain(*pair))
    both = nd.near_duplicates(array[4:], against=array[:4], threshold=0.6)
    assert both.labels.tolist() == nd.near_duplicates(texts[4:], against=texts[:4], threshold=0.6).labels.tolist()


def test_exact_sizes():
    exact = nd.MinHasher(8, exact_sizes=True)
    np.testing.assert_array_equal(exact.sketch_many(column(TEXTS)).sizes, exact.sketch_many(TEXTS).sizes)


def test_short_error_names_the_position_in_the_column():
    with pytest.raises(ValueError, match="document 2 has 2 tokens"):
        nd.Shingling(short="error").fingerprints_many(column(["", "a b c d e", "ein Straßenname"]))


def test_pieces_are_slices():
    texts = as_texts(column(["x" * n for n in (11, 3, 3, 3, 0, 40, 1)]))
    parts = list(pieces(texts, 10))
    assert [len(part) for _, part in parts] == [1, 4, 1, 1] and all(isinstance(part, ArrowTexts) for _, part in parts)
    assert [text for _, part in parts for text in part] == list(texts)


def test_threads():
    texts = [f"{i} roses, {i % 7} daisies and {i * i} other flowers äöü" * (1 + i % 90) for i in range(3000)]
    expected, array = signatures(texts), as_texts(column(texts, "string_view"))
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(HASHER.sketch_many(array, threads=threads).values, expected)
    found = []
    workers = [threading.Thread(target=lambda: found.append(signatures(array[5:]))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    for values in found:
        np.testing.assert_array_equal(values, expected[5:])


# ---------------------------------------------------------------------------------------------- str and bytes


@given(st.lists(any_texts, max_size=8))
def test_documents_become_utf8(texts):
    encoded = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]
    batch, sizes = Batch(texts), list(map(len, encoded))
    assert batch.hashed(bytes) == encoded and batch.lengths().tolist() == sizes
    assert (batch.count, batch.longest, batch.total) == (len(texts), max(sizes, default=0), sum(sizes))
    assert lengths(texts).tolist() == list(map(len, texts))


@pytest.mark.parametrize(
    "point", ["\x7f", "\x80", "\xff", "\u0100", "\u07ff", "\u0800", "\ud800", "\udfff", "\uffff", "\U00010000", "\U0010ffff"]
)
def test_utf8_at_every_offset(point):
    for before in range(18):
        for after in (0, 1, 7, 8, 9, 17):
            text = "a" * before + point + "\ud83d\ude00" + "b" * after
            assert Batch([text]).hashed(bytes) == [text.encode("utf-8", "surrogatepass")]


@pytest.mark.parametrize("text", ["é" * 50, "人" * 50, "😀" * 50, "x\ud800" * 50, "a" * 50])
def test_nothing_is_cached_in_the_callers_objects(text):
    texts = ["".join([text, str(i)]) for i in range(6)]
    before = list(map(sys.getsizeof, texts))
    nd.near_duplicates(texts, threshold=0.1, verify="tokens").explain(0, 1)
    nd.near_duplicates(np.array(texts, object))
    for how in EXTRACT.values():
        nd.MinHasher(8, shingling=how, exact_sizes=True).sketch_many(texts)
    assert list(map(sys.getsizeof, texts)) == before


def test_a_batch_keeps_its_documents():
    texts = ["".join(["a rose ", str(i)]) for i in range(50)] + [b"%d roses" % i for i in range(50)]
    batch, expected = Batch(texts), Batch(list(texts)).hashed(bytes)
    texts.clear()
    gc.collect()
    assert batch.hashed(bytes) == expected
    with pytest.raises(TypeError, match="document 1 is of type int"):
        Batch(["a", 1])


# ---------------------------------------------------------------------------------------------- fake producers


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


def _release(kind):
    return ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))


_GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
_GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
_LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)), ("release", _release(Schema)), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
    ("dictionary", ctypes.POINTER(Array)), ("release", _release(Array)), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Stream._fields_ = [
    ("get_schema", _GET_SCHEMA), ("get_next", _GET_NEXT), ("get_last_error", _LAST_ERROR), ("release", _release(Stream)),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Fake:
    """An array of any content through `__arrow_c_array__`, or several through `__arrow_c_stream__`; counts releases.

    The capsules have no destructors: what ndcore does not release stays as it is.
    """

    names = (b"arrow_schema", b"arrow_array", b"arrow_array_stream")

    def __init__(self, layout, length, buffers, *, null_count=0, offset=0, dictionary=None):
        self.released = 0
        self.alive = [buffer and ctypes.create_string_buffer(buffer, len(buffer)) for buffer in buffers or ()]
        addresses = (ctypes.c_void_p * (len(self.alive) + 1))(
            *(None if buffer is None else ctypes.addressof(buffer) if buffer else 64 for buffer in self.alive)
        )
        self.schema = Schema(layout.encode() if isinstance(layout, str) else layout)
        self.array = Array(length, null_count, offset)
        self._done = (_release(Schema)(self._release_schema), _release(Array)(self._release_array))
        self.schema.release, self.array.release = self._done
        self.array.n_buffers = len(self.alive)
        if buffers is not None:
            self.array.buffers = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
            self.alive.append(addresses)
        if dictionary:
            self.alive.append(dictionary)
            self.schema.dictionary = ctypes.pointer(dictionary.schema)
            self.array.dictionary = ctypes.pointer(dictionary.array)

    def _release_schema(self, schema):
        schema.contents.release = _release(Schema)()

    def _release_array(self, array):
        assert array.contents.release
        array.contents.release = _release(Array)()
        self.released += 1

    def __arrow_c_array__(self, requested_schema=None):
        assert requested_schema is None
        return tuple(
            _new_capsule(ctypes.addressof(each), name, None)
            for each, name in zip((self.schema, self.array), self.names, strict=False)
        )


class FakeStream:
    """Fakes one after another; the schema is that of the first. `fails` is the call that reports an error."""

    def __init__(self, *fakes, fails=None, message=b"the disk is gone"):
        self.fakes, self.fails, self.message, self.released = list(fakes), fails, message, 0
        self.schema = fakes[0].schema
        self.buffer = ctypes.create_string_buffer(message) if message else None
        self.stream = Stream(
            _GET_SCHEMA(self._get_schema), _GET_NEXT(self._get_next), _LAST_ERROR(self._error),
            _release(Stream)(self._release),
        )

    def _get_schema(self, stream, out):
        ctypes.memmove(out, ctypes.addressof(self.schema), ctypes.sizeof(Schema))
        return 5 if self.fails == "get_schema" else 0

    def _get_next(self, stream, out):
        if not self.fakes:
            if self.fails == "get_next":
                ctypes.memset(out, 0xEE, ctypes.sizeof(Array))
                return 5
            out.contents.release = _release(Array)()
            return 0
        ctypes.memmove(out, ctypes.addressof(self.fakes.pop(0).array), ctypes.sizeof(Array))
        return 0

    def _error(self, stream):
        return ctypes.addressof(self.buffer) if self.buffer else None

    def _release(self, stream):
        self.released += 1
        stream.contents.release = _release(Stream)()

    def __arrow_c_stream__(self, requested_schema=None):
        return _new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def i32(*values):
    return struct.pack(f"={len(values)}i", *values)


def i64(*values):
    return struct.pack(f"={len(values)}q", *values)


def strings(**changes):
    """The column ["ab", "", "cde"]."""
    given_ = {"layout": "u", "length": 3, "buffers": [None, i32(0, 2, 2, 5), b"abcde"], **changes}
    return Fake(given_.pop("layout"), given_.pop("length"), given_.pop("buffers"), **given_)


def view(size, buffer, offset):
    return i32(size, 0, buffer, offset)


def views(*items, data=(b"abcdefghijklmnopqrstuvwxyz",), **changes):
    buffers = [None, b"".join(items), *data, i64(*map(len, data)) if data else None]
    return Fake("vu", len(items), buffers, **changes)


def indexed(indices, layout="c", **changes):
    return Fake(layout, len(indices), [None, bytes(indices)], dictionary=strings(), **changes)


VALID = {
    "string": (strings, ["ab", "", "cde"]),
    "binary": (lambda: strings(layout="z"), [b"ab", b"", b"cde"]),
    "large": (lambda: strings(layout="U", buffers=[None, i64(0, 2, 2, 5), b"abcde"]), ["ab", "", "cde"]),
    "offset": (lambda: strings(length=2, offset=1), ["", "cde"]),
    "unknown nulls": (lambda: strings(null_count=-1), ["ab", "", "cde"]),
    "nulls before": (
        lambda: strings(length=2, offset=1, null_count=-1, buffers=[b"\x06", i32(0, 2, 2, 5), b"abcde"]), ["", "cde"]
    ),
    "all empty": (lambda: strings(buffers=[None, i32(0, 0, 0, 0), None]), [""] * 3),
    "first offset": (lambda: strings(length=1, buffers=[None, i32(2, 3), b"abcde"]), ["c"]),
    "no length, no buffers": (lambda: Fake("u", 0, [None, None, None]), []),
    "no buffers at all": (lambda: Fake("vu", 0, None), []),
    "null type, empty": (lambda: Fake("n", 0, None), []),
    "inline view": (lambda: views(i32(3) + b"abc" + bytes(9), i32(12) + b"a" * 12, data=()), ["abc", "a" * 12]),
    "view": (lambda: views(view(13, 0, 1), view(26, 0, 0)), ["bcdefghijklmn", "abcdefghijklmnopqrstuvwxyz"]),
    "view of the second": (lambda: views(view(13, 1, 1), data=(b"", b"a" * 14)), ["a" * 13]),
    "dictionary": (lambda: indexed([2, 0, 2]), ["cde", "ab", "cde"]),
}


@pytest.mark.parametrize("case", VALID)
def test_fake_producers(case):
    make, expected = VALID[case]
    fake = make()
    texts = as_texts(fake)
    assert list(texts) == expected
    assert Batch(texts).hashed(bytes) == [text.encode() if isinstance(text, str) else text for text in expected]
    assert fake.released == (not expected)
    del texts
    assert fake.released == 1
    stream = FakeStream(make(), make())
    assert list(as_texts(stream)) == expected * 2 and stream.released == 1


UNBOUNDED = 2**63 - 1
INVALID = {
    "descending": (lambda: strings(buffers=[None, i32(0, 3, 2, 5), b"abcde"]), "document 1 .* negative or descend"),
    "negative": (lambda: strings(buffers=[None, i32(-1, 2, 2, 5), b"abcde"]), "document 0 .* offsets are negative"),
    "negative later": (lambda: strings(buffers=[None, i32(0, 2, 2, -5), b"abcde"]), "document 2 .* offsets are negative"),
    "large descending": (lambda: strings(layout="Z", buffers=[None, i64(0, 2, 1, 5), b"abcde"]), "document 1 .* descend"),
    "no texts": (lambda: strings(buffers=[None, i32(0, 2, 2, 5), None]), "document 0 .* no buffer of texts"),
    "no offsets": (lambda: strings(buffers=[None, None, b"abcde"]), "from document 0 on has no buffer for its 3 items"),
    "no buffers": (lambda: strings(buffers=None), "has 0 buffers where its layout has 3"),
    "too many buffers": (lambda: strings(buffers=[None, i32(0, 2, 2, 5), b"abcde", b""]), "has 4 buffers where its .* 3"),
    "too few for views": (lambda: Fake("vu", 1, [None, i32(0, 0, 0, 0)]), "has 2 buffers where its layout has 3 or more"),
    "length": (lambda: strings(length=-1), "its length is -1; it must be 0 or more"),
    "unbounded": (lambda: strings(length=UNBOUNDED), f"its length is {UNBOUNDED}"),
    "offset": (lambda: strings(offset=-1), "has the offset -1"),
    "unbounded offset": (lambda: strings(offset=UNBOUNDED), f"has the offset {UNBOUNDED}"),
    "null count": (lambda: strings(null_count=4), "has 4 nulls among 3 items"),
    "negative null count": (lambda: strings(null_count=-2), "has -2 nulls among 3 items"),
    "nulls without bitmap": (lambda: strings(null_count=1), "has 1 nulls among 3 items and no validity bitmap"),
    "view of no buffer": (lambda: views(view(13, 1, 0)), "document 0 .* its view is negative or outside the buffers"),
    "view of a negative buffer": (lambda: views(view(13, -1, 0)), "document 0 .* its view"),
    "view beyond": (lambda: views(view(13, 0, 13), view(13, 0, 14)), "document 1 .* its view"),
    "view far beyond": (lambda: views(view(2**31 - 1, 0, 2**31 - 1)), "document 0 .* its view"),
    "view before": (lambda: views(view(13, 0, -1)), "document 0 .* its view"),
    "negative view": (lambda: views(view(-1, 0, 0)), "document 0 .* its view"),
    "view without buffers": (lambda: views(view(13, 0, 0), data=()), "document 0 .* its view"),
    "view of NULL": (lambda: Fake("vu", 1, [None, view(13, 0, 0), None, i64(99)]), "document 0 .* its view"),
    "no lengths": (lambda: Fake("vz", 1, [None, view(13, 0, 0), b"a" * 13, None]), "buffers without their lengths"),
    "index": (lambda: indexed([0, 3]), "document 1 .* its index is outside the dictionary"),
    "negative index": (lambda: indexed([0, 255]), "document 1 .* its index"),
    "large index": (lambda: Fake("L", 1, [None, b"\xff" * 8], dictionary=strings()), "document 0 .* its index"),
    "empty dictionary": (lambda: Fake("c", 1, [None, b"\0"], dictionary=strings(length=0)), "document 0 .* its index"),
    "no dictionary": (lambda: _without_dictionary(), "has no dictionary"),
    "bad dictionary": (lambda: Fake("c", 1, [None, b"\0"], dictionary=strings(buffers=[None, i32(5, 2, 2, 5), b""])),
                       "the dictionary of the Arrow array from document 0 on: document 0"),
    "no format": (lambda: strings(layout=None), "has no format"),
}  # fmt: skip


def _without_dictionary():
    fake = indexed([0])
    fake.array.dictionary = ctypes.POINTER(Array)()
    return fake


@pytest.mark.parametrize("case", INVALID)
def test_hostile_arrays(case):
    make, message = INVALID[case]
    fake = make()
    with pytest.raises(ValueError, match=message):
        as_texts(fake)
    assert fake.released == 1
    parts = [make(), make()]
    stream = FakeStream(*parts)
    with pytest.raises(ValueError, match=message):
        nd.near_duplicates(stream)
    assert stream.released == 1 and all(part.released == (part not in stream.fakes) for part in parts)


def test_positions_go_on_from_chunk_to_chunk():
    with pytest.raises(ValueError, match="document 4 of the Arrow column is invalid"):
        as_texts(FakeStream(strings(), strings(buffers=[None, i32(0, 3, 2, 5), b"abcde"])))
    with pytest.raises(TypeError, match="document 5 is None"):
        as_texts(FakeStream(strings(), strings(null_count=1, buffers=[b"\x03", i32(0, 2, 2, 5), b"abcde"])))


@pytest.mark.parametrize(
    ("layout", "message"),
    [("l", r"column of int64 \(format 'l'\); accepted are string, large_string"), ("w:5", "another type .format 'w:5'"),
     ("+l", "column of list"), ("", "another type"), ("u\xff".encode("latin-1"), "another type"), ("uu", "format 'uu'"),
     ("b", "column of bool"), ("tdD", "another type"), ("+r", "run_end_encoded"), ("x" * 999, "format 'x{59}")],
)  # fmt: skip
def test_other_types(layout, message):
    for fake in (strings(layout=layout), strings(layout=layout, length=0)):
        with pytest.raises(TypeError, match=message) as error:
            as_texts(fake)
        assert fake.released == 1 and len(str(error.value)) < 300


def test_dictionaries_of_other_types():
    with pytest.raises(TypeError, match=r"a dictionary of int64 \(format 'c'\)"):
        as_texts(Fake("c", 1, [None, b"\0"], dictionary=strings(layout="l")))
    with pytest.raises(TypeError, match="a dictionary of int8"):
        as_texts(Fake("c", 1, [None, b"\0"], dictionary=indexed([0])))
    with pytest.raises(TypeError, match=r"a dictionary of another type|a dictionary of"):
        as_texts(Fake("u", 1, [None, b"\0"], dictionary=strings()))


def test_tables():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": TEXTS, "n": range(7)})
    for given_ in (table, table.to_batches()[0], table.to_reader(), table.select(["text"]), table.to_struct_array()):
        with pytest.raises(TypeError, match=r"texts is a table, with the columns 'text'.*; give the column of the texts"):
            as_texts(given_)
    with pytest.raises(TypeError, match="'c4' …; give"):
        as_texts(pa.table({f"c{i}": [1] for i in range(9)}))


@pytest.mark.parametrize("kind", [*STRINGS, *BINARIES, "string dictionary"])
@pytest.mark.parametrize("first", [0, 7, 8, 9, 63, 64, 200])
def test_the_first_null_is_named(kind, first):
    texts = ["just some text"] * first + [None, "more", None]
    array = column(["cut off", None, None, *texts], kind)[3:]
    message = rf"document {first} is None \(a missing value\), a null of the Arrow column; drop the nulls, or fill them"
    for call in (as_texts, nd.near_duplicates, HASHER.sketch_many, nd.Shingling().fingerprints_many):
        with pytest.raises(TypeError, match=message):
            call(array)
    assert list(as_texts(array[:first])) == array[:first].to_pylist()


def test_what_lies_under_a_null_is_not_read():
    for fake in (views(view(-5, 9, -9), null_count=1), indexed([77], null_count=-1)):
        bitmap = ctypes.create_string_buffer(b"\0")
        fake.array.buffers[0] = ctypes.addressof(bitmap)
        with pytest.raises(TypeError, match="document 0 is None"):
            as_texts(fake)
    with pytest.raises(TypeError, match="document 0 is None"):
        as_texts(Fake("n", 2, None, null_count=2))


def test_unaligned_buffers():
    for fake, at in ((strings(), 1), (views(view(13, 0, 0)), 1), (views(view(13, 0, 0)), 3), (Fake(
            "i", 1, [None, i32(2)], dictionary=strings()), 1)):  # fmt: skip
        expected = list(as_texts(fake))
        content = bytes(fake.alive[at])
        fake.alive.append(moved := ctypes.create_string_buffer(b"-" + content, len(content) + 1))
        again = {"u": strings(), "vu": views(view(13, 0, 0))}.get(fake.schema.format.decode()) or Fake(
            "i", 1, [None, i32(2)], dictionary=strings())  # fmt: skip
        again.array.buffers[at] = ctypes.addressof(moved) + 1
        assert list(as_texts(again)) == expected


# ---------------------------------------------------------------------------------------------- capsules and lifetimes


def test_wrong_capsules():
    fake = strings()
    for given_, message in (
        ((1, 2), "wants a capsule named 'arrow_schema'"), (5, "not a pair of capsules"),
        (fake.__arrow_c_array__()[::-1], "wants a capsule named 'arrow_schema'"),
        ((fake.__arrow_c_array__()[0], None), "wants a capsule named 'arrow_array'"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=message):
            as_texts(type("Wrong", (), {"__arrow_c_array__": lambda self, given_=given_: given_})())
    with pytest.raises(TypeError, match=r"Wrong returned None where .* 'arrow_array_stream'"):
        as_texts(type("Wrong", (), {"__arrow_c_stream__": lambda self: None})())
    assert fake.released == 0


def test_used_capsules():
    fake, stream = strings(), FakeStream(strings())
    assert len(as_texts(fake)) == len(as_texts(stream)) == 3
    with pytest.raises(ValueError, match="the Arrow array was released"):
        as_texts(fake)
    with pytest.raises(ValueError, match="the Arrow stream was released"):
        as_texts(stream)
    released = strings()
    released.schema.release = _release(Schema)()
    with pytest.raises(ValueError, match="the Arrow schema was released"):
        as_texts(released)


@pytest.mark.parametrize("fails", ["get_schema", "get_next"])
@pytest.mark.parametrize("message", [b"the disk is gone \xff", None])
def test_streams_that_fail(fails, message):
    fake = strings()
    stream = FakeStream(fake, fails=fails, message=message)
    with pytest.raises(RuntimeError, match="failed with error 5" + (": the disk is gone" if message else "$")):
        as_texts(stream)
    assert stream.released == 1 and fake.released == (fails == "get_next")


def test_arrays_are_released_once_with_the_last_of_their_texts():
    fakes = [strings() for _ in range(3)]
    texts = as_texts(FakeStream(*fakes))
    part, some = texts[:1], texts.take(np.array([8]))
    batch = Batch(part[:1])
    del texts, part
    gc.collect()
    assert [fake.released for fake in fakes] == [0, 0, 0] and list(some) == ["cde"]
    del some
    assert [fake.released for fake in fakes] == [0, 0, 0] and batch.hashed(bytes) == [b"ab"]
    del batch
    assert [fake.released for fake in fakes] == [1, 1, 1]


def test_nothing_leaks():
    pa = pytest.importorskip("pyarrow")
    before = pa.total_allocated_bytes()
    for kind in ("string", "string_view", "string dictionary"):
        array = column(["some text that is not short"] * 999, kind)
        chunks = pa.chunked_array([array, array])
        for given_ in (array, chunks):
            texts = as_texts(given_)
            iterator = iter(texts[3:])
            next(iterator)
            del given_
        del array, chunks, texts
        assert next(iterator) == "some text that is not short"
        del iterator
        with pytest.raises(TypeError):
            as_texts(column(["a", None], kind))
    gc.collect()
    assert pa.total_allocated_bytes() == before
