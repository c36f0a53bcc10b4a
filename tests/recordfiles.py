"""Files of records in every format, made for tests, and how tests read them. No test is here."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source

WORDS = re.findall(r"\w+", "the quick brown fox jumps over the lazy dog while seven wizards quietly boil a large pot")


def text(seed: int) -> str:
    return " ".join(WORDS[(seed * 7 + i * i + i * seed) % len(WORDS)] + str(seed) for i in range(20))


TEXTS = [text(0), text(1), text(0).upper(), text(2) + ', "quoted"\nover lines', text(1)]
ROWS: list[dict[str, Any]] = [{"id": f"r{i}", "text": t, "n": i} for i, t in enumerate(TEXTS)]
KEPT = [0, 1, 3]


def zst(data: bytes) -> bytes:
    made: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return made


PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".zst": zst, ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress,
    ".zst": lambda data: pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(data),
}


def quoted(value: object) -> str:
    return '"' + str(value).replace('"', '""') + '"'


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def compact(rows: list[dict[str, Any]]) -> bytes:
    return b"[" + b",".join(json.dumps(row).encode() for row in rows) + b"]"


def pretty(rows: list[dict[str, Any]]) -> bytes:
    return ("[\n  " + ",\n  ".join(json.dumps(row, indent=2) for row in rows) + "\n]\n").encode()


def objects(rows: list[dict[str, Any]]) -> bytes:
    return ("\n".join(json.dumps(row, indent=1) for row in rows) + "\n").encode()


def csv(rows: list[dict[str, Any]]) -> bytes:
    return "".join(["id,text,n\r\n", *(f"{r['id']},{quoted(r['text'])},{r['n']}\r\n" for r in rows)]).encode()


def tsv(rows: list[dict[str, Any]]) -> bytes:
    return "".join(["\ufeffn\ttext\tid\n", *(f"{r['n']}\t{quoted(r['text'])}\t{r['id']}\n" for r in rows)]).encode()


RECORDS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "a.jsonl": lines, "a.jl": lines, "b.json": lines, "part-00000": lines, "c.json": compact, "d.json": pretty,
    "e.jsonl": pretty, "f.json": objects, "g.csv": csv, "h.tsv": tsv,
}


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def read(path: str | Path, **options: Any) -> tuple[list[str | bytes], list[str | int]]:
    with FileDocuments([str(path)], **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
        return first, list(documents.ids)


def refusal(path: str | Path, **options: Any) -> DocumentError:
    with FileDocuments([str(path)], **options) as documents, pytest.raises(DocumentError) as caught:
        documents.scan()
    return caught.value


def dedup(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    assert main(["dedup", *map(str, arguments), "-o", str(tmp_path / "out"), "-q"]) == 0
    summary: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    return summary


def source(path: str | Path, kind: str) -> Source:
    return Source(str(path), "x", "x", kind, "", str(path), "")
