"""`cluster` beside the reference of the four phases, brute force and `near_duplicates`; in parts, interrupted, misused."""

from __future__ import annotations

import errno
import itertools
import random
import threading

import numpy as np
import pytest
from generated import corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import as_sketches, collection, expected

import ndcore as nd
from ndcore.collection import parts, phase1_sketches, phase2_entries, phase3_pairs
from ndcore.collection.classes import CLASSES
from ndcore.collection.cluster import cluster, run_phases
from ndcore.collection.job import Job, readable
from ndcore.collection.settings import CLUSTERINGS, POLICIES
from ndcore.collection.shelf import DirectoryShelf, MemoryShelf
from ndcore.reference import clustering, features, minhash, shingling, text
from ndcore.reference import fourphase as reference
from ndcore.reference.fourphase import Sketch, contained
from ndcore.reference.fourphase import greedy as nearest_first_member

SEEDS = range(12)
GROUPINGS = [(policy, kind) for policy in POLICIES for kind in CLUSTERINGS if (policy, kind) != ("containment", "popular")]
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SPILLED = 1 << 17
TEN = "one two three four five six seven eight nine ten"


def small_pieces(batch):
    """What `texts.pieces` gives, of four documents each."""
    return ((i, batch[i : i + 4]) for i in range(0, len(batch), 4))


@pytest.fixture
def small_parts(monkeypatch):
    """Slabs, ranges, segments and counted pairs of a few."""
    for module, name, value in (
        (phase2_entries, "SLAB", 5), (parts, "PARTS", 10**9), (phase3_pairs, "RANGE", 30), (phase3_pairs, "ROOM", 7),
        (phase1_sketches, "SEGMENT_DOCUMENTS", 11),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(phase1_sketches, "pieces", small_pieces)


def agrees(found, wanted):
    """Everything that the reference says too."""
    assert found.leaders.tolist() == wanted.leaders
    assert found.labels.tolist() == wanted.labels
    pairs = found.pairs
    assert list(zip(
        pairs.a.tolist(), pairs.b.tolist(), pairs.overlaps.common.tolist(), pairs.overlaps.resemblance.tolist(),
        pairs.overlaps.a_in_b.tolist(), pairs.overlaps.b_in_a.tolist(), strict=True,
    )) == [tuple(pair) for pair in wanted.pairs]  # fmt: skip
    common = sorted(zip(*(column.tolist() for column in found.common), strict=True))
    assert common == [tuple(value) for value in wanted.common]
    consistent(found)


def consistent(found):
    """What holds of every clustering."""
    n = len(found)
    itself = found.labels == np.arange(n)
    assert (found.labels <= np.arange(n)).all() and (found.labels[found.labels] == found.labels).all()
    assert (found.leaders[found.leaders] == found.leaders).all() and (found.leaders <= np.arange(n)).all()
    np.testing.assert_array_equal(found.labels, found.labels[found.leaders])
    np.testing.assert_array_equal(found.classes == "kept", itself)
    np.testing.assert_array_equal(found.resemblance[itself], 1.0)
    assert set(np.concatenate([np.empty(0, np.int64), *found.clusters()]).tolist()) == set(
        np.flatnonzero(np.isin(found.labels, found.labels[~itself])).tolist()
    )
    holders = found.common.holders.tolist()
    assert holders == sorted(holders, reverse=True)


def same(one, other):
    """Two clusterings that must not differ."""
    for name in ("labels", "leaders", "codes", "same"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.resemblance, other.resemblance)
    for left, right in ((one.pairs[:2], other.pairs[:2]), (one.common, other.common)):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b)
    for name in ("common", "in_a", "in_b"):
        np.testing.assert_array_equal(getattr(one.pairs.overlaps, name), getattr(other.pairs.overlaps, name))
    for a, b in zip(one.chains, other.chains, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.without_sample == other.without_sample and one.floor == other.floor


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
        agrees(found, expected(samples, threshold, **how))


@pytest.mark.parametrize("seed", SEEDS)
def test_in_parts_of_any_size(seed, small_parts):
    rng = random.Random(seed)
    samples = collection(rng, 70, rng.choice([1, None]))
    sketches = as_sketches(samples, samples[0].modulus != 1 or any(s.modulus != 1 for s in samples))
    for threads, max_holders in ((1, 1000), (3, 4)):
        found = cluster(sketches, threshold=0.4, max_holders=max_holders, threads=threads)
        agrees(found, expected(samples, 0.4, max_holders=max_holders))
        assert len(found.shelf.names("pairs")) > 1


@pytest.mark.parametrize("seed", range(4))
def test_spilled(seed):
    """As in memory, from files; twice as many values as the limit has bytes for."""
    rng = random.Random(seed)
    samples = collection(rng, 600, None, pool=4000)
    sketches = as_sketches(samples)
    whole = cluster(sketches, threshold=0.4)
    assert not whole.shelf.spilled
    for threads in (1, 4):
        spilled = cluster(sketches, threshold=0.4, memory_limit=SPILLED, threads=threads)
        assert spilled.shelf.spilled
        same(spilled, whole)
        same(spilled.rethreshold(0.7, "containment", "components"), whole.rethreshold(0.7, "containment", "components"))


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 4, 8]), st.sets(st.integers(0, 60), max_size=16)), max_size=12),
    st.sampled_from(THRESHOLDS), st.sampled_from([1, 2, 3, 1000]), st.sampled_from(GROUPINGS),
)  # fmt: skip
@settings(max_examples=300)
def test_any_collection_as_the_reference(sets, threshold, max_holders, grouping):
    samples = [sample_of(modulus, members) for modulus, members in sets]
    how = {"max_holders": max_holders, "policy": grouping[0], "cluster": grouping[1]}
    found = cluster(as_sketches(samples), threshold=threshold, least=1, threads=1, **how)
    agrees(found, expected(samples, threshold, **how))


