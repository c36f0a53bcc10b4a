"""The log of a store: checksummed payloads, appended to numbered files of 1 GiB. All other files are derived from it.

An append is one write and, if it must be durable, one fdatasync followed by a mark that records it (`log_files`). Files
change only at their end: a writer that opens the log cuts off what a crash left there, and undoes a failed write.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ndcore._types import AnyPath
from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import name_place, naming, sync
from ndcore.store.log_files import (
    HEADER,
    MOST_FILES,
    MOST_HEADER,
    MOST_PAYLOAD,
    SHIFT,
    START,
    LogFile,
    LogFiles,
    begin_file,
    frame_header,
    is_mark,
    numbers_in,
    read_fully,
    read_start,
    tag_in,
)

ROTATE = 1 << 30  # a file that would grow beyond this size is followed by a new one
JOINED = 16 << 20  # appends up to this size are one write

_sync_data = getattr(os, "fdatasync", os.fsync)


class Log:
    """An append-only log with one writer; readers follow it with `refresh`. Several threads may call its methods.

    Attributes
    ----------
    tag : bytes
        4 bytes with which every frame of this store begins.
    cut : int
        Number of bytes after the last valid frame, left by a crash, that were cut off when the log was opened.
    missing : list of str
        Names of missing files.
    """

    def __init__(self, directory: Path, tag: bytes, *, read_only: bool) -> None:
        self.directory, self.tag, self.read_only, self.cut = directory, tag, read_only, 0
        self._files = LogFiles(directory, tag)
        self._numbers: list[int] = []
        self.missing: list[str] = []
        self._offset = 0  # offset of the next frame in the last file
        self._synced = -1  # all payloads before this position are on disk
        self._marked = True  # nothing was appended since the last mark
        self._broken: str | None = None
        self._process = os.getpid()
        self._lock, self._syncing = threading.RLock(), threading.Lock()

    @classmethod
    def create(cls, directory: AnyPath, tag: bytes) -> Log:
        """Make a new log in a new or empty directory, and sync both.

        tag: 4 random bytes, the same in every log of a store.
        """
        if len(tag) != 4:
            raise ValueError(f"the tag of a log is 4 bytes, got {tag!r:.40}")
        place = Path(directory)
        with naming(place):
            place.mkdir(parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise FileExistsError(17, "holds something already; a new log needs an empty directory", str(place))
        log = cls(place, tag, read_only=False)
        log._begin_file(0)
        with naming(place):
            sync(place.parent)
        return log

    @classmethod
    def open(cls, directory: AnyPath, *, tag: bytes | None = None, read_only: bool = False, start: int = 0) -> Log:
        """Open a log. A writer cuts off what a crash left after the last valid frame; a reader changes nothing.

        tag: the tag of the store; None: the tag of the first file with an intact head; start: the known end of a frame,
        before which nothing is read.

        Raises FileNotFoundError if there is no log. Raises CorruptFile if no file has the tag, or one has another tag or the
        number of another file. Raises ValueError if a newer version wrote it.

        Time: constant if the log was closed. After a crash the last file is read from `start` on, at most 1 GiB. Other
        files are not read: see `scan`, and `damage`.
        """
        place = Path(directory)
        numbers = numbers_in(place)
        if not numbers:
            raise FileNotFoundError(2, "holds no log: there is no file such as 00000000.log", str(place))
        if tag is None:
            tag = tag_in(place)
        if tag is None:
            raise CorruptFile(f"{place}: the first bytes of each file are damaged, and the tag of the store is not known")
        log = cls(place, tag, read_only=read_only)
        for number in numbers:
            begin = read_start(path := log._files.path(number), number)
            if begin.tag is not None and (begin.tag != tag or begin.problem):
                whose = begin.problem or f"it belongs to another store, with the tag {begin.tag.hex()} and not {tag.hex()}"
                raise CorruptFile(f"{path}: {whose}; nothing was changed. Restore the whole store from one copy")
        log._numbers = numbers
        log.missing = [f"{number:08}.log" for number in sorted({*range(max(numbers[-1], start >> SHIFT) + 1)} - {*numbers})]
        for name in log.missing:
            log._files.report(int(name[:8]), 0, "missing")
        log._find_end(start)
        return log

    @property
    def end(self) -> int:
        """The position after the last frame."""
        with self._lock:
            return self._numbers[-1] << SHIFT | self._offset

    @property
    def damage(self) -> list[str]:
        """The damaged parts that were found since the log was opened, by position."""
        return self._files.damage

    def damaged_since(self, position: int) -> int:
        """Count the known damaged parts from a position on."""
        return self._files.damaged_since(position)

    def append(self, payloads: Sequence[bytes]) -> list[int]:
        """Write payloads of 1 byte to 1 GiB at the end, all or none, in one write; return their positions, for `read`.

        Raises OSError if the disk is full or failed; the write is undone, and the log stays usable.
        """
        for payload in payloads:
            if not 0 < len(payload) <= MOST_PAYLOAD:
                raise ValueError(f"a record of a store has 1 byte to 1 GiB, not {len(payload)} bytes; cut the text")
        with self._lock:
            self._check_writable()
            total = sum(map(len, payloads)) + MOST_HEADER * len(payloads)
            if self._offset > START and self._offset + total > ROTATE:
                self._rotate()
            at = self._numbers[-1] << SHIFT | self._offset
            positions: list[int] = []
            pieces: list[bytes] = []
            for payload in payloads:
                positions.append(at)
                header = frame_header(self.tag, at, payload)
                pieces += (header, payload)
                at += len(header) + len(payload)
            self._write([b"".join(pieces)] if total <= JOINED else pieces)
            self._marked = self._marked and not positions
        return positions

    def sync(self) -> None:
        """Sync everything that was appended to disk, by one fdatasync.

        Raises OSError if the disk failed. After that the log accepts no more payloads, because the content of the disk is
        unknown.
        """
        with self._syncing:
            with self._lock:
                self._check_writable()
                target, file = self.end, self._last()
            self._put_on_disk(target, file)
            with self._lock:
                if target == self.end and not self._marked:
                    self._mark()

    def seal(self) -> None:
        """Sync everything including a mark, before a file that refers to the end of the log is written."""
        self.sync()
        _sync_data(self._last().descriptor)

    def _mark(self) -> None:
        """Write a mark that everything before it is on disk. The mark is not synced, and is omitted if the disk is full."""
        with contextlib.suppress(OSError):
            self._write([frame_header(self.tag, self.end, b"")])
            self._marked, self._synced = True, self.end

    def _put_on_disk(self, target: int, file: LogFile) -> None:
        """Sync the last file up to a position."""
        if target <= self._synced:
            return
        try:
            _sync_data(file.descriptor)
        except OSError as error:
            name_place(error, self._files.path(target >> SHIFT))
            self._broken = f"the disk failed ({error.strerror}): open the store again"
            raise
        self._synced = max(self._synced, target)

    def read(self, position: int) -> bytes:
        """Read the payload at a position and check it.

        Raises CorruptFile if no frame begins at the position, or if it is damaged.
        """
        return self._files.read(position)

    def scan(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (position, payload) of all frames from a position on, in the order in which they were appended.

        Damaged parts are skipped and reported by `damage`. Payloads appended meanwhile are not yielded.
        """
        with self._lock:
            numbers, end = list(self._numbers), self.end
        for number in numbers[max(0, sum(n <= start >> SHIFT for n in numbers) - 1) :]:
            begin = max(START, start - (number << SHIFT) if number == start >> SHIFT else 0)
            for piece in self._files.pieces(number, begin, end - (number << SHIFT) if number == end >> SHIFT else None):
                if piece.payload is None:
                    self._files.report_piece(number, piece)
                elif piece.payload:
                    yield number << SHIFT | piece.start, piece.payload

    def refresh(self) -> int:
        """Find the records that the writer has appended since; return the new end. For readers."""
        with self._lock:
            while self.read_only:
                number, following = self._numbers[-1], self._numbers[-1] + 1
                complete = self._files.path(following).exists()  # checked first: then this file is complete
                self._offset = self._files.last_frame(number, self._offset)
                if not complete:
                    break
                self._numbers.append(following)
                self._offset = START
            return self.end

    @property
    def broken(self) -> str | None:
        """The reason why the log accepts no more payloads; None while it does."""
        return self._broken

    @property
    def closed(self) -> bool:
        """Whether the files are closed."""
        return self._files.closed

    def close(self) -> None:
        """Sync everything to disk and close the files. The log cannot be used afterwards."""
        if not (self.read_only or self._broken or self.closed or self._process != os.getpid()):
            self.seal()
        self._files.close()

    # ---- files

    def _last(self) -> LogFile:
        return self._files.file(self._numbers[-1], os.O_RDONLY if self.read_only else os.O_RDWR)

    def _begin_file(self, number: int) -> None:
        """Begin a new last file. An existing file of this number without an intact head is replaced."""
        self._files.put(number, begin_file(self._files.path(number), number, self.tag))
        if number not in self._numbers:
            self._numbers.append(number)
        self._offset = START

    def _rotate(self) -> None:
        """Sync the last file and begin the next one."""
        if self._numbers[-1] + 1 >= MOST_FILES:
            raise ValueError(f"{self.directory} has {MOST_FILES:,} files, and a log has no more: compact the store, or "
                             "begin another one")
        self._put_on_disk(self.end, self._last())
        self._begin_file(self._numbers[-1] + 1)

    def _write(self, pieces: list[bytes]) -> None:
        """Write bytes at the end, all or none."""
        file, at = self._last(), self._offset
        try:
            for piece in pieces:
                done = os.pwrite(file.descriptor, piece, at)
                while done < len(piece):  # a partial write: a full disk, or more than 2 GiB
                    done += os.pwrite(file.descriptor, memoryview(piece)[done:], at + done)
                at += len(piece)
        except BaseException as error:
            path = self._files.path(self._numbers[-1])
            try:
                os.ftruncate(file.descriptor, self._offset)
            except OSError as second:
                self._broken = f"a write to {path} failed and could not be undone ({second.strerror}): open the store again"
            if isinstance(error, OSError):
                name_place(error, path)
            raise
        self._offset = at

    def _check_writable(self) -> None:
        if self.read_only:
            raise ValueError(f"{self.directory} was opened with read_only=True; open it without to write")
        if self.closed:
            raise ValueError(f"{self.directory} is closed; open it again")
        if self._process != os.getpid():
            raise ValueError(f"{self.directory} was opened by process {self._process}, and a fork of it may not write; "
                             "open it in the process that writes")
        if self._broken is not None:
            raise OSError(5, self._broken, str(self.directory))

    def _find_end(self, start: int) -> None:
        """Find where the last file ends, and cut off the rest if this is the writer."""
        number = self._numbers[-1]
        begin, file = read_start(self._files.path(number), number), self._last()
        size = file.size()
        if size <= START and begin.tag is None:  # the writer was stopped while it began the file
            self._offset = START
            if not self.read_only:
                self._begin_file(number)
            return
        known = start & (1 << SHIFT) - 1 if start >> SHIFT == number else 0
        if known > size:
            self._files.report(number, size, f"{size} bytes, and had {known} before")
            known = 0
        tail = read_fully(file.descriptor, max(0, size - HEADER), HEADER)
        self._marked = is_mark(tail, self.tag, (number << SHIFT) + size - HEADER)
        self._offset = size if self._marked else self._files.last_frame(number, max(known, START))
        if self.read_only:
            return
        if begin.tag is None:  # never truncate a file that may belong to something else
            self._files.report(number, 0, begin.problem)
            self._begin_file(number + 1)
            self._marked = True
            return
        self.cut = size - self._offset
        with naming(self._files.path(number)):
            if self.cut:
                os.ftruncate(file.descriptor, self._offset)
            _sync_data(file.descriptor)
        for place in (self.directory, self.directory.parent):  # a writer may have been killed before syncing them
            sync(place)
        self._synced = self.end
