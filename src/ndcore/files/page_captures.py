"""The captures of pages in web archives, page by page and by date, with the text of each.

There are two passes. The first reads every record and notes the places of captures, in about 90 bytes each, and each URL
once. The second reads the texts of the captures one after another from their places. So archives may be in any order, and
memory does not grow with the texts.
"""

from __future__ import annotations

import datetime
import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ndcore._types import Closing, Ints, Text
from ndcore.files.archive_records import ArchiveRecords, RecordPlace
from ndcore.files.archived_pages import ArchivedPage, decode_payload, examine, read_status, split_payload
from ndcore.files.capture_index import iterate_placed, parse_digest
from ndcore.files.errors import DocumentError, Rejections
from ndcore.files.formats import ARCHIVED
from ndcore.files.html_text import decode_plain_text
from ndcore.files.html_workers import Html, HtmlWorkers
from ndcore.files.records import RecordError
from ndcore.files.sources import Ignored, Inputs, Position, Source, explain_too_long
from ndcore.files.stream_copies import WorkDirectory, copy_stream
from ndcore.files.web_archive import ArchiveEntry, BrokenRecord, RecordHead, iterate_entries
from ndcore.progress import Progress
from ndcore.text.inputs import digest

GONE = (404, 410, 301, 308)  # statuses of pages that no longer exist or have moved permanently
_PAGE, _REVISIT, _GONE = range(3)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class PageCapture(NamedTuple):
    """A capture of a page.

    Attributes
    ----------
    url : str
    date : datetime
    file : str
        The archive or index, as the user named it.
    line : int
        The number of the record, or the line of the index.
    revisit : bool
        The record refers to an earlier payload.
    gone : bool
        The server answered that the page no longer exists or has moved permanently.
    """

    url: str
    date: datetime.datetime
    file: str
    line: int
    revisit: bool
    gone: bool


class CapturedText(NamedTuple):
    """The text of a capture, and the digest of the page without its codings; both None if they are not known."""

    text: Text | None
    digest: bytes | None


