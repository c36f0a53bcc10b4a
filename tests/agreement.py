"""What must hold of clusterings; texts to cluster, in parts of a few, and stopped on the way. No test is here."""

from __future__ import annotations

import random

import numpy as np

from ndcore.collection import cluster as phases
from ndcore.collection.settings import CLUSTERINGS, POLICIES
from ndcore.reference.collection import Sketch

SEEDS = range(12)
TEN = "one two three four five six seven eight nine ten"
GROUPINGS = [(policy, kind) for policy in POLICIES for kind in CLUSTERINGS if (policy, kind) != ("containment", "popular")]
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


WORDS = [f"w{i}" for i in range(4000)]


class Stopped(Exception):
    """Stops a job in a test."""


def stopped(*_, **__):
    raise Stopped


def cut_small(monkeypatch, *, slab=None, pairs=None, documents=None, room=None, piece=4):
    """Cut phases into parts of a few entries, pairs and documents, and work into pieces of `piece` documents."""
    monkeypatch.setattr(phases, "PARTS", 10**9)
    monkeypatch.setattr("ndcore.text.corpus.pieces",
                        lambda batch, *_: ((i, batch[i : i + piece]) for i in range(0, len(batch), piece)))
    for name, value in (("SEGMENT_DOCUMENTS", documents), ("SLAB", slab), ("RANGE", pairs), ("ROOM", room)):
        if value is not None:
            monkeypatch.setattr(phases, name, value)


def families(seed: int, count: int = 40) -> list[str]:
    """Make families of texts: some members are equal, or passages of others; and some texts without words."""
    rng = random.Random(seed)
    made = ["", "!!", "a"]
    for _ in range(count):
        base = [rng.choice(WORDS) for _ in range(rng.randint(4, 300))]
        for _ in range(rng.randint(1, 4)):
            words = list(base)
            for _ in range(rng.randint(0, 8)):
                words[rng.randrange(len(words))] = rng.choice(WORDS)
            made.append(" ".join(words if rng.random() < 0.8 else words[: len(words) // 2]))
        if rng.random() < 0.3:
            made += [made[-1], made[-1].upper()]
    rng.shuffle(made)
    return made


def sample_of(modulus, members):
    """Return the sample of these members: the multiples of the modulus."""
    return Sketch(modulus, sorted(z for z in members if z % modulus == 0))


def check_agrees(found, wanted):
    """Check that a clustering agrees with the reference in everything."""
    assert found.leaders.tolist() == wanted.leaders
    assert found.labels.tolist() == wanted.labels
    pairs = found.pairs
    assert list(zip(
        pairs.a.tolist(), pairs.b.tolist(), pairs.overlaps.common.tolist(), pairs.overlaps.resemblance.tolist(),
        pairs.overlaps.a_in_b.tolist(), pairs.overlaps.b_in_a.tolist(), strict=True,
    )) == [tuple(pair) for pair in wanted.pairs]  # fmt: skip
    common = sorted(zip(*(column.tolist() for column in found.common), strict=True))
    assert common == [tuple(value) for value in wanted.common]
    check_consistent(found)


def check_consistent(found):
    """Check what holds of every clustering."""
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


def check_same(one, other):
    """Check that two clusterings do not differ."""
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
