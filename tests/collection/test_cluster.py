"""`cluster` beside the reference of the four phases, brute force and `near_duplicates`; in parts, and at the edges."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from agreement import GROUPINGS, SEEDS, TEN, THRESHOLDS, check_agrees, check_consistent, check_same, cut_small, sample_of
from generated import corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import as_sketches, collection, expected

import ndcore as nd
from ndcore.collection.cluster import cluster
from ndcore.collection.shelf import CLASSES
from ndcore.reference import clustering, shingling
from ndcore.reference import sketches as reference_sketches
from ndcore.reference.collection import greedy as nearest_first_member

SPILLED = 1 << 17


@pytest.fixture
def small_parts(monkeypatch):
    cut_small(monkeypatch, slab=5, pairs=30, documents=11, room=7)


# ---------------------------------------------------------------------------------------------- the reference


@pytest.mark.parametrize("modulus", [1, 4, 25, None])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_phase_as_the_reference(seed, modulus):
    rng = random.Random(seed)
    samples = collection(rng, rng.choice([2, 30, 60]), modulus)
    sketches = as_sketches(samples, modulus is None)
    max_holders = rng.choice([1, 2, 5, 1000])
    for threshold, (policy, kind) in itertools.product(THRESHOLDS, GROUPINGS):
        how = {"policy": policy, "cluster": kind, "max_holders": max_holders}
        found = cluster(sketches, threshold=threshold, least=1, threads=1, **how)
        check_agrees(found, expected(samples, threshold, **how))


@pytest.mark.parametrize("seed", SEEDS)
def test_in_parts_of_any_size(seed, small_parts):
    rng = random.Random(seed)
    samples = collection(rng, 70, rng.choice([1, None]))
    sketches = as_sketches(samples, samples[0].modulus != 1 or any(s.modulus != 1 for s in samples))
    for threads, max_holders in ((1, 1000), (3, 4)):
        found = cluster(sketches, threshold=0.4, max_holders=max_holders, threads=threads)
        check_agrees(found, expected(samples, 0.4, max_holders=max_holders))
        assert len(found.shelf.names("pairs")) > 1


@pytest.mark.parametrize("seed", range(4))
def test_spilled(seed):
    """Compare with a run in memory: the limit has bytes for half of the values."""
    rng = random.Random(seed)
    samples = collection(rng, 600, None, pool=4000)
    sketches = as_sketches(samples)
    whole = cluster(sketches, threshold=0.4)
    assert not whole.shelf.spilled
    for threads in (1, 4):
        spilled = cluster(sketches, threshold=0.4, memory_limit=SPILLED, threads=threads)
        assert spilled.shelf.spilled
        check_same(spilled, whole)
        how = 0.7, "containment", "components"
        check_same(spilled.rethreshold(*how), whole.rethreshold(*how))


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.sets(st.integers(0, 60), max_size=16)), max_size=12),
    st.sampled_from(THRESHOLDS), st.sampled_from([1, 2, 3, 1000]), st.sampled_from(GROUPINGS),
)  # fmt: skip
@settings(max_examples=300)
def test_any_collection_as_the_reference(sets, threshold, max_holders, grouping):
    samples = [sample_of(modulus, members) for modulus, members in sets]
    how = {"max_holders": max_holders, "policy": grouping[0], "cluster": grouping[1]}
    found = cluster(as_sketches(samples), threshold=threshold, least=1, threads=1, **how)
    check_agrees(found, expected(samples, threshold, **how))


def test_vectors(vectors):
    """Compare stars with the vectors of the reference, where documents are kept in their order."""
    stored = vectors("fourphase")
    used = 0
    for case in stored["cases"]:
        samples = stored["collections"][case["collection"]]
        if case["order"] != sorted(case["order"]) or any(isinstance(members, dict) for _, members in samples):
            continue
        listed = [sample_of(modulus, [int(z, 16) for z in members]) for modulus, members in samples]
        moduli = {sample.modulus for sample in listed}
        adaptive = len(moduli) > 1
        found = cluster(as_sketches(listed, adaptive), threshold=case["threshold"], max_holders=case["max_holders"])
        assert found.leaders.tolist() == case["leaders"]
        common = zip(*(column.tolist() for column in found.common), strict=True)
        assert [[hex(z), holders, example] for z, holders, example in sorted(common)] == case["common"]
        used += 1
    assert used >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_joins_the_first_that_it_resembles(seed):
    """Check that greedy does not join the one it resembles most, as stars and the reference's greedy do."""
    rng = random.Random(seed)
    samples = collection(rng, 50, 1)
    sketches = as_sketches(samples, False)
    found = cluster(sketches, threshold=0.3, cluster="star")
    leaders = found.leaders.tolist()
    wanted = nearest_first_member(samples, leaders, [], 0.3)
    assert found.labels.tolist() == [wanted[leader] for leader in leaders]


