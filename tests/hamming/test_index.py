"""The index: exact against a comparison of all fingerprints, through every change; refusals."""

from __future__ import annotations

import copy
import pickle
import random
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hamming_samples import found, near_ids, near_ones, near_pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import ndcore as nd
from ndcore import _hamming, _keys
from ndcore._hamming import Level, near_rows
from ndcore.hamming import index as hamming_index
from ndcore.hamming.index import GROWTH, Recent, take_small_levels
from ndcore.hamming.sorted_tables import RowMatches
from ndcore.reference import hamming as reference

KERNEL = "hamming"
PLANS = ["auto", {"splits": (6,)}, {"splits": (4, 4)}, {"splits": (5,)}, {"splits": (4,)}]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_queries_find_what_is_there(asked, compress, variant):
    values = tuple(near_ones(3000))
    plan = asked if asked == "auto" else nd.plan_tables(64, 3, 11, **asked)
    index = nd.HammingIndex(values, plan=plan, compress=compress)
    index.pairs()  # sorted now: what is few is scanned else
    assert len(index) == 3000
    queries = [*values[:150], *near_ones(50, seed=2)]
    for query in queries:
        assert found(index.query(query)) == near_ids(values, query, 3)
    many = index.query_many(queries)
    expected = [(i, id, d) for i, q in enumerate(queries)
                for id, d in sorted(near_ids(values, q, 3), key=lambda hit: (hit[1], hit[0]))]
    assert list(zip(many.query.tolist(), many.id.tolist(), many.distance.tolist(), strict=True)) == expected


def test_the_reference_tables_agree_with_the_index():
    values = near_ones(400, bits=32)
    tables = reference.Tables(values, 32, 4, reference.tables_of(32, 4, (6,)))
    index = nd.HammingIndex(values, max_distance=4, bits=32, plan=nd.plan_tables(32, 4, 9, splits=(6,)))
    for query in values[:100]:
        assert tables.query(query) == reference.within(values, query, 4) == found(index.query(query))


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("bits", [1, 2, 5, 16, 33, 63, 64])
@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_any_length_of_fingerprints(bits, k, compress):
    if k >= bits:
        return
    values = tuple(near_ones(700, bits))
    index = nd.HammingIndex(values, max_distance=k, bits=bits, compress=compress)
    pairs = index.pairs()
    for query in values[:40]:
        assert found(index.query(query)) == near_ids(values, query, k)
    listed = list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.distance.tolist(), strict=True))
    assert listed == near_pairs(values, k)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("asked", PLANS, ids=str)
def test_pairs_come_once_and_in_order(asked, compress):
    values = (*near_ones(1500), *near_ones(100))  # the first hundred again
    plan = asked if asked == "auto" else nd.plan_tables(64, 3, 11, **asked)
    one, two = (nd.HammingIndex(values, plan=plan, compress=compress).pairs(threads=t) for t in (1, 2))
    assert list(zip(one.a.tolist(), one.b.tolist(), one.distance.tolist(), strict=True)) == near_pairs(values, 3)
    assert all((x == y).all() for x, y in zip(one, two, strict=True))


@pytest.mark.parametrize("compress", [False, True])
def test_fingerprints_that_share_long_prefixes(compress):
    """Search long buckets, with more matches than any buffer holds, and a prefix that all share."""
    values = [random.Random(3).getrandbits(64) & ~0xFFFF | x for x in range(3000)]
    index = nd.HammingIndex(values, compress=compress)
    index.pairs()
    for query in (values[0], values[1234], values[0] ^ 1 << 63, values[0] ^ 0b111 << 61):
        assert found(index.query(query)) == reference.within(values, query, 3)
    far = nd.HammingIndex(range(2048), max_distance=10, bits=11, compress=compress)
    far.pairs()
    assert len(far.query(0)[0]) == 2047
    assert len(far.query_many(np.arange(2048)).id) == 2048 * 2047


