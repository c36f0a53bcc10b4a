"""Simulated people: how good the threshold is that `ndcore.judge` recommends after 30 answers, and whether intervals hold.

    python bench/judge.py --data FOLDER --runs 1000 --wrong 0.05
    python bench/judge.py --fresh 60 --runs 200

Pools of generated pairs have labels by a known curve. In pools of corpora a pair is "same" if both documents have one label;
other pairs of the pool are different by construction, because every document that takes part has a label. Each run draws 30
pairs, and looks after each answer from the tenth on.

With --fresh the pools are new ones: their size, scores and curve are drawn with seeds by which nothing was ever chosen. So
they tell how often the intervals hold elsewhere; the last line has the mean and the least over the pools.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from corpus import load
from generating import base_words, lengths_of, typeset, walk
from numpy.typing import NDArray

from ndcore.judge.curves import STEP, THRESHOLDS, MeasureFit
from ndcore.judge.draws import STRATIFIED, Drawer
from ndcore.judge.estimates import LEAST, Answers, Estimate, expected_f1, weighted_f1
from ndcore.judge.measures import Measure
from ndcore.judge.pool import gather
from ndcore.text.corpus import as_corpus

CONSTANT = 0.6
ANSWERS = 30
CORPORA = {  # name -> field of the label
    "etcd_docs": "group", "biblio_asysd": "group", "terms_dating": "group", "rust_book": "chapter_file",
    "react_docs_zh": "group", "peps": "group",
}
EDITS = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # share of words replaced in a version of a made-up text
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


def fresh(seed: int) -> Labels:
    """Generate a pool whose size, scores and curve are drawn too."""
    rng = np.random.default_rng([20261126, seed])
    pairs, shape = round(10 ** rng.uniform(2.5, 3.7)), (rng.uniform(0.7, 1.3), rng.uniform(0.7, 4))
    scores = 0.2 + 0.8 * rng.beta(*shape, size=pairs)
    middle, rise, low, high = (rng.uniform(*ends) for ends in ((0.3, 0.85), (0.08, 0.3), (0, 0.05), (0.93, 1)))
    chances = low + (high - low) / (1 + np.exp(-(scores - middle) / (rise / 4.4)))
    return Labels(scores.astype(np.float32), rng.random(pairs) < chances)


def gathered(texts: Sequence[str], labels: Sequence[str]) -> Labels:
    """Gather the pool of labelled texts by words in runs of 5."""
    pool = gather(as_corpus(texts), [Measure()], report=lambda *_: None)
    codes = np.unique(labels, return_inverse=True)[1]
    return Labels(pool.scores[0], codes[pool.a] == codes[pool.b])


def made_up_versions(seed: int = 1, families: int = 120) -> Labels:
    """Gather the pool of made-up texts, each with versions in which more and more words are replaced."""
    rng = np.random.default_rng(seed)
    base = base_words(rng)
    texts, labels = list[str](), list[str]()
    for family, words in enumerate(walk(rng, base, 40 + lengths_of(rng, families, 300 * families))):
        for share in EDITS:
            version, edited = words.copy(), rng.random(len(words)) < share
            version[edited] = rng.choice(base.numbers, int(edited.sum()))
            text = "".join(base.words[version].tolist())
            texts.append(typeset(text) if len(texts) % 7 == 0 else text)
            labels.append(str(family))
    return gathered(texts, labels)


def pools(folder: Path | None) -> Iterator[tuple[str, Labels]]:
    """Yield all pools."""
    for seed, (name, curve) in enumerate(SYNTHETIC.items(), 1):
        yield name, synthetic(seed, *curve)
    yield "generated-versions", made_up_versions()
    for name, label in CORPORA.items() if folder is not None else ():
        corpus = load(name, folder, label=label)
        judged = [(text, group) for text, group in zip(corpus.texts, corpus.groups, strict=True) if group is not None]
        yield name, gathered(*zip(*judged, strict=True))


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


def judge_pool(name: str, labels: Labels, runs: int, wrong: float) -> dict[str, Any]:
    """Simulate runs on a pool, and sum them up."""
    truth, begun = labels.f1(), time.process_time()
    drawer = Drawer(MeasureFit(labels.scores, np.ones(len(labels.scores))), np.ones(len(labels.scores)))
    done = [simulate(labels, drawer, truth, wrong, np.random.default_rng([7, run])) for run in range(runs)]
    ends = np.array([run.truth[-1] for run in done])
    row: dict[str, Any] = {
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
    parser.add_argument("--fresh", type=int, default=0, metavar="N", help="simulate on N pools drawn anew instead")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--wrong", type=float, default=0.0, help="share of wrong answers")
    given = parser.parse_args()
    rows = []
    for name, labels in ((f"fresh {i}", fresh(i)) for i in range(given.fresh)) if given.fresh else pools(given.data):
        rows.append(judge_pool(name, labels, given.runs, given.wrong))
        show(rows[-1])
    for kind in ("curves", "weighted"):
        for look in ("last", "every"):
            values = [float(row[f"{kind}: held after {'the ' * (look == 'last')}{look} answer"]) for row in rows]
            show({"interval": kind, "look": look, "mean": np.mean(values), "least": np.min(values)})


def show(row: dict[str, Any]) -> None:
    """Print a row as JSON, rounded."""
    print(json.dumps({key: round(float(value), 4) if isinstance(value, (float, np.floating)) else value
                      for key, value in row.items()}), flush=True)


if __name__ == "__main__":
    main()
