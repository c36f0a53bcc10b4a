"""What is accepted as texts, and how what is not is named."""

from __future__ import annotations

import array
import io
from collections import UserList, deque
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore.text.inputs import as_texts, lengths, pieces

TEXTS = ["a rose", "", "ein Straßenname", "人", "x\ud800y"]
UTF8 = ["a rose", "", "ein Straßenname", "人"]  # what Arrow can hold

# ---------------------------------------------------------------------------------------------- accepted


@pytest.mark.parametrize(
    "kind",
    [list, tuple, iter, deque, UserList, lambda texts: (text for text in texts),
     lambda texts: map(str, texts),
     lambda texts: np.array(texts), lambda texts: np.array(texts, object), lambda texts: np.array(texts * 2)[: len(texts)],
     lambda texts: np.array(texts, np.dtypes.StringDType()) if "\ud800" not in "".join(texts) else texts],
    ids=["list", "tuple", "iterator", "deque", "UserList", "generator", "map", "U", "O", "view", "StringDType"],
)  # fmt: skip
def test_iterables_and_numpy(kind):
    for texts in (TEXTS, UTF8):
        expected = nd.MinHasher(8).sketch_many(texts).values
        np.testing.assert_array_equal(nd.MinHasher(8).sketch_many(kind(texts)).values, expected)
        assert list(as_texts(kind(texts))) == texts
        np.testing.assert_array_equal(nd.near_duplicates(kind(texts)).sketches.values[:, :8], expected)


def test_bytes_and_both_together():
    data = [text.encode("utf-8", "surrogatepass") for text in TEXTS]
    expected = nd.MinHasher(8).sketch_many(TEXTS).values
    lines = io.BytesIO(b"\n".join(data))
    for texts in (data, np.array(data), np.array(data, object), [TEXTS[0], data[1], *TEXTS[2:]], lines):
        found = nd.MinHasher(8).sketch_many(texts).values
        np.testing.assert_array_equal(found, expected)


class Title(str):
    """A str of the user's own."""


def test_subclasses_of_str_and_bytes():
    texts = [Title("a rose"), np.str_("a rose"), np.bytes_(b"a rose"), "a rose"]
    assert len({tuple(row.tolist()) for row in nd.MinHasher(8).sketch_many(texts)}) == 1
    assert nd.near_duplicates(texts).labels.tolist() == [0] * 4


def test_none_at_all():
    for texts in ([], (), iter([]), np.array([], "U3"), np.array([], object), deque()):
        assert list(as_texts(texts)) == []


# ---------------------------------------------------------------------------------------------- columns of others


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "binary", "large_binary", "dictionary", "chunked", "table"]
)
def test_pyarrow(kind):
    pa = pytest.importorskip("pyarrow")
    column = {
        "chunked": lambda: pa.chunked_array([UTF8[:1], [], UTF8[1:]], pa.string()),
        "dictionary": lambda: pa.array(UTF8).dictionary_encode(),
        "table": lambda: pa.table({"text": UTF8})["text"],
    }.get(kind, lambda: pa.array(UTF8 if "string" in kind else [t.encode() for t in UTF8], getattr(pa, kind)()))()
    expected = nd.MinHasher(8).sketch_many(UTF8).values
    np.testing.assert_array_equal(nd.MinHasher(8).sketch_many(column).values, expected)
    assert nd.near_duplicates(column).labels.tolist() == [0, 1, 2, 3]


class Producer:
    """Something of another library that speaks the PyCapsule protocol of Arrow and nothing else."""

    def __init__(self, column, streams):
        self.column, self.streams = column, streams

    def __getattr__(self, name):
        if name == ("__arrow_c_stream__" if self.streams else "__arrow_c_array__"):
            return getattr(self.column, name)
        raise AttributeError(name)


@pytest.mark.parametrize("streams", [True, False])
def test_the_pycapsule_protocol(streams):
    pa = pytest.importorskip("pyarrow")
    column = pa.chunked_array([UTF8[:2], UTF8[2:]]) if streams else pa.array(UTF8)
    assert list(as_texts(Producer(column, streams))) == UTF8


def test_pyarrow_nulls_are_named():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match=r"document 2 is None \(a missing value\)"):
        nd.MinHasher().sketch_many(pa.array(["a", "b", None]))


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_pandas(dtype):
    pd = pytest.importorskip("pandas")
    series = pd.Series(UTF8, index=[7, 7, 1, 0], dtype=dtype)
    assert list(as_texts(series)) == UTF8
    with pytest.raises(TypeError, match="document 1 is "):
        as_texts(pd.Series(["a", None], dtype=dtype))


