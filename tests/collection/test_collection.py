"""Collections on disk: what is built, opened and told, and what damage is told."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from agreement import families

import ndcore as nd
from ndcore.storage.container import CorruptFile


@pytest.fixture(scope="module")
def texts():
    return families(1)


@pytest.fixture
def made(tmp_path, texts):
    return nd.Collection.build(tmp_path / "c", texts, [f"id {i}" for i in range(len(texts))])


def test_a_collection_has_the_clusters_of_cluster(made, texts):
    found = nd.cluster(texts)
    for one in (made, nd.Collection.open(made.path), nd.Collection.open(made.path, verify=True)):
        assert one.clustering.labels.tolist() == found.labels.tolist()
        assert one.clustering.classes.tolist() == found.classes.tolist()
        np.testing.assert_array_equal(one.clustering.resemblance, found.resemblance)
        np.testing.assert_array_equal(one.clustering.pairs.a, found.pairs.a)
        assert one.common.value.tolist() == found.common.value.tolist()


def test_ids_and_members(made, texts):
    labels = nd.cluster(texts).labels
    for i in range(len(texts)):
        assert made.cluster_of(f"id {i}") == f"id {labels[i]}"
        assert made.members(f"id {i}") == [f"id {j}" for j in np.flatnonzero(labels == labels[i])]
    with pytest.raises(KeyError, match="'id 9999'"):
        made.members("id 9999")
    with pytest.raises(TypeError, match="ids are str"):
        made.members(3)


@pytest.mark.parametrize("cluster", ["star", "components"])
def test_a_ranked_list_is_folded_by_the_clusters(tmp_path, texts, cluster):
    """Beside the definition: of each cluster the first id of the list is shown, or the best one."""
    made = nd.Collection.build(tmp_path / "d", texts, [f"id {i}" for i in range(len(texts))], cluster=cluster)
    rng, labels = random.Random(3), made.clustering.labels.tolist()
    ids = [f"id {rng.randrange(len(texts) + 9)}" for _ in range(120)]
    values = [rng.randrange(5) for _ in ids]
    heads = [f"id {labels[int(ident[3:])]}" if int(ident[3:]) < len(texts) else None for ident in ids]
    places = [[j for j, other in enumerate(ids) if (heads[j], heads[j] or other) == (heads[i], heads[i] or ident)]
              for i, ident in enumerate(ids)]
    assert made.collapse(ids).labels == [cluster[0] for cluster in places]
    by_value = made.collapse(iter(ids), best=values)
    assert by_value.labels == [max(cluster, key=lambda j: (values[j], -j)) for cluster in places]
    assert made.collapse(ids, best=np.array(values, np.float32)) == by_value
    assert made.collapse(ids, best="representative").labels == [
        next((j for j in cluster if ids[j] == heads[j]), cluster[0]) for cluster in places]
    assert by_value.clusters == heads and by_value.keys == ids
    assert by_value.unknown == [ident for ident, head in zip(ids, heads, strict=True) if head is None] != []
    assert 0 < len(by_value.shown) < len(set(ids))
    second = made.collapse(ids[60:], earlier=made.collapse(ids[:60]).shown)
    assert made.collapse(ids[:60]).shown + second.shown == made.collapse(ids).shown
    assert second.repeated == [j for j in range(60) if any(place < 60 for place in places[60 + j])]


def test_what_a_ranked_list_refuses(made):
    for ids, options, error, message in (
        (["id 1", 3], {}, TypeError, "ids are str here, got 3"), ("id 1", {}, TypeError, "ids is a list"),
        (["id 1"], {"earlier": [b"id 1"]}, TypeError, "ids are str here"),
        (["id 1"], {"earlier": "id 1"}, TypeError, "earlier is a list"),
        (["id 1"], {"best": "latest"}, ValueError, "best must be one of rank, representative, got 'latest'"),
        (["id 1"], {"best": [1, 2]}, ValueError, "2 values for a list of 1"),
    ):
        with pytest.raises(error, match=message):
            made.collapse(ids, **options)
    assert made.collapse([]).shown == []
    empty = nd.Collection.build(made.path.with_name("empty"), [])
    assert empty.collapse([0, 1]).unknown == [0, 1]


def test_ids_of_several_documents_and_versions_are_folded_by_the_first(tmp_path):
    rose, other = "a rose is a rose is a rose", "something else entirely, as it seems to be"
    made = nd.Collection.build(tmp_path / "d", [rose, other, rose + " indeed", other + " indeed"], ["x", "y", "y", "z"])
    assert made.collapse(["z", "y", "x"]).folded == {0: [1], 2: []}
    versions = nd.Collection.build(tmp_path / "e", [rose, other, other + " is not"], [1, 2, 3], one_per=["u", "v", "u"])
    assert versions.collapse([3, 2, 1]).folded == {0: [2], 1: []}  # 3 is a version of 1, although no text is like it


def test_positions_are_ids_where_none_are_given(tmp_path, texts):
    made = nd.Collection.build(tmp_path / "c", texts)
    assert made.members(len(texts) - 1)
    for wrong in (len(texts), -1):
        with pytest.raises(KeyError):
            made.members(wrong)


def test_other_clusters_are_made_in_place(made, texts):
    fresh = nd.cluster(texts, threshold=0.8, policy="containment", cluster="components")
    again = made.rethreshold(0.8, "containment", "components")
    for one in (again, nd.Collection.open(made.path)):
        assert one.clustering.labels.tolist() == fresh.labels.tolist()
        assert one.clustering.classes.tolist() == fresh.classes.tolist()
        assert one.clustering.threshold == 0.8 and one.clustering.policy == "containment"
        np.testing.assert_array_equal(one.clustering.chains.representative, fresh.chains.representative)
    with pytest.raises(ValueError, match=r"counted from 0\.5 on"):
        made.rethreshold(0.3)


def test_damage_is_told(made):
    """Change any byte of any file: opening with verify, or else a query, reports it or gives the same answer."""
    rng = random.Random(3)
    for file in sorted(made.path.rglob("*.ndc")):
        original = file.read_bytes()
        for _ in range(5):
            data = bytearray(original)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes(data)
            with pytest.raises(CorruptFile):
                nd.Collection.open(made.path, verify=True)
        file.unlink()
        if file.parent.name not in ("pairs", "entries") and file.stem != "directory":  # earlier versions have none
            with pytest.raises(CorruptFile):
                nd.Collection.open(made.path, verify=True)
        file.write_bytes(original)
    description = made.path / "collection.json"
    whole = json.loads(description.read_text())
    for wrong in ("", "{}", "[]", json.dumps({**whole, "parameters": []}), json.dumps({**whole, "parameters": {}})):
        description.write_text(wrong)
        with pytest.raises(CorruptFile):
            nd.Collection.open(made.path)
    description.write_text(json.dumps({**whole, "ndcore.collection": 2}))
    with pytest.raises(ValueError, match="upgrade"):
        nd.Collection.open(made.path)


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no collection"):
        nd.Collection.open(tmp_path)
    made = nd.Collection.build(tmp_path / "c", [])
    assert len(made) == 0 and made.query("a text") == []
