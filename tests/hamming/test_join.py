"""Joins of queries with a file: exact for all files, chunks and threads."""

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.hamming import join
from ndcore.reference import hamming as reference


def near(values: list[int], n: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.choice(values) ^ sum(1 << b for b in rng.sample(range(64), rng.randrange(8))) for _ in range(n)]


KERNEL = "hamming"
QUERIES = random.Random(1).sample(range(1 << 62), 300)
COLLECTION = near(QUERIES, 2000, 2) + QUERIES[:5] * 2


@pytest.fixture(scope="module")
def expected():
    """Return what a comparison of all finds."""
    return [(i, position, distance) for i, q in enumerate(QUERIES)
            for position, distance in sorted(reference.within(COLLECTION, q, 3), key=lambda hit: (hit[1], hit[0]))]


def rows(matches):
    return list(zip(*(column.tolist() for column in matches), strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk", [7, 1000, join.CHUNK])
def test_a_join_finds_every_pair(threads, chunk, expected, monkeypatch):
    monkeypatch.setattr(join, "CHUNK", chunk)
    monkeypatch.setattr(join, "PROBED_AT_ONCE", 300)
    assert rows(nd.hamming_join(QUERIES, COLLECTION, threads=threads)) == expected


@pytest.mark.parametrize("splits", [(4,), (5,), (6,), (4, 4)], ids=str)
def test_every_plan_finds_every_pair(splits, expected, variant):
    assert rows(nd.hamming_join(QUERIES, COLLECTION, plan=nd.plan_tables(log2_count=8, splits=splits))) == expected


def test_many_queries_and_fingerprints_with_the_plan_for_them():
    """Run the benchmark's million queries in small, enough to use every stage, against a scan by NumPy."""
    rng = np.random.default_rng(5)
    queries = rng.integers(0, 2**64, 20_000, np.uint64)
    collection = rng.integers(0, 2**64, 300_000, np.uint64)
    planted = np.arange(0, 300_000, 7)
    which = rng.integers(0, 20_000, len(planted))
    turned = np.zeros(len(planted), np.uint64)
    for _ in range(4):
        turned |= np.uint64(1) << rng.integers(0, 64, len(planted)).astype(np.uint64)
    collection[planted] = queries[which] ^ turned
    found = nd.hamming_join(queries, collection)
    distance = np.array([x.bit_count() for x in turned.tolist()])
    near = distance <= 3
    order = np.lexsort((planted[near], distance[near], which[near]))
    expected = [column[near][order].tolist() for column in (which, planted, distance)]
    # random pairs: 6·10^9 · C(64, <= 3) / 2^64 = 1.4·10^-5 expected, none with this seed
    assert [column.tolist() for column in found] == expected


def test_files_of_both_kinds(expected, tmp_path):
    array = np.array(COLLECTION, np.uint64)
    np.save(tmp_path / "f.npy", array)
    array.astype("<u8").tofile(tmp_path / "f.u64")
    for name in ("f.npy", "f.u64"):
        assert rows(nd.hamming_join(QUERIES, tmp_path / name)) == expected
        assert rows(nd.hamming_join(QUERIES, str(tmp_path / name), span=(100, 900))) == [
            row for row in expected if 100 <= row[1] < 900]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("ids", [None, [f"no. {i}" for i in range(len(COLLECTION))]], ids=["positions", "str"])
def test_saved_indexes_give_their_ids(ids, compress, expected, tmp_path, monkeypatch):
    nd.HammingIndex(COLLECTION, ids, compress=compress).save(tmp_path / "index")
    named = [(i, position if ids is None else ids[position], distance) for i, position, distance in expected]
    assert rows(nd.hamming_join(QUERIES, tmp_path / "index")) == named
    different = len(set(COLLECTION))
    monkeypatch.setattr(join, "CHUNK", 700)
    monkeypatch.setattr(join, "PROBED_AT_ONCE", 300)
    parts = [nd.hamming_join(QUERIES, str(tmp_path / "index"), span=(i, min(i + 512, different)))
             for i in range(0, different, 512)]
    assert sorted(row for part in parts for row in rows(part)) == sorted(named)


def test_saved_indexes_without_fingerprints(tmp_path):
    nd.HammingIndex().save(tmp_path / "empty")
    assert rows(nd.hamming_join(QUERIES, tmp_path / "empty")) == []


def test_spans_put_together_are_the_whole(expected):
    parts = [nd.hamming_join(QUERIES, COLLECTION, span=(i, i + 402)) for i in range(0, 2010, 402)]
    assert sorted(row for part in parts for row in rows(part)) == sorted(expected)


def test_repeated_queries_each_get_their_matches(expected):
    twice = nd.hamming_join(QUERIES + QUERIES, COLLECTION)
    assert rows(twice) == expected + [(i + 300, position, distance) for i, position, distance in expected]


def test_progress_counts_fingerprints(monkeypatch):
    monkeypatch.setattr(join, "CHUNK", 1000)
    seen = []
    nd.hamming_join(QUERIES, COLLECTION, progress=lambda *step: seen.append(step))
    assert seen == [("joining", 1000, 2010), ("joining", 2000, 2010), ("joining", 2010, 2010)]


def test_nothing_to_join(tmp_path):
    (tmp_path / "empty").touch()
    assert rows(nd.hamming_join([], COLLECTION)) == []
    assert rows(nd.hamming_join(QUERIES, [])) == []
    assert rows(nd.hamming_join(QUERIES, tmp_path / "empty")) == []
    assert rows(nd.hamming_join(QUERIES, COLLECTION, span=(5, 5))) == []


def test_what_is_refused(tmp_path):
    (tmp_path / "odd").write_bytes(b"123456789")
    np.save(tmp_path / "floats.npy", np.zeros(3))
    np.save(tmp_path / "wide.npy", np.array([5, 1 << 20], np.uint64))
    with pytest.raises(ValueError, match="odd: 9 bytes are not a whole number of fingerprints"):
        nd.hamming_join([1], tmp_path / "odd")
    with pytest.raises(ValueError, match=r"uint64, \(n,\), \(n, 2\) or \(n, 4\), this is float64"):
        nd.hamming_join([1], tmp_path / "floats.npy")
    with pytest.raises(ValueError, match="1048576 is not a fingerprint of 16 bits"):
        nd.hamming_join([1], tmp_path / "wide.npy", bits=16)
    nd.HammingIndex([1], bits=16).save(tmp_path / "index")
    with pytest.raises(ValueError, match="index holds fingerprints of 16 bits; asked are 64"):
        nd.hamming_join([1], tmp_path / "index")
    (tmp_path / "index").write_bytes((tmp_path / "index").read_bytes()[:-1])
    with pytest.raises(nd.CorruptFile, match="index"):
        nd.hamming_join([1], tmp_path / "index")
    with pytest.raises(FileNotFoundError):
        nd.hamming_join([1], tmp_path / "absent")
    with pytest.raises(ValueError, match=r"span is \(3, 9\); it goes from 0 to 4"):
        nd.hamming_join([1], [1, 2, 3, 4], span=(3, 9))
    with pytest.raises(ValueError, match="the plan is for 64 bits within 2; asked are 64 within 3"):
        nd.hamming_join([1], [1], plan=nd.plan_tables(max_distance=2))
    with pytest.raises(TypeError, match="'x'"):
        nd.hamming_join(["x"], [1])


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"plan": None}, TypeError, 'plan is "auto" or a TablePlan, got None'), ({"plan": "x"}, TypeError, "got 'x'"),
    ({"bits": 0}, ValueError, "bits is 0; fingerprints have 1 to 64"), ({"bits": -1}, ValueError, "bits is -1"),
    ({"bits": "a"}, TypeError, "bits is 'a' of type str; it must be an int"), ({"bits": 8.0}, TypeError, "bits is 8.0"),
    ({"max_distance": 1.5}, TypeError, "max_distance is 1.5 of type float; it must be an int"),
    ({"max_distance": 11}, ValueError, "max_distance is 11; 0 to 10"),
    ({"bits": 3}, ValueError, "max_distance is 3 of 3 bits"),
    ({"plan": nd.plan_tables(max_distance=2)}, ValueError, "the plan is for 64 bits within 2; asked are 64 within 3"),
])
def test_what_searches_refuse_whatever_there_is(arguments, error, message):
    for call in (nd.HammingIndex, nd.hamming_pairs, lambda *given, **named: nd.hamming_join([], *given, **named)):
        for given in ([], [1]):
            with pytest.raises(error, match=message):
                call(given, **arguments)


