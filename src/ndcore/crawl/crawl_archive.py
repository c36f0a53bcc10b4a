"""The web archive of a crawler: write every response once, as the server sent it, outside the reactor's thread."""

from __future__ import annotations

import datetime
import logging
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary, ref

from ndcore.checks import checked_int, parsed_size
from ndcore.crawl.crawl_store import run_on_thread
from ndcore.files.archive_folder import SIZE, ArchiveFolder, FetchedResponse, WrittenResponse

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response
    from scrapy.settings import BaseSettings

    from ndcore.store.verdict import Verdict

ARCHIVED = "ndcore_archived"  # key of Request.meta: the record of the response
FAILED = "ndcore_warc_failed"  # the reason for which a spider is closed
SECRET = (b"Authorization", b"Cookie", b"Proxy-Authorization")  # request headers that are not archived
_TRUNCATED = {"dataloss": "disconnect", "partial": "unspecified"}  # flags of Scrapy -> WARC-Truncated

logger = logging.getLogger("ndcore.crawl")
_OF_CRAWLERS: WeakKeyDictionary[Crawler, CrawlArchive] = WeakKeyDictionary()


def archive_of(crawler: Crawler) -> CrawlArchive | None:
    """Return the archive of a crawler; None if it has none."""
    return _OF_CRAWLERS.get(crawler)


class CrawlArchive:
    """The archive of a crawler: NDCORE_WARC is its folder, NDCORE_WARC_SIZE the size of a file.

    If a record cannot be written, for example because the disk is full, the spider is closed (``ndcore_warc_failed``) and
    nothing more is written: an archive with gaps would look complete.

    Parameters
    ----------
    crawler : Crawler

    Raises
    ------
    NotConfigured
        The setting NDCORE_WARC is missing.
    BlockingIOError
        Another process writes into the folder.
    OSError, TypeError, ValueError
        The folder cannot be written to, or a setting is not accepted.
    """

    def __init__(self, crawler: Crawler) -> None:
        from scrapy import __version__, signals
        from scrapy.exceptions import NotConfigured

        folder = crawler.settings.get("NDCORE_WARC")
        if not folder:
            raise NotConfigured("NDCORE_WARC is not set; give it the folder of the web archives")
        assert crawler.stats is not None
        self.stats, self.failed = crawler.stats, False
        self._crawler = ref(crawler)
        self._folder = ArchiveFolder(folder, _read_size(crawler.settings), f"Scrapy/{__version__}")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ndcore archive")    # one: a file has one writer
        _OF_CRAWLERS[crawler] = self
        crawler.signals.connect(self.close, signals.spider_closed)

    async def add(self, request: Request, response: Response) -> None:
        """Write a response as it came from the network, except responses to HEAD, from a cache, or without HTTP."""
        request.meta.pop(ARCHIVED, None)  # from another response, whose meta a spider reused
        if self.failed:
            return
        scheme = urlsplit(request.url).scheme
        if request.method == "HEAD" or scheme not in ("http", "https") or "cached" in response.flags:
            self.stats.inc_value("ndcore/warc/left_out")
            return
        written = await self._run(self._folder.write, fetched_response(request, response))
        if written is None:
            return
        self.stats.inc_value("ndcore/warc/responses" if written.referred is None else "ndcore/warc/revisits")
        if written.referred is None:
            request.meta[ARCHIVED] = tuple(written)  # a plain tuple: every queue of Scrapy can serialise it

    async def note(self, response: Response, verdict: Verdict) -> None:
        """Write the verdict on a page that is a near-duplicate, beside its record; nothing beside a revisit."""
        record = response.meta.get(ARCHIVED)
        if record is None or verdict.kept or self.failed:
            return
        fields = [("near-duplicate-of", str(verdict.of)), ("verdict", verdict.verdict)]
        if verdict.resemblance is not None:
            fields.append(("resemblance", f"{verdict.resemblance:.6f}"))
            fields.append(("resemblance-is", "exact" if verdict.exact else "estimated"))
        written = WrittenResponse(*record)
        if await self._run(self._annotate, written, archived_url(response.url), fields):
            self.stats.inc_value("ndcore/warc/verdicts")

    def _annotate(self, written: WrittenResponse, url: str, fields: list[tuple[str, str]]) -> bool:
        """Write a metadata record, on the thread."""
        self._folder.annotate(written, url, fields)
        return True

    async def _run(self, write: Any, *arguments: Any) -> Any:
        """Call a writer on the thread; if that fails, close the spider and return None."""
        try:
            return await run_on_thread(self._thread, write, *arguments)
        except Exception:
            self._fail("a record of the web archive could not be written: the spider is closed, and nothing more is written")
            return None

    def _fail(self, what: str) -> None:
        """Log an error, and close the spider."""
        self.failed = True
        self.stats.inc_value("ndcore/warc/errors")
        logger.critical(what, exc_info=True)
        crawler = self._crawler()
        engine = None if crawler is None else crawler.engine
        if engine is not None:
            from scrapy.utils.defer import deferred_from_coro

            assert crawler is not None
            if hasattr(engine, "close_spider_async"):  # since Scrapy 2.14
                deferred_from_coro(engine.close_spider_async(reason=FAILED))
            elif crawler.spider is not None:
                engine.close_spider(crawler.spider, reason=FAILED)

    async def close(self) -> None:
        """Complete the last file, and sync all; Scrapy waits for this when the spider is closed. Raises OSError."""
        try:
            await run_on_thread(self._thread, self._folder.close)
        except OSError:
            self.stats.inc_value("ndcore/warc/errors")
            logger.critical("the web archive could not be completed", exc_info=True)
            raise
        finally:
            self._thread.shutdown(wait=False)


