"""Pages in web archives as documents: select the records that are pages, and decode their payloads.

HTTP messages: RFC 9112, *HTTP/1.1*; codings: RFC 9110, *HTTP Semantics*, section 8.4. Refused are segmented records,
payloads of more than ``source.longest`` bytes, and codings other than chunked, gzip, deflate, br and zstd.
"""

from __future__ import annotations

import contextlib
import io
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from ndcore._types import Bools, Ints
from ndcore.checks import missing
from ndcore.files.compression import DamagedData, read_frames
from ndcore.files.errors import DocumentError
from ndcore.files.html_text import decode_plain_text
from ndcore.files.html_workers import Html, HtmlWorkers, with_text
from ndcore.files.records import Record, RecordError
from ndcore.files.sources import Source, explain_too_long
from ndcore.files.web_archive import ArchiveEntry, BrokenRecord, RecordHead, parse_header_fields

FIELDS = ("url", "host", "date")
_PIECE = 1 << 16  # bytes of brotli that are decoded at a time
Decoder = Callable[[bytes, bool, int], bytes | None]  # gets a payload, whether it was cut, and the most bytes to decode
MISNAMED = "decoded already"  # the kind under which payloads without the coding named in their headers are counted
_HTML = {"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"}
_TEXT = {"text/plain", "text/markdown"}
_OF_THE_CRAWLER = ("metadata:", "urn:", "whois:")
_HTTP_BEGIN = re.compile(rb"HTTP/[0-9.]+[ \t]+(?P<status>[0-9]{3})")
_HTTP_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"(?:\r?\n)?[ \t]*(?P<size>[0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?(?:\r?\n|$)")
_MEDIA = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


class Contents:
    """Record spans and kinds that a pass over an archive collects; 17 bytes for each sound record.

    Attributes
    ----------
    kinds : Counter
        The kinds of records that are not documents, and MISNAMED.
    """

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self._bounds, self._are_documents, self._apart = array("q"), bytearray(), True

    def append(self, span: tuple[int, int] | None, is_document: bool) -> None:
        """Add the offsets of a record in the file; None if several records share a compressed member."""
        self._apart = self._apart and span is not None
        if self._apart and span is not None:
            self._bounds.extend(span)
            self._are_documents.append(is_document)

    def spans(self) -> tuple[Ints, Ints, Bools] | None:
        """Return starts, ends, and whether each record is a document; None if several records share a compressed member."""
        if not self._apart:
            return None
        bounds = np.array(self._bounds, np.int64)
        return bounds[::2], bounds[1::2], np.array(self._are_documents, np.bool_)


class ArchivedPage(NamedTuple):
    """A record that is a document: its payload as transferred, and how to read it.

    Attributes
    ----------
    codings : tuple of str
        Transfer and content codings, the outermost first.
    cut : bool
        The crawler states that it truncated the payload.
    """

    number: int
    head: RecordHead
    payload: bytes
    codings: tuple[str, ...]
    is_html: bool
    charset: str | None
    cut: bool


def examine(entry: ArchiveEntry) -> ArchivedPage | str:
    """Return the page in an intact record, or the kind of a record that is not a document, for the summary.

    Documents are responses and resources with HTML or plain text, and conversions to plain text. HTTP responses must have
    status 2xx: redirections and errors do not hold the text of their URL.

    Raises
    ------
    RecordError, BrokenRecord
        The record should be a document, but cannot be read.
    """
    head = entry.head
    assert head is not None
    if head.kind not in ("response", "resource", "conversion"):
        return head.kind if re.fullmatch(r"[\w -]{1,40}", head.kind) else "of an unknown type"
    if head.url.startswith("dns:"):
        return "dns"
    if head.url.startswith(_OF_THE_CRAWLER):
        return f"{head.kind} of the crawler"
    if head.media.lower().startswith("application/http") or entry.content.startswith(b"HTTP/"):
        return _examine_response(entry, head)
    return _examine_page(entry, head, head.media, entry.content, ())


def _examine_response(entry: ArchiveEntry, head: RecordHead) -> ArchivedPage | str:
    """Examine an HTTP response: its status, codings and media type."""
    begin, end = _HTTP_BEGIN.match(entry.content), _HTTP_END.search(entry.content)
    if begin is None or end is None:
        raise RecordError("its content does not begin with the headers of an HTTP response")
    headers = parse_header_fields(entry.content[: end.end()])
    if not begin["status"].startswith(b"2"):
        return f"{head.kind}, status {begin['status'].decode()}"
    names = [headers.get(name, "") for name in ("transfer-encoding", "content-encoding")]
    codings = [coding.strip().lower() for name in names for coding in reversed(name.split(","))]
    media = headers.get("content-type") or head.fields.get("warc-identified-payload-type", "")
    payload = entry.content[end.end() :]
    return _examine_page(entry, head, media, payload, tuple(c for c in codings if c not in ("", "identity", "none")))


