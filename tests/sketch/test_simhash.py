"""Simhash: vectors, the reference, every form at every boundary length, ties, angles, weights of all kinds, refusals."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from generated import LENGTHS, hash_sets, splitmix64, texts
from hypothesis import given
from hypothesis import strategies as st
from sketch_samples import simhashed, unpermuted

import ndcore as nd
from ndcore import _simhash, kernels
from ndcore.reference import shingling
from ndcore.reference import sketches as reference
from ndcore.sketch.weights import as_units

KERNEL = "simhash"
SEEDS = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1])
LARGEST = 2.0**15 - 2.0**-16
weights = st.floats(-LARGEST, LARGEST) | st.sampled_from([0.0, 1.0, -1.0, LARGEST, -LARGEST, 2.0**-17, 3 * 2.0**-17])


def as_int(row) -> int:
    """Join the words of a simhash, the most significant first."""
    return int.from_bytes(np.asarray(row, ">u8").tobytes(), "big")


def initial_letter(tokens) -> float:
    """Weigh by a shingle's first token and the length of its last."""
    first = tokens[0] if isinstance(tokens[0], str) else tokens[0].decode("latin-1")
    return (ord(first[0]) % 7 - 3) / 3 + len(tokens[-1]) if first else -1.0


# ---------------------------------------------------------------------------------------------- literals


def test_by_hand():
    """Set bit 0 of three features, bit 1 of two of four, bit 2 of one: 3 − 1 > 0, 2 − 2 = 0, 1 − 3 < 0."""
    bag = [unpermuted(z) for z in (0b111, 0b011, 0b001, 0b000)]
    assert reference.simhash_sums(bag)[:4] == [2 * 65536, 0, -2 * 65536, -4 * 65536]
    assert simhashed(nd.SimHasher(), [bag]).values.tolist() == [0b001] == [reference.simhash(bag)]
    assert simhashed(nd.SimHasher(), [bag], [1, 0, 0, 0]).values.tolist() == [0b111]
    assert simhashed(nd.SimHasher(), [bag], [-1, 1, 1, -1]).values.tolist() == [0b001]


def test_vectors(vectors, variant):
    data = vectors("simhash")
    bags = {name: [int(f, 16) for f in bag] for name, bag in data["bags"].items()}
    known = {f: (f % 1000 - 500) / 64 for bag in bags.values() for f in bag if f % 3}
    for case in data["simhashes"]:
        bag, seed = bags[case["bag"]], int(case["seed"], 16)
        for kind, name in ((None, "value"), ("distinct", "distinct"), (known, "mapped")):
            [found] = simhashed(nd.SimHasher(weights=kind, seed=seed), [bag]).values.tolist()
            assert hex(found) == case[name], (case["bag"], name)
    for case in data["weighted"]:
        [found] = simhashed(nd.SimHasher(), [bags[case["bag"]]], case["weights"]).values.tolist()
        assert hex(found) == case["value"], case["bag"]


