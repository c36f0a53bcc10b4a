"""Text of web pages: which encoding, which characters, and the text of HTML as resiliparse extracts it."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from ndcore.checks import missing
from ndcore.files.byte_order_mark import UTF8
from ndcore.files.errors import DocumentError
from ndcore.text.inputs import Extracted
from ndcore.text.shingling import Shingling

PARTS = ("page", "main")
_BOMS = ((UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SUPERSETS = {"shift_jis": "cp932", "euc_kr": "cp949", "gbk": "gb18030"}  # what browsers decode under these names


def html_reader(path: str, part: str) -> Callable[[str | bytes, str | None], Extracted]:
    """The function from (HTML, charset that its sender named or None) to its text.

    Main content without a word (of `Shingling`) is none: the text is that of the whole page then, and says so.

    Parameters
    ----------
    path : str
        What messages call the file that needs it.
    part : {"page", "main"}
        The whole page, or what resiliparse takes for its main content.

    Raises
    ------
    DocumentError
        resiliparse is not installed.
    """
    try:
        from resiliparse.extract.html2text import extract_plain_text
    except ImportError as error:
        raise DocumentError(path, None, missing("resiliparse", "reading HTML")) from error

    words = Shingling(width=1) if part == "main" else None

    def text(html: str | bytes, charset: str | None) -> Extracted:
        shown = decoded_html(html, charset) if isinstance(html, bytes) else html.encode("utf-8", "replace").decode()
        found = str(extract_plain_text(shown, main_content=words is not None, list_bullets=False))
        fell_back = words is not None and not len(words.fingerprints(found))
        if fell_back:
            found = str(extract_plain_text(shown, main_content=False, list_bullets=False))
        return Extracted.of(found, html, fell_back)

    return text


def decoded_html(data: bytes, charset: str | None) -> str:
    """Characters of HTML; what is not in the encoding found becomes U+FFFD.

    A byte order mark decides, then `charset`, then whether the bytes are UTF-8, then the ``meta`` element, then statistics.
    (Browsers ask ``meta`` before; pages in UTF-8 that call themselves something else would be read wrongly.)
    """
    return _decoded(data, _encoding(data, charset, True))


def decoded_text(data: bytes, charset: str | None) -> str | bytes:
    """Plain text by the rules of `decoded_html`, ``meta`` apart: UTF-8 as it is, anything else decoded."""
    encoding = _encoding(data, charset, False)
    return data if encoding == "utf-8" else Extracted.of(_decoded(data, encoding), data)


def _encoding(data: bytes, charset: str | None, is_html: bool) -> str:
    from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    named = map_encoding_to_html5(charset, False) if charset else None
    if named is not None:
        return str(named)
    if b"\x1b" not in data and is_utf8(data):  # text in ISO-2022-JP is ASCII with escapes
        return "utf-8"
    return str(detect_encoding(data, from_html_meta=is_html) or "utf-8")


def is_utf8(data: bytes) -> bool:
    """Whether all of `data` is well-formed UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, encoding: str) -> str:
    return data.decode(_SUPERSETS.get(encoding, encoding), "replace").removeprefix("\ufeff")
