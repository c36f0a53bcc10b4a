"""Near-duplicates in Scrapy: an item pipeline that tags or drops, and a spider middleware that holds links back.

Both are named in the settings of a project (docs/crawlers.md)::

    ITEM_PIPELINES = {"ndcore.crawl.scrapy.NearDuplicatePipeline": 300}
    SPIDER_MIDDLEWARES = {"ndcore.crawl.scrapy.NearDuplicateMiddleware": 950}
    NDCORE_STORE = "pages.store"

Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling", 2007, §1, DOI 10.1145/1242572.1242592.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from ndcore.crawl.crawl_store import CrawlStore, crawl_store

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["NearDuplicateMiddleware", "NearDuplicatePipeline"]

FOLLOW = "ndcore_follow"  # key of Request.meta: such a request is never held back
LAST = 1_000_000  # taken from the priority of a request that comes last

logger = logging.getLogger("ndcore.crawl")


class NearDuplicateMiddleware:
    """Spider middleware that decides on each page once, and holds back the links of near-duplicates.

    The links of a page are held back where links of a page with nearly the same text were followed in this crawl, no
    farther from the start: requests by GET, but for the page itself, and without ``meta={"ndcore_follow": True}``. Settings:
    `CrawlSettings`. Items go on to `NearDuplicatePipeline` with the verdict on their page.

    Notes
    -----
    Manku et al. (2007), §1: the links of a near-duplicate are not followed. They lead to copies of what its representative
    links to. Where that is not so, pages are lost: lists that share most of their text but not their links, for example.
    Give their requests ``ndcore_follow``, or set NDCORE_HELD to "last": then nothing is lost.

    The canonical URL that a page names is a hint: anybody may write it, and many sites name their start page on every page.
    So it never makes a verdict. Where the store has the URL, and the text is a duplicate as well, two witnesses agree: links
    are held back also below NDCORE_MIN_DEPTH and NDCORE_MIN_CHARS. Otherwise it changes nothing.
    """

    def __init__(self, store: CrawlStore) -> None:
        self.store = store

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware of a crawler, as Scrapy does."""
        return cls(crawl_store(crawler))

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """Decide on the page, then pass on what the spider made of it, without the links that are held back."""
        from scrapy import Request

        decided = await self.store.page(response)
        depth = int(response.meta.get("depth", 0))
        holds = decided is not None and self.store.holds_links(decided, depth)
        if holds:
            self.store.stats.inc_value("ndcore/links/pages")
        async for each in result:
            if isinstance(each, Request):
                passed = self._pass_link(each, response) if holds else each
                if passed is not None:
                    yield passed
            else:
                if decided is not None:
                    self.store.remember(each, decided)
                yield each
        if decided is not None and not holds:
            self.store.links_followed(decided, depth)

    def _pass_link(self, request: Request, response: Response) -> Request | None:
        """Return the request to pass on for a link of a near-duplicate; None: it is held back."""
        if request.method != "GET" or request.url == response.url or request.meta.get(FOLLOW):
            return request
        self.store.stats.inc_value("ndcore/links/held")
        if self.store.settings.held == "drop":
            return None
        return request.replace(priority=request.priority - LAST)


class NearDuplicatePipeline:
    """Item pipeline that tags items with the verdict on their page, or drops near-duplicates.

    With `NearDuplicateMiddleware`, an item has the verdict on the page that it comes from. Without it, the text of the item
    is decided under its URL (NDCORE_TEXT_FIELD, NDCORE_URL_FIELD). The verdict goes to the field NDCORE_FIELD as a dict of
    plain values; items of a class without that field are passed on untagged, which is logged once. Items without a verdict
    are passed on as they are.
    """

    def __init__(self, store: CrawlStore) -> None:
        self.store = store
        store.has_pipeline = True
        self._untagged = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline of a crawler, as Scrapy does."""
        return cls(crawl_store(crawler))

    async def process_item(self, item: Any, spider: Any = None) -> Any:
        """Tag an item, or raise DropItem where it is a duplicate and NDCORE_DROP says so."""
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
