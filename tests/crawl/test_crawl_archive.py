"""Web archives of crawls with Scrapy: what a server sent is what is written, and verdicts are beside it."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("fastwarc", reason="the extra web is not installed")

import scrapy
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.utils.test import get_crawler
from sites import prose
from webarchives import html, read_entries

from ndcore.crawl.crawl_archive import CrawlArchive, archive_of, fetched_response
from ndcore.crawl.scrapy import ArchiveMiddleware
from ndcore.files.archive_folder import INDEX
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments

TEXT = prose("a page", 200)
PAGES = {  # path -> body, before compression
    "/plain": html(TEXT), "/packed": html(TEXT), "/chunked": html(TEXT), "/near": html(TEXT + " and two words"),
    "/other": html(prose("another", 200)), "/again": html(TEXT), "/form": html(prose("form", 90)),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        if path == "/":
            links = "".join(f'<a href="{each}">x</a>' for each in [*PAGES, "/moved", "/gone"])
            self.answer(200, f"<html><body>{links}</body></html>".encode())
        elif path == "/moved":
            self.answer(301, b"", Location="/other")
        elif path not in PAGES:
            self.answer(404, b"nothing")
        elif path == "/packed":
            self.answer(200, gzip.compress(PAGES[path], mtime=0), Content_Encoding="gzip")
        elif path == "/chunked":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGES[path]), PAGES[path]))
        else:
            self.answer(200, PAGES[path])

    do_POST = do_HEAD = do_GET

    def answer(self, status: int, body: bytes, **fields: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()


SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "spider"

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, self.page, priority=-len(href), meta=response.meta)
        yield scrapy.Request(response.urljoin("/form"), self.page, method="POST", body="a=1",
                             headers={"Authorization": "secret"})
        yield scrapy.Request(response.urljoin("/plain?head"), self.page, method="HEAD")

    def page(self, response):
        yield {"url": response.url}

given = json.loads(sys.argv[1])
Spider.start_urls = given.pop("start")
process = CrawlerProcess(given)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({name: value for name, value in stats.items() if isinstance(value, (int, float, str))}))
"""


def crawl(server: str, folder: Path, before: str = "", **more: Any) -> tuple[dict[str, Any], str]:
    """Crawl the server; return the statistics and the log. `before` is code that runs before the spider."""
    given = {
        "start": [f"{server}/#top"], "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "CONCURRENT_REQUESTS": 1,
        "ADDONS": {"ndcore.crawl.scrapy.NearDuplicateAddon": 500}, "NDCORE_WARC": str(folder / "warc"), **more,
    }
    (folder / "spider.py").write_text(before + SPIDER)
    done = subprocess.run([sys.executable, "spider.py", json.dumps(given)], cwd=folder, capture_output=True, text=True,
                          timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def records(folder: Path) -> list[tuple[dict[str, str], bytes]]:
    entries = [entry for path in sorted((folder / "warc").glob("*.warc.gz")) for entry in read_entries(str(path))]
    return [(entry.head.fields, entry.content) for entry in entries if entry.head]


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


@pytest.fixture(scope="module")
def crawled(server: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], list[str]]:
    """Crawl twice into one folder."""
    folder = tmp_path_factory.mktemp("crawled")
    runs = [crawl(server, folder, NDCORE_STORE=str(folder / "store")) for _ in range(2)]
    return folder, [stats for stats, _ in runs], [log for _, log in runs]


@pytest.mark.slow
def test_every_response_is_written_as_the_server_sent_it(crawled, server) -> None:
    folder, (stats, _), (log, _) = crawled
    assert "Traceback" not in log, log
    first = json.loads(next((folder / "warc" / INDEX).open()).split(" ", 2)[2])["filename"]
    entries = [entry for entry in read_entries(str(folder / "warc" / first)) if entry.head]
    written = {entry.head.fields["warc-target-uri"].removeprefix(server): (entry.head.fields, entry.content)
               for entry in entries if entry.head and entry.head.kind in ("response", "revisit")}
    assert written.keys() >= {"/", *PAGES, "/moved", "/gone"}
    assert "/plain?head" not in written and stats["ndcore/warc/left_out"] == 1
    fields, block = written["/packed"]
    head, payload = block.split(b"\r\n\r\n", 1)
    assert payload == gzip.compress(PAGES["/packed"], mtime=0)
    assert b"\r\nContent-Encoding: gzip" in head and b"\r\nContent-Length: %d" % len(payload) in head
    assert fields["warc-payload-digest"] == sha1(payload)
    head, payload = written["/chunked"][1].split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding" not in head and b"\r\nContent-Length: %d" % len(PAGES["/chunked"]) in head
    assert written["/moved"][1].startswith(b"HTTP/1.1 301 Moved Permanently\r\n")
    assert {fields["warc-ip-address"] for fields, _ in written.values()} == {"127.0.0.1"}
    equal = [written[path][0] for path in ("/plain", "/chunked", "/again")]
    assert sorted(fields["warc-type"] for fields in equal) == ["response", "revisit", "revisit"]
    assert {fields["warc-payload-digest"] for fields in equal} == {sha1(html(TEXT))}
    assert stats["ndcore/warc/revisits"] == 2


