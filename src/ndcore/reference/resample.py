"""Samples drawn anew from stored shingle sets, by their definition (Broder et al. 1997, section 6.6).

Whoever knows the seed of the samples that are kept can change just these shingles. A sample that is drawn from the whole set
when a text is compared, with a seed that nobody knows, is fair to any text that was written before.
"""

from __future__ import annotations

from collections.abc import Iterable

from .minhash import permute


def sampled_containment(stored: Iterable[int], text: Iterable[int], size: int, seed: int) -> tuple[int, int]:
    """Draw `size` shingles of a stored set, those with the smallest permuted values, and count how many a text has.

    Returns (found, drawn); found / drawn estimates the containment of the stored set in the text.
    """
    sample = sorted(set(permute(set(stored), seed)))[:size]
    whole = set(permute(set(text), seed))
    return sum(value in whole for value in sample), len(sample)
