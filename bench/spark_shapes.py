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

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import WORK, Option, Report, Watched, memory_of_trees, program
from numpy.typing import NDArray

import ndcore as nd

LOCAL = "local[2]"
CLUSTER = "2 workers"
WAIT = 60  # seconds for a master or a worker to start
PREFIX = "ndcore: "  # of the names of jobs
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


SHAPES = {
    "equal": lambda scale: equal(int(1_000_000 * scale)),
    "hot": lambda scale: hot(int(200_000 * scale)),
    "chain": lambda scale: chains(1, int(10_000 * scale)),
    "short": lambda scale: short(int(100_000 * scale)),
    "chains": lambda scale: chains(int(100_000 * scale), 100),
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
    """The local verdicts, and the seconds that they took."""
    texts = pa.chunked_array(list(in_order(shape)))
    start = time.perf_counter()
    return nd.near_duplicates(texts, threshold=THRESHOLD, filter="lsh"), time.perf_counter() - start


# ---- sessions of Spark on this machine, what their event logs say, and the memory of their processes


def spark_home() -> Path:
    """The folder of PySpark, which has Spark's programs."""
    import pyspark

    return Path(pyspark.__file__).parent


@contextlib.contextmanager
def cluster(folder: Path, memory: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Start a standalone master and two workers of one core each as processes; give its URL, and the workers."""
    start = [str(spark_home() / "bin" / "spark-class"), "org.apache.spark.deploy."]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
                   "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_MEMORY": "256m"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    running = []

    def launch(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = folder / f"{name}.log"
        with log.open("wb") as file:
            running.append(subprocess.Popen([start[0], start[1] + arguments[0], *arguments[1:]], stdout=file,
                                            stderr=subprocess.STDOUT, env=environment, start_new_session=True))
        return running[-1]

    def wait_for(name: str, text: str, times: int) -> None:
        end = time.monotonic() + WAIT
        while (folder / f"{name}.log").read_text().count(text) < times:
            if time.monotonic() > end or any(process.poll() is not None for process in running):
                raise RuntimeError(f"{name}: {(folder / f'{name}.log').read_text()[-2000:]}")
            time.sleep(0.2)

    try:
        launch("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        wait_for("master", "New state: ALIVE", 1)
        workers = {
            f"worker {i}": launch(f"worker-{i}", "worker.Worker", "--cores", "1", "--memory", memory, "--webui-port", "0",
                                  "--work-dir", str(folder / f"work-{i}"), url).pid
            for i in (1, 2)
        }  # fmt: skip
        wait_for("master", "Registering worker", 2)
        yield url, workers
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(WAIT)


OPTIONS = {
    "cluster": Option(False, "a master and two workers of one core each"), "work": WORK,
    "partitions": Option(16, "of a shuffle"), "worker_memory": Option("4g", "of each worker, Python included"),
    "executor_memory": Option("2g", "of Java in each worker"), "driver_memory": Option("2g", "of the driver's Java"),
}


@contextlib.contextmanager
def place_of(report: Report, given: argparse.Namespace) -> Iterator[Place]:
    """Where the options say: local[2], or a master and two workers that are started for it, which the report's name says."""
    report.name += "_cluster" if given.cluster else ""
    place = cluster(given.folder, given.worker_memory) if given.cluster else contextlib.nullcontext((LOCAL, {}))
    with place as (master, workers):
        yield Place(master, workers, given)


@dataclass(frozen=True)
class Place:
    """Where jobs run: the URL of a master, its workers by name (processes; none for local[2]), and the options."""

    master: str
    workers: dict[str, int]
    arguments: argparse.Namespace

    @property
    def name(self) -> str:
        return CLUSTER if self.workers else LOCAL

    def session(self, log: Path) -> contextlib.AbstractContextManager[Any]:
        """Start a session there, with the options, that writes its event log into `log`."""
        settings = {"spark.sql.shuffle.partitions": str(self.arguments.partitions),
                    "spark.driver.memory": self.arguments.driver_memory}
        if self.workers:
            settings["spark.executor.memory"] = self.arguments.executor_memory
        return session(self.master, log, settings)

    def run(self, source: Path, work: Path, threshold: float, **chosen: Any) -> Run:
        """Run the main job on the Parquet files of `source` in a session of its own."""
        from ndcore.spark import near_duplicates

        log, directory, verdicts = (work / f"{kind}-{source.name}" for kind in ("log", "steps", "verdicts"))
        processes = dict(self.workers)
        with Watched(lambda: memory_of_trees(processes), every=1.0) as memory, self.session(log) as spark:
            processes["driver"] = spark.sparkContext._gateway.proc.pid
            start = time.perf_counter()
            result = near_duplicates(spark.read.parquet(str(source)), id="number", threshold=threshold,
                                     directory=str(directory), **chosen)
            result.counts()
            seconds = time.perf_counter() - start
            rows = result.verdicts.selectExpr("number", "representative.number as label", "class", "resemblance")
            rows.write.parquet(str(verdicts))
        disk = size_of(directory)
        shutil.rmtree(directory)
        return Run(verdicts, seconds, disk, Events(log), dict(memory.peak))


@dataclass(frozen=True)
class Run:
    """A job that is done.

    verdicts: Parquet files with number, label, class, resemblance. disk: bytes of its intermediate files. memory: the most
    bytes of each worker and of the driver.
    """

    verdicts: Path
    seconds: float
    disk: int
    events: Events
    memory: dict[str, int]

    def rows(self) -> Any:
        """The verdicts in the order of numbers, as an Arrow table."""
        return pq.read_table(self.verdicts).sort_by("number")

    @property
    def largest_worker(self) -> float | None:
        """MB of the worker that had the most; None without workers."""
        return max((bytes_ / 1e6 for name, bytes_ in self.memory.items() if name != "driver"), default=None)


def differences(rows: Any, labels: Any, classes: Any, resemblance: Any) -> list[str]:
    """Name what of the verdicts differs from the local ones."""
    same = {
        "numbers": np.array_equal(rows["number"].to_numpy(), np.arange(len(labels))),
        "representatives": np.array_equal(rows["label"].to_numpy(), labels),
        "classes": rows["class"].to_pylist() == list(classes),
        "resemblances": np.array_equal(rows["resemblance"].to_numpy(), resemblance, equal_nan=True),
    }
    return [name for name, equal in same.items() if not equal]


@contextlib.contextmanager
def session(master: str, folder: Path, settings: dict[str, str]) -> Iterator[Any]:
    """Start a session that writes an event log into `folder`."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder.mkdir(parents=True, exist_ok=True)
    common = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri(), "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
    }
    builder = SparkSession.builder.master(master).appName("bench")
    for name, value in {**common, **settings}.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    try:
        yield started
    finally:
        started.stop()


class Events:
    """What the event log of a finished session says, by a property of jobs: their description, if no other is named.

    cpu: seconds of tasks. longest: of the longest task. shuffled: bytes. failed: tasks of all jobs.
    """

    def __init__(self, folder: Path, by: str = "spark.job.description") -> None:
        self.cpu: Counter[str] = Counter()
        self.shuffled: Counter[str] = Counter()
        self.longest: Counter[str] = Counter()
        self.failed = 0
        steps: dict[int, str] = {}
        for path in sorted(path for path in folder.glob("*") if path.is_file()):
            for event in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                if event["Event"] == "SparkListenerJobStart":
                    step = (event.get("Properties") or {}).get(by, "").removeprefix(PREFIX)
                    steps.update(dict.fromkeys(event["Stage IDs"], step))
                elif event["Event"] == "SparkListenerTaskEnd":
                    self._task(steps[event["Stage ID"]], event)

    def _task(self, step: str, event: dict[str, Any]) -> None:
        metrics = event.get("Task Metrics")
        if event["Task End Reason"]["Reason"] != "Success" or metrics is None:
            self.failed += 1
            return
        self.cpu[step] += metrics["Executor Run Time"] / 1000
        self.longest[step] = max(self.longest[step], metrics["Executor Run Time"] / 1000)
        self.shuffled[step] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# ---- all of it


def ask(report: Report, given: argparse.Namespace) -> None:
    """Run each shape on Spark and locally, compare, and tabulate."""
    with place_of(report, given) as place:
        title = f"Collections of hard shapes, tasks of {given.task_pairs:,} pairs, {place.name}"
        table = report.table("spark_shapes", title, [
            "shape", "documents", "MB", "seconds", "local seconds", "kept", "seconds of tasks", "failed tasks",
            "longest task seconds", "bytes shuffled a document", "memory of the largest worker MB",
            "memory of the driver MB"])
        for name in given.shapes:
            shape, source = SHAPES[name](given.scale), given.folder / name
            nbytes = write(shape, source)
            done = place.run(source, given.folder, THRESHOLD, task_pairs=given.task_pairs)
            shutil.rmtree(source)
            expected, seconds = local(shape)
            for what in differences(done.rows(), expected.labels, expected.classes, expected.resemblance):
                report.require(False, f"{name}: {what} differ from the local ones")
            events = done.events
            table.add(name, shape.documents, nbytes / 1e6, done.seconds, seconds,
                      int(np.sum(expected.labels == np.arange(shape.documents))), sum(events.cpu.values()), events.failed,
                      max(events.longest.values()), sum(events.shuffled.values()) / shape.documents, done.largest_worker,
                      done.memory["driver"] / 1e6)


if __name__ == "__main__":
    program("spark_shapes", ask, __doc__, shapes=Option(list(SHAPES), "collections", choices=SHAPES), **OPTIONS,
            scale=Option(1.0, "share of the documents", 1e-3), task_pairs=Option(1000, "pairs that a task may hold"))
