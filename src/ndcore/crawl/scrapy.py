"""Near-duplicates in Scrapy: an item pipeline that tags or drops, middlewares that hold back links, a web archive.

An add-on brings all of them into a project (docs/crawlers.md)::

    ADDONS = {"ndcore.crawl.scrapy.NearDuplicateAddon": 500}
    NDCORE_STORE = "pages.store"
    NDCORE_WARC = "crawl/"          # only if responses shall be archived

Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling", 2007, §1, DOI 10.1145/1242572.1242592.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from ndcore.crawl.crawl_archive import CrawlArchive, archive_of
from ndcore.crawl.crawl_store import TURN, USE, WAITS, CrawlStore, crawl_store

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

__all__ = [
    "ArchiveMiddleware", "HeldLinksMiddleware", "NearDuplicateAddon", "NearDuplicateMiddleware", "NearDuplicatePipeline",
]

FOLLOW = "ndcore_follow"  # key of Request.meta: such a request is never held back, nor dropped by rules of URLs
LINK = "ndcore_link"  # key of Request.meta: it is a link of a page, to which rules of URLs may apply
GONE, MOVED = (404, 410), (301, 308)  # statuses of pages that no longer exist, and of permanent redirects
LAST = 1_000_000  # subtracted from the priority of a request that waits

logger = logging.getLogger("ndcore.crawl")


class NearDuplicateAddon:
    """Add-on that adds `NearDuplicatePipeline`, `NearDuplicateMiddleware` and `HeldLinksMiddleware` to a project.

    With the setting NDCORE_WARC it also adds `ArchiveMiddleware`. A component that the project's own settings name keeps
    its place.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components, as Scrapy requires of an add-on."""
        archive = [("DOWNLOADER_MIDDLEWARES", ArchiveMiddleware, 950)] if settings.get("NDCORE_WARC") else []
        for name, component, place in (
            ("ITEM_PIPELINES", NearDuplicatePipeline, 300),
            ("SPIDER_MIDDLEWARES", NearDuplicateMiddleware, 100),  # after those that drop links: too deep, too long
            ("DOWNLOADER_MIDDLEWARES", HeldLinksMiddleware, 60),  # after the one that refuses other sites
            *archive,  # next to the network: before redirects, caches and decompression
        ):
            path = f"{component.__module__}.{component.__qualname__}"
            if not {component, path} & set(settings[name]):
                settings[name][path] = place


class Component:
    """A component that Scrapy makes from a class in its settings. All components of a crawler share one store."""

    def __init__(self, store: CrawlStore) -> None:
        self.store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the component of a crawler, as Scrapy does."""
        return cls(crawl_store(crawler))


