"""WARC and ARC files as records, with their offset, headers and content.

WARC: ISO 28500:2017, *WARC file format*, https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/.
ARC: Burner and Kahle, *Arc File Format*, 1996, versions 1 and 2, https://archive.org/web/researcher/ArcFileFormat.php.
Zstandard: IIPC, *warc-zstd 1.0*, https://iipc.github.io/warc-specifications/specifications/warc-zstd/.
Broken records are reported and skipped, and reading continues at the next record.

FastWARC's iterator (2.0.1) is not used: it does not read ARC, returns truncated records silently, reads past a wrong
length, ends at the first damaged member, and gives no offsets of records within a member, so rejected and kept records
could not be copied unchanged. Its parser of header fields takes longer than a regular expression.
"""

from __future__ import annotations

import datetime
import io
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple, Protocol

from ndcore.choices import COMPRESSIONS
from ndcore.files.compression import CODECS, DamagedData, Frame, read_frames
from ndcore.files.errors import DocumentError, refuse_unreadable
from ndcore.files.file_reader import open_counted
from ndcore.files.sources import Source
from ndcore.files.text_encoding import is_utf8

_CHUNK = 1 << 16
_PROBE = 1 << 12
_NEWLINES = re.compile(rb"[\r\n]+")
_SKIPPABLE = b"\x5d\x2a\x4d\x18"  # magic of the frame with the dictionary of all others


class ArchiveStream:
    """A buffer over the decompressed bytes of `file`, from `position` on.

    Parameters
    ----------
    file : binary file
        Must be seekable.
    compression : str
        Empty or a key of CODECS.
    path : str
        The name of the file in messages.
    dictionary : bytes, optional
        The dictionary of a .warc.zst, as returned by `read_dictionary`, if `file` does not begin with it.

    Attributes
    ----------
    buffer : bytearray
        Bytes that have been read and not yet consumed.
    position : int
        Offset of the buffer in the decompressed data.
    damage : str or None
        The reason why nothing can be read after the buffer; None at the end of the file.
    first : int
        Offset of the first member in the file.
    """

    def __init__(self, file: IO[bytes], compression: str, path: str, dictionary: bytes | None = None) -> None:
        self._file, self._compression, self._path = file, compression, path
        self.buffer = bytearray()
        self.position = 0
        self.damage: str | None = None
        self._invalid = False
        self._begins: deque[tuple[int, int]] = deque()
        self._ends: deque[tuple[int, int]] = deque()
        self._member = 0
        self._dictionary = read_dictionary(file, compression, path) if dictionary is None else dictionary
        self.first = file.tell()
        self._pieces = self._open()

    def _open(self) -> Iterator[Frame]:
        """Decompress from the current position of the file."""
        if self._compression:
            return read_frames(self._file, self._compression, self._path, self._dictionary)
        return (Frame(None, data, None) for data in iter(lambda: self._file.read(_CHUNK), b""))

    def fill(self) -> bool:
        """Read more into the buffer; False at the end of the data, or at damage."""
        while self.damage is None:
            try:
                piece = next(self._pieces, None)
            except EOFError:
                self.damage = f"the {COMPRESSIONS[self._compression]} data are truncated"
                return False
            except DamagedData as error:
                self.damage, self._invalid = f"the {COMPRESSIONS[self._compression]} data are not valid ({error})", True
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
        """Read until the buffer has `count` bytes; False if the data end earlier."""
        while len(self.buffer) < count:
            if not self.fill():
                return False
        return True

    def skip(self, count: int) -> bool:
        """Skip `count` bytes; if fewer remain, skip all of them and return False."""
        while count > len(self.buffer):
            count -= len(self.buffer)
            self._drop(len(self.buffer))
            if not self.fill():
                return False
        self._drop(count)
        return True

    def skip_newlines(self) -> bytes:
        """Skip CR and LF, at most one chunk of them, and return them."""
        passed = b""
        while True:
            newlines = _NEWLINES.match(self.buffer)
            if newlines:
                passed = (passed + newlines[0])[:_CHUNK]
                self._drop(len(newlines[0]))
            if self.buffer or not self.fill():
                return passed

    def _drop(self, count: int) -> None:
        """Remove bytes from the front of the buffer."""
        del self.buffer[:count]
        self.position += count

    def seek_match(self, pattern: re.Pattern[bytes], longest: int) -> bool:
        """Go to the next match of `pattern`, of at most `longest` bytes; without a match, go to the end and return False."""
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
        """Return the file offset of the data at `position`; in a compressed file, None unless a member begins there."""
        if not self._compression:
            return position
        while self._begins and self._begins[0][0] < position:
            self._begins.popleft()
        offsets = [offset for at, offset in self._begins if at == position]
        return offsets[-1] if offsets else None

    def end(self) -> int | None:
        """Return the file offset where the data before the buffer end; in a compressed file, None unless a member ends."""
        if not self._compression:
            return self.position
        while self._ends and self._ends[0][0] < self.position:
            self._ends.popleft()
        return self._ends[0][1] if self._ends and self._ends[0][0] == self.position else None

    def boundary(self) -> int | None:
        """Return the file offset of the next data; in a compressed file, None unless a member begins there.

        After the last data it is the size of the file, or the offset of damaged data.
        """
        if self.buffer:
            return self.offset(self.position)
        return self._file.seek(0, io.SEEK_END) if self.damage is None else self.end()

    def is_invalid_from(self, position: int) -> bool:
        """Tell whether the member with the data before `position` is known to be invalid."""
        return self._invalid and not any(at >= position for at, _ in self._ends)

    def mend(self, begins: Callable[[bytes], bool]) -> bool:
        """Resume after `damage` at the next member whose data `begins` recognises; False if there is none."""
        self._drop(len(self.buffer))
        if self.damage is None:
            return False
        offset = self._find_next_member(begins)
        self.damage, self._invalid, self._pieces = None, False, iter(())
        if offset is not None:
            self._file.seek(offset)
            self._pieces = self._open()
        return offset is not None

    def _find_next_member(self, begins: Callable[[bytes], bool]) -> int | None:
        """Search the file for the next member after the damaged one."""
        magic = CODECS[self._compression].magic
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


