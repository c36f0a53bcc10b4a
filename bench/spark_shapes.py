"""The main job on Spark with collections whose shape is hard for many machines, equal to the local job to the last value.

- equal: a million equal documents among others
- hot: features that 100,000 documents have, of 20 families
- chain: 10,000 documents, each like the next only
- chains: 100,000 of them with 100 documents each
- short: empty and short documents
- unlike: 400,000 documents that have no word in common

Rows lie in the files in an order that is not the keep order, and a task may hold 1,000 pairs only. Required, else the exit
code is 1: representatives, classes and resemblances of Spark are those of `ndcore.near_duplicates`.

`--cluster` runs on a standalone master with two workers of one core each, processes on this machine, instead of local[2].
"""

from __future__ import annotations

import shutil
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import Option, Report, Watched, memory_of_trees, program
from numpy.typing import NDArray
from on_spark import OPTIONS, Events, Place, place_of

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
        letters = _letters()[mixed(keys) % np.uint64(WORDS)]
        offsets = np.concatenate([[0], np.cumsum(4 * lengths)]).astype(np.int32)
        data = np.ascontiguousarray(letters[there])
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(data))


def _letters() -> NDArray[np.uint8]:
    """Each word, of three letters and a blank."""
    word = np.arange(WORDS)
    columns = [word // LETTERS**2, word // LETTERS % LETTERS, word % LETTERS]
    return np.stack([*(column + ord("a") for column in columns), np.full(WORDS, ord(" "))], axis=1).astype(np.uint8)


def mixed(keys: Keys) -> NDArray[np.uint64]:
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
        lengths = (mixed(numbers) % np.uint64(8)).astype(np.int64)
        return (mixed(numbers[:, None] * 8 + np.arange(7)) % np.uint64(5)).astype(np.int64), lengths

    return Shape(documents, words)


def unlike(documents: int) -> Shape:
    """Documents of words of their own, but for words that have the same letters by chance."""
    return Shape(documents, lambda numbers: _whole(numbers[:, None] * 1000 + np.arange(100)))


SHAPES = {
    "equal": lambda scale: equal(int(1_000_000 * scale)),
    "hot": lambda scale: hot(int(200_000 * scale)),
    "chain": lambda scale: chains(1, int(10_000 * scale)),
    "short": lambda scale: short(int(100_000 * scale)),
    "chains": lambda scale: chains(int(100_000 * scale), 100),
    "unlike": lambda scale: unlike(int(400_000 * scale)),
}


def write_file(path: Path, shape: Shape, numbers: Keys) -> int:
    """Write these documents as a Parquet file with the columns number and text; give the bytes of the texts."""
    total = 0
    with pq.ParquetWriter(path, pa.schema([("number", pa.int64()), ("text", pa.string())]), compression="zstd") as writer:
        for start in range(0, len(numbers), BATCH):
            texts = shape.texts(numbers[start : start + BATCH])
            total += texts.nbytes
            writer.write_batch(pa.record_batch({"number": numbers[start : start + BATCH], "text": texts}))
    return total


def write(shape: Shape, folder: Path) -> int:
    """Write a collection as Parquet files, in an order of rows of its own."""
    folder.mkdir(parents=True)
    order = np.arange(shape.documents) * (STRIDE if shape.documents % STRIDE else 1) % shape.documents
    return sum(write_file(folder / f"{first:011}.parquet", shape, order[first : first + ROWS])
               for first in range(0, shape.documents, ROWS))


def in_order(shape: Shape) -> Iterator[pa.StringArray]:
    """Give all documents in keep order."""
    for start in range(0, shape.documents, BATCH):
        yield shape.texts(np.arange(start, min(start + BATCH, shape.documents)))


def local(shape: Shape) -> tuple[nd.NearDuplicates, float]:
    """Give the local verdicts, and the seconds that they took."""
    texts = pa.chunked_array(list(in_order(shape)))
    start = time.perf_counter()
    return nd.near_duplicates(texts, threshold=THRESHOLD, filter="lsh"), time.perf_counter() - start


def on_spark(place: Place, source: Path, task_pairs: int) -> tuple[Any, float, Mapping[str, int]]:
    """Give the verdicts on the Parquet files of a folder by number, the seconds, and the most bytes of each process.

    The event log is in the folder `log` beside it.
    """
    from ndcore.spark import near_duplicates

    processes, verdicts = dict(place.workers), source.with_name("verdicts")
    with Watched(lambda: memory_of_trees(processes), every=1.0) as memory, place.session(source.with_name("log")) as spark:
        processes["driver"] = spark.sparkContext._gateway.proc.pid
        start = time.perf_counter()
        result = near_duplicates(spark.read.parquet(str(source)), id="number", threshold=THRESHOLD, task_pairs=task_pairs,
                                 directory=str(source.with_name("steps")))
        result.counts()
        seconds = time.perf_counter() - start
        rows = result.verdicts.selectExpr("number", "representative.number as label", "class", "resemblance")
        rows.write.parquet(str(verdicts))
    return pq.read_table(verdicts).sort_by("number"), seconds, memory.peak


def differences(rows: Any, expected: nd.NearDuplicates) -> list[str]:
    """Name what of the verdicts differs from the local ones."""
    same = {
        "numbers": np.array_equal(rows["number"].to_numpy(), np.arange(len(expected))),
        "representatives": np.array_equal(rows["label"].to_numpy(), expected.labels),
        "classes": rows["class"].to_pylist() == list(expected.classes),
        "resemblances": np.array_equal(rows["resemblance"].to_numpy(), expected.resemblance, equal_nan=True),
    }
    return [name for name, equal in same.items() if not equal]


def ask(report: Report, given: Namespace) -> None:
    """Run each shape on Spark and locally, compare, and tabulate."""
    with place_of(report, given) as place:
        title = f"Collections of hard shapes, tasks of {given.task_pairs:,} pairs, {place.name}"
        table = report.table("spark_shapes", title, [
            "shape", "documents", "MB", "seconds", "local seconds", "kept", "seconds of tasks", "failed tasks",
            "longest task seconds", "bytes shuffled a document", "memory of the largest worker MB",
            "memory of the driver MB"])
        for name in given.shapes:
            shape, folder = SHAPES[name](given.scale), given.folder / name
            nbytes = write(shape, folder / "documents")
            rows, seconds, memory = on_spark(place, folder / "documents", given.task_pairs)
            events = Events(folder / "log")
            shutil.rmtree(folder)
            expected, local_seconds = local(shape)
            for what in differences(rows, expected):
                report.require(False, f"{name}: {what} differ from the local ones")
            workers = [memory[worker] / 1e6 for worker in place.workers]
            table.add(name, shape.documents, nbytes / 1e6, seconds, local_seconds, len(expected.kept),
                      sum(events.cpu.values()), events.failed, max(events.longest.values()),
                      sum(events.shuffled.values()) / shape.documents, max(workers, default=None), memory["driver"] / 1e6)


if __name__ == "__main__":
    program("spark_shapes", ask, __doc__, shapes=Option(list(SHAPES), "collections", choices=SHAPES), **OPTIONS,
            scale=Option(1.0, "share of the documents", 1e-3), task_pairs=Option(1000, "pairs that a task may hold"))
