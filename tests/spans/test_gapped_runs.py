"""Runs with a gap: brute force, changes that are found and missed, templates, refusals."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference import contamination as reference
from ndcore.spans.gapped_runs import estimate_missed, seed_length


def words(rng: random.Random, most: int, alphabet: int) -> list[str]:
    return [f"w{rng.randrange(alphabet)}" for _ in range(rng.randrange(most))]


def changed(rng: random.Random, item: list[str]) -> list[str]:
    """Replace, insert or leave out words here and there."""
    copy: list[str] = []
    for word in item:
        copy += rng.choices([[word], [], [f"x{rng.randrange(9)}"], [word, "y"]], [17, 1, 1, 1])[0]
    return copy


@pytest.mark.parametrize("seed", range(4))
def test_as_the_reference(seed):
    """Two hundred cases each, as texts or as token ids: covered tokens of items and of documents."""
    rng, gapped = random.Random(seed), 0
    for _ in range(200):
        alphabet, length, gaps = rng.choice([2, 5, 30]), rng.choice([1, 2, 3, 4, 5, 6, 8]), rng.choice([1, 2, 4])
        items = [words(rng, rng.choice([6, 30]), alphabet) for _ in range(rng.randrange(5))]
        documents = [words(rng, 8, alphabet) + changed(rng, rng.choice(items)) + words(rng, 8, alphabet)
                     for _ in range(rng.randrange(4) if items else 0)]
        if seed % 2:
            result = nd.contamination(ids_of(items), ids_of(documents), length, gaps=gaps, threads=1)
        else:
            result = nd.contamination(map(" ".join, items), map(" ".join, documents), length, gaps=gaps, threads=1)
        expected = reference.cover_with_gaps(items, documents, length, gaps)
        assert result.covered.tolist() == [sum(flags) for flags in expected]
        runs = ["".join("x" if flag else " " for flag in flags).split() for flags in expected]
        assert result.longest.tolist() == [max(map(len, own), default=0) for own in runs]
        assert result.contaminated().tolist() == [any(flags) for flags in expected]
        exact = nd.contamination(map(" ".join, items), map(" ".join, documents), length, threads=1)
        assert (result.found == exact.found).all() and (result.grams == exact.grams).all()
        for d, document in enumerate(documents):
            flags = reference.mark_document_with_gaps(items, document, length, gaps)
            mine = result.spans.document == d
            ranges = list(zip(result.spans.start[mine].tolist(), result.spans.end[mine].tolist(), strict=True))
            assert [at for start, end in ranges for at in range(start, end)] == [at for at, flag in enumerate(flags) if flag]
            row = np.flatnonzero(result.documents.document == d)
            assert len(row) == any(flags)
            assert result.documents.covered[row].tolist() == [sum(flags)] * len(row)
            assert result.documents.tokens[row].tolist() == [len(document)] * len(row)
        n = seed_length(length)
        for item, start, end, d, there, behind in zip(*(each.tolist() for each in result.gapped), strict=True):
            assert items[item][start : start + n] == documents[d][there : there + n]
            assert items[item][end - n : end] == documents[d][behind - n : behind]
            gapped += 1
    assert gapped > 100


def ids_of(rows: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    numbers = [int(word[1:] or 0) * 3 + "wxy".index(word[0]) for row in rows for word in row]
    return np.array(numbers, np.uint16), np.cumsum([0, *map(len, rows)])


ITEM = [f"w{i}" for i in range(39)]


@pytest.mark.parametrize(("step", "change", "found"), [
    (8, ["other"], True), (7, ["other"], False),  # of 13 tokens a seed has 7: 7 unchanged ones are between two changes
    (8, ["two", "others"], True), (8, [], True), (8, ["one", "two", "three", "four"], False),
])
def test_which_changes_are_found(step, change, found):
    copy = [word for at, own in enumerate(ITEM) for word in (change if at % step == step - 1 else [own])]
    assert not nd.contamination([" ".join(ITEM)], [" ".join(copy)], 13).contaminated()[0]
    result = nd.contamination([" ".join(ITEM)], [" ".join(copy)], 13, gaps=3)
    assert result.contaminated().tolist() == [found]
    if found:
        assert result.covered[0] == 35 and result.spans.end[0] - result.spans.start[0] == len(copy)


def test_the_missed_share_is_what_the_formula_says():
    """Of a million words, one in ten changed: the share of unchanged words in shorter runs than a seed."""
    rng = np.random.default_rng(1)
    for length, rate in ((13, 0.1), (8, 0.05), (1, 0.2), (13, 0.0)):
        is_changed = np.append(rng.random(1_000_000) < rate, True)
        runs = np.diff(np.append(-1, np.flatnonzero(is_changed))) - 1
        missed = runs[runs < seed_length(length)].sum() / runs.sum()
        assert estimate_missed(length, rate) == pytest.approx(missed, abs=0.005)


def test_items_of_one_template_share_their_pairs():
    """Thousands of items have the same pairs of seeds, which are in the table once."""
    n = 2000
    question = "which of the following towns in the year {} was the first to have a public library of its own"
    items, corpus = ([question.format(f"{name}{i}") for i in range(n)] for name in "ab")
    result = nd.contamination(items, corpus, 13, gaps=2)
    assert result.contaminated().all() and not result.found.any() and len(result.spans.document) == n


def test_a_corpus_of_one_word():
    result = nd.contamination(["no " * 30], ["no " * 100_000], 13, gaps=4)
    assert result.covered.tolist() == [30] and result.spans.end.tolist() == [100_000] and not len(result.gapped.item)


def test_refusals_and_nothing():
    for gaps, error in ((-1, ValueError), (33, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="gaps"):
            nd.contamination(["a"], ["a"], gaps=gaps)
    with pytest.raises(ValueError, match="rule='palm' is about exact runs"):
        nd.contamination(["a"], ["a"], 8, gaps=1).contaminated("palm")
    empty = nd.contamination([], [], gaps=2)
    assert len(empty) == 0 and len(empty.gapped.item) == 0 and nd.contamination(["a"], ["a"]).gapped is None
