"""Records of archives as documents: payloads, codings, character sets, records that are not documents."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from webarchives import INFO, _zstd, everything, gz, html, http, response, save, texts, warc, words

from ndcore.files import archived_pages

pytest.importorskip("resiliparse", reason="the extra web is not installed")


def chunked(body: bytes) -> bytes:
    return b"5\r\n" + body[:5] + b"\r\n" + f"{len(body) - 5:x};x=y\r\n".encode() + body[5:] + b"\r\n0\r\n\r\n"


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODINGS: dict[str, Any] = {
    "gzip": gz,
    "x-gzip": gz,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": lambda data: pytest.importorskip("brotli").compress(data),
    "zstd": _zstd,
    "identity": bytes,
    "gzip, deflate": lambda data: zlib.compress(gz(data)),
}


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("coding", CODINGS)
def test_codings(tmp_path: Path, coding: str, transfer: bool) -> None:
    body = CODINGS[coding](html(words(1)))
    headers = {"Content-Encoding": coding} | ({"Transfer-Encoding": "chunked"} if transfer else {})
    content = http(chunked(body) if transfer else body, **headers)
    path = save(tmp_path / "a.warc", [warc("response", content, "http://example.org/", Content_Type="application/http")])
    found = everything(path)
    assert found.found == [words(1)]  # type: ignore[attr-defined]
    assert found.decoded_already == 0


@pytest.mark.parametrize("headers", [{"Content-Encoding": name} for name in ("gzip", "br", "deflate", "zstd")]
                         + [{"Transfer-Encoding": "chunked"}])
def test_payloads_that_were_decoded_already(tmp_path: Path, headers: dict[str, str]) -> None:
    found = everything(save(tmp_path / "a.warc", [response(1, **headers), response(2)]))
    assert found.found == [words(1), words(2)]  # type: ignore[attr-defined]
    assert found.decoded_already == 1


def test_brotli_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload that decodes to several pieces is whole; a cut one is damaged, unless the crawler says that it cut it."""
    brotli = pytest.importorskip("brotli")
    monkeypatch.setattr(archived_pages, "_PIECE", 64)
    text = "".join(f"{number} " for number in range(500))
    packed = brotli.compress(html(text))
    kind = {"Content_Type": "application/http"}
    whole, cut = (http(data, **{"Content-Encoding": "br"}) for data in (packed, packed[:-9]))
    records = [warc("response", whole, "http://a.example/", **kind), warc("response", cut, "http://b.example/", **kind),
               warc("response", cut, "http://c.example/", WARC_Truncated="length", **kind)]
    found = everything(save(tmp_path / "a.warc", records))
    first, last = found.found  # type: ignore[attr-defined]
    assert first == text.strip()
    assert text.startswith(last.strip()[:20])
    assert len(last) > 20
    assert [error.number for error in found.rejected] == [2]
    assert "its br coding is damaged: it is not complete" in found.rejected[0].reason


