"""Phase 3, candidates: features to entries, runs of documents that share one, pairs within runs, and long runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Ints, UInts
from ndcore.parallel import cut
from ndcore.phases.columns import (
    Batches,
    as_batch,
    binary_column,
    byte_rows,
    bytes_of,
    drop_empty,
    lists_of,
    numbers,
    pa,
    row_changes,
    values_of,
)
from ndcore.phases.value_filter import may_have, may_share

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


def list_entries(
    batches: Batches, *, groups: int, first_new: int, shared: UInts | None = None
) -> Iterator[Any]:
    """List the entries of documents, as `pack_entries`, given ``rank``, ``features`` and, for `by`, ``scope`` (binary).

    A run is named by its group (2 bytes, big-endian), the feature and the scope. groups: 0 for shingles, of which there may
    be any number, with the group -1: then documents have ``whole`` and ``size``. first_new: documents with lower ranks are
    of `against`: their features are not whole. shared: words of a filter; only features that may be in it are listed.
    """
    for batch in drop_empty(batches):
        data, bounds = bytes_of(batch.column("features"))
        counts = np.diff(bounds) // 8
        owners = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(owners)) - (bounds[owners] - bounds[0]) // 8
        features = data[bounds[0] : bounds[-1]].reshape(-1, 8)
        if shared is not None:
            kept = np.flatnonzero(may_have(shared, features.view("<u8").reshape(-1)))
            owners, within, features = owners[kept], within[kept], features[kept]
        scope = byte_rows(batch.column("scope")) if "scope" in batch.schema.names else np.empty((len(counts), 0), np.uint8)
        runs = np.empty((len(owners), GROUP_BYTES + 8 + scope.shape[1]), np.uint8)
        group = within if groups else np.full(len(owners), -1)
        runs[:, :GROUP_BYTES] = group.astype(">i2")[:, None].view(np.uint8)
        runs[:, GROUP_BYTES : GROUP_BYTES + 8] = features
        runs[:, GROUP_BYTES + 8 :] = scope[owners]
        ranks = numbers(batch, "rank")[owners]
        if groups:
            yield pack_entries(runs, ranks, ranks >= first_new)
        else:
            yield pack_entries(runs, ranks, within < numbers(batch, "whole")[owners], numbers(batch, "size")[owners])


def expand_runs(
    batches: Batches, *, max_holders: int, first_new: int, least_ratio: float | None = None
) -> Iterator[Any]:
    """Expand runs of up to max_holders documents to pairs, and name longer ones.

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
    record batches with ``run``, ``a`` and ``b``
        A pair a < b of ranks; or the name of a long run, with a and b null, which may come more than once.

    Notes
    -----
    Holds the entries of one batch, up to PACKED for each row, and max_holders more. O(pairs).
    """
    expand = partial(_expand_runs, max_holders=max_holders, first_new=first_new, least_ratio=least_ratio)
    held: _Entries | None = None  # entries of the last run, which may continue
    for batch in drop_empty(batches):
        more = _Entries.of(batch)
        held = more if held is None else held.before(more)
        starts = np.flatnonzero(row_changes(held.runs))
        yield from expand(held, starts)
        begin = int(starts[-1])
        held = held.part(slice(begin, begin + max_holders + 1))  # of a long run more are not needed
    if held is not None:
        yield from expand(held, np.array([0, len(held.runs)]))


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
    entries: _Entries, starts: Ints, *, max_holders: int, first_new: int, least_ratio: float | None
) -> Iterator[Any]:
    """Yield the pairs, or the name, of the runs that begin at starts[:-1]; starts[-1] is the end of the last."""
    if len(starts) < 2:
        return
    sizes, ranks = np.diff(starts), entries.ranks
    long = starts[:-1][(sizes > max_holders) & entries.whole[starts[:-1]]]
    if len(long):
        none = pa.nulls(len(long), "int64")
        yield as_batch(run=binary_column(entries.runs[long]), a=none, b=none)
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
                           b=np.maximum(ranks[first], ranks[other]))


def mix_features(features: UInts, bounds: Ints, scopes: NDArray[np.uint8] | None) -> UInts:
    """Mix the features of documents so that documents of different scopes have different ones.

    features, bounds: as from `values_of`. scopes: uint8 (documents, 8 or more), or empty rows or None without scopes.
    """
    if scopes is None or not scopes.shape[1]:
        return features
    mixed: UInts = features ^ np.repeat(np.ascontiguousarray(scopes[:, :8]).view("<u8")[:, 0], np.diff(bounds))
    return mixed


def list_features(batches: Batches) -> Iterator[Any]:
    """List the features of runs, ``value``, mixed by `mix_features`, given their names, ``run``, as from `list_entries`."""
    for batch in drop_empty(batches):
        runs = byte_rows(batch.column("run"))
        features = np.ascontiguousarray(runs[:, GROUP_BYTES : GROUP_BYTES + 8]).view("<u8")[:, 0]
        mixed = mix_features(features, np.arange(len(runs) + 1), runs[:, GROUP_BYTES + 8 :])
        yield as_batch(value=mixed.view(np.int64))


def select_holders(batches: Batches, *, words: UInts) -> Iterator[Any]:
    """Select the documents of some runs, ``rank``, given ``rank``, ``features`` and perhaps ``scope``.

    words: a filter of the features of the runs, from `list_features`. A few other documents are selected, too.
    """
    for batch in drop_empty(batches):
        scopes = byte_rows(batch.column("scope")) if "scope" in batch.schema.names else None
        features, bounds = values_of(batch.column("features"))
        yield as_batch(rank=numbers(batch, "rank")[may_share(words, mix_features(features, bounds, scopes), bounds)])