# ---------------------------------------------------------------------------------------------- brute force over texts


def sets_of(texts, width=5):
    return [frozenset(shingling.fingerprints(document, width=width)) for document in texts]


def ratio(a, b):
    return len(a & b) / len(a | b) if a and b else -1.0


@pytest.mark.parametrize("seed", range(6))
def test_at_modulus_1_as_brute_force_over_shingle_sets(seed):
    """Check that without sampling and exclusion every estimate is exact; equal sets go where the first one goes."""
    texts = corpus(random.Random(seed), 80)
    sets = sets_of(texts)
    leaders = [sets.index(own) for own in sets]
    pairs = [(a, b, ratio(sets[a], sets[b])) for a, b in itertools.combinations(sorted(set(leaders)), 2)]
    full = np.array([len(own) > 0 for own in sets])
    for threshold in (0.2, 0.5, 0.8, 1.0):
        labels = clustering.star(len(texts), [pair for pair in pairs if pair[2] >= threshold])
        wanted = np.array([labels[leader] for leader in leaders])
        found = cluster(texts, sketcher=nd.ModSketcher(1), threshold=threshold, max_holders=10**9, threads=2)
        assert found.labels[full].tolist() == wanted[full].tolist()
        for i in found.duplicates:
            if full[i]:
                assert found.resemblance[i] == ratio(sets[i], sets[found.labels[i]])


@pytest.mark.parametrize("seed", range(6))
def test_adaptive_sketches_of_texts_as_the_reference(seed, small_parts):
    """Sketch in segments, from str and bytes, by an iterator and by a list."""
    rng = random.Random(seed)
    texts = [*corpus(rng, 60), " ".join(f"w{rng.randrange(50)}" for _ in range(900)), " ".join("abcdefgh" * 300)]
    texts.append(texts[-2] + " and more")
    samples = []
    for document in texts:
        level, members = reference_sketches.adaptive(shingling.fingerprints(document))
        samples.append(sample_of(1 << level, members))
    wanted = expected(samples, 0.4)
    for given_as in (texts, iter(texts)):
        found = cluster(given_as, threshold=0.4, threads=2)
        agreed = np.array([bool(sample.members) for sample in samples])
        assert found.leaders[agreed].tolist() == np.array(wanted.leaders)[agreed].tolist()
        assert found.labels[agreed].tolist() == np.array(wanted.labels)[agreed].tolist()
        assert len(found.shelf.names("sketches")) > 1
        check_consistent(found)


# ---------------------------------------------------------------------------------------------- other ways to pair


@pytest.mark.parametrize("kind", ["mod", "bottom"])
@pytest.mark.parametrize("seed", range(8))
def test_super_shingles_as_the_reference(seed, kind):
    """Find candidates by common super-shingles, then compare whole sketches."""
    rng = random.Random(seed)
    samples = collection(rng, 50, 1)
    sketches = as_sketches(samples, False)
    if kind == "bottom":
        sketches.recipe = nd.BottomSketcher(200).recipe
    for run, max_holders in ((2, 1000), (3, 3)):
        found = cluster(sketches, method="super-shingles", run=run, threshold=0.4, max_holders=max_holders, threads=2)
        wanted = expected(samples, 0.4, max_holders=max_holders, run=run)
        assert found.labels.tolist() == wanted.labels and found.leaders.tolist() == wanted.leaders
        columns = found.pairs.a, found.pairs.b, found.pairs.overlaps.common
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == [pair[:3] for pair in wanted.pairs]


