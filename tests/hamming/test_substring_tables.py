"""Fingerprints of 128 and 256 bits: exact against a comparison of all, whatever they are; files, refusals."""

from __future__ import annotations

import copy
import os
import pickle
import random
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from hamming_samples import found, near_ids, near_pairs

import ndcore as nd
from ndcore import _hamming
from ndcore.hamming import index as hamming_index
from ndcore.hamming import substring_plan
from ndcore.hamming.sorted_tables import SortedTables
from ndcore.hamming.substring_plan import SubstringPlan
from ndcore.hamming.substring_tables import SubstringTables, order_rows
from ndcore.reference import hamming as reference
from ndcore.storage import container

KERNEL = "hamming"


def turned(value: int, bits: int, most: int, rng: random.Random) -> int:
    """Turn up to `most` bits."""
    return value ^ sum(1 << b for b in rng.sample(range(bits), rng.randrange(most + 1)))


def random_ones(n: int, bits: int) -> list[int]:
    """Half of the fingerprints are followed by one within 40 bits."""
    rng, made = random.Random(n), []
    while len(made) < n:
        made.append(rng.getrandbits(bits))
        if rng.random() < 0.5:
            made.append(turned(made[-1], bits, 40, rng))
    return made[:n]


def clustered(n: int, bits: int) -> list[int]:
    """All lie around three centres."""
    rng = random.Random(n)
    centres = [rng.getrandbits(bits) for _ in range(3)]
    return [turned(rng.choice(centres), bits, 24, rng) for _ in range(n)]


def in_one_bucket(n: int, bits: int) -> list[int]:
    """All agree in every bit but the 13 lowest, so that most substrings have one bucket with all."""
    rng = random.Random(n)
    high = rng.getrandbits(bits) >> 13 << 13
    return [high | rng.getrandbits(13) for _ in range(n)]


def equal(n: int, bits: int) -> list[int]:
    return [random.Random(n).getrandbits(bits)] * n


MADE = [random_ones, clustered, in_one_bucket, equal]


def words_of(values: list[int], bits: int) -> np.ndarray:
    """Return fingerprints as words, the most significant first."""
    words = bits // 64
    rows = [[value >> 64 * (words - 1 - w) & (1 << 64) - 1 for w in range(words)] for value in values]
    return np.array(rows, np.uint64).reshape(-1, words)


def listed(columns) -> list[tuple]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def matches_of(values: list[int], queries: list[int], k: int) -> list[tuple[int, int, int]]:
    return [(i, at, d) for i, query in enumerate(queries)
            for at, d in sorted(near_ids(tuple(values), query, k), key=lambda hit: (hit[1], hit[0]))]


def pairs_of(values: list[int], k: int) -> list[tuple[int, int, int]]:
    return near_pairs(tuple(values), k)


@pytest.mark.parametrize("bits", [16, 24])
@pytest.mark.parametrize("k", [0, 1, 5])
def test_the_reference_finds_all_by_any_number_of_substrings(bits, k):
    """Compare the definition with the comparison of all, where every substring can be looked up."""
    rng = random.Random(bits)
    values = [rng.getrandbits(bits) for _ in range(100)]
    for tables in range(1, k + 2):
        assert sum(radius + 1 for radius in reference.substring_radii(tables, k)) == k + 1
        index = reference.Substrings(values, bits, k, tables)
        for query in [turned(value, bits, k, rng) for value in values[:8]]:
            assert index.query(query) == reference.within(values, query, k)


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("k", [0, 3, 12, 31])
def test_an_index_finds_what_a_comparison_of_all_finds(make, bits, k, variant):
    values = make(150, bits)
    rng = random.Random(k)
    queries = [turned(value, bits, k + 2, rng) for value in values[:20]] + [rng.getrandbits(bits) for _ in range(5)]
    expected = matches_of(values, queries, k)
    index = nd.HammingIndex(words_of(values, bits), max_distance=k)
    assert index.bits == bits
    assert listed(index.query_many(words_of(queries, bits))) == expected  # from the buffer
    assert listed(index.pairs()) == pairs_of(values, k)  # which sorts
    assert listed(index.query_many(words_of(queries, bits), threads=1)) == expected
    assert found(index.query(queries[0])) == reference.within(values, queries[0], k)
    assert listed(nd.hamming_pairs(words_of(values, bits), max_distance=k, threads=2)) == pairs_of(values, k)
    assert listed(nd.hamming_join(words_of(queries, bits), words_of(values, bits), k)) == expected


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize(("bits", "k"), [(128, 0), (128, 7), (128, 15), (256, 10), (256, 31)])
def test_any_number_of_substrings_finds_the_same(make, bits, k, monkeypatch):
    """Whatever is planned, with buckets for all values and with hashed ones."""
    values = sorted(set(make(120, bits)))
    rng = random.Random(5)
    queries = [turned(value, bits, k, rng) for value in values[:10]]
    expected = [(q, at, d) for q, query in enumerate(queries) for at, d in reference.within(values, query, k)]
    for plan in substring_plan.list_plans(bits, k, len(values)):
        if sum(plan.probes) > 3000:
            continue
        monkeypatch.setattr("ndcore.hamming.substring_tables.plan_substrings", lambda *_, plan=plan: plan)
        tables = SubstringTables.of(k, words_of(values, bits), 1)
        near = tables.searcher.probe(words_of(queries, bits))
        assert sorted(zip(*(near[name].tolist() for name in near.dtype.names), strict=True)) == sorted(expected)
        x, y, distance = tables.rank_pairs(1, 10**6)
        assert sorted(zip(x.tolist(), y.tolist(), distance.tolist(), strict=True)) == pairs_of(values, k)
        tables.check(2)


