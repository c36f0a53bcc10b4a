"""Crawls of generated sites by Scrapy alone and with ndcore, to the same depth: requests, and the contents that are reached.

Required, else the exit code is 1: with ndcore and its defaults at least 99 of 100 of the contents that Scrapy alone reaches,
by at most half of its requests. Each site is crawled with opaque URLs, too, which tell nothing of what they lead to: 98 of
100 by fewer requests, and no share of the calendar, whose events then lie behind months that are all alike.
The sites are in tests/sites.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from measure import Report, program, say

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import sites

SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

class Spider(scrapy.Spider):
    name = "spider"
    links = LinkExtractor()

    def parse(self, response):
        yield {"url": response.url}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)

given = json.loads(sys.argv[1])
Spider.start_urls = given.pop("start")
process = CrawlerProcess(given)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({name: value for name, value in stats.items() if isinstance(value, (int, float, str))}))
"""
SETTINGS = {
    "DEPTH_PRIORITY": 1, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue", "TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "WARNING",
    "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "DOWNLOAD_DELAY": 0, "RETRY_ENABLED": False,
}
LEAST = {False: 0.99, True: 0.98}  # share of the contents; True: opaque URLs
MOST = {False: 0.5, True: 1.0}  # share of the requests


def crawl(site: sites.Site, **more: Any) -> tuple[list[tuple[str | None, str]], dict[str, float], float]:
    """Crawl a site; return what was asked for, the statistics of held links, and the seconds."""
    with sites.serving(site) as server, tempfile.TemporaryDirectory() as folder:
        given = {**SETTINGS, "DEPTH_LIMIT": site.depth, "start": server.starts(), **more}
        begin = time.perf_counter()
        command = [sys.executable, "-c", SPIDER, json.dumps(given)]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
        return server.asked, json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - begin


def ask(report: Report, given: Namespace) -> None:
    """Crawl each site with plain and with opaque URLs."""
    table = report.table("crawling", "Generated sites, crawled by Scrapy alone and with ndcore to the same depth", [
        "site", "URLs", "contents", "requests, Scrapy alone", "requests, with ndcore", "share", "contents reached",
        "held links", "dropped", "unseen, estimate", "95 %"])
    for name, kind in list(sites.SITES.items())[: 1 if given.quick else None]:
        for opaque in (False, True):
            site = sites.Opaque(kind()) if opaque else kind()
            everything, _, alone = crawl(site)
            asked, links, seconds = crawl(
                site, ADDONS={"ndcore.crawl.scrapy.NearDuplicateAddon": 500}, NDCORE_STORE="pages.store")
            contents = {content for content, _ in everything} - {None}
            reached = {content for content, _ in asked} & contents
            share, requests = len(reached) / len(contents), len(asked) / len(everything)
            what = f"{name}, {'opaque' if opaque else 'plain'} URLs"
            report.require(share >= LEAST[opaque] or (opaque and name == "calendar"), f"{what}: {share:.3f} reached")
            report.require(requests <= MOST[opaque], f"{what}: {requests:.2f} of the requests")
            table.add(name, "opaque" if opaque else "plain", len(contents), len(everything), len(asked), requests, share,
                      links["ndcore/links/held"], links["ndcore/links/dropped"], links["ndcore/links/unseen"],
                      f"{links['ndcore/links/unseen_low']}–{links['ndcore/links/unseen_high']}")
            say(f"{what}: {len(everything):,} and {len(asked):,} requests in {alone:.0f} and {seconds:.0f} s")


if __name__ == "__main__":
    program("crawling", ask, __doc__)
