"""Recognise the format of an input file by its first bytes, or by its name if the bytes do not determine it."""

from __future__ import annotations

import io
import json
import re
from typing import IO, NamedTuple

from ndcore.choices import COMPRESSIONS
from ndcore.files.compression import DamagedData, open_decompressed, recognise_compression
from ndcore.files.errors import DocumentError
from ndcore.files.text_encoding import UTF8_MARK, detect_wide_encoding, find_marked_encoding, remove_mark

HEAD = 1 << 13  # decompressed bytes that are examined
_LONGEST_HEAD = 1 << 20  # compressed bytes read to get these (a block of bzip2 has 900,000), or bytes of a line of JSON
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jl": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".warc": "archive",
    ".arc": "archive",
    ".wet": "archive",
    ".cdx": "cdx",
    ".cdxj": "cdx",
    ".eml": "mail",
    ".mbox": "mbox",
}
WHOLE = ("text", "html", "mail")  # kinds of files that are one document
BARE = ("text", "html")  # the ones without fields
ARCHIVED = ("archive", "cdx")  # kinds of files whose documents are pages of web archives
COLUMNAR = ("parquet", "arrow")
DELIMITERS = {"csv": b",", "tsv": b"\t"}
RECORDS = ("jsonl", "json", "object", *DELIMITERS, *COLUMNAR)  # kinds of records with fields of any name

