"""Parts of a corpus as a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.text.corpus import ChosenCorpus, SpooledCorpus, TextCorpus, corpus_pieces, indexed_texts
from ndcore.text.inputs import PIECE, Extracted

TEXTS = [f"text {i}" for i in range(10)]


@pytest.mark.parametrize("kind", [TextCorpus, lambda texts: SpooledCorpus(iter(texts))], ids=["list", "spooled"])
def test_chosen_documents_are_a_corpus(kind):
    chosen = ChosenCorpus(kind(TEXTS), np.array([1, 4, 5, 9]), 10)
    for _ in range(2):
        assert [text for batch in chosen.batches() for text in batch] == ["text 1", "text 4", "text 5", "text 9"]
    assert [first for first, _ in corpus_pieces(chosen)] == [0]
    found = [(position, text) for positions, texts in chosen.selected(np.array([False, True, False, True, True]))
             for position, text in zip(positions.tolist(), texts, strict=True)]
    assert found == [(1, "text 4"), (3, "text 9")]


def test_texts_are_spooled_as_they_are():
    page = Extracted.of("text", "<p>text</p>", False, "title", False)
    spooled = [text for batch in SpooledCorpus(iter(["text", b"bytes \xff", page])).batches() for text in batch]
    assert spooled == ["text", b"bytes \xff", page]
    assert [type(text) for text in spooled] == [str, bytes, Extracted]
    assert (spooled[2].original, spooled[2].page_title) == ("<p>text</p>", "title")


def test_positions_go_on_from_piece_to_piece():
    texts = ["x" * (PIECE // 2), "y" * (PIECE // 2 + 1), "z" * PIECE, "last"]
    selected = list(indexed_texts([TextCorpus(texts)], [5], np.ones(9, np.bool_)))
    assert len(selected) > 1
    assert [(position, text) for positions, part in selected for position, text in zip(positions.tolist(), part, strict=True)
            ] == list(enumerate(texts, 5))


def test_no_documents_may_be_chosen():
    chosen = ChosenCorpus(TextCorpus(TEXTS), np.array([], np.int64), 10)
    assert [text for batch in chosen.batches() for text in batch] == []
