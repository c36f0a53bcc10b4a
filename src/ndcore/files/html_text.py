"""The text of HTML, as resiliparse extracts it.

HTML Living Standard, https://html.spec.whatwg.org; Encoding Standard, https://encoding.spec.whatwg.org. Nothing is refused:
bytes that are not in the encoding become U+FFFD. A page that would take a parser too long is read by its tags alone.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from ndcore._markup import parsing_work, text_between_tags
from ndcore.checks import missing
from ndcore.files.errors import DocumentError
from ndcore.files.text_encoding import decide_encoding
from ndcore.text.inputs import Extracted
from ndcore.text.shingling import Shingling

MOST_WORK = 20_000_000  # units of `parsing_work`; resiliparse 2.0.1 takes about a second for it
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")


def make_html_reader(path: str, part: str) -> Callable[[str | bytes, str | None], Extracted]:
    """Make a function that extracts the text from (HTML, charset named by its sender or None).

    If the main content has no word (of `Shingling`), the text is the whole page, marked by ``fell_back``. If a parser would
    need more than MOST_WORK, it is the text between the tags, marked by ``by_tags``.

    Parameters
    ----------
    path : str
        The file to read, for messages.
    part : {"page", "main"}
        The whole page, or its main content according to resiliparse.

    Raises
    ------
    DocumentError
        resiliparse is not installed.
    """
    try:
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree
    except ImportError as error:
        raise DocumentError(path, None, missing("resiliparse", "reading HTML")) from error

    words = Shingling(width=1) if part == "main" else None

    def text(page: str | bytes, charset: str | None) -> Extracted:
        shown = decode_html(page, charset) if isinstance(page, bytes) else page.encode("utf-8", "replace").decode()
        data = shown.encode()
        if parsing_work(data, MOST_WORK) > MOST_WORK:
            between, title = map(_unescape, text_between_tags(data))
            return Extracted.of(between, page, page_title=" ".join(title.split()), by_tags=True)
        tree = HTMLTree.parse(shown)
        extracted = str(extract_plain_text(tree, main_content=words is not None, list_bullets=False))
        fell_back = words is not None and not len(words.fingerprints(extracted))
        if fell_back:
            extracted = str(extract_plain_text(tree, main_content=False, list_bullets=False))
        return Extracted.of(extracted, page, fell_back, str(tree.title or ""))

    return text


def _unescape(text: bytes) -> str:
    """Decode text and its character references; a number of eight digits or more becomes U+FFFD."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text.decode()))


def decode_html(data: bytes, charset: str | None) -> str:
    """Decode HTML; bytes that are not in the encoding become U+FFFD.

    A byte order mark decides, then `charset`, then `decide_encoding`, which tries UTF-8 before the ``meta`` element.
    (Browsers try ``meta`` earlier, and so misread UTF-8 pages that name another encoding.)
    """
    return _decode(data, decide_encoding(data, charset, is_html=True) or "utf-8")


def decode_plain_text(data: bytes, charset: str | None) -> str | bytes:
    """Decode plain text as `decode_html` does, without ``meta``; return UTF-8 unchanged."""
    encoding = decide_encoding(data, charset) or "utf-8"
    return data if encoding == "utf-8" else Extracted.of(_decode(data, encoding), data)


def _decode(data: bytes, encoding: str) -> str:
    """Decode a text, and drop the byte order mark."""
    return data.decode(encoding, "replace").removeprefix("\ufeff")
