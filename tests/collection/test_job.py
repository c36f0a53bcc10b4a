"""Parameters that are not accepted, and when that is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import TEN

import ndcore as nd
from ndcore.collection.cluster import cluster


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
