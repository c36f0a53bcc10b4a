"""Phase 3, candidates: features to entries, runs of documents that share one, and pairs within the runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
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
    lists_of,
    numbers,
    row_changes,
)

GROUP_BYTES = 2  # bytes of the group in a run's name; the feature and the scope follow
PACKED = 64  # most entries of a row: a batch of rows is expanded in memory
PAIRS = 1 << 18  # about as many pairs make a batch


def pack_entries(runs: NDArray[np.uint8], ranks: Ints, whole: Bools, sizes: Ints | None = None) -> Any:
    """Pack entries of documents to a record batch for `expand_runs`, a row for up to PACKED of the same run.

    Parameters
    ----------
    runs : uint8 array (n, bytes)
        The name of the run of each entry, of at least 8 bytes. If it has 8, equal rows of run and whole are neighbours.
    ranks : int64 array (n,)
    whole : bool array (n,)
        Whether the document makes pairs with all others of the run; else it does with whole ones only.
    sizes : int64 array (n,), optional
        Of the shingle set of the document.

    Returns
    -------
    record batch with ``run``, ``whole``, ``ranks`` and perhaps ``sizes``, which are lists
    """
    words = np.ascontiguousarray(runs[:, : runs.shape[1] // 8 * 8]).view(np.uint64)
    order = np.argsort(np.bitwise_xor.reduce(words, axis=1))
    order = order[np.argsort(whole[order], kind="stable")]
    runs, whole = runs[order], whole[order]
    changes = row_changes(runs, whole)
    within = np.arange(len(order)) - np.flatnonzero(changes)[np.cumsum(changes) - 1]
    starts = np.flatnonzero(within % PACKED == 0)
    lists = {name: lists_of(values[order], np.append(starts, len(order)))
             for name, values in (("ranks", ranks), ("sizes", sizes)) if values is not None}
    return as_batch(run=binary_column(runs[starts]), whole=whole[starts], **lists)


def list_entries(batches: Batches, *, groups: int, first_new: int) -> Iterator[Any]:
    """List the entries of documents, as `pack_entries`, given ``rank``, ``features`` and, for `by`, ``scope`` (binary).

    A run is named by its group (2 bytes, big-endian), the feature and the scope. groups: 0 for shingles, of which there may
    be any number, with the group -1: then documents have ``whole`` and ``size``. first_new: documents with lower ranks are
    of `against`: their features are not whole.
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
        ranks = numbers(batch, "rank")[owners]
        if groups:
            yield pack_entries(runs, ranks, ranks >= first_new)
        else:
            yield pack_entries(runs, ranks, within < numbers(batch, "whole")[owners], numbers(batch, "size")[owners])


def expand_runs(
    batches: Batches, *, max_holders: int, first_new: int, least_ratio: float | None = None
) -> Iterator[Any]:
    """Expand runs of up to max_holders documents to pairs, and pack the documents of longer ones.

    Parameters
    ----------
    batches : record batches as from `pack_entries`
        Sorted by run, then whole ones first. A run is in one partition. A run without a whole document is dropped.
    max_holders : int
    first_new : int
        Documents with lower ranks are of `against`: they make no pairs with one another.
    least_ratio : float, optional
        For shingles, whose entries have ``sizes``: documents make pairs if the ratio of their sizes is at least this.

    Yields
    ------
    record batches with ``run``, ``a``, ``b`` and ``ranks``
        A pair a < b of ranks, with ranks null; or documents of a long run, with a and b null. A long run has a row for each
        batch that it is in.

    Notes
    -----
    Holds the entries of one batch, up to PACKED for each row, and max_holders more. O(pairs).
    """
    expand = partial(_expand_runs, max_holders=max_holders, first_new=first_new, least_ratio=least_ratio)
    held: _Entries | None = None  # entries of the last run, which may continue
    told = 0
    for batch in drop_empty(batches):
        more = _Entries.of(batch)
        held = more if held is None else held.before(more)
        starts = np.flatnonzero(row_changes(held.runs))
        yield from expand(held, starts, told)
        begin = int(starts[-1])
        told = told if begin == 0 else 0
        held = held.part(slice(begin, None))
        if len(held.runs) > max_holders:
            yield from expand(held, np.array([0, len(held.runs)]), told)
            told = max_holders + 1  # documents of a long run that are held: more are not needed
            held = held.part(slice(0, told))
    if held is not None:
        yield from expand(held, np.array([0, len(held.runs)]), told)


class _Entries(NamedTuple):
    """Entries in order: the run, the rank of the document, whether it is whole, and its size."""

    runs: NDArray[np.uint8]
    ranks: Ints
    whole: Bools
    sizes: Ints

    @classmethod
    def of(cls, batch: Any) -> _Entries:
        """Unpack the entries of a batch; without sizes they are 1."""
        lists = batch.column("ranks")
        counts = np.diff(lists.offsets.to_numpy())
        owners, ranks = np.repeat(np.arange(len(counts)), counts), lists.flatten().to_numpy()
        sizes = batch.column("sizes").flatten().to_numpy() if "sizes" in batch.schema.names else np.ones_like(ranks)
        return cls(byte_rows(batch.column("run"))[owners], ranks, numbers(batch, "whole")[owners], sizes)

    def part(self, which: slice) -> _Entries:
        """Select some of them."""
        return _Entries(self.runs[which], self.ranks[which], self.whole[which], self.sizes[which])

    def before(self, more: _Entries) -> _Entries:
        """Append more of them."""
        columns: Any = zip(self, more, strict=True)
        return _Entries(*map(np.concatenate, columns))


def _expand_runs(
    entries: _Entries, starts: Ints, told: int, *, max_holders: int, first_new: int, least_ratio: float | None
) -> Iterator[Any]:
    """Yield the pairs, or the documents, of the runs that begin at starts[:-1]; starts[-1] is the end of the last.

    The first `told` documents of the first run were yielded.
    """
    if len(starts) < 2:
        return
    pa, sizes, ranks = arrow(), np.diff(starts), entries.ranks
    yield from _pack_runs(entries, starts, told, (sizes > max_holders) & entries.whole[starts[:-1]])
    ends = np.repeat(np.where(sizes > max_holders, 0, starts[1:]), sizes)
    places = np.arange(int(starts[0]), int(starts[-1]))
    later = np.maximum(ends - places - 1, 0)  # documents after each in its run
    later[~entries.whole[places]] = 0
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
                           b=np.maximum(ranks[first], ranks[other]), ranks=pa.nulls(len(first), pa.list_(pa.int64())))


def _pack_runs(entries: _Entries, starts: Ints, told: int, wanted: Bools) -> Iterator[Any]:
    """Yield a row for each wanted run, with all of its documents but the first `told` ones of the first run."""
    begins, ends = starts[:-1].copy(), starts[1:]
    begins[0] += told
    packed = np.flatnonzero(wanted & (begins < ends))
    if len(packed):
        sizes = ends[packed] - begins[packed]
        bounds = np.append(0, np.cumsum(sizes))
        places = np.arange(bounds[-1]) + np.repeat(begins[packed] - bounds[:-1], sizes)
        none = arrow().nulls(len(packed), "int64")
        yield as_batch(run=binary_column(entries.runs[starts[packed]]), a=none, b=none,
                       ranks=lists_of(entries.ranks[places], bounds))
