"""Which sketch tells pairs of one group apart from other pairs? Every method on every labelled corpus, at equal bytes.

The documents of a corpus that have a label and differ in their letters are compared, all with all; a pair is the same if
both labels are equal. A method gives each pair a score, and every threshold of the score is tried. Reported are the highest
F1, and the recall at the lowest threshold where the precision is 0.95 or more. "exact" is the resemblance of words, 5 to a
shingle. Speed is CPU time of one thread from text to sketches, of all corpora, learning an idf included; comparing is not
timed.

Required, else the exit code is 1: a few sketches of several kinds are the ones of `ndcore.reference`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from corpus import Corpus, add_options, data_folder, load
from measure import Report, options
from numpy.typing import NDArray

import ndcore as nd
from ndcore.reference import shingling, sketches

LABELLED = ("biblio_asysd", "etcd_docs", "kafka_javadoc_html", "peps", "react_docs_zh", "rust_book", "terms_dating", "udhr")
BYTES = (8, 16, 32, 64, 128, 256)  # of a sketch
PRECISION = 0.95
MOST = 600  # documents of a corpus
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


def simhashes(texts: Sequence[str], size: int, weights: nd.Idf | None) -> Any:
    """Make simhashes; those of 32 bytes are the longest."""
    if size > 32:
        return None
    hasher: Any = nd.SimHasher
    return hasher(8 * size, weights).sketch_many(texts, threads=1)


METHODS = (
    Method("MinHash, 32 bits", lambda texts, size: nd.MinHasher(size // 4).sketch_many(texts, threads=1)),
    Method("MinHash, 8 bits", lambda texts, size: nd.b_bit(nd.MinHasher(size).sketch_many(texts, threads=1), 8)),
    Method("MinHash, 1 bit", lambda texts, size: nd.b_bit(nd.MinHasher(8 * size).sketch_many(texts, threads=1), 1)),
    Method("bottom-k, 40 bits", lambda texts, size: nd.BottomSketcher(max(1, size // 5), 40).sketch_many(texts, threads=1)),
    Method("weighted, idf", weighted),
    Method("weighted, idf, 1 bit", weighted_bits),
    Method("simhash", lambda texts, size: simhashes(texts, size, None)),
    Method("simhash, words, idf", lambda texts, size: simhashes(texts, size, nd.Idf.learn(texts, WORDS))),
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
    """The highest F1 over all thresholds, and the recall where the precision is PRECISION or more."""

    f1: float
    recall: float


def judge(scores: Scores, same: NDArray[np.bool_]) -> Quality:
    """Try every threshold: the pairs with this score or more are called the same."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(same[order])
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)  # of pairs with one score
    last = last[ranked[last] > 0]
    if not len(last):
        return Quality(0.0, 0.0)
    called, found = last + 1.0, hits[last].astype(np.float64)
    precision, recall = found / called, found / same.sum()
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    sound = precision >= PRECISION
    return Quality(float(f1.max()), float(recall[sound].max(initial=0.0)))


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
    bags = [shingling.fingerprints(text) for text in texts]
    words = [shingling.fingerprints(text, width=1) for text in texts]
    pairs = {
        "signatures": (nd.MinHasher(16).sketch_many(texts).values.tolist(), [sketches.signature(bag, 16) for bag in bags]),
        "weighted": (nd.WeightedMinHasher(3).sketch_many(texts).values.tolist(),
                     [sketches.weighted_signature(bag, 3) for bag in bags]),
        "buckets": (nd.BucketSketcher(4).sketch_many(texts).values.tolist(),
                    [sketches.bucket_signatures(bag, 4, 4) for bag in words]),
        "simhash": (nd.SimHasher().sketch_many(texts).values.tolist(), [sketches.simhash(bag) for bag in bags]),
    }
    for name, (ours, theirs) in pairs.items():
        report.require(ours == theirs, f"{name}: the sketches of {len(texts)} documents differ from the reference")


def main() -> int:
    """Run from the command line."""
    parser = options(__doc__, 1)
    add_options(parser)
    given = parser.parse_args()
    folder = data_folder(given.data)
    if folder is None:
        print("no folder of corpora: give --data or NDCORE_DATA", file=sys.stderr)
        return 2
    report = Report("verdicts", given)
    names = LABELLED[:2] if given.quick else LABELLED
    table = report.table("verdicts", f"Highest F1 | recall at a precision of {PRECISION}",
                         ["method", "bytes", *names, "mean F1", "mean recall", "MB/s"])
    corpora = []
    for name in names:
        texts, labels = distinct(load(name, folder), 200 if given.quick else MOST)
        groups = np.unique(labels, return_inverse=True)[1]
        a, b = np.triu_indices(len(texts), 1)
        corpora.append((name, texts, groups[a] == groups[b], (a, b)))
        report.require(bool(corpora[-1][2].any()), f"{name}: no two documents are of one group")
        report.details[name] = {"documents": len(texts), "pairs of one group": int((groups[a] == groups[b]).sum())}
    check_reference(report, corpora[0][1][:CHECKED])
    measured = [("exact", 0, exact)] + [(method.name, size, method.make) for method in METHODS for size in BYTES]
    for name, size, make in measured:
        qualities, seconds, amount = [], 0.0, 0
        for _, texts, same, pairs in corpora:
            begun = time.process_time()
            sk = None if name == "exact" else make(texts, size)
            seconds += time.process_time() - begun
            amount += sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
            if name != "exact" and sk is None:
                break
            qualities.append(judge((make(texts) if sk is None else score(sk))[pairs], same))
        if qualities:
            means = [float(np.mean(column)) for column in zip(*qualities, strict=True)]
            table.add(name, size or "all", *(f"{q.f1:.3f} | {q.recall:.3f}" for q in qualities),
                      *(f"{mean:.3f}" for mean in means), "" if name == "exact" else f"{amount / seconds / 1e6:.0f}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
