"""Phase 3, candidates: features to entries, runs of documents that share one, and pairs within the runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Ints
from ndcore.parallel import cut
from ndcore.phases.columns import (
    Batches,
    arrow,
    as_batch,
    binary_column,
    byte_rows,
    bytes_of,
    drop_empty,
    numbers,
    row_changes,
)

GROUP_BYTES = 2  # bytes of the group in a run's name; the feature and the scope follow
PAIRS = 1 << 18  # about as many pairs make a batch


def list_entries(batches: Batches, *, groups: int) -> Iterator[Any]:
    """List the entries (run, rank) of documents, given ``rank``, ``features`` and, for `by`, ``scope`` (binary).

    A run is named by its group (2 bytes, big-endian), the feature and the scope. groups: 0 for shingles, of which there may
    be any number, with the group -1: then documents and entries have ``whole`` and ``size``.
    """
    for batch in drop_empty(batches):
        data, bounds = bytes_of(batch.column("features"))
        counts = np.diff(bounds) // 8
        owners = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(owners)) - (bounds[owners] - bounds[0]) // 8
        scope = byte_rows(batch.column("scope")) if "scope" in batch.schema.names else np.empty((len(counts), 0), np.uint8)
        runs = np.empty((len(owners), GROUP_BYTES + 8 + scope.shape[1]), np.uint8)
        group = within if groups else np.full(len(owners), -1)
        runs[:, :GROUP_BYTES] = group.astype(">i2")[:, None].view(np.uint8)
        runs[:, GROUP_BYTES : GROUP_BYTES + 8] = data[bounds[0] : bounds[-1]].reshape(-1, 8)
        runs[:, GROUP_BYTES + 8 :] = scope[owners]
        more = {}
        if not groups:
            whole = within < numbers(batch, "whole")[owners]
            more = {"whole": whole.astype(np.int64), "size": numbers(batch, "size")[owners]}
        yield as_batch(run=binary_column(runs), rank=numbers(batch, "rank")[owners], **more)


def expand_runs(
    batches: Batches, *, max_holders: int, first_new: int, least_ratio: float | None = None
) -> Iterator[Any]:
    """Expand runs of up to max_holders documents to pairs, and list the documents of longer ones.

    Parameters
    ----------
    batches : record batches with ``run`` and ``rank``
        Sorted by run, then by rank, the highest first. A run is in one partition.
    max_holders : int
    first_new : int
        Documents with lower ranks are of `against`: they make no pairs with one another, and a run of only such documents
        is dropped.
    least_ratio : float, optional
        For shingles, whose entries have ``whole`` and ``size``, sorted by run, then whole ones first: documents make pairs
        with whole ones if the ratio of their sizes is at least this. A run without a whole document is dropped.

    Yields
    ------
    record batches with ``run``, ``a`` and ``b``
        A pair a < b of ranks; for a long run one row for each document, with b null.

    Notes
    -----
    Holds the entries of one batch and max_holders more. O(pairs).
    """
    held: _Entries | None = None  # entries of the last run, which may continue
    told = 0
    for batch in drop_empty(batches):
        shingles = least_ratio is not None
        ones = np.ones(batch.num_rows, np.int64)
        more = _Entries(byte_rows(batch.column("run")), numbers(batch, "rank"),
                        (numbers(batch, "whole") if shingles else ones) > 0, numbers(batch, "size") if shingles else ones)
        held = more if held is None else held.before(more)
        starts = np.flatnonzero(row_changes(held.runs))
        yield from _expand_runs(held, starts, told, max_holders, first_new, least_ratio)
        begin = int(starts[-1])
        told = told if begin == 0 else 0
        held = held.part(slice(begin, None))
        if len(held.runs) > max_holders:
            yield from _yield_long_run(held, told, first_new if least_ratio is None else 0)
            told = max_holders + 1  # documents of a long run that are held: more are not needed
            held = held.part(slice(0, told))
    if held is not None:
        yield from _expand_runs(held, np.array([0, len(held.runs)]), told, max_holders, first_new, least_ratio)


class _Entries(NamedTuple):
    """Entries in order: the run, the rank of the document, whether it is whole, and its size."""

    runs: NDArray[np.uint8]
    ranks: Ints
    whole: Bools
    sizes: Ints

    def part(self, which: slice) -> _Entries:
        """Select some of them."""
        return _Entries(self.runs[which], self.ranks[which], self.whole[which], self.sizes[which])

    def before(self, more: _Entries) -> _Entries:
        """Append more of them."""
        columns: Any = zip(self, more, strict=True)
        return _Entries(*map(np.concatenate, columns))


def _expand_runs(
    entries: _Entries, starts: Ints, told: int, max_holders: int, first_new: int, least_ratio: float | None
) -> Iterator[Any]:
    """Yield the pairs, or the documents, of the runs that begin at starts[:-1]; starts[-1] is the end of the last.

    The first `told` documents of the first run were listed.
    """
    if len(starts) < 2:
        return
    sizes, ranks = np.diff(starts), entries.ranks
    for i in np.flatnonzero(sizes > max_holders).tolist():
        yield from _yield_long_run(entries.part(slice(starts[i], starts[i + 1])), told if i == 0 else 0,
                                   first_new if least_ratio is None else 0)
    ends = np.repeat(np.where(sizes > max_holders, 0, starts[1:]), sizes)
    places = np.arange(int(starts[0]), int(starts[-1]))
    later = np.maximum(ends - places - 1, 0)  # documents after each in its run
    later[~entries.whole[places]] = 0
    if least_ratio is None:
        later[ranks[places] < first_new] = 0  # the others of the run are of `against`, too
    for part in cut(later, PAIRS):
        first = np.repeat(places[part], later[part])
        within = np.arange(len(first)) - np.repeat(np.cumsum(later[part]) - later[part], later[part])
        other = first + 1 + within
        if least_ratio is not None:
            x, y = entries.sizes[first], entries.sizes[other]
            wanted = np.minimum(x, y) / np.maximum(x, y) >= least_ratio
            wanted &= np.maximum(ranks[first], ranks[other]) >= first_new
            first, other = first[wanted], other[wanted]
        if len(first):
            yield as_batch(run=binary_column(entries.runs[first]), a=np.minimum(ranks[first], ranks[other]),
                           b=np.maximum(ranks[first], ranks[other]))


def _yield_long_run(entries: _Entries, told: int, first_new: int) -> Iterator[Any]:
    """Yield the documents of a long run except the first ones, unless all are of `against` or none is whole."""
    if told < len(entries.ranks) and entries.whole[0] and entries.ranks[0] >= first_new:
        yield as_batch(run=binary_column(entries.runs[told:]), a=entries.ranks[told:],
                       b=arrow().nulls(len(entries.ranks) - told, "int64"))
