"""Winnowing: the smallest value of every window of a sequence, with its position.

Sources: Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, sections 4 and
5, DOI 10.1145/872757.872770. Written from definitions 2 and 5, and not from Figure 5, in which the authors found two errors
(https://homepages.warwick.ac.uk/~masgar/Maths/winnowing.html): an index below zero, and a buffer that begins with INT_MAX
instead of the first window. DESIGN.md, section 3, has what the paper leaves open: a sequence shorter than a window is one
window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .minhash import permute

Selected = list[tuple[int, int]]


def select(values: Sequence[int], window: int, robust: bool = True) -> Selected:
    """Select (value, position) of the smallest value of every window of consecutive values, each position once.

    Of several smallest values the rightmost is selected; with ``robust`` the one that the window before selected, if it is
    among them.

    Raises
    ------
    ValueError
        If ``window`` < 1.
    """
    if window < 1:
        raise ValueError(f"window is {window}; give an integer >= 1")
    positions: list[int] = []
    for begin in range(max(1, len(values) - window + 1) if values else 0):
        inside = range(begin, min(begin + window, len(values)))
        least = min(values[i] for i in inside)
        places = [i for i in inside if values[i] == least]
        if robust and positions and positions[-1] in places:
            continue
        if not positions or positions[-1] != places[-1]:
            positions.append(places[-1])
    return [(values[i], i) for i in positions]


def winnow(fingerprints: Iterable[int], window: int, seed: int = 1, robust: bool = True) -> Selected:
    """Winnow the permuted fingerprints z = π(f) of a document, in order: (z, position of the shingle)."""
    return select(permute(fingerprints, seed), window, robust)


def resemblance(a: Selected, b: Selected) -> tuple[int, int, int]:
    """Count distinct selected values: in both, in either, in a."""
    ours, theirs = {z for z, _ in a}, {z for z, _ in b}
    return len(ours & theirs), len(ours | theirs), len(ours)
