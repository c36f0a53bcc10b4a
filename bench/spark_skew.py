"""How evenly ten billion documents lie on the partitions of a job on Spark, from the runs of a real collection.

The documents are the paragraphs of all corpora of the folder, those with equal signatures once. A run is the documents that
share one feature of the default filter. Two models bound what a collection of `--documents` can be:

- *families*: there are more groups of similar texts, as large as here. Each length of run is as frequent as here.
- *shares*: there are the same groups, grown with the collection. A run holds the same share of the documents as here.

Runs go to partitions at random, as Spark's hash sends them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from corpus import Corpus, add_options, data_folder, load, names
from measure import Report, options
from numpy.typing import NDArray

import ndcore as nd

LEAST = 60  # characters of a paragraph
BREAK = re.compile(r"\n\s*\n|(?<=[.。!?])\n")
PARTITIONS = 20_000
MAX_HOLDERS = 1000
BITMAP_NS = 5  # of a pair, with 512 bits

Counts = NDArray[np.int64]


def count_lengths(features: NDArray[np.uint64]) -> Counts:
    """Count the runs of each length, 0 of length 0."""
    return np.bincount(np.concatenate([np.unique(column, return_counts=True)[1] for column in features.T]))


def spread_families(lengths: Counts, factor: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Count the entries of each partition, where `factor` times as many runs of each length are there."""
    load = np.zeros(PARTITIONS)
    for length in np.flatnonzero(lengths):
        load += length * rng.poisson(lengths[length] * factor / PARTITIONS, PARTITIONS)
    return load


def spread_shares(lengths: Counts, factor: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Count them where each run of two documents or more is `factor` times as long; a single one makes runs of one."""
    load = np.array(rng.poisson(lengths[1] * factor / PARTITIONS, PARTITIONS), float)
    for length in np.flatnonzero(lengths[2:]) + 2:
        load += factor * length * np.bincount(rng.integers(0, PARTITIONS, lengths[length]), minlength=PARTITIONS)
    return load


def paragraphs(folder: Path) -> Iterator[str]:
    """Yield the paragraphs of all corpora."""
    for name in names(folder):
        for text in load(name, folder).texts:
            yield from (part for part in BREAK.split(text) if len(part) >= LEAST)


def main() -> int:
    parser = options(__doc__, repeats=1)
    add_options(parser)
    parser.add_argument("--documents", type=int, default=10**10, help="of the collection to foresee (default 10^10)")
    arguments = parser.parse_args()
    folder, documents = data_folder(arguments.data), arguments.documents
    if folder is None:
        raise SystemExit("name a folder of corpora with --data or NDCORE_DATA")
    report, rng = Report("spark_skew", arguments), np.random.default_rng(1)
    texts = list(paragraphs(folder))[: 20_000 if arguments.quick else None]
    report.inputs.append(Corpus("paragraphs", [], texts).facts())
    design = nd.design_filter(0.8)
    sketches = nd.MinHasher(design.num_perm).sketch_many(texts)
    distinct = np.unique(sketches.values[sketches.valid], axis=0, return_index=True)[1]
    features = nd.features(sketches, design.groups, design.group_size)[sketches.valid][distinct]
    n, groups = features.shape
    lengths, factor = count_lengths(features), documents / n
    report.require(int(lengths @ np.arange(len(lengths))) == n * groups, "entries are lost")

    table = report.table("spark_skew", f"{documents:,} documents on {PARTITIONS:,} partitions, from {n:,} distinct ones", [
        "model", "entries of a partition", "largest / mean", "longest run", "pairs a document",
        f"share of entries in runs over {MAX_HOLDERS} %", "core hours of their bitmaps"])
    for name, scale, spread in (("families", 1.0, spread_families), ("shares", factor, spread_shares)):
        load = spread(lengths, factor, rng)
        length = np.arange(len(lengths)) * np.where(np.arange(len(lengths)) > 1, scale, 1)
        copies = lengths * np.where(length > 1, factor / scale, factor)
        entries, pairs = copies * length, copies * length * (length - 1) / 2
        long = length > MAX_HOLDERS
        report.require(abs(entries.sum() / (documents * groups) - 1) < 1e-9, f"{name}: entries are lost")
        table.add(name, float(load.mean()), float(load.max() / load.mean()), float(length.max()),
                  float(pairs[~long].sum() / documents), float(100 * entries[long].sum() / entries.sum()),
                  float(pairs[long].sum() * BITMAP_NS * 1e-9 / 3600))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
