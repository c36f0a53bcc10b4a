"""The decompressed bytes of an archive, read forward, with the offsets of its compressed members in the file.

Archives compress each record by itself, as one gzip member or one zstd frame after another, so that a record can be found,
copied and skipped without the others. Zstandard Compression and the WARC format: IIPC *warc-zstd 1.0*,
https://iipc.github.io/warc-specifications/specifications/warc-zstd/.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO

from ndcore.files.compression import FORMATS, MAGIC, DamagedData, Frame, frames
from ndcore.files.errors import DocumentError

_CHUNK = 1 << 16
_PROBE = 1 << 12
_NEWLINES = re.compile(rb"[\r\n]+")
_SKIPPABLE = b"\x5d\x2a\x4d\x18"  # begins the frame with the dictionary of all others


class ArchiveStream:
    """A buffer over the decompressed bytes of `file`, from `position` on.

    Parameters
    ----------
    file : binary file
        Must be seekable.
    compression : str
        Empty or a key of FORMATS.
    path : str
        The name of the file in messages.

    Attributes
    ----------
    buffer : bytearray
        Bytes that have been read and not yet passed.
    position : int
        Offset of the buffer in the decompressed data.
    damage : str or None
        Why nothing follows the buffer, unless it is the end of the file.
    first : int
        Offset of the first member in the file.
    """

    def __init__(self, file: IO[bytes], compression: str, path: str) -> None:
        self._file, self._compression, self._path = file, compression, path
        self.buffer = bytearray()
        self.position = 0
        self.damage: str | None = None
        self._invalid = False
        self._begins: deque[tuple[int, int]] = deque()
        self._ends: deque[tuple[int, int]] = deque()
        self._member = 0
        self._dictionary = _dictionary(file, path) if compression == "zst" else b""
        self.first = file.tell()
        self._pieces = self._open()

    def _open(self) -> Iterator[Frame]:
        """Decompress from where the file stands."""
        if self._compression:
            return frames(self._file, self._compression, self._path, self._dictionary)
        return (Frame(None, data, None) for data in iter(lambda: self._file.read(_CHUNK), b""))

    def fill(self) -> bool:
        """Read more into the buffer; False at the end of the data, or where they are damaged."""
        while self.damage is None:
            try:
                piece = next(self._pieces, None)
            except EOFError:
                self.damage = f"the {FORMATS[self._compression]} data are truncated"
                return False
            except DamagedData as error:
                self.damage, self._invalid = f"the {FORMATS[self._compression]} data are not valid ({error})", True
                return False
            if piece is None:
                return False
            if piece.start is not None:
                self._member = piece.start
                self._begins.append((self.position + len(self.buffer), piece.start))
            self.buffer += piece.data
            if piece.end is not None:
                self._ends.append((self.position + len(self.buffer), piece.end))
            if piece.data:
                return True
        return False

    def need(self, count: int) -> bool:
        """Read until the buffer has `count` bytes; False where the data end before."""
        while len(self.buffer) < count:
            if not self.fill():
                return False
        return True

    def skip(self, count: int) -> bool:
        """Pass over `count` bytes; where there are fewer, pass over all of them and return False."""
        while count > len(self.buffer):
            count -= len(self.buffer)
            self._drop(len(self.buffer))
            if not self.fill():
                return False
        self._drop(count)
        return True

    def skip_newlines(self) -> bytes:
        """Pass over CR and LF, and return them, a chunk of them at most."""
        passed = b""
        while True:
            found = _NEWLINES.match(self.buffer)
            if found:
                passed = (passed + found[0])[:_CHUNK]
                self._drop(len(found[0]))
            if self.buffer or not self.fill():
                return passed

    def _drop(self, count: int) -> None:
        """Remove bytes from the front of the buffer."""
        del self.buffer[:count]
        self.position += count

    def seek_match(self, pattern: re.Pattern[bytes], longest: int) -> bool:
        """Go to the next match of `pattern`, `longest` bytes at most; without one go to the end and return False."""
        while True:
            match = pattern.search(self.buffer)
            if match is not None and (match.end() < len(self.buffer) or not self.fill()):
                self._drop(match.start())
                return True
            if match is None:
                self._drop(max(0, len(self.buffer) - longest))
                if not self.fill():
                    self._drop(len(self.buffer))
                    return False

    def offset(self, position: int) -> int | None:
        """Return the offset in the file of the data at `position`; with compression None unless a member begins there."""
        if not self._compression:
            return position
        while self._begins and self._begins[0][0] < position:
            self._begins.popleft()
        found = [offset for at, offset in self._begins if at == position]
        return found[-1] if found else None

    def end(self) -> int | None:
        """Return the offset in the file where the data before the buffer end; with compression None unless a member ends."""
        if not self._compression:
            return self.position
        while self._ends and self._ends[0][0] < self.position:
            self._ends.popleft()
        return self._ends[0][1] if self._ends and self._ends[0][0] == self.position else None

    def boundary(self) -> int | None:
        """Return the offset in the file of the data that follow; with compression None unless a member begins there.

        Behind the last data it is the size of the file, or where damaged data begin.
        """
        if self.buffer:
            return self.offset(self.position)
        return self._file.seek(0, io.SEEK_END) if self.damage is None else self.end()

    def is_invalid_from(self, position: int) -> bool:
        """Tell whether the member with the data before `position` is known to be invalid."""
        return self._invalid and not any(at >= position for at, _ in self._ends)

    def mend(self, begins: Callable[[bytes], bool]) -> bool:
        """Go on, after `damage`, at the next member whose data `begins` recognises; False where there is none."""
        self._drop(len(self.buffer))
        if self.damage is None:
            return False
        found = self._next_member(begins)
        self.damage, self._invalid, self._pieces = None, False, iter(())
        if found is not None:
            self._file.seek(found)
            self._pieces = self._open()
        return found is not None

    def _next_member(self, begins: Callable[[bytes], bool]) -> int | None:
        """Search the file for the next member after the damaged one."""
        magic = MAGIC[self._compression]
        start, block = self._member + 1, b""
        self._file.seek(start)
        while more := self._file.read(_CHUNK):
            block += more
            at = block.find(magic)
            while at >= 0:
                if begins(self._probe(start + at)):
                    return start + at
                at = block.find(magic, at + 1)
            self._file.seek(start + len(block))
            start += max(0, len(block) - len(magic))
            block = block[-len(magic) :]
        return None

    def _probe(self, offset: int) -> bytes:
        """Decompress the first bytes of the member that may begin at `offset`."""
        self._file.seek(offset)
        data = b""
        try:
            for piece in self._open():
                data += piece.data
                if len(data) >= _PROBE or piece.end is not None:
                    break
        except (DamagedData, EOFError):
            pass
        return data


def _dictionary(file: IO[bytes], path: str) -> bytes:
    """Read the dictionary at the beginning of a .warc.zst; empty where there is none."""
    head = file.read(8)
    if head[:4] != _SKIPPABLE or len(head) < 8:
        file.seek(0)
        return b""
    data = file.read(int.from_bytes(head[4:], "little"))
    if not data.startswith(MAGIC["zst"]):
        return data
    try:
        return b"".join(piece.data for piece in frames(io.BytesIO(data), "zst", path))
    except (DamagedData, EOFError) as error:
        raise DocumentError(path, None, f"the zstd dictionary at its beginning cannot be read: {error}") from error
