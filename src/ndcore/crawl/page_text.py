"""Extract the text of a response, and the URL that a page names as canonical."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from ndcore.files.html_text import decode_plain_text, make_html_reader
from ndcore.text.inputs import Extracted

if TYPE_CHECKING:
    from scrapy.http import Response

_PLAIN = ("text/plain", "text/markdown")
_LINK = re.compile(r'<([^<>]*)>((?:[^,"]|"[^"]*")*)')
_CANONICAL = re.compile(r';\s*rel\s*=\s*(?:"(?:[^"]*\s)?)?canonical(?=[\s",;]|$)', re.IGNORECASE)


def page_text(part: str) -> Callable[[Response], Extracted | str | bytes | None]:
    """Make a function that extracts the text of a response; None if it is not a page.

    Pages are responses of status 2xx with HTML or plain text. They are read like pages of web archives, so a page has the
    same text in a crawl and in its archive.

    Parameters
    ----------
    part : "page" or "main"
        As for `make_html_reader`.

    Raises
    ------
    DocumentError
        resiliparse, of the extra web, is not installed.
    """
    from scrapy.http import HtmlResponse, TextResponse
    from w3lib.encoding import http_content_type_encoding

    read = make_html_reader("the crawl", part)

    def text(response: Response) -> Extracted | str | bytes | None:
        if not 200 <= response.status < 300 or not isinstance(response, TextResponse):
            return None
        media = (response.headers.get("Content-Type") or b"").decode("latin-1")
        charset = http_content_type_encoding(media)
        if isinstance(response, HtmlResponse):
            return read(response.body, charset)
        if media.partition(";")[0].strip().lower() in _PLAIN:
            return decode_plain_text(response.body, charset)
        return None

    return text


def canonical_url(response: Response) -> str | None:
    """Return the canonical URL that a page names (RFC 6596), if it is another URL; None without one, or if it is unreadable.

    The header Link is read before the ``link`` elements, of which only the first counts. Two URLs with the same normal form
    are the same.
    """
    from scrapy.http import HtmlResponse
    from w3lib.url import canonicalize_url

    link = _find_canonical(response.headers.getlist("Link"))
    if link is None and isinstance(response, HtmlResponse):
        link = response.xpath('//link[contains(concat(" ", normalize-space(@rel), " "), " canonical ")]/@href').get()
    if not link or not link.strip():
        return None
    try:
        url = urljoin(response.url, link.strip())
        return None if canonicalize_url(url) == canonicalize_url(response.url) else url
    except ValueError:
        return None


def _find_canonical(headers: list[bytes]) -> str | None:
    """Find the target of the first canonical link in Link headers (RFC 8288)."""
    for header in headers:
        for target, parameters in _LINK.findall(header.decode("latin-1")):
            if _CANONICAL.search(parameters):
                return str(target)
    return None
