"""Find the encoding of text, tables, mail and pages: named by a byte order mark, the user or a sender, or detected.

Byte order marks: The Unicode Standard, section 23.8, https://www.unicode.org/versions/latest/. Detection tries in turn:
NULs at every second byte (UTF-16, UTF-32), escapes of ISO-2022-JP, UTF-8, the ``meta`` element of a page, and statistics
(resiliparse). Text that is UTF-8 except for a few bytes stays UTF-8. Bytes that an encoding cannot decode are an error in
files, and become U+FFFD in pages.
"""

from __future__ import annotations

import codecs
import unicodedata

from ndcore.checks import missing

UTF8_MARK = codecs.BOM_UTF8
_MARKS = (  # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_EVERY_MARK = tuple(mark for mark, _ in _MARKS)


def find_marked_encoding(head: bytes) -> str:
    """Return the encoding that a mark names, as ``utf-16-le``; an empty string for UTF-8 and without a mark."""
    if not head.startswith(_EVERY_MARK):
        return ""
    return next(encoding for mark, encoding in _MARKS if head.startswith(mark))


def remove_mark(data: bytes) -> bytes:
    """Return `data` without the mark of UTF-8 that some programs put at the beginning of a file."""
    return data.removeprefix(UTF8_MARK)


_SUPERSETS = {  # browsers decode these encodings as their supersets
    "shift_jis": "cp932", "euc_kr": "cp949", "gbk": "gb18030", "gb2312": "gb18030", "iso8859-11": "cp874",
    "tis-620": "cp874",
}
_OF_SENDERS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254"}  # like browsers; users who name these mean them
_NO_TEXT = {"charmap", "idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "mbcs", "oem"}
_SAMPLE = 1 << 20  # bytes for statistical detection
_LOOK = 1 << 12  # bytes for the detection of UTF-16 and UTF-32
_GOOD = 4  # text is UTF-8 with more than this many characters beyond ASCII for each wrong byte
_HIGH = bytes(range(128, 256))


class EncodingError(ValueError):
    """The encoding of a text cannot be detected, or is not the one that was named; the message is the reason alone."""


def check_encoding(name: str) -> str:
    """Normalize the name of an encoding of text to Python's name.

    Raises
    ------
    EncodingError
        There is no such encoding, or it leaves the order of bytes open.

    >>> check_encoding("Windows-1252"), check_encoding("GBK")
    ('cp1252', 'gb18030')
    """
    try:
        encoding = codecs.lookup(name).name
        b"a".decode(encoding, "ignore")  # LookupError for codecs of other things than text
    except (LookupError, ValueError):
        encoding = "undefined"
    if encoding in _NO_TEXT:
        raise EncodingError(f"{name!r} does not name an encoding of text; examples are cp1252, gb18030, utf-16-le")
    if encoding in ("utf-16", "utf-32"):
        raise EncodingError(f"{name!r} leaves the order of bytes open; name {encoding}-le or {encoding}-be (a byte order "
                            "mark decides where there is one)")
    return "utf-8" if encoding == "utf-8-sig" else _SUPERSETS.get(encoding, encoding)


def find_sender_encoding(charset: str) -> str:
    """Find the encoding that browsers use for a charset named in mail; empty for unknown names and for ASCII."""
    try:
        encoding = check_encoding(charset)
    except EncodingError:
        return ""
    return "" if encoding == "ascii" else _OF_SENDERS.get(encoding, encoding)


def detect_wide_encoding(head: bytes) -> str:
    """Return UTF-16 or UTF-32 if the beginning of a text without a mark is in it; else an empty string.

    Most NULs must be high bytes of units; not all, because the common U+4E00 and U+AC00 have a NUL as their low byte. The
    units must be assigned characters that are not controls.
    """
    part = head[: min(_LOOK, len(head)) // 2 * 2]
    count = part.count(b"\0")
    if not count or (part.isascii() and 5 * count < 2 * len(part)):  # not two bytes for each unit
        return ""
    for encoding, width, high in (("utf-32-le", 4, 3), ("utf-32-be", 4, 0), ("utf-16-le", 2, 1), ("utf-16-be", 2, 0)):
        if len(head) % width and len(head) <= _LOOK:  # `head` is the whole file
            continue
        units = len(part) // width
        elsewhere = count - part[high::width].count(b"\0")
        if elsewhere > 2 * units if width == 4 else 2 * elsewhere >= count:
            continue
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(part)
        except UnicodeDecodeError:
            continue
        if units and all(c in "\t\n\f\r" or unicodedata.category(c) not in ("Cc", "Cn", "Co", "Cs") for c in text):
            return encoding
    return ""


def is_utf8(data: bytes) -> bool:
    """Tell whether all of `data` is well-formed UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def decide_encoding(data: bytes, charset: str | None = None, *, is_html: bool = False) -> str | None:
    """Decide the encoding of a text; None if nothing indicates one. O(len).

    Parameters
    ----------
    data : bytes
    charset : str, optional
        The name given by the sender or the user, in the sense of browsers, else of Python. Unknown names are ignored.
    is_html : bool
        The text is a page, which may name its encoding in a ``meta`` element.

    Raises
    ------
    EncodingError
        Only statistics can decide, and resiliparse is not installed.
    """
    if data.startswith(UTF8_MARK) or (not charset and data.isascii() and b"\0" not in data and b"\x1b" not in data):
        return "utf-8"  # ASCII without NULs and escapes can be nothing else
    told = find_marked_encoding(data) or (_find_charset(charset) if charset else "") or detect_wide_encoding(data[:_LOOK])
    if told:
        return told
    if data.isascii() and (b"\x1b$B" in data or b"\x1b$@" in data) and _can_decode(data, "iso2022_jp"):
        return "iso2022_jp"
    in_utf8 = is_utf8(data) or _is_nearly_utf8(data)  # UTF-8 pages often declare another encoding
    if is_html and (not in_utf8 or (data.isascii() and b"\x1b" in data)):  # escapes: ISO-2022-JP, cut off or damaged
        declared = _ask_resiliparse(data, is_html=True)
        if declared != "utf-8":  # which resiliparse also returns for EUC-KR
            return declared
    return "utf-8" if in_utf8 else _guess_encoding(data)


def detect_encoding(data: bytes) -> str:
    """Detect the encoding of a text. Raises EncodingError if it cannot be detected, or not all of the text is in it. O(len).

    Statistics are ignored for data with NULs: they give arbitrary names to UTF-16 that `detect_wide_encoding` missed.
    """
    encoding = decide_encoding(data)
    guessed = encoding is not None and not encoding.startswith("utf-")
    if encoding is None or (guessed and b"\0" in data) or (encoding != "utf-8" and not _can_decode(data, encoding)):
        likely = "" if encoding is None else f" (most likely {encoding}, but not all of it)"
        raise EncodingError(f"not UTF-8, and its encoding cannot be told{likely}; name it with --encoding, or convert it: "
                            "iconv -t UTF-8")
    return encoding


def decode(data: bytes, encoding: str) -> str:
    """Decode a text without its byte order mark. Raises EncodingError if it is not in the encoding."""
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise EncodingError(f"not {encoding.upper()}: {error.reason} at byte {error.start + 1:,}") from error


def _can_decode(data: bytes, encoding: str) -> bool:
    """Tell whether all of `data` is in an encoding."""
    try:
        data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _is_nearly_utf8(data: bytes) -> bool:
    """Tell whether invalid bytes are so rare among characters beyond ASCII that they are damage, not another encoding."""
    good = data.decode("utf-8", "ignore")
    wrong = len(data) - len(good.encode())
    return len(good) - len(data.translate(None, _HIGH)) > _GOOD * wrong


def _find_charset(charset: str) -> str:
    """Return the encoding that browsers use for a name, else Python's; an empty string for unknown names."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    name = map_encoding_to_html5(charset, False)
    if name is not None:
        return _SUPERSETS.get(str(name), str(name))
    try:
        return check_encoding(charset)
    except EncodingError:
        return ""


def _guess_encoding(data: bytes) -> str | None:
    """Ask resiliparse for the encoding of bytes that are not UTF-8; None if it knows none."""
    first = len(data) - len(data.lstrip(bytes(range(128))))
    sample = data[max(0, first - 100) :][:_SAMPLE]
    name = _ask_resiliparse(sample)
    if name != "utf-8":
        return name
    beyond = [c for c in sample.decode("cp949", "ignore") if not c.isascii()]  # resiliparse 2.0 mistakes EUC-KR for UTF-8
    return "cp949" if 2 * sum("\uac00" <= c <= "\ud7a3" for c in beyond) > len(beyond) else None


def _ask_resiliparse(sample: bytes, is_html: bool = False) -> str:
    """Detect the encoding of some bytes by resiliparse, which reads the ``meta`` element of a page first."""
    try:
        from resiliparse.parse.encoding import detect_encoding
    except ImportError:
        need = missing("resiliparse", "telling which encoding it has")
        raise EncodingError(f"not UTF-8; {need}, or name the encoding with --encoding") from None
    name = str(detect_encoding(sample, from_html_meta=is_html) or "utf-8")
    return _SUPERSETS.get(name, name)
