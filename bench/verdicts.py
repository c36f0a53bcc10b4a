"""Which sketch tells right pairs from others? Every method on every labelled corpus, at equal bytes and at equal precision.

The documents of a corpus that have a label and differ in their letters are compared, all with all; a pair is right if both
labels are equal. Of PAIRED the right pairs are listed; of `short_answers` they are the answers that were copied, and only
the listed pairs count. A method gives each pair a score, and every threshold of the score is tried. Reported are the highest
F1 with its precision and recall, and the recall at the lowest threshold where the precision is 0.95 or more. "exact" is the
resemblance of words, 5 to a shingle. Speed is CPU time of one thread from text to sketches, of all corpora, learning an idf
included; comparing is not timed.

Required, else the exit code is 1: a few sketches of several kinds are the ones of `ndcore.reference`.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from corpus import DATA, Corpus, data_folder, lines, load
from exact import reference_sketch
from measure import Report, program
from numpy.typing import NDArray

import ndcore as nd

LABELLED = ("biblio_asysd", "etcd_docs", "kafka_javadoc_html", "peps", "react_docs_zh", "rust_book", "terms_dating", "udhr")
PAIRED = ("minhash_articles", "short_answers")  # pairs.jsonl.zst lists the right pairs
WRONG = "non"  # the label of a listed pair that is not right
BYTES = (8, 16, 32, 64, 128, 256)  # of a sketch
PRECISION = 0.95
MOST = 600  # documents of a corpus
SHOWN = 32  # bytes of the sketches in the table of corpora
CHECKED = 4  # documents whose sketches are compared with the reference
WORDS = nd.Shingling(width=1)

Scores = NDArray[np.float64]


class Method(NamedTuple):
    """A method: its name, and what makes sketches of so many bytes; None where it has none of this size."""

    name: str
    make: Callable[[Sequence[str], int], Any]


def weighted(texts: Sequence[str], size: int) -> Any:
    """Sketch with the idf of the corpus itself."""
    return nd.WeightedMinHasher(size // 4, nd.Idf.learn(texts)).sketch_many(texts, threads=1)


def weighted_bits(texts: Sequence[str], size: int) -> Any:
    """Keep one bit of each sample; more than 512 would take long."""
    return nd.b_bit(weighted(texts, 32 * size), 1) if size <= 64 else None


def imatch(texts: Sequence[str], size: int) -> Any:
    return nd.IMatcher(nd.Idf.learn(texts, WORDS), lexicons=size // 8 - 1).sketch_many(texts, threads=1)


def simhash(texts: Sequence[str], size: int, weights: nd.Idf | None) -> Any:
    """Make fingerprints of 64, 128 or 256 bits."""
    return nd.SimHasher(bits=8 * size, weights=weights).sketch_many(texts, threads=1) if size in (8, 16, 32) else None


METHODS = (
    Method("MinHash, 32 bits", lambda texts, size: nd.MinHasher(size // 4).sketch_many(texts, threads=1)),
    Method("MinHash, 8 bits", lambda texts, size: nd.b_bit(nd.MinHasher(size).sketch_many(texts, threads=1), 8)),
    Method("MinHash, 1 bit", lambda texts, size: nd.b_bit(nd.MinHasher(8 * size).sketch_many(texts, threads=1), 1)),
    Method("bottom-k, 40 bits", lambda texts, size: nd.BottomSketcher(max(1, size // 5), 40).sketch_many(texts, threads=1)),
    Method("weighted, idf", weighted),
    Method("weighted, idf, 1 bit", weighted_bits),
    Method("simhash", lambda texts, size: simhash(texts, size, None)),
    Method("simhash, words, idf", lambda texts, size: simhash(texts, size, nd.Idf.learn(texts, WORDS))),
    Method("I-Match", imatch),
    Method("checksum buckets", lambda texts, size: nd.BucketSketcher(size // 8).sketch_many(texts, threads=1)),
)


def score(sk: Any) -> Scores:
    """Score all pairs: estimated resemblances, the share of equal lists, or of equal bits."""
    if isinstance(sk, nd.TermSignatures):
        values = sk.values
        equal = [((values == row) & (row != 0)).sum(axis=1) for row in values]
        return np.array(equal, np.float64) / values.shape[1]
    if isinstance(sk, nd.Simhashes):
        words = sk.values.reshape(len(sk), -1)
        return 1.0 - nd.hamming_distances(words[:, None], words[None, :]).sum(axis=2) / (64.0 * words.shape[1])
    return np.nan_to_num(sk.compare().resemblance)


def exact(texts: Sequence[str]) -> Scores:
    """Compute all resemblances."""
    whole = nd.ModSketcher(1).sketch_many(texts)
    return np.nan_to_num(whole.compare().resemblance)


class Quality(NamedTuple):
    """The highest F1, its precision and recall, and the recall where the precision is PRECISION or more."""

    f1: float
    precision: float
    recall: float
    sound: float


def judge(scores: Scores, right: NDArray[np.bool_]) -> Quality:
    """Try every threshold: the pairs with this score or more are called right."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(right[order])
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)  # of pairs with one score
    last = last[ranked[last] > 0]
    if not len(last):
        return Quality(0.0, 0.0, 0.0, 0.0)
    called, right_called = last + 1.0, hits[last].astype(np.float64)
    precision, recall = right_called / called, right_called / right.sum()
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    best = int(np.argmax(f1))
    sound = recall[precision >= PRECISION].max(initial=0.0)
    return Quality(*map(float, (f1[best], precision[best], recall[best], sound)))


