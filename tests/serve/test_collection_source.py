"""A collection that is asked: clusters by size, positions as ids, repeated ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import text

import ndcore as nd
from ndcore.serve.collection_source import CollectionSource
from ndcore.serve.refusal import Refused

PAGE = {"page": 1, "size": 50, "least": 2}


def made(folder: Path, ids: list[str] | None) -> CollectionSource:
    texts = [text(1), text(2), text(2), text(2), text(1), text(3)]
    return CollectionSource(nd.Collection.build(folder / "c", texts, ids, threshold=0.5), "c")


def test_positions_are_ids(tmp_path: Path) -> None:
    source = made(tmp_path, None)
    assert [(c.representative, c.documents, c.members) for c in source.clusters(PAGE).clusters] == [
        (1, 3, [1, 2, 3]),
        (0, 2, [0, 4]),
    ]
    assert source.document({"key": "4", **PAGE}).cluster.representative == 0
    assert source.document({"key": 4, **PAGE}).key == 4
    for wrong in ("6", "-1", "x"):
        with pytest.raises(Refused, match="no document"):
            source.document({"key": wrong, **PAGE})


def test_repeated_ids(tmp_path: Path) -> None:
    source = made(tmp_path, ["a", "b", "b", "c", "a", "d"])
    assert [member.key for member in source.document({"key": "b", **PAGE}).cluster.members] == ["b", "b", "c"]
    assert [member.verdict for member in source.document({"key": "a", **PAGE}).cluster.members] == ["kept", "identical"]
    figures = source.about({}).figures
    assert figures["clusters"] == 2 and source.about({}).documents == 6


def test_pages(tmp_path: Path) -> None:
    source = made(tmp_path, None)
    second = source.document({"key": "2", "page": 2, "size": 2}).cluster
    assert ([member.key for member in second.members], second.documents, second.page.more) == ([3], 3, False)
    assert [c.representative for c in source.clusters({"page": 2, "size": 1, "least": 2}).clusters] == [0]
    assert source.clusters({"page": 3, "size": 1, "least": 2}).clusters == []
