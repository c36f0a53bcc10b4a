"""How the work of a phase is cut into parts, each of which is one file and one task of a thread."""

from __future__ import annotations

import numpy as np

from ndcore._types import Ints
from ndcore.parallel import thread_count

__all__ = ["cut_into_parts"]

PARTS = 16  # of entries, or of pairs, where memory is not limited


def cut_into_parts(sizes: Ints, at_least: int, item_bytes: int, memory_limit: int | None, threads: int | None) -> Ints:
    """Cut consecutive groups of items into parts; return the first group of each part, and last the number of groups.

    A part has at most a sixteenth of all items, or `at_least` where that is more. With a `memory_limit` it also has at most
    as many as fit in a thread's share. A group is never cut: a part may be one larger group.
    """
    ends = np.cumsum(sizes)
    most = max(at_least, -(-int(sizes.sum()) // PARTS))
    if memory_limit is not None:
        most = max(1, min(most, memory_limit // (item_bytes * thread_count(threads))))
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + most, "right"))))
    return np.array(cuts)
