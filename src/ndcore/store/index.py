"""A growing index of the documents that share values: a log-structured merge tree of immutable segments."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ndcore import _postings
from ndcore._lookup import Postings
from ndcore._postings import Damaged, Recent
from ndcore._types import AnyPath, Closing, Ints, UInts
from ndcore.checks import checked_int
from ndcore.storage.container import CorruptFile
from ndcore.store import segments as files
from ndcore.store.levels import Bits, Full, Levels, sweep
from ndcore.store.segments import Generation

RECENT = 1 << 16  # documents in memory before they become a segment
SINGLE_BITS, SHARED_BITS = 32, 20  # bits of a value if one value makes a candidate, and if several must agree
FIRST, SMALLEST = 1 << 10, 16  # documents for which the first table has room, for a writer and for an index in memory


class GrowingIndex(Closing):
    """An index that finds the documents sharing at least `need` values with a row of values, one value for each group.

    Values are compared by the leading bits of a keyed hash. So a search may return a document that shares fewer values,
    with a probability of about 2^-20 for each pair of values (2^-32 if made with need = 1); it never misses one.

    The latest documents are in memory. They become an immutable segment in the background, and segments are merged so that
    each has at least twice the documents of all later ones: about log₃(documents / 65536) + 1 segments.
    One thread adds documents while any number of threads search. Other processes can open the directory with
    ``read_only=True``; documents that they add stay in their memory. Made by `create`, `open` and `in_memory`.

    Attributes
    ----------
    groups : int
        Values of a document.
    covered : int
        The mark up to which everything is on disk: the last `covered` that was given to `add` before a table was written or
        `flush` was called. After a crash, add later documents again.
    mend : function, or None
        Adds all documents again to this index after it was emptied because a file was damaged, and returns a bitmap of
        them. Then the call that found the damage is answered. None: that call raises CorruptFile.
    """

    def __init__(
        self, directory: Path | None, name: str, state: Generation, read_only: bool, recent: int = RECENT,
        below: GrowingIndex | None = None,
    ) -> None:
        self._directory, self._name, self._read_only, self._below = directory, name, read_only, below
        self._limit = checked_int("recent", recent, 1, 1 << 17)
        self.mend: Callable[[GrowingIndex, CorruptFile], Bits] | None = None
        self._begin(state)

    def _begin(self, state: Generation) -> None:
        """Open the segments of a generation."""
        self._state, self._covered = state, state.covered  # covered: the mark of the documents added
        self._levels = None if self._directory is None else Levels(self._directory, self._name, state, self._look)
        self._lock: AbstractContextManager[Any] = nullcontext() if self._levels is None else self._levels.lock
        size = SMALLEST if self._read_only else FIRST
        self._tables = [Recent(state.groups, min(size, self._limit), state.value_bits, state.key)]
        self._look()
        if self._directory is not None and not self._read_only:
            sweep(files.left_over(self._directory, self._name, state))

    @classmethod
    def create(
        cls, directory: AnyPath, groups: int, *, need: int = 1, name: str = "index", recent: int = RECENT
    ) -> GrowingIndex:
        """Make an empty index in an existing directory, replacing an index of the same name.

        groups: values of a document, at most 4096; need: the smallest `need` of searches, which determines how many bits of
        a value are kept: from 2 on, chance matches of a single value are harmless; recent: documents in memory before they
        become a segment, at 20 to 36 bytes for each group of each document.
        """
        place, state = Path(directory), _first(groups, need)
        _replace(place, name, state)
        return cls(place, name, state, False, recent)

    @classmethod
    def open(cls, directory: AnyPath, *, name: str = "index", read_only: bool = False, recent: int = RECENT) -> GrowingIndex:
        """Open an index, to add to it or only to search it.

        Raises FileNotFoundError if there is none, CorruptFile if a file is damaged or missing: then rebuild the index.
        """
        while True:
            state = files.read_generation(Path(directory), name)
            try:
                return cls(Path(directory), name, state, read_only, recent)
            except FileNotFoundError as error:  # a writer may have merged this segment
                if files.read_generation(Path(directory), name).number == state.number:
                    raise CorruptFile(f"{error.filename}: a segment of the index is missing; make the index again") from None

    @classmethod
    def in_memory(cls, groups: int, need: int = 1) -> GrowingIndex:
        """Make an index that writes nothing."""
        return cls(None, "", _first(groups, need), True)

    def fork(self) -> GrowingIndex:
        """Make an index in memory that also finds the documents of this one, which must not change while it is used."""
        return GrowingIndex(None, "", replace(self._state, segments=()), True, below=self)

    def close(self) -> None:
        """Stop the background threads. Documents that were not flushed are lost; unfinished merges restart next time."""
        if self._levels is not None:
            self._levels.close()

    @property
    def groups(self) -> int:
        """The number of values of a document."""
        return self._state.groups

    @property
    def covered(self) -> int:
        """The mark up to which everything is on disk, as given to `add`."""
        return 0 if self._levels is None else self._levels.state.covered

    @property
    def backlog(self) -> int:
        """The number of tables that wait to become segments, and of segments that wait to be merged or are being merged."""
        return 0 if self._levels is None else self._levels.backlog

    def stats(self) -> dict[str, Any]:
        """Describe the index: documents, documents in memory, documents of each segment, bytes on disk and in memory."""
        assert self._levels is not None
        with self._levels.lock:
            opened, tables = self._levels.opened, self._view.recents
        recent, segments = sum(map(len, tables)), [s.file.documents for s in opened]
        return {"documents": sum(segments) + recent, "recent": recent, "segments": segments,
                "bytes": sum(s.lists.nbytes for s in opened), "memory": sum(table.nbytes for table in tables)}

    # ---- searching

    def search(self, values: UInts, need: int = 1, wanted: Bits | None = None) -> Ints:
        """Find the documents that share at least `need` of their values, ascending.

        values: uint64 (groups,); wanted: a bitmap of the documents to find, in which document d is bit d mod 8 of byte d /
        8, and documents beyond its end are not wanted; None: all. Raises CorruptFile if a file turns out to be damaged and
        there is no `mend`.

        O(groups · segments), and O(1) for each document that has one of the values. No result is left out: the list of a
        value that 10 million documents have is read in pieces, and Ctrl-C works between them.
        """
        try:
            documents = self._view.search(values, need, wanted)
        except Damaged as error:
            self._make_again(error)
            return self.search(values, need, wanted)
        if self._below is None:
            return documents
        return np.unique(np.concatenate([documents, self._below.search(values, need, wanted)]))

    def search_many(self, values: UInts, need: int = 1, wanted: Bits | None = None) -> tuple[Ints, Ints]:
        """Search for each row of values, like `search`; return (offsets, documents), int64.

        Those of row i, ascending, are documents[offsets[i]:offsets[i + 1]].
        """
        if self._below is not None:
            rows = [self.search(row, need, wanted) for row in values]
            return np.cumsum([0, *map(len, rows)]), np.concatenate([np.empty(0, np.int64), *rows])
        try:
            return self._view.search_many(np.ascontiguousarray(values, np.uint64), need, wanted)
        except Damaged as error:
            self._make_again(error)
            return self.search_many(values, need, wanted)

    # ---- adding

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents. A document added again is found by its old and new values; the same values count twice.

        documents: numbers from 0 on, usually ascending, because a segment has a range of at most 2^27; values: uint64 rows;
        covered: the caller's mark for everything added so far, by default one more than the last document. Raises OSError
        if tables could not be written; then the documents before the first one without room are added.
        """
        documents, values = np.ascontiguousarray(documents, np.int64), np.ascontiguousarray(values, np.uint64)
        if values.shape != (len(documents), self.groups):
            raise ValueError(f"{len(documents)} documents of {self.groups} groups have values of shape {values.shape}")
        try:
            with self._lock:
                at = 0
                while at < len(documents):
                    end = self._tables[-1].add(documents, values, at)
                    if covered is None and end > at:
                        self._covered = max(self._covered, int(documents[end - 1]) + 1)
                    if end < len(documents):
                        self._make_room()
                    at = end
                if covered is not None:
                    self._covered = covered
        except CorruptFile as error:  # found by a merge in the background
            known = np.unpackbits(self._make_again(error), bitorder="little", count=int(documents.max()) + 1)
            missing = known[documents] == 0
            self.add(documents[missing], values[missing], covered)

    def _make_room(self) -> None:
        """Grow the last table, or queue it to become a segment and begin another. The lock is held."""
        last = self._tables[-1]
        if len(last) == last.capacity < self._limit:
            self._tables[-1] = last.grown(min(4 * last.capacity, self._limit))
            self._look()
        elif self._read_only:
            self._tables.append(self._table(self._limit))
            self._look()
        else:
            self._freeze()

    def _freeze(self) -> None:
        """Queue the table to become a segment, and begin another. The lock is held."""
        last = self._tables[-1]
        if len(last) and self._levels is not None:
            self._levels.put(Full(last, self._covered))
            self._tables = [self._table(last.capacity)]
            self._look()
            self._levels.start()

    def _table(self, capacity: int) -> Recent:
        """Make an empty table."""
        return Recent(self._state.groups, capacity, self._state.value_bits, self._state.key)

    def _look(self) -> None:
        """Publish the current segments and tables to searches."""
        state, levels = self._state, self._levels
        opened, full = ((), ()) if levels is None else (levels.opened, levels.full)
        self._view = Postings(state.groups, state.value_bits, state.key, tuple(s.lists for s in opened),
                              (*(each.table for each in full), *self._tables))

    def flush(self) -> None:
        """Write the documents in memory as a segment; then `covered` is the last mark that was given to `add`.

        Raises OSError if the disk is full; nothing is lost, and the next call tries again. Readers write nothing.
        """
        if self._levels is None or self._read_only:
            return
        try:
            with self._lock:
                self._freeze()
                covered = self._covered
            self._levels.flush(covered)
        except CorruptFile as error:
            self._make_again(error)
            self.flush()

    # ---- damage

    def check(self) -> list[str]:
        """Verify all checksums and read all lists; return the problems, and rebuild the index if there are any."""
        problems = [] if self._levels is None else self._levels.check(self.groups)
        if problems and self.mend is not None:
            self._make_again(CorruptFile(problems[0]))
        return problems

    def _make_again(self, error: CorruptFile | Damaged) -> Bits:
        """Rebuild the index from the documents that `mend` adds, after an error; return a bitmap of them."""
        if isinstance(error, Damaged):
            assert self._levels is not None
            error = self._levels.corrupt(error)
        if self.mend is None:
            raise error from None
        self.close()
        state = replace(self._state, number=1, key=os.urandom(_postings.KEY_BYTES), covered=0, next_segment=0, segments=())
        if self._read_only:
            self._directory = None
        elif self._directory is not None:
            _replace(self._directory, self._name, state)
        self._begin(state)
        return self.mend(self, error)


def _first(groups: int, need: int) -> Generation:
    """Make the state of an empty index."""
    value_bits = SINGLE_BITS if checked_int("need", need, 1) == 1 else SHARED_BITS
    return Generation(1, checked_int("groups", groups, 1, 4096), value_bits, os.urandom(_postings.KEY_BYTES), 0, 0, ())


def _replace(place: Path, name: str, state: Generation) -> None:
    """Replace an index by an empty one."""
    (place / f"{name}.index").unlink(missing_ok=True)
    sweep(files.left_over(place, name, None))
    files.write_generation(place, name, state)
