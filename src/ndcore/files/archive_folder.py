"""A folder of web archives that a crawler writes: responses, revisits of known payloads, and metadata records.

WARC 1.1: IIPC, *The WARC Format 1.1*, https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/;
revisits: section 6.7.2; payload: section 5.9. FastWARC writes the records; each is a gzip member.

A revisit replaces a payload that equals an earlier one byte for byte. A text that merely resembles another is never a
revisit.
"""

from __future__ import annotations

import base64
import datetime
import gzip
import hashlib
import io
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ndcore._types import AnyPath, Closing
from ndcore._version import __version__
from ndcore.checks import imported
from ndcore.files.capture_index import parse_digest
from ndcore.files.compression import DamagedData, read_frames
from ndcore.storage.disk_space import naming, sync
from ndcore.storage.lock import Lock

INDEX = "index.cdxj"
OPEN = ".open"  # suffix of a file that is being written
SIZE = 1 << 30  # bytes of a file; the format asks for about 1 GB
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_LOCK = ".lock"
_HTTP, _FIELDS = "application/http; msgtype=%s", "application/warc-fields"
_PORTS = {"http": 80, "https": 443}
_STAMP = "%Y%m%d%H%M%S"

logger = logging.getLogger("ndcore.crawl")


class FetchedResponse(NamedTuple):
    """A response as a server sent it, with its request.

    Attributes
    ----------
    url : str
        The URL without a fragment.
    date : datetime
    request, head : bytes
        The request, and the head of the response, in the form of HTTP/1.1, with the empty line at the end of a head.
    payload : bytes
        The entity: without transfer coding, and with the content coding that `head` names.
    status : int
    media : str
        The media type without parameters; empty if the server named none.
    address : str or None
        IP address of the server.
    truncated : str
        The reason why the payload is incomplete, as in WARC-Truncated; empty if it is complete.
    """

    url: str
    date: datetime.datetime
    request: bytes
    head: bytes
    payload: bytes
    status: int
    media: str
    address: str | None = None
    truncated: str = ""


class WrittenResponse(NamedTuple):
    """A record that was written. `referred` is the URL that a revisit refers to; None for a whole response."""

    id: str
    date: str
    referred: str | None


class _Record(NamedTuple):
    """The first capture of a payload, from a line of the index."""

    digest: str
    url: str
    date: str