def _examine_page(
    entry: ArchiveEntry, head: RecordHead, media: str, payload: bytes, codings: tuple[str, ...]
) -> ArchivedPage | str:
    """Make an ArchivedPage of a payload with HTML or plain text; name the kind of any other payload."""
    kind = media.partition(";")[0].strip().lower()
    is_html = kind in _HTML
    if not is_html and kind not in _TEXT:
        return f"{head.kind}, {kind if _MEDIA.fullmatch(kind) else 'no media type'}"
    if head.fields.get("warc-segment-number"):
        raise RecordError("one segment of a record; ndcore does not join segments: join them before")
    charset = _CHARSET.search(media)
    cut = "warc-truncated" in head.fields
    return ArchivedPage(entry.number, head, payload, codings, is_html, charset and charset[1], cut)


def read_status(entry: ArchiveEntry) -> int | None:
    """Return the status of an HTTP response; None if the record does not begin as one."""
    begin = _HTTP_BEGIN.match(entry.content)
    return None if begin is None else int(begin["status"])


def split_payload(entry: ArchiveEntry) -> tuple[bytes, ...]:
    """Return the payload of a whole record in the forms that archives digest: as stored, and without chunks if it has any.

    WARC 1.1, section 5.9, digests the entity, which has no chunks; many crawlers digest the bytes as received.
    """
    is_http = entry.content.startswith(b"HTTP/") or (entry.head and entry.head.media.lower().startswith("application/http"))
    end = _HTTP_END.search(entry.content) if is_http else None
    if end is None:
        return (entry.content,)
    payload, headers = entry.content[end.end() :], parse_header_fields(entry.content[: end.end()])
    joined = None
    if "chunked" in headers.get("transfer-encoding", "").lower():
        with contextlib.suppress(EOFError):
            joined = _join_chunks(payload, False, len(payload))
    return (payload,) if joined is None else (payload, joined)


def decode_payload(page: ArchivedPage, longest: int) -> tuple[bytes, bool]:
    """Decode a payload; return (the data, whether the payload had all codings that its headers name).

    A coding that the payload visibly does not have is skipped: archives often hold decoded payloads under their original
    headers. Raises RecordError if the payload is damaged, a coding is unknown, or the data are longer than `longest`.
    """
    data, as_named = page.payload, True
    for coding in page.codings:
        decode = _DECODERS.get(coding)
        if decode is None:
            raise RecordError(f"its coding {coding[:40]!r} is not one of {', '.join(_DECODERS)}")
        try:
            decoded_data = decode(data, page.cut, longest)
        except RecordError:
            raise
        except (OSError, EOFError, DamagedData, ValueError) as error:
            raise RecordError(f"its {coding} coding is damaged: {error}") from error
        as_named &= decoded_data is not None
        data = data if decoded_data is None else decoded_data
    return data, as_named


def _join_chunks(data: bytes, cut: bool, longest: int) -> bytes | None:
    """Join chunks (RFC 9112, section 7.1). Trailer fields, and the last line end of a chunk, may be missing."""
    parts = []
    line = _CHUNK_SIZE.match(data)
    if line is None:
        return None
    while line is not None and (size := int(line["size"], 16)):
        parts.append(data[line.end() : line.end() + size])
        line = _CHUNK_SIZE.match(data, line.end() + size)
    if line is None and not cut:
        raise EOFError(f"no chunk begins after the first {len(parts)}, of {sum(map(len, parts)):,} bytes")
    return b"".join(parts)


def _decode_brotli(data: bytes, cut: bool, longest: int) -> bytes | None:
    """Decompress br (RFC 7932); None if the payload is plain HTML."""
    try:
        import brotli
    except ImportError:
        raise RecordError(missing("brotli", "decoding br")) from None

    stream, whole = brotli.Decompressor(), bytearray()
    try:
        piece = stream.process(data, output_buffer_limit=_PIECE)
        while piece:
            whole += piece
            _check_length(len(whole), longest)
            piece = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=_PIECE)
    except brotli.error as error:
        if data.lstrip().startswith(b"<"):
            return None
        if not cut:
            raise DamagedData(str(error)) from error
    if not (cut or stream.is_finished()):
        raise EOFError("it is not complete")
    return bytes(whole)


