"""Waves: which representatives of long runs are compared next, and which of those comparisons count.

`settle_runs` goes through the representatives of long runs in keep order, and leaves out those that an earlier
one covers. Here many are compared at a time. Comparisons that would not have been made there are discarded, so the pairs
that are found, and how many representatives of a run were compared, are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["Turn", "decide_wave", "plan_blocks"]

MOST_IN_BLOCK = 64  # representatives

Turn = tuple[int, bytes, int]  # a representative's rank; a run that it is in; its place among the undecided ones of the run


def decide_wave(turns: Sequence[Turn], covered_by: Mapping[int, Sequence[int]]) -> list[int]:
    """Find the representatives of a wave whose comparisons count, in keep order.

    Parameters
    ----------
    turns : sequence of (rank, run, place)
        Of the representatives that were compared, in every run that is not cut. Places are counted from 1 over all undecided
        representatives of the run, so a gap is one that was not compared.
    covered_by : mapping
        The earlier representatives of the wave that each one resembles.

    Notes
    -----
    A representative waits for the next wave behind a gap, or behind one that waits and would cover it. The first undecided
    one of all never waits. O(turns).
    """
    by_run: dict[bytes, list[tuple[int, int]]] = {}
    for rank, run, place in turns:
        by_run.setdefault(run, []).append((place, rank))
    waiting: set[int] = set()
    for places in by_run.values():
        waiting |= {rank for number, (place, rank) in enumerate(sorted(places), 1) if place != number}
    counting: set[int] = set()
    for rank in sorted({rank for rank, _, _ in turns}):
        earlier = covered_by.get(rank, ())
        if any(other in counting for other in earlier):
            waiting.discard(rank)  # it is covered
        elif rank not in waiting and not any(other in waiting for other in earlier):
            counting.add(rank)
        else:
            waiting.add(rank)
    return sorted(counting)


def plan_blocks(turns: Sequence[Turn]) -> dict[int, int]:
    """Give each representative of a wave the number of a block, MOST_IN_BLOCK at most, of runs in common."""
    first: dict[int, bytes] = {}
    for rank, run, _ in turns:
        first[rank] = min(run, first.get(rank, run))
    blocks: dict[int, int] = {}
    filled = 0
    last: bytes | None = None
    number = -1
    for rank in sorted(first, key=lambda rank: (first[rank], rank)):
        if first[rank] != last or filled == MOST_IN_BLOCK:
            number, filled, last = number + 1, 0, first[rank]
        filled += 1
        blocks[rank] = number
    return blocks
