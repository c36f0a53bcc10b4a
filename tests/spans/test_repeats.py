"""`repeats` against the brute force of the definitions, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore._repeats import Rows
from ndcore.reference import repeats as reference
from ndcore.spans import repeats_rows, repeats_windows

WORDS = st.lists(st.sampled_from("abc"), max_size=12)
COLLECTIONS = st.lists(WORDS, max_size=6)


def texts_of(documents: Any) -> list[str]:
    return [" ".join(document) for document in documents]


def rows_of(found: nd.Repeats) -> list[tuple[int, ...]]:
    columns = (found.documents, found.starts, found.ends, found.sources, found.source_starts, found.copies)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def expected_rows(collection: reference.TokenizedCollection, n: int) -> list[tuple[int, ...]]:
    return [tuple(row) for d in range(n) for row in collection.rows(d)]


def marked(ranges: Any, sizes: list[int]) -> list[list[bool]]:
    marks = [[False] * size for size in sizes]
    for document, first, last in zip(*(part.tolist() for part in ranges), strict=True):
        marks[document][first:last] = [True] * (last - first)
    return marks


def check(documents: Any, min_tokens: int, collection: reference.TokenizedCollection, n: int, **options: Any) -> None:
    found = nd.repeats(texts_of(documents[:n]), min_tokens, threads=1, **options)
    assert rows_of(found) == expected_rows(collection, n)
    sizes = [len(document) for document in documents[:n]]
    assert marked(found.cuts("one"), sizes) == [collection.repeated(d) for d in range(n)]
    assert marked(found.cuts("none"), sizes) == [collection.cut_none(d) for d in range(n)]
    assert found.sizes.tolist() == sizes
    assert found.tokens == sum(map(sum, marked(found.cuts("one"), sizes)))


@settings(max_examples=60, deadline=None)
@given(COLLECTIONS, st.integers(1, 5), st.booleans())
def test_rows_are_those_of_the_brute_force(documents, min_tokens, within):
    collection = reference.TokenizedCollection(documents, min_tokens, within=within)
    check(documents, min_tokens, collection, len(documents), within=within)


@settings(max_examples=40, deadline=None)
@given(COLLECTIONS, st.integers(1, 4), st.integers(2, 4), st.none() | st.integers(4, 6), st.randoms(use_true_random=False))
def test_copies_labels_and_order_are_those_of_the_brute_force(documents, min_tokens, fewest, most, random):
    n = len(documents)
    labels, priorities = [random.randint(0, 1) for _ in range(n)], [random.randint(0, 2) for _ in range(n)]
    order = sorted(range(n), key=priorities.__getitem__)
    collection = reference.TokenizedCollection(documents, min_tokens, order, labels, fewest, most)
    check(documents, min_tokens, collection, n, by=labels, keep=priorities, min_copies=fewest, max_copies=most)


@settings(max_examples=40, deadline=None)
@given(COLLECTIONS, COLLECTIONS, st.lists(WORDS, max_size=2), st.integers(1, 4), st.booleans())
def test_other_collections_are_those_of_the_brute_force(documents, others, exceptions, min_tokens, has_others):
    n = len(documents)
    every = documents + (others if has_others else [])
    against = frozenset(range(n, len(every))) if has_others else None
    order = [*range(n, len(every)), *range(n)]
    collection = reference.TokenizedCollection(every, min_tokens, order, against=against, exceptions=exceptions)
    check(every, min_tokens, collection, n, against=texts_of(others) if has_others else None,
          exceptions=texts_of(exceptions))


@settings(max_examples=60, deadline=None)
@given(COLLECTIONS, st.integers(1, 5), st.booleans(), st.integers(1, 9))
def test_steps_of_any_size_have_the_rows_of_the_brute_force(documents, min_tokens, within, step):
    collection = reference.TokenizedCollection(documents, min_tokens, within=within)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((repeats_windows, "STEP"), (repeats_windows, "RUNS"), (repeats_rows, "STEP")):
            patch.setattr(module, name, step)
        check(documents, min_tokens, collection, len(documents), within=within)


@settings(max_examples=60, deadline=None)
@given(COLLECTIONS, st.integers(1, 4), st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64]))
def test_token_ids_have_the_rows_of_their_texts(documents, min_tokens, dtype):
    ids = np.array(["abc".index(token) for document in documents for token in document], dtype)
    offsets = np.cumsum([0, *map(len, documents)])
    found, of_texts = nd.repeats((ids, offsets), min_tokens), nd.repeats(texts_of(documents), min_tokens)
    assert rows_of(found) == rows_of(of_texts)
    kept, left = found.kept()
    ranges = found.cuts()
    assert kept.tolist() == [not mark for marks in marked(ranges, found.sizes.tolist()) for mark in marks]
    assert left.tolist() == np.cumsum([0, *(found.sizes - found.repeated)]).tolist()


@pytest.mark.parametrize(("dtype", "other"), [(np.uint16, np.uint32), (np.uint64, np.uint8), (np.dtype(">u2"), np.uint16)])
def test_token_ids_of_several_types(dtype, other):
    ids, others = np.array([1, 2, 3, 4, 5, 6, 7, 8], dtype), np.array([9, 3, 4, 5, 6, 9], other)
    assert rows_of(nd.repeats((ids, [0, 8]), 3, against=(others, [0, 6]))) == [(0, 2, 6, 1, 1, 2)]


def test_a_window_is_not_repeated_by_one_that_it_overlaps():
    found = nd.repeats(["a a a a a"], 3)  # windows at 0, 1 and 2; the nearest apart would begin at 3
    assert rows_of(found) == []
    assert rows_of(nd.repeats(["a a a a a a"], 3)) == [(0, 3, 6, 0, 0, 4)]  # four places, two of them apart


def test_no_window_crosses_the_bounds_of_a_document():
    assert len(nd.repeats(["a b", "c d", "a b c d"], 3)) == 0
    assert rows_of(nd.repeats(["a b", "c d", "a b c d"], 2)) == [(2, 0, 2, 0, 0, 2), (2, 2, 4, 1, 0, 2)]


def test_the_longest_run_wins_and_of_its_sources_the_earliest():
    texts = ["x a b c", "a b c d", "y a b c d", "a b c d"]
    assert rows_of(nd.repeats(texts, 2)) == [(1, 0, 3, 0, 1, 4), (2, 1, 5, 1, 0, 3), (3, 0, 4, 1, 0, 3)]


def test_a_row_may_be_the_end_of_a_longer_run():
    texts = ["a b c d", "c d e f", "a b c d e f"]
    assert rows_of(nd.repeats(texts, 3)) == [(2, 0, 4, 0, 0, 2), (2, 4, 6, 1, 2, 2)]


def test_only_other_documents_may_be_sources():
    assert rows_of(nd.repeats(["a b a b", "a b"], 2, within=False)) == [(1, 0, 2, 0, 0, 3)]


def test_against_comes_first_and_has_no_rows():
    found = nd.repeats(["a b c", "a b c x"], 3, against=["y a b c", "a b c"])
    assert rows_of(found) == [(0, 0, 3, 2, 1, 4), (1, 0, 3, 2, 1, 4)]
    assert len(nd.repeats(["a b c", "a b c"], 3, against=["a b"])) == 0


@pytest.mark.parametrize("period", [1, 7])
@pytest.mark.parametrize("inside", [True, False])
def test_a_text_with_a_period_takes_linear_work(period, inside, monkeypatch):
    made = []
    monkeypatch.setattr(repeats_rows, "Rows", lambda *given: made.append(Rows(*given)) or made[-1])
    n, pattern = 20_000, np.arange(period, dtype=np.uint8)
    source, text = np.resize(pattern, 50 + period), np.resize(pattern, n)
    if inside:
        ids = np.concatenate([source, text])
        found = nd.repeats((ids, [0, len(source), len(ids)]), 50, within=False)
    else:
        found = nd.repeats((text, [0, n]), 50, against=(source, [0, len(source)]))
    assert found.repeated[-1] == n
    assert len(found) > 300
    assert 0 < made[0].passed < 4 * n  # each row by itself would pass up to n


def test_exceptions_do_not_count():
    texts = ["a b c d", "a b c d"]
    assert rows_of(nd.repeats(texts, 2, exceptions=["x b c"])) == [(1, 0, 2, 0, 0, 2), (1, 2, 4, 0, 2, 2)]


def test_every_unit_and_every_kind_of_text():
    line = nd.Shingling(unit="line")
    found = nd.repeats(["one\n  two \nthree", b"two\nfour"], 1, shingling=line)
    assert rows_of(found) == [(1, 0, 1, 0, 1, 2)]
    assert list(found.cleaned()) == ["one\n  two \nthree", b"four"]
    split = nd.Shingling(unit=str.split)
    assert rows_of(nd.repeats(iter(["A b", "b A b"]), 2, shingling=split)) == [(1, 1, 3, 0, 0, 2)]
    spared = nd.Shingling(stop_words=["the"])
    assert rows_of(nd.repeats(["a the b c", "x a b the c"], 3, shingling=spared)) == [(1, 1, 4, 0, 0, 2)]


def test_a_memory_limit_and_threads_change_nothing():
    texts = texts_of([list("abcabcaabbcc")[i:] for i in range(8)]) * 3
    expected = rows_of(nd.repeats(texts, 3, threads=1))
    assert rows_of(nd.repeats(texts, 3, memory_limit=1, threads=3)) == expected


def test_nothing_is_repeated_where_nothing_is():
    for texts in ([], [""], ["", ""], ["a"], ["!", "?"]):
        found = nd.repeats(texts, 2)
        assert (len(found), found.tokens, found.total) == (0, 0, sum(text == "a" for text in texts))


@pytest.mark.parametrize(("options", "message"), [
    ({"min_tokens": 0}, "min_tokens is 0; it must be at least 1"),
    ({"min_copies": 1}, "min_copies is 1; it must be at least 2"),
    ({"min_copies": 3, "max_copies": 2}, "max_copies is 2; it must be at least 3"),
    ({"by": [0], "against": ["a"]}, "cannot be combined"),
    ({"by": [0, 1]}, "by has shape"),
    ({"keep": [0, 1]}, "keep has shape"),
    ({"memory_limit": 0}, "memory_limit"),
    ({"threads": 0}, "threads must be"),
])
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        nd.repeats(["a"], **options)


@pytest.mark.parametrize(("texts", "options", "error", "message"), [
    ("a text", {}, TypeError, "texts is one str"),
    (None, {}, TypeError, "texts is None; give a list"),
    (["a"], {"against": "a b"}, TypeError, "against is one str"),
    (["a"], {"exceptions": {"a": 1}}, TypeError, "exceptions is a dict"),
    (["a"], {"within": 1}, TypeError, "within is True or False"),
    (["a"], {"against": (np.zeros(1, np.uint16), [0, 1])}, TypeError, "against are token ids"),
    ((np.zeros(1, np.uint16), [0, 1]), {"against": ["a"]}, TypeError, "give a pair"),
    ((np.zeros(1, np.uint16), [0, 1]), {"shingling": nd.Shingling()}, ValueError, "token ids are tokens already"),
    ((np.zeros(1, np.int64), [0, 1]), {}, TypeError, "uint8, 16, 32 or 64 in one"),
    ((np.zeros(1, np.uint16), [0, 2]), {}, ValueError, "offsets ascend from 0 to 1"),
    ((np.zeros(1, np.uint16), [[0, 1]]), {}, ValueError, "offsets are integers"),
    ((np.zeros(1, np.uint16), [0, [1, 2]]), {}, ValueError, r"texts: offsets are integers, .* got \[0, \[1, 2\]\]"),
])
def test_refusals_of_texts(texts, options, error, message):
    with pytest.raises(error, match=message):
        nd.repeats(texts, 2, **options)


class Changing:
    """A corpus that is another one each time it is read."""

    def __init__(self, *readings: list[str]) -> None:
        self.readings = [*readings]

    def batches(self):
        yield self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


@pytest.mark.parametrize(("again", "message"), [
    (["a b c"], "document 1 was read at first, and is not there any more"),
    (["a b c", "a b"], "document 1 had 3 tokens when it was read first, and has 2 now"),
    (["a b c d", "a b c"], "document 0 had 3 tokens when it was read first, and has 4 now"),
])
def test_documents_that_change_are_noticed(again, message):
    with pytest.raises(ValueError, match=message):
        nd.repeats(Changing(["a b c", "a b c"], again), 2, threads=1)


@pytest.mark.parametrize(("again", "message"), [
    (["a b c"], "document 1 was read at first, and is not there any more; each time"),
    ([], "document 0 was read at first, and is not there any more; each time"),
    (["a b c", "a b"], "one of the documents 0 to 1 has fewer tokens than when it was read first; each time"),
])
@pytest.mark.parametrize("tokens", [1, 2])
def test_documents_that_change_while_tokens_confirm_are_noticed(again, message, tokens):
    whole = ["a b c", "a b c"]
    readings = [whole, again] if tokens == 1 else [whole, whole, again]
    with pytest.raises(ValueError, match=message):
        nd.repeats(Changing(*readings), tokens, threads=1)
