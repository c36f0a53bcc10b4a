"""Common shingles are left out of the sets of documents of their label, and of no others."""

from __future__ import annotations

import pickle

import numpy as np
from record_batches import pa

from ndcore.pairs.common_shingles import CommonShingles
from ndcore.phases.labelled_shingles import LabelledShingles


def made(pairs, labels):
    values, groups = (np.array(column, kind) for column, kind in zip(zip(*pairs, strict=True), (np.uint64, np.int64),
                                                                       strict=True))
    return LabelledShingles(CommonShingles(values, groups), labels)


def test_each_label_has_its_own():
    left_out = pickle.loads(pickle.dumps(made([(3, 0), (5, 0), (5, 1)], {b"a" * 16: 0, b"b" * 16: 1})))
    batch = pa.record_batch({"scope": pa.array([b"a" * 16, b"b" * 16, b"c" * 16, b"a" * 16])})
    groups = left_out.groups(batch)
    assert groups.tolist() == [0, 1, -1, 0]
    values, offsets = np.array([1, 3, 5, 3, 5, 3, 5, 3, 5], np.uint64), np.array([0, 3, 5, 7, 9])
    values, offsets = left_out.common.remove(values, offsets, groups)
    assert values.tolist() == [1, 3, 3, 5] and offsets.tolist() == [0, 1, 2, 4, 4]


def test_documents_without_labels():
    batch = pa.record_batch({"text": pa.array([b"a", b"b"])})
    values, offsets = np.array([1, 3, 3], np.uint64), np.array([0, 2, 3])
    left_out = made([(3, 0)], {b"": 0})
    values, offsets = left_out.common.remove(values, offsets, left_out.groups(batch))
    assert values.tolist() == [1] and offsets.tolist() == [0, 1, 1]
    none = LabelledShingles(CommonShingles(np.empty(0, np.uint64), np.empty(0, np.int64)), {})
    assert none.groups(batch).tolist() == [-1, -1]
    assert none.common.remove(values, offsets, none.groups(batch))[0] is values
