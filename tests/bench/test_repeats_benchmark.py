"""The benchmark of repeated passages in small: its own requirements hold, and fail where tokens are missing."""

from __future__ import annotations

import argparse

import numpy as np
from benches import imported

import ndcore as nd

benchmark, measure = imported("repeats", "measure")


def failures(texts, found):
    report = measure.Report("repeats", argparse.Namespace(results="."))
    benchmark.check(report, texts, found)
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


def test_longer_text_repeats_as_much_in_each_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "POOL", 100)
    path, rng = tmp_path / "texts", np.random.default_rng(1)
    benchmark.write(path, 1, rng)
    size, lines = path.stat().st_size, path.read_bytes().splitlines()
    benchmark.lengthen(path, 3 * size // 10**6, rng)
    longer = path.read_bytes().splitlines()
    assert longer[: len(lines)] == lines and 2 * len(lines) < len(longer) <= 3 * len(lines)
    repeated = nd.repeats(longer, 20).repeated
    assert repeated[: len(lines)].any()
    assert repeated[len(lines) : 2 * len(lines)].tolist() == repeated[: len(lines)].tolist()
