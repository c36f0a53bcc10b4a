"""Small files of records and texts, made for tests, and how tests read them. No test is here."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest

from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError

ROWS = [{"id": f"d{i}", "text": f"text number {i}", "score": i % 3, "lang": "en" if i % 2 else "fr"} for i in range(25)]
needs_msgspec = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('msgspec')", reason="no msgspec")


def jsonl(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    elif path.name.endswith(".zst"):
        data = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    elif path.name.endswith(".bz2"):
        data = bz2.compress(data)
    elif path.name.endswith(".xz"):
        data = lzma.compress(data)
    path.write_bytes(data)
    return str(path)


def write_parquet(path: Path, rows: list[dict[str, object]], schema: object = None, **options: object) -> str:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)
    return str(path)


def texts(documents: FileDocuments) -> list[str | bytes]:
    return [text for batch in documents.batches() for text in batch]


def read(path: str, **options: object) -> tuple[list[str | bytes], list[str | int]]:
    with FileDocuments([path], **options) as documents:  # type: ignore[arg-type]
        first = texts(documents)
        assert texts(documents) == first
        return first, list(documents.ids)


def refusal(path: str, **options: object) -> DocumentError:
    with FileDocuments([path], **options) as documents, pytest.raises(DocumentError) as caught:  # type: ignore[arg-type]
        documents.scan()
    return caught.value
