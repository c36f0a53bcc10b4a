"""Crawl with crawlee, and do not follow the links of near-duplicates (Manku, Jain, Das Sarma 2007, §1).

    pip install 'ndcore[store,web]' 'crawlee[parsel]'
    python examples/crawlee_store.py pages.store http://127.0.0.1:8000/

The store decides each page as it comes, on a thread of its own (`adecide`), and remembers the pages for the next crawl.
"""

import asyncio
import sys

from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from resiliparse.extract.html2text import extract_plain_text

import ndcore as nd


async def crawl(path: str, start: list[str]) -> None:
    """Crawl from these pages with the store at `path`, which is created if there is none."""
    followed: dict[str, int] = {}  # key of a cluster -> least depth at which this crawl followed the links of a member
    crawler = ParselCrawler(max_crawl_depth=5)

    with nd.Store.open(path, keys="url") as store:

        @crawler.router.default_handler
        async def handle(context: ParselCrawlingContext) -> None:
            url, depth = context.request.loaded_url or context.request.url, context.request.crawl_depth
            html = (await context.http_response.read()).decode("utf-8", "replace")
            text = extract_plain_text(html)
            verdict = await store.adecide(url, text)
            await context.push_data(verdict.as_dict())
            judged = depth >= 1 and len(text) >= 300  # start pages and short pages are followed in any case
            if verdict.kept or not judged or followed.get(verdict.cluster, depth + 1) > depth:
                followed[verdict.cluster] = min(depth, followed.get(verdict.cluster, depth))
                await context.enqueue_links(strategy="all")
            print(f"{url}: {verdict.verdict}" + (f" of {verdict.of}" if verdict.of else ""))

        await crawler.run(start)
        print(store)


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], sys.argv[2:]))
