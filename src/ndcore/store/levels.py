"""Write and merge the segments of an index in the background, and record their generations."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _postings
from ndcore._postings import Damaged, Recent, Segment
from ndcore._signals import Stop
from ndcore.storage.container import CorruptFile
from ndcore.store import segments as files
from ndcore.store.segments import Generation, Packed, SegmentFile

WAITING = 4  # most full tables that wait for the disk
RATIO = 2  # segments are merged until each has at least this multiple of the documents of all later ones
SMALL = 1 << 20  # a merge of no more documents, or of an eighth of a running merge's, does not wait for it
SPARE = 2  # free bytes on the disk that a background merge needs for each byte it writes

TABLES, SMALL_MERGES, MERGES = range(3)  # the jobs of threads

Bits = NDArray[np.uint8]


class Full(NamedTuple):
    """A table that waits to become a segment, and the value of `covered` once it is one."""

    table: Recent
    covered: int


class OpenSegment(NamedTuple):
    """A segment on disk, and its lists."""

    file: SegmentFile
    lists: Segment


class Levels:
    """The segments of an index, the largest first.

    A full table becomes a small segment; segments are merged so that each has at least twice the documents of all later
    ones. Up to three threads run while there is work: one writes tables, one merges small segments, so that they stay few
    during the long merges of the third.

    Attributes
    ----------
    lock : threading.Condition
        Held while attributes change.
    state : Generation
        The generation on disk.
    opened : tuple of OpenSegment
    full : tuple of Full
        Waiting tables, the oldest first.
    """

    def __init__(self, directory: Path, name: str, state: Generation, changed: Callable[[], None]) -> None:
        self.directory, self.name, self.state, self.changed = directory, name, state, changed
        self.path = directory / f"{name}.index"
        self.opened = tuple(OpenSegment(s, files.open_segment(directory, name, state, s)) for s in state.segments)
        self.full: tuple[Full, ...] = ()
        self.lock, self._publishing = threading.Condition(), threading.Lock()
        self._busy: set[int] = set()  # numbers of segments that are being merged
        self._running: set[int] = set()  # running threads, by their job
        self._numbers = itertools.count(state.next_segment)
        self._error: BaseException | None = None
        self._stop = Stop()

    @property
    def backlog(self) -> int:
        """The number of tables that wait for the disk, and of segments that wait to be merged or are being merged."""
        with self.lock:
            free = self._free()
            first = plan_merge([s.file for s in free])
            return len(self.full) + len(self._busy) + (0 if first is None else len(free) - first)

    def corrupt(self, reason: object) -> CorruptFile:
        """Make the error for a damaged index."""
        return CorruptFile(f"{self.path}: {reason}; make the index again")

    def check(self, groups: int) -> list[str]:
        """Verify all checksums, and read all lists; return the problems found.

        A segment that was merged meanwhile is skipped, since its files may be deleted; its successor is read.
        """
        problems: list[str] = []
        seen = set[int]()
        while (opened := next((s for s in self.opened if s.file.number not in seen), None)) is not None:
            seen.add(opened.file.number)
            wrong = files.verify(self.directory, self.name, opened.file)
            try:
                for group in () if wrong else range(groups):
                    _, documents = opened.lists.entries(group)
                    if len(documents) != opened.file.documents:
                        wrong.append(str(self.corrupt(f"group {group} of segment {opened.file.number} has {len(documents)} "
                                                      f"documents and should have {opened.file.documents}")))
            except Damaged as error:
                wrong.append(str(self.corrupt(error)))
            problems += wrong if opened in self.opened else []
        return problems

    # ---- calls of the owner, who holds the lock for `put` and `start`

    def put(self, full: Full) -> None:
        """Add a full table; wait while too many wait already."""
        while len(self.full) >= WAITING:
            self._raise_error()
            self.start()
            self.lock.wait()
        self.full += (full,)

    def flush(self, covered: int) -> None:
        """Wait until all tables are on disk. Raises OSError if that failed; the next call tries again."""
        with self.lock:
            if isinstance(self._error, OSError):
                self._error = None
            self._raise_error()
            self.start()
            self.lock.wait_for(lambda: not self.full or self._error is not None)
            self._raise_error()
        if self.state.covered != covered:
            self._publish(covered=covered)

    def wait(self) -> None:
        """Wait until the background threads are idle."""
        with self.lock:
            self.lock.wait_for(lambda: not self._running)

    def close(self) -> None:
        """Drop tables and unfinished merges, and wait for the threads to end."""
        self._stop.set()
        with self.lock:
            self.full = ()
            self._busy.update(s.file.number for s in self.opened)  # no new merges
            self.lock.wait_for(lambda: not self._running)
            self.changed = lambda: None  # drops the reference to the owner, so that its mapped files can be freed

    def _raise_error(self) -> None:
        """Raise an error of a background thread, once. The lock is held."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    # ---- threads

    def start(self) -> None:
        """Start threads for the waiting tables and merges. The lock is held."""
        for kind in (TABLES, SMALL_MERGES, MERGES):
            if kind not in self._running and self._next_job(kind) is not None:
                self._running.add(kind)
                threading.Thread(target=self._work, args=(kind,), name="ndcore index", daemon=True).start()

    def _work(self, kind: int) -> None:
        """Run jobs until none is left or one fails."""
        while True:
            with self.lock:
                job = self._next_job(kind)
                if job is None:
                    self._running.discard(kind)
                    self.lock.notify_all()
                    return
                merged = () if isinstance(job, Full) else tuple(s.file.number for s in job)
                self._busy.update(merged)
            error = None
            try:
                self._stop.run(self._do, job)
            except BaseException as caught:  # raised in the thread of the owner
                error = caught
            with self.lock:
                self._busy.difference_update(merged)
                if error is not None:
                    self._error = error
                    self._running.discard(kind)
                else:
                    self.start()
                self.lock.notify_all()
            if error is not None:
                return

    def _do(self, job: Full | tuple[OpenSegment, ...]) -> None:
        """Write a table or merge segments."""
        if isinstance(job, Full):
            self._write_table(job)
        else:
            self._merge(job)

    def _next_job(self, kind: int) -> Full | tuple[OpenSegment, ...] | None:
        """Choose a table to write or segments to merge, or None. The lock is held."""
        if kind == TABLES:
            return self.full[0] if self.full else None
        free = self._free()
        busy = sum(s.file.documents for s in self.opened if s.file.number in self._busy)
        small = max(SMALL, busy // 8)
        first = plan_merge([s.file for s in free], small if kind == SMALL_MERGES else None)
        if first is None or (kind == MERGES and sum(s.file.documents for s in free[first:]) <= small):
            return None
        need = sum(s.lists.nbytes for s in free[first:])
        if shutil.disk_usage(self.directory).free < SPARE * need:
            return None  # the merge would fill the disk
        return free[first:]

    def _free(self) -> tuple[OpenSegment, ...]:
        """Return the segments after the last one that is being merged. The lock is held."""
        return tuple(itertools.takewhile(lambda s: s.file.number not in self._busy, reversed(self.opened)))[::-1]

    def _write_table(self, full: Full) -> None:
        """Write a table as a segment, and publish it in its place."""
        documents = full.table.documents
        base, span = int(documents.min()), int(documents.max() - documents.min()) + 1
        bits = _postings.block_bits(self.state.value_bits, len(documents), span)
        planned = SegmentFile(next(self._numbers), base, span, len(documents), bits, ())
        lists = (full.table.packed(group, base, span) for group in range(self.state.groups))
        self._publish(put=self._write(planned, lists), full=full)

    def _merge(self, job: tuple[OpenSegment, ...]) -> None:
        """Merge segments, and publish the result in their place."""
        base = min(s.file.base for s in job)
        span, n = _span([s.file for s in job]), sum(s.file.documents for s in job)
        planned = SegmentFile(next(self._numbers), base, span, n, _postings.block_bits(self.state.value_bits, n, span), ())
        lists = (_postings.merged([s.lists for s in job], group, base, span, n) for group in range(self.state.groups))
        try:
            self._publish(put=self._write(planned, lists), take=job)
        except Damaged as error:
            raise self.corrupt(error) from None

    def _write(self, planned: SegmentFile, lists: Iterator[Packed]) -> OpenSegment:
        """Write and open a segment."""
        written = files.write_segment(self.directory, self.name, self.state, planned, lists)
        return OpenSegment(written, files.open_segment(self.directory, self.name, self.state, written))

    def _publish(self, put: OpenSegment | None = None, take: tuple[OpenSegment, ...] = (), full: Full | None = None,
                 covered: int | None = None) -> None:
        """Replace segments or a table by a segment: first on disk, then for searches."""
        with self._publishing:
            gone = {s.file.number for s in take}
            place = next((i for i, s in enumerate(self.opened) if s.file.number in gone), len(self.opened))
            new = tuple(s for s in self.opened if s.file.number not in gone)
            new = new if put is None else (*new[:place], put, *new[place:])
            if full is not None:
                covered = full.covered
            state = replace(
                self.state, number=self.state.number + 1, covered=self.state.covered if covered is None else covered,
                next_segment=max((self.state.next_segment, *(s.file.number + 1 for s in new))),
                segments=tuple(s.file for s in new),
            )
            files.write_generation(self.directory, self.name, state)
            with self.lock:
                self.state, self.opened = state, new
                self.full = tuple(other for other in self.full if other is not full)
                self.changed()
                self.lock.notify_all()
        sweep([path for s in take for path in s.file.paths(self.directory, self.name)])


def plan_merge(segments: list[SegmentFile], most: int | None = None) -> int | None:
    """Return the first segment of the run to merge, which ends with the last segment, or None.

    It is the longest run whose first segment has too few documents. most: the largest number of documents in the run.
    """
    for first in range(len(segments) - 1):
        run = segments[first:]
        behind = sum(s.documents for s in run[1:])
        if most is not None and run[0].documents + behind > most:
            continue
        if run[0].documents < RATIO * behind and _span(run) <= _postings.MOST_SPAN:
            return first
    return None


def _span(run: list[SegmentFile]) -> int:
    return max(s.base + s.span for s in run) - min(s.base for s in run)


def sweep(paths: list[Path]) -> None:
    """Delete files that no generation names; some systems refuse this while another process has a file open."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()
