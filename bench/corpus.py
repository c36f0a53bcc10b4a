"""The inputs of the benchmarks: real corpora where a folder of them is given, generated text everywhere.

A folder of corpora (--data, or the environment variable NDCORE_DATA) holds <name>/docs.jsonl.zst: one JSON object per
line with `id` and either `text` or `html`, and perhaps `group`, a label of documents that belong together.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generating import generated
from measure import Option

VARIABLE = "NDCORE_DATA"
DATA = Option(None, f"folder of corpora (default: ${VARIABLE}, else none)")
QUALITY = ("reuters21578", "peps", "rust_book", "etcd_docs", "kafka_javadoc_html")
LARGE_DOCUMENTS, LARGE_BYTES = 32_000, 280_000_000
LARGE_PARTS = {"peps": 4212, "rust_book": 1584, "etcd_docs": 636, "kafka_javadoc_html": 2380, "reuters21578": 8000}

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ELEMENT = re.compile(r"<(script|style|noscript|template)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Corpus:
    """Documents with their names; `groups` holds a label for each, or None, `languages` a language."""

    name: str
    ids: list[str]
    texts: list[str]
    groups: list[str | None] = field(default_factory=list)
    languages: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)

    def bytes(self) -> int:
        """Bytes of all texts as UTF-8."""
        return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in self.texts)

    def sha256(self) -> str:
        """SHA-256 of all texts, each with its length before it."""
        digest = hashlib.sha256()
        for text in self.texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    def facts(self) -> dict[str, object]:
        """What identifies this input in a result."""
        return {"corpus": self.name, "documents": len(self), "bytes": self.bytes(), "sha256": self.sha256()}


def text_of_html(source: str) -> str:
    """Comments and script, style, noscript and template elements dropped, each tag a blank, references decoded."""
    return html.unescape(_TAG.sub(" ", _ELEMENT.sub(" ", _COMMENT.sub(" ", source))))


def data_folder(given: str | None = None) -> Path | None:
    """The folder of corpora: what is given, else what NDCORE_DATA says, else None. SystemExit if it is no folder."""
    chosen = given or os.environ.get(VARIABLE)
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        raise SystemExit(f"{chosen} is no folder; --data or {VARIABLE} names one with <corpus>/docs.jsonl.zst in it")
    return Path(chosen)


def names(folder: Path) -> list[str]:
    """The corpora of a folder, in alphabetical order."""
    return sorted(path.parent.name for path in folder.glob("*/docs.jsonl.zst"))


def lines(path: Path) -> Iterator[str]:
    """Lines of a file compressed with zstd, split at LF only."""
    import zstandard

    with path.open("rb") as file:
        data = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file).read()
    return (line for line in data.decode("utf-8", "surrogatepass").split("\n") if line)


def load(name: str, folder: Path, limit: int | None = None, label: str = "group") -> Corpus:
    """A corpus of the folder, HTML as text; the first `limit` documents. `label` is the field for `groups`."""
    path = folder / name / "docs.jsonl.zst"
    if not path.is_file():
        raise SystemExit(f"{path} is missing; the folder has {', '.join(names(folder)) or 'no corpora'}")
    records = [json.loads(line) for line in lines(path)][:limit]
    return Corpus(
        name,
        [str(record["id"]) for record in records],
        [record["text"] if "text" in record else text_of_html(record["html"]) for record in records],
        [record.get(label) for record in records],
        [record.get("lang") for record in records],
    )


def natural(seed: int, documents: int, size: int) -> Corpus:
    """Generated text as a Corpus; see `generating.generated`."""
    texts = generated(seed, documents, size)
    return Corpus(f"generated-{seed}", [f"generated/{i}" for i in range(len(texts))], texts)


def large(folder: Path | None, seed: int = 1, documents: int = LARGE_DOCUMENTS, size: int = LARGE_BYTES) -> Corpus:
    """About 280 MB in 32,000 documents: the corpora of LARGE_PARTS that are there, the rest generated."""
    ids: list[str] = []
    texts: list[str] = []
    for name in LARGE_PARTS if folder else ():
        if folder and (folder / name).is_dir():
            part = load(name, folder, max(1, LARGE_PARTS[name] * documents // LARGE_DOCUMENTS))
            ids += [f"{name}/{i}" for i in part.ids]
            texts += part.texts
    taken = Corpus("taken", ids, texts).bytes()
    rest = natural(seed, max(1, documents - len(ids)), max(1, size - taken))
    return Corpus("large" if ids else "large-generated", ids + rest.ids, texts + rest.texts)


def sample(texts: Sequence[str], size: int) -> list[str]:
    """Evenly spaced documents, about `size` bytes of them (at least one)."""
    total = sum(map(len, texts))
    step = max(1, total // max(1, size))
    return list(texts[::step])
