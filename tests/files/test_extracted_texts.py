"""Texts that were extracted are stored for later passes: each page is extracted once."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndcore.files import extracted_texts, html_workers
from ndcore.files.documents import FileDocuments
from ndcore.files.extracted_texts import ExtractedTexts
from ndcore.text.inputs import Extracted, original_digest


def found(store: ExtractedTexts, *positions: int) -> list[tuple[int, str | bytes]] | None:
    records = store.records(np.array(positions, np.int64))
    return None if records is None else [(position, record.text) for position, record in records]


def test_texts_come_back_as_they_were() -> None:
    store = ExtractedTexts()
    page = Extracted.of("text \ud800 é", b"<p>text", True)
    assert found(store, 0) is None
    assert store.append(2, page) is True
    assert store.append(3, "not stored") is False
    assert store.append(5, b"\xff bytes", True) is False
    assert store.append(6, "text", True) is False
    assert store.append(9, Extracted.of("", "<p>")) is False
    assert found(store, 2, 5, 6, 9) == [(2, str(page)), (5, b"\xff bytes"), (6, "text"), (9, "")]
    [(_, again)] = found(store, 2) or []
    assert original_digest(again) == original_digest(page)
    assert found(store, 2, 3) is None
    assert found(store, 10) is None


def test_the_disk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extracted_texts, "LIMIT", 10)
    store = ExtractedTexts()
    for position, text in enumerate([b"12345", b"67890", b"1", b""]):
        store.append(position, text, True)
    assert found(store, 0, 1) == [(0, b"12345"), (1, b"67890")]
    assert found(store, 2) is None
    assert found(store, 3) is None


class Full:
    """A file on a full disk."""

    def write(self, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_ends_storing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ExtractedTexts()
    monkeypatch.setattr(extracted_texts, "temporary_file", lambda owner: Full())
    store.append(0, b"12345", True)
    assert found(store, 0) is None
    store.append(1, b"12345", True)
    assert found(store, 1) is None


@pytest.fixture
def extractions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | bytes]]:
    """The pages that are extracted."""
    pytest.importorskip("resiliparse", reason="the extra html is not installed")
    seen: list[str | bytes] = []
    html_reader = html_workers.html_reader

    def counted(path: str, part: str) -> Any:
        read = html_reader(path, part)

        def text(html: str | bytes, charset: str | None) -> Extracted:
            seen.append(html)
            return read(html, charset)

        return text

    monkeypatch.setattr(html_workers, "html_reader", counted)
    yield seen


@pytest.mark.parametrize("limit", [1 << 20, 0])
def test_a_page_is_extracted_once(
    tmp_path: Path, extractions: list[str | bytes], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(extracted_texts, "LIMIT", limit)
    for i in range(6):
        (tmp_path / f"{i}.html").write_text(f"<html><title>t</title><body><p>page {i // 2} of a site, é</body></html>")
    with FileDocuments([str(tmp_path)]) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert len(extractions) == 6
        wanted = np.array([True, False, True, True, False, True])
        again = [
            (position, text) for positions, texts in documents.selected(wanted)
            for position, text in zip(positions.tolist(), texts, strict=True)
        ]
        assert again == [(i, first[i]) for i in (0, 2, 3, 5)]
        assert [original_digest(text) for _, text in again] == [original_digest(first[i]) for i in (0, 2, 3, 5)]
        assert len(extractions) == (6 if limit else 10)
