"""Compressed tables: round trips, sizes, and forged blocks."""

import contextlib
import hashlib
import math
import random
from itertools import pairwise

import numpy as np
import pytest
from generated import splitmix64
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _hamming
from ndcore.hamming import compressed_tables, plain_tables, table_plan
from ndcore.reference import hamming as reference
from ndcore.storage import container

BLOCK = 2048
KEY_AND_POSITION = 8 + 4  # bytes that a block takes besides


def ascending_sets() -> dict[str, list[int]]:
    """Read the inputs of vectors/compressed.json."""
    outputs = splitmix64(3000)
    wide = [next(outputs) for _ in range(3000)]
    return {
        "nothing": [], "zero": [0], "ones": [2**64 - 1], "zeros": [0] * 3,
        "random_700": sorted(wide[:700]), "repeats_3000": sorted(value >> 57 for value in wide),
        "numbers_3000": list(range(3000)), "ends": [0, 1, 2**63 - 1, 2**63, 2**64 - 1],
        "clusters_2000": sorted(wide[i % 20] ^ (value & 0xFFF) for i, value in enumerate(wide[:2000])),
    }


def searcher(table: compressed_tables.CompressedTable) -> _hamming.CompressedSearcher:
    runs = np.array([[0], [64]], np.uint8)
    return _hamming.CompressedSearcher(64, 3, [(runs, 16, 0xFFFF << 48)], [
        (table.blocks, table.last, table.first, _hamming.decoding(table.lengths))])


def decoded(table: compressed_tables.CompressedTable) -> np.ndarray:
    return searcher(table).keys(0, 0, len(table.last))


def encoded(values: list[int], lengths: list[int]) -> compressed_tables.CompressedTable:
    lengths = np.array(lengths, np.uint8)
    return compressed_tables.CompressedTable(*_hamming.encoded(np.array(values, np.uint64), lengths), lengths)


def test_blocks_are_those_of_the_reference(vectors, same_as):
    sets = ascending_sets()
    assert {case["name"] for case in vectors("compressed")["cases"]} == set(sets)
    for case in vectors("compressed")["cases"]:
        values = sets[case["name"]]
        same_as(values, case["fingerprints"])
        table = encoded(values, case["lengths"])
        assert hashlib.sha256(table.blocks.tobytes()).hexdigest() == case["sha256"]
        assert [hex(key) for key in table.last.tolist()] == case["keys"]
        assert np.diff(table.first).tolist() == case["counts"]
        assert decoded(table).tolist() == values


def test_blocks_of_the_paper_hold_what_they_should():
    values = ascending_sets()["numbers_3000"][1000:]
    lengths = [7] * 65
    paper, ours = (form(values, lengths, 64) for form in (reference.paper_blocks, reference.blocks))
    assert sum(block.size for block in paper) == sum(block.size for block in ours) == 2000
    assert paper[1].bits[:64] == f"{values[paper[0].size]:064b}"
    assert all(len(block.bits) <= 8 * 64 for block in paper)
    assert len(ours) < len(paper)  # no fingerprint is stored in full
    assert list(reference.decoded(ours, lengths)) == values


@st.composite
def neighbours(draw) -> list[int]:
    """Generate ascending fingerprints with steps of all sizes, zero included."""
    steps = draw(st.lists(st.integers(0, 63).flatmap(lambda h: st.integers(0, (1 << h) - 1)), max_size=300))
    value, values = draw(st.sampled_from([0, 1, 2**63])), []
    for step in steps:
        value = min(value + step, 2**64 - 1)
        values.append(value)
    return values


@given(neighbours())
def test_whatever_is_compressed_comes_back(values):
    table = compressed_tables.CompressedTable.of(np.array(values, np.uint64))
    assert decoded(table).tolist() == values
    assert table.first[-1] == len(values)
    expected = reference.blocks(values, table.lengths.tolist(), BLOCK)
    assert table.blocks.tobytes() == b"".join(int(block.bits, 2).to_bytes(BLOCK, "big") for block in expected)


@given(st.lists(st.integers(0, 10**6), min_size=65, max_size=65).filter(any))
def test_code_lengths_are_the_best_within_their_limit(counts):
    lengths = compressed_tables.code_lengths(counts).tolist()
    assert all((length > 0) == (count > 0) for length, count in zip(lengths, counts, strict=True))
    assert max(lengths) <= 11
    assert sum(2.0 ** -length for length in lengths if length) <= 1
    free = reference.huffman_lengths(counts)
    cost, least = (sum(map(int.__mul__, of, counts)) for of in (lengths, free))
    assert cost >= least
    if max(free) <= 11:
        assert cost == least
    _hamming.decoding(np.array(lengths, np.uint8))