def test_polars():
    pl = pytest.importorskip("polars")
    assert list(as_texts(pl.Series(UTF8))) == UTF8
    with pytest.raises(TypeError, match="document 1 is None"):
        as_texts(pl.Series(["a", None]))


# ---------------------------------------------------------------------------------------------- refused

CALLS = [
    as_texts, nd.near_duplicates, nd.MinHasher().sketch_many, nd.BottomSketcher().sketch_many,
    nd.Shingling().fingerprints_many,
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a single text", r"texts is one str; give a list of documents, \[text\] for a single one"),
        (b"a single text", "texts is one bytes; give a list"),
        (np.str_("text"), "texts is one str"),
        (np.array("a single text"), "texts"),
        (["a", None], r"document 1 is None \(a missing value\); texts are str or bytes"),
        (["a", "b", float("nan")], "document 2 is nan of type float; texts are str or bytes"),
        (("a", 5), "document 1 is 5 of type int"),
        ([bytearray(b"a")], "document 0 is bytearray"),
        ([["a"]], "document 0 is .* of type list"),
        (np.array(["a", None], object), "document 1 is None"),
        (np.array([["a", "b"]]), "document 0 is .* of type list"),
        (np.array([1, 2]), "document 0 is 1 of type int"),
        (array.array("i", [3]), "document 0 is 3 of type int"),
        (bytearray(b"abc"), "document 0 is 97 of type int"),
        (None, r"texts is None \(a missing value\); give a list or another iterable"),
        (7, "texts is 7 of type int; give a list"),
    ],
    ids=lambda value: None if not isinstance(value, str) else value[:25],
)
def test_refusals(call, texts, message):
    with pytest.raises(TypeError, match=message):
        call(texts)


def test_long_elements_are_cut_in_messages():
    with pytest.raises(TypeError) as error:
        as_texts(["a", ["x" * 10_000]])
    assert len(str(error.value)) < 200


# ---------------------------------------------------------------------------------------------- pieces


def test_every_thread_gets_several_pieces():
    texts = ["x" * 10_000] * 200
    assert len(list(pieces(texts))) == 2
    for threads, expected in ((2, 17), (3, 25), (8, 34)):  # of 12, 8 and, the least, 6 texts
        parts = list(pieces(texts, threads=threads))
        assert len(parts) == expected and sum(len(part) for _, part in parts) == 200
        assert [first for first, _ in parts] == list(range(0, 200, len(parts[0][1])))
    assert len(list(pieces(texts, 1000, threads=2))) == 200
    assert list(pieces([], threads=2)) == []


@pytest.mark.parametrize(
    "lengths", [[], [0], [0, 0, 0], [5], [100], [100, 100], [3, 3, 3, 3, 100, 1, 0], [10] * 25, [11, 0, 0]]
)
def test_pieces_are_consecutive_and_bounded(lengths):
    texts = ["x" * n for n in lengths]
    found = list(pieces(texts, 10))
    assert [text for _, part in found for text in part] == texts
    at = 0
    for first, part in found:
        assert first == at and part
        assert sum(map(len, part)) <= 10 or len(part) == 1
        at += len(part)


class OfMyOwn(list[str]):
    """A list, as libraries derive theirs from it."""


def test_lists_of_another_class_are_lists() -> None:
    texts = ["a b c d e f", "a b c d e f!", "something else"]
    assert type(as_texts(OfMyOwn(texts))) is list and lengths(OfMyOwn(texts)).tolist() == [11, 12, 14]
    assert nd.near_duplicates(OfMyOwn(texts)).labels.tolist() == nd.near_duplicates(texts).labels.tolist() == [0, 0, 2]
    assert (nd.MinHasher().sketch_many(OfMyOwn(texts)).values == nd.MinHasher().sketch_many(texts).values).all()


@pytest.mark.parametrize("kind", [lambda text: np.bytes_(text.encode()), np.str_])
def test_texts_of_numpy_are_cut_like_others(kind: Any) -> None:
    texts = ["a b c d e f g h i j"] * 2
    left = list(nd.repeats([kind(text) for text in texts], min_tokens=5).cleaned())
    assert left == [texts[0].encode(), b""] if kind is not np.str_ else left == [texts[0], ""]
