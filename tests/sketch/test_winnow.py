"""Winnowing: the paper's example, vectors, the reference, every length, the guarantee, the density, refusals."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from generated import LENGTHS, hash_sets, splitmix64, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_samples import unpermuted

import ndcore as nd
from ndcore._minhash import Permutations
from ndcore._samples import Winnows
from ndcore.reference import resemblance, shingling, sketches

WINDOWS = st.sampled_from([1, 2, 3, 4, 7, 16, 100]) | st.integers(1, 40)
SEEDS = st.sampled_from([0, 1, 2**64 - 1])
FEW = nd.Shingling(width=2)


def winnowed(sketcher, sequences) -> nd.Winnowed:
    values = np.array([f for fs in sequences for f in fs], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, sequences)]))


def rows(sk: nd.Winnowed) -> list[list[tuple[int, int]]]:
    """Return (value, position) of all documents."""
    pairs = list(zip(sk.values.tolist(), sk.positions.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in zip(sk.offsets, sk.offsets[1:], strict=False)]


# ---------------------------------------------------------------------------------------------- literals


def test_the_example_of_the_paper(vectors):
    """Figure 2: "A do run run run, a do run run", 5-grams, windows of 4; with positions in Figure 2(f)."""
    [case] = vectors("winnow")["paper"]
    expected = [(17, 3), (17, 6), (8, 8), (39, 11), (17, 15)]
    assert [(int(z, 16), at) for z, at in case["selected"]] == expected
    for robust in (True, False):
        assert sketches.select(case["values"], 4, robust) == expected
        found = winnowed(nd.Winnower(4, robust=robust), [[unpermuted(z) for z in case["values"]]])
        assert rows(found) == [expected]


def test_vectors(vectors, same_as):
    data = vectors("winnow")
    for case in data["winnowed"]:
        fs = [int(f, 16) for f in data["sequences"][case["sequence"]]]
        found = winnowed(nd.Winnower(case["window"], robust=case["robust"], seed=int(case["seed"], 16)), [fs])
        same_as(found.values.tolist(), case["values"])
        same_as(found.positions.tolist(), case["positions"])


def test_equal_values_by_hand():
    """Select one of five equal values for each window without overlap; the rightmost rule takes each new one."""
    sequence = [[unpermuted(z) for z in (9, 9, 9, 9, 9)]]
    assert rows(winnowed(nd.Winnower(3), sequence)) == [[(9, 2)]]
    assert rows(winnowed(nd.Winnower(3, robust=False), sequence)) == [[(9, 2), (9, 3), (9, 4)]]
    assert rows(winnowed(nd.Winnower(2), sequence)) == [[(9, 1), (9, 3)]]


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets | st.lists(st.integers(0, 3), max_size=80), min_size=1, max_size=4), WINDOWS, st.booleans(), SEEDS)
def test_sequences_as_the_reference(sequences, window, robust, seed):
    found = winnowed(nd.Winnower(window, robust=robust, seed=seed), sequences)
    assert rows(found) == [sketches.winnow(fs, window, seed, robust) for fs in sequences]
    assert found.valid.tolist() == [bool(fs) for fs in sequences]


@given(st.lists(texts, max_size=4), st.sampled_from([1, 2, 5]), WINDOWS)
def test_texts_as_the_reference(documents, width, window):
    expected = [sketches.winnow(shingling.fingerprints(document, width=width), window) for document in documents]
    found = nd.Winnower(window, nd.Shingling(width=width)).sketch_many(documents)
    assert rows(found) == expected
    assert found.valid.tolist() == [bool(row) for row in expected]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("window", [1, 5, 64, 600])
def test_every_length(n, window):
    """Blocks begin and end anywhere: random, ascending, descending, few different values, and a random end."""
    outputs = splitmix64(n)
    drawn = [next(outputs) for _ in range(n)]
    ascending = [unpermuted(z) for z in range(n)]
    sequences = [drawn, ascending, ascending[::-1], [f % 5 for f in drawn], ascending[: n // 2] + drawn[n // 2 :]]
    for robust in (True, False):
        found = winnowed(nd.Winnower(window, robust=robust), sequences)
        assert rows(found) == [select(fs, window, robust) for fs in sequences]


def select(fingerprints, window, robust) -> list[tuple[int, int]]:
    """Winnow by one look at each window with NumPy, where the reference would take minutes."""
    z = np.array(sketches.permute(fingerprints), np.uint64)
    found: list[int] = []
    for begin in range(max(1, len(z) - window + 1) if len(z) else 0):
        inside = z[begin : begin + window]
        if robust and found and found[-1] >= begin and z[found[-1]] == inside.min():
            continue
        last = begin + len(inside) - 1 - int(inside[::-1].argmin())
        if not found or found[-1] != last:
            found.append(last)
    return [(int(z[at]), at) for at in found]


def test_windows_longer_than_all_blocks():
    rng = random.Random(1)
    sequence = [rng.randrange(2**64) for _ in range(9000)]
    for window in (1023, 2048, 5000, 65536):
        found = winnowed(nd.Winnower(window), [sequence, sequence[:window]])
        assert rows(found) == [select(sequence, window, True), select(sequence[:window], window, True)]


# ---------------------------------------------------------------------------------------------- guarantee


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 6), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_a_common_run_of_the_guaranteed_length_shares_a_fingerprint(width, window, alphabet, robust, rng):
    """Put a run of window + width − 1 tokens into two texts that need not have anything else in common."""
    sketcher = nd.Winnower(window, nd.Shingling(width=width), robust)
    run = [f"w{rng.randrange(alphabet)}" for _ in range(sketcher.guaranteed)]
    assert len(run) == window + width - 1
    around = [[f"{side}{rng.randrange(alphabet)}" for _ in range(rng.randrange(30))] for side in "abcd"]
    found = sketcher.sketch_many([" ".join(around[0] + run + around[1]), " ".join(around[2] + run + around[3])])
    places = [{int(z) for z, at in zip(found[i], found.positions[found.offsets[i] : found.offsets[i + 1]], strict=True)
               if len(around[2 * i]) <= at <= len(around[2 * i]) + window - 1} for i in (0, 1)]
    assert places[0] & places[1]
    assert found.compare(0, 1).common >= 1


def test_no_shorter_run_is_seen_than_a_shingle():
    found = nd.Winnower(1, nd.Shingling(width=4)).sketch_many(["a b c d e f", "x b c d y z"])
    assert found.compare(0, 1).common == 0


@pytest.mark.parametrize("window", [4, 16, 100])
def test_the_density_is_two_in_a_window_and_one(window):
    """Of 200,000 random shingles; the standard deviation of the share is below a hundredth of it."""
    values = np.random.default_rng(1).integers(0, 2**64, 200_000, dtype=np.uint64)
    found = nd.Winnower(window).sketch_hashes(values, [0, len(values)])
    assert len(found.values) / len(values) == pytest.approx(2 / (window + 1), rel=0.04)


def test_equal_rows_are_not_selected_again_and_again():
    table = " ".join(["0 0 0 0 0 0 0 0"] * 500)
    found = [len(nd.Winnower(20, FEW, robust).sketch(table).values) for robust in (True, False)]
    assert found == [199, 3980]  # positions 19, 39 … 3979 of 3,999 shingles; every one but the first 19


# ---------------------------------------------------------------------------------------------- comparisons


@given(hash_sets, hash_sets, hash_sets, st.sampled_from([1, 2, 5, 30]), st.sampled_from([1, 3]))
def test_comparisons_as_the_reference(common, a, b, window, repeats):
    sequences = [(common + a) * repeats, b + common, []]
    found = winnowed(nd.Winnower(window), sequences)
    selected = [sketches.winnow(fs, window) for fs in sequences]
    compared = found.compare()
    for i in range(3):
        for j in range(3):
            counts = resemblance.winnowed_counts(selected[i], selected[j])
            assert (compared.common[i, j], compared.total[i, j], compared.in_a[i, j]) == counts
    if sequences[0] and sequences[1]:
        both, either, ours = resemblance.winnowed_counts(*selected[:2])
        assert found.resemblance(0, 1) == both / either and found.containment(0, 1) == both / ours
    assert np.isnan(found.resemblance(0, 2))


def test_what_winnowed_fingerprints_do_not_have():
    found = nd.Winnower(3, FEW).sketch_many(["a b c d e f", "a b c d e g"])
    with pytest.raises(TypeError, match="no interval of the resemblance"):
        found.interval(0, 1)
    with pytest.raises(TypeError, match="no union"):
        found.union(0, 1)
    with pytest.raises(ValueError, match="in the order of the text; use a BottomSketcher"):
        nd.super_shingles(found)
    with pytest.raises(ValueError, match="winnow"):
        nd.features(found)
    with pytest.raises(nd.RecipeMismatch, match="window is 3 here and 4 there"):
        found.compare(other=nd.Winnower(4, FEW).sketch("a"))
    with pytest.raises(nd.RecipeMismatch, match="kind is 'winnow' here and 'bottom' there"):
        found.compare(other=nd.BottomSketcher(shingling=FEW).sketch("a"))
    with pytest.raises(TypeError, match="compared with Winnowed, not with Sketches"):
        found.count_common(nd.BottomSketcher().sketch("a"), *(np.zeros(1, np.int64),) * 2, np.zeros((1, 3), np.int64))


def test_sizes():
    texts = ["a b a b a b a b a b", "a b c d e f g h i j k", "", "a b"]
    whole = nd.Winnower(1, FEW).sketch_many(texts)
    assert whole.sizes.tolist() == [2, 10, 0, 1] and whole.sizes_exact.all()
    found = nd.Winnower(4, FEW).sketch_many(texts)
    assert found.sizes_exact.tolist() == [False, False, True, False]
    selected = [len({z for z, _ in row}) / max(1, len(row)) for row in rows(found)]
    assert found.sizes.tolist() == [9 * selected[0], 10 * selected[1], 0, 1]


def test_comparisons_follow_values_that_are_replaced():
    found = nd.Winnower(1, FEW).sketch_many(["a b c", "a b c"])
    assert found.resemblance(0, 1) == 1
    found.values = np.array([1, 2, 3, 4], np.uint64)
    assert found.resemblance(0, 1) == 0


# ---------------------------------------------------------------------------------------------- forms


def check_same(a: nd.Winnowed, b: nd.Winnowed) -> None:
    assert type(a) is type(b) is nd.Winnowed and a.recipe == b.recipe and a.ids == b.ids
    for name in ("values", "positions", "offsets", "sizes", "sizes_exact", "valid"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


TEXTS = ["a rose is a rose is a rose", "", "something else, of other words than the first", "a"]


def test_saved_pickled_cut_and_joined(tmp_path):
    found = nd.Winnower(2, FEW).sketch_many(TEXTS)
    found.ids = list("wxyz")
    found.save(tmp_path / "winnowed.nds")
    for mmap in (False, True):
        check_same(nd.load(tmp_path / "winnowed.nds", mmap), found)
    found.compare()
    check_same(pickle.loads(pickle.dumps(found)), found)
    check_same(found[:2].concat(found[2:]), found)
    assert rows(found[[2, 0]]) == [rows(found)[2], rows(found)[0]]
    assert rows(found[[]]) == []
    assert not found.positions.flags.writeable and not found[1:].positions.flags.writeable


def test_one_text_and_threads():
    sketcher = nd.Winnower(3, FEW)
    documents = [" ".join(f"w{i * i % 97}" for i in range(n)) for n in range(200)]
    found = sketcher.sketch_many(documents, threads=2)
    check_same(found, sketcher.sketch_many(documents, threads=1))
    assert rows(sketcher.sketch(documents[150])) == [rows(found)[150]]
    assert pickle.loads(pickle.dumps(sketcher)) == sketcher


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    table = nd.Winnower(2, FEW).sketch_many(TEXTS).to_arrow()
    assert table.column_names[:1] == ["sketch"] and table["positions"].type == pa.large_list(pa.int64())
    assert [len(row) for row in table["positions"].to_pylist()] == [len(row) for row in table["sketch"].to_pylist()]


def damage(name, at, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][at] = value
    return change


@pytest.mark.parametrize(("change", "message"), [
    (damage("positions", 0, -1), "no fingerprint in its first window of 2"),
    (damage("positions", 0, 2), "no fingerprint in its first window of 2"),
    (damage("positions", 1, 0), "do not ascend by 1 to 2"),
    (damage("positions", -1, 10**6), "no fingerprint in its first window"),
    (lambda arrays: arrays.pop("positions"), "positions belong to winnowed fingerprints"),
    (lambda arrays: arrays.update(positions=arrays["positions"][:-1]), "positions is int64"),
    (lambda arrays: arrays.update(positions=arrays["positions"].astype(np.int32)), "positions is int32"),
    (lambda arrays: arrays.pop("offsets"), "sizes is float64 .4,., not float64 .10,."),
    (lambda arrays: arrays.update(offsets=arrays["offsets"].astype(np.int32)), "a winnow sketch needs int64 offsets"),
    (lambda arrays: arrays.update(moduli=np.ones(4, np.uint64)), "moduli belong to adaptive"),
])  # fmt: skip
def test_damaged_files(tmp_path, change, message):
    from ndcore.storage import container

    path = tmp_path / "winnowed.nds"
    nd.Winnower(2, FEW).sketch_many(TEXTS).save(path)
    header, arrays = container.read(path, revision=1)
    change(arrays)
    container.write(path, "sketches", header, arrays, revision=1)
    with pytest.raises(nd.CorruptFile, match=message):
        nd.load(path)


def test_positions_belong_to_winnowed_fingerprints_only(tmp_path):
    from ndcore.storage import container

    path = tmp_path / "bottom.nds"
    made = nd.BottomSketcher().sketch_many(TEXTS)
    made.save(path)
    header, arrays = container.read(path)
    container.write(path, "sketches", header, {**arrays, "positions": np.zeros(len(made.values), np.int64)})
    with pytest.raises(nd.CorruptFile, match="positions belong to winnowed"):
        nd.load(path)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"window": 0}, ValueError, "window must be an int of 1 to 65536, got 0"),
    ({"window": 65537}, ValueError, "got 65537"),
    ({"window": True}, ValueError, "window must be an int"),
    ({"robust": 1}, TypeError, "robust is True or False, got 1"),
    ({"seed": -1}, ValueError, "seed must be"),
    ({"shingling": nd.Shingling(labelled=True)}, ValueError, "without occurrence numbers"),
    ({"shingling": "word"}, TypeError, "shingling must be a Shingling"),
])  # fmt: skip
def test_refusals(given, error, message):
    with pytest.raises(error, match=message):
        nd.Winnower(**given)


def test_the_sink_refuses_a_window_of_nothing():
    with pytest.raises(ValueError, match="at least one fingerprint"):
        Winnows(1, 0, True, Permutations(1, 0))


def test_no_documents():
    found = nd.Winnower().sketch_many([])
    assert (len(found), found.values.dtype, found.positions.dtype) == (0, np.uint64, np.int64)
    assert found.compare().resemblance.shape == (0, 0)
