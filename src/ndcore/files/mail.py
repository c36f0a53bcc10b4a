"""Mail as documents: a message of a ``.eml`` file or of a Maildir, and each message of an mbox.

Messages: RFC 5322, *Internet Message Format*; parts: RFC 2045 and 2046, *MIME*; words of headers: RFC 2047. Mbox: RFC 4155;
a line ``From …`` with a time and a year begins a message, at the beginning of the file or after an empty line. Headers are
parsed by `email`. Parts are split here, because the parser of `email` tests every line against every open multipart.

The text of a message is what a reader sees: its plain-text parts, and its HTML parts without a plain alternative. All other
parts are attachments. Refused are messages with no header or with one of more than 1 MiB; parts nested more than 50 deep;
multiparts whose boundary is missing; damaged codings; and messages of more than 256 MiB.
"""

from __future__ import annotations

import binascii
import datetime
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import compat32
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, NamedTuple

from ndcore.checks import missing
from ndcore.files.file_reader import open_source, read_whole
from ndcore.files.html_workers import Html, HtmlWorkers
from ndcore.files.records import MISSING, Fields, Record, RecordError, check_id, join_texts
from ndcore.files.sources import Source, TooLong
from ndcore.files.text_encoding import EncodingError, decode, detect_encoding, find_sender_encoding, is_utf8
from ndcore.text.inputs import Extracted, is_by_tags

_HEADER = 1 << 20  # bytes of the header of a message or of a part
_VALUE = 1 << 13  # bytes of a header field that is decoded; a longer one is not
_DEPTH = 50  # levels of nested parts
_PARTS = 10_000  # most parts of a message
_SEPARATOR = re.compile(rb"From [^\n]{0,200}?\d:\d\d[^\n]{0,200}?\d{4}[^\n]{0,200}\r?\n?")
_FIELD = re.compile(rb"[!-9;-~]{1,200}[ \t]*:")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_BODY = ("text", "body")
_ATTACHMENTS = "attachments"


class _Leaf(NamedTuple):
    """A part that is text, and whether it is HTML."""

    data: bytes
    charset: str
    is_html: bool


class _End(NamedTuple):
    """The end of the texts of a message; `finish` makes a document of them."""

    finish: Callable[[Sequence[str | RecordError]], Record | tuple[int | None, str]]


class Messages:
    """The messages of an mbox as `RawRecords`, with a TooLong for each that is too long."""

    opening = closing = b""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        for number, _, data in _split_mbox(self._source):
            yield number, b"", data


def _split_mbox(source: Source) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, offset and bytes of each message of an mbox, or a TooLong if it is longer than ``source.longest``.

    Raises DocumentError if the file cannot be read.
    """
    number, offset, start = 1, 0, 0
    message, too_long, after_blank = bytearray(), False, True

    def whole() -> bytes:
        return TooLong.of("the message", source.longest) if too_long else bytes(message)

    with open_source(source, lambda: number, "the messages from this one") as stream:
        while line := stream.readline(1 << 20):
            if after_blank and line.startswith(b"From ") and _SEPARATOR.match(line) and offset > start:
                yield number, start, whole()
                number, start, message, too_long = number + 1, offset, bytearray(), False
            after_blank = line in (b"\n", b"\r\n")
            offset += len(line)
            too_long = too_long or len(message) + len(line) > source.longest
            if too_long:
                message.clear()
            else:
                message += line
        if offset > start:
            yield number, start, whole()


def read_documents(
    source: Source, fields: Fields, workers: HtmlWorkers, wanted: Callable[[int | None], bool]
) -> Iterator[Record | tuple[int | None, str]]:
    """Yield the wanted messages as documents, and (number, reason) of damaged ones.

    Fields of a message are ``text`` (or ``body``), ``attachments`` (name and digest of each) and all header fields, in
    upper or lower case; ``date`` is a time with a zone.

    Parameters
    ----------
    workers : HtmlWorkers
        Extract the text of HTML.
    wanted : callable
        Called once for each message, in order, with its number (None for a file of one message).

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    texts: list[str | RecordError] = []
    for item in workers.texts(source.path, _read_pieces(source, fields, wanted)):
        if isinstance(item, (str, RecordError)):
            texts.append(item)
            continue
        if isinstance(item, _End):
            item = item.finish(texts)
        yield item
        texts = []