@pytest.mark.parametrize("compress", [False, True])
def test_equal_fingerprints_all_come(compress):
    values = [7] * 5000 + [6] * 3 + [0]
    index = nd.HammingIndex(values, max_distance=1, compress=compress)
    ids, distance = index.query(7)
    assert ids.tolist() == list(range(5003))
    assert distance.tolist() == [0] * 5000 + [1] * 3
    some = nd.HammingIndex(values[4900:], max_distance=1, compress=compress).pairs()
    assert len(some.a) == 100 * 99 // 2 + 100 * 3 + 3


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(hamming_index, "MAX_PAIRS", 1000)
    with pytest.raises(ValueError, match=r"4950 pairs, 4950 of them of repeated fingerprints \(one has 100 rows\)"):
        nd.HammingIndex([5] * 100).pairs()


@pytest.mark.parametrize("ids", [
    [3, -1, 2**40], np.array([1, 2, 2**64 - 1], np.uint64), ["a", "b", "日本"], [b"x", b"", b"yy"],
    np.array(["u", "v", "w"]),
])
def test_ids_of_any_kind(ids, tmp_path):
    index = nd.HammingIndex([1, 2, 4], ids, max_distance=1)
    expected = sorted(np.asarray(ids)[[0]].tolist())
    assert index.query(1)[0].tolist() == expected
    index.save(tmp_path / "index")
    opened = nd.HammingIndex.open(tmp_path / "index")
    assert opened.query(1)[0].tolist() == expected
    assert opened.remove([ids[0]]) == 1
    assert opened.query(1)[0].tolist() == []
    assert sorted(opened.pairs().a.tolist() + opened.pairs().b.tolist()) == []


def test_ids_may_stand_for_several_and_grow_longer():
    index = nd.HammingIndex([1, 2], ["a", "a"])
    index.add([4], ["a rather long id"])
    assert index.query(0)[0].tolist() == ["a", "a", "a rather long id"]
    assert index.remove("a") == 2
    assert index.query(0)[0].tolist() == ["a rather long id"]
    with pytest.raises(KeyError, match="no fingerprint has the id 'a'"):
        index.remove(["a rather long id", "a"])
    assert len(index) == 1


@pytest.mark.parametrize("removed", [[], [3, 5999]], ids=["all", "some removed"])
@pytest.mark.parametrize("change", [
    lambda index: index.add(near_ones(5000, seed=9), threads=0), lambda index: index.pairs(threads=0),
    lambda index: index.add([2**64]), lambda index: index.add([1], ["a"]), lambda index: index.remove([0, 10**9]),
])
def test_an_index_that_refuses_stays_as_it_was(change, removed):
    values = near_ones(6000)
    index = nd.HammingIndex(values)
    index.add(values[:2])
    index.remove(removed)
    before = index.query_many(values)
    with pytest.raises((ValueError, TypeError, KeyError)):
        change(index)
    assert len(index) == 6002 - len(removed)
    assert all((x == y).all() for x, y in zip(index.query_many(values), before, strict=True))
    index.add([values[0]])
    assert (6002, 0) in found(index.query(values[0]))


def test_an_interruption_of_sorting_loses_nothing(monkeypatch):
    values = near_ones(6000)
    index = nd.HammingIndex(values)
    index.add(values[:2])

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(hamming_index.SortedTables, "of", interrupted)
        for change in (lambda: index.add(values), index.pairs):
            with pytest.raises(KeyboardInterrupt):
                change()
    assert len(index) == 6002
    assert found(index.query(values[0])) == reference.within(values + values[:2], values[0], 3)
    assert len(index.pairs().a) == len(nd.HammingIndex(values + values[:2]).pairs().a)


