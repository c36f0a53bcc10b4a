"""Digests of texts: the kernel, its seams, and the documents that are digested one by one, against `hashlib`."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

import ndcore as nd
from ndcore._batch import Batch

KERNEL = "digest"
LENGTHS = [0, 1, 127, 128, 129, 255, 256, 257, 1000]


def blake2b(data):
    return hashlib.blake2b(data, digest_size=16).digest()


def test_texts_of_all_lengths_in_any_order_have_the_digests_of_hashlib(variant):
    rng = random.Random(1)
    for count in (0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 600):
        texts = [rng.randbytes(rng.choice([*LENGTHS, rng.randrange(2000)])) for _ in range(count)]
        digests = Batch(texts).digests()
        assert digests.shape == (count, 16) and digests.dtype == np.uint8
        assert [row.tobytes() for row in digests] == [blake2b(text) for text in texts]


def test_long_texts_are_digested_alone_and_positions_choose_and_repeat(variant):
    texts = [b"a" * 200_000, b"b" * 100_000, b"c" * 300_000, b"", "\u00e9\ud800" * 3, b"d" * 262_144, b"e" * 262_145]
    expected = [blake2b(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")) for text in texts]
    batch = Batch(texts)
    assert [row.tobytes() for row in batch.digests()] == expected
    assert [row.tobytes() for row in batch.digests(np.array([6, 2, 2, 0, 4]))] == [expected[i] for i in (6, 2, 2, 0, 4)]
    for wrong in (-1, len(texts)):
        with pytest.raises(IndexError, match=f"document {wrong} of {len(texts)}"):
            batch.digests([0, wrong])


def test_canonical_bytes_have_the_digests_of_hashlib(variant):
    """Short documents wait for others, long ones do not, and empty ones count."""
    few = ["", "short", "x" * 60_000, "y" * 60_000, "words " * 20_000, "", "z" * 140_000]
    shingling = nd.Shingling()
    batch = shingling.batch([*few, *(f"text {i}" for i in range(1500))])
    expected = shingling.shingler.canonical(batch, blake2b)
    assert [row.tobytes() for row in shingling.shingler.digests(batch)] == expected
    assert [row.tobytes() for row in nd.MinHasher(4).sketch_batch(batch, 0, True).digests] == expected
    assert nd.MinHasher(4).sketch_batch(batch).digests is None
    positions = [1506, 6, 6, 0, 4, *range(1505)]
    assert [row.tobytes() for row in shingling.shingler.digests(batch, positions)] == [expected[i] for i in positions]
    for wrong in (-1, 1507):
        with pytest.raises(IndexError, match=f"document {wrong} of 1507"):
            shingling.shingler.digests(batch, [0, wrong])


def test_canonical_tokens_of_ones_own_are_digested_as_they_are():
    shingling = nd.Shingling(unit=lambda text: text.split("|"), width=1)
    batch = shingling.batch(["a|b", "", "c" * 140_000])
    assert [row.tobytes() for row in shingling.shingler.digests(batch)] == shingling.shingler.canonical(batch, blake2b)