def _read_pieces(
    source: Source, fields: Fields, wanted: Callable[[int | None], bool]
) -> Iterator[str | Html | _End | tuple[int | None, str]]:
    """Yield the texts of each message and then an _End, or (number, reason) if it cannot be read."""
    for number, offset, data in _read_messages(source):
        if not wanted(number):
            continue
        try:
            if isinstance(data, TooLong):
                raise RecordError(data.reason)
            begins = _SEPARATOR.match(data)
            if number is not None and begins is None:
                raise RecordError("no message begins here, with a line 'From …' that has a time and a year")
            inner = data[begins.end() :] if begins else data
            message, leaves, attachments = _parse_message(_QUOTED.sub(rb"\1", inner) if number is not None else inner)
            pieces = [_decode_leaf(leaf, source.form.encoding) for leaf in leaves]
            values = _Values(message, attachments, source.form.encoding)
            record = values.record(fields, number, offset if number is not None and not source.stored else None, data)
        except (RecordError, EncodingError) as error:
            yield number, str(error)
            continue
        yield from pieces
        yield _End(partial(_finish_record, record, values, fields))


def _read_messages(source: Source) -> Iterator[tuple[int | None, int, bytes]]:
    """Yield the messages of a source."""
    if source.kind == "mbox":
        yield from _split_mbox(source)
    else:
        yield None, 0, read_whole(source)


class _Values:
    """The fields of a message; `encoding` is the one that the user named, for bytes in them."""

    def __init__(self, message: Message, attachments: str, encoding: str) -> None:
        self._message, self._attachments, self._encoding = message, attachments, encoding

    def record(self, fields: Fields, number: int | None, offset: int | None, data: bytes) -> Record:
        """Make a record, whose text is still the raw message. Raises RecordError if a field is missing."""
        for name in fields.text:
            if name.lower() not in _BODY and self.value(name) is MISSING:
                raise RecordError(f"no field {name!r}; a message has text, attachments, and the fields of its header: "
                                  f"{', '.join(dict.fromkeys(key.lower()[:40] for key in list(self._message.keys())[:12]))}")
        others = [self.value(name) for name in fields.others]
        for name, value in zip(fields.others, others, strict=True):
            if value is MISSING and name not in fields.optional:
                raise RecordError(f"the message has no field {name!r}")
        ident = self._message.get(fields.id)
        date = self.value("date")
        return Record(
            number, data, check_id(MISSING if ident is None else self.value(fields.id, as_written=True), fields),
            tuple([None if value is MISSING else value for value in others]), len(data), offset,
            date if isinstance(date, datetime.datetime) else None,
        )

    def value(self, name: str, as_written: bool = False) -> Any:
        """Look up a field, or MISSING. A date that cannot be parsed is MISSING too, unless `as_written` is set."""
        if name.lower() == _ATTACHMENTS and name not in self._message:
            return self._attachments
        raw = next((value for key, value in self._message.raw_items() if key.lower() == name.lower()), None)
        if raw is None:
            return MISSING
        text = _decode_header(str(raw), self._encoding)
        return text if as_written or name.lower() != "date" else _parse_date(text)


