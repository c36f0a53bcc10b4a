"""Contamination: brute force, short items, awkward texts, places and spans, colliding tokens, refusals."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from generated import texts
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import repeats as reference
from ndcore.spans import reading

LENGTHS = st.sampled_from([1, 2, 3, 4, 6, 7, 8, 13])


def words(rng: random.Random, most: int, alphabet: int) -> list[str]:
    return [f"w{rng.randrange(alphabet)}" for _ in range(rng.randrange(most))]


def planted(rng: random.Random) -> tuple[list[list[str]], list[list[str]]]:
    """Make items, and documents into which parts of them were put."""
    alphabet = rng.choice([2, 6, 1000])
    items = [words(rng, rng.choice([4, 15, 40]), alphabet) for _ in range(rng.randrange(7))]
    documents = [words(rng, 60, alphabet) for _ in range(rng.randrange(5))]
    for document in documents:
        for _ in range(rng.randrange(4) if items else 0):
            item = rng.choice(items)
            begin, end = sorted(rng.randrange(len(item) + 1) for _ in range(2))
            at = rng.randrange(len(document) + 1)
            document[at:at] = item[begin:end]
    return items, documents


def joined(rows: list[list[str]]) -> list[str]:
    return [" ".join(row) for row in rows]


def counts(found: nd.Contamination) -> list[tuple[int, ...]]:
    names = ("tokens", "covered", "grams", "found", "longest")
    return list(zip(*(getattr(found, name).tolist() for name in names), strict=True))


# ---------------------------------------------------------------------------------------------- brute force


@given(st.randoms(use_true_random=False), LENGTHS)
@settings(max_examples=100)
def test_items_as_the_reference(rng, length):
    items, documents = planted(rng)
    found = nd.contamination(joined(items), iter(joined(documents)), length)
    assert counts(found) == reference.contamination(items, documents, length)
    assert (found.corpus_documents, found.corpus_tokens) == (len(documents), sum(map(len, documents)))


@given(st.randoms(use_true_random=False), LENGTHS)
@settings(max_examples=60)
def test_places_and_spans_by_brute_force(rng, length):
    items, documents = planted(rng)
    found = nd.contamination(joined(items), joined(documents), length)
    expected = {}  # where each window of each item occurs first
    for i, item in enumerate(items):
        for x, window in enumerate(reference.windows(item, length)):
            places = [(d, at) for d, document in enumerate(documents) for at in range(len(document) - len(window) + 1)
                      if tuple(document[at : at + len(window)]) == window]
            if places:
                expected[i, x] = places[0]
    seen = {}
    for i, start, end, d, at in zip(*(part.tolist() for part in found.places), strict=True):
        width = min(length, len(items[i]))
        assert items[i][start:end] == documents[d][at : at + end - start]
        seen |= {(i, x): (d, at + x - start) for x in range(start, end - width + 1)}
    assert seen == expected
    own = {tuple(window) for item in items for window in reference.windows(item, length)}
    for d, document in enumerate(documents):
        flags = [any(tuple(document[at : at + len(window)]) == window for window in own
                     for at in range(max(0, x - len(window) + 1), min(x, len(document) - len(window)) + 1))
                 for x in range(len(document))]
        chosen = found.spans.document == d
        mine = list(zip(found.spans.start[chosen].tolist(), found.spans.end[chosen].tolist(), strict=True))
        assert [x for begin, end in mine for x in range(begin, end)] == [x for x, flag in enumerate(flags) if flag]
        assert all(a[1] < b[0] for a, b in itertools.pairwise(mine))
        row = np.flatnonzero(found.documents.document == d)
        assert len(row) == any(flags)
        for r in row.tolist():
            assert (found.documents.tokens[r], found.documents.covered[r]) == (len(document), sum(flags))
            assert found.documents.longest[r] == max(end - begin for begin, end in mine)
    for d, start, end, i, at in zip(*(part.tolist() for part in found.spans), strict=True):
        width = min(length, len(items[i]), end - start)
        assert documents[d][start : start + width] == items[i][at : at + width]


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4), st.sampled_from([1, 2, 5]),
       st.sampled_from(["word", "char", "grapheme", "line", "sentence", "byte"]))
def test_awkward_texts_as_the_reference(items, documents, length, unit):
    shingling = nd.Shingling(unit)
    found = nd.contamination(items, documents + items[:1], length, shingling=shingling)
    tokens = [[shingling.tokens(text) for text in part] for part in (items, documents + items[:1])]
    assert counts(found) == reference.contamination(*tokens, length)


def test_threads_and_pieces_change_nothing():
    rng = random.Random(1)
    items = [words(rng, 80, 500) for _ in range(300)]
    documents = [words(rng, 3000, 500) for _ in range(900)]
    for document in documents[::3]:
        document[len(document) // 2 : len(document) // 2] = rng.choice(items)
    corpus = joined(documents)
    found = [nd.contamination(joined(items), given, 13, threads=threads)
             for given, threads in ((corpus, 1), (corpus, 3), (iter(corpus), 2), (np.array(corpus, object), 2))]
    for other in found[1:]:
        assert counts(other) == counts(found[0])
        for name in ("places", "spans", "documents"):
            for a, b in zip(getattr(found[0], name), getattr(other, name), strict=True):
                np.testing.assert_array_equal(a, b)
    assert found[0].contaminated().sum() > 150


def test_stop_words_normal_forms_and_callables():
    shingling = nd.Shingling(normalize="NFKC", stop_words=["the"])
    found = nd.contamination(["ﬁve big the cats"], ["FIVE the big the CATS"], 3, shingling=shingling)
    assert counts(found) == [(3, 3, 1, 1, 3)]
    by_blanks = nd.Shingling(unit=str.split)
    assert counts(nd.contamination(["a, b"], ["x a, b", "a b"], 2, shingling=by_blanks)) == [(2, 2, 1, 1, 2)]


# ---------------------------------------------------------------------------------------------- token ids


def ids_of(rows: list[list[str]], dtype: type, place: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Number words by their digits: 65,535 − 7 n, or the same behind 2^60; a memory map where a place is given."""
    numbers = np.array([65535 - 7 * int(word[1:]) for row in rows for word in row], np.uint64)
    ids = (numbers + (1 << 60 if dtype is np.uint64 else 0)).astype(dtype)
    if place is not None and len(ids):
        ids.tofile(place)
        ids = np.memmap(place, dtype, "r")
    return ids, np.cumsum([0, *map(len, rows)])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("length", [1, 3, 8])
