"""Texts in Arrow buffers: every producer, every layout, and arrays that are not what they say."""

from __future__ import annotations

import gc
import pickle
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
from ndcore._batch import Batch
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
