"""The main job on Spark with collections whose shape is hard for many machines, equal to the local job to the last value.

- equal: a million equal documents among others
- hot: features that 100,000 documents have, of 20 families
- chain: 10,000 documents, each like the next only
- chains: 100,000 of them with 100 documents each
- short: empty and short documents

Rows lie in the files in an order that is not the keep order, and a task may hold 1,000 pairs only. Required, else the exit
code is 1: representatives, classes and resemblances of Spark are those of `ndcore.near_duplicates`.

`--cluster` runs on a standalone master with two workers of one core each, processes on this machine, instead of local[2].
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from measure import Report, options
from numpy.typing import NDArray
from spark_runs import Place, add_options, differences, place_for

import ndcore as nd

THRESHOLD = 0.8
BATCH = 4096  # documents generated at a time
ROWS = 25 * BATCH  # of a file
STRIDE = 7919  # rows of neighbours in keep order are that far apart; a prime
LETTERS = 26
WORDS = LETTERS**3
ALL = np.int64(1) << np.int64(40)  # keys of words of one document lie closer together

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """A collection by formula.

    documents: how many. words: gives for each of some documents the keys of its words, and how many it has. A key is a word.
    """

    documents: int
    words: Callable[[Keys], tuple[Keys, Keys]]

    def texts(self, numbers: Keys) -> pa.StringArray:
        """Write some documents."""
        keys, lengths = self.words(numbers)
        there = np.arange(keys.shape[1]) < lengths[:, None]
        letters = _letters()[_mixed(keys) % np.uint64(WORDS)]
        offsets = np.concatenate([[0], np.cumsum(4 * lengths)]).astype(np.int32)
        data = np.ascontiguousarray(letters[there])
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(data))


def _letters() -> NDArray[np.uint8]:
    """Each word, of three letters and a blank."""
    word = np.arange(WORDS)
    columns = [word // LETTERS**2, word // LETTERS % LETTERS, word % LETTERS]
    return np.stack([*(column + ord("a") for column in columns), np.full(WORDS, ord(" "))], axis=1).astype(np.uint8)


def _mixed(keys: Keys) -> NDArray[np.uint64]:
    """SplitMix64 of each key (Steele, Lea, Flood 2014)."""
    x = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _whole(keys: Keys) -> tuple[Keys, Keys]:
    return keys, np.full(len(keys), keys.shape[1], np.int64)


def equal(documents: int) -> Shape:
    """All documents equal, but for every thousandth."""

    def words(numbers: Keys) -> tuple[Keys, Keys]:
        own = np.where(numbers % 1000 == 999, numbers, 0)
        return _whole(own[:, None] * 1000 + np.arange(100))

    return Shape(documents, words)


def hot(documents: int) -> Shape:
    """Twenty families; 85 of 100 shingles are common to all documents, 94 to a family."""

    def words(numbers: Keys) -> tuple[Keys, Keys]:
        common = np.broadcast_to(np.arange(88), (len(numbers), 88))
        family = ALL + (numbers % 20)[:, None] * 1000 + np.arange(9)
        own = 2 * ALL + numbers[:, None] * 1000 + np.arange(6)
        return _whole(np.concatenate([common, family, own], axis=1))

    return Shape(documents, words)


def chains(count: int, length: int) -> Shape:
    """Windows of 104 words that move by ten: resemblance 0.82 with the next, 0.67 with the one after it."""

    def words(numbers: Keys) -> tuple[Keys, Keys]:
        first = numbers // length * ALL + numbers % length * 10
        return _whole(first[:, None] + np.arange(104))

    return Shape(count * length, words)


def short(documents: int) -> Shape:
    """No to seven words out of a few."""

    def words(numbers: Keys) -> tuple[Keys, Keys]:
        lengths = (_mixed(numbers) % np.uint64(8)).astype(np.int64)
        return (_mixed(numbers[:, None] * 8 + np.arange(7)) % np.uint64(5)).astype(np.int64), lengths

    return Shape(documents, words)


SHAPES = {
    "equal": lambda scale: equal(int(1_000_000 * scale)),
    "hot": lambda scale: hot(int(200_000 * scale)),
    "chain": lambda scale: chains(1, int(10_000 * scale)),
    "short": lambda scale: short(int(100_000 * scale)),
    "chains": lambda scale: chains(int(100_000 * scale), 100),
}


def write(shape: Shape, folder: Path) -> int:
    """Write a collection as Parquet files with the columns number and text, in an order of rows of its own."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    step = STRIDE if shape.documents % STRIDE else 1
    total = 0
    for first in range(0, shape.documents, ROWS):
        last = min(first + ROWS, shape.documents)
        with pq.ParquetWriter(folder / f"{first:011}.parquet", pa.schema([("number", pa.int64()), ("text", pa.string())]),
                              compression="zstd") as writer:  # fmt: skip
            for start in range(first, last, BATCH):
                numbers = np.arange(start, min(start + BATCH, last)) * step % shape.documents
                texts = shape.texts(numbers)
                total += texts.nbytes
                writer.write_batch(pa.record_batch({"number": numbers, "text": texts}))
    return total


def in_order(shape: Shape) -> Iterator[pa.StringArray]:
    """Give all documents in keep order."""
    for start in range(0, shape.documents, BATCH):
        yield shape.texts(np.arange(start, min(start + BATCH, shape.documents)))


def local(shape: Shape) -> tuple[nd.NearDuplicates, float]:
    """The local verdicts, and the seconds that they took."""
    texts = pa.chunked_array(list(in_order(shape)))
    start = time.perf_counter()
    return nd.near_duplicates(texts, threshold=THRESHOLD, filter="lsh"), time.perf_counter() - start


def run_on(report: Report, place: Place, work: Path) -> None:
    """Run each shape on Spark and locally, compare, and tabulate."""
    arguments = place.arguments
    title = f"Collections of hard shapes, tasks of {arguments.task_pairs:,} pairs, {place.name}"
    table = report.table("spark_shapes", title, [
        "shape", "documents", "MB", "seconds", "local seconds", "kept", "seconds of tasks", "failed tasks",
        "longest task seconds", "bytes shuffled a document", "memory of the largest worker MB", "memory of the driver MB"])
    for name in arguments.shapes:
        shape = SHAPES[name](1e-3 if arguments.quick else arguments.scale)
        nbytes = write(shape, work / name)
        done = place.run(work / name, work, THRESHOLD, task_pairs=arguments.task_pairs)
        shutil.rmtree(work / name)
        expected, seconds = local(shape)
        for what in differences(done.rows(), expected.labels, expected.classes, expected.resemblance):
            report.require(False, f"{name}: {what} differ from the local ones")
        events = done.events
        table.add(name, shape.documents, nbytes / 1e6, done.seconds, seconds,
                  int(np.sum(expected.labels == np.arange(shape.documents))), sum(events.cpu.values()), events.failed,
                  max(events.longest.values()), sum(events.shuffled.values()) / shape.documents, done.largest_worker,
                  done.memory["driver"] / 1e6)


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="NAME", help=", ".join(SHAPES))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the documents (default 1)")
    parser.add_argument("--task-pairs", type=int, default=1000, help="pairs that a task may hold (default 1000)")
    add_options(parser)
    arguments = parser.parse_args()
    report = Report("spark_shapes_cluster" if arguments.cluster else "spark_shapes", arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder, place_for(arguments, Path(folder)) as place:
        run_on(report, place, Path(folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
