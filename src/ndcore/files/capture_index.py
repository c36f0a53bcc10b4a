"""CDX and CDXJ: indexes whose lines give the file, offset and length of captures in web archives.

CDX: IIPC, *The CDX File Format (2015)*, https://iipc.github.io/warc-specifications/specifications/cdx-format/cdx-2015/.
CDXJ: pywb, *CDX Index Format*, https://github.com/webrecorder/pywb/wiki/CDX-Index-Format; a line is a key (SURT), a
timestamp and an object of JSON.

Indexes may come from strangers: a file name leads only below the folder of the archives, and offset, length and digest are
compared with the file before a record counts. A line never causes more than its record to be read.
"""

# Making a Path for each line would cost more than the checks themselves.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from ndcore._types import Closing
from ndcore.files.archive_records import ArchiveRecords, RecordPlace
from ndcore.files.archived_pages import split_payload
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import read_lines
from ndcore.files.records import RecordError, describe
from ndcore.files.sources import STDIN, Source, TooLong
from ndcore.files.text_encoding import remove_mark
from ndcore.files.web_archive import ArchiveEntry, BrokenRecord

_LEGEND = re.compile(r"(?P<delimiter>[^A-Za-z0-9\r\n]?)CDX(?P<letters>(?:[ \t][A-Za-z])+)\s*")
_LAYOUTS = {  # fields of files without a legend, by their number
    11: "N b a m s k r M S V g",
    10: "N b a m s k r M V g",
    9: "N b a m s k r V g",
}
_NUMBER = re.compile(r"[0-9]{1,18}")
_TIMESTAMP = re.compile(r"[0-9]{4,17}")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]{40}|[0-9A-F]{64,}")  # but 32 capital letters and digits are SHA-1 in base32
_ALGORITHMS = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}  # bytes of a digest


class Capture(NamedTuple):
    """A line of an index: the place of the record of a capture.

    Attributes
    ----------
    url : str
        Empty if the line does not have it; likewise `digest`.
    filename : str
        The name as written in the line.
    offset : int
        First byte of the record, or of its compressed member.
    packed_offset : bool
        False: `offset` counts decompressed bytes.
    length : int or None
        Bytes of the record as stored in the file. None: the line does not have it.
    digest : str
        The digest of the payload; the name of an algorithm and a colon may precede it.
    """

    url: str
    filename: str
    offset: int
    packed_offset: bool
    length: int | None
    digest: str


class IndexLines:
    """A parser of the lines of an index; the first line may be the legend of CDX, and others may be comments.

    The legend gives the order of the fields. Without it, a line of CDX has 11, 10 or 9 fields in the customary order.
    """

    def __init__(self) -> None:
        self._delimiter, self._letters = " ", ""

    def parse(self, number: int, line: bytes) -> Capture | None:
        """Parse a line; None for a legend or a comment.

        Raises
        ------
        RecordError
            The line is neither CDX nor CDXJ, or lacks a field that is needed to find the record.
        """
        try:
            text = (remove_mark(line) if number == 1 else line).decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise RecordError("not UTF-8, as lines of CDX and CDXJ are") from None
        legend = _LEGEND.fullmatch(text)
        if legend is not None:
            self._read_legend(legend)
            return None
        if text.startswith(("!", "#")):
            return None
        timestamp, _, fields = text.partition(" ")[2].partition(" ")
        if fields.lstrip().startswith("{"):
            return _parse_object(timestamp, fields)
        return self._parse_fields(text)

    def _read_legend(self, legend: re.Match[str]) -> None:
        """Read the names of the fields. Raises RecordError if a field that is needed to find records is missing."""
        letters = legend["letters"].split()
        if "g" not in letters or not {"V", "v"} & set(letters):
            raise RecordError(f"the legend {' '.join(letters)!r:.80} does not name the file and the offset of a record: it "
                              "needs the fields g and V, or v")
        self._delimiter, self._letters = legend["delimiter"] or " ", " ".join(letters)

    def _parse_fields(self, text: str) -> Capture:
        """Parse a line of CDX."""
        values = text.split(self._delimiter)
        count = len(values) if len(values) != 14 else 11  # the last three are about the payload of a revisit
        layout = (self._letters or _LAYOUTS.get(count, "")).split()
        if not layout and count == 7:
            raise RecordError("it has 7 fields, as a CDX server answers, and names no file; make an index of the files, for "
                              "instance with cdxj-indexer")
        if len(layout) != count and len(layout) != len(values):
            expected = f"the legend names {len(layout)}" if self._letters else "without a legend there are 11, 10 or 9"
            raise RecordError(f"neither CDX nor CDXJ: it has {len(values):,} fields, and {expected}")
        named = dict(zip(layout, values, strict=False))
        offset = named.get("V", "-")
        packed_offset = offset != "-"
        return _make_capture(named.get("b", ""), named.get("a", "-"), named["g"],
                             offset if packed_offset else named.get("v", "-"), packed_offset, named.get("S", "-"),
                             named.get("k", "-"))


