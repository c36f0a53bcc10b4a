"""The benchmark of repeated passages in small: its own requirements hold, and fail where tokens are missing."""

from __future__ import annotations

import argparse

import numpy as np
from benches import imported

import ndcore as nd

benchmark, measure = imported("repeats", "measure")


def failures(texts, found):
    report = measure.Report("repeats", argparse.Namespace(results="."))
    benchmark.check(report, texts, found, benchmark.by_doubling)
    return report.failures


def test_generated_text_has_repeats_and_a_corpus_reads_it(tmp_path, monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    monkeypatch.setattr(benchmark, "VOCABULARY", 100)
    corpus = benchmark.Lines(tmp_path / "texts")
    benchmark.write(corpus.path, 1, np.random.default_rng(1))
    texts = [text for batch in corpus.batches() for text in batch][:100]
    found = nd.repeats(texts, 8)
    assert found.tokens > 0
    assert failures(texts, found) == []
    found.min_tokens = 5
    assert failures(texts, found)[0].startswith("100 documents: ")