class NearDuplicateMiddleware(Component):
    """Spider middleware that decides on each page once, and holds back the links of near-duplicates.

    It also records in the store that pages that moved permanently (301, 308) are gone; see `HeldLinksMiddleware`.

    The links of a page are held back if this crawl has followed the links of a page with nearly the same text, no farther
    from the start. Links are requests by GET, except for the page itself, and without ``meta={"ndcore_follow": True}``.
    They wait until no other links of their host are left; then `HeldLinksMiddleware` decides on each. Settings:
    `CrawlSettings`. Items go on to `NearDuplicatePipeline` with the verdict on their page.

    Notes
    -----
    Manku et al. (2007), §1, do not follow the links of a near-duplicate, since they lead to copies of the pages that its
    representative links to. If they do not, pages would be lost: similar products, for example, each with its own manual.
    So some links are followed (`HeldLinks`), and the number of contents that stay unseen is estimated when the spider is
    closed.

    The canonical URL of a page is only a hint: anybody can write it, and many sites name their start page on every page. So
    it never decides a verdict. But if the store has the URL and the text is a duplicate as well, two independent signs
    agree, and links are held back even below NDCORE_MIN_DEPTH and NDCORE_MIN_CHARS. Otherwise it has no effect.
    """

    def __init__(self, store: CrawlStore) -> None:
        super().__init__(store)
        self.archive: CrawlArchive | None = None
        needed = store.settings.held == "drop" or store.settings.rules
        if needed and not store.has_turns:  # Scrapy makes downloader middlewares first
            logger.warning("DOWNLOADER_MIDDLEWARES has no ndcore.crawl.scrapy.HeldLinksMiddleware: links that are held back "
                           "are all requested in the end, and rules of URLs drop none; name it there, or use the add-on "
                           "NearDuplicateAddon")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the component of a crawler, as Scrapy does."""
        made = super().from_crawler(crawler)
        made.archive = archive_of(crawler)
        return made

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """Decide on the page, then pass on the items and requests of the spider, except links that are held back."""
        from scrapy import Request

        redirects = (response.meta.get(f"redirect_{name}", ()) for name in ("urls", "reasons"))
        for url, reason in zip(*redirects, strict=False):
            if reason in MOVED:
                await self.store.gone(url)
        decided = await self.store.page(response)
        if decided is not None and self.archive is not None:
            await self.archive.note(response, decided.verdict)
        depth = int(response.meta.get("depth", 0))
        if response.request is not None and 200 <= response.status < 300:
            self.store.learn(response.request, decided)
            if self.store.settings.rules:
                await self.store.learn_rules(response, decided, depth)
        holds = decided is not None and self.store.holds_links(decided, depth)
        if holds:
            self.store.stats.inc_value("ndcore/links/pages")
        async for each in result:
            if isinstance(each, Request):
                passed = self._pass_link(each, response, holds=holds)
                if passed is not None:
                    yield passed
            else:
                if decided is not None:
                    self.store.remember(each, decided)
                yield each
        if decided is not None and not holds:
            self.store.links_followed(decided, depth)

    def _pass_link(self, request: Request, response: Response, *, holds: bool) -> Request | None:
        """Return the request to pass on for a link of a page; None if it waits already."""
        turn = response.meta.get(TURN)
        for mark in (WAITS, TURN, LINK, USE):  # a spider may pass on the meta of its response
            request.meta.pop(mark, None)
        is_link = request.method == "GET" and request.url != response.url and not request.meta.get(FOLLOW)
        if is_link and self.store.settings.rules and not request.dont_filter:
            request.meta[LINK] = True
        if not (is_link and holds):
            self.store.let_go(request)
            return request
        if not self.store.hold(request):
            return None
        last = request.replace(priority=request.priority - LAST)
        last.meta[WAITS] = turn
        return last


class HeldLinksMiddleware(Component):
    """Downloader middleware that decides on each held link at its turn (`HeldLinks`).

    Before that, with NDCORE_RULES, it drops links to known pages according to rules of URLs (`CrawlRules`). It also records
    in the store which pages are gone, by status 404 or 410: `Store.locate` no longer names them. A dropped link is not
    requested; its errback, if any, is called with IgnoreRequest.
    """

    def __init__(self, store: CrawlStore) -> None:
        super().__init__(store)
        store.has_turns = True

    async def process_request(self, request: Request, spider: Any = None) -> None:
        """Let a request pass, or raise IgnoreRequest for a dropped link."""
        from scrapy.exceptions import IgnoreRequest

        if request.meta.pop(LINK, False) and await self.store.drop_by_rules(request):
            raise IgnoreRequest("a link to a page that the crawl has, by rules of URLs")
        if WAITS not in request.meta:
            return
        await self.store.catch_up()
        if not self.store.take_turn(request):
            raise IgnoreRequest("a link of a near-duplicate, like others that led to nothing new")

    async def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        """Record in the store that a page is gone, and learn that a link led to an error.

        `NearDuplicateMiddleware` handles other responses.
        """
        if not 200 <= response.status < 300:
            self.store.learn(request, None, failed=True)
            if response.status in GONE:
                await self.store.gone(request.url)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        """Learn that a link led to no response: no server answered, or another middleware refused it."""
        self.store.learn(request, None, failed=True)


class ArchiveMiddleware:
    """Downloader middleware that writes every response to a web archive, as the server sent it (`ArchiveFolder`).

    It must be nearest to the network, beyond Scrapy's middlewares for redirects (600), caches (900) and decompression
    (590): there, a response still has its content coding. A payload that equals an earlier one byte for byte becomes a
    revisit record; a near-duplicate is written in full, and `NearDuplicateMiddleware` adds its verdict as a metadata
    record. Settings: NDCORE_WARC, NDCORE_WARC_SIZE. It needs no store.
    """

    def __init__(self, archive: CrawlArchive) -> None:
        self.archive = archive

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the component of a crawler, as Scrapy does."""
        return cls(CrawlArchive(crawler))

    async def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        """Write the response, and pass it on unchanged."""
        await self.archive.add(request, response)
        return response


class NearDuplicatePipeline(Component):
    """Item pipeline that tags items with the verdict on their page, or drops near-duplicates.

    With `NearDuplicateMiddleware`, an item gets the verdict on its page. Without it, the text of the item is decided under
    its URL (NDCORE_TEXT_FIELD, NDCORE_URL_FIELD). The verdict is stored in the field NDCORE_FIELD as a dict of plain
    values; items of a class without that field are passed on untagged, which is logged once. Items without a verdict are
    passed on unchanged.
    """

    def __init__(self, store: CrawlStore) -> None:
        super().__init__(store)
        store.has_pipeline = True
        self._untagged = False

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        """Tag an item, or raise DropItem if it is a duplicate that NDCORE_DROP selects."""
        from itemadapter import ItemAdapter
        from scrapy.exceptions import DropItem

        settings, stats = self.store.settings, self.store.stats
        fields = ItemAdapter(item)
        decided = self.store.recall(item)
        if decided is None:
            url, text = fields.get(settings.url_field), fields.get(settings.text_field)
            if isinstance(url, str) and isinstance(text, (str, bytes)):
                decided = await self.store.item(url, text)
        if decided is None:
            stats.inc_value("ndcore/items/undecided")
            return item
        verdict = decided.verdict
        if verdict.verdict in settings.drop:
            stats.inc_value("ndcore/items/dropped")
            raise DropItem(f"{verdict.verdict} duplicate of {verdict.of!s}")
        try:
            fields[settings.field] = verdict.as_dict()
        except (KeyError, AttributeError, TypeError, ValueError):
            stats.inc_value("ndcore/items/untagged")
            if not self._untagged:
                logger.warning("items of %s have no field %r for the verdict; declare it, or set NDCORE_FIELD to one that "
                               "they have", type(item).__name__, settings.field)
                self._untagged = True
        else:
            stats.inc_value("ndcore/items/tagged")
        return item