def _parse_object(timestamp: str, fields: str) -> Capture:
    """Parse the parts of a line of CDXJ."""
    try:
        named = json.loads(fields)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"its third part is not an object of JSON: {error}") from None
    for name in ("filename", "offset"):
        if name not in named:
            raise RecordError(f"it has no {name!r}, which tells where the record is ({', '.join(named)[:200]})")
    values = [named.get(name, "-") for name in ("url", "filename", "offset", "length", "digest")]
    for value in values:
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise RecordError(f"one of its values is {describe(value)}, not a string or a whole number")
    url, filename, offset, length, digest = map(str, values)
    return _make_capture(timestamp, url, filename, offset, True, length, digest)


def _make_capture(
    timestamp: str, url: str, filename: str, offset: str, packed_offset: bool, length: str, digest: str
) -> Capture:
    """Make a Capture from the fields of a line. Raises RecordError if a number is invalid or a field is missing."""
    if not _TIMESTAMP.fullmatch(timestamp):
        raise RecordError(f"its timestamp is {timestamp[:40]!r}, not 14 digits as YYYYMMDDhhmmss")
    if not _NUMBER.fullmatch(offset):
        raise RecordError(f"its offset is {offset[:40]!r}, not a number of bytes")
    if length not in ("-", "") and not _NUMBER.fullmatch(length):
        raise RecordError(f"its length is {length[:40]!r}, not a number of bytes")
    if filename in ("", "-"):
        raise RecordError("it names no file")
    url, digest = ("" if value == "-" else value for value in (url, digest))
    return Capture(url, filename, int(offset), packed_offset, int(length) if length not in ("-", "") else None, digest)


def iterate_captures(source: Source) -> Iterator[ArchiveEntry | None]:
    """Yield the records of an index, like `iterate_placed` but without their places."""
    return (None if placed is None else placed[0] for placed in iterate_placed(source))


def iterate_placed(source: Source) -> Iterator[tuple[ArchiveEntry, RecordPlace | None] | None]:
    """Yield the records of an index, in its order, each with its place; None for a blank line.

    The number of an entry is its line. An entry has a `problem` and no head if the line cannot be parsed, its file is
    missing or outside the folder, file and line differ in offset, length or digest, or the record is broken.
    Memory: one record; at most 16 files are open.

    Raises
    ------
    DocumentError
        The index cannot be read, or the folder of its archives is not known.
    """
    lines = IndexLines()
    with _Archives(_find_folder(source), bool(source.archives), source.longest) as archives:
        for number, line in read_lines(source):
            if not isinstance(line, TooLong) and not line.strip():
                yield None
                continue
            words, place = "the line", None
            try:
                if isinstance(line, TooLong):
                    raise RecordError(line.reason)
                capture = lines.parse(number, line)
                if capture is None:
                    continue
                words = f"the record at byte {capture.offset:,} of {capture.filename[:200]}"
                entry, place = archives.read(capture)
                entry = entry._replace(number=number, place=words)
            except (RecordError, BrokenRecord) as error:
                entry = ArchiveEntry(number, words, None, b"", str(error), None, (b"", b""))
            yield entry, place


def _find_folder(source: Source) -> str:
    """Return the folder of the archives: the one that the user named, or the folder of the index."""
    if source.archives:
        return source.archives
    if source.path == STDIN or source.location != source.path:
        raise DocumentError(source.path, None, "an index that is not a file here needs --archives DIR, the folder of the "
                            "web archives that it names")
    return os.path.dirname(source.path) or "."


