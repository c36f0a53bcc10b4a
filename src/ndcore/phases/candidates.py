"""Phase 3, candidates: features to entries, runs of documents that share one, and pairs within the runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.parallel import cut
from ndcore.phases.columns import Batches, arrow, as_batch, binary_column, byte_rows, drop_empty, numbers, row_changes

__all__ = ["GROUP_BYTES", "expand_runs", "list_entries", "number_rows"]

GROUP_BYTES = 2  # of a run's name: the group, then the feature, then the scope
PAIRS = 1 << 18  # of a batch, about

_Runs = NDArray[np.uint8]


def number_rows(batches: Batches) -> Iterator[Any]:
    """Number the rows of a partition in a column ``place``, from 0."""
    at = 0
    for batch in drop_empty(batches):
        yield batch.append_column("place", arrow().array(np.arange(at, at + batch.num_rows)))
        at += batch.num_rows


def list_entries(batches: Batches, *, groups: int) -> Iterator[Any]:
    """List the entries (run, rank) of documents, given ``rank``, ``features`` and, for `by`, ``scope`` (binary).

    A run is named by its group (2 bytes, the first the highest), the feature and the scope.
    """
    for batch in drop_empty(batches):
        n = batch.num_rows
        scope = byte_rows(batch.column("scope")) if "scope" in batch.schema.names else np.empty((n, 0), np.uint8)
        runs = np.empty((n, groups, GROUP_BYTES + 8 + scope.shape[1]), np.uint8)
        runs[:, :, :GROUP_BYTES] = np.arange(groups, dtype=">u2").view(np.uint8).reshape(groups, GROUP_BYTES)
        runs[:, :, GROUP_BYTES : GROUP_BYTES + 8] = byte_rows(batch.column("features")).reshape(n, groups, 8)
        runs[:, :, GROUP_BYTES + 8 :] = scope[:, None]
        yield as_batch(run=binary_column(runs.reshape(n * groups, -1)), rank=np.repeat(numbers(batch, "rank"), groups))


def expand_runs(batches: Batches, *, max_holders: int, first_new: int) -> Iterator[Any]:
    """Expand runs of up to max_holders documents to pairs, and list the documents of longer ones.

    Parameters
    ----------
    batches : record batches with ``run`` and ``rank``
        Sorted by run, then by rank, the highest first. A run is in one partition.
    max_holders : int
    first_new : int
        Documents of lower ranks are of `against`: they make no pairs with one another, and a run of them alone is dropped.

    Yields
    ------
    record batches with ``run``, ``a`` and ``b``
        A pair a < b of ranks; of a long run one row for each document, with b null.

    Notes
    -----
    Holds the entries of one batch and max_holders more. O(pairs).
    """
    runs, ranks, told = np.empty((0, 0), np.uint8), np.empty(0, np.int64), 0  # of the last run, which may go on
    for batch in drop_empty(batches):
        more = byte_rows(batch.column("run"))
        runs = np.concatenate([runs, more]) if len(runs) else more
        ranks = np.concatenate([ranks, numbers(batch, "rank")])
        starts = np.flatnonzero(row_changes(runs))
        yield from _expanded(runs, ranks, starts, told, max_holders, first_new)
        begin = int(starts[-1])
        told = told if begin == 0 else 0
        runs, ranks = runs[begin:], ranks[begin:]
        if len(runs) > max_holders:
            yield from _listed(runs, ranks, told, first_new)
            told = max_holders + 1  # documents of a long run that are held, for all others will do with these
            runs, ranks = runs[:told], ranks[:told]
    yield from _expanded(runs, ranks, np.unique([0, len(runs)]), told, max_holders, first_new)


def _expanded(
    runs: _Runs, ranks: Ints, starts: Ints, told: int, max_holders: int, first_new: int
) -> Iterator[Any]:
    """Yield the pairs, or the documents, of the runs that begin at starts[:-1]; starts[-1] is the end of the last.

    The first `told` documents of the first run were listed.
    """
    if len(starts) < 2:
        return
    sizes = np.diff(starts)
    for i in np.flatnonzero(sizes > max_holders).tolist():
        part = slice(starts[i], starts[i + 1])
        yield from _listed(runs[part], ranks[part], told if i == 0 else 0, first_new)
    ends = np.repeat(np.where(sizes > max_holders, 0, starts[1:]), sizes)
    places = np.arange(int(starts[0]), int(starts[-1]))
    later = np.maximum(ends - places - 1, 0)  # documents after each in its run
    later[ranks[places] < first_new] = 0  # the others of the run are of `against`, too
    for part in cut(later, PAIRS):
        first = np.repeat(places[part], later[part])
        if len(first):
            within = np.arange(len(first)) - np.repeat(np.cumsum(later[part]) - later[part], later[part])
            yield as_batch(run=binary_column(runs[first]), a=ranks[first + 1 + within], b=ranks[first])


def _listed(runs: _Runs, ranks: Ints, told: int, first_new: int) -> Iterator[Any]:
    """Yield the documents of a long run, but for the first ones, and unless all are of `against`."""
    if told < len(ranks) and ranks[0] >= first_new:
        yield as_batch(run=binary_column(runs[told:]), a=ranks[told:], b=arrow().nulls(len(ranks) - told, "int64"))