@pytest.mark.parametrize("need", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_features_as_brute_force_over_features(seed, need):
    texts = corpus(random.Random(seed), 80)
    sketcher = nd.MinHasher(24)
    design = nd.FilterDesign.of(6, 4, need, threshold=0.5, num_perm=24)
    rows = sketcher.sketch_many(texts)
    found = cluster(texts, sketcher=sketcher, method="features", filter=design, threshold=0.5, threads=2)
    made = [reference_sketches.features(row.tolist(), 6, 4) for row in rows]
    leaders = [i for i in range(len(texts)) if found.leaders[i] == i and rows.valid[i]]
    wanted = []
    for a, b in itertools.combinations(leaders, 2):
        if sum(x == y for x, y in zip(made[a], made[b], strict=True)) >= need:
            equal = int(np.count_nonzero(rows.values[a] == rows.values[b]))
            if 2 * equal / (24 + equal) >= 0.5:
                wanted.append((a, b, equal / 24))
    pairs = found.pairs
    assert list(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == [pair[:2] for pair in wanted]
    np.testing.assert_allclose(pairs.overlaps.resemblance, [pair[2] for pair in wanted], rtol=1e-15)
    labels = clustering.star(len(texts), [pair for pair in wanted if pair[2] >= 0.5])
    assert found.labels.tolist() == [labels[leader] for leader in found.leaders.tolist()]
    check_same(cluster(rows, method="features", filter=design, threshold=0.5).rethreshold(0.7, cluster="components"),
         cluster(rows, method="features", filter=design, threshold=0.7, cluster="components"))


def test_the_defaults_of_the_methods():
    texts = [TEN, TEN + " eleven twelve", "nothing of the kind is here in this text"]
    for method, kind in (("shingles", "mod"), ("super-shingles", "mod"), ("features", "minhash")):
        found = cluster(texts, method=method)
        assert found.segments.recipe["kind"] == kind
        assert found.parameters["method"] == method
    assert cluster(texts).labels.tolist() == [0, 0, 2]
    assert cluster(texts, method="features").labels.tolist() == [0, 0, 2]


# ---------------------------------------------------------------------------------------------- at the edges


def test_no_document_and_one():
    for texts in ([], iter([]), nd.ModSketcher().sketch_many([])):
        found = cluster(texts)
        assert len(found) == 0 and list(found.clusters()) == [] and len(found.pairs.a) == 0
        assert len(found.duplicates) == len(found.representatives) == 0
        assert found.rethreshold(0.9, "containment", "components").labels.tolist() == []
        assert len(found.contained().inner) == 0
        with pytest.raises(IndexError, match="there is no document 0"):
            found.members(0)
    for text_ in ("", TEN):
        found = cluster([text_])
        assert found.labels.tolist() == [0] and found.members(0).tolist() == [0] and found.classes.tolist() == ["kept"]


@pytest.mark.parametrize("n", [1, 2, 3000])
def test_all_documents_the_same(n):
    for texts, kind in (([TEN] * n, "identical"), ([""] * n, "identical")):
        found = cluster(texts, max_holders=1)
        assert not found.labels.any() and set(found.classes.tolist()[1:]) <= {kind}
        assert len(found.common.value) == 0  # one leader holds each value
        check_consistent(found)


def test_one_value_held_by_all():
    samples = [sample_of(1, [5, 100 + i]) for i in range(300)]
    for max_holders, pairs, common in ((299, 0, [(5, 300, 0)]), (300, 300 * 299 // 2, [])):
        found = cluster(as_sketches(samples, False), threshold=0.3, max_holders=max_holders)
        assert len(found.pairs.a) == pairs
        assert list(zip(*(column.tolist() for column in found.common), strict=True)) == common


def test_documents_of_more_members_than_16_bits_hold():
    rng = np.random.default_rng(1)
    base = np.unique(rng.integers(0, 2**64, 70_000, np.uint64))
    longer = np.unique(np.concatenate([base, rng.integers(0, 2**64, 70_000, np.uint64)]))
    samples = [sample_of(1, members.tolist()) for members in (base, longer, base[1:])]
    found = cluster(as_sketches(samples, False), threshold=0.4)
    assert found.pairs.overlaps.common.tolist() == [len(base), len(base) - 1, len(base) - 1]
    assert found.pairs.overlaps.in_b.tolist() == [len(longer), len(base) - 1, len(base) - 1]
    assert found.labels.tolist() == [0, 0, 0]


def test_mapped_and_read_only_sketches(tmp_path):
    samples = collection(random.Random(1), 40, None)
    plain = as_sketches(samples)
    whole = cluster(plain, threshold=0.4)
    plain.save(tmp_path / "sketches.ndc")
    check_same(cluster(nd.load(tmp_path / "sketches.ndc", mmap=True), threshold=0.4), whole)
    for array in (plain.values, plain.offsets, plain.valid, plain.moduli):
        array.flags.writeable = False
    check_same(cluster(plain, threshold=0.4), whole)


@pytest.mark.parametrize("values", [[9, 5, 1], [2**63, 1, 2**63 + 1], [5, 5]])
def test_sketches_that_do_not_ascend_are_refused(values):
    """Try sketches that no sketcher makes."""
    empty = as_sketches([sample_of(1, [])] * 2, False)
    sketches = nd.Sketches(
        np.array(values * 200, np.uint64), empty.recipe, offsets=np.array([0, 300, len(values) * 200]), sizes=empty.sizes,
        sizes_exact=empty.sizes_exact, valid=empty.valid,
    )
    with pytest.raises(ValueError, match="the members of sketch 0 do not ascend: sort them, and give each once"):
        cluster(sketches)


def test_moduli_of_any_size_tell_sketches_apart():
    """Put the same member in samples of different moduli."""
    for level in (1, 31, 32, 40, 63):
        for other in (0, 30, 33, 62):
            found = cluster(as_sketches([sample_of(1 << level, [2**63]), sample_of(1 << other, [2**63])]))
            assert found.leaders.tolist() == [0, 1] and found.labels.tolist() == [0, 0]


def test_nothing_warns(recwarn):
    rng = random.Random(5)
    with np.errstate(all="raise"):
        for texts in (corpus(rng, 50), [""] * 3, [], ["a"]):
            found = cluster(texts, cluster="components", guard=0.1, policy="containment")
            assert repr(found).startswith("<Clustering of")
            found.contained()
    assert not recwarn.list


def test_classes_are_named():
    assert CLASSES[0] == "kept" and len(set(CLASSES)) == 7
    found = cluster([" ".join(f"w{i}" for i in range(300)), " ".join(f"w{i}" for i in range(30))], policy="containment",
                    sketcher=nd.ModSketcher(1))
    assert found.classes.tolist() == ["kept", "contained"] and found.resemblance[1] == 26 / 296


def test_containment_joins_what_resembles_enough_whatever_least_is() -> None:
    """Judge samples of fewer than `least` members by resemblance, which is never above the containment."""
    texts = [" ".join(f"{letter}{i}" for i in range(count)) for letter, count in (("w", 300), ("w", 297), ("v", 90))]
    for least in (1, 10**6):
        found = nd.cluster(texts, sketcher=nd.ModSketcher(4), policy="containment", threshold=0.8, least=least)
        assert found.labels.tolist() == [0, 0, 2]
    excerpt = [texts[0], " ".join(f"w{i}" for i in range(100))]
    joined = [
        nd.cluster(excerpt, sketcher=nd.ModSketcher(4), policy="containment", threshold=0.8, least=least).labels.tolist()
        for least in (1, 10**6)
    ]
    assert joined == [[0, 0], [0, 1]]


def test_documents_without_a_sample_join_their_lexical_equals() -> None:
    texts = ["A few words.", "a few words", "...", "...", "!!!"]
    found = nd.cluster(texts, sketcher=nd.ModSketcher(2**40))
    assert found.without_sample == 5
    assert found.labels.tolist() == [0, 0, 2, 2, 4]
    assert found.classes.tolist() == ["kept", "lexical", "kept", "identical", "kept"]


def test_a_shingling_is_of_the_default_sketcher(tmp_path):
    texts, wide = ["a b c d e f g h", "a b c d e f g x", "p q r s t u v w"], nd.Shingling(width=2)
    for method in ("shingles", "super-shingles", "features"):
        assert nd.cluster(texts, shingling=wide, method=method).segments.recipe["shingling"]["width"] == 2
    assert nd.Collection.build(tmp_path / "c", texts, shingling=wide).recipe["shingling"]["width"] == 2
    sketches = nd.ModSketcher(1, shingling=wide).sketch_many(texts)
    assert nd.cluster(sketches, shingling=wide).labels.tolist() == nd.cluster(sketches).labels.tolist()
    with pytest.raises(nd.RecipeMismatch, match=r"shingling\.width is 2 here and 5 there"):
        nd.cluster(sketches, shingling=nd.Shingling())
    with pytest.raises(ValueError, match="shingling=… cannot be combined with sketcher=…"):
        nd.cluster(texts, shingling=wide, sketcher=nd.ModSketcher(1))
    with pytest.raises(TypeError, match="shingling is a Shingling"):
        nd.cluster(texts, shingling=2)
