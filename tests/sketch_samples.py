"""Inputs of the tests of sketches. No test is here."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference import sketches

DOCUMENTS = ["a rose is a rose is a rose", "", "a rose is a rose is a flower", "something else, of other words", "...", "a"]
SKETCHERS = [nd.MinHasher(16), nd.MinHasher(5, 64), nd.BottomSketcher(3), nd.BottomSketcher(50, 40),
             nd.ModSketcher(1), nd.ModSketcher(1, size=3), nd.ModSketcher("adaptive")]  # fmt: skip
either = pytest.mark.parametrize("sketcher", SKETCHERS, ids=lambda s: f"{s.recipe['kind']}-{s.recipe.id[:6]}")


def check_same(a: nd.Sketches, b: nd.Sketches) -> None:
    """Assert that sketches are equal in all their fields."""
    assert type(a) is type(b) is nd.Sketches
    assert a.recipe == b.recipe and len(a) == len(b) and a.ids == b.ids
    for name in ("values", "offsets", "sizes", "sizes_exact", "valid", "digests", "moduli"):
        ours, theirs = getattr(a, name), getattr(b, name)
        assert (ours is None) is (theirs is None), name
        if ours is not None:
            assert ours.dtype == theirs.dtype, name
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def labelled(sketcher, ids=True, digests=True) -> nd.Sketches:
    """Sketch DOCUMENTS, with ids and digests."""
    made = sketcher.sketch_many(DOCUMENTS)
    return nd.Sketches(
        made.values, made.recipe, offsets=made.offsets, sizes=made.sizes, sizes_exact=made.sizes_exact, valid=made.valid,
        ids=[f"id {i} \udc80é" for i in range(len(made))] if ids else None,
        digests=np.arange(32 * len(made), dtype=np.uint8).reshape(-1, 32) if digests else None, moduli=made.moduli,
    )  # fmt: skip


def unmix(z: int) -> int:
    """Invert the finaliser of MurmurHash3."""
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        z = (z ^ z >> 33) * pow(factor, -1, 2**64) % 2**64
    return z ^ z >> 33


def unpermuted(z: int, seed: int = 1) -> int:
    """Return the fingerprint that π sends to z."""
    key, _, _ = sketches.key_and_coefficients(seed, 0)
    return unmix(z) ^ key


def simhashed(sketcher, bags, given=None) -> nd.Simhashes:
    """Sketch lists of fingerprints by a SimHasher."""
    values = np.array([f for bag in bags for f in bag], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, bags)]), given)