@pytest.mark.parametrize("span", [(0,), 3, (0.0, 1.0), (0, None), "ab", (0, 1, 2)])
def test_spans_that_are_none(span):
    with pytest.raises(TypeError, match="it must be two ints, from 0 to 2, the number of fingerprints"):
        nd.hamming_join([1], [1, 2], span=span)


@pytest.mark.parametrize("search", [lambda path: nd.hamming_join([1], path), nd.hamming_pairs], ids=["join", "pairs"])
def test_files_of_other_kinds_are_refused(search, tmp_path):
    compressed = "a compressed file"
    for begin, what in ((b"PAR1", "Parquet"), (b"\x1f\x8b", compressed), (b"\x28\xb5\x2f\xfd", compressed)):
        (tmp_path / "f.u64").write_bytes(begin.ljust(16, b"\0"))
        with pytest.raises(ValueError, match=f"f.u64 begins like {what}, not like 8 bytes a fingerprint"):
            search(tmp_path / "f.u64")
    with pytest.raises(ValueError, match="is not a regular file"):
        search(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        search(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="fingerprints are masked"):
        nd.hamming_pairs(np.ma.masked_equal(np.arange(3), 1))


def test_arrays_are_known_by_what_they_begin_with(tmp_path):
    np.save(tmp_path / "array.npy", np.array([5, 9, 5], np.uint64))
    for name in ("array", "ARRAY.NPY"):
        (tmp_path / name).write_bytes((tmp_path / "array.npy").read_bytes())
        assert rows(nd.hamming_join([5], tmp_path / name)) == [(0, 0, 0), (0, 2, 0), (0, 1, 2)]
    nd.HammingIndex([5, 5]).save(tmp_path / "index")
    with pytest.raises(ValueError, match="index begins like a file of ndcore"):
        nd.hamming_pairs(tmp_path / "index")