def test_skewed_counts_meet_the_limit():
    fibonacci = [1, 1]
    while len(fibonacci) < 65:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    lengths = compressed_tables.code_lengths(fibonacci).tolist()
    assert max(reference.huffman_lengths(fibonacci)) == 64
    assert max(lengths) == 11
    assert sum(map(int.__mul__, lengths, fibonacci)) <= 1.05 * sum(
        map(int.__mul__, reference.huffman_lengths(fibonacci), fibonacci))


@pytest.mark.parametrize("lengths", [[1, 1, 1], [12], [255], [2, 2, 2, 2, 11]])
def test_lengths_of_no_code_are_refused(lengths):
    with pytest.raises(ValueError, match="no prefix code"):
        _hamming.decoding(np.array(lengths + [0] * (65 - len(lengths)), np.uint8))


def test_a_block_is_filled_to_the_last_bit():
    lengths = [7] * 64 + [1]
    full = [5] * (8 * BLOCK - 9 + 1)  # 7 + 2 bits, then 1 bit each
    assert len(encoded(full, lengths).last) == 1
    assert len(encoded([*full, 5], lengths).last) == 2
    for some in (full, [*full, 5], full[:-1]):
        assert decoded(encoded(some, lengths)).tolist() == some


def entropy(values: np.ndarray) -> float:
    """Compute bits per fingerprint: of the distribution of symbols, and of the bits below the highest."""
    counts = _hamming.symbol_counts(values)
    part = counts[counts > 0] / counts.sum()
    return float(-(part * np.log2(part)).sum() + (counts[:64] * np.arange(64)).sum() / counts.sum())


def clustered(n: int, seed: int) -> np.ndarray:
    """Generate different fingerprints around n / 50 centres, at distances of 0 to 6 bits."""
    rng = random.Random(seed)
    made = set()
    while len(made) < n:
        centre = rng.getrandbits(64)
        for _ in range(min(50, n - len(made))):
            made.add(centre ^ sum(1 << b for b in rng.sample(range(64), rng.randrange(7))))
    return np.array(sorted(made), np.uint64)


def shared_prefix(n: int, seed: int) -> np.ndarray:
    """Generate fingerprints; half share 30 bits, the others 8."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, n, np.uint64)
    values[::2] = values[::2] >> np.uint64(30) | np.uint64(0xABCDEF12 << 32 & 0xFFFFFFFC00000000)
    values[1::2] >>= np.uint64(8)
    return np.unique(values)


@pytest.mark.parametrize("make", [
    lambda: np.unique(np.random.default_rng(1).integers(0, 2**64, 200_000, np.uint64)),
    lambda: clustered(50_000, 2), lambda: shared_prefix(200_000, 3), lambda: np.arange(200_000, dtype=np.uint64),
], ids=["random", "clustered", "prefixes", "numbers"])
def test_compressed_to_within_5_percent_of_the_entropy(make):
    values = make()
    table = compressed_tables.CompressedTable.of(values)
    assert 8 * (table.blocks.nbytes + table.last.nbytes + table.first.nbytes) / len(values) <= 1.05 * entropy(values)
    for t in table_plan.plan_tables(splits=(5,)).tables[1:4]:
        moved = plain_tables.sorted_keys(t, values)
        table = compressed_tables.CompressedTable.of(moved)
        assert 8 * (table.blocks.nbytes + table.last.nbytes + table.first.nbytes) / len(moved) <= 1.05 * entropy(moved)


def test_the_entropy_of_random_fingerprints_is_what_theory_says():
    """Expect 64 − d bits and the symbol's: about 3.4 with the bits in which neighbours differ (n = 2^d)."""
    values = np.unique(np.random.default_rng(5).integers(0, 2**64, 1 << 18, np.uint64))
    assert entropy(values) == pytest.approx(64 - 18 + 3.35, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("splits", "most"), [((5,), 62), ((4,), 24)])
def test_bytes_of_a_million_fingerprints(splits, most):
    n = 10**6
    values = np.random.default_rng(7).integers(0, 2**64, n, np.uint64)
    plan = nd.plan_tables(log2_count=math.log2(n), splits=splits)
    index = nd.HammingIndex(values, plan=plan, compress=True)
    assert index.nbytes <= most * n
    assert index.nbytes >= len(plan.tables) * n * 47 // 8  # the entropy is not less


def test_a_block_search_ends_on_skewed_keys():
    """Search keys that double, half of them alike: interpolation alone would step through them one by one."""
    values = np.unique(np.array([*(1 << h for h in range(64)), *range(2**20, 2**20 + 20000), 2**64 - 1], np.uint64))
    found = searcher(compressed_tables.CompressedTable.of(values)).ranks(values[::-1].copy())
    assert found.tolist() == list(range(len(values)))[::-1]


