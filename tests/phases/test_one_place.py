"""Two steps: the documents that may be near-duplicates of others have, alone, the result that they have among all."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from generated import corpus
from record_batches import pa

import ndcore as nd
from ndcore.phases.one_place import find_contenders, sketch_table

TEXTS = [text if isinstance(text, str) else text.decode() for text in corpus(random.Random(4), 150)]


def sketched(texts, design, parts=1):
    sketcher = nd.MinHasher(design.num_perm)
    table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    cuts = np.linspace(0, len(texts), parts + 1).astype(int).tolist()
    pieces = [table.slice(first, last - first) for first, last in itertools.pairwise(cuts)]
    return pa.concat_tables([sketch_table(piece, text="text", sketcher=sketcher, design=design) for piece in pieces])


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
def test_the_contenders_decide_as_among_all(threshold):
    alone = [" ".join(f"alone{i}of{j}" for i in range(20)) for j in range(50)]
    texts = random.Random(7).sample(TEXTS + alone, len(TEXTS) + len(alone))
    table = sketched(texts, nd.design_filter(threshold), 7).sort_by([("length", "ascending")])
    ids = table["id"].filter(find_contenders(table, design=nd.design_filter(threshold))).to_numpy()
    ids = np.sort(ids)
    whole = nd.near_duplicates(texts, threshold=threshold)
    part = nd.near_duplicates([texts[i] for i in ids], threshold=threshold)
    assert 0 < len(ids) <= len(texts) - len(alone)
    assert np.delete(whole.mask, ids).all()
    assert ids[part.labels].tolist() == whole.labels[ids].tolist()
    assert part.classes.tolist() == whole.classes[ids].tolist()
    np.testing.assert_array_equal(part.resemblance, whole.resemblance[ids])


def test_only_documents_in_candidate_pairs_and_copies_contend():
    texts = [*TEXTS, "only here stand these five words", "&&"]
    whole = nd.near_duplicates(texts, threshold=0.8)
    found = find_contenders(sketched(texts, whole.filter), design=whole.filter)
    assert found[~whole.mask].all() and not found[-2:].any()
    features = nd.features(whole.sketches, whole.filter.groups, whole.filter.group_size)
    common = (features[:, None] == features[None]).sum(2) >= whole.filter.need
    assert not (found & whole.valid & ~(np.sum(common & whole.valid, axis=1) > 1)).any()


def test_documents_of_a_feature_that_many_share_all_contend():
    rng = random.Random(5)
    words = [f"w{i}" for i in range(100)]
    texts = []
    for _ in range(60):
        other = words[:]
        for place in rng.sample(range(100), 4):
            other[place] = f"x{rng.random()}"
        texts.append(" ".join(other))
    design = nd.design_filter(0.8)
    table = sketched(texts, design)
    found = find_contenders(table, design=design, max_holders=5)
    rows = np.frombuffer(b"".join(table["features"].to_pylist()), "<u8").reshape(60, -1)
    for group in range(rows.shape[1]):
        _, place, count = np.unique(rows[:, group], return_inverse=True, return_counts=True)
        assert found[(count > 5)[place]].all()
    ids = np.flatnonzero(found)
    whole = nd.near_duplicates(texts, max_holders=5)
    assert whole.common
    part = nd.near_duplicates([texts[i] for i in ids], max_holders=5)
    assert ids[part.labels].tolist() == whole.labels[ids].tolist() and np.delete(whole.mask, ids).all()


def test_empty_tables():
    design = nd.design_filter(0.8)
    empty = sketched([], design)
    assert empty.schema == sketched(["a b"], design).schema
    assert find_contenders(empty, design=design).tolist() == []
    assert find_contenders(sketched([""], design), design=design).tolist() == [False]


def test_refusals():
    table = sketched(["a b"], nd.design_filter(0.8))
    with pytest.raises(ValueError, match="the documents have 19 features, and the design 23 groups"):
        find_contenders(table, design=nd.design_filter(0.7))
    with pytest.raises(ValueError, match="max_holders"):
        find_contenders(table, design=nd.design_filter(0.8), max_holders=0)


@pytest.mark.parametrize(("ids", "message"), [
    (["a", "b", "a"], "2 documents have the id 'a'; ids are unique"),
    (["a", None, "b"], "1 ids are missing (null), the first in row 1"),
])
def test_ids_that_repeat_or_are_missing(ids, message):
    design = nd.design_filter(0.8)
    table = pa.table({"id": ids, "text": ["one text", "two texts", "three texts"]})
    sketches = sketch_table(table, text="text", sketcher=nd.MinHasher(design.num_perm), design=design)
    with pytest.raises(ValueError) as caught:
        find_contenders(sketches, design=design)
    assert message in str(caught.value)