@pytest.mark.parametrize("compress", [False, True])
def test_copies_and_pickles_change_by_themselves(compress):
    values = near_ones(5000)
    index = nd.HammingIndex(values, range(10, 5010), compress=compress)
    index.add([values[0]], [7])
    index.remove([10])
    for made in (copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        made.add([1, 2], [1, 2])
        index.add([4], [3])
        made.remove([11])
        index.remove([3])
        assert len(made) == 5001
        assert found(made.query(1)) == [(1, 0), (2, 2)]
        assert found(index.query(1)) == []
        assert (11, 0) in found(index.query(values[1]))
        assert (7, 0) in found(made.query(values[0]))
        made.pairs()
        assert (7, 0) in found(index.query(values[0]))


def test_adding_after_a_removal_does_not_copy_what_is_removed():
    index = nd.HammingIndex(near_ones(5000))
    index.remove([0])
    rooms = set()
    for _ in range(1000):
        index.add([1])
        rooms.add(len(index._removed))
    assert len(rooms) <= 2


class Changes(RuleBasedStateMachine):
    """Any order of adding, removing, saving and opening answers as a dictionary would."""

    @initialize(threshold=st.sampled_from([0, 3, 4096]), compress=st.booleans())
    def start(self, threshold, compress):
        self.before = hamming_index.BUFFER
        hamming_index.BUFFER = max(1, threshold)
        self.index = nd.HammingIndex(max_distance=2, bits=12, compress=compress)
        self.truth: dict[int, int] = {}
        self.next = 0

    @rule(values=st.lists(st.integers(0, 4095), max_size=30))
    def add(self, values):
        self.index.add(values)
        self.truth.update(enumerate(values, self.next))
        self.next += len(values)

    @rule(data=st.data())
    def remove(self, data):
        if self.truth:
            gone = data.draw(st.lists(st.sampled_from(sorted(self.truth)), max_size=10, unique=True))
            assert self.index.remove(gone) == len(gone)
            for id in gone:
                del self.truth[id]

    @rule()
    def sort(self):
        assert len(self.index.pairs().a) == sum(
            reference.distance(a, b) <= 2 for i, a in self.truth.items() for j, b in self.truth.items() if i < j)

    @rule()
    def save(self):
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            self.index.save(f"{folder}/index")
            self.index = nd.HammingIndex.open(f"{folder}/index")

    @rule(query=st.integers(0, 4095))
    def query(self, query):
        expected = sorted((i, reference.distance(v, query)) for i, v in self.truth.items()
                          if reference.distance(v, query) <= 2)
        assert found(self.index.query(query)) == expected
        many = self.index.query_many([query])
        assert found((many.id, many.distance)) == expected

    @invariant()
    def counted(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.truth)

    def teardown(self):
        hamming_index.BUFFER = getattr(self, "before", hamming_index.BUFFER)


TestChanges = pytest.mark.thread_unsafe(reason="it changes BUFFER of the module")(Changes.TestCase)
TestChanges.settings = settings(max_examples=40, stateful_step_count=25, deadline=None,
                                suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("splits", [(6,), (7,), (4, 4)])
def test_presence_of_prefixes_in_many_runs(splits, variant):
    """Take few fingerprints of few bits, so that presence takes parts of several runs."""
    values = near_ones(40, bits=16)
    asked = near_ones(3000, bits=16, seed=3)
    found = nd.hamming_join(values, asked, bits=16, plan=nd.plan_tables(16, 3, 5, splits=splits))
    expected = [(i, j, d) for i, value in enumerate(values)
                for j, d in sorted(reference.within(asked, value, 3), key=lambda hit: (hit[1], hit[0]))]
    assert list(zip(found.query.tolist(), found.id.tolist(), found.distance.tolist(), strict=True)) == expected


@pytest.mark.parametrize("largest", [5, 2**33, 2**62])
def test_matches_are_ordered_whatever_the_rows(largest):
    rng = np.random.default_rng(2)
    query, distance = rng.integers(0, 50, 400), rng.integers(0, 11, 400)
    row = rng.integers(0, largest, 400)
    ordered = RowMatches(query, row, distance).ordered()
    listed = zip(ordered.query.tolist(), ordered.distance.tolist(), ordered.row.tolist(), strict=True)
    assert list(listed) == sorted(zip(query.tolist(), distance.tolist(), row.tolist(), strict=True))


@given(st.lists(st.integers(0, 2**20 - 1), min_size=1, max_size=200), st.integers(3, 20))
def test_presence_has_a_bit_for_each_value(keys, known):
    keys = sorted(set(keys))
    bits = np.unpackbits(_keys.presence(np.array(keys, np.uint64), 20, known), bitorder="little")
    assert np.flatnonzero(bits).tolist() == sorted({key >> 20 - known for key in keys})


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 255, 256, 257, 1000])
def test_the_scan_at_every_length(n, variant):
    values = near_ones(n, seed=n)
    query = values[n // 2] if n else 3
    at = _hamming.scan(np.array(values, np.uint64), query, 8)
    assert at.tolist() == [i for i, _ in reference.within(values, query, 8)]


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nd.HammingIndex([1.5]), TypeError, "unsigned 64-bit integers, got 1.5"),
    (lambda: nd.HammingIndex(np.array([1.5])), TypeError, "unsigned 64-bit integers, got float64"),
    (lambda: nd.HammingIndex([-1]), ValueError, "got -1"),
    (lambda: nd.HammingIndex([2**64]), ValueError, "got 18446744073709551616"),
    (lambda: nd.HammingIndex([[1]]), TypeError, "one dimension"),
    (lambda: nd.HammingIndex([16], bits=4, max_distance=1), ValueError, "16 is not a fingerprint of 4 bits"),
    (lambda: nd.HammingIndex([1], [1, 2]), ValueError, "2 ids for 1 fingerprints"),
    (lambda: nd.HammingIndex([1], [1.5]), TypeError, "integers, str or bytes"),
    (lambda: nd.HammingIndex([1, 2], [1, "a"]), TypeError, "all integers, all str"),
    (lambda: nd.HammingIndex([1], ["a\0"]), TypeError, "NUL"),
    (lambda: nd.HammingIndex([1]).add([2], [5]), TypeError, "counts its ids"),
    (lambda: nd.HammingIndex([1], ["a"]).add([2]), TypeError, "ids are needed"),
    (lambda: nd.HammingIndex([1], ["a"]).add([2], [5]), TypeError, "has str as ids, got integers"),
    (lambda: nd.HammingIndex([1]).remove([5]), KeyError, "no fingerprint has the id 5"),
    (lambda: nd.HammingIndex([1]).remove(["x"]), TypeError, "has integers as ids, got str"),
    (lambda: nd.HammingIndex([1]).query(-1), ValueError, "-1 is not a fingerprint of 64 bits"),
    (lambda: nd.HammingIndex([1]).query(1 << 64), ValueError, "not a fingerprint of 64 bits"),
    (lambda: nd.HammingIndex([1]).query("a"), TypeError, "got 'a'; query_many takes several"),
    (lambda: nd.HammingIndex([1]).query([5, 6]), TypeError, r"got \[5, 6\]"),
    (lambda: nd.HammingIndex([1], plan="best"), TypeError, '"auto" or a TablePlan'),
    (lambda: nd.HammingIndex([1], max_distance=2, plan=nd.plan_tables()), ValueError, "for 64 bits within 3"),
    (lambda: nd.HammingIndex([1], max_distance=12), ValueError, "max_distance is 12"),
])
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def near(value, k, rng):
    for bit in rng.sample(range(64), rng.randrange(k + 1)):
        value ^= 1 << bit
    return value


