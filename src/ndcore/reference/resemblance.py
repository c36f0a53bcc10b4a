"""Resemblance and containment of sets, and their estimates (Broder 1997, sections 2 and 3; DESIGN.md, section 3).

``nan`` is the answer wherever one of the documents has no shingles. Estimates take ``valid``: whether both documents have
shingles, which a sample that happens to be empty does not tell.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from math import nan

from .sketches import Selected, permute

Counts = tuple[int, int]
"""Numerator and denominator of an estimate."""
Adaptive = tuple[int, Sequence[int]]
"""An adaptive sample: its level and its members."""


def ratio(numerator: int, denominator: int) -> float:
    """Divide as float64; nan if the denominator is 0."""
    return float(numerator) / float(denominator) if denominator else nan


# ---------------------------------------------------------------------------------------------- exact


def exact_resemblance(a: AbstractSet[Hashable], b: AbstractSet[Hashable]) -> Fraction | None:
    """Return |A ∩ B| / |A ∪ B| as a fraction; None if either is empty."""
    return Fraction(len(a & b), len(a | b)) if a and b else None


def exact_containment(a: AbstractSet[Hashable], b: AbstractSet[Hashable]) -> Fraction | None:
    """Return |A ∩ B| / |A|, the containment of A in B, as a fraction; None if either is empty."""
    return Fraction(len(a & b), len(a)) if a and b else None


def resemblance(a: AbstractSet[Hashable], b: AbstractSet[Hashable]) -> float:
    """Return float64(|A ∩ B|) / float64(|A ∪ B|), the Jaccard similarity; nan if either is empty.

    >>> resemblance({1, 2, 3}, {2, 3, 4})
    0.5
    """
    return ratio(len(a & b), len(a | b)) if a and b else nan


def containment(a: AbstractSet[Hashable], b: AbstractSet[Hashable]) -> float:
    """Return float64(|A ∩ B|) / float64(|A|), the containment of A in B; nan if either is empty."""
    return ratio(len(a & b), len(a)) if a and b else nan


# ---------------------------------------------------------------------------------------------- from samples


def bottom_counts(a: Iterable[int], b: Iterable[int], size: int, whole: bool = False) -> tuple[Counts, Counts]:
    """Count for the estimates from two MIN_s sketches of the same ``size``.

    With T the ``size`` smallest of the union: (|T∩A∩B|, |T|) for the resemblance and (|T∩A∩B|, |T∩A|) for the containment
    of A in B. A sketch of fewer members is a whole set. T is the whole union where both sketches are, or are known to be
    ``whole``.
    """
    set_a, set_b = set(a), set(b)
    whole |= max(len(set_a), len(set_b)) < size
    t = set(sorted(set_a | set_b)[: None if whole else size])
    common = len(t & set_a & set_b)
    return (common, len(t)), (common, len(t & set_a))


def bottom_resemblance(a: Sequence[int], b: Sequence[int], size: int) -> float:
    """Estimate resemblance from two MIN_s sketches (Theorem 1); nan if either is empty."""
    return ratio(*bottom_counts(a, b, size)[0]) if a and b else nan


def bottom_containment(a: Sequence[int], b: Sequence[int], size: int) -> float:
    """Estimate containment of A in B from two MIN_s sketches; nan if either, or T∩A, is empty."""
    return ratio(*bottom_counts(a, b, size)[1]) if a and b else nan


def mod_counts(a: Iterable[int], b: Iterable[int]) -> tuple[Counts, Counts]:
    """Count for the estimates from two MOD_m samples: (|A∩B|, |A∪B|) and (|A∩B|, |A|)."""
    set_a, set_b = set(a), set(b)
    common = len(set_a & set_b)
    return (common, len(set_a | set_b)), (common, len(set_a))


def mod_resemblance(a: Iterable[int], b: Iterable[int], valid: bool = True) -> float:
    """Estimate resemblance from two MOD_m samples (Theorem 1); nan if both are empty or a document is not valid."""
    return ratio(*mod_counts(a, b)[0]) if valid else nan


def mod_containment(a: Iterable[int], b: Iterable[int], valid: bool = True) -> float:
    """Estimate containment of A in B from two MOD_m samples; nan if A's is empty or a document is not valid."""
    return ratio(*mod_counts(a, b)[1]) if valid else nan


def adaptive_counts(a: Adaptive, b: Adaptive) -> tuple[Counts, Counts]:
    """Count as :func:`mod_counts`, from two adaptive samples at the larger level: the members that are 0 mod 2^level."""
    level = max(a[0], b[0])
    kept_a, kept_b = ([z for z in members if z % (1 << level) == 0] for _, members in (a, b))
    return mod_counts(kept_a, kept_b)


def adaptive_resemblance(a: Adaptive, b: Adaptive, valid: bool = True) -> float:
    """Estimate resemblance from two adaptive samples, at the larger level; nan as in :func:`mod_resemblance`."""
    return ratio(*adaptive_counts(a, b)[0]) if valid else nan


def adaptive_containment(a: Adaptive, b: Adaptive, valid: bool = True) -> float:
    """Estimate containment of A in B from two adaptive samples, at the larger level; nan as in :func:`mod_containment`."""
    return ratio(*adaptive_counts(a, b)[1]) if valid else nan


def winnowed_counts(a: Selected, b: Selected) -> tuple[int, int, int]:
    """Count the distinct winnowed values of two documents: in both, in either, in a."""
    ours, theirs = {z for z, _ in a}, {z for z, _ in b}
    return len(ours & theirs), len(ours | theirs), len(ours)


def sampled_containment(stored: Iterable[int], text: Iterable[int], size: int, seed: int) -> Counts:
    """Draw the `size` shingles of a stored set with the smallest permuted values, and count how many of them a text has.

    Return (held, drawn); held / drawn estimates the containment of the stored set in the text (Broder et al. 1997, section
    6.6). Whoever knows the seed of a stored sample can change just its shingles; a seed that is drawn when a text is
    compared is fair to any text that was written before.
    """
    sample = sorted(set(permute(stored, seed)))[:size]
    whole = set(permute(text, seed))
    return sum(value in whole for value in sample), len(sample)


# ---------------------------------------------------------------------------------------------- from signatures


def signature_counts(a: Sequence[int], b: Sequence[int]) -> Counts:
    """Count the minima that agree in two signatures; return also their length."""
    if len(a) != len(b):
        raise ValueError(f"the signatures have {len(a)} and {len(b)} minima; compare signatures of the same recipe")
    return sum(x == y for x, y in zip(a, b, strict=True)), len(a)


def signature_resemblance(a: Sequence[int], b: Sequence[int], valid: bool = True) -> float:
    """Estimate resemblance from two signatures: minima that agree / num_perm; nan if a document is not valid."""
    return ratio(*signature_counts(a, b)) if valid else nan


def signature_containment(
    a: Sequence[int], b: Sequence[int], size_a: float, size_b: float, valid: bool = True
) -> float:
    """Estimate containment of A in B from two signatures and the numbers of distinct shingles.

    min(1, r·(|A| + |B|) / ((1 + r)·|A|)) with r the estimated resemblance; nan where a document is not valid.
    """
    if not valid:
        return nan
    r = signature_resemblance(a, b)
    return min(1.0, r * (size_a + size_b) / ((1.0 + r) * size_a))