def fetched_response(request: Request, response: Response) -> FetchedResponse:
    """Make the archived form of a response before Scrapy decodes its content.

    Twisted has removed the transfer coding, so Transfer-Encoding is left out and Content-Length is the length of the
    payload. The content coding stays, in the payload and in the head. Scrapy keeps neither the reason phrase nor the case
    of header names; the standard phrase is used.
    """
    phrase = HTTPStatus(response.status).phrase if response.status in set(HTTPStatus) else ""
    fields = [(name, value) for name, value in _list_fields(response.headers)
              if name.lower() not in (b"transfer-encoding", b"content-length")]
    if response.body or response.headers.get("Content-Length") is not None or not _is_bodiless(response.status):
        fields.append((b"Content-Length", str(len(response.body)).encode()))
    head = f"HTTP/1.1 {response.status} {phrase}".rstrip().encode() + b"\r\n" + _join_fields(fields)
    media = (response.headers.get("Content-Type") or b"").decode("latin-1").partition(";")[0].strip().lower()
    truncated = next((why for flag, why in _TRUNCATED.items() if flag in response.flags), "")
    address = None if response.ip_address is None else str(response.ip_address)
    return FetchedResponse(archived_url(request.url), datetime.datetime.now(datetime.UTC), _write_request(request), head,
                           response.body, response.status, media, address, truncated)


def archived_url(url: str) -> str:
    """Strip the fragment and the user name and password from a URL."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))


def _is_bodiless(status: int) -> bool:
    """Tell whether responses of a status have no content (RFC 9110, section 6.4.1)."""
    return status < 200 or status in (204, 304)


def _write_request(request: Request) -> bytes:
    """Write a request as HTTP/1.1, without the headers SECRET."""
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = [(name, value) for name, value in _list_fields(request.headers) if name not in SECRET]
    if not any(name == b"Host" for name, _ in fields):
        fields.insert(0, (b"Host", parts.netloc.rpartition("@")[2].encode()))
    if request.body:
        fields.append((b"Content-Length", str(len(request.body)).encode()))
    return f"{request.method} {target} HTTP/1.1\r\n".encode() + _join_fields(fields) + request.body


def _list_fields(headers: Headers) -> list[tuple[bytes, bytes]]:
    """List the headers of a message, one entry for each value."""
    return [(name, value) for name, values in headers.items() for value in values]


def _join_fields(fields: list[tuple[bytes, bytes]]) -> bytes:
    """Write headers as the rest of a head, with line ends in values removed."""
    lines = [name + b": " + value.replace(b"\r", b" ").replace(b"\n", b" ") for name, value in fields]
    return b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def _read_size(settings: BaseSettings) -> int:
    """Read NDCORE_WARC_SIZE: a number of bytes, or a size such as "512M"."""
    size = settings.get("NDCORE_WARC_SIZE", SIZE)
    if isinstance(size, str) and not size.isdigit():
        try:
            return parsed_size(size)
        except ValueError as error:
            raise ValueError(f"NDCORE_WARC_SIZE: {error}") from None
    return checked_int("NDCORE_WARC_SIZE", int(size) if isinstance(size, str) else size, 1)