def sample_of(modulus, members):
    """The multiples of the modulus among them."""
    return Sketch(modulus, sorted(z for z in members if z % modulus == 0))


def test_vectors(vectors):
    """Stars by the vectors of the reference, where documents are kept in their order."""
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
    """Not the one it resembles most, which is what stars, and the reference's greedy with first members, do."""
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
    """No sampling, no exclusion: every estimate is exact. Documents of equal sets go where the first of them goes."""
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
    """Sketched in segments, from str and bytes, by an iterator and by a list."""
    rng = random.Random(seed)
    texts = [*corpus(rng, 60), " ".join(f"w{rng.randrange(50)}" for _ in range(900)), " ".join("abcdefgh" * 300)]
    texts.append(texts[-2] + " and more")
    samples = []
    for document in texts:
        level, members = minhash.adaptive(shingling.fingerprints(document))
        samples.append(sample_of(1 << level, members))
    wanted = expected(samples, 0.4)
    for given_as in (texts, iter(texts)):
        found = cluster(given_as, threshold=0.4, threads=2)
        agreed = np.array([bool(sample.members) for sample in samples])
        assert found.leaders[agreed].tolist() == np.array(wanted.leaders)[agreed].tolist()
        assert found.labels[agreed].tolist() == np.array(wanted.labels)[agreed].tolist()
        assert len(found.shelf.names("sketches")) > 1
        consistent(found)


# ---------------------------------------------------------------------------------------------- how documents are the same


def strongest(texts, i, j, equal):
    """How document i is the same as j, from bytes, canonical tokens and sketches."""
    bytes_of = [t if isinstance(t, bytes) else t.encode("utf-8", "surrogatepass") for t in (texts[i], texts[j])]
    if bytes_of[0] == bytes_of[1]:
        return "identical"
    left, right = (text.tokens(texts[k]) for k in (i, j))
    if left == right and left:
        return "lexical"
    return "shingle" if equal else "near"


