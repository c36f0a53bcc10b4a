"""Ids of documents: from a position to an id and back, and what is refused."""

from __future__ import annotations

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


def test_names_that_are_refused():
    with pytest.raises(TypeError, match="all str or all integers"):
        Names.packed(["a", 1])
    with pytest.raises(ValueError, match="65536 bytes"):
        Names.packed(["x" * 65536])
    with pytest.raises(CorruptFile, match="3 documents"):
        Names(Names.packed([1, 2]), 3)
