"""Benchmarks of function calls, for pytest-benchmark: each result is asserted, then timed.

Skipped in an ordinary run; ``pytest tests/bench/test_benchmarks.py --benchmark-only`` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore._entries import sort_entries
from ndcore._sets import common, distinct
from ndcore.reference import rabin as reference_rabin
from ndcore.reference import resemblance as reference_resemblance
from ndcore.reference import shingling as reference_shingling
from ndcore.reference import sketches as reference_sketches

pytest.importorskip("pytest_benchmark")

DOCUMENTS, WORDS = 100, 400


def made_texts() -> list[str]:
    """Documents of words drawn by Zipf's law; every second one is the one before it with a word replaced."""
    rng = np.random.default_rng(1)
    names = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "e", "io", "u") for c in ("l", "ment", "s", "")])
    weights = 1 / np.arange(1, len(names) + 1)
    texts: list[str] = []
    for i in range(DOCUMENTS):
        if i % 2:
            words = texts[-1].split()
            words[WORDS // 2] = "replaced"
        else:
            words = rng.choice(names, WORDS, p=weights / weights.sum()).tolist()
        texts.append(" ".join(words))
    return texts


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return made_texts()


def forms(stem: str) -> list[str]:
    """The variants of a kernel that run here."""
    return [name for name, state in nd.variants()[stem].items() if state != "not on this CPU"]


@pytest.mark.parametrize("form", forms("minhash"))
@pytest.mark.parametrize("num_perm", [84, 128])
def test_signatures(benchmark: Any, texts: list[str], num_perm: int, form: str) -> None:
    sketcher = nd.MinHasher(num_perm)
    with nd.using(minhash=form):
        first = sketcher.sketch(texts[0])[0].tolist()
        assert first == reference_sketches.signature(reference_shingling.fingerprints(texts[0]), num_perm)
        made = benchmark(sketcher.sketch_many, texts, threads=1)
    assert made[0].tolist() == first
    assert len(made) == DOCUMENTS


def test_bottom_sketches(benchmark: Any, texts: list[str]) -> None:
    sketcher = nd.BottomSketcher(200)
    known = reference_sketches.bottom(reference_shingling.fingerprints(texts[0]), 200)
    assert sketcher.sketch(texts[0])[0].tolist() == known
    assert benchmark(sketcher.sketch_many, texts, threads=1)[0].tolist() == known


@pytest.mark.parametrize("unit", ["word", "char", "byte"])
def test_fingerprints(benchmark: Any, texts: list[str], unit: Any) -> None:
    shingling = nd.Shingling(unit=unit)
    known = reference_shingling.fingerprints(texts[0], unit=unit)
    assert shingling.fingerprints(texts[0]).tolist() == known
    values, offsets = benchmark(shingling.fingerprints_many, texts, threads=1)
    assert values[: offsets[1]].tolist() == known


def test_sketch_of_one_text(benchmark: Any, texts: list[str]) -> None:
    sketcher = nd.MinHasher(84)
    known = reference_sketches.signature(reference_shingling.fingerprints(texts[0]), 84)
    assert benchmark(sketcher.sketch, texts[0])[0].tolist() == known


def test_resemblance_of_two_texts(benchmark: Any, texts: list[str]) -> None:
    a, b = (set(reference_shingling.fingerprints(text)) for text in texts[:2])
    assert benchmark(nd.resemblance, texts[0], texts[1]) == reference_resemblance.resemblance(a, b)


def test_features(benchmark: Any, texts: list[str]) -> None:
    sketches = nd.MinHasher(84).sketch_many(texts)
    made = benchmark(nd.features, sketches, 6, 14)
    assert made.shape == (DOCUMENTS, 6)
    assert (made[0] == nd.features(sketches[:1], 6, 14)[0]).all()


@pytest.mark.parametrize("size", [64, 100_000])
def test_rabin_of_a_string(benchmark: Any, size: int) -> None:
    data = np.random.default_rng(1).bytes(size)
    rabin = nd.Rabin()
    assert rabin.fingerprint(data[:64]) == reference_rabin.fingerprint(data[:64], nd.POLYNOMIAL)
    half = size // 2
    joined = rabin.concat(rabin.fingerprint(data[:half]), rabin.fingerprint(data[half:]), size - half)
    assert benchmark(rabin.fingerprint, data) == joined


def test_rabin_of_windows(benchmark: Any) -> None:
    data = np.random.default_rng(1).bytes(100_000)
    made = benchmark(nd.Rabin().sliding, data, 48)
    assert made[:20].tolist() == reference_rabin.sliding(data[:67], 48, nd.POLYNOMIAL)


def test_sorting_entries(benchmark: Any) -> None:
    rng = np.random.default_rng(1)
    entries = np.stack([rng.integers(0, 1 << 64, 100_000, np.uint64), np.arange(100_000, dtype=np.uint64)], axis=1)
    known = entries[np.argsort(entries[:, 0], kind="stable")]

    works: list[Any] = []

    def fresh() -> tuple[tuple[Any], dict[str, Any]]:
        works.append(entries.copy())
        return (works[-1],), {}

    benchmark.pedantic(sort_entries, setup=fresh, rounds=20)
    assert all(np.array_equal(work, known) for work in works)


def test_common_shingles(benchmark: Any, texts: list[str]) -> None:
    values, offsets = distinct(*nd.Shingling().fingerprints_many(texts))
    a, b = np.arange(DOCUMENTS - 1), np.arange(1, DOCUMENTS)
    shared = benchmark(common, values, offsets, a, b)
    sets = [set(reference_shingling.fingerprints(text)) for text in texts[:2]]
    assert shared[0] == len(sets[0] & sets[1])


@pytest.mark.parametrize("documents", [2, DOCUMENTS])
def test_near_duplicates(benchmark: Any, texts: list[str], documents: int) -> None:
    run: Callable[..., nd.NearDuplicates] = nd.near_duplicates
    result = benchmark(run, texts[:documents], threads=1)
    assert result.labels.tolist() == [i - i % 2 for i in range(documents)]


def test_design_filter_asked_before(benchmark: Any) -> None:
    design = benchmark(nd.design_filter, 0.8)
    assert design.miss <= 1e-3
