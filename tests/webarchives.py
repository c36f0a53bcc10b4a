"""Web archives made for tests. No test is here."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

from ndcore.choices import LONGEST_RECORD
from ndcore.cli.main import main
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.web_archive import ArchiveEntry, iterate_entries

LOREM = re.findall(
    r"\w+", "the quick brown fox jumps over the lazy dog while seven wizards quietly boil a large pot of vegetable soup"
)


def gz(data: bytes, level: int = 9) -> bytes:
    return gzip.compress(data, level, mtime=0)


def words(number: int) -> str:
    return " ".join(f"{word}{number}" for word in LOREM)


def warc(kind: str, content: bytes, url: str = "", length: int | None = None, end: bytes = b"\r\n", **headers: str) -> bytes:
    fields = {"WARC-Type": kind, "WARC-Date": "2024-05-01T10:00:00Z", **({"WARC-Target-URI": url} if url else {})}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    fields["Content-Length"] = str(len(content) if length is None else length)
    lines = [b"WARC/1.0", *(f"{name}: {value}".encode() for name, value in fields.items())]
    return end.join(lines) + end + end + content + end + end


def http(body: bytes, media: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str) -> bytes:
    fields = {"Content-Type": media, **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def html(text: str) -> bytes:
    return f"<html><head><title>t</title></head><body><p>{text}</p></body></html>".encode()


def response(number: int, text: str | None = None, **headers: str) -> bytes:
    body = http(html(text or words(number)), **headers)
    return warc("response", body, f"http://example.org/{number}", Content_Type="application/http; msgtype=response")
INFO = warc("warcinfo", b"software: tests\r\n", Content_Type="application/warc-fields")
REQUEST = warc("request", b"GET / HTTP/1.1\r\n\r\n", "http://example.org/1", Content_Type="application/http")


def arc(url: str, content: bytes, media: str = "text/html", length: str | None = None) -> bytes:
    return f"{url} 127.0.0.1 20010203040506 {media} {length or len(content)}\n".encode() + content + b"\n"


def save(path: Path, records: list[bytes], compress: str = "") -> str:
    """Write a file of the records, each compressed by itself if at all."""
    packed = PACKED[compress]
    path.write_bytes(b"".join(map(packed, records)))
    return str(path)


def _zstd(data: bytes) -> bytes:
    made: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return made


PACKED = {"": bytes, "gz": gz, "zst": _zstd, "bz2": bz2.compress, "xz": lzma.compress}


ARC_INFO = arc("filedesc://t.arc", b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n", "text/plain")


def everything(path: str, **options: Any) -> FileDocuments:
    """Read the documents of a file twice: the same each time."""
    with FileDocuments([path], on_error="skip", **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
    documents.found = first  # type: ignore[attr-defined]
    return documents


def texts(path: str, **options: Any) -> list[str | bytes]:
    found: list[str | bytes] = everything(path, **options).found  # type: ignore[attr-defined]
    return found


def read_entries(path: str, longest: int = LONGEST_RECORD) -> list[ArchiveEntry]:
    inputs = find([path])
    inputs.limit(longest)
    return list(iterate_entries(inputs.sources[0]))


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def dedup(tmp_path: Path, path: str, *options: str) -> tuple[bytes, dict[str, Any]]:
    out = tmp_path / "out"
    assert run("dedup", path, "-o", out, "-q", "--overwrite", *options) == 0
    return (out / "kept" / Path(path).name).read_bytes(), json.loads((out / "summary.json").read_text())
