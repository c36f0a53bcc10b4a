"""Features of signatures and the filter they make (Broder 2000, section 3; DESIGN.md, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from . import gf2, rabin

Probability = TypeVar("Probability", float, Fraction)


def feature(j: int, minima: Sequence[int]) -> int:
    """Feature ``j`` >= 0: Rabin modulo R of the u64 big-endian string (j, minima…), minima zero-extended."""
    return rabin.words([j, *minima], gf2.FEATURE_POLYNOMIAL)


def features(signature: Sequence[int], groups: int = 6, group_size: int = 14) -> list[int]:
    """Features 0 … groups - 1 of a signature, of ``group_size`` consecutive minima each; minima left over are unused.

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


def binomial(n: int, k: int) -> int:
    """Number of subsets of k elements of a set of n >= 0, row by row of Pascal's triangle; 0 outside 0 <= k <= n."""
    if n < 0:
        raise ValueError(f"n is {n}; give an integer >= 0")
    if not 0 <= k <= n:
        return 0
    row = [1]
    for _ in range(n):
        row = [1, *(left + right for left, right in pairwise(row)), 1]
    return row[k]


def pass_probability(rho: Probability, groups: int = 6, group_size: int = 14, need: int = 2) -> Probability:
    """P_{k,s,r}(rho): probability that two documents of resemblance rho share at least ``need`` features.

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