class _Archives(Closing):
    """The archives of an index. Use it in a ``with`` block.

    Parameters
    ----------
    folder : str
    said : bool
        The user named the folder: if a name leads elsewhere, its last part is looked up in the folder.
    longest : int
        The content of a longer record is not read completely.
    """

    def __init__(self, folder: str, said: bool, longest: int) -> None:
        self._folder, self._said, self._longest = folder, said, longest
        self._real, self._records = os.path.realpath(folder), ArchiveRecords()

    def close(self) -> None:
        """Close the archives."""
        self._records.close()

    def read(self, capture: Capture) -> tuple[ArchiveEntry, RecordPlace]:
        """Read the record of a capture. Raises RecordError or BrokenRecord."""
        place = RecordPlace(self._find(capture.filename), capture.offset, capture.length)
        if self._records.is_compressed(place.path) and not capture.packed_offset:
            raise RecordError("its offset (v) counts decompressed bytes, and the file is compressed; make an index with the "
                              "field V")
        try:
            entry = self._records.read(place, self._longest)
        except BrokenRecord as error:
            said = "" if capture.length is None else f" (the index says that it has {capture.length:,} bytes)"
            raise BrokenRecord(f"{error}{said}") from None
        _check_identity(capture, entry)
        return entry, place

    def _find(self, filename: str) -> str:
        """Find the file of a capture below the folder, or in the folder by the last part of its name."""
        parts = filename.replace("\\", "/").split("/")
        inside = not posixpath.isabs(filename) and ".." not in parts and not parts[0].endswith(":")
        if not inside and not self._said:
            raise RecordError(f"its file {filename[:200]!r} lies outside of the folder of the index; --archives DIR names "
                              "the folder where the last part of such a name is looked up")
        names = [filename] if inside else []
        for name in dict.fromkeys([*names, parts[-1]]):
            path = os.path.join(self._folder, name)
            if name in ("", ".", "..") or "\0" in name or not os.path.isfile(path):  # noqa: PTH113
                continue
            folder = os.path.realpath(os.path.dirname(path))    # links to files are followed, links to folders are not
            if os.path.commonpath([self._real, folder]) != self._real:
                raise RecordError(f"its file {filename[:200]!r} lies behind a link to a folder outside of {self._folder}")
            return path
        raise RecordError(f"its file is not in {self._folder}; --archives DIR names the folder of the web archives")


def _check_identity(capture: Capture, entry: ArchiveEntry) -> None:
    """Raise RecordError if a record has another digest than the index, or without a digest another URL."""
    head = entry.head
    assert head is not None
    if not capture.digest:
        if capture.url and head.url and unquote(capture.url) != unquote(head.url):
            raise RecordError(f"it is of {head.url[:200]}, and the index says {capture.url[:200]}")
        return
    wanted, stated = parse_digest(capture.digest), head.fields.get("warc-payload-digest", "")
    if stated and wanted == parse_digest(stated):
        return
    if (head.kind == "revisit" and not stated) or len(entry.content) < head.length:  # the whole payload is not here
        return
    name = next((name for name, size in _ALGORITHMS.items() if wanted is not None and size == len(wanted)), None)
    if name is None:
        raise RecordError(f"its digest {capture.digest[:80]!r} cannot be compared; known are {', '.join(_ALGORITHMS)}, in "
                          "hex or base32")
    payloads = () if head.kind == "revisit" else split_payload(entry)
    if all(hashlib.new(name, payload, usedforsecurity=False).digest() != wanted for payload in payloads):
        raise RecordError(f"it has another digest than the index says, {capture.digest[:80]!r}")


def parse_digest(text: str) -> bytes | None:
    """Decode a digest in base32 or hex, with or without the name of its algorithm; None for another form."""
    value = text.rpartition(":")[2].strip()
    try:
        if _HEX.fullmatch(value) and len(value) // 2 in _ALGORITHMS.values():
            return bytes.fromhex(value)
        data = base64.b32decode(value.upper() + "=" * (-len(value) % 8))
    except (ValueError, binascii.Error):
        return None
    return data if len(data) in _ALGORITHMS.values() else None
