"""Items that are ready to be looked for: symbols that collide, tokens by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import contamination_reading as module
from ndcore.spans.contamination_reading import unite_ranges


def test_items_with_colliding_tokens_are_read_again_with_another_secret(monkeypatch):
    answers = [False, True]
    monkeypatch.setattr(module, "_differ", lambda *_: answers.pop(0))
    assert nd.contamination(["a b"], ["a b"], 2).covered.tolist() == [2]
    assert answers == []


def test_different_tokens_with_one_symbol_are_seen():
    symbols, numbers = np.array([5, 6, 5], np.uint64), np.array([0, 1, 0], np.uint32)
    assert module._differ(symbols, numbers, 2)
    assert not module._differ(np.array([5, 5], np.uint64), np.array([0, 1], np.uint32), 2)


TEXTS = ["one two three", "", "two"], ["zero one two three four", "", "five", "two one two"]
IDS = (np.array([1, 2, 3, 2], np.uint16), [0, 3, 3, 4]), (np.array([0, 1, 2, 3, 4, 5, 2, 1, 2], np.uint32), [0, 5, 5, 6, 9])


@pytest.mark.parametrize("kind", ["texts", "ids"])
def test_what_is_found_in_a_piece(kind):
    if kind == "texts":
        search: module.ItemSearch = module.TextSearch(*TEXTS, nd.Shingling(), 2, 1)
    else:
        items, corpus = ((ids, np.array(offsets)) for ids, offsets in IDS)
        search = module.IdSearch(items, corpus, 2)
    (piece,) = search.pieces()
    found = search.look_up(piece)
    assert search.offsets.tolist() == [0, 3, 3, 4]
    assert (found.documents, found.tokens, found.holders.tolist(), found.sizes.tolist()) == (4, 9, [0, 3], [5, 3])
    assert found.counts.tolist() == [3, 3]  # one two, two three, two; two, one two, two
    hits = sorted(zip(np.repeat(found.holders, found.counts).tolist(), found.positions.tolist(), strict=True))
    assert hits == [(0, 1), (0, 2), (0, 2), (3, 0), (3, 1), (3, 2)]


def test_windows_whose_tokens_differ_are_no_hits(monkeypatch):
    """Give two tokens one symbol: the document has all symbols of the item, and two of its windows have other tokens."""
    search = module.TextSearch(["a b c d e f"], ["none", "a b c x e f", "c x", "e f"], nd.Shingling(), 2, 1)
    monkeypatch.setattr(search, "_secret", Swapped(search._secret))
    found = search.look_up((5, ["none", "a b c x e f", "c x", "e f"]))
    assert (found.documents, found.tokens, found.holders.tolist(), found.sizes.tolist()) == (4, 11, [6, 8], [6, 2])
    assert (found.counts.tolist(), found.positions.tolist()) == ([3, 1], [0, 1, 4, 0])
    assert search.grams.places[found.numbers].tolist() == [0, 1, 4, 4]


class Swapped:
    """A shingling whose symbols are those of texts with d for x, and whose tokens are not."""

    def __init__(self, real: nd.Shingling) -> None:
        self.real, self.shingler = real, self

    def batch(self, texts):
        return texts

    def symbols(self, texts, sink):
        return self.real.shingler.symbols(self.real.batch([text.replace("x", "d") for text in texts]), sink)

    def canonical(self, texts, kind, rows):
        return self.real.shingler.canonical(self.real.batch(texts), kind, rows)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_ranges_that_overlap_or_touch_are_one():
    starts, ends, begun = unite_ranges(ints(0, 0, 0, 0, 1, 1), ints(0, 2, 5, 9, 0, 3), ints(3, 5, 6, 10, 1, 4))
    assert (starts.tolist(), ends.tolist(), begun.tolist()) == ([0, 9, 0, 3], [6, 10, 1, 4], [0, 3, 4, 5])
    starts, ends, _ = unite_ranges(ints(0, 0), ints(0, 1), ints(9, 3))  # the second lies within the first
    assert (starts.tolist(), ends.tolist()) == ([0], [9])
    assert [len(part) for part in unite_ranges(ints(), ints(), ints())] == [0, 0, 0]


def test_hits_that_are_noted_at_once_and_together(monkeypatch):
    """Note hits after each piece, and all at the end."""
    items, documents = ["a b c d", "x y z"], ["1 a b c d 2", "none", "y z x y z", "b c d"] * 300
    found = []
    for waiting in (1, 1 << 40):
        monkeypatch.setattr(module, "WAITING", waiting)
        found.append(nd.contamination(items, documents, 2, threads=2))
    for name in ("places", "spans", "documents"):
        for a, b in zip(*(getattr(each, name) for each in found), strict=True):
            np.testing.assert_array_equal(a, b)
    assert found[0].covered.tolist() == [4, 3] and len(found[0].documents.document) == 900
