"""Signatures to candidate pairs: features, sorted entries, runs, pairs (Broder 2000, §3; Broder et al. 1997, §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _feature
from ndcore._pairs import Judge, distinct, sort_entries
from ndcore.filters.design import FilterDesign
from ndcore.progress import Progress
from ndcore.text.shingling import FEATURE_POLYNOMIAL

__all__ = ["Candidates", "Run", "find_candidates"]

ENTRY_BYTES = 40  # a key, an entry and its scratch


class Run(NamedTuple):
    """Documents, ascending, that share a feature; too many to be paired with one another."""

    group: int
    documents: NDArray[np.int64]


class Candidates(NamedTuple):
    """Pairs a < b, sorted, and the runs that were not expanded."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    runs: list[Run]
    judge: Judge


def find_candidates(
    rows: NDArray[Any],
    active: NDArray[np.int64],
    design: FilterDesign,
    *,
    least: int,
    max_holders: int,
    first_fixed: int,
    by: NDArray[np.int64] | None = None,
    memory_limit: int | None = None,
    report: Progress,
) -> Candidates:
    """Pairs of active documents that share at least design.need features and `least` minima.

    Parameters
    ----------
    rows : uint32 or uint64 (n, num_perm)
    active : int64, ascending
        The documents to pair.
    max_holders : int
        Runs of more documents are returned, not expanded.
    first_fixed : int
        Documents from here on are never paired with one another.
    by : int64 (n,), optional
        Only documents of the same code are paired.
    memory_limit : int, optional
        Bytes for the entries of one group; more are sorted in parts, by ranges of their keys.

    Notes
    -----
    O(groups · n) to sort, one comparison of signatures per pair that shares a feature. One group is in memory at a time.
    """
    judge = Judge(rows, design.groups, design.group_size, design.need, least, first_fixed)
    found: list[NDArray[np.uint64]] = []
    runs: list[Run] = []
    cut = None
    parts = _parts(len(active), memory_limit)
    for group in range(design.groups):
        for entries in _sorted_parts(rows, active, design, group, by, parts):
            long = _long_runs(entries, group, max_holders, first_fixed)
            if long and cut is None:
                cut = np.zeros((len(rows), design.groups), np.uint8)
                judge.set_cut(cut)
            for run in long:
                assert cut is not None
                cut[run.documents, group] = 1
            runs += long
            found += judge.expand(group, entries, min(max_holders, len(entries)))
        report("pairing", group + 1, design.groups)
    together = np.concatenate([np.empty(0, np.uint64), *found])
    found.clear()
    pairs, _ = distinct(together, np.array([0, len(together)]))
    a, b = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if by is not None:  # two codes may have met in one key
        a, b = a[by[a] == by[b]], b[by[a] == by[b]]
    return Candidates(a, b, runs, judge)


def _parts(n: int, memory_limit: int | None) -> int:
    """Into how many parts, a power of two, the entries of a group are cut so that each fits."""
    if memory_limit is None:
        return 1
    return 1 << max(0, (ENTRY_BYTES * n // memory_limit).bit_length())


def _sorted_parts(
    rows: NDArray[Any], active: NDArray[np.int64], design: FilterDesign, group: int, by: NDArray[np.int64] | None, parts: int
) -> Iterator[NDArray[np.uint64]]:
    """Entries (feature, document) of one group sorted by feature, in parts by the features' high bits."""
    keys = _feature.features(rows, design.group_size, group, group + 1, FEATURE_POLYNOMIAL)[active, 0]
    if by is not None:
        keys ^= (by[active].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    shift = np.uint64(64 - (parts.bit_length() - 1)) if parts > 1 else np.uint64(0)
    for part in range(parts):
        inside = slice(None) if parts == 1 else np.flatnonzero(keys >> shift == part)
        entries = np.empty((len(keys[inside]), 2), np.uint64)
        entries[:, 0], entries[:, 1] = keys[inside], active[inside]
        sort_entries(entries)
        yield entries


def _long_runs(entries: NDArray[np.uint64], group: int, max_holders: int, first_fixed: int) -> list[Run]:
    keys = entries[:, 0]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(keys))
    long = np.flatnonzero(ends - starts > max_holders)
    runs = [Run(group, entries[starts[i] : ends[i], 1].astype(np.int64)) for i in long]
    return [run for run in runs if run.documents[0] < first_fixed]
