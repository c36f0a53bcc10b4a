"""Sessions of Spark on this machine: where they run, and what their event logs say."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import WORK, Option, Report

LOCAL = "local[2]"
CLUSTER = "2 workers"
WAIT = 60  # seconds for a master or a worker to start
PREFIX = "ndcore: "  # of the names of jobs


@contextlib.contextmanager
def cluster(folder: Path, memory: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Start a standalone master and two workers of one core each as processes; give its URL, and the workers."""
    import pyspark

    program = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
                   "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_DAEMON_MEMORY": "256m"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    running = []

    def launch(name: str, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (folder / f"{name}.log").open("wb") as file:
            running.append(subprocess.Popen([program, f"org.apache.spark.deploy.{what}", *arguments], stdout=file,
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
    """Give the place that options name: local[2], or a master and two workers, which are started and named in the report."""
    report.name += "_cluster" if given.cluster else ""
    local = contextlib.nullcontext((LOCAL, dict[str, int]()))
    with cluster(given.folder, given.worker_memory) if given.cluster else local as (master, workers):
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