def _inflate(data: bytes, cut: bool, longest: int) -> bytes | None:
    """Decompress deflate (RFC 1950, or RFC 1951 as some servers send it); None if the payload is plain HTML."""
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(bits)
        with contextlib.suppress(zlib.error):
            inflated = stream.decompress(data, longest + 1)
            _check_length(len(inflated), longest)
            if stream.eof or cut:
                return inflated
    if data.lstrip().startswith(b"<"):
        return None
    raise EOFError("it is not valid, or not complete")


def _make_decoder(compression: str, magic: bytes) -> Decoder:
    """Make the decoder of a compression that begins with `magic`."""
    def decode(data: bytes, cut: bool, longest: int) -> bytes | None:
        if not data.startswith(magic):
            return None
        parts = bytearray()
        try:
            for frame in read_frames(io.BytesIO(data), compression, "a payload"):
                parts += frame.data
                _check_length(len(parts), longest)
        except (EOFError, DamagedData):
            if not cut:
                raise
        return bytes(parts)

    return decode


def _check_length(length: int, longest: int) -> None:
    """Raise RecordError if a payload grows too long."""
    if length > longest:
        raise RecordError(explain_too_long("its decoded payload", longest))


_GZIP = _make_decoder("gz", b"\x1f\x8b")
_DECODERS: dict[str, Decoder] = {
    "chunked": _join_chunks,
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": _inflate,
    "br": _decode_brotli,
    "zstd": _make_decoder("zst", b"\x28\xb5\x2f\xfd"),
}


def read_documents(
    source: Source, entries: Iterable[ArchiveEntry | None], fields: Sequence[str], workers: HtmlWorkers,
    wanted: Callable[[int], bool], contents: Contents,
) -> Iterator[Record | tuple[int | None, str] | None]:
    """Yield the wanted documents among records of archives, (number, reason) for each broken place, and each None.

    Parameters
    ----------
    entries : iterable of ArchiveEntry or None
        The records: of an archive, or of the archives that an index names.
    fields : sequence of str
        Names from FIELDS; their values are returned with each document.
    workers : HtmlWorkers
        Extract the text of HTML.
    wanted : callable
        Called once for each document, in order, with its record number, up to a few batches before the document is yielded.
    contents : Contents
        Collects the span and the kind of each intact record.

    Raises
    ------
    DocumentError
        The file cannot be read, a package is missing, or a field is not one of FIELDS.
    """
    for field in fields:
        if field not in FIELDS:
            raise DocumentError(source.path, None, f"no field {field!r}; records of archives have {', '.join(FIELDS)}")
    yield from workers.texts(source.path, _read_pages(source, entries, fields, wanted, contents))


def _read_pages(
    source: Source, entries: Iterable[ArchiveEntry | None], fields: Sequence[str], wanted: Callable[[int], bool],
    contents: Contents,
) -> Iterator[Html | Record | tuple[int | None, str] | None]:
    """Yield the items of `read_documents`, with the text of HTML still to be extracted."""
    for entry in entries:
        if entry is None:
            yield None
            continue
        try:
            if entry.problem is not None:
                raise RecordError(entry.problem)
            page = examine(entry)
            if isinstance(page, str):
                contents.kinds[page] += 1
                contents.append(entry.span, False)
            elif wanted(entry.number):
                if len(entry.content) < page.head.length:
                    raise RecordError(explain_too_long("it", source.longest))
                payload, as_named = decode_payload(page, source.longest)
                values = tuple([_look_up(page.head, field) for field in fields])
                contents.kinds[MISNAMED] += not as_named
                contents.append(entry.span, True)
                offset = entry.span[0] if entry.span is not None else None
                record = Record(page.number, payload, page.head.url or None, values, len(payload), offset, page.head.date)
                charset = page.charset or source.form.encoding or None
                if page.is_html:
                    yield Html(payload, charset, partial(with_text, record))
                else:
                    yield with_text(record, decode_plain_text(payload, charset))
        except (RecordError, BrokenRecord) as error:
            yield entry.number, f"{entry.place}: {error}"


def _look_up(head: RecordHead, field: str) -> Any:
    """Look up a field of FIELDS; RecordError where it is missing."""
    value = {"url": head.url, "host": _extract_host(head.url), "date": head.date}[field]
    if not value:
        raise RecordError(f"it has no {field}")
    return value


def _extract_host(url: str) -> str:
    """Extract the host of a URL; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