def _finish_record(
    record: Record, values: _Values, fields: Fields, pieces: Sequence[str | RecordError]
) -> Record | tuple[int | None, str]:
    """Put the text into a record; (number, reason) where a piece has none. The flags of all pieces are combined."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, RecordError):
            return record.number, str(piece)
        texts.append(piece)
    body = "\n".join(texts)
    parts = [body if name.lower() in _BODY else str(values.value(name, as_written=True)) for name in fields.text]
    text = str(join_texts(parts))
    fell_back = any(isinstance(part, Extracted) and part.fell_back for part in texts)
    extracted = Extracted.of(text, record.text, fell_back, by_tags=any(map(is_by_tags, texts)))
    return record._replace(text=extracted, size=max(record.size, len(text)))


def _decode_header(raw: str, encoding: str = "") -> str:
    """Unfold and decode a header field, with its encoded words; bytes are UTF-8, or else `encoding` or Latin-1."""
    data = raw.encode("utf-8", "surrogateescape")
    try:
        text = decode(data, "utf-8" if is_utf8(data) else encoding or "latin-1")
    except EncodingError:
        text = data.decode("latin-1")
    text = re.sub(r"\r?\n(?=[ \t])", "", text).strip()
    if len(data) > _VALUE or "=?" not in text:
        return text
    try:
        return str(make_header(decode_header(text)))
    except (MessageError, LookupError, ValueError):  # unknown charsets, damaged words
        return text


def _parse_date(text: str) -> Any:
    """Convert a date of RFC 5322 to UTC; MISSING if it is not a date."""
    try:
        date = parsedate_to_datetime(text[:200])
        return date.replace(tzinfo=datetime.UTC) if date.tzinfo is None else date.astimezone(datetime.UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return MISSING


# ---- parts


def _parse_message(data: bytes) -> tuple[Message, list[_Leaf], str]:
    """Parse a message; return its header, the parts that are its text, and a description of all other parts.

    Each level of parts is scanned once: O(length × depth).
    """
    message, body = _parse_header(data, 0, len(data), True)
    leaves: list[_Leaf] = []
    others: list[str] = []
    count = 0

    def walk(part: Message, start: int, end: int, depth: int, leaves_of_part: list[_Leaf]) -> None:
        nonlocal count
        count += 1
        if depth > _DEPTH or count > _PARTS:
            raise RecordError(f"parts nested more than {_DEPTH} deep" if depth > _DEPTH else f"more than {_PARTS:,} parts")
        kind, attached = _get_media_type(part), _get_disposition(part) == "attachment"
        if kind.startswith("multipart/") and not attached:
            alternatives: list[list[_Leaf]] = []
            default = "message/rfc822" if kind == "multipart/digest" else "text/plain"
            for first, last in _split_multipart(data, part, start, end):
                inner, begin = _parse_header(data, first, last, False)
                inner.set_default_type(default)
                mine: list[_Leaf] = []
                walk(inner, begin, last, depth + 1, mine)
                alternatives.append(mine)
            if kind == "multipart/alternative":
                with_text = [mine for mine in alternatives if mine]
                plain = [mine for mine in with_text if not any(leaf.is_html for leaf in mine) and _has_words(mine)]
                alternatives = (plain or with_text)[:1]
            leaves_of_part.extend(leaf for mine in alternatives for leaf in mine)
        elif kind == "message/rfc822" and not attached:
            inner, begin = _parse_header(data, start, end, False)
            walk(inner, begin, end, depth + 1, leaves_of_part)
        elif kind in ("text/plain", "text/html") and not attached:
            payload, charset = _decode_payload(part, data[start:end]), _get_parameter(part, "charset")
            leaves_of_part.append(_Leaf(payload, charset, kind == "text/html"))
        else:
            name = _get_parameter(part, "filename", "content-disposition") or _get_parameter(part, "name") or kind
            digest = hashlib.blake2b(_decode_payload(part, data[start:end]), digest_size=8).hexdigest()
            others.append(f"{name} {digest}")

    walk(message, body, len(data), 0, leaves)
    return message, leaves, ", ".join(others)


def _has_words(leaves: Sequence[_Leaf]) -> bool:
    """Tell whether parts have more than white space."""
    return any(leaf.data.strip() for leaf in leaves)


def _parse_header(data: bytes, start: int, end: int, needed: bool) -> tuple[Message, int]:
    """Parse the header at `start`; return it, and where the body begins.

    Raises RecordError if it is too long, or if it is `needed` and missing.
    """
    if data.startswith((b"\n", b"\r\n"), start) and not needed:
        return Message(policy=compat32), min(end, data.index(b"\n", start) + 1)
    blank_line = _HEADER_END.search(data, start, min(end, start + _HEADER))
    if blank_line is None and end - start > _HEADER:
        raise RecordError(f"its header is longer than {_HEADER >> 20} MiB")
    stop, body = (end, end) if blank_line is None else (blank_line.start(), blank_line.end())
    if _FIELD.match(data, start, stop) is None:
        if needed:
            raise RecordError("no message begins here, with a header of lines as 'Subject: …'")
        return Message(policy=compat32), start
    return BytesHeaderParser(policy=compat32).parsebytes(data[start:stop] + b"\n\n"), body


def _get_media_type(part: Message) -> str:
    """Return the media type of a part."""
    raw = str(part.get("content-type", part.get_default_type()))
    kind = raw[:_VALUE].partition(";")[0].strip().lower()
    return kind if re.fullmatch(r"[^\s/]+/[^\s/]+", kind) else "text/plain"


def _get_disposition(part: Message) -> str:
    """Return the disposition of a part, as "inline" or "attachment"."""
    return str(part.get("content-disposition", ""))[:_VALUE].partition(";")[0].strip().lower()


def _get_parameter(part: Message, name: str, header: str = "content-type") -> str:
    """Return a parameter of a field; empty without it. Raises RecordError if the field is too long to be searched."""
    if len(str(part.get(header, ""))) > _VALUE:
        raise RecordError(f"a field {header} is longer than {_VALUE:,} bytes")
    value = part.get_param(name, "", header)
    if isinstance(value, tuple):  # RFC 2231: charset, language, value
        try:
            return value[2].encode("latin-1", "replace").decode(value[0] or "ascii", "replace")
        except LookupError:
            return str(value[2])
    return _decode_header(str(value))


def _split_multipart(data: bytes, part: Message, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each part of a multipart, without the line end before the next boundary.

    The last part may lack the closing boundary: mailing lists often cut mail there.
    """
    boundary = _get_parameter(part, "boundary").rstrip()
    if not boundary:
        raise RecordError("a multipart names no boundary")
    mark = b"--" + boundary.encode("utf-8", "surrogateescape")
    first, at = -1, data.find(mark, start, end)
    while at >= 0:
        stop, rest = at + len(mark), b"?"
        if at == start or data[at - 1] == 10:  # at the beginning of a line
            stop = data.find(b"\n", stop, end) + 1 or end
            rest = data[at + len(mark) : stop].strip(b" \t\r\n")
        if rest in (b"", b"--"):
            if first >= 0:
                before = at - 1 - data.startswith(b"\r\n", at - 2)
                yield first, max(first, before)
            if rest:
                return
            first = stop
        at = data.find(mark, stop, end)
    if first < 0:
        raise RecordError(f"the boundary {boundary[:60]!r} of a multipart is not in it")
    yield first, end


