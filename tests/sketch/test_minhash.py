"""Signatures and bottom sketches: vectors, the reference, every form at every boundary length, refusals."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from generated import LENGTHS, hash_sets, splitmix64, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_samples import unpermuted

import ndcore as nd
from ndcore import _minhash
from ndcore.reference import shingling
from ndcore.reference import sketches as reference

KERNEL = "minhash"
SEEDS = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])


def signatures(sets, num_perm: int, bits: int, seed: int) -> list[list[int]]:
    sketches = sketched(nd.MinHasher(num_perm, bits, seed), sets)
    assert sketches.values.dtype == f"uint{bits}"
    return sketches.values.tolist()


def bottoms(sets, size: int, bits: int, seed: int) -> list[list[int]]:
    return [row.tolist() for row in sketched(nd.BottomSketcher(size, bits, seed), sets)]


def sketched(sketcher, sets) -> nd.Sketches:
    values = np.array([f for fs in sets for f in fs], np.uint64)
    sketches = sketcher.sketch_hashes(values, np.cumsum([0, *map(len, sets)]))
    assert sketches.valid.tolist() == [bool(fs) for fs in sets]
    return sketches


# ---------------------------------------------------------------------------------------------- literals


def test_key_and_coefficients_of_vectors(vectors):
    for case in vectors("minhash")["key"]:
        key, a, b = _minhash.coefficients(int(case["seed"], 16), len(case["a"]))
        assert hex(key) == case["key"]
        assert a.tolist() == [int(value, 16) | 1 for value in case["a"]]
        assert b.tolist() == [int(value, 16) for value in case["b"]]


def test_signatures_of_vectors(vectors, same_as, variant):
    data = vectors("minhash")
    for case in data["signatures"]:
        fs = [int(f, 16) for f in data["sets"][case["set"]]]
        [found] = signatures([fs], case["num_perm"], case["bits"], int(case["seed"], 16))
        same_as(found, case["values"])
        if "full" in case:
            same_as(found, case["full"])


def test_bottoms_of_vectors(vectors, same_as):
    data = vectors("minhash")
    sets = {name: [int(f, 16) for f in fs] for name, fs in data["sets"].items()}
    by_recipe = itertools.groupby(data["bottoms"], key=lambda case: (case["size"], case["bits"], case["seed"]))
    for (size, bits, seed), cases in by_recipe:
        listed = list(cases)
        found = bottoms([sets[case["set"]] for case in listed], size, bits, int(seed, 16))
        for case, values in zip(listed, found, strict=True):
            same_as(values, case["values"])


def test_a_set_without_elements_is_all_ones(variant):
    assert signatures([[], []], 3, 32, 1) == [[2**32 - 1] * 3] * 2
    assert signatures([[]], 3, 64, 1) == [[2**64 - 1] * 3]
    assert bottoms([[]], 3, 64, 1) == [[]]


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets, min_size=1, max_size=4), st.integers(1, 140), st.sampled_from([32, 64]), SEEDS)
def test_signatures_as_the_reference(variant, sets, num_perm, bits, seed):
    assert signatures(sets, num_perm, bits, seed) == [reference.signature(fs, num_perm, bits, seed) for fs in sets]


@given(st.lists(hash_sets, min_size=1, max_size=4), st.integers(1, 70), st.sampled_from([32, 40, 64]), SEEDS)
@settings(max_examples=150)
def test_bottoms_as_the_reference(sets, size, bits, seed):
    assert bottoms(sets, size, bits, seed) == [reference.bottom(fs, size, bits, seed) for fs in sets]


@given(st.lists(texts, max_size=4), st.sampled_from([1, 2, 5]), st.booleans(), st.integers(1, 40), SEEDS)
def test_texts_as_the_reference(variant, documents, width, labelled, size, seed):
    """Compare with the reference: the pipeline hands the kernel the same fingerprints."""
    sh = nd.Shingling(width=width, labelled=labelled)
    expected = [shingling.fingerprints(document, width=width, labelled=labelled) for document in documents]
    for bits in (32, 64):
        found = nd.MinHasher(size, bits, seed, sh).sketch_many(documents, threads=1)
        assert found.values.tolist() == [reference.signature(fs, size, bits, seed) for fs in expected]
        assert found.valid.tolist() == [bool(fs) for fs in expected]
    for bits in (32, 40, 64):
        found = nd.BottomSketcher(size, bits, seed, sh).sketch_many(documents, threads=1)
        assert [row.tolist() for row in found] == [reference.bottom(fs, size, bits, seed) for fs in expected]


@given(hash_sets.filter(bool), st.randoms(use_true_random=False))
def test_order_and_repeats_change_nothing(variant, fs, rng):
    shuffled = fs + rng.choices(fs, k=len(fs))
    rng.shuffle(shuffled)
    assert signatures([fs], 40, 32, 1) == signatures([shuffled], 40, 32, 1)
    assert signatures([fs], 40, 64, 1) == signatures([shuffled], 40, 64, 1)
    assert bottoms([fs], 7, 64, 1) == bottoms([shuffled], 7, 64, 1)


# ---------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("bits", [32, 64])
def test_the_size_by_a_single_minimum(bits):
    """A minimum u of n uniform numbers makes n = 1 / -log(1 - u) most likely."""
    sketches = sketched(nd.MinHasher(1, bits), [range(100), range(100, 300)])
    minima = [(int(value) + 0.5) / 2**bits for value in sketches.values[:, 0]]
    assert sketches.sizes.tolist() == pytest.approx([-1 / math.log1p(-u) for u in minima])


@pytest.mark.parametrize("num_perm", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 84, 127, 128, 129, 256])
def test_every_number_of_permutations(variant, num_perm):
    """Cover all lanes: full blocks, and a rest of each size class."""
    outputs = splitmix64(num_perm)
    sets = [[next(outputs) for _ in range(n)] for n in (0, 1, 2, 20)]
    expected = [reference.signature(fs, 256, 32, 3)[:num_perm] for fs in sets]
    assert signatures(sets, num_perm, 32, 3) == expected


@pytest.mark.parametrize("bits", [32, 64])
def test_every_length_of_a_set(variant, bits):
    outputs = splitmix64(bits)
    sets = [[next(outputs) for _ in range(n)] for n in LENGTHS]
    assert signatures(sets, 9, bits, 1) == [reference.signature(fs, 9, bits, 1) for fs in sets]


@pytest.mark.parametrize("at", range(0, 1026, 41))
def test_the_least_may_stand_anywhere(variant, at):
    """Place the minimum 0 of permutation 0 at one position of blocks of 512 and nowhere else."""
    _, a, b = _minhash.coefficients(1, 1)
    outputs = splitmix64(at)
    fs = [next(outputs) for _ in range(1026)]
    low = (-int(b[0]) * pow(int(a[0]), -1, 2**32)) % 2**32  # a·low + b = 0 mod 2^32
    fs[at] = unpermuted(low << 32 | 77, 1)
    assert reference.signature([fs[at]], 1, 32, 1) == [0]
    assert signatures([fs], 1, 32, 1) == [[0]]
    assert signatures([fs[:at] + fs[at + 1 :]], 1, 32, 1) != [[0]]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 64, 65, 200])
@pytest.mark.parametrize("order", ["ascending", "descending", "mixed"])
def test_bottom_heap_in_awkward_orders(size, order):
    """Give values of π from 0 on, each twice, in orders that never, always or sometimes replace the root."""
    wanted = [0, 1, 2**64 - 1, *(i * 2**55 + i % 3 for i in range(1, 400))]
    wanted = {"ascending": sorted(wanted), "descending": sorted(wanted)[::-1], "mixed": wanted[::2] + wanted[1::2]}[order]
    fs = [unpermuted(z, 1) for z in wanted for _ in range(2)]
    assert reference.permute(fs[::2], 1) == wanted
    assert bottoms([fs], size, 64, 1) == [sorted(wanted)[:size]]
    assert bottoms([fs], size, 40, 1) == [sorted({z >> 24 for z in wanted})[:size]]
    assert bottoms([fs], size, 32, 1) == [sorted({z >> 32 for z in wanted})[:size]]


def test_bottom_table_with_one_home_for_all():
    """Give values with the same low 40 bits, which probe one place of the table; members leave it often."""
    wanted = [i << 40 | 5 for i in range(3000, 0, -1)]
    fs = [unpermuted(z, 1) for z in wanted]
    assert bottoms([fs + fs[::-1]], 50, 64, 1) == [sorted(wanted)[:50]]


@pytest.mark.parametrize("n", [40, 282, 283, 1000, 4096, 4097])
def test_bottom_of_values_that_are_not_uniform(n):
    """Give close descending values with the same leading digits, some of them twice, and a few large ones."""
    wanted = [2**40 - i for i in range(n)] + [2**64 - 1 - 2**61 * i for i in range(7)]
    fs = [unpermuted(z, 1) for z in wanted + wanted[::3]]
    for size in (1, 39, 200):
        assert bottoms([fs], size, 64, 1) == [sorted(wanted)[:size]]
        assert bottoms([fs], size, 40, 1) == [sorted({z >> 24 for z in wanted})[:size]]


def test_bottoms_lie_end_to_end():
    """Take sets that are full, not full and empty, in one call."""
    outputs = splitmix64(11)
    sets = [[next(outputs) for _ in range(n)] for n in (0, 300, 3, 0, 0, 20, 21, 5000, 1, 0)]
    sketches = sketched(nd.BottomSketcher(20, 64, 1), sets)
    assert sketches.offsets.tolist() == np.cumsum([0, 0, 20, 3, 0, 0, 20, 20, 20, 1, 0]).tolist()
    assert [row.tolist() for row in sketches] == [reference.bottom(fs, 20, 64, 1) for fs in sets]


def test_large_sketches():
    outputs = splitmix64(5)
    fs = [next(outputs) for _ in range(3000)]
    assert bottoms([fs], 65536, 64, 1) == [sorted(reference.permute(fs, 1))]
    [found] = signatures([fs[:3]], 65536, 32, 1)
    assert (len(found), found[:50]) == (65536, reference.signature(fs[:3], 50, 32, 1))


def test_84_permutations_are_a_prefix_of_128(variant):
    documents = [f"document {i} of some that have words of their own, {i * i}" for i in range(20)]
    for bits in (32, 64):
        short = nd.MinHasher(84, bits).sketch_many(documents).values
        np.testing.assert_array_equal(short, nd.MinHasher(128, bits).sketch_many(documents).values[:, :84])


def test_forms_agree_on_documents(variant):
    """Run the whole pipeline on documents of every length around the blocks, against the reference."""
    words = [f"w{i}" for i in range(2100)]
    documents = [" ".join(words[:n]) for n in (1, 511, 512, 513, 1023, 1024, 1025, 2100)]
    found = nd.MinHasher(84, shingling=nd.Shingling(width=1)).sketch_many(documents, threads=2).values
    fs = shingling.fingerprints(documents[-1], width=1)
    for row, n in zip(found.tolist(), (1, 511, 512, 513, 1023, 1024, 1025, 2100), strict=True):
        assert row[:8] + row[80:] == [reference.signature(fs[:n], 84, 32, 1)[i] for i in (*range(8), *range(80, 84))]


def test_threads_do_not_change_anything():
    documents = [f"{i} " * (i % 40) + f"tail {i}" for i in range(2000)] + ["z y x " * 300_000]
    for sketcher in (nd.MinHasher(20), nd.BottomSketcher(9), nd.ModSketcher(3), nd.ModSketcher("adaptive")):
        one = sketcher.sketch_many(documents, threads=1)
        for threads in (2, 4, None):
            many = sketcher.sketch_many(iter(documents), threads=threads)
            for name in ("values", "sizes", "sizes_exact", "valid"):
                np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
            assert many.recipe == sketcher.recipe


def test_no_documents():
    assert nd.MinHasher(7).sketch_many([]).values.shape == (0, 7)
    empty = nd.BottomSketcher(7).sketch_many([])
    assert (len(empty), empty.offsets.tolist(), empty.values.dtype) == (0, [0], np.uint64)
    assert len(nd.MinHasher().sketch_hashes([], [0])) == 0


def test_kinds_of_hashes():
    expected = nd.MinHasher(5).sketch_hashes(np.array([1, 2, 3], np.uint64), [0, 3]).values.tolist()
    assert expected == [reference.signature([1, 2, 3], 5, 32, 1)]
    for values in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3], np.int8), np.array([1, 9, 2, 9, 3], np.uint64)[::2],
                   np.array([1, 2, 3], ">u8")):  # fmt: skip
        for offsets in ([0, 3], np.array([0, 3], np.uint32), np.array([0, 3], ">i8")):
            assert nd.MinHasher(5).sketch_hashes(values, offsets).values.tolist() == expected


def test_progress_tells_documents():
    told = []
    nd.MinHasher(5).sketch_many(["a b"] * 10, progress=lambda *state: told.append(state))
    assert told[-1] == ("sketching", 10, 10)


# ---------------------------------------------------------------------------------------------- recipes

DIFFERENT = [
    nd.MinHasher(), nd.MinHasher(85), nd.MinHasher(bits=64), nd.MinHasher(seed=2),
    nd.MinHasher(shingling=nd.Shingling(width=4)), nd.BottomSketcher(), nd.BottomSketcher(84), nd.BottomSketcher(bits=40),
    nd.BottomSketcher(bits=32), nd.BottomSketcher(seed=0), nd.BottomSketcher(shingling=nd.Shingling(labelled=True)),
    nd.MinHasher(method="fast"), nd.ModSketcher(2), nd.ModSketcher(3), nd.ModSketcher(3, 2), nd.ModSketcher(3, size=4),
    nd.ModSketcher(3, shingling=nd.Shingling(width=4)), nd.ModSketcher("adaptive"), nd.ModSketcher("adaptive", 2),
]  # fmt: skip


def test_every_parameter_is_in_the_recipe_and_matters():
    document = " ".join(f"w{i} x y z x y z x y z" for i in range(60))  # repeats, for Option A
    assert len({sketcher.recipe.id for sketcher in DIFFERENT}) == len(set(DIFFERENT)) == len(DIFFERENT)
    outputs = [tuple(sketcher.sketch(document).values.ravel().tolist()) for sketcher in DIFFERENT]
    assert len(set(outputs)) == len(outputs)


@pytest.mark.parametrize("sketcher", DIFFERENT, ids=lambda sketcher: sketcher.recipe.id[:8])
def test_pickles(sketcher):
    twin = pickle.loads(pickle.dumps(sketcher))
    assert twin == sketcher and twin.recipe.id == sketcher.recipe.id and repr(twin) == repr(sketcher)
    np.testing.assert_array_equal(twin.sketch("to be or not to be").values, sketcher.sketch("to be or not to be").values)


def test_from_recipe():
    made = nd.MinHasher(30, 64, 9, nd.Shingling(width=2))
    assert nd.MinHasher.from_recipe(made.recipe) == made
    with pytest.raises(nd.RecipeMismatch, match=r"shingling\.width is 2 here and 3 there"):
        nd.MinHasher.from_recipe(made.recipe, nd.Shingling(width=3))
    with pytest.raises(ValueError, match="signatures are needed, the sketches are 'bottom'"):
        nd.MinHasher.from_recipe(nd.BottomSketcher().recipe)


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.MinHasher(0), ValueError, "num_perm must be an int of 1 to 65536, got 0"),
        (lambda: nd.MinHasher(65537), ValueError, "got 65537"),
        (lambda: nd.MinHasher(8.0), ValueError, "got 8.0"),
        (lambda: nd.MinHasher(True), ValueError, "got True"),
        (lambda: nd.MinHasher(bits=40), ValueError, "bits must be one of 32, 64, got 40"),
        (lambda: nd.MinHasher(seed=-1), ValueError, "seed must be an int of 0 to 2.64 - 1, got -1"),
        (lambda: nd.MinHasher(seed=2**64), ValueError, "got 18446744073709551616"),
        (lambda: nd.MinHasher(method="quick"), ValueError, "method must be .*, got .quick."),
        (lambda: nd.BottomSketcher(0), ValueError, "size must be an int of 1 to 65536, got 0"),
        (lambda: nd.BottomSketcher(bits=48), ValueError, "bits must be one of 32, 40, 64, got 48"),
        (lambda: nd.BottomSketcher(seed="1"), ValueError, "got '1'"),
        (lambda: nd.MinHasher().sketch_hashes([1.5], [0, 1]), TypeError, "64-bit hashes in one dimension: .* got 1.5"),
        (lambda: nd.MinHasher().sketch_hashes([-1], [0, 1]), TypeError, "unsigned 64-bit hashes .* -1 among them"),
        (lambda: nd.MinHasher(shingling=5), TypeError, "shingling must be a Shingling or None, got 5"),
        (lambda: nd.BottomSketcher(shingling=5), TypeError, "shingling must be a Shingling or None, got 5"),
        (lambda: nd.MinHasher().sketch_hashes([[1]], [0, 1]), TypeError, r"got int64 \(1, 1\)"),
        (lambda: nd.MinHasher().sketch_hashes(["a"], [0, 1]), TypeError, "64-bit hashes"),
        (lambda: nd.MinHasher().sketch_hashes([2**64], [0, 1]), TypeError, "64-bit hashes"),
        (lambda: nd.MinHasher().sketch_hashes([1], []), TypeError, r"offsets are n \+ 1 integers"),
        (lambda: nd.MinHasher().sketch_hashes([1], [0.0, 1.0]), TypeError, r"offsets are n \+ 1 integers, got float64"),
        (lambda: nd.MinHasher().sketch_hashes([1], [0, 2]), ValueError, "from 0 to 1, the number of values; .* 0 to 2"),
        (lambda: nd.MinHasher().sketch_hashes([1, 2], [1, 2]), ValueError, "they go from 1 to 2"),
        (lambda: nd.MinHasher().sketch_hashes([1, 2], [0, 2, 1, 2]), ValueError,
         r"offsets must ascend from 0 to 2, .*; offsets\[2\] is 1, below offsets\[1\], which is 2"),
        (lambda: nd.MinHasher().sketch_hashes([1], np.array([0, 2**63, 1], np.uint64)), ValueError, "offsets must ascend"),
        (lambda: nd.MinHasher().sketch_many(["a"], threads=0), ValueError, "threads must be None or an int .* got 0"),
        (lambda: nd.MinHasher().sketch_many(["a"], threads=10**30), ValueError,
         f"threads must be at most 65536, got {10**30}; None gives one per CPU"),
        (lambda: nd.MinHasher().sketch_many(["a"], threads=1.5), ValueError, "got 1.5"),
        (lambda: nd.MinHasher().sketch_many("abc"), TypeError, r"texts is one str; give a list of documents, \[text\]"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("threads", [1, 2])
def test_large_bottom_sketches_of_short_texts_reserve_what_they_can_hold(threads):
    texts = [f"a few words of text, number {i}" for i in range(2000)]
    sketcher = nd.BottomSketcher(65536)
    values, offsets = np.arange(4000, dtype=np.uint64), np.arange(0, 4001, 2)
    tracemalloc.start()
    try:
        sketches = sketcher.sketch_many(texts, threads=threads)
        sets = sketcher.sketch_hashes(values, offsets)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000  # of 2000 sketches of 65,536 members: a gigabyte
    assert np.diff(sketches.offsets).tolist() == [3] * 2000
    assert np.diff(sets.offsets).tolist() == [2] * 2000
    assert sketches.values.tolist() == nd.BottomSketcher(200).sketch_many(texts).values.tolist()


@pytest.mark.parametrize("hasher", [nd.MinHasher(500), nd.MinHasher(500, 64), nd.MinHasher(500, method="fast")])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.thread_unsafe(reason="memory of the process")
def test_signatures_are_written_where_they_stay(hasher, threads):
    """No second copy of them: pieces write to one array."""
    texts = ["", *(f"some text of document {i} and some more" for i in range(9_999))]
    tracemalloc.start()
    try:
        sketches = hasher.sketch_many(texts, threads=threads)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * sketches.values.nbytes
    expected = hasher.sketch_hashes(*hasher.shingling.fingerprints_many(texts))
    assert np.array_equal(sketches.values, expected.values)


@pytest.mark.parametrize("sink", [_minhash.Signatures32, _minhash.Signatures64, _minhash.FastSignatures])
def test_rows_for_signatures_have_their_shape(sink):
    dtype = np.uint64 if sink is _minhash.Signatures64 else np.uint32
    for shape in ((2, 7), (3, 8), (16,)):
        with pytest.raises(ValueError, match=r"rows for 2 signatures have the shape .*; \(2, 8\) is needed"):
            sink(2, _minhash.Permutations(1, 8), np.empty(shape, dtype))
    rows = np.zeros((2, 8), dtype)
    assert sink(2, _minhash.Permutations(1, 8), rows).rows is rows
    for wrong in (rows.astype(np.float32), np.zeros((4, 8), dtype)[::2]):
        with pytest.raises(ValueError, match=f"rows for signatures are a contiguous array of {np.dtype(dtype)}, got"):
            sink(2, _minhash.Permutations(1, 8), wrong)
