"""Simulated people: how good the threshold is that `ndcore.judge` recommends after 30 answers, and whether intervals hold.

    python bench/judge.py --data FOLDER --runs 1000 --wrong 0.05

Pools of generated pairs have labels by a known curve. Pools of corpora come from `labelled.py`: a pair is "same" if both
documents have one label; other pairs of the pool are different by construction, because every document that takes part has
a label. Each run draws 30 pairs, and looks after each answer from the tenth on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from labelled import GENERATED, load_labelled
from numpy.typing import NDArray

from ndcore.judge.curves import STEP, THRESHOLDS, MeasureFit
from ndcore.judge.draws import STRATIFIED, Drawer
from ndcore.judge.estimates import LEAST, Answers, Estimate, expected_f1, weighted_f1
from ndcore.judge.measures import Measure
from ndcore.judge.pool import gather
from ndcore.text.corpus import as_corpus

CONSTANT = 0.6
ANSWERS = 30
CORPORA = ("etcd_docs", "biblio_asysd", "terms_dating", "rust_book", "react_docs_zh", "peps")
SYNTHETIC = {  # pool -> middle and width of the rise of the curve, its low and high end, shape of the scores
    "rise at 0.5": (0.5, 0.15, 0.0, 1.0, (1, 3)), "rise at 0.7": (0.7, 0.15, 0.0, 1.0, (1, 2)),
    "rise at 0.35": (0.35, 0.2, 0.02, 0.97, (1, 4)), "rise at 0.85": (0.85, 0.1, 0.02, 0.95, (1, 1)),
}


class Labels(NamedTuple):
    """A pool with labels: scores by one measure, and whether each pair is "same"."""

    scores: NDArray[np.float32]
    same: NDArray[np.bool_]

    def f1(self) -> NDArray[np.float64]:
        """Return F1 of each threshold."""
        at = self.scores[:, None] + 1e-7 >= THRESHOLDS
        right = (at & self.same[:, None]).sum(axis=0)
        f1: NDArray[np.float64] = 2 * right / np.maximum(at.sum(axis=0) + self.same.sum(), 1)
        return f1


def synthetic(seed: int, middle: float, rise: float, low: float, high: float, shape: tuple[float, float]) -> Labels:
    """Generate a pool of 5,000 pairs."""
    rng = np.random.default_rng(seed)
    scores = 0.2 + 0.8 * rng.beta(*shape, size=5000)
    chances = low + (high - low) / (1 + np.exp(-(scores - middle) / (rise / 4.4)))
    return Labels(scores.astype(np.float32), rng.random(5000) < chances)


def labelled_pool(name: str, folder: Path | None) -> Labels:
    """Gather the pool of a labelled corpus by words in runs of 5."""
    labelled = load_labelled(name, folder)
    judged = np.flatnonzero(labelled.codes >= 0)
    corpus = as_corpus([labelled.corpus.texts[i] for i in judged])
    pool = gather(corpus, [Measure()], report=lambda *_: None)
    codes = labelled.codes[judged]
    return Labels(pool.scores[0], codes[pool.a] == codes[pool.b])


def pools(folder: Path | None) -> Iterator[tuple[str, Labels]]:
    """Yield all pools."""
    for seed, (name, curve) in enumerate(SYNTHETIC.items(), 1):
        yield name, synthetic(seed, *curve)
    yield GENERATED, labelled_pool(GENERATED, None)
    for name in CORPORA if folder is not None else ():
        yield name, labelled_pool(name, folder)


class Run(NamedTuple):
    """For each look of a run: F1 of the recommended threshold in truth, and the intervals of both estimates."""

    truth: NDArray[np.float64]
    curves: NDArray[np.float64]
    weighted: NDArray[np.float64]


def simulate(labels: Labels, drawer: Drawer, truth: NDArray[np.float64], wrong: float, rng: np.random.Generator) -> Run:
    """Let a simulated person answer."""
    fit, weight = drawer.fit, np.ones(len(labels.scores))
    pairs, same, chances, drawn = list[int](), list[float](), list[float](), set[int]()
    fit.update(np.empty(0, np.int64), np.empty(0))
    looks = []
    for number in range(min(ANSWERS, len(labels.scores))):
        draw = drawer.draw(drawn, rng, number < STRATIFIED)
        assert draw is not None
        drawn.add(draw.pair)
        pairs.append(draw.pair)
        chances.append(draw.probability)
        same.append(float(labels.same[draw.pair] ^ (rng.random() < wrong)))
        answers = Answers(np.array(pairs), np.array(same), np.array(chances))
        fit.update(answers.pairs, answers.same)
        if number + 1 >= LEAST:
            best = fit.best
            weighted = weighted_f1(fit, best, weight, answers)
            looks.append((truth[best], _bounds(expected_f1(fit)), _bounds(weighted)))
    return Run(*(np.array(column) for column in zip(*looks, strict=True)))


def _bounds(estimate: Estimate) -> tuple[float, float]:
    """Return the interval; a thousandth at its ends is no error."""
    return estimate.low - 0.001, estimate.high + 0.001


def held(truth: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell for each look whether the interval holds the truth."""
    return (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])


def judge_pool(name: str, labels: Labels, runs: int, wrong: float) -> dict[str, object]:
    """Simulate runs on a pool, and sum them up."""
    truth, begun = labels.f1(), time.process_time()
    drawer = Drawer(MeasureFit(labels.scores, np.ones(len(labels.scores))), np.ones(len(labels.scores)))
    done = [simulate(labels, drawer, truth, wrong, np.random.default_rng([7, run])) for run in range(runs)]
    ends = np.array([run.truth[-1] for run in done])
    row: dict[str, object] = {
        "pool": name, "pairs": len(labels.scores), "same": labels.same.mean(), "best": truth.max(),
        "best_threshold": THRESHOLDS[truth.argmax()], "recommended": ends.mean(), "gap": truth.max() - ends.mean(),
        "constant": truth[round((CONSTANT - THRESHOLDS[0]) / STEP)],
    }
    for kind in ("curves", "weighted"):
        bounds = [getattr(run, kind) for run in done]
        holds = [held(run.truth, each) for run, each in zip(done, bounds, strict=True)]
        row[f"{kind}: held after the last answer"] = np.mean([each[-1] for each in holds])
        row[f"{kind}: held after every answer"] = np.mean([each.all() for each in holds])
        row[f"{kind}: width"] = np.mean([each[-1, 1] - each[-1, 0] for each in bounds])
    return {**row, "ms an answer": (time.process_time() - begun) / runs / ANSWERS * 1000}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder of labelled corpora; without it, generated pools only")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--wrong", type=float, default=0.0, help="share of wrong answers")
    given = parser.parse_args()
    for name, labels in pools(given.data):
        row = judge_pool(name, labels, given.runs, given.wrong)
        print(json.dumps({key: round(float(value), 4) if isinstance(value, (float, np.floating)) else value
                          for key, value in row.items()}), flush=True)


if __name__ == "__main__":
    main()