class ArchiveFolder(Closing):
    """A writer of web archives to a folder, which knows the payloads there. Use it in a ``with`` block.

    A file has the suffix ``.open`` until it is complete. Each record is written at once, so the file of a killed process
    can be read; the next writer cuts off an unfinished last record, and renames the file. ``index.cdxj`` has a line of CDXJ
    for each capture, in the order of writing; the digests of earlier crawls are read from it.

    Parameters
    ----------
    path : path
        Made if it does not exist.
    size : int
        Bytes from which on a file is complete. A record is never split, so a file may be larger.
    software : str
        The name of the crawler, for the first record of each file.

    Attributes
    ----------
    payloads : int
        Distinct payloads that a revisit can refer to. About 110 bytes of memory each.

    Raises
    ------
    BlockingIOError
        Another process writes into the folder.
    ImportError
        FastWARC, of the extra web, is not installed.
    OSError
        The folder cannot be made, or a file in it cannot be read or written.
    """

    def __init__(self, path: AnyPath, size: int = SIZE, software: str = "") -> None:
        self._warc = imported("fastwarc.warc", "writing web archives")
        self._path, self._limit = Path(path), size
        self._software = f"{software}{' ' if software else ''}ndcore/{__version__}"
        self._path.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(self._path, "give each crawl a folder of its own", _LOCK)
        self._file: io.FileIO | None = None
        self._name, self._size, self._info, self._records = "", 0, "", 0
        self._known: dict[int, int] = {}  # first 8 bytes of a digest -> offset of its line in the index
        try:
            for left in sorted(self._path.glob(f"*.warc.gz{OPEN}")):
                self._complete(left)
            self._index = self._open_index()
        except BaseException:
            self._lock.release()
            raise

    @property
    def payloads(self) -> int:
        """Count the distinct payloads that a revisit can refer to."""
        return len(self._known)

    # ---- records

    def write(self, response: FetchedResponse) -> WrittenResponse:
        """Write a response: in full, or as a revisit if the folder has the same payload.

        Empty and truncated payloads, and responses to other methods than GET, are written in full and no revisit refers to
        them: replay finds a capture by URL and date alone. Raises OSError, and then leaves the files as before.
        """
        date = response.date.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        sha1 = hashlib.sha1(response.payload, usedforsecurity=False).digest()
        digest = f"sha1:{base64.b32encode(sha1).decode()}"
        method = response.request.partition(b" ")[0].decode("latin-1")
        regular = bool(response.payload) and not response.truncated and method == "GET"
        known = self._find(sha1, digest) if regular else None
        fields = {"WARC-Target-URI": response.url, "WARC-Date": date, "WARC-Payload-Digest": digest,
                  "Content-Type": _HTTP % "response"}
        if response.address:
            fields["WARC-IP-Address"] = response.address
        if response.truncated:
            fields["WARC-Truncated"] = response.truncated
        if known is not None:
            fields |= {"WARC-Profile": IDENTICAL, "WARC-Refers-To-Target-URI": known.url, "WARC-Refers-To-Date": known.date}
        self._begin_file()
        kind, block = ("response", response.head + response.payload) if known is None else ("revisit", response.head)
        ident, record = self._make(kind, block, fields)
        request_fields = {"WARC-Target-URI": response.url, "WARC-Date": date, "WARC-Concurrent-To": ident,
                          "Content-Type": _HTTP % "request"}
        request = self._make("request", response.request, request_fields)[1]
        offset = self._append(record + request)
        mime = response.media or "unk" if known is None else "warc/revisit"
        line = {"url": response.url, "mime": mime, "status": str(response.status), "digest": digest,
                "length": str(len(record)), "offset": str(offset), "filename": self._name}
        line |= {} if method == "GET" else {"method": method}
        line |= {"truncated": response.truncated} if response.truncated else {}
        at = self._append_line(response.url, date, line)
        if known is None and regular:
            self._known.setdefault(int.from_bytes(sha1[:8], "big"), at)
        return WrittenResponse(ident, date, None if known is None else known.url)

    def annotate(self, written: WrittenResponse, url: str, fields: Sequence[tuple[str, str]]) -> None:
        """Write fields about a record as a metadata record. Raises OSError, and then leaves the files as before."""
        block = "".join(f"{name}: {_on_one_line(value)}\r\n" for name, value in fields).encode()
        self._begin_file()
        self._append(self._make("metadata", block, {"WARC-Target-URI": url, "WARC-Date": written.date,
                                                    "WARC-Refers-To": written.id, "Content-Type": _FIELDS})[1])

    def close(self) -> None:
        """Sync everything to disk, rename the last file, and release the folder. Raises OSError."""
        if self._lock is None:
            return
        try:
            self._end_file()
            with naming(self._path / INDEX):
                os.fsync(self._index.fileno())
                self._index.close()
        finally:
            self._lock.release()
            self._lock = None  # type: ignore[assignment]

    def _make(self, kind: str, block: bytes, fields: dict[str, str]) -> tuple[str, bytes]:
        """Make a record; return its id and its bytes, compressed as one gzip member."""
        record = self._warc.WarcRecord()
        record.init_headers(record_type=getattr(self._warc.WarcRecordType, kind))
        sha1 = hashlib.sha1(block, usedforsecurity=False).digest()
        given = {"WARC-Warcinfo-ID": self._info} if self._info and kind != "warcinfo" else {}
        for name, value in {**fields, **given, "WARC-Block-Digest": f"sha1:{base64.b32encode(sha1).decode()}"}.items():
            record.headers[name] = _on_one_line(value)
        record.set_bytes_content(block)
        out = io.BytesIO()
        record.write(out)
        return record.headers["WARC-Record-ID"], gzip.compress(out.getvalue(), 6, mtime=0)

    # ---- files

    def _begin_file(self) -> None:
        """Begin a file if none is open, or if the open one has reached its size."""
        if self._records and self._size >= self._limit:
            self._end_file()
        if self._file is not None:
            return
        stamp = datetime.datetime.now(datetime.UTC).strftime(_STAMP)
        number = 0
        while True:
            self._name = f"crawl-{stamp}-{number:05}.warc.gz"
            if not (self._path / self._name).exists():
                break
            number += 1
        place = self._path / f"{self._name}{OPEN}"
        with naming(place):
            self._file = io.FileIO(place, "x+b")
        self._size, self._info, self._records = 0, "", 0
        fields = {"WARC-Date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                  "WARC-Filename": self._name, "Content-Type": _FIELDS}
        block = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\n".encode()
        info, record = self._make("warcinfo", block, fields)
        self._append(record)
        self._info, self._records = info, 0

    def _append(self, data: bytes) -> int:
        """Append records to the file; return the offset of the first. Raises OSError, and then leaves the file as before."""
        assert self._file is not None
        start = self._size
        with naming(self._path / f"{self._name}{OPEN}"):
            append(self._file, data, start)
        self._size, self._records = start + len(data), self._records + 1
        return start

    def _end_file(self) -> None:
        """Complete the file: sync it to disk and rename it. A file without records is removed."""
        if self._file is None:
            return
        file, self._file = self._file, None
        place = self._path / f"{self._name}{OPEN}"
        with naming(place), file:
            os.fsync(file.fileno())
        if self._records:
            place.rename(self._path / self._name)
        else:
            place.unlink()
        sync(self._path)

    def _complete(self, left: Path) -> None:
        """Complete a file that a killed process left: cut off an unfinished last record, and rename it."""
        end, damaged = 0, False
        with left.open("r+b") as file:
            try:
                for frame in read_frames(file, "gz", str(left)):
                    end = end if frame.end is None else frame.end
            except (EOFError, DamagedData):
                damaged = True
            size = file.seek(0, os.SEEK_END)
            if damaged:
                file.truncate(end)
        if not end:
            left.unlink()
            return
        target = left.with_name(left.name.removesuffix(OPEN))
        if target.exists():
            raise FileExistsError(f"{target} and {left} are both there; move one of them away")
        left.rename(target)
        cut = f"; its last {size - end:,} bytes were an unfinished record and are cut off" if damaged else ""
        logger.warning("%s was left by a crawl that did not end; it is %s now%s", left, target.name, cut)

    # ---- the index

    def _open_index(self) -> io.FileIO:
        """Open the index, and read from it the payloads in files that exist."""
        place, sizes, passed_over = self._path / INDEX, dict[str, int](), 0
        index = io.FileIO(place, "a+b")
        whole = 0
        for offset, line in _iterate_lines(index):
            if not line.endswith(b"\n"):
                break
            whole = offset + len(line)
            if (read := _read_line(line)) is None:
                passed_over += 1
                continue
            named, record = read
            if named["mime"] == "warc/revisit" or {"truncated", "method"} & named.keys():
                continue
            name = named["filename"]
            if name not in sizes:
                sizes[name] = _size_of(self._path, name)
            sha1 = parse_digest(record.digest)
            if sha1 is None or len(sha1) != len(_EMPTY) or int(named["offset"]) + int(named["length"]) > sizes[name]:
                passed_over += 1
            elif sha1 != _EMPTY:
                self._known.setdefault(int.from_bytes(sha1[:8], "big"), offset)
        if index.seek(0, os.SEEK_END) > whole:
            index.truncate(whole)
        if passed_over:
            logger.warning("%d lines of %s are of records that are not in the folder: no revisit refers to them",
                           passed_over, place)
        return index

    def _find(self, sha1: bytes, digest: str) -> _Record | None:
        """Find the first capture of a payload."""
        offset = self._known.get(int.from_bytes(sha1[:8], "big"))
        if offset is None:
            return None
        self._index.seek(offset)
        with open(self._index.fileno(), "rb", closefd=False) as index:
            read = _read_line(index.readline())
        return read[1] if read is not None and read[1].digest == digest else None

    def _append_line(self, url: str, date: str, fields: dict[str, str]) -> int:
        """Append a line to the index, and return its offset."""
        stamp = "".join(character for character in date if character.isdigit())
        at = self._index.seek(0, os.SEEK_END)
        with naming(self._path / INDEX):
            append(self._index, f"{make_key(url)} {stamp} {json.dumps(fields)}\n".encode(), at)
        return at


_EMPTY = hashlib.sha1(b"", usedforsecurity=False).digest()


def append(file: io.FileIO, data: bytes, start: int) -> None:
    """Append bytes to a file that ends at `start`. Raises OSError, and then the file ends at `start` as before."""
    view = memoryview(data)
    try:
        while view:
            view = view[file.write(view) or 0 :]
    except BaseException:
        file.truncate(start)
        file.seek(start)
        raise


def make_key(url: str) -> str:
    """Make the key of a line of CDXJ: the labels of the host in reverse order, then path and query unchanged.

    It is the sort-friendly form of a URL (SURT) without canonicalisation: tools for replay make their own index.

    >>> make_key("https://News.example:8443/River?x=1")
    'example,news:8443)/River?x=1'
    """
    parts = urlsplit(url)
    host = ",".join(reversed((parts.hostname or "").split(".")))
    port = f":{parts.port}" if parts.port not in (None, _PORTS.get(parts.scheme)) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}){parts.path or '/'}{query}".replace(" ", "%20")


def _iterate_lines(file: io.FileIO) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the bytes of each line."""
    file.seek(0)
    offset = 0
    with open(file.fileno(), "rb", 1 << 16, closefd=False) as lines:
        for line in lines:
            yield offset, line
            offset += len(line)


def _read_line(line: bytes) -> tuple[dict[str, str], _Record] | None:
    """Read a line of the index; None for a line of another form than this module writes."""
    try:
        _, stamp, fields = line.decode().split(" ", 2)
        named = json.loads(fields)
        date = datetime.datetime.strptime(stamp, _STAMP).strftime("%Y-%m-%dT%H:%M:%SZ")
        int(named["offset"]), int(named["length"]), named["mime"], named["filename"] + ""
        return named, _Record(named["digest"] + "", named["url"] + "", date)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _size_of(folder: Path, name: str) -> int:
    """Return the size of a file in the folder, 0 if it is not there."""
    place = folder / name
    return place.stat().st_size if "/" not in name and "\0" not in name and place.is_file() else 0


def _on_one_line(value: str) -> str:
    """Escape line ends, which would end a header field."""
    return value.replace("\r", "%0D").replace("\n", "%0A")