def test_a_search_continues_after_any_number_of_matches(monkeypatch):
    """More matches than any room holds, by substrings and by a scan."""
    values = sorted({1 << a | 1 << b for a in range(256) for b in range(a)})
    codes = words_of(values, 256)
    for substrings in (0, 8):
        plan = SubstringPlan(256, 7, float(np.log2(len(values))), substrings)
        monkeypatch.setattr("ndcore.hamming.substring_tables.plan_substrings", lambda *_, plan=plan: plan)
        near = SubstringTables.of(7, codes, 1).searcher.probe(words_of([0, values[5], (1 << 200) - 1], 256))
        counts = np.bincount(near["query"].astype(np.int64), minlength=3).tolist()
        assert counts == [len(values), len(values), 0]
        assert len({(q, r) for q, r in zip(near["query"].tolist(), near["rank"].tolist(), strict=True)}) == len(near)


def test_fingerprints_are_words_bytes_or_ints():
    values = random_ones(50, 256)
    as_bytes = np.array([list(value.to_bytes(32, "big")) for value in values], np.uint8)
    for given in (values, as_bytes, words_of(values, 256), words_of(values, 256).astype(">u8"),
                  words_of(values, 256).tolist(), np.asfortranarray(words_of(values, 256))):
        index = nd.HammingIndex(given, max_distance=31, bits=256)
        for query in (values[7], words_of(values[7:8], 256)[0], as_bytes[7], words_of(values[7:8], 256)[0].tolist()):
            assert found(index.query(query)) == reference.within(values, values[7], 31)
    assert nd.HammingIndex(words_of(values, 256)).bits == 256
    assert nd.HammingIndex(words_of(random_ones(9, 128), 128)).bits == 128
    assert nd.HammingIndex([], max_distance=31, bits=128).query(5)[0].tolist() == []
    assert nd.hamming_distances(words_of(values, 256), words_of([values[0]], 256)).sum(axis=1).tolist() == [
        reference.distance(value, values[0]) for value in values]


@pytest.mark.parametrize("make", [random_ones, clustered])
def test_an_index_that_grows_and_shrinks(make, monkeypatch, tmp_path):
    monkeypatch.setattr(hamming_index, "BUFFER", 32)
    values = make(600, 128)
    rng, truth = random.Random(3), {}
    index = nd.HammingIndex(max_distance=9, bits=128)
    for at in range(0, 600, 20):
        index.add(words_of(values[at:at + 20], 128))
        truth.update(enumerate(values[at:at + 20], at))
        gone = rng.sample(sorted(truth), 5)
        assert index.remove(gone) == 5
        for id in gone:
            del truth[id]
        query = turned(rng.choice(values), 128, 9, rng)
        expected = sorted((id, reference.distance(value, query)) for id, value in truth.items()
                          if reference.distance(value, query) <= 9)
        assert found(index.query(query)) == expected
        if at == 300:
            index.save(tmp_path / "index")
            index = nd.HammingIndex.open(tmp_path / "index")
        for made in (copy.copy(index), pickle.loads(pickle.dumps(index))):
            assert found(made.query(query)) == expected
    assert len(index) == len(truth) == 450


