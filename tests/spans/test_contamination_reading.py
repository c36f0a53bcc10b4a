"""Items that are ready to be looked for: symbols that collide, tokens by their numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import contamination_reading as module


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
        search: module.Search = module.TextSearch(*TEXTS, nd.Shingling(), 2, 1)
    else:
        items, corpus = ((ids, np.array(offsets)) for ids, offsets in IDS)
        search = module.IdSearch(items, corpus, 2)
    (piece,) = search.pieces()
    found = search.look_up(piece)
    assert search.offsets.tolist() == [0, 3, 3, 4]
    assert (found.documents, found.tokens, found.holders.tolist(), found.sizes.tolist()) == (4, 9, [0, 3], [5, 3])
    assert found.counts.tolist() == [3, 3]  # one two, two three, two; two, one two, two
    firsts, counts, places = (np.array(some, np.int64) for some in ([0, 1, 1, 2], [1, 2, 2, 0], [1, 0, 1, 3]))
    same = search.same(found.tapes[1], firsts, counts, places)  # two; one two; one two is not two three
    assert same.tolist() == [True, True, False, True]
