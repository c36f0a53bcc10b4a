"""Documents with equal sketches beside the reference, digests and texts, and how they are the same."""

from __future__ import annotations

import random

import numpy as np
import pytest
from agreement import TEN, check_consistent, check_same
from generated import corpus
from samples import TOP, as_sketches, collection, parted

import ndcore as nd
from ndcore.collection.cluster import Apart, cluster, collapse, find_alike
from ndcore.collection.segments import Segments
from ndcore.collection.shelf import SHINGLE
from ndcore.reference import collection as reference_collection
from ndcore.reference import text
from ndcore.reference.collection import Sketch


def together(segments):
    """Return that no option keeps documents apart."""
    return Apart(np.arange(len(segments)), None, None, segments.empty)


def collapsed(segments, digests):
    return collapse(segments, find_alike(segments, together(segments), 1), digests, together(segments))


@pytest.mark.parametrize("modulus", [1, None])
@pytest.mark.parametrize("seed", range(8))
def test_equal_sketches_as_the_reference(seed, modulus):
    samples = collection(random.Random(seed), 60, modulus, pool=60)
    segments = parted(as_sketches(samples, modulus is None), [20, 41])
    leader, how = collapsed(segments, None)
    wanted = reference_collection.collapse(samples)
    assert leader.tolist() == wanted
    assert how.tolist() == [0 if wanted[i] == i else SHINGLE for i in range(60)]


def test_equal_keys_are_not_equal_sketches(monkeypatch):
    """Check that keys that are equal by chance collapse nothing."""
    samples = [Sketch(1, [1, 2]), Sketch(1, [1, 3]), Sketch(1, [1, 2]), Sketch(1, []), Sketch(1, [1])]
    segments = Segments([as_sketches(samples)])
    monkeypatch.setitem(segments.__dict__, "keys", np.full(5, 9, np.uint64))
    documents, firsts = find_alike(segments, together(segments), 1)
    assert (documents.tolist(), firsts.tolist()) == ([2], [0])
    samples = [Sketch(1, [1, 2]), Sketch(1, [1, 3]), Sketch(1, [1, 3]), Sketch(1, [4]), Sketch(1, [1, 2]), Sketch(1, [4])]
    segments = Segments([as_sketches(samples)])
    monkeypatch.setitem(segments.__dict__, "keys", np.full(6, 9, np.uint64))
    documents, firsts = find_alike(segments, together(segments), 1)
    assert (documents.tolist(), firsts.tolist()) == ([2, 4, 5], [1, 0, 3])


def test_nobody_can_write_samples_with_one_key(monkeypatch):
    """Check samples that a chain of public bijections, h = fmix64(h ^ value), takes to one key."""
    rng, state = random.Random(7), fmix64(2 + fmix64(1) + 1)
    first, second = sorted(rng.randrange(TOP) for _ in range(2))
    target, samples = fmix64(state ^ first) ^ second, []
    while len(samples) < 50:
        value = rng.randrange(TOP // 2)
        if value < (forged := fmix64(state ^ value) ^ target):
            samples.append(Sketch(1, [value, forged]))
    samples += [Sketch(1, [first, second])] * 50
    segments, compared = Segments([as_sketches(samples)]), []
    compare = segments.compared
    monkeypatch.setattr(segments, "compared", lambda a, b, threads: compared.extend(a.tolist()) or compare(a, b, threads))
    documents, firsts = find_alike(segments, together(segments), 1)
    assert (documents.tolist(), firsts.tolist()) == (list(range(51, 100)), [50] * 49)
    assert len(compared) == 49


def fmix64(z: int) -> int:
    """Finalise as MurmurHash3 does."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        z = (z ^ z >> 33) * factor % TOP
    return z ^ z >> 33


def digests(rows):
    """Return digests of (bytes, tokens), each named by a small number."""
    return np.array([[raw] * 16 + [tokens] * 16 for raw, tokens in rows], np.uint8)


@pytest.mark.parametrize(
    ("rows", "leaders", "how"),
    [
        ([(1, 1), (2, 1), (2, 1), (3, 3)], [0, 0, 0, 3], [0, 2, 2, 0]),
        ([(1, 1), (2, 2), (1, 1), (3, 1), (2, 2)], [0, 1, 0, 0, 1], [0, 0, 1, 2, 1]),
        ([(1, 1)] * 3, [0, 0, 0], [0, 1, 1]),
        ([(1, 1), (2, 2), (3, 3)], [0, 1, 2], [0, 0, 0]),
    ],
)
def test_empty_samples_by_digests(rows, leaders, how):
    """Check that a leader is its own, not the twin of one that is the same as an earlier document in another way."""
    segments = Segments([as_sketches([Sketch(4, [])] * len(rows))])
    found = collapsed(segments, digests(rows))
    assert (found[0].tolist(), found[1].tolist()) == (leaders, how)


def test_documents_without_shingles_are_identical_or_nothing():
    sketches = as_sketches([Sketch(4, [])] * 5)
    sketches.valid = np.array([False, True, False, False, True])
    segments = Segments([sketches])
    found = collapsed(segments, digests([(1, 0), (2, 5), (3, 0), (1, 0), (4, 5)]))
    assert (found[0].tolist(), found[1].tolist()) == ([0, 1, 2, 0, 1], [0, 0, 0, 1, 2])


def test_equal_samples_by_digests():
    segments = Segments([as_sketches([Sketch(4, [4, 8])] * 4)])
    found = collapsed(segments, digests([(1, 1), (2, 1), (1, 1), (3, 3)]))
    assert (found[0].tolist(), found[1].tolist()) == ([0, 0, 0, 0], [0, 2, 1, 3])


# ---------------------------------------------------------------------------------------------- by texts


def strongest(texts, i, j, equal):
    """Tell how document i is the same as j, from bytes, canonical tokens and sketches."""
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
    check_consistent(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_documents_as_near_duplicates(seed):
    """Compare at modulus 1, where equal sketches are equal shingle sets, and threshold 1, where nothing else is left."""
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
    check_consistent(found)
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
    check_same(found, cluster(texts, sketcher=nd.ModSketcher(1)))
