"""Spans of ``ndcore repeats`` in the layouts of other tools: what these tools make of them is what ndcore cuts.

The layout of attributes is that of Dolma's documentation: a line of attributes for a line of documents, spans as
[first character, last character + 1, score]. Where dolma and datatrove are installed, they read the files.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import ndcore as nd
from ndcore.cli.main import main

pytest.importorskip("msgspec")

NAME = "ndcore__repeats"
LENGTH = 4


def made(seed: int, count: int) -> list[str]:
    """Make texts of few words, so that much is repeated, with blanks and marks of several scripts between them."""
    rng = random.Random(seed)
    words = ["Fluß", "über", "中文", "𝒳y", "é", "e\u0301", "👍🏽", "слово", "ab", "c", "d", "1"]
    between = [" ", " ", "\u3000", "\n", ", ", ". ", "-"]
    return ["".join(rng.choice(words) + rng.choice(between) for _ in range(rng.randrange(25))) for _ in range(count)]


TEXTS = made(5, 60)


@pytest.fixture(params=["one", "none"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a folder with documents and attributes as Dolma has them, and the texts that are to come of them."""
    documents = tmp_path / "documents"
    documents.mkdir()
    lines = [json.dumps({"id": f"d{i}", "text": text, "source": "made"}, ensure_ascii=i % 2 == 0)
             for i, text in enumerate(TEXTS)]
    (documents / "a.jsonl").write_text("\n".join(lines[:30]) + "\n", encoding="utf-8")
    (documents / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[30:]).encode()))
    options = ("--min-tokens", str(LENGTH), "--write", "attributes", "--copies", request.param, "-q")
    assert main(["repeats", str(documents), "-o", str(tmp_path / "out"), *options]) == 0
    (tmp_path / "attributes").mkdir()
    (tmp_path / "out" / "attributes" / "documents").rename(tmp_path / "attributes" / "repeats")
    result = nd.repeats(TEXTS, LENGTH)
    assert result.tokens > result.total // 10
    return tmp_path, ["".join(map(str, pieces)) for pieces in result.pieces(request.param)]


def records(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def test_a_text_without_its_spans_is_what_is_cut(written: tuple[Path, list[str]]) -> None:
    folder, expected = written
    left = []
    for name in ("a.jsonl", "b.jsonl.gz"):
        documents, attributes = (records(folder / part / name) for part in ("documents", "attributes/repeats"))
        assert [record["id"] for record in attributes] == [record["id"] for record in documents]
        for document, record in zip(documents, attributes, strict=True):
            characters = list(document["text"])
            for start, end, score in record["attributes"][NAME]:
                assert 0 <= start < end <= len(characters) and score >= 1
                assert "" not in characters[start:end]
                characters[start:end] = [""] * (end - start)
            left.append("".join(characters))
    assert left == expected


def test_dolma_cuts_the_spans(written: tuple[Path, list[str]]) -> None:
    dolma = pytest.importorskip("dolma", reason="dolma is not installed")
    folder, expected = written
    dolma.mixer({
        "work_dir": {"input": str(folder / "in"), "output": str(folder / "work")}, "processes": 1,
        "streams": [{
            "name": "mixed", "documents": [str(folder / "documents" / "*")], "attributes": ["repeats"],
            "output": {"path": str(folder / "mixed"), "max_size_in_bytes": 1 << 30},
            "span_replacement": [{"span": f"$.attributes.{NAME}", "min_score": 1, "replacement": "", "syntax": "jsonpath"}],
            "compression": {"input": None, "output": None},
        }],
    })
    [path] = (folder / "mixed").iterdir()
    assert [record["text"] for record in records(path)] == expected


def test_datatrove_reads_annotated_and_cleaned_records(tmp_path: Path) -> None:
    pytest.importorskip("datatrove", reason="datatrove is not installed")
    readers = pytest.importorskip("datatrove.pipeline.readers")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": f"d{i}", "text": text, "metadata": {"n": i}}) + "\n"
                                               for i, text in enumerate(TEXTS)))
    for kind in ("annotated", "cleaned"):
        options = ("--min-tokens", str(LENGTH), "--write", kind, "-q")
        assert main(["repeats", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / kind), *options]) == 0
    annotated, cleaned = (list(readers.JsonlReader(str(tmp_path / kind), glob_pattern=pattern).run())
                          for kind, pattern in (("annotated", "annotated.jsonl"), ("cleaned", "cleaned/*.jsonl")))
    result = nd.repeats(TEXTS, LENGTH)
    assert [document.text for document in annotated] == [text for text in TEXTS if text]  # it passes over empty texts
    assert [(document.id, document.text) for document in cleaned] == [
        (f"d{i}", text) for i, text in enumerate(result.cleaned()) if text]
    for document in annotated:
        i = int(document.id[1:])
        assert document.metadata["n"] == i and document.metadata["ndcore"]["repeated"] == result.repeated[i]
        for span in document.metadata["ndcore"]["spans"]:
            passage = document.text[span["start_char"] : span["end_char"]]
            assert nd.Shingling().tokens(passage) == nd.Shingling().tokens(document.text)[span["start"] : span["end"]]