@pytest.mark.parametrize("bits", [128, 256])
def test_vectors_of_more_bits(vectors, variant, bits):
    data = vectors("simhash")
    bags = {name: [int(f, 16) for f in bag] for name, bag in data["bags"].items()}
    known = {f: (f % 1000 - 500) / 64 for bag in bags.values() for f in bag if f % 3}
    cases = [case for case in data["wide"] if case["bits"] == bits]
    for case in cases:
        bag, seed = bags[case["bag"]], int(case["seed"], 16)
        given = [(v % 2**40) / 2**33 - 64 for v in islice(splitmix64(9100 + len(bag)), len(bag))]
        for name, kind, beside in (("value", None, None), ("distinct", "distinct", None), ("mapped", known, None),
                                   ("weighted", None, given)):  # fmt: skip
            found = simhashed(nd.SimHasher(bits, kind, seed), [bag], beside).values
            assert found.shape == (1, bits // 64)
            assert hex(as_int(found[0])) == case[name], (case["bag"], name)
    assert len(cases) > 20


def test_units_of_vectors(vectors):
    cases = vectors("simhash")["units"]
    assert as_units([weight for weight, _ in cases]).tolist() == [units for _, units in cases]


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets, min_size=1, max_size=4), SEEDS)
def test_bags_as_the_reference(variant, bags, seed):
    bags = [[*bag, *bag[:3]] for bag in bags]
    assert simhashed(nd.SimHasher(seed=seed), bags).values.tolist() == [reference.simhash(bag, None, seed) for bag in bags]
    found = simhashed(nd.SimHasher(weights="distinct", seed=seed), bags)
    assert found.values.tolist() == [reference.simhash(bag, "distinct", seed) for bag in bags]
    assert found.sizes.tolist() == [len(set(bag)) for bag in bags] and found.sizes_exact.all()


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**64 - 1), weights), max_size=30), min_size=1, max_size=3), SEEDS)
def test_weights_as_the_reference(variant, bags, seed):
    fingerprints = [[f for f, _ in bag] for bag in bags]
    found = simhashed(nd.SimHasher(seed=seed), fingerprints, [w for bag in bags for _, w in bag])
    expected = [reference.simhash(fs, [w for _, w in bag], seed) for fs, bag in zip(fingerprints, bags, strict=True)]
    assert found.values.tolist() == expected
    assert found.valid.tolist() == [any(reference.weight_units(w) for _, w in bag) for bag in bags]
    mapping = {f: w for bag in bags for f, w in bag[::2]}
    found = simhashed(nd.SimHasher(weights=mapping, seed=seed), fingerprints)
    assert found.values.tolist() == [reference.simhash(fs, mapping, seed) for fs in fingerprints]
    assert found.valid.tolist() == [any(reference.weight_units(mapping.get(f, 0)) for f in fs) for fs in fingerprints]


@given(st.lists(texts, max_size=4), st.sampled_from([1, 2, 5]), st.booleans(), SEEDS)
def test_texts_as_the_reference(variant, documents, width, labelled, seed):
    sh = nd.Shingling(width=width, labelled=labelled)
    expected = [shingling.fingerprints(document, width=width, labelled=labelled) for document in documents]
    mapping = {f: f % 11 - 4.5 for bag in expected for f in bag if f % 2}
    for kind in (None, "distinct", mapping):
        found = nd.SimHasher(weights=kind, seed=seed, shingling=sh).sketch_many(documents, threads=1)
        assert found.values.tolist() == [reference.simhash(bag, kind, seed) for bag in expected]
    by_tokens = [[initial_letter([token.decode() for token in run]) for run in shingling.shingles(
        shingling.tokens(document), width)] for document in documents]
    found = nd.SimHasher(weights=initial_letter, seed=seed, shingling=sh).sketch_many(documents, threads=1)
    assert found.values.tolist() == [
        reference.simhash(bag, given, seed) for bag, given in zip(expected, by_tokens, strict=True)
    ]


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**64 - 1), weights), max_size=30), min_size=1, max_size=3), SEEDS,
       st.sampled_from([128, 256]))
def test_more_bits_as_the_reference(variant, bags, seed, bits):
    """Require of every way to weigh: the bits of the reference, of which the first 64 are the simhash of 64 bits."""
    fingerprints = [[f for f, _ in bag] for bag in bags]
    flat, mapping = [w for bag in bags for _, w in bag], {f: w for bag in bags for f, w in bag[::2]}
    for kind, beside in ((None, None), ("distinct", None), (mapping, None), (None, flat)):
        found = simhashed(nd.SimHasher(bits, kind, seed), fingerprints, beside)
        assert [as_int(row) for row in found.values] == [
            reference.simhash(fs, [w for _, w in bag] if beside is not None else kind, seed, bits)
            for fs, bag in zip(fingerprints, bags, strict=True)]
        narrow = simhashed(nd.SimHasher(64, kind, seed), fingerprints, beside)
        assert found.values[:, 0].tolist() == narrow.values.tolist()
        for name in ("valid", "sizes", "sizes_exact"):
            np.testing.assert_array_equal(getattr(found, name), getattr(narrow, name))