@pytest.mark.parametrize("ids", [None, "int", "str", "bytes"])
@pytest.mark.parametrize("compress", [False, True])
def test_single_queries_find_what_a_scan_finds(ids, compress):
    """Find fingerprints in levels and in the buffer, repeated and removed ones among them."""
    rng = random.Random(2)
    centres = [rng.getrandbits(64) for _ in range(300)]
    values = [near(rng.choice(centres), 3, rng) for _ in range(5000)] + centres[:40] * 3
    named = {"int": lambda i: 7 * i - 3, "str": "row {}é".format, "bytes": lambda i: b"%d" % i, None: lambda i: i}[ids]
    names = [named(i) for i in range(len(values))]
    index = nd.HammingIndex(values[:4500], None if ids is None else names[:4500], compress=compress)
    for at in range(4500, len(values)):
        index.add([values[at]], None if ids is None else [names[at]])
    removed = set(range(0, len(values), 9))
    index.remove([names[i] for i in sorted(removed)])
    for _ in range(150):
        query = near(rng.choice(centres), 3, rng)
        expected = sorted(((x ^ query).bit_count(), i) for i, x in enumerate(values)
                          if (x ^ query).bit_count() <= 3 and i not in removed)
        found, distances = index.query(query)
        assert list(zip(distances.tolist(), found.tolist(), strict=True)) == [(d, names[i]) for d, i in expected]
        assert distances.dtype == np.int64
    assert [len(column) for column in nd.HammingIndex().query(3)] == [0, 0]
    for wrong in (-1, 1 << 64, 1.5, [3]):
        with pytest.raises((TypeError, ValueError), match="fingerprint"):
            index.query(wrong)


