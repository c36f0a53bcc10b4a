"""The search of ``ndcore contamination``: names of benchmarks, and the corpus looked at again for some items alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import ndcore as nd
from ndcore.cli import contamination_search
from ndcore.text.corpus import as_corpus


def test_a_benchmark_is_a_file_of_records_or_a_folder_of_texts():
    named = [("a/questions.jsonl", "json lines"), ("texts/one.txt", "text"), ("texts/two.html", "html"), ("x.txt", "text")]
    spans = [range(2), range(2, 3), range(3, 4), range(4, 5)]
    sources = [SimpleNamespace(name=name, kind=kind) for name, kind in named]
    items: Any = SimpleNamespace(sources=sources, span=spans.__getitem__)
    assert contamination_search._name_benchmarks(items, None) == ["a/questions.jsonl"] * 2 + ["texts", "texts", "x.txt"]


def test_a_benchmark_is_the_value_of_a_field():
    groups: Any = SimpleNamespace(values=["towns", 7], codes=lambda: np.array([0, 1, 1, 0]))
    nothing: Any = None
    assert contamination_search._name_benchmarks(nothing, groups) == ["towns", "7", "7", "towns"]


def test_some_items_alone_are_looked_for_in_the_documents_with_hits():
    """Numbers of items and of documents stay those of the whole."""
    items, texts = ["a b c", "d e f", "g h i"], ["x", "a b c", "y", "d e f g h i", "g h i"]
    corpus: Any = as_corpus(texts)
    corpus.ids = list(range(len(texts)))
    found = nd.contamination(items, corpus, 3)
    chosen = np.array([False, False, True])
    spans, holders = contamination_search._search_again(items, corpus, found, chosen, {"min_tokens": 3})
    assert (spans.document.tolist(), spans.start.tolist(), spans.item.tolist()) == ([3, 4], [3, 0], [2, 2])
    assert (holders.document.tolist(), holders.covered.tolist()) == ([3, 4], [3, 3])
