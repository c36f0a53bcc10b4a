"""The middleware and the pipeline alone: which requests pass, which items are tagged, dropped or left alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

import scrapy
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler
from sites import prose

from ndcore.crawl.crawl_rules import CrawlRules
from ndcore.crawl.crawl_store import TURN, USE, WAITS
from ndcore.crawl.scrapy import LINK, HeldLinksMiddleware, NearDuplicateAddon, NearDuplicateMiddleware, NearDuplicatePipeline

TEXT = prose("a page", 90)


@pytest.fixture
def components(tmp_path):
    """Return a function that makes the middleware and the pipeline of one crawler with settings."""
    made = []

    def make(**settings: object) -> tuple[NearDuplicateMiddleware, NearDuplicatePipeline]:
        crawler = get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / str(len(made))), **settings})
        HeldLinksMiddleware.from_crawler(crawler)
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


def turns(middleware: NearDuplicateMiddleware, *requests: scrapy.Request) -> list[scrapy.Request]:
    """Give requests their turn; return those that are not dropped. Each is answered by an error."""
    passed, turning = [], HeldLinksMiddleware(middleware.store)
    for request in requests:
        with contextlib.suppress(IgnoreRequest):
            asyncio.run(turning.process_request(request))
            passed.append(request)
            if len(passed) % 2:
                asyncio.run(turning.process_response(request, Response(request.url, status=500)))
            else:
                turning.process_exception(request, OSError())
    return passed


def test_links_of_a_near_duplicate_wait(components):
    middleware, _ = components()
    links = [scrapy.Request(f"http://a.example/{i}", priority=7, meta={"x": 1}) for i in range(3)]
    item = {"name": "x"}
    assert output(middleware, page("http://a.example/"), *links, item) == [*links, item]
    *held, other = output(middleware, page("http://b.example/"), *links, item)
    assert [request.url for request in held] == [request.url for request in links] and other is item
    assert all(request.meta == {"x": 1, WAITS: None} and request.priority < -100_000 for request in held)
    assert output(middleware, page("http://c.example/"), *links) == []  # they wait already
    stats = middleware.store.stats
    assert stats.get_value("ndcore/links/held") == 3 and stats.get_value("ndcore/links/pages") == 2


def test_a_link_that_a_page_with_new_content_has_too_is_followed(components):
    middleware, _ = components(NDCORE_SAMPLE=1)
    links = [scrapy.Request(f"http://a.example/{i}") for i in range(1000)]
    output(middleware, page("http://a.example/"))
    held = output(middleware, page("http://b.example/"), *links)
    again = output(middleware, page("http://c.example/", prose("other", 90)), links[900])
    assert again == [links[900]] and WAITS not in again[0].meta
    passed = turns(middleware, *held)
    assert held[900] in passed and len(passed) < 50
    stats = middleware.store.stats
    assert stats.get_value("ndcore/links/followed") == len(passed) - 1 == 999 - stats.get_value("ndcore/links/dropped")


def test_what_a_link_led_to_is_learned(components):
    """Two links lead to new content, one to a copy, one to no page, which counts as new, and one to an error."""
    middleware, _ = components()
    output(middleware, page("http://a.example/"))
    links = [scrapy.Request(f"http://a.example/{i}", meta={"depth": 4}) for i in range(5)]
    held = output(middleware, page("http://b.example/"), *links)
    for request, text in zip(held, (prose("one", 90), TEXT, prose("two", 90), "picture", "error"), strict=True):
        asyncio.run(HeldLinksMiddleware(middleware.store).process_request(request))
        assert WAITS not in request.meta and len(request.meta[TURN][2]) == 1
        response = page(request.url, text)
        if text in ("picture", "error"):
            response = Response(request.url, status=200 if text == "picture" else 500)
        response.request = request
        [child] = output(middleware, response, scrapy.Request(f"{request.url}/child", meta=request.meta))
        assert TURN not in child.meta  # a spider that hands on the meta of its response does not hand on the turn
        assert child.meta.get(WAITS) == (request.meta[TURN] if text == TEXT else None)  # of a copy it is held back, too
    assert middleware.store.stats.get_value("ndcore/links/new") == 3
    assert turns(middleware, scrapy.Request("http://a.example/other")) != []  # did not wait


def test_a_page_that_is_gone_is_located_no_more(components, tmp_path):
    middleware, _ = components()
    for host in "ab":
        output(middleware, page(f"http://{host}.example/"))
    turning = HeldLinksMiddleware(middleware.store)
    for url, status in (("http://b.example/", 410), ("http://c.example/", 404), ("http://a.example/", 500)):
        response = Response(url, status=status)
        assert asyncio.run(turning.process_response(scrapy.Request(url), response)) is response
    assert middleware.store.stats.get_value("ndcore/pages/gone") == 1
    assert middleware.store._store.locate("http://b.example/") == "http://a.example/"


def test_a_page_that_moved_is_located_no_more(components):
    """Where a redirect is for ever; a page that leads to itself by one is there."""
    middleware, _ = components()
    for host in "abc":
        output(middleware, page(f"http://{host}.example/"))
    moved = page("http://d.example/", prose("other", 90))
    moved.meta.update(redirect_urls=["http://c.example/", "http://b.example/"], redirect_reasons=[301, 302])
    output(middleware, moved)
    assert middleware.store._store.locate("http://a.example/") == "http://b.example/"
    itself = page("http://b.example/")
    itself.meta.update(redirect_urls=["http://b.example/"], redirect_reasons=[308])
    output(middleware, itself)
    assert middleware.store._store.locate("http://a.example/") == "http://b.example/"
    assert middleware.store.stats.get_value("ndcore/pages/gone") == 2


def test_an_error_of_the_store_stops_no_crawl(components, monkeypatch, caplog):
    middleware, _ = components()
    monkeypatch.setattr(middleware.store._store, "mark_gone", None)
    asyncio.run(HeldLinksMiddleware(middleware.store).process_response(
        scrapy.Request("http://a.example/"), Response("http://a.example/", status=404)))
    assert middleware.store.stats.get_value("ndcore/errors") == 1
    assert "<http://a.example/> is gone, and the store could not be told" in caplog.text


def test_a_request_that_the_scheduler_refuses_waits_no_more(components):
    middleware, _ = components()
    output(middleware, page("http://a.example/"))
    [held] = output(middleware, page("http://b.example/"), scrapy.Request("http://a.example/1"))
    middleware.store._drop_request(held)
    assert middleware.store.stats.get_value("ndcore/links/held") == 0
    assert len(output(middleware, page("http://c.example/"), scrapy.Request("http://a.example/1"))) == 1


def test_without_turns_a_warning_names_what_is_missing(tmp_path, caplog):
    crawler = get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store")})
    with caplog.at_level(logging.WARNING):
        middleware = NearDuplicateMiddleware.from_crawler(crawler)
    assert caplog.text.count("DOWNLOADER_MIDDLEWARES has no ndcore.crawl.scrapy.HeldLinksMiddleware") == 1
    asyncio.run(middleware.store.close())


def test_with_turns_there_is_no_warning(components, caplog):
    with caplog.at_level(logging.WARNING):
        components()
    assert "HeldLinksMiddleware" not in caplog.text


def with_rules(middleware: NearDuplicateMiddleware, goods: int = 160) -> None:
    """Crawl pages of a host with and without a session id, until a rule is in use."""
    middleware.store.rules = CrawlRules(salt=b"salt")
    for i in range(goods):
        for url in (f"http://a.example/item/{i}", f"http://a.example/item/{i}?sid={i}"):
            output(middleware, page(url, prose(f"item {i}", 40)))
    assert middleware.store.stats.get_value("ndcore/rules/used") == 1


def links_of(middleware: NearDuplicateMiddleware, *requests: scrapy.Request) -> list[Any]:
    """Return what passes of links of a page with new content at the start."""
    start = page(f"http://a.example/new/{id(requests)}", prose(str(id(requests)), 60), depth=9)
    passed = output(middleware, start, *requests)
    for request in passed:
        request.meta["depth"] = 10  # as Scrapy's middleware sets it
    return passed


def test_links_are_dropped_by_rules(components):
    middleware, _ = components(NDCORE_RULES=True)
    with_rules(middleware)
    links = links_of(middleware, *(scrapy.Request(f"http://a.example/item/{i}?sid=new") for i in range(160)))
    assert len(links) == 160 and all(request.meta[LINK] for request in links)
    passed = turns(middleware, *links)
    stats = middleware.store.stats
    assert len(passed) < 20 and stats.get_value("ndcore/rules/dropped") == 160 - len(passed)
    assert passed and all(USE in request.meta and LINK not in request.meta for request in passed)
    checked, before = passed[0], stats.get_value("ndcore/rules/checked")
    response = page(checked.url, prose("another", 40))
    response.request = checked
    [child] = output(middleware, response, scrapy.Request("http://a.example/child", meta=checked.meta))
    assert stats.get_value("ndcore/rules/checked") == before + 1 and stats.get_value("ndcore/rules/wrong") == 1
    assert USE not in child.meta and child.meta[LINK]


def test_what_rules_never_drop(components):
    middleware, _ = components(NDCORE_RULES=True)
    with_rules(middleware)
    urls = [f"http://a.example/item/{i}?sid=new" for i in range(40)]
    requests = [*(scrapy.Request(url, meta={"ndcore_follow": True}) for url in urls),
                *(scrapy.Request(url, dont_filter=True) for url in urls),
                *(scrapy.Request(url, method="POST") for url in urls)]
    assert turns(middleware, *links_of(middleware, *requests)) == requests
    inline = [scrapy.Request(url, meta={"depth": 10}) for url in urls]  # by the engine, not a link of a page
    assert turns(middleware, *inline) == inline
    nearer = [scrapy.Request(url, meta={"depth": 2, LINK: True}) for url in urls]
    assert turns(middleware, *nearer) == nearer


def test_a_link_that_rules_apply_to_waits_no_more(components):
    """Dropped or fetched by a rule, it is none of the held links: their sample stays one of what they decide on."""
    middleware, _ = components(NDCORE_RULES=True)
    with_rules(middleware)
    output(middleware, page("http://b.example/", TEXT, depth=9))
    links = [scrapy.Request(f"http://a.example/item/{i}?sid=new") for i in range(100)]
    held = output(middleware, page("http://b.example/copy", TEXT, depth=9), *links, scrapy.Request("http://a.example/other"))
    assert len(held) == 101 and all(WAITS in request.meta for request in held)
    for request in held:
        request.meta["depth"] = 10
    passed = turns(middleware, *held)
    stats = middleware.store.stats
    assert stats.get_value("ndcore/links/held") == stats.get_value("ndcore/links/followed") == 1
    assert passed[-1].url == "http://a.example/other" and TURN in passed[-1].meta and USE not in passed[-1].meta
    assert not middleware.store._held.waiting and 0 < len(passed) < 25


def test_redirects_teach_rules(components):
    """A URL that leads to another one has the content of that."""
    middleware, _ = components(NDCORE_RULES=True)
    for i in range(160):
        response = page(f"http://a.example/item/{i}", prose(f"item {i}", 40))
        response.meta.update(redirect_urls=[f"http://a.example/item/{i}?sid={i}"], redirect_reasons=[302])
        output(middleware, response)
    names = {str(trial.rule) for _, trial in middleware.store.rules.iterate_trials()}
    assert names == {"the parameter sid changes nothing"}


def test_without_rules_nothing_is_marked(components):
    middleware, _ = components()
    with pytest.raises(AssertionError):
        with_rules(middleware)
    assert all(request.meta == {"depth": 10} for request in links_of(middleware, scrapy.Request("http://a.example/x")))


def test_rules_are_logged_at_the_end(components, caplog):
    middleware, _ = components(NDCORE_RULES=True)
    with_rules(middleware)
    turns(middleware, *links_of(middleware, *(scrapy.Request(f"http://a.example/item/{i}?sid=new") for i in range(160))))
    with caplog.at_level(logging.INFO):
        asyncio.run(middleware.store.close())
    middleware.store.close = no_more  # type: ignore[method-assign]
    assert "of 1 rule of URLs that were tried 1 are in use, 0 were refuted and 0 withdrawn; " in caplog.text
    assert "http://a.example: the parameter sid changes nothing (used; right for 9" in caplog.text
    assert middleware.store.stats.get_value("ndcore/rules/unseen") == 0
    assert middleware.store.stats.get_value("ndcore/rules/unseen_high") > 0


async def no_more() -> None:
    """Close a store that is closed."""


def test_the_account_is_logged_at_the_end(components, caplog):
    middleware, _ = components()
    output(middleware, page("http://a.example/"))
    held = output(middleware, page("http://b.example/"), *(scrapy.Request(f"http://a.example/{i}") for i in range(4)))
    turns(middleware, *held[:3])
    with caplog.at_level(logging.INFO):
        asyncio.run(middleware.store.close("shutdown"))
    middleware.store.close = no_more  # type: ignore[method-assign]
    assert "of 3 held links 3 were followed and 0 led to new content; none was dropped; up to 1 more wait" in caplog.text


def test_an_add_on_names_the_components_once():
    own = {"ndcore.crawl.scrapy.NearDuplicatePipeline": 777}
    crawler = get_crawler(settings_dict={
        "ADDONS": {NearDuplicateAddon: 500}, "ITEM_PIPELINES": own, "SPIDER_MIDDLEWARES": {NearDuplicateMiddleware: 5}})
    assert crawler.settings.getdict("ITEM_PIPELINES") == own
    assert crawler.settings.getdict("SPIDER_MIDDLEWARES") == {NearDuplicateMiddleware: 5}
    assert crawler.settings.getdict("DOWNLOADER_MIDDLEWARES") == {"ndcore.crawl.scrapy.HeldLinksMiddleware": 60}


def test_what_is_not_a_link_passes(components):
    middleware, _ = components()
    output(middleware, page("http://a.example/"))
    form = scrapy.Request("http://b.example/form", method="POST", body=b"x")
    again = scrapy.Request("http://b.example/", dont_filter=True)
    marked = scrapy.Request("http://b.example/list/2", meta={"ndcore_follow": True})
    link = scrapy.Request("http://b.example/2")
    *passed, last = output(middleware, page("http://b.example/"), form, again, marked, link)
    assert passed == [form, again, marked] and WAITS in last.meta


def test_links_come_last(components):
    """NDCORE_HELD="last": each is followed when its turn has come."""
    middleware, _ = components(NDCORE_HELD="last", NDCORE_SAMPLE=1)
    output(middleware, page("http://a.example/"))
    held = output(middleware, page("http://b.example/"), *(scrapy.Request(f"http://b.example/{i}") for i in range(200)))
    assert turns(middleware, *held) == held and all(request.priority < -100_000 for request in held)


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