@pytest.mark.parametrize("modulus", [1, 25, "adaptive"])
@pytest.mark.parametrize("seed", range(6))
def test_classes_are_the_strongest_that_hold(seed, modulus):
    rng = random.Random(seed)
    texts = corpus(rng, 90)
    sketcher = nd.ModSketcher(modulus)
    rows = [row.tolist() for row in sketcher.sketch_many(texts)]
    found = cluster(texts, sketcher=sketcher, threshold=0.5)
    for i in found.duplicates.tolist():
        j = int(found.labels[i])
        assert found.classes[i] == strongest(texts, i, j, rows[i] == rows[j]), (i, j, texts[i], texts[j])
    consistent(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_documents_as_near_duplicates(seed):
    """At modulus 1 equal sketches are equal shingle sets; at threshold 1 nothing else is left."""
    texts = corpus(random.Random(seed), 90)
    ours, theirs = cluster(texts, sketcher=nd.ModSketcher(1), threshold=1.0), nd.near_duplicates(texts, threshold=1.0)
    assert ours.labels.tolist() == theirs.labels.tolist()
    assert ours.classes.tolist() == theirs.classes.tolist()
    np.testing.assert_array_equal(ours.resemblance, theirs.resemblance)


def test_documents_with_empty_samples_are_the_same_by_their_texts_only():
    sketcher = nd.ModSketcher(2**63)
    texts = ["A b c d e f!", "a b c d e f", "a b c d e f", "x y z p q r", "", "", "...", "A b c d e f!"]
    assert not np.diff(sketcher.sketch_many(texts).offsets).any()
    found = cluster(texts, sketcher=sketcher)
    assert found.labels.tolist() == [0, 0, 0, 3, 4, 4, 6, 0]
    assert found.classes.tolist() == ["kept", "lexical", "lexical", "kept", "kept", "identical", "kept", "identical"]
    assert found.without_sample == 8
    consistent(found)
    alone = cluster(texts, sketcher=sketcher, tell_apart=False)
    assert alone.labels.tolist() == list(range(8))


def test_without_reading_again_equal_sketches_are_of_one_class():
    texts = [TEN, TEN, TEN.upper(), "", ""]
    assert cluster(texts).classes.tolist() == ["kept", "identical", "lexical", "kept", "identical"]
    assert cluster(texts, tell_apart=False).classes.tolist() == ["kept", "shingle", "shingle", "kept", "kept"]


def test_sketches_with_digests_tell_as_texts_do():
    texts = [TEN, TEN, TEN.upper(), "", "", "...", TEN + " " + TEN[4:]]
    sketches = nd.ModSketcher(1).sketch_many(texts)
    assert cluster(sketches).classes.tolist()[:3] == ["kept", "shingle", "shingle"]
    digests = nd.near_duplicates(texts).sketches.digests
    assert digests is not None
    sketches.digests = digests
    found = cluster(sketches)
    assert found.classes.tolist()[:5] == ["kept", "identical", "lexical", "kept", "identical"]
    same(found, cluster(texts, sketcher=nd.ModSketcher(1)))


# ---------------------------------------------------------------------------------------------- thresholds again


@pytest.mark.parametrize("seed", range(5))
def test_another_threshold_is_as_another_run(seed):
    rng = random.Random(seed)
    samples = collection(rng, 60, None)
    sketches = as_sketches(samples)
    first = cluster(sketches, threshold=0.9, max_holders=20)
    for threshold, (policy, kind) in itertools.product((0.5, 0.55, 0.75, 1.0), GROUPINGS):
        same(first.rethreshold(threshold, policy, kind),
             cluster(sketches, threshold=threshold, policy=policy, cluster=kind, max_holders=20))
    same(first.rethreshold(), first)
    low = cluster(sketches, threshold=0.2, max_holders=20)
    assert low.rethreshold(0.5).labels.tolist() == first.rethreshold(0.5).labels.tolist()


def test_no_threshold_below_the_floor():
    found = cluster([TEN, TEN + " eleven"], threshold=0.8)
    for ask in (found.rethreshold, found.contained):
        with pytest.raises(ValueError, match=r"pairs were counted from 0\.5 on, a threshold of 0\.4 needs more"):
            ask(0.4)
        for wrong in (0, -1, 1.5, float("nan"), "0.8", None if ask == found.contained else "x"):
            with pytest.raises(ValueError, match="threshold is a resemblance above 0 and at most 1"):
                ask(wrong)


@pytest.mark.parametrize("modulus", [1, None])
@pytest.mark.parametrize("seed", SEEDS)
def test_containment_as_the_reference(seed, modulus):
    rng = random.Random(seed)
    samples = collection(rng, 50, modulus)
    found = cluster(as_sketches(samples, modulus is None), threshold=0.3, max_holders=9, least=1)
    wanted = expected(samples, 0.3, max_holders=9)
    for threshold, least in itertools.product((0.3, 0.5, 0.8, 1.0), (None, 1, 3, 15)):
        held = found.contained(threshold, least)
        every = [(*way, fourphase_sizes(samples, *way[:2])) for way in contained(wanted.pairs, threshold)]
        told = [way for way in every if way[3] >= (least or 1) or samples[way[0]].modulus == samples[way[1]].modulus == 1]
        assert list(zip(*(column.tolist() for column in held), strict=True)) == told


def fourphase_sizes(samples, inner, outer):
    """Members of the inner sample at the larger modulus."""
    return reference.sizes(samples[inner], samples[outer])[0]


def test_few_members_tell_no_containment():
    """Of two members at the modulus of the longer document both are in it; they resemble each other 2 / 40."""
    samples = [sample_of(4, range(0, 160, 4)), sample_of(2, [0, 2, 4, 6])]
    how = {"policy": "containment", "threshold": 0.8}
    found = cluster(as_sketches(samples), **how)
    assert found.labels.tolist() == [0, 1] and len(found.contained().inner) == 0
    assert cluster(as_sketches(samples), least=2, **how).labels.tolist() == [0, 0]
    assert cluster(as_sketches(samples), least=3, **how).labels.tolist() == [0, 1]
    assert found.rethreshold(least=2).labels.tolist() == [0, 0] and found.contained(least=2).inner.tolist() == [1]
    whole = [sample_of(1, range(40)), sample_of(1, [3, 4])]
    for adaptive in (True, False):
        assert cluster(as_sketches(whole, adaptive), **how).labels.tolist() == [0, 0]


# ---------------------------------------------------------------------------------------------- chains


def chain(links):
    """Samples of which each has 9 of its 10 members in common with the next."""
    return [sample_of(1, range(at, at + 10)) for at in range(links)]


def test_components_tell_of_chains_and_the_guard_splits_them():
    samples = [*chain(6), *[sample_of(1, range(1000, 1010 + more)) for more in (0, 1, 2)]]
    sketches = as_sketches(samples, False)
    found = cluster(sketches, threshold=0.8, cluster="components")
    assert found.labels.tolist() == [0] * 6 + [6] * 3
    told = [column.tolist() for column in found.chains]
    assert told == [[0], [6], [4], [5 / 15], [9 / 11], [5]]  # 2 to 5 are below 0.8: 8/12, 7/13, 6/14, 5/15
    guarded = cluster(sketches, threshold=0.8, cluster="components", guard=0.4)
    stars = cluster(sketches, threshold=0.8, cluster="star")
    assert guarded.labels.tolist() == stars.labels.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 6]
    assert [column.tolist() for column in guarded.chains] == told
    lenient = cluster(sketches, threshold=0.8, cluster="components", guard=0.3)
    assert lenient.labels.tolist() == found.labels.tolist()
    assert found.rethreshold(guard=0.4).labels.tolist() == guarded.labels.tolist()


