"""Byte order marks at the beginning of files (The Unicode Standard, section 23.8, https://www.unicode.org/versions/latest/)."""

from __future__ import annotations

import codecs

UTF8 = codecs.BOM_UTF8
_OTHERS = (  # UTF-32 first: its little-endian mark begins with the one of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def other_encoding(head: bytes) -> str:
    """Return the encoding that a mark names, as ``utf-16-le``; an empty string for UTF-8 and without a mark."""
    return next((encoding for mark, encoding in _OTHERS if head.startswith(mark)), "")


def without_mark(data: bytes) -> bytes:
    """Return `data` without the mark of UTF-8 that some programs put at the beginning of a file."""
    return data.removeprefix(UTF8)