# ---------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("kind", [None, "distinct"])
def test_every_length_of_a_bag(variant, kind):
    outputs = splitmix64(8)
    bags = [[next(outputs) % 2**63 for _ in range(n)] for n in LENGTHS]
    assert simhashed(nd.SimHasher(weights=kind), bags).values.tolist() == [reference.simhash(bag, kind) for bag in bags]


@pytest.mark.parametrize("size", [1.0, 63.99, 64.0, 65.0, LARGEST])
def test_every_length_with_weights(variant, size):
    """Cover lengths below 64 and from 64 on, whose weights are added in different ways."""
    outputs = splitmix64(9)
    bags = [[next(outputs) for _ in range(n)] for n in LENGTHS[:-1]]
    given = [[size if next(outputs) % 2 else -size + 0.25 for _ in bag] for bag in bags]
    found = simhashed(nd.SimHasher(), bags, [w for bag in given for w in bag])
    assert found.values.tolist() == [reference.simhash(bag, w) for bag, w in zip(bags, given, strict=True)]


@pytest.mark.parametrize("n", [2, 64, 128, 1000, 1024])
def test_ties_are_zero(variant, n):
    """Give all bits to half of the features and none to the others; one more or less decides."""
    half = [unpermuted(2**64 - 1), unpermuted(0)] * (n // 2)
    bags = [half, [*half, half[0]], [*half, half[1]]]
    assert simhashed(nd.SimHasher(), bags).values.tolist() == [0, 2**64 - 1, 0]
    assert simhashed(nd.SimHasher(weights="distinct"), bags).values.tolist() == [0, 0, 0]
    smallest = 2.0**-16
    for more, value in ((smallest, 2**64 - 1), (0.0, 0), (-smallest, 0)):
        assert simhashed(nd.SimHasher(), [half], [LARGEST] * (n - 2) + [1 + more, 1]).values.tolist() == [value]


@pytest.mark.parametrize("kind", [None, "distinct"])
def test_every_length_of_a_bag_of_more_bits(variant, kind):
    outputs = splitmix64(11)
    bags = [[next(outputs) for _ in range(n)] for n in LENGTHS]
    found = simhashed(nd.SimHasher(256, kind), bags).values
    assert [as_int(row) for row in found] == [reference.simhash(bag, kind, bits=256) for bag in bags]


def test_order_changes_nothing(variant):
    outputs = splitmix64(3)
    bag = [next(outputs) for _ in range(777)]
    for kind in (None, "distinct", {f: f % 7 for f in bag}):
        found = simhashed(nd.SimHasher(weights=kind), [bag, bag[::-1], sorted(bag)]).values
        assert len(set(found.tolist())) == 1


def test_documents_without_features(variant):
    documents = ["", "...", "one two three four five six", "\U0001f600"]
    for kind in (None, "distinct", {}, {1: 2.0}, initial_letter):
        found = nd.SimHasher(weights=kind).sketch_many(documents)
        assert found.valid.tolist() == [False, False, kind in (None, "distinct", initial_letter), False]
        assert (found.values[~found.valid] == 0).all()
        assert math.isnan(found.distance(0, 2))


def test_a_document_whose_weights_are_all_zero_resembles_nothing():
    """Tell weights that are all zero from sums that are ties."""
    found = simhashed(nd.SimHasher(), [[1, 2], [unpermuted(0), unpermuted(2**64 - 1)]], [0.0, 2.0**-18, 3.0, 3.0])
    assert (found.values.tolist(), found.valid.tolist()) == ([0, 0], [False, True])


def test_threads_do_not_change_anything():
    documents = [f"{i} " * (i % 40) + f"tail {i}" for i in range(900)] + ["z y x " * 200_000]
    idf = nd.Idf.learn(documents)
    for kind in (None, "distinct", idf):
        sketcher = nd.SimHasher(64 if kind is None else 128, weights=kind)
        one = sketcher.sketch_many(documents, threads=1)
        for threads in (2, 4, None):
            many = sketcher.sketch_many(iter(documents), threads=threads)
            for name in ("values", "sizes", "sizes_exact", "valid"):
                np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_no_documents():
    for kind in (None, "distinct", {5: 1.0}, initial_letter):
        assert nd.SimHasher(256, kind).sketch_many([]).values.shape == (0, 4)
        found = nd.SimHasher(weights=kind).sketch_many([])
        assert (found.values.shape, found.values.dtype, len(found)) == ((0,), np.uint64, 0)
    assert len(nd.SimHasher().sketch_hashes([], [0], [])) == 0


def test_units_other_than_words():
    for sh in (nd.Shingling(unit="byte", width=4), nd.Shingling(unit="char", width=3), nd.Shingling(unit=str.split, width=2),
               nd.Shingling(unit="line", width=1)):  # fmt: skip
        text = "one two\nthree two\none two"
        given = [initial_letter(run) for run in sh.shingles(text)]
        expected = reference.simhash(sh.fingerprints(text).tolist(), given)
        assert nd.SimHasher(weights=initial_letter, shingling=sh).sketch(text).values.tolist() == [expected]


@pytest.mark.thread_unsafe(reason="it chooses the kernels of the process")
def test_the_variant_changes_the_pipeline():
    """Force each variant in sketches of texts: all give the same."""
    text = " ".join(f"w{i % 300}" for i in range(3000))
    found = set()
    for name, runs in kernels.KERNELS["simhash"].variants().items():
        if runs:
            with nd.using(simhash=name):
                assert nd.variants()["simhash"][name] == "running"
                found.add(int(nd.SimHasher(weights={1: 1.0} | dict.fromkeys(range(9), 2.0)).sketch(text).values[0]))
                found.add(int(nd.SimHasher().sketch(text).values[0]))
    assert len(found) == 2


def test_finds_near_duplicates_with_the_index():
    """Give simhashes to HammingIndex as they are."""
    words = [f"word{i}" for i in range(3000)]
    documents = [" ".join(words[:1500]), " ".join([*words[:1500], "end"]), " ".join(words[1500:]), ""]
    found = nd.SimHasher().sketch_many(documents)
    assert found.distance(0, 1) <= 3 < found.distance(0, 2)
    pairs = nd.HammingIndex(found.values[found.valid], ids=np.flatnonzero(found.valid), max_distance=3).pairs()
    assert list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == [(0, 1)]
    assert pairs.distance.tolist() == [found.distance(0, 1)]


@pytest.mark.parametrize("bits", [128, 256])
def test_finds_near_duplicates_of_more_bits(bits, tmp_path):
    """Give simhashes of more bits to indexes, pairs and joins as they are."""
    words = [f"word{i}" for i in range(3000)]
    documents = [" ".join(words[:1500]), " ".join([*words[:1500], "end"]), " ".join(words[1500:]), ""]
    hasher = nd.SimHasher(bits)
    found = hasher.sketch_many(documents)
    near = int(found.distance(0, 1))
    assert near == (as_int(found[0]) ^ as_int(found[1])).bit_count() <= 8 < 31 < found.distance(0, 2)
    values, rows = found.values[found.valid], np.flatnonzero(found.valid)
    index = nd.HammingIndex(values, ids=rows, max_distance=31, recipe=found.recipe)
    assert (index.bits, index.query(found.values[0])[0].tolist()) == (bits, [0, 1])
    index.save(tmp_path / "i")
    again = nd.SimHasher.from_recipe(nd.HammingIndex.open(tmp_path / "i").recipe)
    assert again == hasher and again.bits == bits
    for pairs in (index.pairs(), nd.hamming_pairs(values, ids=rows, max_distance=31)):
        assert (pairs.a.tolist(), pairs.b.tolist(), pairs.distance.tolist()) == ([0], [1], [near])
    assert nd.hamming_join(found.values[:1], values, 31).distance.tolist() == [0, near]


def test_what_else_more_bits_do(tmp_path):
    documents = ["a b c d e f g", "a b c d e f h", "", "x y z"]
    found = nd.SimHasher(128, "distinct").sketch_many(documents)
    assert found[1:].concat(found[:1]).values.tolist() == [*found.values[1:].tolist(), found.values[0].tolist()]
    assert math.isnan(found.distance(0, 2)) and "128" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)).values.tolist() == found.values.tolist()
    found.ids = ["a", "b", "c", "d"]
    found.save(tmp_path / "s")
    for mmap in (False, True):
        loaded = nd.load(tmp_path / "s", mmap=mmap)
        assert isinstance(loaded, nd.Simhashes) and loaded.recipe == found.recipe and loaded.ids == found.ids
        np.testing.assert_array_equal(loaded.values, found.values)
    with pytest.raises(nd.RecipeMismatch, match="bits is 128 here and 64 there"):
        found[:1].distance(nd.SimHasher(weights="distinct").sketch(documents[0]))
    by_tokens = nd.SimHasher(256, initial_letter).sketch_many(documents)
    assert by_tokens.values[:, 0].tolist() == nd.SimHasher(weights=initial_letter).sketch_many(documents).values.tolist()
    pytest.importorskip("pyarrow")
    assert found.to_arrow()["sketch"].to_pylist() == found.values.tolist()