def test_files(tmp_path):
    values = random_ones(3000, 256)
    codes = words_of([*values, *values[:100]], 256)
    index = nd.HammingIndex(codes, [f"é{i}" for i in range(3100)], max_distance=31)
    index.save(tmp_path / "index")
    opened = nd.HammingIndex.open(tmp_path / "index")
    assert opened.tables == index.tables
    assert opened.tables.substrings > 0
    queries = codes[::100]
    assert listed(opened.query_many(queries)) == listed(index.query_many(queries))
    assert listed(nd.hamming_join(queries, tmp_path / "index", 31)) == listed(index.query_many(queries))
    codes.tofile(tmp_path / "raw")
    np.save(tmp_path / "codes.npy", codes)
    expected = listed(nd.hamming_join(queries, codes, 31))
    for name in ("raw", "codes.npy"):
        assert listed(nd.hamming_join(queries, tmp_path / name, 31)) == expected
        assert listed(nd.hamming_pairs(tmp_path / name, max_distance=31, bits=256)) == listed(
            nd.hamming_pairs(codes, max_distance=31))
    assert set(range(100)) <= set(nd.hamming_pairs(tmp_path / "codes.npy", max_distance=0).a.tolist())
    first = (tmp_path / "index").read_bytes()
    opened.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == first


@pytest.mark.parametrize("change", [
    {"tables": 3}, {"tables": -1}, {"tables": 2**70}, {"tables": [[4, [[0, 64]]]]}, {"tables": None},
    {"bits": 64}, {"bits": 128}, {"max_distance": 32}, {"max_distance": 3}, {"compress": True}, {"count": 5},
])
def test_files_with_sound_checksums_but_senseless_headers_are_refused(tmp_path, change):
    path = tmp_path / "index"
    nd.HammingIndex(words_of(random_ones(3000, 256), 256), max_distance=31).save(path)
    header, arrays = container.read(path)
    container.write(path, "hamming", header | change, {name: array for name, array in arrays.items()
                                                       if "tables" not in change or not name.endswith("0")})
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(path)


def test_an_empty_index_is_not_compressed(tmp_path):
    nd.HammingIndex(max_distance=3, bits=128).save(tmp_path / "index")
    assert nd.HammingIndex.open(tmp_path / "index").bits == 128
    header, arrays = container.read(tmp_path / "index")
    container.write(tmp_path / "index", "hamming", header | {"compress": True}, arrays)
    with pytest.raises(nd.CorruptFile, match="tables of 128 bits are not compressed"):
        nd.HammingIndex.open(tmp_path / "index")


@pytest.mark.parametrize(("name", "lie"), [
    ("begins1", lambda a: np.full_like(a, 2**32 - 1)), ("begins1", lambda a: a[::-1].copy()),
    ("ranks0", lambda a: np.full_like(a, 2**32 - 1)), ("ranks0", lambda a: a[::-1].copy()),
    ("fingerprints", lambda a: a[::-1].copy()), ("fingerprints", lambda a: np.zeros_like(a)),
    ("rows", lambda a: np.full_like(a, 2**31)),
])
def test_tables_that_lie_do_no_harm(tmp_path, name, lie):
    path = tmp_path / "index"
    codes = words_of(random_ones(3000, 256), 256)
    nd.HammingIndex(codes, max_distance=31).save(path)
    header, arrays = container.read(path)
    container.write(path, "hamming", header, arrays | {name: lie(arrays[name])})
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(path)
    opened = nd.HammingIndex.open(path, verify=False)
    try:
        opened.query_many(codes)
    except nd.CorruptFile as error:
        assert "open it with verify=True" in str(error)
    else:
        assert name not in ("rows",)
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        opened.pairs()


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "index"
    nd.HammingIndex(words_of(random_ones(500, 128), 128), max_distance=7).save(path)
    sound, rng = path.read_bytes(), random.Random(8)
    for _ in range(40):
        damaged = bytearray(sound)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(nd.CorruptFile, match="index"):
            nd.HammingIndex.open(path)


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nd.HammingIndex([1 << 128], bits=128), ValueError, "is not a fingerprint of 128 bits"),
    (lambda: nd.HammingIndex([-1], bits=128), ValueError, "-0x1 is not a fingerprint of 128 bits"),
    (lambda: nd.HammingIndex(["a"], bits=128), TypeError, "unsigned integers, or 2 words each, got 'a'"),
    (lambda: nd.HammingIndex(np.zeros((3, 2)), bits=128), TypeError, "unsigned 64-bit integers, got float64"),
    (lambda: nd.HammingIndex(np.zeros((3, 3), np.uint64)), TypeError, "one dimension"),
    (lambda: nd.HammingIndex(np.zeros((3, 4), np.uint64), bits=128), TypeError, r"\(n, 2\), .*got uint64 \(3, 4\)"),
    (lambda: nd.HammingIndex(np.zeros((3, 4), np.uint64), bits=192), ValueError, "also take 128 and 256"),
    (lambda: nd.HammingIndex(bits=256, max_distance=32), ValueError, "max_distance is 32; 0 to 31 of 256 bits"),
    (lambda: nd.HammingIndex(bits=256, compress=True), ValueError, "tables of 256 bits are not compressed"),
    (lambda: nd.HammingIndex(bits=256, plan=nd.plan_tables()), ValueError, 'searched by substrings, with plan="auto"'),
    (lambda: nd.HammingIndex(bits=256).query([1, 2]), TypeError, r"\(n, 4\)"),
    (lambda: nd.HammingIndex(bits=256).query("a"), TypeError, "got 'a'"),
    (lambda: nd.HammingIndex(bits=256).query(1 << 256), ValueError, "is not a fingerprint of 256 bits"),
    (lambda: nd.HammingIndex([1]).query_many(np.zeros((1, 4), np.uint64)), TypeError, "one dimension"),
    (lambda: nd.HammingIndex([1, 2], [1], bits=128), ValueError, "1 ids for 2 fingerprints"),
    (lambda: SubstringPlan(256, 31, 20, 5), ValueError, "5 substrings do not find what is within 31 of 256 bits"),
    (lambda: SubstringPlan(256, 3, 20, 5), ValueError, "5 substrings do not find"),
])
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(("make", "message"), [
    (lambda codes: _hamming.substring_table(codes, 4, 4, 3), "no 3 leading bits of substring 4 of 4"),
    (lambda codes: _hamming.substring_table(codes, 0, 65, 3), "of 65"),
    (lambda codes: _hamming.substring_table(codes, 0, 64, 5), "no 5 leading bits"),
    (lambda codes: _hamming.substring_table(np.zeros((3, 3), np.uint64), 0, 4, 3), r"\(n, 2\) or \(n, 4\)"),
    (lambda codes: _hamming.SubstringSearcher(codes, 3, [(np.zeros(4, np.uint32),) * 2 + (codes[0], 0)]), "table 0"),
    (lambda codes: _hamming.SubstringSearcher(codes, 3, []).probe(np.zeros((1, 2), np.uint64)), "queries have 2 words"),
    (lambda codes: _hamming.SubstringSearcher(codes, 3, [()] * 65), "65 tables"),
])
def test_what_the_searcher_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make(np.zeros((3, 4), np.uint64))


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(hamming_index, "MAX_PAIRS", 1000)
    with pytest.raises(ValueError, match="4950 pairs"):
        nd.HammingIndex(words_of(equal(100, 256), 256)).pairs()
    with pytest.raises(ValueError, match="more than 1000 pairs of different fingerprints"):
        nd.HammingIndex(words_of(in_one_bucket(500, 256), 256), max_distance=13).pairs()


