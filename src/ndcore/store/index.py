"""An index that grows: which documents share values, in a log-structured merge of immutable segments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ndcore import _postings
from ndcore._lookup import Postings
from ndcore._postings import Damaged, Recent
from ndcore._types import AnyPath, Ints, UInts
from ndcore.checks import checked_int
from ndcore.parallel import map_pieces
from ndcore.storage.container import CorruptFile
from ndcore.store import segments as files
from ndcore.store.levels import Bitmap, Full, Levels, sweep
from ndcore.store.segments import Generation

__all__ = ["Index", "TailedIndex"]

RECENT = 1 << 16  # documents in memory before they become a segment
SINGLE_BITS, SHARED_BITS = 32, 20  # of a value, where one is enough for a candidate, and where several must agree
FIRST = 1 << 10  # for which the first table has room
SMALLEST = 16  # of a tail in memory
ROWS = 1 << 12  # searched for by a thread at a time


class Index:
    """Finds the documents that share at least `need` of their values with a row of values, one value for each group.

    Values are compared by the leading bits of a keyed hash. So a search may return a document that does not share as many
    values, with a probability of about 2^-20 for each pair of values (2^-32 if made with need = 1); it misses none.

    Documents that were added last are in memory. They become an immutable segment in the background, and segments are merged
    so that each has at least twice the documents of all after it: some log₃(documents / 65536) + 1 segments.
    One thread adds; any number of threads search meanwhile; other processes open the directory with ``read_only=True``.
    Made by `create` and `open`.

    Attributes
    ----------
    groups : int
        Values of a document.
    covered : int
        What is on disk: the last `covered` that was given to `add` before a table was written or `flush` was called. After a
        crash, add again what came later.
    """

    def __init__(self, directory: AnyPath, name: str, state: Generation, read_only: bool, recent: int) -> None:
        self._read_only, self._limit = read_only, checked_int("recent", recent, 1, 1 << 17)
        self._covered = state.covered  # of what was added
        self._levels = Levels(Path(directory), name, state, self._look)
        self._recent = Recent(state.groups, min(FIRST, self._limit), state.value_bits, state.key)
        self._look()
        if not read_only:
            sweep(files.left_over(Path(directory), name, state))

    @classmethod
    def create(cls, directory: AnyPath, groups: int, *, need: int = 1, name: str = "index", recent: int = RECENT) -> Index:
        """Make an empty index in a directory that exists; an index of this name there is replaced.

        Parameters
        ----------
        directory : path
        groups : int
            Values of a document, at most 4096.
        need : int
            The lowest `need` of searches. It decides how many bits of a value are kept: from 2 on, chance matches of a
            single value do no harm.
        name : str
            Of the files.
        recent : int
            Documents in memory before they become a segment; each takes 20 to 36 bytes for each group.
        """
        value_bits = SINGLE_BITS if checked_int("need", need, 1) == 1 else SHARED_BITS
        groups = checked_int("groups", groups, 1, 4096)
        state = Generation(1, groups, value_bits, os.urandom(_postings.KEY_BYTES), 0, 0, ())
        place = Path(directory)
        (place / f"{name}.index").unlink(missing_ok=True)
        sweep(files.left_over(place, name, None))
        files.write_generation(place, name, state)
        return cls(directory, name, state, False, recent)

    @classmethod
    def open(cls, directory: AnyPath, *, name: str = "index", read_only: bool = False, recent: int = RECENT) -> Index:
        """Open an index, to add to it or only to search it.

        Raises
        ------
        FileNotFoundError
            If there is none.
        CorruptFile
            If a file is damaged or missing: make the index again.
        """
        while True:
            state = files.read_generation(Path(directory), name)
            try:
                return cls(directory, name, state, read_only, recent)
            except FileNotFoundError as error:  # a writer may have merged this segment
                if files.read_generation(Path(directory), name).number == state.number:
                    raise CorruptFile(f"{error.filename}: a segment of the index is missing; make the index again") from None

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop work in the background: documents that were not flushed are lost, and merges begin again next time."""
        self._levels.close()

    @property
    def groups(self) -> int:
        """The number of values of a document."""
        return self._levels.state.groups

    @property
    def covered(self) -> int:
        """What is on disk, as given to `add`."""
        return self._levels.state.covered

    def __len__(self) -> int:
        """Count the documents, in memory and on disk."""
        return int(self.stats()["documents"])

    def stats(self) -> dict[str, Any]:
        """Describe the index: documents, documents in memory, documents of each segment, bytes on disk and in memory."""
        with self._levels.lock:
            opened, tables, state = self._levels.opened, self._view.recents, self._levels.state
        recent = sum(map(len, tables))
        return {
            "documents": sum(s.file.documents for s in opened) + recent, "recent": recent,
            "segments": [s.file.documents for s in opened], "bytes": sum(s.lists.nbytes for s in opened),
            "memory": sum(table.nbytes for table in tables), "generation": state.number, "covered": state.covered,
        }

    # ---- searching

    def search(self, values: UInts, need: int = 1, wanted: Bitmap | None = None) -> Ints:
        """Find the documents that share at least `need` of their values.

        Parameters
        ----------
        values : uint64 (groups,)
        need : int
        wanted : uint8, optional
            A bitmap of the documents to find: document d is bit d mod 8 of byte d / 8. Documents behind its end are not
            wanted. Default: all.

        Returns
        -------
        int64, ascending

        Raises
        ------
        CorruptFile
            If a file turns out to be damaged: make the index again.

        Notes
        -----
        O(groups · segments), and O(1) for each document that has one of the values. Nothing is left out: a value that 10
        million documents have is read in pieces, between which Ctrl-C is heard.
        """
        try:
            return self._view.search(values, need, wanted)
        except Damaged as error:
            raise self._levels.corrupt(error) from None

    def search_many(self, values: UInts, need: int = 1, wanted: Bitmap | None = None, threads: int | None = None
                    ) -> tuple[Ints, Ints]:
        """Find for each row of values what `search` finds.

        Returns
        -------
        offsets : int64, of one more than rows
        documents : int64
            Those of row i, ascending, are documents[offsets[i]:offsets[i + 1]].
        """
        view = self._view
        values = np.ascontiguousarray(values, np.uint64)

        def piece(start: int) -> tuple[Ints, Ints]:
            return view.search_many(values[start : start + ROWS], need, wanted)

        try:
            found = list(map_pieces(piece, range(0, max(1, len(values)), ROWS), threads))
        except Damaged as error:
            raise self._levels.corrupt(error) from None
        if len(found) == 1:
            return found[0]
        ends, behind = [np.zeros(1, np.int64)], 0
        for offsets, documents in found:
            ends.append(offsets[1:] + behind)
            behind += len(documents)
        return np.concatenate(ends), np.concatenate([documents for _, documents in found])

    # ---- adding

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents. One that is added again, with other values, is found by both; with the same ones it counts twice.

        Parameters
        ----------
        documents : int64 (n,)
            Numbers from 0 on, usually ascending: a segment has a range of 2^27 at most.
        values : uint64 (n, groups)
        covered : int, optional
            A mark of the caller for all that was added up to here. Default: one more than the last document.

        Raises OSError if tables could not be written; the documents before the first that found no room are added.
        """
        self._check_writer()
        documents, values = np.ascontiguousarray(documents, np.int64), np.ascontiguousarray(values, np.uint64)
        if values.shape != (len(documents), self.groups):
            raise ValueError(f"{len(documents)} documents of {self.groups} groups have values of shape {values.shape}")
        with self._levels.lock:
            at = 0
            while at < len(documents):
                end = self._recent.add(documents, values, at)
                if covered is None and end > at:
                    self._covered = max(self._covered, int(documents[end - 1]) + 1)
                if end < len(documents):
                    self._make_room()
                at = end
            if covered is not None:
                self._covered = covered

    def _make_room(self) -> None:
        """Let the last table grow or become a segment. The lock is held."""
        if len(self._recent) == self._recent.capacity < self._limit:
            self._recent = self._recent.grown(min(4 * self._recent.capacity, self._limit))
            self._look()
        else:
            self._freeze()

    def _freeze(self) -> None:
        """Let the last table become a segment, and begin another. The lock is held."""
        if len(self._recent):
            self._levels.put(Full(self._recent, self._covered))
            state = self._levels.state
            self._recent = Recent(state.groups, self._recent.capacity, state.value_bits, state.key)
            self._look()
            self._levels.start()

    def _look(self) -> None:
        """Show to searches what there is now."""
        levels = self._levels
        tables = (*(full.table for full in levels.full), *(() if self._read_only else (self._recent,)))
        self._view = Postings(levels.state.groups, levels.state.value_bits, levels.state.key,
                              tuple(s.lists for s in levels.opened), tables)

    def _check_writer(self) -> None:
        if self._read_only:
            raise ValueError(f"{self._levels.path} was opened with read_only=True; open it without")

    def flush(self) -> None:
        """Write what is in memory as a segment: when this returns, `covered` is what was given last, and on disk.

        Raises OSError if the disk is full: nothing is lost, and the next call tries again.
        """
        self._check_writer()
        with self._levels.lock:
            self._freeze()
            covered = self._covered
        self._levels.flush(covered)

    def merge(self, drop: Bitmap | None = None, threads: int | None = None) -> None:
        """Flush, and merge all segments to one, or to one for each 2^27 documents.

        Parameters
        ----------
        drop : uint8, optional
            A bitmap of documents to leave out, as `wanted` of `search`. No byte of them stays.
        threads : int, optional
            Each takes the memory of one group: some 5 bytes a document. Default: one for each CPU.
        """
        self.flush()
        self._levels.merge_all(drop, threads)

    def check(self) -> list[str]:
        """Verify all checksums of the files, and that lists can be read; return what is wrong."""
        return self._levels.check(self.groups)


class TailedIndex:
    """An index that is only read, or none, and documents in memory behind it; the methods of `Index` that a state uses."""

    def __init__(self, index: Index | None, groups: int, need: int = 1) -> None:
        self._index, self._groups = index, groups
        self._bits, self._key = SINGLE_BITS if need == 1 else SHARED_BITS, os.urandom(_postings.KEY_BYTES)
        self._tables = [Recent(groups, SMALLEST, self._bits, self._key)]
        self._look()

    def _look(self) -> None:
        self._view = Postings(self._groups, self._bits, self._key, (), tuple(self._tables))

    @property
    def covered(self) -> int:
        """As `Index.covered`; 0 without one."""
        return 0 if self._index is None else self._index.covered

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents, in memory only."""
        documents, values = np.ascontiguousarray(documents, np.int64), np.ascontiguousarray(values, np.uint64)
        at = 0
        while at < len(documents):
            last = self._tables[-1]
            at = last.add(documents, values, at)
            if at < len(documents):
                if len(last) == last.capacity < RECENT:
                    self._tables[-1] = last.grown(min(4 * last.capacity, RECENT))
                else:
                    self._tables.append(Recent(self._groups, RECENT, self._bits, self._key))
                self._look()

    def search(self, values: UInts, need: int = 1, wanted: Bitmap | None = None) -> Ints:
        """Find documents as `Index.search`."""
        found = self._view.search(np.ascontiguousarray(values, np.uint64), need, wanted)
        below = [] if self._index is None else [self._index.search(values, need, wanted)]
        return np.unique(np.concatenate([found, *below]))

    def search_many(
        self, values: UInts, need: int = 1, wanted: Bitmap | None = None, threads: int | None = None
    ) -> tuple[Ints, Ints]:
        """Find documents as `Index.search_many`."""
        found = [self.search(row, need, wanted) for row in values]
        return np.cumsum([0, *map(len, found)]), np.concatenate([np.empty(0, np.int64), *found])

    def check(self) -> list[str]:
        """Return nothing: the files are the writer's, which may remove them meanwhile."""
        return []

    def flush(self) -> None:
        """Do nothing: readers write nothing."""

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()