def test_token_ids_as_texts(monkeypatch, tmp_path, dtype, length):
    rng = random.Random(length)
    monkeypatch.setattr(reading, "PIECE_TOKENS", 50)
    for _ in range(10):
        items, documents = planted(rng)
        ids = nd.contamination(ids_of(items, dtype), ids_of(documents, dtype, tmp_path / "ids"), length, threads=2)
        of_texts = nd.contamination(joined(items), joined(documents), length)
        assert counts(ids) == counts(of_texts)
        assert (ids.corpus_documents, ids.corpus_tokens) == (of_texts.corpus_documents, of_texts.corpus_tokens)
        for name in ("places", "spans", "documents"):
            for a, b in zip(getattr(ids, name), getattr(of_texts, name), strict=True):
                np.testing.assert_array_equal(a, b)


def test_long_documents_of_ids_and_items_of_another_width():
    corpus = np.arange(60_000, dtype=np.uint16)
    found = nd.contamination((np.arange(40_000, 40_100, dtype=np.uint32), [0, 50, 100]), (corpus, [0, 60_000]), 50)
    assert found.covered.tolist() == [50, 50] and found.places.document_start.tolist() == [40_000, 40_050]
    assert [part.tolist() for part in found.spans[:3]] == [[0], [40_000], [40_100]]


# ---------------------------------------------------------------------------------------------- tokens decide