def test_progress_counts_the_fingerprints():
    seen = []
    codes = np.arange(5000, dtype=np.uint64).reshape(2500, 2)
    nd.hamming_pairs(codes, max_distance=3, progress=lambda *step: seen.append(step))
    assert seen == [("pairing", 1024, 2500), ("pairing", 2048, 2500), ("pairing", 2500, 2500)]


def test_rows_are_ordered_by_all_words():
    rng = random.Random(4)
    values = [rng.choice([0, 1 << 64, 1 << 192, 5, rng.getrandbits(256)]) for _ in range(500)]
    rows = np.arange(500)[::-1].copy()
    order = order_rows(words_of(values, 256), rows)
    assert order.tolist() == sorted(range(500), key=lambda i: (values[i], rows[i]))
    assert order_rows(np.empty((0, 2), np.uint64), np.empty(0, np.int64)).tolist() == []


def test_substrings_with_many_sharers_are_given_up(monkeypatch):
    """Random fingerprints are looked up; of those that share all but few bits all are compared."""
    assert nd.HammingIndex(words_of(random_ones(6000, 256), 256), max_distance=31).tables.substrings > 8
    assert SortedTables.of_wide(words_of(in_one_bucket(5000, 256), 256), np.arange(5000), 31, 1).plan.substrings == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_index_answers_after_a_fork():
    index = nd.HammingIndex(words_of(random_ones(5000, 256), 256), max_distance=31)
    expected = len(index.query_many(index._levels[0].values(), threads=2).query)
    child = os.fork()
    if child == 0:
        os._exit(0 if len(index.query_many(index._levels[0].values(), threads=2).query) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_search(threads):
    """A search that would take hours: each of a million queries is compared with a million fingerprints."""
    source = (
        "import numpy as np, ndcore as nd\n"
        "codes = np.zeros((1 << 20, 4), np.uint64); codes[:, 3] = np.arange(1 << 20)\n"
        "index = nd.HammingIndex(codes, max_distance=1)\n"
        "codes[:, 0] = ~np.uint64(0)\n"
        "print('ready', flush=True)\n"
        f"index.query_many(codes, threads={threads})\n")
    process = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    threading.Event().wait(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
