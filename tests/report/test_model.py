"""What a report is made of: excerpts of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from commands import text
from hypothesis import given
from hypothesis import strategies as st

from ndcore.report import model as reports
from ndcore.report.model import Excerpt, truncate
from ndcore.text.corpus import TextCorpus


@given(st.binary(max_size=40), st.integers(0, 45))
def test_beginning_of_bytes(data: bytes, limit: int) -> None:
    cut = truncate(data, limit)
    assert data.startswith(cut)
    assert min(len(data), limit) - 3 <= len(cut) <= limit


@given(st.text(alphabet="aé人\U0001f600", max_size=30), st.integers(0, 60))
def test_beginning_cuts_no_character(whole: str, limit: int) -> None:
    assert whole.startswith(truncate(whole.encode(), limit).decode())
    assert truncate(whole, limit) == whole[:limit]


def test_long_texts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "EXCERPT", 50)
    long = ("é " + text(1)).encode()
    found = reports.read_excerpts([TextCorpus([long, "b", "c" * 60])], [0], 3)(np.array([2, 0]))
    assert found == {0: Excerpt(long[:50], len(long)), 2: Excerpt("c" * 50, 60)}


def test_documents_are_visited_in_the_same_pass() -> None:
    class Counted(TextCorpus):
        passes = 0

        def selected(self, wanted: Any) -> Any:
            self.passes += 1
            return super().selected(wanted)

    corpus, seen = Counted(["a", "b" * 30_000, "c", "d"]), list[str]()
    excerpts = reports.read_excerpts([corpus], [0], 4, {1: seen.append, 2: seen.append})
    assert excerpts(np.array([0, 2])) == {0: Excerpt("a", 1), 2: Excerpt("c", 1)}
    assert seen == ["b" * 30_000, "c"]
    assert corpus.passes == 1
