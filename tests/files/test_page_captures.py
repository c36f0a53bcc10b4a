"""Captures of pages by URL and date, whatever the order of the archives."""

from __future__ import annotations

import base64
import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
from webarchives import INFO, REQUEST, arc, gz, html, http, save, warc

from ndcore.files.discovery import find
from ndcore.files.errors import DocumentError
from ndcore.files.page_captures import PageCaptures

pytest.importorskip("resiliparse", reason="the extra web is not installed")

Captured = list[tuple[str, str, Any]]


def digest(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def page(url: str, day: int, text: str, **more: str) -> bytes:
    return warc("response", http(html(text)), f"http://example.org/{url}", WARC_Date=f"2024-05-{day:02}T10:00:00Z",
                Content_Type="application/http; msgtype=response", **more)


def revisit(url: str, day: int, text: str) -> bytes:
    return warc("revisit", b"HTTP/1.1 200 OK\r\n\r\n", f"http://example.org/{url}", WARC_Date=f"2024-05-{day:02}T10:00:00Z",
                Content_Type="application/http; msgtype=response", WARC_Payload_Digest=digest(html(text)))


def answer(url: str, day: int, status: str) -> bytes:
    return warc("response", http(b"", status=status), f"http://example.org/{url}", WARC_Date=f"2024-05-{day:02}T10:00:00Z",
                Content_Type="application/http; msgtype=response")


def read(*paths: Path, on_error: str = "stop") -> tuple[Captured, PageCaptures]:
    """Read captures as (URL, day, text), "gone" or None."""
    with PageCaptures(find([str(path) for path in paths]), html=None, threads=1, on_error=on_error) as captures:
        captures.collect(lambda *_: None)
        listed = [(capture.url.rpartition("/")[2], f"{capture.date:%d}", "gone" if text is None else text.text)
                  for capture, text in captures]
    return listed, captures


def test_captures_come_by_url_and_date(tmp_path: Path) -> None:
    records = [page(url, day, f"{url} on {day}") for url in ("a", "b") for day in range(1, 10)]
    random.Random(1).shuffle(records)
    for part in range(3):
        save(tmp_path / f"{part}.warc.gz", [INFO, REQUEST, *records[part::3]], "gz")
    listed, captures = read(tmp_path)
    assert listed == [(url, f"{day:02}", f"{url} on {day}") for url in ("a", "b") for day in range(1, 10)]
    assert captures.kinds == {"warcinfo": 3, "request": 3}


@pytest.mark.parametrize("stated", ["", "base32", "hex"])
def test_a_revisit_has_the_text_that_it_refers_to(tmp_path: Path, stated: str) -> None:
    """Of another page and a later file too, in whatever form digests are; a response that states none is digested."""
    base32 = digest(html("text"))
    in_hex = "sha1:" + base64.b32decode(base32.partition(":")[2]).hex()
    more = {"WARC_Payload_Digest": in_hex if stated == "hex" else base32} if stated else {}
    save(tmp_path / "1.warc.gz", [revisit("a", 2, "text"), page("a", 1, "first"), revisit("c", 1, "text")], "gz")
    save(tmp_path / "2.warc", [page("b", 1, "text", **more)])
    assert read(tmp_path)[0] == [("a", "01", "first"), ("a", "02", "text"), ("b", "01", "text"), ("c", "01", "text")]


def test_a_revisit_of_nothing_is_unknown(tmp_path: Path) -> None:
    """Its URL must have a text; a URL without any is counted as no page."""
    save(tmp_path / "1.warc.gz", [revisit("a", 2, "lost"), page("a", 1, "first"), revisit("c", 1, "lost")], "gz")
    listed, captures = read(tmp_path)
    assert listed == [("a", "01", "first"), ("a", "02", None)]
    assert captures.kinds == {"revisit": 1}


def test_pages_that_are_gone(tmp_path: Path) -> None:
    records = [answer("a", 1, "404 Not Found"), page("a", 2, "here"), answer("a", 3, "301 Moved"), answer("a", 4, "503 No"),
               answer("b", 1, "410 Gone"), answer("a", 5, "302 Found")]
    save(tmp_path / "1.warc.gz", records, "gz")
    listed, captures = read(tmp_path)
    assert listed == [("a", "01", "gone"), ("a", "02", "here"), ("a", "03", "gone")]
    assert captures.kinds == {"response, gone": 1, "response, status 503": 1, "response, status 302": 1}


def test_an_index_names_the_captures(tmp_path: Path) -> None:
    records = [page("a", 1, "one"), page("a", 2, "two"), page("b", 1, "three")]
    (tmp_path / "x").mkdir()
    save(tmp_path / "x" / "1.warc.gz", records, "gz")
    sizes = [len(gz(record)) for record in records]
    lines = [f'k 20240501 {{"filename": "1.warc.gz", "offset": {sum(sizes[:i])}, "length": {sizes[i]}}}\n' for i in (1, 0)]
    (tmp_path / "x" / "a.cdxj").write_text("".join(lines))
    listed, _ = read(tmp_path / "x" / "a.cdxj")
    assert listed == [("a", "01", "one"), ("a", "02", "two")]


def test_arc_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.arc").write_bytes(arc("http://example.org/a", http(html("old"))))
    (tmp_path / "notes.txt").write_text("no archive")
    listed, captures = read(tmp_path)
    assert listed == [("a", "03", "old")]
    assert [item.kind for item in captures.ignored] == ["not a web archive"]


def test_records_that_are_compressed_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(gz(page("a", 1, "one") + page("a", 2, "two")))
    with pytest.raises(DocumentError, match="compressed together"):
        read(tmp_path)


def test_broken_records_stop_or_are_listed(tmp_path: Path) -> None:
    bad = warc("response", http(b"\x1f\x8bno gzip", Content_Encoding="gzip"), "http://example.org/a",
               Content_Type="application/http")
    undated = page("a", 1, "x").replace(b"WARC-Date", b"Nothing")
    save(tmp_path / "a.warc.gz", [page("a", 1, "one"), bad, undated], "gz")
    with pytest.raises(DocumentError, match="it has no date"):
        read(tmp_path)
    listed, captures = read(tmp_path, on_error="skip")
    assert listed == [("a", "01", "one")]
    assert [item.number for item in captures.rejected] == [3, 2]
    assert "it has no date" in captures.rejected[0].reason and "its gzip coding is damaged" in captures.rejected[1].reason


def test_a_record_that_is_too_long_is_no_text(tmp_path: Path) -> None:
    save(tmp_path / "a.warc.gz", [page("a", 1, "word " * 9000), page("a", 2, "short")], "gz")
    inputs = find([str(tmp_path)])
    inputs.limit(20_000)
    with PageCaptures(inputs, html=None, threads=1, on_error="skip") as captures:
        captures.collect(lambda *_: None)
        assert [capture.line for capture, _ in captures] == [2]
    assert "longer than 20,000 bytes" in captures.rejected[0].reason


def test_nothing(tmp_path: Path) -> None:
    save(tmp_path / "a.warc.gz", [INFO], "gz")
    assert read(tmp_path)[0] == []