# ---------------------------------------------------------------------------------------------- sketches


def test_sketches(tmp_path):
    documents = ["a b c d e f g", "a b c d e f h", "", "x y z"]
    found = nd.SimHasher(weights="distinct").sketch_many(documents)
    assert isinstance(found, nd.Simhashes) and repr(found).startswith("<4 simhash sketches")
    assert found.distance(0, 0) == 0.0 and found.distance(0, 1) == (int(found[0]) ^ int(found[1])).bit_count()
    assert found.distance(-1, 3) == 0.0
    with pytest.raises(IndexError, match="document 4 of 4"):
        found.distance(0, 4)
    part = found[1:]
    assert isinstance(part, nd.Simhashes) and part.values.tolist() == found.values[1:].tolist()
    again = part.concat(found[:1])
    assert isinstance(again, nd.Simhashes) and [int(v) for v in again] == [*map(int, part), int(found[0])]
    found.ids = ["a", "b", "c", "d"]
    found.save(tmp_path / "s")
    for mmap in (False, True):
        loaded = nd.load(tmp_path / "s", mmap=mmap)
        assert isinstance(loaded, nd.Simhashes) and loaded.recipe == found.recipe and loaded.ids == found.ids
        for name in ("values", "sizes", "sizes_exact", "valid"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    twin = pickle.loads(pickle.dumps(found))
    assert twin.recipe == found.recipe and twin.values.tolist() == found.values.tolist()


def test_to_arrow():
    pytest.importorskip("pyarrow")
    found = nd.SimHasher().sketch_many(["a b c", "d e f"])
    table = found.to_arrow()
    assert table["sketch"].to_pylist() == found.values.tolist()
    assert table.schema.metadata[b"ndcore.recipe_id"].decode() == found.recipe.id


@pytest.mark.parametrize("call", ["resemblance", "containment", "interval", "union", "compare"])
def test_sets_cannot_be_estimated(call):
    found = nd.SimHasher().sketch_many(["a b c", "d e f"])
    with pytest.raises(TypeError, match=r"simhash sketches have no .*distance\(i, j\) and cosine\(i, j\)"):
        getattr(found, call)(0, 1)


def test_files_that_do_not_fit(tmp_path):
    found = nd.SimHasher().sketch_many(["a b c", "d e f"])
    found.values = found.values.astype(np.int64)
    found.save(tmp_path / "s")
    with pytest.raises(nd.CorruptFile, match=r"simhashes of 64 bits are uint64 \(2,\), without offsets; got int64 \(2,\)"):
        nd.load(tmp_path / "s")
    found = nd.SimHasher(128).sketch_many(["a b c", "d e f"])
    found.values = found.values[:, :1]
    found.save(tmp_path / "s")
    with pytest.raises(nd.CorruptFile, match=r"simhashes of 128 bits are uint64 \(2, 2\), .*; got uint64 \(2, 1\)"):
        nd.load(tmp_path / "s")
    for bits in (0, 127, 2**70):
        nd.Simhashes(found.values, nd.SimHasher()._recipe(bits=bits), sizes=found.sizes, sizes_exact=found.sizes_exact,
                     valid=found.valid).save(tmp_path / "s")
        with pytest.raises(nd.CorruptFile, match=f"the recipe's bits are {bits}, not 64, 128 or 256"):
            nd.load(tmp_path / "s")


# ---------------------------------------------------------------------------------------------- recipes

TWO = nd.Shingling(width=2)
DIFFERENT = [
    nd.SimHasher(), nd.SimHasher(weights="distinct"), nd.SimHasher(seed=2), nd.SimHasher(shingling=TWO),
    nd.SimHasher(weights={1: 2.0, 2**64 - 1: -1}), nd.SimHasher(weights={1: 2.0}), nd.SimHasher(weights=initial_letter),
    nd.SimHasher(weights=nd.Idf.learn(["a b", "b c", "c b"], TWO)),
    nd.SimHasher(weights=nd.Idf.learn(["a b", "b c", "c b"], TWO, min_df=2)), nd.SimHasher(weights=nd.Idf.learn([])),
    nd.SimHasher(128), nd.SimHasher(256, nd.Idf.learn(["a b", "b c", "c b"], TWO)),
]  # fmt: skip


def test_recipes_differ():
    assert len({sketcher.recipe.id for sketcher in DIFFERENT}) == len(set(DIFFERENT)) == len(DIFFERENT)
    assert nd.SimHasher().recipe["weights"] is None
    with pytest.raises(nd.RecipeMismatch, match=r"weights is None here and 'distinct' there"):
        nd.SimHasher().sketch("a").concat(nd.SimHasher(weights="distinct").sketch("a"))
    given = simhashed(nd.SimHasher(), [[1]], [1.0])
    with pytest.raises(nd.RecipeMismatch, match=r"weights is 'array' here and None there"):
        given.concat(simhashed(nd.SimHasher(), [[1]]))


def test_a_recipe_is_what_weights_are_not_how_they_came():
    """Ignore the order of a mapping, zeros, kinds of numbers and what rounding drops."""
    one = nd.SimHasher(weights={5: 1, 3: 0.5, 4: 0.0})
    other = nd.SimHasher(weights={np.uint64(3): np.float32(0.5), 5: True, 7: 2.0**-18})
    assert one == other
    assert nd.SimHasher(weights={5: 1, 3: 0.5 + 2.0**-16}) != one


@pytest.mark.parametrize("sketcher", DIFFERENT, ids=lambda sketcher: sketcher.recipe.id[:8])
def test_pickles_and_recipes(sketcher):
    twin = pickle.loads(pickle.dumps(sketcher))
    assert twin == sketcher and repr(twin) == repr(sketcher)
    texts = ["to be or not to be", "a b", "b c d"]
    np.testing.assert_array_equal(twin.sketch_many(texts).values, sketcher.sketch_many(texts).values)
    assert nd.SimHasher.from_recipe(sketcher.recipe, weights=sketcher.weights) == sketcher


def test_from_recipe_refuses():
    for recipe in (nd.SimHasher(weights={1: 1.0}).recipe, nd.SimHasher(weights=nd.Idf.learn(["a"])).recipe,
                   nd.SimHasher(weights=initial_letter).recipe, simhashed(nd.SimHasher(), [[1]], [1.0]).recipe):
        with pytest.raises(nd.RecipeMismatch, match=r"weights are needed, of which the recipe knows only .*give them as"):
            nd.SimHasher.from_recipe(recipe)
    with pytest.raises(nd.RecipeMismatch, match="weights"):
        nd.SimHasher.from_recipe(nd.SimHasher(weights={1: 1.0}).recipe, weights={1: 2.0})
    with pytest.raises(nd.RecipeMismatch, match=r"shingling\.width is 5 here and 2 there"):
        nd.SimHasher.from_recipe(nd.SimHasher().recipe, TWO)
    with pytest.raises(ValueError, match="simhashes are needed, the sketches are 'minhash'"):
        nd.SimHasher.from_recipe(nd.MinHasher().recipe)


def test_unnamed_callables_are_not_saved(tmp_path):
    nd.SimHasher(weights=initial_letter).sketch("a b").save(tmp_path / "s")
    with pytest.raises(ValueError, match="unnamed callable cannot be saved; use a function of a module as weights"):
        nd.SimHasher(weights=lambda tokens: 1.0).sketch("a b").save(tmp_path / "s")


def test_an_idf_brings_its_shingling():
    idf = nd.Idf.learn(["a b", "b c"], TWO)
    assert nd.SimHasher(weights=idf).shingling == TWO
    with pytest.raises(nd.RecipeMismatch, match=r"width is 2 here and 5 there"):
        nd.SimHasher(weights=idf, shingling=nd.Shingling())


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.SimHasher(96), ValueError, "bits must be one of 64, 128, 256, got 96"),
        (lambda: nd.SimHasher(seed=-1), ValueError, "seed must be an int"),
        (lambda: nd.SimHasher(weights="equal"), TypeError, "weights must be None, 'distinct', an Idf, .* got 'equal'"),
        (lambda: nd.SimHasher(weights=[1.0]), TypeError, r"got \[1.0\]"),
        (lambda: nd.SimHasher(weights={"a": 1.0}), TypeError, "the key 'a'; its keys are fingerprints"),
        (lambda: nd.SimHasher(weights={-1: 1.0}), TypeError, "the key -1"),
        (lambda: nd.SimHasher(weights={2**64: 1.0}), TypeError, "the key 18446744073709551616"),
        (lambda: nd.SimHasher(weights={True: 1.0}), TypeError, "the key True"),
        (lambda: nd.SimHasher(weights={1: "2"}), TypeError, "weight of 1 is '2'; weights are ints or floats"),
        (lambda: nd.SimHasher(weights={1: 1, 9: Fraction(1, 2)}), TypeError, r"weight of 9 is Fraction\(1, 2\)"),
        (lambda: nd.SimHasher(weights={9: 2**70}), ValueError, "weight of 9 is 1180591620717411303424; weights are finite"),
        (lambda: nd.SimHasher(shingling=5), TypeError, "shingling must be a Shingling or None, got 5"),
        (lambda: nd.SimHasher(weights={1: math.nan}), ValueError, "weight of 1 is nan; weights are finite and smaller"),
        (lambda: nd.SimHasher(weights={1: 1, 2: -math.inf}), ValueError, "weight of 2 is -inf"),
        (lambda: nd.SimHasher(weights={1: 32768}), ValueError, "weight of 1 is 32768"),
        (lambda: nd.SimHasher(weights={1: -32768 + 2.0**-17}), ValueError, "smaller than 32768 in magnitude"),
        (lambda: simhashed(nd.SimHasher(), [[1, 2]], [1.0]), ValueError, "there are 1 weights for 2 values"),
        (lambda: simhashed(nd.SimHasher(), [[1]], [None]), TypeError, "weight 0 is None; weights are ints or floats"),
        (lambda: simhashed(nd.SimHasher(), [[1]], [[1.0]]), TypeError, r"got float64 \(1, 1\)"),
        (lambda: simhashed(nd.SimHasher(weights={}), [[1]], [1.0]), ValueError, "the sketcher has weights of its own"),
        (lambda: simhashed(nd.SimHasher(weights=initial_letter), [[1]]), ValueError, "weights are a callable, which needs"),
        (lambda: nd.SimHasher(weights=lambda run: math.nan).sketch("a"), ValueError, "document 0: the weights .* 0 is nan"),
        (lambda: nd.SimHasher(weights=lambda run: "b").sketch_many(["", "a"]), TypeError,
         "document 1: the weights of its shingles: weight 0 is 'b'"),
        (lambda: nd.SimHasher(weights=initial_letter, shingling=nd.Shingling(short="error")).sketch_many(["", "a"]),
         ValueError, "document 1 has 1 tokens"),
        (lambda: nd.SimHasher(shingling=nd.Shingling(short="error")).sketch_many(["", "a"]), ValueError, "document 1 has 1"),
        (lambda: nd.SimHasher().sketch_hashes([1.5], [0, 1]), TypeError, "64-bit hashes in one dimension"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_hashes_of_a_list_beyond_63_bits():
    hasher = nd.SimHasher()
    listed = hasher.sketch_hashes([1, 2**63, 2**64 - 1], [0, 3])
    assert listed.values.tolist() == hasher.sketch_hashes(np.array([1, 2**63, 2**64 - 1], np.uint64), [0, 3]).values.tolist()


def test_more_occurrences_than_are_exact_are_refused(monkeypatch):
    """Replace the bound, 2^32, by a smaller one that a test can reach."""
    assert _simhash.MAX_OCCURRENCES * (2**31 - 1) < 2**63
    monkeypatch.setattr(_simhash, "MAX_OCCURRENCES", 100)
    assert simhashed(nd.SimHasher(), [[5] * 100], [1.0] * 100).valid.all()
    message = "may have 101 occurrences of features; weighted sums are exact up to 100"
    with pytest.raises(ValueError, match=message):
        simhashed(nd.SimHasher(), [[5] * 101], [1.0] * 101)
    with pytest.raises(ValueError, match=message):
        simhashed(nd.SimHasher(weights={5: 1.0}), [[5] * 101])
    with pytest.raises(ValueError, match="weighted sums are exact up to 100"):
        nd.SimHasher(weights={5: 1.0}).sketch("a " * 1000)
    assert nd.SimHasher().sketch("a " * 1000).valid.all()


def test_reference_refuses():
    with pytest.raises(ValueError, match="bits is 96; give 64, 128 or 256"):
        reference.simhash([1], bits=96)
    for weight in (math.nan, math.inf, 2**15, -(2**15), LARGEST + 2.0**-17):
        with pytest.raises(ValueError, match="weight is"):
            reference.weight_units(weight)
    with pytest.raises(ValueError, match="there are 1 weights for 2 fingerprints"):
        reference.simhash([1, 2], [1.0])
    with pytest.raises(ValueError, match="weights is 'equal'"):
        reference.simhash([1, 2], "equal")


def test_the_distance_of_simhashes_made_apart():
    sketcher, texts = nd.SimHasher(), ["a rose is a rose", "a rose is a rose is a rose and more", ""]
    together = sketcher.sketch_many(texts)
    one, other, nothing = map(sketcher.sketch, texts)
    assert one.distance(other) == together.distance(0, 1) == (int(together[0]) ^ int(together[1])).bit_count()
    assert math.isnan(one.distance(nothing))
    with pytest.raises(ValueError, match="here are 3 documents and there 1 document"):
        together.distance(one)
    with pytest.raises(nd.RecipeMismatch, match="seed is 1 here and 2 there"):
        one.distance(nd.SimHasher(seed=2).sketch("a"))
