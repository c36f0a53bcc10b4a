"""Features, super-features and super-shingles, and the filter that features make.

Sources: Broder 2000, section 3; Broder et al. 1997, section 5.3; DESIGN.md, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TypeVar

from . import gf2, minhash, rabin

Probability = TypeVar("Probability", float, Fraction)


def feature(j: int, minima: Sequence[int]) -> int:
    """Compute feature ``j`` >= 0: Rabin modulo R of the u64 big-endian string (j, minima…), minima zero-extended."""
    return rabin.words([j, *minima], gf2.FEATURE_POLYNOMIAL)


def features(signature: Sequence[int], groups: int = 6, group_size: int = 14) -> list[int]:
    """Compute features 0 … groups - 1 of a signature, of ``group_size`` consecutive minima each; the rest is unused.

    Raises
    ------
    ValueError
        If ``groups`` or ``group_size`` < 1, or the signature has fewer than groups · group_size minima.
    """
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups is {groups} and group_size {group_size}; give integers >= 1")
    if len(signature) < groups * group_size:
        raise ValueError(
            f"{groups} groups of {group_size} need {groups * group_size} minima and the signature has "
            f"{len(signature)}; use fewer or smaller groups, or sketch with a larger num_perm"
        )
    return [feature(j, signature[j * group_size : (j + 1) * group_size]) for j in range(groups)]


def super_feature(c: int, found: Sequence[int]) -> int:
    """Compute super-feature ``c`` >= 0: Rabin modulo S of the u64 big-endian string (c, features of combination c).

    S is not R: features are fingerprints modulo R already, and a second reduction by the same polynomial would let a
    difference in one of them cancel one in the next.
    """
    return rabin.words([c, *found], gf2.SUPER_FEATURE_POLYNOMIAL)


def super_features(found: Sequence[int], need: int = 2) -> list[int]:
    """Compute a super-feature for every combination of ``need`` features, in lexicographic order of their positions.

    Two documents share at least ``need`` features where they share one of these (Broder 2000, section 3), but for
    collisions.

    Raises
    ------
    ValueError
        If ``need`` is outside [1, number of features].
    """
    if not 1 <= need <= len(found):
        raise ValueError(f"need is {need}; give an integer in [1, {len(found)}], the number of features")
    return [super_feature(c, chosen) for c, chosen in enumerate(combinations(found, need))]


def super_shingles(members: Sequence[int], run: int) -> list[int]:
    """Compute super-shingles: i is Rabin modulo R of the u64 big-endian string of members i … i + run - 1 of a sketch.

    Every i; none where the sketch has fewer than ``run`` members.

    Raises
    ------
    ValueError
        If ``run`` < 1, or the members do not ascend.
    """
    if run < 1:
        raise ValueError(f"run is {run}; give an integer >= 1")
    if any(first >= second for first, second in pairwise(members)):
        raise ValueError("the members of a sketch ascend, and are distinct; sort them")
    return [rabin.words(members[i : i + run], gf2.FEATURE_POLYNOMIAL) for i in range(len(members) - run + 1)]


def meta_sketch(members: Sequence[int], run: int, size: int = 200, seed: int = 1) -> list[int]:
    """Sketch a sketch: MIN_s of the set of its super-shingles; all of them, permuted, if there are fewer."""
    return minhash.bottom(super_shingles(members, run), size, 64, seed)


def binomial(n: int, k: int) -> int:
    """Count the subsets of k elements of a set of n >= 0, by rows of Pascal's triangle; 0 outside 0 <= k <= n."""
    if n < 0:
        raise ValueError(f"n is {n}; give an integer >= 0")
    if not 0 <= k <= n:
        return 0
    row = [1]
    for _ in range(n):
        row = [1, *(left + right for left, right in pairwise(row)), 1]
    return row[k]


def pass_probability(rho: Probability, groups: int = 6, group_size: int = 14, need: int = 2) -> Probability:
    """Compute P_{k,s,r}(rho): the probability that two documents of resemblance rho share at least ``need`` features.

    The sum over i from r to k of C(k, i) · rho^(s·i) · (1 - rho^s)^(k - i); exact for a Fraction.

    >>> round(pass_probability(0.975), 5)
    0.98933

    Raises
    ------
    ValueError
        If ``rho`` is outside [0, 1], ``groups`` or ``group_size`` < 1, or ``need`` outside [1, groups].
    """
    if not 0 <= rho <= 1:
        raise ValueError(f"rho is {rho}; give a resemblance in [0, 1]")
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups is {groups} and group_size {group_size}; give integers >= 1")
    if not 1 <= need <= groups:
        raise ValueError(f"need is {need}; give an integer in [1, {groups}], the number of groups")
    equal = rho**group_size
    total = rho - rho
    for i in range(need, groups + 1):
        total += binomial(groups, i) * equal**i * (1 - equal) ** (groups - i)
    return total
