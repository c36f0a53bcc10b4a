"""A real crawl of a real server with mirrors, session ids, a calendar, printer versions and a trap, with and without ndcore.

With ndcore, every content is still reached, by fewer requests. The site is small: most held links are followed to learn what
they lead to.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sites
from benches import imported
from crawled_site import CrawledSite

from ndcore.store.store import Store

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

pytestmark = pytest.mark.slow

[crawling] = imported("crawling")
BASIC: dict[str, Any] = {**crawling.SETTINGS, "DEPTH_LIMIT": 5, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
WITH_NDCORE = {
    "ADDONS": {"ndcore.crawl.scrapy.NearDuplicateAddon": 500}, "NDCORE_SAMPLE": 20,  # of some hundreds of links
}


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    with sites.serving(CrawledSite()) as server:
        yield server


def crawl(site: Any, folder: Path, **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]], list[tuple[str, str]]]:
    """Crawl the site: stats, items, and (content, URL) of every request."""
    site.asked.clear()
    items = folder / "items.jsonl"
    items.unlink(missing_ok=True)
    given = BASIC | {"start": site.starts(), "FEEDS": {str(items): {"format": "jsonlines"}}} | more
    command = [sys.executable, "-c", crawling.SPIDER, json.dumps(given)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and not re.search("ndcore[./]crawl", done.stderr), done.stderr
    lines = items.read_text(encoding="utf-8").splitlines() if items.exists() else []
    return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in lines], list(site.asked)


def follow_all(server: Any) -> list[tuple[str | None, str]]:
    """Follow all links as a crawl without ndcore does, but without a network; return (content, URL) of every request."""
    requests, pages = list[tuple[str | None, str]](), server.starts()
    seen = set(pages)
    for _ in range(BASIC["DEPTH_LIMIT"] + 1):
        answers = [(url, answer) for url in pages if (answer := server.site.answer(url)) is not None]
        requests += [(answer.content, url) for url, answer in answers]
        links = dict.fromkeys(link for url, answer in answers for link in sites.links_of(url, answer))
        pages = [link for link in links if link not in seen]
        seen.update(pages)
    return requests


@pytest.fixture(scope="module")
def plain(site: Any, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Return the requests of a crawl without ndcore."""
    return crawl(site, tmp_path_factory.mktemp("plain"))[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the crawl that `judged` returns, and of its store."""
    return tmp_path_factory.mktemp("judged")


@pytest.fixture(scope="module")
def judged(site: Any, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[tuple[str, str]]]:
    """Crawl with ndcore."""
    return crawl(site, folder, **WITH_NDCORE, NDCORE_STORE=str(folder / "store"))


def contents(requests: list[tuple[str, str]]) -> set[str]:
    """Return the distinct contents of requests."""
    return {content for content, _ in requests}


def test_requests_are_saved_and_no_page_is_lost(plain, judged):
    stats, _, requests = judged
    assert contents(requests) == contents(plain)  # lost: none
    assert len(requests) < len(plain) * 0.95
    assert stats["ndcore/links/held"] == stats["ndcore/links/followed"] + stats["ndcore/links/dropped"]
    assert stats["ndcore/links/dropped"] > 0 and stats["ndcore/links/pages"] > 0
    assert stats["ndcore/links/unseen"] == stats["ndcore/links/unseen_low"] == 0 < stats["ndcore/links/unseen_high"]
    assert stats["ndcore/canonical/confirmed"] > 0 and stats["ndcore/canonical/contradicted"] == 1
    assert "ndcore/errors" not in stats


def test_a_third_of_the_requests_is_enough_where_there_are_many(tmp_path):
    """A shop: session ids on every page, and a manual behind each of its products, which look alike."""
    shop = type("SmallShop", (sites.Shop,), {"categories": 4, "goods": 10})()
    with sites.serving(shop) as server:
        everything = follow_all(server)
        stats, _, requests = crawl(server, tmp_path, **{**WITH_NDCORE, "NDCORE_SAMPLE": 300},
                                   NDCORE_STORE=str(tmp_path / "store"))
    assert len(contents(requests)) >= 0.97 * len(contents(everything))  # which links are followed is by chance
    assert len(requests) < len(everything) / 3
    repeated, all_repeated = (len(each) - len(contents(each)) for each in (requests, everything))
    assert repeated < all_repeated / 3 and stats["ndcore/links/new"] >= 35


def test_rules_of_urls_save_requests_and_lose_nothing(tmp_path):
    """All links are followed but those that rules drop: a session id changes nothing in a shop. Both hosts learn it."""
    shop = type("SmallShop", (sites.Shop,), {"categories": 8, "goods": 10, "depth": 4})()
    with sites.serving(shop) as server:
        stats, _, requests = crawl(server, tmp_path, **WITH_NDCORE, NDCORE_STORE=str(tmp_path / "store"), NDCORE_HELD="last",
                                   NDCORE_RULES=True, DEPTH_LIMIT=shop.depth)
        expected = shop.contents(server.starts()[0])
    assert contents(requests) >= expected and len(expected) > 160
    assert stats["ndcore/rules/used"] >= 1 and stats["ndcore/rules/wrong"] == stats["ndcore/rules/unseen"] == 0
    assert stats["ndcore/rules/dropped"] > 300 and stats["ndcore/rules/checked"] > 10 and "ndcore/errors" not in stats
    assert stats["ndcore/rules/dropped"] + len(requests) <= stats["scheduler/dequeued"]


def test_every_item_has_its_verdict(judged, folder):
    stats, items, requests = judged
    assert len(items) == len(requests) == stats["item_scraped_count"] == stats["ndcore/items/tagged"]
    verdicts = Counter(item["ndcore"]["verdict"] for item in items)
    assert verdicts == {name.split("/")[2]: count for name, count in stats.items() if name.startswith("ndcore/pages/")}
    content_of = {url: content for content, url in requests}
    for item in items:
        assert item["ndcore"]["key"] == item["url"]
        if item["ndcore"]["of"] is not None and not content_of[item["url"]].startswith("hub"):
            assert content_of[item["ndcore"]["of"]] == content_of[item["url"]]
    with Store.open(folder / "store", read_only=True) as store:
        assert len(store) == len({item["url"] for item in items})
        assert store.settings.keys == "url"
        assert store.check() == []


def test_later_crawls_with_the_same_store_reach_everything(site, plain, judged, folder, tmp_path):
    """Links are held back only where the links of the cluster were followed in the same crawl."""
    store = shutil.copytree(folder / "store", tmp_path / "store")
    stats, _, requests = crawl(site, tmp_path, **WITH_NDCORE, NDCORE_STORE=str(store))
    assert contents(requests) == contents(plain)
    assert len(requests) < len(plain) * 0.95
    assert stats["ndcore/versions/unchanged"] >= 0.9 * len({url for _, url in judged[2]} & {url for _, url in requests})
    mirror = [f"http://127.0.0.1:{site.port}/mirror/"]  # few of its pages represent their clusters
    requests = crawl(site, tmp_path, **WITH_NDCORE, NDCORE_STORE=str(store), start=mirror)[2]
    assert contents(requests) == contents(plain)


def test_depth_first_with_another_reactor_and_items_dropped(site, plain, tmp_path):
    """Without settings Scrapy goes depth first: copies far from the start come before the pages near it."""
    stats, items, requests = crawl(
        site, tmp_path, **WITH_NDCORE, NDCORE_STORE=str(tmp_path / "store"), NDCORE_DROP=True, DEPTH_PRIORITY=0,
        TWISTED_REACTOR="twisted.internet.selectreactor.SelectReactor",
        SCHEDULER_DISK_QUEUE="scrapy.squeues.PickleLifoDiskQueue", SCHEDULER_MEMORY_QUEUE="scrapy.squeues.LifoMemoryQueue")
    assert contents(requests) == contents(plain)
    assert len(requests) < len(plain) * 0.95
    assert {item["ndcore"]["verdict"] for item in items} == {"kept"}
    assert stats["ndcore/items/dropped"] == stats["item_dropped_count"] > 0
    assert len(items) == stats["ndcore/pages/kept"] and "ndcore/errors" not in stats


def test_a_crawl_that_pauses_goes_on_with_its_held_links(site, plain, tmp_path):
    """What waits is in the queue of the job, and what is known of it in its state."""
    job = {**WITH_NDCORE, "NDCORE_STORE": str(tmp_path / "store"), "JOBDIR": str(tmp_path / "job")}
    first, _, before = crawl(site, tmp_path, **job, CLOSESPIDER_PAGECOUNT=70)
    assert first["finish_reason"] == "closespider_pagecount" and contents(before) != contents(plain)
    stats, _, after = crawl(site, tmp_path, **job)
    assert stats["finish_reason"] == "finished" and contents(before + after) == contents(plain)
    assert stats["ndcore/links/dropped"] > 0 and len(before + after) < len(plain) * 0.95


def test_links_may_come_last_instead(site, plain, tmp_path):
    """With NDCORE_HELD="last" a crawl that goes on to its end saves nothing and loses nothing."""
    stats, _, requests = crawl(site, tmp_path, **WITH_NDCORE, NDCORE_STORE=str(tmp_path / "store"), NDCORE_HELD="last")
    assert contents(requests) == contents(plain)
    assert stats["ndcore/links/held"] > 0 and len(requests) > len(plain) * 0.9