_CONTROLS = bytes(sorted({*range(32), 127} - set(b"\a\b\t\n\v\f\r\x1a\x1b")))  # control characters that texts do not use
_CONTROLS_AMONG = 32  # a file is binary where more than one byte in 32 is a control character
_HTML = re.compile(rb"(?:<\?xml[^>]*>)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE | re.DOTALL)
_ARRAY = re.compile(rb"\[\s*(?:[{\]]|\Z)")
_MBOX = re.compile(rb"From [^\r\n]{0,200}?\d:\d\d[^\r\n]{0,200}?\d{4}[^\r\n]{0,200}\r?\n>?[!-9;-~]{1,200}:")
_MAIL_HEADER = re.compile(rb"(?:[!-9;-~]{1,200}:[^\n]*\n(?:[ \t][^\n]*\n)*)+")
_FROM = re.compile(rb"^from:", re.IGNORECASE | re.MULTILINE)
_TRANSPORT = re.compile(rb"^(?:date|message-id|received|return-path):", re.IGNORECASE | re.MULTILINE)
_WARC = re.compile(rb"[\r\n]*WARC/\d\.\d+\r?\n")
_CDX = re.compile(rb"(?:[ \t]CDX(?:[ \t][A-Za-z])+|[^\s{\"]{1,4000} [0-9]{14} \{\"[^\r\n]*)\s*(?:\n|\Z)")
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x7fELF", "ELF program or library"),
    (0, b"\xfe\xed\xfa\xce", "Mach-O program or library"),
    (0, b"\xfe\xed\xfa\xcf", "Mach-O program or library"),
    (0, b"\xce\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"BC\xc0\xde", "LLVM bitcode"),
    (0, b"!<arch>\n", "ar archive or Debian package"),
    (0, b"%PDF-", "PDF document"),
    (0, b"{\\rtf", "RTF document"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document"),
    (0, b"AT&TFORM", "DjVu document"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image"),
    (0, b"\xff\xd8\xff", "JPEG image"),
    (0, b"GIF87a", "GIF image"),
    (0, b"GIF89a", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"8BPS\0", "Photoshop image"),
    (0, b"\0\0\1\0", "icon"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000 image"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL image"),
    (4, b"ftypavif", "AVIF image"),
    (4, b"ftyphei", "HEIC image"),
    (4, b"ftypmif1", "HEIC image"),
    (4, b"ftyp", "MP4 video or audio"),
    (8, b"WAVE", "WAV audio"),
    (8, b"AVI ", "AVI video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"ID3", "MP3 audio"),
    (0, b"MThd\0", "MIDI file"),
    (0, b"FORM", "AIFF audio"),
    (0, b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (0, b"FLV\1", "Flash video"),
    (0, b"\0\0\1\xba", "MPEG video"),
    (0, b"PK\3\4", "ZIP archive"),
    (0, b"PK\5\6", "ZIP archive"),
    (257, b"ustar", "tar archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (0, b"MSCF\0\0\0\0", "cabinet archive"),
    (0, b"\xed\xab\xee\xdb", "RPM package"),
    (0, b"xar!", "xar archive"),
    (0, b"070701", "cpio archive"),
    (0, b"\x1f\x9d", "data of compress"),
    (0, b"\x1f\xa0", "data of compress"),
    (0, b"LZIP", "data of lzip"),
    (0, b"\x04\x22\x4d\x18", "data of LZ4"),
    (0, b"]\0\0", "data of LZMA"),
    (0, b"\x89LZO\0", "data of lzop"),
    (0, b"\xff\x06\0\0sNaPpY", "data of Snappy"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\x93NUMPY", "NumPy array"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    (0, b"CDF\1", "NetCDF file"),
    (0, b"CDF\2", "NetCDF file"),
    (0, b"Obj\1", "Avro file"),
    (0, b"ORC\n", "ORC file"),
    (0, b"ORC\b", "ORC file"),
    (0, b"GGUF", "GGUF model"),
    (0, b"\0\1\0\0\0", "TrueType font"),
    (0, b"OTTO\0", "OpenType font"),
    (0, b"ttcf\0", "TrueType fonts"),
    (0, b"wOFF", "WOFF font"),
    (0, b"wOF2", "WOFF2 font"),
    (0, b"\1fcp", "X11 font"),
    (0, b"\xde\x12\x04\x95", "gettext catalogue"),
    (0, b"\x95\x04\x12\xde", "gettext catalogue"),
    (0, b"PACK\0\0\0", "Git pack"),
    (0, b"DIRC\0\0\0", "Git index"),
    (128, b"DICM", "DICOM image"),
    (0, b"\x89NDCORE\n", "file of ndcore"),
)
_MAGICS = {at: tuple(magic for offset, magic, _ in _SIGNATURES if offset == at) for at, _, _ in _SIGNATURES}
_PROSE = set(b"ID3 FORM LZIP wOFF wOF2 GGUF 070701 WEBP WAVE fLaC xar!".split()) | {b"AVI "}  # a text may begin with these
UNKNOWN = "binary data"


class Format(NamedTuple):
    """The format of a file.

    Attributes
    ----------
    kind : str
        ``text``, ``html`` and ``mail`` (one document), ``mbox`` (messages), ``jsonl``, ``json`` (an array of objects, or
        what should be one), ``object``
        (JSON objects that may span lines), ``csv``, ``tsv``, ``parquet``, ``arrow``, ``archive``, ``cdx`` (an index of
        captures, CDX or CDXJ) or ``sketches``.
    compression : str
        Empty or a key of `COMPRESSIONS`.
    encoding : str
        The encoding of text and tables if a byte order mark, the user, or NULs at every second byte determine it.
    problem : str
        The reason why it cannot be read, if the first bytes show it; else empty.
    binary : str
        What the file seems to be, if it is not text; else empty.
    """

    kind: str
    compression: str = ""
    encoding: str = ""
    problem: str = ""
    binary: str = ""


def guess_from_name(name: str) -> tuple[str, str]:
    """Guess the kind (empty for an unknown suffix) and the compression of a file from its name.

    >>> guess_from_name("a.JSONL.gz"), guess_from_name("a.txt.xz"), guess_from_name("README")
    (('jsonl', 'gz'), ('', 'xz'), ('', ''))
    """
    stem, _, ending = name.lower().rpartition(".")
    if stem and ending in COMPRESSIONS:
        return _KINDS.get(_get_suffix(stem), ""), ending
    return _KINDS.get(_get_suffix(name.lower()), ""), ""


def _get_suffix(name: str) -> str:
    """Return the last suffix of the last part of a path, as ``PurePath.suffix`` does, which takes ten times as long."""
    last = name.rstrip("/").rpartition("/")[2]
    dot = last.rfind(".")
    return last[dot:] if 0 < dot < len(last) - 1 else ""


def change_suffix(name: str, kind: str, compression: str) -> str:
    """Return the name of a file with its suffix changed to this kind and compression.

    >>> change_suffix("a.jsonl.gz", "csv", "gz"), change_suffix("stdin.jsonl", "archive", "gz")
    ('a.csv.gz', 'stdin.warc.gz')
    >>> change_suffix("b.warc.gz", "json", "")
    'b.json'
    """
    stem = _strip_compression(name)
    stem = stem.removesuffix(_get_suffix(stem))
    ending = {"archive": "warc", "object": "json", "text": "txt", "mail": "eml"}.get(kind, kind)
    return f"{stem}.{ending}" + (f".{compression}" if compression else "")


def recognise(name: str, file: IO[bytes], default: str = "text", encoding: str = "") -> Format:
    """Recognise the format of a file called `name` by its first bytes.

    Reads a few KiB, or up to 1 MiB of compressed data and of the first line of ``.json``. An empty file has the format of
    its name. Damaged data are reported when they are read.

    Parameters
    ----------
    file : binary file
        At its beginning, and seekable.
    default : str
        The kind if neither the name nor the bytes determine it.
    encoding : str
        The encoding that the user named for text and tables; a byte order mark takes precedence.
    """
    named, ending = guess_from_name(name)
    raw = file.read(HEAD)
    if not raw:
        return Format(named or default, ending)
    compression = recognise_compression(raw)
    if ending and compression != ending:
        what = f"{COMPRESSIONS[compression]} data" if compression else _name_binary(raw) or "no compressed data"
        reason = (f"its name ends in .{ending}, but it does not hold {COMPRESSIONS[ending]} data ({what}); give it its "
                  "right name")
        return Format(named or default, "", "", reason)
    head = _read_beginning(file, compression, HEAD, name) if compression else raw
    if head is None:  # nothing can be decompressed
        return Format(named or default, compression)
    untold = compression and not (ending or named or name.lower().endswith(".txt"))
    # The rest of a name without the suffix of its compression says nothing about the data.
    file_format = _recognise_content("" if untold else name, "" if untold else named, head, default, encoding)
    if file_format.kind == "object":
        more = _read_beginning(file, compression, _LONGEST_HEAD, name) or head
        file_format = file_format._replace(kind=_tell_lines_from_object(more, named))
    if compression:
        file_format = file_format._replace(compression=compression)
        if file_format.kind in COLUMNAR and not file_format.problem:
            what = "Parquet" if file_format.kind == "parquet" else "Arrow"
            problem = f"{what} data in a {COMPRESSIONS[compression]} file; decompress it first"
            file_format = file_format._replace(problem=problem)
    return file_format


def _read_beginning(file: IO[bytes], compression: str, count: int, name: str) -> bytes | None:
    """Return the first `count` decompressed bytes, or fewer; None if nothing can be decompressed."""
    file.seek(0)
    if not compression:
        return file.read(count)
    data = b""
    stream = open_decompressed(io.BytesIO(file.read(_LONGEST_HEAD)), compression, name)
    try:
        while len(data) < count and (piece := stream.read1(count - len(data))):
            data += piece
    except (DamagedData, EOFError, DocumentError):
        return data or None
    return data


def _recognise_content(name: str, kind: str, head: bytes, default: str, named: str) -> Format:
    """Recognise decompressed data; "object" if more data are needed to tell JSON Lines from one object.

    `kind` is what the name says; `named` the encoding that the user named.
    """
    bare = not _get_suffix(_strip_compression(name))
    if head.startswith(b"PAR1"):
        return Format("parquet")
    if head.startswith(b"ARROW1\0\0") or _is_arrow_stream(head):
        return Format("arrow")
    if head.startswith(b"FEA1"):
        return Format("arrow", "", "", "Feather of version 1; write it again with pyarrow.feather.write_feather, version 2")
    if _WARC.match(head):
        return Format("archive")
    if (bare or kind in ("cdx", "jsonl")) and _CDX.match(head):
        return Format("cdx")
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return Format(kind or default, "", "", "a pointer of Git LFS, not the file itself; get it with: git lfs pull")
    if kind in ("archive", *COLUMNAR):
        return Format(kind)
    if kind in ("", "jsonl") and _MBOX.match(head):
        return Format("mbox")
    if kind in ("mail", "mbox") or (kind == "" and default == "text" and (bare or _is_in_maildir(name)) and _is_mail(head)):
        return Format(kind or "mail")
    encoding, known = find_marked_encoding(head), _name_binary(head)
    if (kind == "" and default == "text") or kind in DELIMITERS:
        if not encoding and not head.startswith(UTF8_MARK) and not known:
            told = named and not _check_controls(head.decode(named, "replace").encode())
            encoding = named if told else detect_wide_encoding(head)
        if encoding:
            return Format(kind or "text", "", encoding)
    if encoding and kind != "html":
        problem = f"its encoding is {encoding.upper()[:6]}; convert it to UTF-8: iconv -t UTF-8"
        return Format(kind or default, "", encoding, problem)
    binary = known or ("" if kind in ("jsonl", "json", "html") or encoding else _check_controls(head))
    if binary:
        return Format(kind or default, "", "", _explain_refusal(binary), binary)
    if kind not in ("", "json", "jsonl") or (kind == "" and default == "text" and not bare):
        return Format(kind or default)
    return _recognise_text(name, kind, head, default)


def _recognise_text(name: str, kind: str, head: bytes, default: str) -> Format:
    """Recognise by its bytes text whose name has a suffix of JSON or none."""
    body = remove_mark(head).lstrip(b" \t\r\n")
    if kind == "" and default == "text":
        if _HTML.match(body):
            return Format("html")
        if not re.match(rb'(?:\[\s*)?\{\s*"', body):
            return Format("text")
    if kind == "jsonl" and not body.startswith((b"{", b"[")) and body and _strip_compression(name).lower().endswith(".jl"):
        return Format("text")  # Julia
    if body.startswith(b"[") and (kind == "json" or _ARRAY.match(body)):
        return Format("json")
    if kind == "jsonl" or (kind == "" and default != "text"):
        return Format("jsonl")
    if body.startswith(b"{"):
        return Format("object")
    if not body:
        return Format("jsonl")
    begins = body[:20].decode("utf-8", "replace")
    return Format("json", "", "", f"not JSON: it begins with {begins!r}, not with {{ or [", "not JSON, despite its name")


def _is_in_maildir(name: str) -> bool:
    """Tell whether a file is in a folder of a Maildir."""
    return name.split("/")[-2:-1] in (["cur"], ["new"], ["tmp"])


def _is_mail(head: bytes) -> bool:
    """Tell whether a message begins here: header fields only, with From and a field that mail transport adds."""
    fields = _MAIL_HEADER.match(head)
    return fields is not None and bool(_FROM.search(fields[0]) and _TRANSPORT.search(fields[0]))


def _strip_compression(name: str) -> str:
    """Return `name` without the suffix of a compression."""
    stem, _, ending = name.rpartition(".")
    return stem if stem and ending.lower() in COMPRESSIONS else name


def _tell_lines_from_object(head: bytes, named: str) -> str:
    """Tell JSONL, JSON that spans lines, and text (if the name has no suffix) apart; all begin with an object."""
    first, newline, rest = remove_mark(head).lstrip(b" \t\r\n").partition(b"\n")
    try:
        whole = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        whole = False
    if named == "json":
        return "jsonl" if whole and newline and rest.strip(b" \t\r\n") else "object"
    return "jsonl" if whole else "text"


def _is_arrow_stream(head: bytes) -> bool:
    """Tell whether an Arrow IPC stream begins here: a continuation mark, a plausible length, and a flatbuffer."""
    if head[:4] != b"\xff\xff\xff\xff" or len(head) < 16:
        return False
    length, root = int.from_bytes(head[4:8], "little"), int.from_bytes(head[8:12], "little")
    return 16 <= length <= 1 << 28 and length % 8 == 0 and 4 <= root < length


def _name_binary(head: bytes) -> str:
    """Name the format that the first bytes of a file belong to, if it is known and not text; else return an empty string."""
    for at, magics in _MAGICS.items():
        if head.startswith(magics, at):
            break
    else:
        magics = ()
    for offset, magic, name in _SIGNATURES if magics else ():
        if head.startswith(magic, offset) and (magic not in _PROSE or _check_controls(head)):
            return _name_zip(head) if name == "ZIP archive" else name
    if head[:2] == b"MZ" and _check_controls(head):
        return "Windows program or library"
    if head[:2] == b"BM" and _check_controls(head):
        return "BMP image"
    if head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2") and _check_controls(head):
        return "MP3 audio"
    if head[:1] == b"\x80" and head[1:2] in b"\2\3\4\5" and len(head) > 1:
        return "Python pickle"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= 100 << 20 and b"\0" in head[:8]:
        return "safetensors model"
    return ""


_ZIPPED = (
    (b"mimetypeapplication/epub+zip", "EPUB book"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "OpenDocument file"),
    (b"word/", "Word document (.docx)"),
    (b"xl/", "Excel workbook (.xlsx)"),
    (b"ppt/", "PowerPoint presentation (.pptx)"),
    (b"AndroidManifest.xml", "Android package"),
    (b"META-INF/", "Java archive"),
    (b".npy", "NumPy arrays (.npz)"),
    (b"data.pkl", "PyTorch model"),
)


def _name_zip(head: bytes) -> str:
    """Name the kind of ZIP archive by the names of its first files."""
    return next((name for magic, name in _ZIPPED if magic in head), "ZIP archive")


def _check_controls(head: bytes) -> str:
    """Return UNKNOWN if the bytes are not text, for a NUL or many other control characters; else an empty string."""
    part = head[:HEAD]
    controls = len(part) - len(part.translate(None, _CONTROLS))
    return UNKNOWN if b"\0" in part or controls * _CONTROLS_AMONG > len(part) else ""


def _explain_refusal(binary: str) -> str:
    """Explain why a binary file is not read, and what to do."""
    if binary == UNKNOWN:
        return ("not text: NUL bytes, or many other control characters, begin it; convert it to UTF-8, or name its encoding "
                "with --encoding")
    if "archive" in binary or "package" in binary:
        return f"not text ({binary}), and ndcore does not look into archives; unpack it, and name the files in it"
    if binary.startswith("data of"):
        return f"not text ({binary}, which ndcore does not decompress); decompress it"
    if binary == "file of ndcore":
        return f"not text ({binary}: sketches, an index or weights); give it to the command that reads it"
    return f"not text ({binary}); convert it to text or HTML"
