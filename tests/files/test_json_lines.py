"""JSON Lines in blocks: odd lines, damaged files and parts of files give what the general reader gives."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textfiles import write

from ndcore.files.document_fields import GroupingField, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError

ODD = [
    b'{"text":"a","text":"b"}', b'{"text":5,"text":"b"}', b'{"text":"b","text":5}', b'{"id":1,"id":"1","text":"a"}',
    rb'{"text":"\u0000\u001f\" \/ \ud83d\ude00"}', rb'{"text":"\ud800"}', rb'{"text":"a","id":"\udfff"}',
    rb'{"t\u0065xt":"a"}',
    b'\xef\xbb\xbf{"text":"bom"}', b"", b" \t\r", b'{"text":"crlf"}\r', b'{"text":{"text":"nested"}}',
    b'{"a":{"text":"no"}}',
    b'{"text":"a","id":7}', b'{"text":"a","id":-0}', b'{"text":"a","id":1.0}', b'{"text":"a","id":' + b"9" * 40 + b"}",
    b'{"text":"a","id":true}', b'{"text":"a","id":null}', b'{"text":"a\x00b"}', b'{"text":"a","x":"\xff"}',
    b'{"text":"\xc3\xa9"}',
    b'{"text":"a","x":NaN,"y":[Infinity,-Infinity]}', b'{"text":"a","x":' + b"9" * 5000 + b"}", b'{"text":"a"} {"text":"b"}',
    b'{"text":"a","x":' + b"[" * 70 + b"]" * 70 + b"}", b'["text"]', b"null", b'{"text":"' + b"long " * 100_000 + b'"}',
    b'{"text":"a","ndcore":1}', b'{"text":"a","s":2}',
]


def facts(path: str, **options: Any) -> tuple[Any, ...]:
    """Return all that is known of the documents of a file, after two passes and parts of a third."""
    options.setdefault("on_error", "skip")
    with FileDocuments([path], **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
        n = len(first)
        for seed in range(3):
            wanted = np.random.default_rng(seed).random(n) < (0.1, 0.5, 1.0)[seed]
            parts = documents.selected(wanted)
            some = [pair for positions, texts in parts for pair in zip(list(positions), texts, strict=True)]
            assert some == [(int(i), first[i]) for i in np.flatnonzero(wanted)]
        places = [documents.place(position) for position in range(n)]
        return first, list(documents.ids), places, documents.rejected, documents.blank, documents.read


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("seed", range(6))
def test_odd_lines(tmp_path: Path, name: str, seed: int) -> None:
    rng = random.Random(seed)
    plain = [json.dumps({"text": f"{'word ' * rng.randint(0, 400)}{i}", "id": f"é{i}", "s": i}).encode() for i in range(300)]
    lines = [line for each in plain for line in (each, *(rng.choice(ODD) for _ in range(rng.choice([0, 0, 0, 1, 2, 9]))))]
    rng.shuffle(lines[:100])
    path = write(tmp_path / name, b"\n".join([*ODD, *lines] if seed % 2 else lines) + (b"\n" if seed % 3 else b""))
    for options in ({}, {"annotate": True}, {"require_id": True}, {"text_field": ["text", "id"]}, {"id_field": "text"},
                    {"text_field": "text.text"}):
        assert facts(path, fast=True, **options) == facts(path, fast=False, **options)
    columns = [facts(path, fast=fast, keep=RankingField("s", False), by=GroupingField("s")) for fast in (True, False)]
    assert columns[0] == columns[1]


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:24].decode("ascii", "replace"))
def test_errors_name_file_and_line(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a"}\n\n{"text":"b"}\r\n' + line + b'\n{"text":"c"}')
    found = []
    for fast in (True, False):
        try:
            found.append(str(facts(path, fast=fast, on_error="stop")))
        except DocumentError as error:
            assert (error.path, error.number) == (path, 4)
            found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("cut", [1, 9, 5000])
def test_lines_before_damage_are_read(tmp_path: Path, cut: int) -> None:
    rng = random.Random(1)
    rows = b"".join(b'{"text":"%s"}\n' % rng.randbytes(500).hex().encode() for _ in range(3000))
    packed = gzip.compress(rows, mtime=0)
    path = write(tmp_path / "b.jsonl.gz", b"")
    Path(path).write_bytes(packed[:-cut])
    found = [facts(path, fast=fast) for fast in (True, False)]
    assert found[0] == found[1]
    assert len(found[0][3]) == 1
    assert found[0][3][0].number == len(found[0][0]) + 1
    assert len(found[0][0]) > (2900 if cut < 10 else 2000)


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    texts = ["a" * 20_000_000, "b", "c" * 34_000_000, "d"]  # the third is longer than the fast reader takes
    path = write(tmp_path / "a.jsonl", b"\n".join(json.dumps({"text": text}).encode() for text in texts))
    with FileDocuments([path]) as documents:
        assert [text for batch in documents.batches() for text in batch] == texts


def test_only_wanted_lines_are_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b"".join(b'{"text":"%d %s"}\n' % (i, b"x" * 5000) for i in range(2000)))
    with FileDocuments([path]) as documents:
        assert documents.random_access
        documents.scan()
        wanted = np.zeros(2000, np.bool_)
        wanted[[3, 1000, 1999]] = True
        assert [text.split()[0] for _, texts in documents.selected(wanted) for text in texts] == ["3", "1000", "1999"]
        assert documents.sources[0].seen < 4 << 20  # bytes
    with FileDocuments([write(tmp_path / "b.jsonl.gz", b'{"text":"a"}\n')]) as documents:
        assert not documents.random_access
    with FileDocuments([path], html="page") as documents:
        assert not documents.random_access