def test_tokens_that_collide_are_told_apart(monkeypatch):
    """Take the polynomials' secret away and forge a token with the symbol of another: it is no occurrence."""
    open_shingling = nd.Shingling(width=1)
    q = open_shingling.token_polynomial
    word = b"contaminating"
    other = (int.from_bytes(word, "big") ^ q << 32).to_bytes(13, "big")
    byte = nd.Shingling(unit=lambda text: [other if part == "FORGED" else part for part in text.split()])
    known = nd.Shingling(unit=byte.unit, width=1)
    monkeypatch.setattr(nd.Shingling, "random", classmethod(lambda cls, *_, **__: known))
    documents = ["a b FORGED c", "a b contaminating c"]
    values = [known.fingerprints(text).tolist() for text in documents]
    assert values[0] == values[1] and known.tokens(documents[0]) != known.tokens(documents[1])
    found = nd.contamination(["b contaminating c"], documents[:1], 2, shingling=byte)
    assert counts(found) == [(3, 0, 2, 0, 0)] and not len(found.spans.document) and not len(found.documents.document)
    found = nd.contamination(["b contaminating c"], documents, 2, shingling=byte)
    assert counts(found) == [(3, 3, 2, 2, 3)] and found.places.document.tolist() == [1]


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"min_tokens": 0}, ValueError, "min_tokens"), ({"min_tokens": 1025}, ValueError, "min_tokens"),
    ({"min_tokens": 2.0}, TypeError, "min_tokens"), ({"threads": 0}, ValueError, "threads"),
    ({"shingling": "word"}, TypeError, "shingling"), ({"items": "text"}, TypeError, "str"),
    ({"items": [1]}, TypeError, "document 0 is 1"), ({"corpus": ["a", None]}, TypeError, "document 1 is None"),
    ({"corpus": iter(["a", 7])}, TypeError, "document 1 is 7"), ({"corpus": "text"}, TypeError, "str"),
    ({"corpus": (np.zeros(1, np.uint16), [0, 1])}, TypeError, "corpus are token ids, and items is of type list"),
    ({"items": (np.zeros(1, np.uint16), [0, 1])}, TypeError, "items are token ids, and corpus is of type list"),
    ({"items": (np.zeros(1, np.uint16), [0, 1]), "corpus": None}, TypeError, "corpus is None"),
])  # fmt: skip
def test_refusals(given, error, message):
    with pytest.raises(error, match=message):
        nd.contamination(**{"items": ["a"], "corpus": ["a"]} | given)


def test_nothing():
    found = nd.contamination([], [])
    assert (len(found), found.corpus_documents, found.contaminated().tolist()) == (0, 0, [])
    found = nd.contamination(["", "a"], [""], 3)
    assert counts(found) == [(0, 0, 0, 0, 0), (1, 0, 1, 0, 0)]
    assert not found.tokens.flags.writeable and not found.places.item.flags.writeable


def test_progress_counts_documents():
    told = []
    nd.contamination(["a b"], (f"document {i}" for i in range(5)), 2, progress=lambda *told_of: told.append(told_of))
    assert told[-1] == ("looking for the items", 5, 5)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space are tested on Linux")
def test_items_of_every_length_reserve_what_they_need():
    """Room for each length at each token of a document would be 6 GB."""
    script = """
import resource, numpy as np, ndcore as nd
rng = np.random.default_rng(1)
sizes = np.arange(1, 257)
offsets = np.append(0, np.cumsum(sizes))
items = rng.integers(0, 1 << 40, offsets[-1]).astype(np.uint64)
document = rng.integers(0, 1 << 40, 2_000_000).astype(np.uint64)
document[-256:] = items[offsets[-2]:]
nd.contamination((items, offsets), (document[:9], [0, 9]), 256, threads=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000,) * 2)
found = nd.contamination((items, offsets), (document, [0, len(document)]), 256, threads=1)
assert found.covered.nonzero()[0].tolist() == [255], found.covered
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_every_length_at_every_token_is_found():
    sizes, n = np.arange(1, 41), 3000
    items = np.zeros(sizes.sum(), np.uint8)
    found = nd.contamination((items, np.append(0, np.cumsum(sizes))), (np.zeros(n, np.uint8), [0, n]), 40)
    assert found.covered.tolist() == sizes.tolist()
    assert found.documents.covered.tolist() == [n]
    assert len(found.spans.start) == 1