def read_dictionary(file: IO[bytes], compression: str, path: str) -> bytes:
    """Read the dictionary at the beginning of a .warc.zst, and move past it; empty if there is none."""
    if compression != "zst":
        return b""
    head = file.read(8)
    if head[:4] != _SKIPPABLE or len(head) < 8:
        file.seek(0)
        return b""
    data = file.read(int.from_bytes(head[4:], "little"))
    if not data.startswith(CODECS["zst"].magic):
        return data
    try:
        return b"".join(piece.data for piece in read_frames(io.BytesIO(data), "zst", path))
    except (DamagedData, EOFError) as error:
        raise DocumentError(path, None, f"the zstd dictionary at its beginning cannot be read: {error}") from error


_HEAD = 1 << 16
_PEEK = 1 << 12
_WARC_LEAST = 32
_WARC_BEGIN = re.compile(rb"WARC/\d\.\d+\r?\n(?=[A-Za-z])")
_WARC_NEXT = re.compile(rb"(?<=\n)WARC/\d\.\d+\r?\n(?=[A-Za-z])")
_WARC_END = re.compile(rb"\r?\n\r?\n")
_FIELD = re.compile(r"^([^:\s][^:\r\n]*):([^\n]*(?:\n[ \t][^\n]*)*)", re.MULTILINE)
_FOLD = re.compile(r"\r?\n[ \t]+")
_ARC_LINE = (
    rb"(?P<url>[A-Za-z][A-Za-z0-9+.-]*:[^\r\n]*) (?P<ip>\S+) (?P<date>\d{12,}) "
    rb"(?P<media>\S*)(?:(?: \S*){5})? (?P<length>\S+)\r?\n"  # version 2 has five more fields; linear in a line's length
)
_ARC_BEGIN, _ARC_NEXT = re.compile(_ARC_LINE), re.compile(rb"(?<=\n)" + _ARC_LINE)


class RecordHead(NamedTuple):
    """The headers before the content of a record.

    Attributes
    ----------
    kind : str
        The WARC-Type in lower case; in ARC files ``response``, or ``warcinfo`` for the version block.
    media : str
        Content-Type of the block, parameters included; ``application/http`` if HTTP headers come first.
    fields : dict of str to str
        The WARC headers, by their names in lower case.
    """

    kind: str
    url: str
    date: datetime.datetime | None
    media: str
    length: int
    fields: dict[str, str]


class ArchiveEntry(NamedTuple):
    """A record, or a broken place between records.

    Attributes
    ----------
    number : int
        Counted from 1, broken places included.
    place : str
        A description of its offset, for messages.
    head : RecordHead or None
        None for a broken place.
    content : bytes
        The whole block, or its beginning if it is longer than ``source.longest``.
    problem : str or None
        What is broken.
    span : (int, int) or None
        Offsets in the file of the record alone, with the line ends after it; None if it shares a compressed member with
        others. For a broken place, up to the offset where reading resumes.
    around : (bytes, bytes)
        The head and the line ends after the content, untouched.
    """

    number: int
    place: str
    head: RecordHead | None
    content: bytes
    problem: str | None
    span: tuple[int, int] | None
    around: tuple[bytes, bytes]

    def original(self) -> bytes:
        """Return all bytes of an intact record whose `content` is complete."""
        return self.around[0] + self.content + self.around[1]


