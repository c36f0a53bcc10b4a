"""Entries (key, id), grouped by the leading bits of the key, so that each group is sorted alone; in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ndcore._entries import sort_entries
from ndcore._repeats import part
from ndcore._types import AnyArray, Arrays, Ints, UInts
from ndcore.parallel import map_pieces
from ndcore.storage.spill import SpooledArray

GROUPS = 64
KEPT = 32 << 20  # bytes of entries in a file that outlives the process

Grouped: TypeAlias = tuple[Callable[[], UInts], Ints]  # a function that returns entries, grouped; starts of the groups
Put: TypeAlias = Callable[[Mapping[str, Any], Arrays], Grouped]
Call: TypeAlias = Callable[[Callable[[], object]], None]
Result = TypeVar("Result")


class WindowEntries:
    """Entries that are appended in any order, and read sorted."""

    def __init__(self, bits: int) -> None:
        """Start without entries. Their keys are below 2^bits."""
        self._shift = max(0, bits - (GROUPS - 1).bit_length())

    def group(self, entries: UInts) -> tuple[UInts, Ints]:
        """Order entries by their group; in any thread. Return them, and the starts of the groups."""
        return part(entries, self._shift, GROUPS)

    def append(self, entries: UInts, starts: Ints) -> None:
        """Append entries that `group` returned."""
        raise NotImplementedError

    def keep(self, header: Mapping[str, Any], arrays: Callable[[], Arrays], call: Call) -> bool:
        """Write the appended entries to a file with a header and arrays, if there are enough; tell whether that is done.

        call: of `parallel.behind`; its block must end before the entries are read.
        """
        return False

    def sorted(self, threads: int | None, then: Callable[[UInts], Result]) -> Iterator[Result]:
        """Yield then(entries) of each group, sorted by key, in ascending order. Nothing can be appended afterwards."""
        return map_pieces(lambda take: then(_sort_entries(take)), map(self._take, range(GROUPS)), threads)

    def _take(self, number: int) -> Callable[[], AnyArray]:
        """Return a function, to be called once, that makes the array of the entries of a group."""
        raise NotImplementedError


class SpooledEntries(WindowEntries):
    """Entries in memory; beyond a limit in bytes, in temporary files."""

    def __init__(self, bits: int, limit: int | None) -> None:
        super().__init__(bits)
        each = None if limit is None else limit // GROUPS
        self._groups = [SpooledArray(np.uint64, each, (2,)) for _ in range(GROUPS)]

    def append(self, entries: UInts, starts: Ints) -> None:
        for i, group in enumerate(self._groups):
            if starts[i] < starts[i + 1]:
                group.append(entries[starts[i] : starts[i + 1]].copy())  # a view would keep the entries of all groups

    def _take(self, number: int) -> Callable[[], AnyArray]:
        group, self._groups[number] = self._groups[number], SpooledArray(np.uint64)
        return group.take


class KeptEntries(WindowEntries):
    """Entries in files that outlive the process; the latest are in memory until they fill a file.

    Parameters
    ----------
    bits : int
    kept : list of (callable, starts)
        The entries of existing files, as from `group`. Each call of the callable maps them anew, so that the memory of
        pages already read is released.
    put : callable
        Writes a file with a header and arrays, and returns such a pair for it.
    """

    def __init__(self, bits: int, kept: list[Grouped], put: Put) -> None:
        super().__init__(bits)
        self._all, self._put = kept, put
        self._waiting = len(kept)  # entries from this index on are in memory
        self._nbytes = 0

    def append(self, entries: UInts, starts: Ints) -> None:
        self._all.append((lambda: entries, starts))
        self._nbytes += entries.nbytes

    def keep(self, header: Mapping[str, Any], arrays: Callable[[], Arrays], call: Call) -> bool:
        if self._nbytes < KEPT:
            return False
        waiting, at, given = self._all[self._waiting :], self._waiting, arrays()
        del self._all[at + 1 :]  # the file replaces the first

        def save() -> None:
            starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sum(np.diff(own) for _, own in waiting))])
            entries = np.empty((int(starts[-1]), 2), np.uint64)
            for number in range(GROUPS):
                entries[starts[number] : starts[number + 1]] = _join_groups(waiting, number)
            self._all[at] = self._put(header, {**given, "entries": entries, "starts": starts})

        call(save)
        self._waiting, self._nbytes = at + 1, 0
        return True

    def _take(self, number: int) -> Callable[[], AnyArray]:
        return lambda: _join_groups(self._all, number)


def _join_groups(groups: list[Grouped], number: int) -> UInts:
    """Join the entries of one group."""
    bounds = [(int(starts[number]), int(starts[number + 1])) for _, starts in groups]
    joined, at = np.empty((sum(end - begin for begin, end in bounds), 2), np.uint64), 0
    for (entries, _), (begin, end) in zip(groups, bounds, strict=True):
        joined[at : at + end - begin] = entries()[begin:end]
        at += end - begin
    return joined


def _sort_entries(take: Callable[[], AnyArray]) -> UInts:
    """Sort the entries of a group by key."""
    entries = take().reshape(-1, 2)
    sort_entries(entries)
    return entries
