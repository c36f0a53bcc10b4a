"""Search of fingerprints: each task scans its part of a collection for all queries (Manku, Jain, Das Sarma 2007, §3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import UInts
from ndcore.hamming.fingerprints import checked_fingerprints
from ndcore.hamming.sorted_tables import SortedTables
from ndcore.hamming.table_plan import JOIN_ROOM, TablePlan
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers

PROBED = 1 << 12  # fingerprints at a time
MATCHES = 1 << 18  # matches of a batch


def match_fingerprints(batches: Batches, *, queries: UInts, plan: TablePlan) -> Iterator[Any]:
    """Find the queries that each ``fingerprint`` (int64, the bits of an unsigned one) is near to.

    Yields a row for each match: the other columns, ``query`` (the position of the query) and ``distance``.
    Builds the tables of the queries once: 8 to 20 bytes for each query and table.
    """
    tables: SortedTables | None = None
    for batch in drop_empty(batches):
        if tables is None:
            tables = SortedTables.of(queries, np.arange(len(queries)), plan, 1, room=JOIN_ROOM)
        others = [name for name in batch.schema.names if name != "fingerprint"]
        values = checked_fingerprints(numbers(batch, "fingerprint").view(np.uint64), plan.bits)
        for at in range(0, len(values), PROBED):
            found = tables.many(values[at : at + PROBED])
            for start in range(0, len(found.query), MATCHES):
                position, query, distance = (column[start : start + MATCHES] for column in found)
                kept = {name: batch.column(name).take(at + position) for name in others}
                yield as_batch(**kept, query=query, distance=distance)