def _decode_payload(part: Message, body: bytes) -> bytes:
    """Undo the transfer coding of a part. Raises RecordError if it is damaged or unknown."""
    coding = str(part.get("content-transfer-encoding", "")).strip().lower()[:40]
    if coding in ("", "7bit", "8bit", "binary"):
        return body
    if coding == "quoted-printable":
        return binascii.a2b_qp(body)
    if coding == "base64":
        try:
            return binascii.a2b_base64(body)
        except binascii.Error as error:
            raise RecordError(f"its base64 is damaged: {error}") from error
    raise RecordError(f"its coding {coding!r} is not one of 7bit, 8bit, binary, quoted-printable, base64")


def _decode_leaf(leaf: _Leaf, encoding: str) -> str | Html:
    """Return the text of a part, or the HTML that is to be extracted."""
    if leaf.is_html:
        try:
            import resiliparse.extract.html2text  # noqa: F401
        except ImportError:
            raise RecordError(missing("resiliparse", "reading HTML, which is all the text of this message,")) from None
        return Html(leaf.data, leaf.charset or encoding or None, lambda text: text)
    charset = find_sender_encoding(leaf.charset)
    for named in (charset, encoding):
        if named:
            try:
                return decode(leaf.data, named)
            except EncodingError:
                continue
    try:
        return decode(leaf.data, detect_encoding(leaf.data))
    except EncodingError:
        if not charset:
            raise
    return leaf.data.decode(charset, "replace")
