"""The middleware and the pipeline alone: which requests pass, which items are tagged, dropped or left alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

import scrapy
from crawled_site import prose
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from ndcore.crawl.scrapy import NearDuplicateMiddleware, NearDuplicatePipeline

TEXT = prose("a page", 90)


@pytest.fixture
def components(tmp_path):
    """Return a function that makes the middleware and the pipeline of one crawler with settings."""
    made = []

    def make(**settings: object) -> tuple[NearDuplicateMiddleware, NearDuplicatePipeline]:
        crawler = get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / str(len(made))), **settings})
        made.append(NearDuplicateMiddleware.from_crawler(crawler))
        return made[-1], NearDuplicatePipeline.from_crawler(crawler)

    yield make
    for middleware in made:
        asyncio.run(middleware.store.close())


def page(url: str, text: str = TEXT, depth: int = 3) -> HtmlResponse:
    request = scrapy.Request(url, meta={"depth": depth})
    return HtmlResponse(url, body=f"<html><body><p>{text}</p></body></html>".encode(), request=request)


def output(middleware: NearDuplicateMiddleware, response: HtmlResponse, *results: Any) -> list[Any]:
    """Return what passes of the results of a spider."""
    async def given() -> AsyncIterator[Any]:
        for each in results:
            yield each

    async def collect() -> list[Any]:
        return [each async for each in middleware.process_spider_output(response, given())]

    return asyncio.run(collect())


def process(pipeline: NearDuplicatePipeline, item: Any) -> Any:
    return asyncio.run(pipeline.process_item(item))


def test_links_of_a_near_duplicate_are_held_back(components):
    middleware, _ = components()
    links = [scrapy.Request(f"http://a.example/{i}") for i in range(3)]
    item = {"name": "x"}
    assert output(middleware, page("http://a.example/"), *links, item) == [*links, item]
    assert output(middleware, page("http://b.example/"), *links, item) == [item]
    stats = middleware.store.stats
    assert stats.get_value("ndcore/links/held") == 3 and stats.get_value("ndcore/links/pages") == 1


def test_what_is_not_a_link_passes(components):
    middleware, _ = components()
    output(middleware, page("http://a.example/"))
    form = scrapy.Request("http://b.example/form", method="POST", body=b"x")
    again = scrapy.Request("http://b.example/", dont_filter=True)
    marked = scrapy.Request("http://b.example/list/2", meta={"ndcore_follow": True})
    link = scrapy.Request("http://b.example/2")
    assert output(middleware, page("http://b.example/"), form, again, marked, link) == [form, again, marked]


def test_links_come_last(components):
    middleware, _ = components(NDCORE_HELD="last")
    output(middleware, page("http://a.example/"))
    link = scrapy.Request("http://b.example/2", priority=7, meta={"x": 1})
    [held] = output(middleware, page("http://b.example/"), link)
    assert held.url == link.url and held.meta["x"] == 1 and held.priority < -100_000


def test_a_page_without_a_verdict_is_followed(components, monkeypatch):
    middleware, pipeline = components()
    output(middleware, page("http://a.example/"))
    monkeypatch.setattr(middleware.store._store, "decide", None)
    link, item = scrapy.Request("http://b.example/2"), {"name": "x"}
    assert output(middleware, page("http://b.example/"), link, item) == [link, item]
    assert process(pipeline, item) == {"name": "x"}
    assert middleware.store.stats.get_value("ndcore/items/undecided") == 1


def test_a_page_whose_spider_failed_counts_as_not_followed(components):
    middleware, _ = components()

    async def failing() -> AsyncIterator[Any]:
        yield scrapy.Request("http://a.example/2")
        raise RuntimeError("a fault of the spider")

    async def collect() -> list[Any]:
        return [each async for each in middleware.process_spider_output(page("http://a.example/"), failing())]

    with pytest.raises(RuntimeError):
        asyncio.run(collect())
    link = scrapy.Request("http://b.example/2")
    assert output(middleware, page("http://b.example/"), link) == [link]


def test_items_are_tagged_with_the_verdict_on_their_page(components):
    middleware, pipeline = components()
    for host, verdict in (("a", "kept"), ("b", "identical")):
        [item] = output(middleware, page(f"http://{host}.example/"), {"name": "x"})
        tagged = process(pipeline, item)
        assert tagged is item and tagged["ndcore"]["verdict"] == verdict
        assert tagged["ndcore"]["key"] == f"http://{host}.example/"
    assert tagged["ndcore"]["of"] == "http://a.example/" and tagged["ndcore"]["resemblance"] == 1.0
    assert middleware.store.stats.get_value("ndcore/pages/kept") == 1  # the pipeline decided nothing again


@dataclass
class Declared:
    name: str
    verdict: dict[str, Any] = field(default_factory=dict)


@dataclass
class Undeclared:
    name: str


class Item(scrapy.Item):
    verdict = scrapy.Field()


def test_items_of_classes(components, caplog):
    middleware, pipeline = components(NDCORE_FIELD="verdict")
    given = [Declared("a"), Item(), Undeclared("b"), Undeclared("c")]
    one, two, three, four = output(middleware, page("http://a.example/"), *given)
    assert process(pipeline, one).verdict["verdict"] == process(pipeline, two)["verdict"]["verdict"] == "kept"
    with caplog.at_level(logging.WARNING):
        assert process(pipeline, three) == Undeclared("b") and process(pipeline, four) == Undeclared("c")
    assert caplog.text.count("no field 'verdict'") == 1
    assert middleware.store.stats.get_value("ndcore/items/untagged") == 2


def test_near_duplicates_are_dropped(components):
    middleware, pipeline = components(NDCORE_DROP="near")
    near = TEXT.rsplit(" ", 3)[0] + " another end"
    for host, text in (("a", TEXT), ("b", TEXT), ("c", near)):
        [item] = output(middleware, page(f"http://{host}.example/", text), {"host": host})
        if host == "c":
            with pytest.raises(DropItem, match=r"near duplicate of http://a\.example/"):
                process(pipeline, item)
        else:
            assert process(pipeline, item)["host"] == host


def test_the_pipeline_alone_decides_the_texts_of_items(tmp_path):
    given = {"NDCORE_STORE": str(tmp_path / "store"), "NDCORE_TEXT_FIELD": "body", "NDCORE_DROP": True}
    crawler = get_crawler(settings_dict=given)
    pipeline = NearDuplicatePipeline.from_crawler(crawler)
    assert process(pipeline, {"url": "http://a.example/", "body": TEXT})["ndcore"]["verdict"] == "kept"
    with pytest.raises(DropItem):
        process(pipeline, {"url": "http://b.example/", "body": TEXT})
    again = process(pipeline, {"url": "http://a.example/", "body": TEXT})
    assert again["ndcore"]["version"] == "unchanged"
    for item in ({"url": "http://c.example/"}, {"body": TEXT}, {"url": None, "body": 7}):
        assert process(pipeline, dict(item)) == item
    assert crawler.stats.get_value("ndcore/items/undecided") == 3
    asyncio.run(pipeline.store.close())