class Labelled(NamedTuple):
    """Texts, the pairs of them that are judged (numbers of texts), and which of these pairs are right."""

    name: str
    texts: list[str]
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
    right: NDArray[np.bool_]


def labelled(name: str, folder: Path, most: int) -> Labelled:
    """Read a corpus: about `most` of its texts."""
    corpus = load(name, folder)
    if name in PAIRED:
        return listed(corpus, [json.loads(line) for line in lines(folder / name / "pairs.jsonl.zst")], most)
    texts, labels = distinct(corpus, most)
    groups = np.unique(labels, return_inverse=True)[1]
    a, b = np.triu_indices(len(texts), 1)
    return Labelled(name, texts, (a, b), groups[a] == groups[b])


def listed(corpus: Corpus, pairs: list[dict[str, Any]], most: int) -> Labelled:
    """Take the documents of listed pairs, and others between them; where wrong pairs are listed too, no other is judged."""
    partners = {pair[side] for pair in pairs for side in "ab"}
    step = -(-len(corpus.ids) // most)
    chosen = [i for i, key in enumerate(corpus.ids) if key in partners or i % step == 0]
    number = {corpus.ids[i]: place for place, i in enumerate(chosen)}
    right = {tuple(sorted((number[pair["a"]], number[pair["b"]]))) for pair in pairs if pair["label"] != WRONG}
    if any(pair["label"] == WRONG for pair in pairs):
        a, b = np.array(sorted(tuple(sorted((number[pair["a"]], number[pair["b"]]))) for pair in pairs)).T
    else:
        a, b = np.triu_indices(len(chosen), 1)
    is_right = np.array([pair in right for pair in zip(a.tolist(), b.tolist(), strict=True)])
    return Labelled(corpus.name, [corpus.texts[i] for i in chosen], (a, b), is_right)


def distinct(corpus: Corpus, most: int) -> tuple[list[str], list[str]]:
    """Return texts and labels of documents that have a label and letters of their own: whole groups, about `most` texts."""
    seen, groups = set[str](), dict[str, list[str]]()
    for text, group in zip(corpus.texts, corpus.groups, strict=True):
        letters = " ".join(text.lower().split())
        if group is not None and letters not in seen:
            seen.add(letters)
            groups.setdefault(str(group), []).append(text)
    step = -(-sum(map(len, groups.values())) // most)
    chosen = [(text, group) for group in list(groups)[::step] for text in groups[group]]
    return [text for text, _ in chosen], [group for _, group in chosen]


def check_reference(report: Report, texts: Sequence[str]) -> None:
    """Require that a few sketches equal the reference."""
    for sketcher in (nd.MinHasher(16), nd.WeightedMinHasher(3), nd.BucketSketcher(4), nd.SimHasher()):
        same = all(np.atleast_1d(sketch).tolist() == reference_sketch(sketcher, text)
                   for sketch, text in zip(sketcher.sketch_many(texts).values, texts, strict=True))
        report.require(same, f"{sketcher}: the sketches of {len(texts)} documents differ from the reference")


def ask(report: Report, given: Namespace) -> None:
    """Judge every method on every corpus."""
    folder = data_folder(given.data)
    if folder is None:
        raise SystemExit("no folder of corpora: give --data or NDCORE_DATA")
    names = LABELLED[:2] if given.quick else sorted(LABELLED + PAIRED)
    corpora = [labelled(name, folder, 200 if given.quick else MOST) for name in names]
    for corpus in corpora:
        report.require(bool(corpus.right.any()), f"{corpus.name}: no pair is right")
        report.details[corpus.name] = {"documents": len(corpus.texts), "pairs": len(corpus.right),
                                       "right pairs": int(corpus.right.sum())}
    check_reference(report, corpora[0].texts[:CHECKED])
    table = report.table(
        "verdicts", f"Means over {len(corpora)} corpora: the highest F1 with its precision and recall, and the recall at a "
        f"precision of {PRECISION}",
        ["method", "bytes", "F1", "precision", "recall", f"recall at {PRECISION}", "lowest F1", "of", "MB/s"])
    apart = report.table("verdicts-corpora", f"Highest F1 | recall at a precision of {PRECISION}, sketches of {SHOWN} bytes",
                         ["method", "bytes", *names])
    measured = [("exact", 0, exact), *((method.name, size, method.make) for method in METHODS for size in BYTES)]
    for name, size, make in measured:
        qualities, seconds, amount = [], 0.0, 0
        for corpus in corpora:
            begun = time.process_time()
            sk = None if name == "exact" else make(corpus.texts, size)
            seconds += time.process_time() - begun
            amount += sum(len(text.encode("utf-8", "surrogatepass")) for text in corpus.texts)
            if name != "exact" and sk is None:
                break
            qualities.append(judge((make(corpus.texts) if sk is None else score(sk))[corpus.pairs], corpus.right))
        if not qualities:
            continue
        means, lowest = np.mean(qualities, axis=0), min(range(len(names)), key=lambda i: qualities[i].f1)
        table.add(name, size or "all", *(round(float(mean), 3) for mean in means), round(qualities[lowest].f1, 3),
                  names[lowest], "" if name == "exact" else round(amount / seconds / 1e6))
        if size in (0, SHOWN):
            apart.add(name, size or "all", *(f"{quality.f1:.3f} | {quality.sound:.3f}" for quality in qualities))
        report.details.setdefault("qualities", []).append({"method": name, "bytes": size, **{
            corpus: quality._asdict() for corpus, quality in zip(names, qualities, strict=True)}})


if __name__ == "__main__":
    program("verdicts", ask, __doc__, data=DATA)