def test_recent_fingerprints_are_scanned():
    recent = Recent(np.array([0, 7, 2**64 - 1, 1], np.uint64), 100)
    assert recent.near(0, 1) == ([100, 103], [0, 1])
    assert recent.near(2**63, 0) == ([], [])


class Finding:
    """A searcher that finds these positions."""

    def __init__(self, *ranks):
        self.ranks = list(ranks)

    def probe_one(self, query):
        return (self.ranks, [query] * len(self.ranks)) if self.ranks else None


def refused(what, n):
    return ValueError(f"a {what} is not one of {n}")


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_positions_of_a_damaged_file_are_refused(dtype):
    """Refuse a position, a row and the place of a row before anything is read by them."""
    def near(ranks, rows, starts, limit):
        level = Level(Finding(*ranks), np.array(rows, dtype), starts and np.array(starts), limit, refused)
        return near_rows([SimpleNamespace(level=level)], None, 2, 64, 3, None)

    assert near([1, 0], [7, 5], None, None) == ([5, 7], [2, 2])
    assert near([0], [1, 0, 2], [0, 2, 3], 3) == ([0, 1], [2, 2])
    assert near([], [0], None, 1) == ([], [])
    for damaged, message in [(([2], [0, 1], None, 2), "fingerprint that was found is not one of 2"),
                             (([2], [0, 1, 2], [0, 2, 3], 3), "fingerprint that was found is not one of 2"),
                             (([0], [2, 1], None, 2), "row is not one of 2"),
                             (([0], [0, 1], [0, 3], 2), "place of a row is not one of 2"),
                             (([0], [0, 1], [-1, 1], 2), "place of a row is not one of 2")]:
        with pytest.raises(ValueError, match=message):
            near(*damaged)


def test_levels_stay_few_while_fingerprints_come_one_by_one(monkeypatch):
    monkeypatch.setattr(hamming_index, "BUFFER", 16)
    values = near_ones(1500)
    index = nd.HammingIndex()
    for i, value in enumerate(values):
        index.add([value])
        counts = [level.count for level in index._levels]
        assert sum(counts) + index._buffered == i + 1
        assert all(larger >= GROWTH * smaller for larger, smaller in pairwise(counts))
        if i % 100 == 0:
            assert found(index.query(value)) == reference.within(values[:i + 1], value, 3)
    assert len(index._levels) <= 4


def test_only_small_levels_are_taken():
    large, small = (nd.HammingIndex(near_ones(n, seed=n))._levels for n in (90_000, 5000))
    new = nd.HammingIndex(near_ones(6000, seed=1))._levels[0]
    levels = [*large, *small]
    for everything, left in ((False, large), (True, [])):
        kept, values, rows = take_small_levels(levels, new.values(), new.rows.astype("int64"), everything)
        assert kept == left
        taken = [level for level in levels if level not in left]
        assert len(values) == len(rows) == new.count + sum(level.count for level in taken)
    assert levels == [*large, *small]
