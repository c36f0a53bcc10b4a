"""Spark for a benchmark: sessions on this machine, what their event logs say, and the memory of their processes."""

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import Memory

LOCAL = "local[2]"
CLUSTER = "2 workers"
WAIT = 60  # seconds for a master or a worker to start
PREFIX = "ndcore: "  # of the names of jobs


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where and how Spark runs."""
    parser.add_argument("--cluster", action="store_true", help="a master and two workers of one core each")
    parser.add_argument("--partitions", type=int, default=16, help="of a shuffle (default 16)")
    parser.add_argument("--worker-memory", default="4g", help="of each worker, Python included (default 4g)")
    parser.add_argument("--executor-memory", default="2g", help="of Java in each worker (default 2g)")
    parser.add_argument("--driver-memory", default="2g", help="of the driver's Java (default 2g)")
    parser.add_argument("--work", metavar="FOLDER", help="for files; 3 KB a document (default: a temporary folder)")


@contextlib.contextmanager
def place_for(arguments: argparse.Namespace, work: Path) -> Iterator[Place]:
    """Start what the options ask for: nothing for local[2], or a master and two workers."""
    if not arguments.cluster:
        yield Place(LOCAL, {}, arguments)
        return
    with cluster(work, arguments.worker_memory) as (master, workers):
        yield Place(master, workers, arguments)


@dataclass(frozen=True)
class Place:
    """Where jobs run: the URL of a master, its workers by name (processes; none for local[2]), and the options."""

    master: str
    workers: dict[str, int]
    arguments: argparse.Namespace

    @property
    def name(self) -> str:
        return CLUSTER if self.workers else LOCAL

    def run(self, source: Path, work: Path, threshold: float, **chosen: Any) -> Run:
        """Run the main job on the Parquet files of `source` in a session of its own."""
        from ndcore.spark import near_duplicates

        log, directory, verdicts = (work / f"{kind}-{source.name}" for kind in ("log", "steps", "verdicts"))
        settings = {"spark.sql.shuffle.partitions": str(self.arguments.partitions),
                    "spark.driver.memory": self.arguments.driver_memory}
        if self.workers:
            settings["spark.executor.memory"] = self.arguments.executor_memory
        with Memory(dict(self.workers)) as memory, session(self.master, log, settings) as spark:
            memory.roots["driver"] = spark.sparkContext._gateway.proc.pid
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
        import pyarrow.parquet as pq

        return pq.read_table(self.verdicts).sort_by("number")

    @property
    def largest_worker(self) -> float | None:
        """MB of the worker that had the most; None without workers."""
        return max((bytes_ / 1e6 for name, bytes_ in self.memory.items() if name != "driver"), default=None)


def differences(rows: Any, labels: Any, classes: Any, resemblance: Any) -> list[str]:
    """Name what of the verdicts differs from the local ones."""
    import numpy as np

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
    """What the event log of a finished session says, by job description.

    seconds: of wall time, jobs one after another. cpu: seconds of tasks. shuffled, spilled: bytes. tasks: how many.
    """

    def __init__(self, folder: Path) -> None:
        self.seconds: Counter[str] = Counter()
        self.cpu: Counter[str] = Counter()
        self.shuffled: Counter[str] = Counter()
        self.spilled: Counter[str] = Counter()
        self.tasks: Counter[str] = Counter()
        self.longest: Counter[str] = Counter()
        self.failed = 0
        steps: dict[int, str] = {}
        jobs: dict[int, tuple[str, int]] = {}
        for event in _events(folder):
            kind = event["Event"]
            if kind == "SparkListenerJobStart":
                step = (event.get("Properties") or {}).get("spark.job.description", "").removeprefix(PREFIX)
                jobs[event["Job ID"]] = step, event["Submission Time"]
                steps.update((stage, step) for stage in event["Stage IDs"])
            elif kind == "SparkListenerJobEnd":
                step, start = jobs[event["Job ID"]]
                self.seconds[step] += (event["Completion Time"] - start) / 1000
            elif kind == "SparkListenerTaskEnd":
                self._task(steps[event["Stage ID"]], event)

    def _task(self, step: str, event: dict[str, Any]) -> None:
        metrics = event.get("Task Metrics")
        if event["Task End Reason"]["Reason"] != "Success" or metrics is None:
            self.failed += 1
            return
        self.tasks[step] += 1
        self.cpu[step] += metrics["Executor Run Time"] / 1000
        self.longest[step] = max(self.longest[step], metrics["Executor Run Time"] / 1000)
        self.shuffled[step] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.spilled[step] += metrics["Disk Bytes Spilled"]

    def rows(self) -> Iterable[tuple[str, float, float, int, int, int, float]]:
        """Each step: seconds, seconds of tasks, tasks, bytes shuffled, bytes spilled, seconds of the longest task."""
        for step, seconds in self.seconds.items():
            yield (step, seconds, self.cpu[step], self.tasks[step], self.shuffled[step], self.spilled[step],
                   self.longest[step])


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*")):
        if path.is_file():
            with path.open(encoding="utf-8") as file:
                yield from map(json.loads, file)


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