class BrokenRecord(ValueError):
    """A record cannot be read; the message says why."""


class ArchiveFormat(Protocol):
    """A kind of archive, by the heads of its records."""

    begin: re.Pattern[bytes]
    next: re.Pattern[bytes]

    def size(self, stream: ArchiveStream) -> int:
        """Return the length in bytes of the head at the beginning of the buffer. Raises BrokenRecord."""

    def parse(self, data: bytes) -> RecordHead:
        """Parse a head. Raises BrokenRecord."""


class Warc:
    """Records with headers in the form of HTTP."""

    begin, next = _WARC_BEGIN, _WARC_NEXT

    def size(self, stream: ArchiveStream) -> int:
        """Measure the head at the beginning of the buffer, as in `ArchiveFormat`."""
        stream.need(_WARC_LEAST)
        if not _WARC_BEGIN.match(stream.buffer):
            raise BrokenRecord(stream.damage or "no WARC record begins here")
        while True:
            end = _WARC_END.search(stream.buffer, 0, _HEAD)
            if end is not None:
                return end.end()
            if len(stream.buffer) >= _HEAD or not stream.fill():
                reason = f"its headers do not end within {min(len(stream.buffer), _HEAD):,} bytes"
                raise BrokenRecord(stream.damage or reason)

    def parse(self, data: bytes) -> RecordHead:
        """Parse a head, as in `ArchiveFormat`."""
        fields = parse_header_fields(data)
        length = fields.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise BrokenRecord(f"its Content-Length is {length[:40]!r}, not a number of bytes")
        url = fields.get("warc-target-uri", "")
        if url.startswith("<") and url.endswith(">"):  # in the form of Wget
            url = url[1:-1]
        date = _parse_date(fields.get("warc-date", ""))
        kind = fields.get("warc-type", "").lower()
        media = fields.get("content-type", "")
        return RecordHead(kind or "without a type", url, date, media, int(length), fields)


class Arc:
    """Records after a line with URL, address, date, media type and length."""

    begin, next = _ARC_BEGIN, _ARC_NEXT

    def size(self, stream: ArchiveStream) -> int:
        """Measure the head at the beginning of the buffer, as in `ArchiveFormat`."""
        while b"\n" not in stream.buffer and len(stream.buffer) < _HEAD and stream.fill():
            pass
        line = _ARC_BEGIN.match(stream.buffer, 0, _HEAD)
        if line is None:
            expected = "no ARC record begins here, with a line of URL, address, date, type and length"
            raise BrokenRecord(stream.damage or expected)
        return line.end()

    def parse(self, data: bytes) -> RecordHead:
        """Parse a head, as in `ArchiveFormat`."""
        line = _ARC_BEGIN.match(data)
        assert line is not None
        length = line["length"].decode("latin-1")
        if not re.fullmatch(r"[0-9]{1,18}", length):
            raise BrokenRecord(f"its length is {length[:40]!r}, not a number of bytes")
        url = line["url"].decode("utf-8" if is_utf8(line["url"]) else "latin-1")
        kind = "warcinfo" if url.startswith("filedesc:") else "response"
        media = line["media"].decode("latin-1")
        return RecordHead(kind, url, _parse_date(line["date"].decode()[:14]), media, int(length), {})


def parse_header_fields(data: bytes) -> dict[str, str]:
    """Parse the header fields below the first line, by their names in lower case; of repeated fields the first counts.

    Lines end in LF or CRLF. A line that begins with a blank continues the previous value.
    """
    fields: dict[str, str] = {}
    text = data.decode("utf-8" if is_utf8(data) else "latin-1").partition("\n")[2]
    for name, value in _FIELD.findall(text):
        fields.setdefault(name.strip().lower(), _FOLD.sub(" ", value).strip())
    return fields


def _parse_date(text: str) -> datetime.datetime | None:
    """Parse a WARC-Date (ISO 8601 of any precision) or the 12 or 14 digits of an ARC file, in UTC; else return None."""
    try:
        if text.isascii() and text.isdigit():
            return datetime.datetime.strptime(text.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=datetime.UTC)
        date = datetime.datetime.fromisoformat(f"{text}-01-01"[:10] if len(text) < 8 else text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=datetime.UTC)