# ---------------------------------------------------------------------------------------------- other ways to pair


@pytest.mark.parametrize("kind", ["mod", "bottom"])
@pytest.mark.parametrize("seed", range(8))
def test_super_shingles_as_the_reference(seed, kind):
    """Candidates by common super-shingles, then whole sketches are compared."""
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
    made = [features.features(row.tolist(), 6, 4) for row in rows]
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
    same(cluster(rows, method="features", filter=design, threshold=0.5).rethreshold(0.7, cluster="components"),
         cluster(rows, method="features", filter=design, threshold=0.7, cluster="components"))


def test_the_defaults_of_the_methods():
    texts = [TEN, TEN + " eleven twelve", "nothing of the kind is here in this text"]
    for method, kind in (("shingles", "mod"), ("super-shingles", "mod"), ("features", "minhash")):
        found = cluster(texts, method=method)
        assert found.segments.recipe["kind"] == kind
        assert found.parameters["method"] == method
    assert cluster(texts).labels.tolist() == [0, 0, 2]
    assert cluster(texts, method="features").labels.tolist() == [0, 0, 2]


# ---------------------------------------------------------------------------------------------- interrupted


class Interrupted:
    """A shelf whose k-th putting of something raises, before or after it is there."""

    def __init__(self, shelf, at, error, after):
        self._shelf, self._left, self._error, self._after = shelf, at, error, after
        self._lock = threading.Lock()
        self.made = []

    def __getattr__(self, name):
        return getattr(self._shelf, name)

    def _put(self, put, name, *what):
        with self._lock:
            self._left -= 1
            last = self._left == -1
        if last and not self._after:
            raise self._error
        put(name, *what)
        self.made.append(name)
        if last:
            raise self._error

    def put(self, name, header, arrays):
        self._put(self._shelf.put, name, header, arrays)

    def put_sketches(self, name, sketches):
        self._put(self._shelf.put_sketches, name, sketches)


