"""Checks that many functions share, and odd integers given to public functions: ValueError or TypeError, and no others."""

import math

import numpy as np
import pytest

import ndcore as nd
from ndcore.checks import MOST_NUMBERED, check_numbered, checked_int
from ndcore.collection import cluster as phases
from ndcore.hamming.table_plan import plan_tables
from ndcore.pairs import greedy
from ndcore.sketch.bottom import BottomSketcher

TEXTS = ["a b c d e f g", "a b c d e f", "x y z w v u t"]


def test_what_is_an_int():
    for value in (3, np.int64(3), np.uint8(3), np.array(3)):
        found = checked_int("x", value, 3, 3)
        assert (found, type(found)) == (3, int)
    for value in (True, np.True_, 1.0, np.float64(2), "3", None, math.nan, [1]):
        with pytest.raises(TypeError, match=r"x is .*; it must be an int"):
            checked_int("x", value)
    with pytest.raises(ValueError, match="x is 2; it must be at least 3"):
        checked_int("x", 2, 3)
    with pytest.raises(ValueError, match=f"x is {1 << 70}; it must be at most 4"):
        checked_int("x", 1 << 70, 3, 4)


def test_more_documents_than_32_bits_number_are_refused():
    check_numbered((1 << 32) - 1, "documents", "cut them")
    with pytest.raises(ValueError, match=r"4,294,967,296 documents are more than 4,294,967,295, .*: cut them"):
        check_numbered(1 << 32, "documents", "cut them")


@pytest.mark.parametrize("call", [
    lambda: nd.near_duplicates(TEXTS), lambda: nd.cluster(TEXTS),
    lambda: nd.greedy_clusters([1, 2, 3], [0, 1, 2, 3], threshold=0.5),
])
def test_they_are_refused_where_they_enter(call, monkeypatch):
    monkeypatch.setattr("ndcore.checks.MOST_NUMBERED", 2)
    with pytest.raises(ValueError, match=r"3 (documents|sketches) are more than 2, which have numbers of 32 bits"):
        call()
    assert MOST_NUMBERED == (1 << 32) - 1
    assert phases.check_numbered is greedy.check_numbered


def test_members_of_one_part_are_counted(monkeypatch):
    monkeypatch.setattr("ndcore.checks.MOST_NUMBERED", 3)
    with pytest.raises(ValueError, match="members of sketches in one part are more than 3"):
        nd.cluster(TEXTS)


SKETCHES = BottomSketcher().sketch_many(TEXTS)
ODD = [1 << 70, -(1 << 70), 1 << 63, (1 << 64) - 1, -1, True, 1.5, np.float64(2.0), "3", math.nan, math.inf]
CALLS = {
    "window": lambda v: nd.Rabin().sliding(b"abc", v), "len_b": lambda v: nd.Rabin().concat(1, 2, v),
    "width": lambda v: nd.Shingling(width=v).fingerprints("a b c"), "polynomial": lambda v: nd.Shingling(polynomial=v),
    "seed": lambda v: nd.MinHasher(seed=v).sketch("a"), "num_perm": lambda v: nd.MinHasher(num_perm=v),
    "size": lambda v: nd.BottomSketcher(size=v), "modulus": lambda v: nd.ModSketcher(v),
    "bits": lambda v: nd.MinHasher(bits=v), "shingles of a window": lambda v: nd.Winnower(v),
    "offsets": lambda v: nd.MinHasher().sketch_hashes([1], [0, v]), "position": lambda v: SKETCHES.union(0, v),
    "max_holders": lambda v: nd.near_duplicates(TEXTS, max_holders=v),
    "greedy max_holders": lambda v: nd.greedy_clusters([1], [0, 1], threshold=0.5, max_holders=v),
    "explain": lambda v: nd.near_duplicates(TEXTS).explain(0, v), "run": lambda v: nd.super_shingles(SKETCHES, run=v),
    "max_distance": lambda v: nd.HammingIndex([1], max_distance=v), "query": lambda v: nd.HammingIndex([1]).query(v),
    "tables": lambda v: plan_tables(max_tables=v), "prefix": lambda v: plan_tables(min_prefix=v),
    "designed num_perm": lambda v: nd.design_filter(0.9, num_perm=v),
    "max_num_perm": lambda v: nd.design_filter(0.9, max_num_perm=v),
    "documents": lambda v: nd.expected_spurious(v, 64, 6, 2), "spurious bits": lambda v: nd.expected_spurious(10, v, 6, 2),
    "super-shingle size": lambda v: nd.super_shingle_probability(0.9, v, 3),
    "shingling": lambda v: nd.resemblance("a", "b", v), "passages": lambda v: nd.passages("a", "b", v),
    "min_tokens": lambda v: nd.repeats(TEXTS, v), "min_copies": lambda v: nd.repeats(TEXTS, min_copies=v),
    "max_copies": lambda v: nd.repeats(TEXTS, max_copies=v),
    "rethreshold": lambda v: nd.near_duplicates(TEXTS).rethreshold(v),
    "confidence": lambda v: SKETCHES.interval(0, 1, v),
}
ACCEPTED = {  # what is an answer all the same
    "window": {1 << 70, 1 << 63, (1 << 64) - 1}, "len_b": {1 << 63, (1 << 64) - 1}, "seed": {1 << 63, (1 << 64) - 1},
    "modulus": {1 << 63, (1 << 64) - 1}, "max_holders": {1 << 70, 1 << 63, (1 << 64) - 1},
    "query": {1 << 63, (1 << 64) - 1, True},
    "greedy max_holders": {1 << 70, 1 << 63, (1 << 64) - 1}, "tables": {1 << 70, 1 << 63, (1 << 64) - 1},
    "documents": {1 << 70, 1 << 63, (1 << 64) - 1}, "position": {-1}, "offsets": {True},
    "min_copies": {1 << 70, 1 << 63, (1 << 64) - 1}, "max_copies": {1 << 70, 1 << 63, (1 << 64) - 1},
    "spurious bits": {1 << 70, 1 << 63, (1 << 64) - 1},
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_integers_are_named_or_answered(name, value):
    if any(value is each or (type(value) is type(each) and value == each) for each in ACCEPTED.get(name, ())):
        CALLS[name](value)
        return
    with pytest.raises((ValueError, TypeError, IndexError)) as raised:
        CALLS[name](value)
    said = str(raised.value)
    assert "C " not in said, said
    assert "interpreted as" not in said, said
    assert "not supported between" not in said, said


def test_a_window_longer_than_the_text_has_no_fingerprints():
    assert nd.Rabin().sliding(b"abc", 1 << 70).shape == (0,)