def iterate_entries(source: Source) -> Iterator[ArchiveEntry]:
    """Yield every record of an archive, in order, and every broken place.

    A record is broken if its head cannot be read, if its data are damaged or end too early, or if it is not followed by the
    next record. Reading continues where the next record begins: in the data, or, if they are damaged, in the next
    compressed member.

    Raises
    ------
    DocumentError
        The file cannot be read, or holds neither WARC nor ARC records.
    """
    with refuse_unreadable(source.path), open_counted(source) as file:
        yield from _Reader(ArchiveStream(file, source.stored, source.path), source.path, source.longest).entries()


def read_first(stream: ArchiveStream, path: str, longest: int) -> ArchiveEntry:
    """Read only the first record of a stream; its number is 1, and its span is not known.

    Parameters
    ----------
    path : str
        Its suffix tells WARC and ARC apart if the first bytes do not.
    longest : int
        If a record is longer, `content` has its beginning.

    Raises
    ------
    BrokenRecord
        No intact record begins there.
    """
    return _Reader(stream, path, longest).read_first()


class _Reader:
    def __init__(self, stream: ArchiveStream, path: str, longest: int) -> None:
        self._stream, self._longest, self._number = stream, longest, 0
        stream.skip_newlines()
        stream.need(_PEEK)
        named = ".arc" in path.lower() and not _WARC_BEGIN.match(stream.buffer)
        self._format: ArchiveFormat = Arc() if named or _ARC_BEGIN.match(stream.buffer) else Warc()

    def entries(self) -> Iterator[ArchiveEntry]:
        """Yield every record and every broken place."""
        stream = self._stream
        while stream.buffer or stream.damage is not None:
            if stream.buffer:
                yield self._read_entry()
            else:
                yield self._skip_broken(self._describe_place(), stream.damage or "", stream.boundary())
            stream.skip_newlines()

    def _describe_place(self) -> str:
        """Count the record at the beginning of the buffer, and describe its place."""
        self._number += 1
        offset = self._stream.offset(self._stream.position)
        if offset is None:
            return f"the record at byte {self._stream.position:,} of the decompressed data"
        return f"the record at byte {offset:,}"

    def _skip_broken(self, place: str, problem: str, start: int | None) -> ArchiveEntry:
        """Skip to the next record, and return an entry for the broken place that begins at `start`."""
        stream = self._stream
        if not stream.seek_match(self._format.next, _HEAD):
            stream.mend(lambda data: self._format.begin.match(data) is not None)
        stream.skip_newlines()
        end = stream.boundary()
        span = None if start is None or end is None else (start, end)
        return ArchiveEntry(self._number, place, None, b"", problem, span, (b"", b""))

    def read_first(self) -> ArchiveEntry:
        """Read the first record, as `read_first` does."""
        before, head, content = self._read_content()
        return ArchiveEntry(1, "", head, content, None, None, (before, b""))

    def _read_entry(self) -> ArchiveEntry:
        """Read the record at the beginning of the buffer."""
        stream = self._stream
        start, place = stream.offset(stream.position), self._describe_place()
        try:
            before, head, content = self._read_content()
            if not stream.skip(head.length):
                reason = f"its length is {head.length:,} bytes, but the file ends before; all there is was passed over"
                raise BrokenRecord(stream.damage or reason)
        except BrokenRecord as error:
            return self._skip_broken(place, str(error), start)
        after = stream.skip_newlines()
        end = stream.end()
        span = None if start is None or end is None else (start, end)
        return ArchiveEntry(self._number, place, head, content, None, span, (before, after))

    def _read_content(self) -> tuple[bytes, RecordHead, bytes]:
        """Read the head of the record at the beginning of the buffer, and its content, which stays in the buffer."""
        stream = self._stream
        size = self._format.size(stream)
        before = bytes(stream.buffer[:size])
        head = self._format.parse(before)
        stream.skip(size)
        held = head.length if head.length <= self._longest else min(self._longest, _HEAD)  # enough to determine its kind
        problem = None
        if not stream.need(held):
            problem = stream.damage or f"its length is {head.length:,} bytes, but the file ends after {len(stream.buffer):,}"
        elif head.length <= self._longest and not self._is_followed(held):
            problem = f"its length is {head.length:,} bytes, but no record begins there"
        elif stream.is_invalid_from(stream.position + held):
            problem = stream.damage
        if problem is not None:
            raise BrokenRecord(problem)
        with memoryview(stream.buffer) as view:
            return before, head, bytes(view[:held])

    def _is_followed(self, length: int) -> bool:
        """Tell whether a record, the end of the data, or one last line follows after `length` bytes and line ends."""
        stream = self._stream
        for ahead in (_PEEK, _HEAD):
            more = stream.need(length + ahead)
            rest = bytes(stream.buffer[length : length + ahead]).lstrip(b"\r\n")
            if self._format.begin.match(rest) or not rest or not (more or b"\n" in rest.rstrip(b"\r\n")):
                return True
        return False
