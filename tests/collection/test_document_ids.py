"""Ids of documents: from a position to an id and back, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ndcore.collection.ids import Names
from ndcore.storage.container import CorruptFile


@pytest.mark.parametrize("ids", [
    [3, 1, -(2**63), 2**63 - 1, 3], ["b", "", "a\x00", "é\udc80", "b"], ["x" * 65535, "1", "2", "3", "4"],
])
def test_names(ids):
    names = Names(Names.packed(ids), len(ids))
    assert [names[i] for i in range(len(ids))] == ids
    for ident in set(ids):
        assert names.positions(ident).tolist() == [i for i, other in enumerate(ids) if other == ident]
    absent = "absent" if isinstance(ids[0], str) else 77
    with pytest.raises(KeyError, match=str(absent)):
        names.positions(absent)
    with pytest.raises(IndexError):
        names[len(ids)]
    wanted = [*ids[::-1], absent, *ids, *(["x" * 65536] if isinstance(ids[0], str) else [2**63, -(2**63) - 1, 0])]
    assert names.first_positions(wanted).tolist() == [ids.index(ident) if ident in ids else -1 for ident in wanted]
    assert names.first_positions([]).tolist() == []
    with pytest.raises(TypeError, match="ids are"):
        names.first_positions([ids[0], 7 if isinstance(ids[0], str) else "7"])


def test_first_positions_of_many_ids():
    """Of numbers and of positions, with gaps, repeats and an order that is not that of the documents."""
    rng = random.Random(5)
    ids = [rng.randrange(-40, 40) for _ in range(61)]
    wanted = [rng.randrange(-50, 50) for _ in range(200)]
    first = Names(Names.packed(ids), len(ids)).first_positions(wanted)
    assert first.dtype == np.int64 and first.tolist() == [ids.index(ident) if ident in ids else -1 for ident in wanted]
    assert Names({}, 7).first_positions([6, 7, -1, 0, 2**70]).tolist() == [6, -1, -1, 0, -1]
    assert Names({}, 0).first_positions([0]).tolist() == [-1]
    for empty, ident in (([], 3), ([""], "a")):
        assert Names(Names.packed(empty), len(empty)).first_positions([ident]).tolist() == [-1]


@pytest.mark.parametrize("ids", [["a", "b", "c"], [1, 2, 3]])
def test_an_order_that_names_no_document(ids):
    arrays = Names.packed(ids)
    arrays["order"] = arrays["order"] + np.uint32(3)
    with pytest.raises(CorruptFile, match="of 3; build the collection again"):
        Names(arrays, 3).first_positions(ids)


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["a", "a", "a"]])
def test_strings_with_one_fingerprint_are_told_apart(ids):
    """The order of fingerprints may be forged: strings are compared."""
    arrays = Names.packed(ids)
    arrays["keys"] = np.full(3, Names.packed(["b"])["keys"][0])
    expected = [-1, ids.index("b") if "b" in ids else -1, -1]
    assert Names(arrays, 3).first_positions(["a", "b", "c"]).tolist() == expected


def test_names_that_are_refused():
    with pytest.raises(TypeError, match="all str or all integers"):
        Names.packed(["a", 1])
    with pytest.raises(ValueError, match="65536 bytes"):
        Names.packed(["x" * 65536])
    with pytest.raises(CorruptFile, match="3 documents"):
        Names(Names.packed([1, 2]), 3)