@pytest.mark.slow
def test_near_duplicates_are_whole_and_have_a_metadata_record(crawled, server) -> None:
    folder, (stats, again), _ = crawled
    by_id = {fields["warc-record-id"]: (fields, block) for fields, block in records(folder)}
    noted = [(by_id[fields["warc-refers-to"]], block.decode()) for fields, block in by_id.values()
             if fields["warc-type"] == "metadata"]
    assert len(noted) == stats["ndcore/warc/verdicts"]
    assert all(fields["warc-type"] == "response" for (fields, _), _ in noted)
    notes = {fields["warc-target-uri"].removeprefix(server): text for (fields, _), text in noted}
    assert len(notes) == 2  # of /near, /packed and the first of the others one is kept
    near = [text for text in notes.values() if "verdict: near" in text]
    assert near and all("resemblance: 0.9" in text and "resemblance-is: exact" in text for text in near)
    assert all(f"near-duplicate-of: {server}/" in text for text in notes.values())
    assert "ndcore/warc/verdicts" not in again  # all revisits


@pytest.mark.slow
def test_the_second_crawl_writes_revisits(crawled, server) -> None:
    folder, (first, second), _ = crawled
    assert second["ndcore/warc/responses"] == 2  # of /moved, which is empty, and of POST
    assert second["ndcore/warc/revisits"] == first["ndcore/warc/revisits"] + first["ndcore/warc/responses"] - 2
    dates = {(fields["warc-target-uri"], fields["warc-date"]): fields["warc-payload-digest"] for fields, _ in records(folder)
             if fields["warc-type"] == "response"}
    revisits = [fields for fields, _ in records(folder) if fields["warc-type"] == "revisit"]
    for fields in revisits:
        referred = fields["warc-refers-to-target-uri"], fields["warc-refers-to-date"]
        assert dates[referred] == fields["warc-payload-digest"]


@pytest.mark.slow
def test_requests_are_written_without_secrets(crawled, server) -> None:
    folder, _, _ = crawled
    requests = [(fields, block) for fields, block in records(folder) if fields["warc-type"] == "request"]
    responses = {fields["warc-record-id"]: fields.get("warc-target-uri") for fields, _ in records(folder)}
    assert all(responses[fields["warc-concurrent-to"]] == fields["warc-target-uri"] for fields, _ in requests)
    [form] = {block for fields, block in requests if block.startswith(b"POST ")}
    assert form.startswith(b"POST /form HTTP/1.1\r\n") and form.endswith(b"\r\nContent-Length: 3\r\n\r\na=1")
    assert b"secret" not in form and b"\r\nHost: 127.0.0.1" in form


@pytest.mark.slow
def test_the_index_and_the_archive_have_the_same_documents(crawled) -> None:
    folder, _, _ = crawled
    read = []
    for path in (folder / "warc" / INDEX, folder / "warc"):
        with FileDocuments(find([str(path)])) as documents:
            texts = [text for batch in documents.batches() for text in batch]
            read.append(sorted(zip(map(str, documents.ids), map(str, texts), strict=True)))
            kinds = documents.kinds(0)
    assert read[0] == read[1] and len(read[0]) > 4
    assert kinds["metadata"] > 0


@pytest.mark.slow
def test_a_crawl_without_a_store_is_archived_too(server, tmp_path: Path) -> None:
    stats, _ = crawl(server, tmp_path, NDCORE_WARC_SIZE="1K")
    assert stats["ndcore/warc/responses"] > 5 and stats["ndcore/warc/revisits"] == 2
    assert len(list((tmp_path / "warc").glob("*.warc.gz"))) > 3
    assert not list((tmp_path / "warc").glob("*.open"))


