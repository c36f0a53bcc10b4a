"""The benchmark of repeated passages in small: its own requirements hold, and fail where tokens are missing or wrong."""

from __future__ import annotations

import argparse

import numpy as np
from benches import imported

import ndcore as nd

benchmark, measure = imported("repeats", "measure")


def failures(texts, found, size):
    report = measure.Report("repeats", argparse.Namespace(results="."))
    benchmark.check(report, texts, found, size)
    return report.failures


def test_generated_text_has_repeats_and_a_corpus_reads_it(tmp_path, monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    monkeypatch.setattr(benchmark, "VOCABULARY", 100)
    corpus = benchmark.Lines(tmp_path / "texts")
    benchmark.write(corpus.path, 1, np.random.default_rng(1))
    texts = [text for batch in corpus.batches() for text in batch][:100]
    found = nd.repeats(texts, 8)
    assert found.tokens > 0
    assert failures(texts, found, 8) == []
    assert failures(texts, nd.repeats(texts, 400), 8) == ["100 documents: sorted windows find other tokens"]


def test_sorted_windows_by_hand():
    marks = benchmark.repeated(["abcd", "zbcdabc", "aaaaaa"], 3)
    assert ["".join("x" if mark else "." for mark in each) for each in marks] == ["....", ".xxxxxx", "...xxx"]