def on_shelf(shelf, texts, **changes):
    how = {"threshold": 0.4, "sketcher": None, "method": "shingles", "policy": "resemblance", "cluster": "star",
           "guard": None, "least": 8, "max_holders": 8, "run": 3, "filter": None, "tell_apart": True, "memory_limit": None,
           "threads": 1}  # fmt: skip
    keep = changes.pop("keep_entries", True)
    return run_phases(shelf, Job.of(readable(texts), **{**how, **changes}), lambda *_: None, keep)


@pytest.mark.parametrize(
    ("error", "after", "changes"),
    [
        (KeyboardInterrupt(), False, {}),
        (OSError(errno.ENOSPC, "No space left on device"), False, {"threads": 2}),
        (KeyboardInterrupt(), True, {"keep_entries": False}),
        (KeyboardInterrupt(), False, {"method": "super-shingles", "sketcher": nd.ModSketcher(1)}),
    ],
    ids=["interrupted", "no space", "after", "super-shingles"],
)  # fmt: skip
def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch, error, after, changes):
    for module, name, value in (
        (phase2_entries, "SLAB", 600), (parts, "PARTS", 10**9), (phase3_pairs, "RANGE", 400),
        (phase1_sketches, "SEGMENT_DOCUMENTS", 25),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(phase1_sketches, "pieces", small_pieces)
    texts = corpus(random.Random(3), 60)
    counter = Interrupted(MemoryShelf(), 10**9, None, False)
    whole = on_shelf(counter, texts, **changes)
    puts = len(counter.made)
    assert puts == len(set(counter.made)) >= 12
    for at in range(puts):
        folder = tmp_path / str(at)
        folder.mkdir()
        broken = Interrupted(DirectoryShelf(folder), at, error, after)
        with pytest.raises(type(error)):
            on_shelf(broken, texts, **changes)
        there = {path: path.stat().st_ino for path in folder.rglob("*.ndc")}
        again = Interrupted(DirectoryShelf(folder), 10**9, None, False)
        same(on_shelf(again, texts, **changes), whole)
        assert not set(again.made) & set(broken.made)
        assert all(path.stat().st_ino == inode for path, inode in there.items() if path.exists())
        assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".ndc"]


