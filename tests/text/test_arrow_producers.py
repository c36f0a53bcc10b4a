"""Arrow arrays of any content: what is valid, what is refused, and when it is released."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from arrowfakes import Array, Fake, FakeStream, Schema, i32, i64, indexed, release_of, strings, view, views

import ndcore as nd
from ndcore._batch import Batch
from ndcore.text.inputs import as_texts

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
    assert stream.released == 1 and [part.released for part in parts] == [k < stream.taken for k in range(2)]


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
    released.schema.release = release_of(Schema)()
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
