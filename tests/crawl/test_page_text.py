"""The text of responses, and canonical URLs."""

from __future__ import annotations

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse

from ndcore.crawl.page_text import canonical_url, page_text

URL = "http://a.example/dir/page?b=1&a=2"


def html(body: bytes, kind: str = "text/html", **more: object) -> HtmlResponse:
    return HtmlResponse(URL, body=body, headers={"Content-Type": kind, **more.pop("headers", {})}, **more)


def test_html_is_read_as_in_archives():
    body = "<title>t</title><p>Grüße</p><script>x</script>".encode("latin-1")
    found = page_text("page")(html(body, "text/html; charset=iso-8859-1"))
    assert found.strip() == "Grüße" and found.page_title == "t"
    assert page_text("page")(html("<p>Grüße".encode())).strip() == "Grüße"


def test_plain_text():
    assert page_text("page")(TextResponse(URL, body=b"words", headers={"Content-Type": "text/plain"})) == b"words"


@pytest.mark.parametrize("response", [
    html(b"<p>gone", status=404), html(b"", status=301), Response(URL, body=b"\x89PNG"),
    TextResponse(URL, body=b"{}", headers={"Content-Type": "application/json"}),
    XmlResponse(URL, body=b"<urlset/>", headers={"Content-Type": "text/xml"}), TextResponse(URL, body=b"x"),
], ids=lambda response: f"{type(response).__name__} {response.status}")
def test_what_is_not_a_page(response):
    assert page_text("page")(response) is None


@pytest.mark.parametrize("head, found", [
    ('<link rel="canonical" href="/other">', "http://a.example/other"),
    ('<link href=" other#top " rel="nofollow Canonical">', None),
    ('<link href=" other " rel="nofollow canonical">', "http://a.example/dir/other"),
    ('<link rel="canonical" href="https://b.example/"><link rel="canonical" href="/x">', "https://b.example/"),
    ('<link rel="canonical" href="http://a.example/dir/page?a=2&amp;b=1">', None),
    ('<link rel="canonical" href="">', None), ('<link rel="canonical">', None), ('<link rel="canonicals" href="/x">', None),
    ('<link rel="canonical" href="http://[">', None), ("", None),
])
def test_canonical_links(head, found):
    assert canonical_url(html(f"<html><head>{head}</head><body>x</body></html>".encode())) == found


@pytest.mark.parametrize("value, found", [
    ('<http://a.example/x>; rel="canonical"', "http://a.example/x"), ("", None),
    ("</s.css>; rel=preload, </y>; title=\"a, b\"; rel=canonical", "http://a.example/y"),
    ('</x>; rel="start canonical"', "http://a.example/x"), ("</x>; rel=canonicals", None),
    ("</x>; title=rel=canonical", None),
    ("</next>; rel=next", None), ("nonsense", None), ("<" * 9, None), ("<>;" * 9, None),
])
def test_canonical_headers(value, found):
    assert canonical_url(html(b"<p>x", headers={"Link": value})) == found
    assert canonical_url(Response(URL, headers={"Link": value})) == found


def test_a_page_that_is_not_html_names_none():
    assert canonical_url(TextResponse(URL, body=b'<link rel="canonical" href="/x">')) is None
