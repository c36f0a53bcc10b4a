"""Features: fingerprints of groups of minima, the keys of LSH bands; super-features of their combinations (Broder 2000, §3).

Documents that share at least `need` of their features are candidates, and counting shared features takes a phase of its own.
With every combination joined into one super-feature, a single equal value makes a candidate.
"""

from __future__ import annotations

import math

import numpy as np

import ndcore._candidates as _candidates
from ndcore._types import UInts
from ndcore.checks import checked_int
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import FEATURE_POLYNOMIAL, SUPER_FEATURE_POLYNOMIAL


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
    if sk.recipe["kind"] not in ("minhash", "weighted"):
        raise ValueError(f"features are made of signatures, these sketches are {sk.recipe['kind']!r}; use a MinHasher")
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups and group_size are at least 1, got {groups} and {group_size}")
    if groups * group_size > sk.recipe["num_perm"]:
        raise ValueError(
            f"{groups} groups of {group_size} take {groups * group_size} minima; these signatures have "
            f"{sk.recipe['num_perm']}: sketch with num_perm={groups * group_size}"
        )


MAX_SUPER_FEATURES = 1024  # per document: 8 KiB


def super_features(sk: Sketches, groups: int = 6, group_size: int = 14, need: int = 2) -> UInts:
    """Compute super-features of signatures: one value for every combination of `need` features.

    Two documents share a super-feature exactly if they share at least `need` features, except for collisions of
    fingerprints: at most ``expected_spurious(len(sk), 64, groups + comb(groups, need))`` pairs are expected to be wrong.

    Parameters
    ----------
    sk : Sketches of a MinHasher
    groups, group_size : int
        As in `features`.
    need : int
        Shared features of a candidate, 1 to groups.

    Returns
    -------
    ndarray of uint64, shape (n, C(groups, need))
        Column c is Rabin's fingerprint, modulo a polynomial of its own, of c and the features of the c-th combination in
        lexicographic order. Documents without shingles all have the same row: leave them out by ``sk.valid``.

    Raises
    ------
    ValueError
        As in `features`; need is out of range, or there are more than 1024 combinations.

    Notes
    -----
    O(n·(groups·group_size + need·C(groups, need))).

    References
    ----------
    Broder (2000), Identifying and filtering near-duplicate documents, §3, DOI 10.1007/3-540-45123-4_1.

    Examples
    --------
    >>> from ndcore import MinHasher
    >>> sk = MinHasher().sketch_many(["a rose is a rose is a rose", "a rose is a rose is a flower"])
    >>> super_features(sk).shape
    (2, 15)
    """
    groups, need = checked_int("groups", groups, 1), checked_int("need", need, 1)
    if need > groups:
        raise ValueError(f"need={need} of groups={groups} features can never be shared; need is at most groups")
    combinations = math.comb(groups, need)
    if combinations > MAX_SUPER_FEATURES:
        raise ValueError(
            f"{need} of {groups} features make {combinations:,} super-features of 8 bytes for every document; at most "
            f"{MAX_SUPER_FEATURES:,} are made. Take fewer groups or a need near 1 or near groups, or count equal features "
            "instead: near_duplicates does"
        )
    return _candidates.super_features(features(sk, groups, group_size), need, SUPER_FEATURE_POLYNOMIAL)