class PageCaptures(Closing):
    """The captures of pages, sorted by URL and date. Use it in a ``with`` block, and call `collect` before iterating.

    Captures are responses with text (see `examine`), revisits of such responses, and responses with a status in GONE for
    URLs that have another capture. The text of a revisit is taken from the payload with its digest, if this is among the
    inputs.

    Parameters
    ----------
    inputs : Inputs
        Web archives and indexes; other files of directories are skipped.
    html : {"page", "main"} or None
    threads : int or None
        As in `HtmlWorkers`.
    on_error : {"stop", "skip"}

    Attributes
    ----------
    rejected : list of Rejected
    ignored : list of Ignored
    kinds : Counter of str
        Records that are not captures, by their kinds.
    """

    def __init__(self, inputs: Inputs, *, html: str | None, threads: int | None, on_error: str) -> None:
        self.rejected, self.kinds = Rejections(on_error == "skip"), Counter[str]()
        others = [source for source in inputs.sources if source.kind not in ARCHIVED and source.location]
        self.ignored = [*inputs.ignored, *(Ignored(source.path, "not a web archive") for source in others)]
        self._sources = [source for source in inputs.sources if source not in others]
        self._workers, self._work = HtmlWorkers(html or "page", threads), WorkDirectory()
        self._position, self._records = Position(self._sources), ArchiveRecords()
        self._urls: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        self._kinds = bytearray()
        # url, date in µs, source, number, path, offset, length (-1: unknown), 8 bytes of the digest of the payload
        self._columns = [array("q") for _ in range(8)]
        self._order: Ints = np.zeros(0, np.int64)

    def close(self) -> None:
        """Remove the temporary copies of streams, and end other processes."""
        self._workers.close()
        self._records.close()
        self._work.close()

    def __len__(self) -> int:
        """Count the captures."""
        return len(self._order)

    def position(self) -> tuple[int, int] | None:
        """Return the approximate progress of `collect`, as `Position.now` does."""
        return self._position.now()

    # ---- the first pass

    def collect(self, report: Progress) -> None:
        """Find the captures. `report` gets ("reading", captures, None).

        Raises
        ------
        DocumentError
            A file cannot be read; its records cannot be read one by one; or a record is broken, and errors are not skipped.
        """
        for index, source in enumerate(self._sources):
            self._position.at, source.seen = index, 0
            try:
                copy_stream(source, self._work)
                if source.kind not in ARCHIVED:
                    raise DocumentError(source.path, None, "neither a web archive nor an index of them")
                for entry, place in _iterate_records(source):
                    self._examine(source, index, entry, place)
                    if len(self._kinds) % 1000 == 0:
                        report("reading", len(self._kinds), None)
            except DocumentError as error:
                self.rejected.add(error)
        self._position.at = len(self._sources)
        self._sort()

    def _examine(self, source: Source, index: int, entry: ArchiveEntry, place: RecordPlace | None) -> None:
        """Record a capture, if the record is one."""
        try:
            if entry.problem is not None:
                raise RecordError(entry.problem)
            kind = self._kind_of(entry, source.longest)
            if kind is None:
                return
            head = entry.head
            assert head is not None
            if not head.url or head.date is None:
                raise RecordError(f"it has no {'date' if head.url else 'URL'}")
        except (RecordError, BrokenRecord) as error:
            self.rejected.add(DocumentError(source.path, entry.number, f"{entry.place}: {error}"))
            return
        if place is None:
            reason = ("its records are compressed together, so that they cannot be read one by one; compress each record by "
                      "itself, for instance with: warcio recompress")
            raise DocumentError(source.path, entry.number, reason)
        row = (self._urls.setdefault(head.url, len(self._urls)), (head.date - _EPOCH) // _MICROSECOND, index, entry.number,
               self._paths.setdefault(place.path, len(self._paths)), place.offset,
               -1 if place.length is None else place.length, _hash_payload(head, entry))
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._kinds.append(kind)

    def _kind_of(self, entry: ArchiveEntry, longest: int) -> int | None:
        """Return the kind of capture of a record; if it is not a capture, count it and return None."""
        assert entry.head is not None
        page = examine(entry)
        if isinstance(page, ArchivedPage):
            if len(entry.content) < entry.head.length:
                raise RecordError(explain_too_long("it", longest))
            return _PAGE
        if entry.head.kind == "revisit":
            return _REVISIT
        if entry.head.kind == "response" and read_status(entry) in GONE:
            return _GONE
        self.kinds[page] += 1
        return None

    def _sort(self) -> None:
        """Sort the captures by URL and date, without URLs that have no text."""
        urls, dates = (np.frombuffer(column, np.int64) for column in self._columns[:2])
        kinds = np.frombuffer(self._kinds, np.uint8)
        hashes = np.frombuffer(self._columns[7], np.int64)
        pages = np.flatnonzero(kinds == _PAGE)
        firsts = pages[np.argsort(hashes[pages], kind="stable")]
        revisits = np.flatnonzero(kinds == _REVISIT)
        self._referred = np.full(len(kinds), -1)
        if len(firsts):
            at = np.minimum(np.searchsorted(hashes[firsts], hashes[revisits]), len(firsts) - 1)
            self._referred[revisits] = np.where(hashes[firsts][at] == hashes[revisits], firsts[at], -1)
        with_text = np.zeros(len(self._urls), np.bool_)
        with_text[urls[pages]] = True
        with_text[urls[self._referred >= 0]] = True
        ranks = np.empty(len(self._urls), np.int64)
        ranks[[self._urls[url] for url in sorted(self._urls)]] = np.arange(len(self._urls))
        order = np.lexsort((np.arange(len(urls)), dates, ranks[urls])) if len(urls) else np.zeros(0, np.int64)
        self._order = order[with_text[urls[order]]] if len(urls) else order
        for kind, name in ((_REVISIT, "revisit"), (_GONE, "response, gone")):
            left_out = int(np.count_nonzero(kinds == kind) - np.count_nonzero(kinds[self._order] == kind))
            if left_out:
                self.kinds[name] += left_out

    # ---- the second pass

    def __iter__(self) -> Iterator[tuple[PageCapture, CapturedText | None]]:
        """Yield the captures by URL and date, each with its text; None for one that is gone.

        A capture whose text cannot be read is left out, or raises DocumentError unless errors are skipped.
        """
        names = list(self._urls)
        for i, text in self._workers.texts("the archives", self._read_all()):
            url, date, index, line = (column[i] for column in self._columns[:4])
            source, kind = self._sources[index], self._kinds[i]
            if isinstance(text, (RecordError, BrokenRecord)):
                self.rejected.add(DocumentError(source.path, line, str(text)))
                continue
            moment = _EPOCH + date * _MICROSECOND
            yield PageCapture(names[url], moment, source.path, line, kind == _REVISIT, kind == _GONE), text

    def _read_all(self) -> Iterator[Html | tuple[int, CapturedText | Exception | None]]:
        """Read the captures in order; the text of HTML is not yet extracted."""
        paths = list(self._paths)
        for i in self._order.tolist():
            if self._kinds[i] == _GONE:
                yield i, None
                continue
            at = int(self._referred[i]) if self._kinds[i] == _REVISIT else i
            if at < 0:
                yield i, CapturedText(None, None)
                continue
            path, offset, length = (self._columns[c][at] for c in (4, 5, 6))
            source = self._sources[self._columns[2][at]]
            try:
                place = RecordPlace(paths[path], offset, None if length < 0 else length)
                page = examine(self._records.read(place, source.longest))
                if isinstance(page, str):
                    raise RecordError("the file has changed since it was read first")
                payload, _ = decode_payload(page, source.longest)
            except (RecordError, BrokenRecord) as error:
                yield i, error
                continue
            charset, made = page.charset or source.form.encoding or None, partial(_with_digest, i, digest(payload))
            yield Html(payload, charset, made) if page.is_html else made(decode_plain_text(payload, charset))


def _with_digest(i: int, payload: bytes, text: Text | RecordError) -> tuple[int, CapturedText | RecordError]:
    """Return a capture with its text, or with the reason why there is none."""
    return i, text if isinstance(text, RecordError) else CapturedText(text, payload)


def _iterate_records(source: Source) -> Iterable[tuple[ArchiveEntry, RecordPlace | None]]:
    """Yield the records of an archive, or those that an index names, with their places."""
    if source.kind == "cdx":
        return (placed for placed in iterate_placed(source) if placed is not None)
    return ((entry, _place_of(source.location, entry.span)) for entry in iterate_entries(source))


def _place_of(path: str, span: tuple[int, int] | None) -> RecordPlace | None:
    """Return the place of a record of an archive; None if it shares a compressed member."""
    return None if span is None else RecordPlace(path, span[0], span[1] - span[0])


def _hash_payload(head: RecordHead, entry: ArchiveEntry) -> int:
    """Hash the stated digest of a record's payload, in any notation; without one, the SHA-1 of the payload."""
    stated = head.fields.get("warc-payload-digest", "")
    if stated:
        key = parse_digest(stated) or stated.encode("utf-8", "surrogatepass")
    elif head.kind == "revisit":  # equals no other payload
        key = f"\0{head.url}\0{head.date}".encode("utf-8", "surrogatepass")
    else:
        key = hashlib.sha1(split_payload(entry)[-1], usedforsecurity=False).digest()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)