def test_without_brotli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pages in br are rejected."""
    monkeypatch.setitem(sys.modules, "brotli", None)
    found = everything(save(tmp_path / "a.warc", [response(1, **{"Content-Encoding": "br"}), response(2)]))
    assert found.found == [words(2)]  # type: ignore[attr-defined]
    assert [error.reason.partition(": ")[2] for error in found.rejected] == [
        "decoding br needs brotli: pip install 'ndcore[web]'"]


def test_a_long_header_field_is_read(tmp_path: Path) -> None:
    """Fields of HTTP may have any length: policies of content have hundreds of kilobytes."""
    found = everything(save(tmp_path / "a.warc", [response(1, **{"Content-Security-Policy": "x" * 200_000})]))
    assert found.found == [words(1)]  # type: ignore[attr-defined]
    assert not found.rejected


def test_header_fields() -> None:
    lines = [b"HTTP/1.1 200: OK\r", b"A: b:c\r", b"a: d", b"Folded : one\r", b"\t two", b"no field", b"Empty:\r", b"\r", b""]
    fields = archived_pages.header_fields(b"\n".join(lines))
    assert fields == {"a": "b:c", "folded": "one two", "empty": ""}
    assert archived_pages.header_fields(b"L\nA: \xff\n") == {"a": "\xff"}


DAMAGED_PAYLOADS: dict[str, tuple[bytes, dict[str, str]]] = {
    "its gzip coding is damaged": (gz(html(words(1)))[:-12], {"Content-Encoding": "gzip"}),
    "its zstd coding is damaged": (b"\x28\xb5\x2f\xfd12345", {"Content-Encoding": "zstd"}),
    "its br coding is damaged": (b"\xff\xff\xff\xff", {"Content-Encoding": "br"}),
    "its deflate coding is damaged": (zlib.compress(html(words(1)))[:-12], {"Content-Encoding": "deflate"}),
    "its chunked coding is damaged": (chunked(html(words(1)))[:-20], {"Transfer-Encoding": "chunked"}),
    "its coding 'compress' is not one of chunked, gzip": (b"abc", {"Content-Encoding": "compress"}),
}


@pytest.mark.parametrize("reason", DAMAGED_PAYLOADS)
def test_payloads_that_cannot_be_decoded(tmp_path: Path, reason: str) -> None:
    if "zstd" in reason:
        pytest.importorskip("zstandard")
    body, headers = DAMAGED_PAYLOADS[reason]
    broken = warc("response", http(body, **headers), "http://example.org/", Content_Type="application/http")
    found = everything(save(tmp_path / "a.warc", [INFO, broken, response(2)]))
    assert found.found == [words(2)]  # type: ignore[attr-defined]
    [rejected] = found.rejected
    assert rejected.number == 2
    assert rejected.reason.startswith(f"the record at byte {len(INFO):,}: {reason}")


def test_a_payload_that_the_crawler_cut_short(tmp_path: Path) -> None:
    body = gz(html(" ".join(map(words, range(3000)))))
    content = http(body[: len(body) // 2], **{"Content-Encoding": "gzip"})
    for cut in (True, False):
        headers = {"WARC-Truncated": "length"} if cut else {}
        record = warc("response", content, "http://example.org/", Content_Type="application/http", **headers)
        found = texts(save(tmp_path / "a.warc", [record]))
        assert [str(text)[: len(words(0))] for text in found] == [words(0)] * cut


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (response(1, status="301 Moved"), "response, status 301"),
        (response(1, status="404 Not Found"), "response, status 404"),
        (response(1, media="image/png"), "response, image/png"),
        (response(1, media="text/css"), "response, text/css"),
        (response(1, media="\x07"), "response, no media type"),
        (warc("resource", b"%PDF", "http://x.org/", Content_Type="application/pdf"), "resource, application/pdf"),
        (warc("resource", b"x", "dns:x.org", Content_Type="text/dns"), "dns"),
        (warc("revisit", b"", "http://x.org/"), "revisit"),
        (warc("metadata", b"", "http://x.org/"), "metadata"),
        (warc("continuation", b"", "http://x.org/"), "continuation"),
        (warc("\x07", b""), "of an unknown type"),
    ],
)
def test_records_that_are_no_documents(tmp_path: Path, record: bytes, kind: str) -> None:
    found = everything(save(tmp_path / "a.warc", [record]))
    assert (found.found, found.rejected, found.kinds(0)) == ([], [], {kind: 1})  # type: ignore[attr-defined]


def test_media_type_that_the_crawler_identified(tmp_path: Path) -> None:
    content = b"HTTP/1.1 200 OK\r\n\r\n" + html("text")
    headers = {"WARC-Identified-Payload-Type": "text/html"}
    record = warc("response", content, "http://x.org/", Content_Type="application/http", **headers)
    assert texts(save(tmp_path / "a.warc", [record])) == ["text"]


def test_charsets(tmp_path: Path) -> None:
    def record(media: str, body: bytes) -> bytes:
        return warc("response", http(body, media), "http://x.org/", Content_Type="application/http")

    records = [
        record("text/html; charset=windows-1251", "<p>привет".encode("cp1251")),
        record("text/html", '<meta charset="shift_jis"><p>日本'.encode("cp932")),
        record('text/plain; charset="iso-8859-1"', "naïve".encode("latin-1")),
        record("text/plain", "naïve".encode()),
        record("text/html; charset=latin1", b"\xef\xbb\xbf" + "<p>naïve".encode()),
        record("text/html; charset=nonsense", "<p>naïve".encode()),
    ]
    found = texts(save(tmp_path / "a.warc", records))
    assert found == ["привет", "日本", "naïve", "naïve".encode(), "naïve", "naïve"]


def test_main_content(tmp_path: Path) -> None:
    page = "<body><nav><ul><li><a href='/'>menu</a></ul></nav><main><p>" + words(1) + "</p></main></body>"
    path = save(tmp_path / "a.warc", [response(1, page)])
    assert "menu" in str(texts(path)[0])
    assert texts(path, html="main") == [words(1)]
