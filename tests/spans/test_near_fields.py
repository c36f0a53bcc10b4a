"""Fields near each other: brute force, templates, pairs that are remembered."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference import contamination as reference
from ndcore.spans import near_fields


def words(rng: random.Random, most: int, alphabet: int) -> list[str]:
    return [f"w{rng.randrange(alphabet)}" for _ in range(rng.randrange(most))]


@pytest.mark.parametrize(("pairs", "costly", "remembered"),
                         [(7, 1, 3), (1, 64, 1 << 20), (1 << 20, 2, 1 << 20), (1 << 20, 64, 1 << 20)])
def test_as_the_reference(monkeypatch, pairs, costly, remembered):
    """Four hundred cases each, also with work cut into small parts and pairs that are remembered and forgotten."""
    for name, value in (("PAIRS", pairs), ("COSTLY", costly), ("REMEMBERED", remembered)):
        monkeypatch.setattr(near_fields, name, value)
    rng, found = random.Random(pairs + costly), 0
    for _ in range(400):
        alphabet, length, near = rng.choice([2, 5, 12, 30]), rng.choice([1, 2, 3, 4, 6]), rng.choice([0, 1, 2, 5])
        items = [[[words(rng, 6, alphabet)], *([words(rng, 4, alphabet) for _ in range(rng.randrange(3))] for _ in "ab")]
                 for _ in range(rng.randrange(1, 5))]
        items.append([[["w0"]], [["w1"]], [["w1", "w0"]]])  # so that each field has a text
        documents = [words(rng, 25, alphabet) for _ in range(rng.randrange(4))]
        rows = [{name: list(map(" ".join, parts)) for name, parts in zip("qab", item, strict=True)} for item in items]
        result = nd.field_contamination(rows, map(" ".join, documents), ["q", "a", "b"], length, near=near, threads=1)
        expected = reference.stands_near(items, documents, length, near)
        assert result.near.tolist() == expected
        found += sum(sum(own[1:]) for own in expected)
        for item, field, document, first, start in zip(*(each.tolist() for each in result.near_places), strict=True):
            for of, at in ((0, first), (field, start)):
                assert any(part[:length] and documents[document][at : at + min(length, len(window))] == list(window)
                           for part in items[item][of] for window in [*map(tuple, _windows(part, length))])
    assert found > 100


def _windows(part: list[str], length: int) -> list[list[str]]:
    return [part[i : i + length] for i in range(max(1, len(part) - length + 1))] if part else []


def test_an_answer_in_the_question_itself_says_nothing():
    items = [{"q": "which is the larger one the sun or the moon", "a": "the sun"}]
    for text, near in (("Which is the larger one: the sun or the moon?", False),
                       ("Which is the larger one: the sun or the moon? The sun.", True)):
        assert nd.field_contamination(items, [text], ["q", "a"], 5, near=3).near.tolist() == [[True, near]]


def test_thousands_of_items_of_one_template_are_not_compared_one_by_one(monkeypatch):
    """Each pair of windows goes to its items once, from the window that few items have."""
    looked = []
    expand = near_fields.WindowHolders.expand

    def counted(self, windows):
        holders, which = expand(self, windows)
        looked.append(len(holders))
        return holders, which

    monkeypatch.setattr(near_fields.WindowHolders, "expand", counted)
    n = 3000
    question = "which of these statements about the old town is known to be true"
    items = [{"q": question, "a": [f"answer {i}", "nothing"]} for i in range(n)]
    corpus = [f"{question} answer {i}. {'and so on ' * 20} nothing" for i in range(n)]
    result = nd.field_contamination(items, corpus, ["q", "a"], 5, near=10)
    assert result.near.tolist() == [[True, True]] * n
    assert sum(looked) < 20 * n


def test_a_corpus_that_repeats_one_word(monkeypatch):
    """Of a window that recurs, two places in each stretch of near + 1 tokens are compared."""
    compared = []
    expand = near_fields.expand_ranges
    monkeypatch.setattr(near_fields, "expand_ranges", lambda *given: compared.append(expand(*given)) or compared[-1])
    items = [{"q": "no no no no", "a": "yes"}]
    result = nd.field_contamination(items, ["no " * 30_000 + "maybe yes " + "no " * 30_000 + "yes"], ["q", "a"], 4, near=30)
    assert result.near.tolist() == [[True, True]]
    assert sum(len(which) for which, _ in compared) < 30_000


def test_many_windows_within_a_large_distance_are_not_compared_in_pairs(monkeypatch):
    """In one long text of 4,000 questions and 4,000 answers, 16 million pairs would be compared."""
    compared = []
    expand = near_fields.expand_ranges
    monkeypatch.setattr(near_fields, "expand_ranges", lambda *given: compared.append(expand(*given)) or compared[-1])
    n = 4000
    items = [{"q": f"q{i}", "a": f"a{(i * 7) % n}"} for i in range(n)]
    far = [{"q": "first", "a": "last"}]
    text = f"first {' '.join(f'q{i} a{i}' for i in range(n))} last"
    result = nd.field_contamination(items + far, [text], ["q", "a"], 1, near=2 * n - 1)
    assert result.near.tolist() == [[True, True]] * n + [[True, False]]
    assert sum(len(which) for which, _ in compared) <= 2 * (2 * n + 2)  # the items of each hit, and no pairs


def test_places_of_one_item_do_not_reach_into_the_next(monkeypatch):
    """The last token answers the first item, and the first token asks the second."""
    monkeypatch.setattr(near_fields, "PAIRS", 8)  # nine pairs are too many to be compared
    items = [{"q": f"q{i}", "a": f"a{i}"} for i in range(3)]
    result = nd.field_contamination(items, ["q1 q2 q0 a1 a2 a0"], ["q", "a"], 1, near=10)
    assert result.near.tolist() == [[True, True]] * 3
    assert result.near_places.start.tolist() == [5, 3, 4]


def test_hits_of_no_item():
    result = nd.field_contamination([{"q": "a b", "a": "c"}], ["x", "c", "a b"], ["q", "a"], 2, near=5)
    assert result.near.tolist() == [[True, False]] and not len(result.near_places.item)
    assert np.array_equal(result.found(), [[True, True]])
