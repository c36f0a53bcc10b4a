"""Texts compressed and back, with and without a dictionary."""

from __future__ import annotations

import sys

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store.text_codec import SAMPLES, TextCodec

TEXTS = [
    "", "short", "a" * 64, "a" * 1000, "\ud800 lone" * 50, b"", b"\xff\x00" * 100, "words of a page, again and again " * 40,
]


def page(i: int) -> str:
    return " ".join(f"word{(i * 7 + j * j) % 500}" for j in range(120))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_come_back(text):
    codec = TextCodec()
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    packed = codec.pack(data, isinstance(text, bytes))
    assert codec.unpack(packed) == text
    assert codec.pack_many([text, page(1)]) == [packed, codec.pack(page(1).encode(), False)]
    assert len(packed) <= len(data) + 1


def test_a_dictionary_shortens_texts_and_reads_those_before_it():
    pytest.importorskip("zstandard")
    codec = TextCodec()
    before = codec.pack(page(5000).encode(), False)
    for i in range(SAMPLES // 4):
        codec.sample(page(i), train=False)
    dictionary = codec.take_trained(wait=True)
    assert dictionary and codec.take_trained() is None
    codec.learn(dictionary)
    after = codec.pack(page(5000).encode(), False)
    assert len(after) < len(before)
    assert codec.unpack(before) == codec.unpack(after) == page(5000)
    assert codec.pack_many([page(5000), page(3)])[0] == after
    with pytest.raises(CorruptFile, match="dictionary is missing"):
        TextCodec().unpack(after)
    other = TextCodec()
    other.learn(dictionary)
    assert other.unpack(after) == page(5000)


def test_damaged_texts_are_refused():
    codec = TextCodec()
    packed = codec.pack(page(1).encode(), False)
    for bad in (b"", packed[:20], b"\x09" + packed[1:], packed[:1] + b"\x00" * 20, b"\x00\xff\xfe"):
        with pytest.raises(CorruptFile):
            codec.unpack(bad)


def test_without_zstandard_texts_are_packed_by_zlib(monkeypatch):
    pytest.importorskip("zstandard")
    written = TextCodec().pack(page(1).encode(), False)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    codec = TextCodec()
    assert codec.unpack(codec.pack(page(1).encode(), True)) == page(1).encode()
    codec.sample(page(1))
    assert codec.take_trained(wait=True) is None
    with pytest.raises(ImportError, match="ndcore"):
        codec.unpack(written)
