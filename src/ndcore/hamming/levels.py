"""The log-structured merge that keeps an index sorted while it grows.

The naive way sorts all n fingerprints again whenever some are added. Here an addition goes to a buffer, which queries
scan. A full buffer becomes a level: sorted tables of its own. Levels stand largest first, and a level that is too small
beside the new one is merged into it:

    new ← the buffer
    while the last level has fewer than GROWTH · |new| fingerprints:
        new ← new and the last level;  drop the last level
    sort new;  append it as the last level

Bounds: each level is at least GROWTH = 8 times as large as the next, so n fingerprints lie in at most
1 + log_8(n / BUFFER) levels, and a query searches all of them. A level is sorted again only together with more than 1/8 as
many new fingerprints, so each sorting moves a fingerprint to a level more than 9/8 times as large. Hence a fingerprint is
sorted O(log n) times, and adding it takes O(tables · log n) amortised.

References
----------
O'Neil, Cheng, Gawlick, O'Neil (1996), The log-structured merge-tree (LSM-tree), Acta Informatica 33(4),
DOI 10.1007/s002360050048.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndcore._types import Ints, UInts
from ndcore.hamming.sorted_tables import SortedTables

__all__ = ["BUFFER", "take_small_levels"]

BUFFER = 4096  # fingerprints that queries scan before they become a level
GROWTH = 8  # the least ratio of the sizes of neighbouring levels


def take_small_levels(
    levels: Sequence[SortedTables], values: UInts, rows: Ints, everything: bool = False,
) -> tuple[list[SortedTables], UInts, Ints]:
    """Take the levels that must be merged with new fingerprints: those too small to stay, or everything.

    Returns the levels that stay, then the fingerprints and rows to sort into a new level.
    """
    left = [*levels]
    while left and (everything or left[-1].count < GROWTH * len(values)):
        level = left.pop()
        values, rows = np.concatenate([level.values(), values]), np.concatenate([level.rows.astype(np.int64), rows])
    return left, values, rows