def test_fingerprints_of_any_range():
    values = np.unique(np.random.default_rng(2).integers(0, 2**64, 3000, np.uint64))
    plan = nd.plan_tables(log2_count=11)
    for kind in (plain_tables.PlainTables, compressed_tables.CompressedTables):
        held = kind.of(plan, values, None)
        assert held.count == 3000
        for begin, end in [(0, 3000), (0, 0), (3000, 3000), (5, 6), (340, 360), (1000, 2999)]:
            assert held.fingerprints(begin, end).tolist() == values[begin:end].tolist()


def test_ranges_of_pairs_cover_every_key_once():
    values = np.unique(np.random.default_rng(2).integers(0, 2**64, 20000, np.uint64) >> np.uint64(20) << np.uint64(3))
    plan = nd.plan_tables(log2_count=14)
    made = compressed_tables.CompressedTables.of(plan, values, None)
    tasks = list(made.tasks())
    for t in range(len(plan.tables)):
        ranges = [(low, high) for table, low, high in tasks if table == t]
        assert ranges[0][0] == 0
        assert ranges[-1][1] == 2**64 - 1
        for (_, high), (low, _) in pairwise(ranges):
            assert low == high + 1
            assert low % (1 << 64 - plan.tables[t].prefix) == 0


def test_nbytes_and_repr():
    values = np.random.default_rng(7).integers(0, 2**64, 100_000, np.uint64)
    plan = nd.plan_tables(log2_count=17, splits=(4,))
    plain, small = (nd.HammingIndex(values, plan=plan, compress=c) for c in (False, True))
    assert plain.nbytes == 4 * (8 * 100_000 + 4 * (2**14 + 1))
    assert small.nbytes < 0.8 * plain.nbytes
    assert repr(small) == "HammingIndex(100000 fingerprints of 64 bits, max_distance=3, compress=True)"
    assert "compress" not in repr(plain)
    assert nd.HammingIndex([1, 2, 3]).nbytes == 24


HOSTILE = {
    "blocks of another size": lambda a: {"blocks0": a["blocks0"][:, :1024]},
    "no blocks": lambda a: {"blocks0": a["blocks0"][:0]},
    "keys of another number": lambda a: {"last1": a["last1"][:-1]},
    "positions of another number": lambda a: {"first0": a["first0"][:-1]},
    "positions that fall": lambda a: {"first0": a["first0"][::-1].copy()},
    "positions past what a block can hold": lambda a: {"first0": a["first0"] * np.uint32(1000)},
    "positions of one table": lambda a: {"first1": np.append(a["first1"][:-1], a["first1"][-1:] + np.uint32(1))},
    "lengths of no code": lambda a: {"lengths2": np.ones(65, np.uint8)},
    "too few lengths": lambda a: {"lengths2": a["lengths2"][:64]},
    "keys of another type": lambda a: {"last0": a["last0"].astype(np.int64)},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_files_with_sound_checksums_but_senseless_tables_are_refused(change, tmp_path):
    values = np.random.default_rng(3).integers(0, 2**64, 5000, np.uint64)
    nd.HammingIndex(values, compress=True).save(tmp_path / "index")
    header, arrays = container.read(tmp_path / "index")
    container.write(tmp_path / "index", "hamming", header, arrays | change(arrays))
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(tmp_path / "index")


@pytest.mark.parametrize("fill", [0, 255, None])
def test_blocks_and_keys_that_lie_do_no_harm(fill, tmp_path):
    rng = np.random.default_rng(4)
    values = rng.integers(0, 2**64, 5000, np.uint64)
    nd.HammingIndex(values, compress=True).save(tmp_path / "index")
    header, arrays = container.read(tmp_path / "index")
    for name, array in arrays.items():
        if name.startswith(("blocks", "last")):
            bits = rng.integers(0, 256, array.nbytes, np.uint8) if fill is None else np.full(array.nbytes, fill, np.uint8)
            arrays[name] = bits.view(array.dtype).reshape(array.shape)
    container.write(tmp_path / "index", "hamming", header, arrays)
    with pytest.raises(nd.CorruptFile, match="the keys of table 0 do not ascend"):
        nd.HammingIndex.open(tmp_path / "index")
    index = nd.HammingIndex.open(tmp_path / "index", verify=False)
    for ask in (lambda: index.query_many(values[:500]), lambda: index.query(int(values[0]))):
        with contextlib.suppress(nd.CorruptFile):  # of a fingerprint that is in one table and not in the first
            ask()
    with pytest.raises(nd.CorruptFile, match="the keys of table"):
        index.pairs()
