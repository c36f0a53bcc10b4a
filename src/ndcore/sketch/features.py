"""Features: fingerprints of groups of minima, the keys of LSH bands (Broder 2000, §3)."""

from __future__ import annotations

import numpy as np

import ndcore._candidates as _candidates
from ndcore._types import UInts
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import FEATURE_POLYNOMIAL

__all__ = ["features"]


def features(sk: Sketches, groups: int = 6, group_size: int = 14) -> UInts:
    """Compute features of signatures: fingerprints of groups of consecutive minima, the keys of LSH bands.

    Parameters
    ----------
    sk : Sketches of a MinHasher
    groups, group_size : int
        LSH bands and rows: groups · group_size <= num_perm, and the minima left over are unused. The default is AltaVista's.

    Returns
    -------
    ndarray of uint64, shape (n, groups)
        Feature j is Rabin's fingerprint, modulo a polynomial of its own, of j and the minima from j·group_size to
        (j + 1)·group_size − 1. Documents without shingles all have the same row: leave them out by ``sk.valid``.

    Raises
    ------
    ValueError
        The sketches are not signatures, or have too few minima.

    Notes
    -----
    O(n·groups·group_size). Collisions are not verified: ``expected_spurious(len(sk), 64, groups, need)`` pairs are expected
    to share `need` features by collision alone.

    References
    ----------
    Broder (2000), Identifying and filtering near-duplicate documents, §3, DOI 10.1007/3-540-45123-4_1.
    """
    _check_groups(sk, groups, group_size)
    return _candidates.features(np.ascontiguousarray(sk.values), group_size, 0, groups, FEATURE_POLYNOMIAL)


def _check_groups(sk: Sketches, groups: int, group_size: int) -> None:
    if sk.recipe["kind"] != "minhash":
        raise ValueError(f"features are made of signatures, these sketches are {sk.recipe['kind']!r}; use a MinHasher")
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups and group_size are at least 1, got {groups} and {group_size}")
    if groups * group_size > sk.recipe["num_perm"]:
        raise ValueError(
            f"{groups} groups of {group_size} take {groups * group_size} minima; these signatures have "
            f"{sk.recipe['num_perm']}: sketch with num_perm={groups * group_size}"
        )