def test_what_is_done_is_not_done_again(tmp_path):
    texts = corpus(random.Random(4), 40)
    whole = on_shelf(DirectoryShelf(tmp_path), texts)
    again = Interrupted(DirectoryShelf(tmp_path), 0, KeyboardInterrupt(), False)
    same(on_shelf(again, iter([])), whole)
    assert again.made == []


def test_no_room_for_the_entries_is_said_each_time(tmp_path):
    class Full(DirectoryShelf):
        def reserve(self, need, what):
            raise OSError(errno.ENOSPC, f"{what} take {need}")

    for _ in range(2):
        with pytest.raises(OSError, match="the sorted entries take"):
            on_shelf(Full(tmp_path), [TEN, TEN + " eleven"])


# ---------------------------------------------------------------------------------------------- what is not accepted


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"threshold": 0}, ValueError, "threshold is a resemblance above 0 and at most 1, got 0"),
        ({"threshold": float("nan")}, ValueError, "threshold is a resemblance above 0 and at most 1, got nan"),
        ({"threshold": 1.01}, ValueError, "threshold is a resemblance above 0"),
        ({"threshold": "0.5"}, ValueError, "threshold is a resemblance above 0"),
        ({"threshold": None}, ValueError, "threshold is a resemblance above 0"),
        ({"threshold": True}, ValueError, "threshold is a resemblance above 0"),
        ({"least": 0}, ValueError, "least must be an int of at least 1, got 0"),
        ({"cluster": "popular", "policy": "containment"}, ValueError, "'popular' clusters by resemblance"),
        ({"cluster": "popular", "method": "features"}, ValueError, "'popular' is made of mod sketches"),
        ({"max_holders": 0}, ValueError, "max_holders must be an int of at least 1, got 0"),
        ({"max_holders": True}, ValueError, "max_holders must be an int of at least 1, got True"),
        ({"max_holders": 2.0}, ValueError, "max_holders must be an int"),
        ({"memory_limit": 0}, ValueError, "memory_limit is a number of bytes from 1 on, or a size as .2G., got 0"),
        ({"memory_limit": float("nan")}, ValueError, r"memory_limit is a number of bytes from 1 on, or a size .*, got nan"),
        ({"threads": 0}, ValueError, "threads must be None or an int of at least 1"),
        ({"method": "shingle"}, ValueError, "method must be one of shingles, super-shingles, features, got 'shingle'"),
        ({"policy": "both"}, ValueError, "policy must be one of resemblance, containment, got 'both'"),
        ({"cluster": "stars"}, ValueError, "cluster must be one of star, components, greedy, popular, got 'stars'"),
        ({"guard": 0.3}, ValueError, "guard=0.3 is for cluster='components'"),
        ({"guard": float("nan"), "cluster": "components"}, ValueError, "guard=nan is for cluster='components'"),
        ({"guard": 0.6, "cluster": "components"}, ValueError, "above 0 and at most the threshold, 0.5"),
        ({"method": "features", "policy": "containment"}, ValueError, "signatures do not tell containment"),
        ({"method": "super-shingles", "run": 0}, ValueError, "run is 0; a super-shingle has 1 to 65536"),
        ({"ids": ["a"]}, ValueError, "there are 1 ids and 2 documents"),
        ({"sketcher": nd.MinHasher()}, ValueError, "'shingles' takes mod sketches of whole samples, these are minhash"),
        ({"sketcher": nd.BottomSketcher()}, ValueError, "these are bottom sketches"),
        ({"sketcher": nd.ModSketcher(4, size=9)}, ValueError, "these are mod sketches with a size"),
        ({"sketcher": nd.ModSketcher("adaptive"), "method": "super-shingles"}, ValueError, "these are adaptive"),
        ({"sketcher": nd.MinHasher(), "method": "super-shingles"}, ValueError, "these are minhash"),
        ({"sketcher": nd.ModSketcher(), "method": "features"}, ValueError, "features are made of signatures, these are mod"),
        ({"sketcher": nd.MinHasher(8), "method": "features", "filter": nd.FilterDesign.of(3, 3, threshold=0.5)}, ValueError,
         "the filter takes 9 minima, the signatures have 8"),
        ({"sketcher": "mod"}, TypeError, "sketcher is a ModSketcher, BottomSketcher or MinHasher, got 'mod'"),
        ({"sketcher": "mod", "method": "features"}, TypeError, "sketcher is a ModSketcher, BottomSketcher or MinHasher"),
        ({"sketcher": nd.SimHasher()}, TypeError, "sketcher is a ModSketcher, BottomSketcher or MinHasher"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_accepted(changes, error, message):
    with pytest.raises(error, match=message):
        cluster([TEN, TEN + " eleven"], **changes)


@pytest.mark.parametrize(
    "changes",
    [{"policy": "x"}, {"cluster": "x"}, {"guard": 2.0}, {"method": "super-shingles", "run": -1}, {"threads": 0},
     {"memory_limit": float("nan")}],
    ids=str,
)
def test_parameters_are_looked_at_before_anything_is_read(changes):
    def texts():
        pytest.fail("a document was read")
        yield ""

    with pytest.raises(ValueError, match=r"must be one of|is for cluster|run is|threads|memory_limit"):
        cluster(texts(), **changes)


def test_texts_that_are_none():
    for texts, error in (("one text", TypeError), ([TEN, None], TypeError), (7, TypeError), (b"x", TypeError)):
        with pytest.raises(error):
            cluster(texts)


def test_sketches_of_another_sketcher_than_asked_for():
    sketches = nd.ModSketcher(1).sketch_many([TEN])
    assert len(cluster(sketches, sketcher=nd.ModSketcher(1))) == 1
    with pytest.raises(nd.RecipeMismatch):
        cluster(sketches, sketcher=nd.ModSketcher(4))


@pytest.mark.parametrize("max_holders", [1, 2**63, 2**64 - 1, 2**64, 10**30, np.int64(5)])
def test_any_number_of_holders(max_holders):
    assert cluster([TEN, TEN + " eleven"], max_holders=max_holders).leaders.tolist() == [0, 1]


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
        consistent(found)


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
    same(cluster(nd.load(tmp_path / "sketches.ndc", mmap=True), threshold=0.4), whole)
    for array in (plain.values, plain.offsets, plain.valid, plain.moduli):
        array.flags.writeable = False
    same(cluster(plain, threshold=0.4), whole)


@pytest.mark.parametrize("values", [[9, 5, 1], [2**63, 1, 2**63 + 1], [5, 5]])
def test_sketches_that_do_not_ascend_are_refused(values):
    """No sketcher makes them."""
    empty = as_sketches([sample_of(1, [])] * 2, False)
    sketches = nd.Sketches(
        np.array(values * 200, np.uint64), empty.recipe, offsets=np.array([0, 300, len(values) * 200]), sizes=empty.sizes,
        sizes_exact=empty.sizes_exact, valid=empty.valid,
    )
    with pytest.raises(ValueError, match="the members of sketch 0 do not ascend: sort them, and give each once"):
        cluster(sketches)


def test_moduli_of_any_size_tell_sketches_apart():
    """The same member, in samples of different moduli."""
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
    assert CLASSES[0] == "kept" and len(set(CLASSES)) == 6
    found = cluster([" ".join(f"w{i}" for i in range(300)), " ".join(f"w{i}" for i in range(30))], policy="containment",
                    sketcher=nd.ModSketcher(1))
    assert found.classes.tolist() == ["kept", "contained"] and found.resemblance[1] == 26 / 296


def test_containment_joins_what_resembles_enough_whatever_least_is() -> None:
    """Samples of fewer than `least` members are judged by resemblance, which is never above the containment."""
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
