"""The store of a crawler: pages decided once, links held back, items remembered, errors that stop no crawl."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from sites import prose

from ndcore.crawl.crawl_store import ITEMS, CrawlSettings, CrawlStore, crawl_store
from ndcore.store.store import Store

TEXT = prose("a page", 90)


def page(url: str, text: str = TEXT, head: str = "") -> HtmlResponse:
    return HtmlResponse(url, body=f"<html><head>{head}</head><body><p>{text}</p></body></html>".encode())


@pytest.fixture
def store(tmp_path):
    opened = CrawlStore(get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store")}))
    yield opened
    asyncio.run(opened.close())


def stats(store: CrawlStore) -> dict[str, int]:
    found = store.stats.get_stats().items()
    return {name.removeprefix("ndcore/"): value for name, value in found if name.startswith("ndcore")}


def test_pages_are_decided_in_their_order(store):
    async def decide():
        return await asyncio.gather(*(store.page(page(f"http://a.example/{i}", prose(str(i // 2), 60))) for i in range(8)))

    verdicts = [decided.verdict for decided in asyncio.run(decide())]
    assert [verdict.verdict for verdict in verdicts] == ["kept", "identical"] * 4
    assert [verdict.cluster for verdict in verdicts] == [f"http://a.example/{i // 2 * 2}" for i in range(8)]
    assert stats(store) == {"pages/kept": 4, "pages/identical": 4}


def test_versions_and_what_is_not_a_page_are_counted(store):
    async def decide():
        await store.page(page("http://a.example/"))
        await store.page(page("http://a.example/", TEXT.replace(" ", "  ")))
        return await store.page(Response("http://a.example/picture"))

    assert asyncio.run(decide()) is None
    assert stats(store) == {"pages/kept": 2, "versions/unchanged": 1, "responses_without_text": 1}


def test_an_error_stops_no_crawl(store, monkeypatch, caplog):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store._store, "decide", fail)
    with caplog.at_level(logging.ERROR):
        assert asyncio.run(store.page(page("http://a.example/"))) is None
    assert stats(store) == {"errors": 1} and "http://a.example/" in caplog.text
    monkeypatch.undo()
    assert asyncio.run(store.page(page("http://a.example/"))).verdict.kept


def test_links_are_held_back_where_the_cluster_was_followed_no_deeper(store):
    async def decide():
        return [await store.page(page(f"http://{host}.example/")) for host in "abc"]

    first, copy, other = asyncio.run(decide())
    assert not store.holds_links(first, 2)
    assert not store.holds_links(copy, 2)  # nobody has followed the links of the first yet
    store.links_followed(first, 2)
    assert not store.holds_links(first, 3)  # a page is never held back for itself
    assert store.holds_links(copy, 2) and store.holds_links(other, 3)
    assert not store.holds_links(copy, 1)  # nearer to the start: more can be reached from here
    store.links_followed(copy, 1)
    assert store.holds_links(other, 1)
    assert not store.holds_links(other, 0)


def test_short_pages_and_start_pages_need_a_second_witness(store):
    hint = '<link rel="canonical" href="http://a.example/">'

    async def decide():
        return [await store.page(page(f"http://{host}.example/", "Please choose.", head))
                for host, head in (("a", ""), ("b", ""), ("c", hint))]

    first, copy, confirmed = asyncio.run(decide())
    store.links_followed(first, 0)
    assert not store.holds_links(copy, 5)
    assert store.holds_links(confirmed, 0)
    assert stats(store)["canonical/confirmed"] == 1


def test_a_canonical_url_alone_is_no_verdict(store):
    wrong = '<link rel="canonical" href="http://a.example/">'
    unknown = '<link rel="canonical" href="http://unknown.example/">'

    async def decide():
        given = [(TEXT, ""), (prose("b", 60), wrong), (prose("b", 60), unknown)]
        return [await store.page(page(f"http://{host}.example/", *each)) for host, each in zip("abc", given, strict=True)]

    first, lying, third = asyncio.run(decide())
    store.links_followed(first, 0)
    assert lying.verdict.kept and not lying.confirmed and not store.holds_links(lying, 9)
    assert third.verdict.of == "http://b.example/" and not third.names_stored
    assert stats(store)["canonical/contradicted"] == 1


def test_items_are_remembered_once_and_not_for_ever(store):
    decided = asyncio.run(store.page(page("http://a.example/")))
    item = {"url": "x"}
    store.remember(item, decided)
    assert store.recall(item) is None  # there is no pipeline
    store.has_pipeline = True
    store.remember(item, decided)
    assert store.recall({"url": "x"}) is None  # another item
    assert store.recall(item) is decided and store.recall(item) is None
    many = [{} for _ in range(ITEMS + 5)]
    for each in many:
        store.remember(each, decided)
    assert len(store._items) == ITEMS
    assert store.recall(many[4]) is None and store.recall(many[5]) is decided


def test_a_crawler_has_one_store(tmp_path):
    crawler = get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store")})
    store = crawl_store(crawler)
    assert crawl_store(crawler) is store
    with pytest.raises(NotConfigured):
        crawl_store(get_crawler())
    with pytest.raises(OSError):  # another crawler cannot write to it meanwhile
        crawl_store(get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store")}))
    asyncio.run(store.close())
    del store, crawler
    gc.collect()
    with Store.open(tmp_path / "store") as again:
        assert len(again) == 0


def test_decisions_are_put_on_disk_from_time_to_time(tmp_path, monkeypatch):
    store = CrawlStore(get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store"), "NDCORE_FLUSH_SECONDS": 0}))
    flushed = []
    monkeypatch.setattr(store._store, "flush", lambda: flushed.append(True))
    asyncio.run(store.page(page("http://a.example/")))
    assert flushed == [True]
    monkeypatch.undo()
    asyncio.run(store.close())


def test_a_function_of_the_user_gives_the_text(tmp_path):
    def text(response: HtmlResponse) -> str | None:
        return response.xpath("string(//p)").get() or None

    store = CrawlStore(get_crawler(settings_dict={"NDCORE_STORE": str(tmp_path / "store"), "NDCORE_TEXT": text}))
    assert asyncio.run(store.page(page("http://a.example/", "the text"))).chars == 8
    assert asyncio.run(store.page(page("http://a.example/2", ""))) is None
    asyncio.run(store.close())


def test_crawlers_in_several_processes_share_a_store(tmp_path):
    """Here two crawlers of one process talk to it through its socket."""
    path = str(tmp_path / "store")
    settings = {"NDCORE_STORE": path, "NDCORE_SHARED": True}
    with Store.open(path, keys="url") as opened:
        with pytest.raises(ConnectionError):
            CrawlStore(get_crawler(settings_dict=settings))
        with opened.listen():
            one, two = (CrawlStore(get_crawler(settings_dict=settings)) for _ in range(2))
            hint = '<link rel="canonical" href="http://a.example/">'
            assert asyncio.run(one.page(page("http://a.example/"))).verdict.kept
            copy = asyncio.run(two.page(page("http://b.example/", TEXT, hint)))
            assert copy.verdict.of == "http://a.example/" and copy.confirmed
            assert not two.holds_links(copy, 9)  # this crawler has not followed the links of the other page
            asyncio.run(one.close())
            asyncio.run(two.close())
        assert len(opened) == 2


def test_crawlers_on_other_computers_ask_a_service(tmp_path, monkeypatch):
    writing = pytest.importorskip("writing")
    store = writing.make_store(tmp_path / "store", keys="url")
    tokens, serving = writing.make_tokens(tmp_path / "tokens"), writing.Serving(store, tmp_path / "tokens")
    settings = {"NDCORE_STORE": serving.url}
    try:
        monkeypatch.delenv("NDCORE_TOKEN", raising=False)
        with pytest.raises(ValueError, match="NDCORE_TOKEN"):
            CrawlStore(get_crawler(settings_dict=settings))
        monkeypatch.setenv("NDCORE_TOKEN", tokens["all"])
        one, two = (CrawlStore(get_crawler(settings_dict=settings)) for _ in range(2))
        hint = '<link rel="canonical" href="http://a.example/">'
        assert asyncio.run(one.page(page("http://a.example/"))).verdict.kept
        copy = asyncio.run(two.page(page("http://b.example/", TEXT, hint)))
        assert copy.verdict.of == "http://a.example/" and copy.confirmed
        asyncio.run(two.gone("http://a.example/"))
        assert stats(two)["pages/gone"] == 1
        asyncio.run(one.close())
        asyncio.run(two.close())
    finally:
        serving.end()
    with Store.open(store) as opened:
        assert len(opened) == 2 and opened.locate("http://a.example/") == "http://b.example/"


@pytest.mark.parametrize("given", [["http://a.example", "http://b.example"], "http://b.example, http://a.example"])
def test_crawlers_ask_the_shard_of_each_host(tmp_path, monkeypatch, given):
    fleet = pytest.importorskip("writing").Fleet(tmp_path, monkeypatch)
    monkeypatch.setenv("NDCORE_TOKEN", "x")
    crawled = CrawlStore(get_crawler(settings_dict={"NDCORE_STORE": given}))
    urls = [f"http://{fleet.host_at(name)}/" for name in "abc"]
    hint = f'<link rel="canonical" href="{urls[0]}">'
    decided = [asyncio.run(crawled.page(page(url, TEXT, hint))) for url in urls]
    assert [each.verdict.verdict for each in decided] == ["kept"] * 3 and decided[2].names_stored
    again = asyncio.run(crawled.page(page(f"{urls[1]}copy")))
    assert again.verdict.of == urls[1]
    asyncio.run(crawled.gone(urls[2]))
    assert stats(crawled)["pages/gone"] == 1
    asyncio.run(crawled.close())
    assert [len(shard.store) for shard in fleet.shards.values()] == [1, 2, 1]
    fleet.close()


def test_pages_that_no_parser_reads_are_counted_and_named(store, caplog):
    caplog.set_level(logging.INFO, "ndcore.crawl")
    url = "http://a.example/deep"
    decided = asyncio.run(store.page(HtmlResponse(url, body=b"<div>" * 16_000 + TEXT.encode())))
    asyncio.run(store.page(page("http://a.example/flat")))
    assert decided.by_tags
    assert stats(store) == {"pages/kept": 1, "pages/lexical": 1, "pages_by_tags": 1}
    assert [record.getMessage().partition(">")[0] for record in caplog.records] == [f"<{url}"]


def read(**given: object) -> CrawlSettings:
    return CrawlSettings.of(Settings({"NDCORE_STORE": "no/such/folder", **given}))


def test_without_a_store_the_component_is_left_out():
    with pytest.raises(NotConfigured, match="NDCORE_STORE"):
        CrawlSettings.of(Settings())


def test_defaults():
    settings = read()
    assert (settings.store, settings.drop, settings.field) == ("no/such/folder", frozenset(), "ndcore")
    assert (settings.min_depth, settings.min_chars, settings.held, settings.part) == (1, 300, "drop", "page")
    assert settings.options == {"keys": "url"} and settings.text is None


def test_the_settings_of_a_store_that_exists_are_taken_from_it(tmp_path):
    (tmp_path / "manifest").write_text("{}")
    assert read(NDCORE_STORE=str(tmp_path)).options == {}
    assert read(NDCORE_STORE=str(tmp_path), NDCORE_OPTIONS={"keys": "plain"}).options == {"keys": "plain"}


def test_a_shared_store_has_the_settings_of_its_process():
    assert read(NDCORE_SHARED="1").shared and read(NDCORE_SHARED="1").options == {}


def test_rules_of_urls_are_on_or_off():
    assert [read(**given).rules for given in ({}, {"NDCORE_RULES": "0"}, {"NDCORE_RULES": "True"})] == [False, False, True]


def test_options_of_a_new_store():
    settings = read(NDCORE_THRESHOLD="0.9", NDCORE_OPTIONS='{"keys": "plain", "evidence": "sketch"}')
    assert settings.options == {"keys": "plain", "evidence": "sketch", "threshold": 0.9}


@pytest.mark.parametrize("given, dropped", [
    (True, {"identical", "lexical", "shingle", "near"}), ("1", {"identical", "lexical", "shingle", "near"}), (False, set()),
    ("False", set()), ("identical,near", {"identical", "near"}), (["lexical"], {"lexical"}), ([], set()),
])
def test_verdicts_to_drop(given, dropped):
    assert read(NDCORE_DROP=given).drop == dropped


def test_the_text_may_be_a_function_or_its_path():
    assert read(NDCORE_TEXT=len).text is len
    assert read(NDCORE_TEXT="textwrap.dedent").text.__name__ == "dedent"


@pytest.mark.parametrize("given, message", [
    ({"NDCORE_DROP": "identical,kept"}, "NDCORE_DROP has 'kept'"), ({"NDCORE_HELD": "never"}, "NDCORE_HELD"),
    ({"NDCORE_RULES": "same"}, "NDCORE_RULES is 'same'; accepted: True or False"),
    ({"NDCORE_RULES": ["a"]}, "NDCORE_RULES is"), ({"NDCORE_SHARED": "perhaps"}, "NDCORE_SHARED is 'perhaps'"),
    ({"NDCORE_PART": "head"}, "NDCORE_PART"), ({"NDCORE_MIN_CHARS": -1}, "NDCORE_MIN_CHARS is -1"),
    ({"NDCORE_OPTIONS": {"read_only": True}}, "a crawl writes"),
    ({"NDCORE_SHARED": True, "NDCORE_THRESHOLD": 0.9}, "threshold; the process"),
    ({"NDCORE_STORE": "https://a.example:8765", "NDCORE_OPTIONS": {"keys": "url"}}, "an address.*keys; the process"),
])
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read(**given)