@pytest.mark.slow
def test_a_crawl_that_cannot_write_is_ended(server, tmp_path: Path) -> None:
    """A disk that is full after 3,000 bytes: the spider is closed with a reason, and what was written is whole."""
    stats, log = crawl(server, tmp_path, f"""
from ndcore.files import archive_folder
append = archive_folder.append
def full(file, data, start):
    if start + len(data) > 3000:
        raise OSError({errno.ENOSPC}, "No space left on device")
    append(file, data, start)
archive_folder.append = full
""")
    assert stats["finish_reason"] == "ndcore_warc_failed"
    assert stats["ndcore/warc/errors"] == 1
    assert "could not be written" in log and "No space left on device" in log
    kinds = [fields["warc-type"] for fields, _ in records(tmp_path)]
    assert kinds[:3] == ["warcinfo", "response", "request"] and len(kinds) % 2 == 1


# ---- one by one


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[CrawlArchive]:
    crawler = get_crawler(settings_dict={"NDCORE_WARC": str(tmp_path / "warc")})
    made = ArchiveMiddleware.from_crawler(crawler)
    assert archive_of(crawler) is made.archive
    yield made.archive
    asyncio.run(made.archive.close())


def test_cached_responses_and_other_protocols_are_left_out(archive: CrawlArchive) -> None:
    request = scrapy.Request("http://example.org/", meta={"ndcore_archived": ("of", "another", None)})
    asyncio.run(archive.add(request, Response(request.url, body=b"x", flags=["cached"])))
    asyncio.run(archive.add(scrapy.Request("file:///etc/hosts"), Response("file:///etc/hosts", body=b"x")))
    assert archive.stats.get_value("ndcore/warc/left_out") == 2
    assert "ndcore_archived" not in request.meta
    asyncio.run(archive.add(request, Response(request.url, body=b"x")))
    assert request.meta["ndcore_archived"][0].startswith("<urn:uuid:")


@pytest.mark.parametrize(("flag", "why"), [("dataloss", "disconnect"), ("partial", "unspecified"), ("other", "")])
def test_truncated_responses_say_so(flag: str, why: str) -> None:
    request = scrapy.Request("http://example.org/")
    assert fetched_response(request, Response(request.url, body=b"x", flags=[flag])).truncated == why


def test_the_head_of_a_response() -> None:
    headers = Headers({"Set-Cookie": ["a=1", "b=2"], "Content-Length": "99", "Transfer-Encoding": "chunked",
                       "X-Odd": b"one\r\nContent-Type: evil", "Content-Type": "Text/HTML; charset=x"})
    response = Response("http://example.org/a", 299, headers, b"body")
    made = fetched_response(scrapy.Request("http://name:password@example.org/a?b#c"), response)
    assert made.head.startswith(b"HTTP/1.1 299\r\n") and made.head.endswith(b"\r\n\r\n")
    assert made.head.count(b"Set-Cookie: ") == 2 and b"Transfer-Encoding" not in made.head
    assert made.head.count(b"Content-Length") == 1 and b"\r\nContent-Length: 4\r\n" in made.head
    assert b"\r\nX-Odd: one  Content-Type: evil\r\n" in made.head
    assert (made.url, made.media) == ("http://example.org/a?b", "text/html")
    assert made.request.startswith(b"GET /a?b HTTP/1.1\r\nHost: example.org\r\n")


@pytest.mark.parametrize(("headers", "host"), [
    ({"User-Agent": "x"}, b"example.org"), ({"User-Agent": "x", "Host": "other.example"}, b"other.example"),
])
def test_a_request_names_one_host(headers: dict[str, str], host: bytes) -> None:
    request = scrapy.Request("http://example.org/", headers=headers)
    made = fetched_response(request, Response(request.url)).request
    lines = made.split(b"\r\n")
    assert [line for line in lines if line.startswith(b"Host")] == [b"Host: " + host]
    assert "Host" in headers or lines[1] == b"Host: " + host  # a Host that was missing comes first, as RFC 9110 asks


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_content_get_no_length(status: int) -> None:
    made = fetched_response(scrapy.Request("http://example.org/"), Response("http://example.org/", status))
    assert b"Content-Length" not in made.head


def test_settings(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="NDCORE_WARC is not set"):
        CrawlArchive(get_crawler())
    for size, reason in ((0, "must be at least 1"), ("much", "'much' is not a size"), (1.5, "must be an int")):
        with pytest.raises((ValueError, TypeError), match=reason):
            CrawlArchive(get_crawler(settings_dict={"NDCORE_WARC": str(tmp_path / "a"), "NDCORE_WARC_SIZE": size}))


def test_two_crawls_into_one_folder(archive: CrawlArchive, tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError, match="give each crawl a folder of its own"):
        CrawlArchive(get_crawler(settings_dict={"NDCORE_WARC": str(tmp_path / "warc")}))
