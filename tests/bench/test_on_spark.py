"""bench/on_spark.py: what it reads of an event log, and of processes. Sessions need Java."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import benches
import pytest

on_spark, measure = benches.imported("on_spark", "measure")


def task(stage: int, seconds: float, shuffled: int, reason: str = "Success") -> dict[str, object]:
    metrics = {"Executor Run Time": 1000 * seconds, "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled}}
    end = {"Reason": reason}
    return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task End Reason": end, "Task Metrics": metrics}


@pytest.mark.parametrize("prop", ["spark.job.description", "spark.jobGroup.id"])
def test_an_event_log_by_steps(tmp_path, prop):
    start = {"Event": "SparkListenerJobStart", "Job ID": 4, "Stage IDs": [8, 9], "Submission Time": 10_000,
             "Properties": {"spark.other": "none", prop: "ndcore: sketches"}}
    other = {**start, "Job ID": 5, "Stage IDs": [10], "Submission Time": 13_000, "Properties": {}}
    lost = task(9, 9, 99, "ExecutorLostFailure")
    events = [start, task(8, 1, 100), task(9, 2.5, 11), lost, other, task(10, 0.5, 0)]
    (tmp_path / "app-1").write_text("\n".join(map(json.dumps, events)))
    found = on_spark.Events(tmp_path, prop)
    assert found.cpu == {"sketches": 3.5, "": 0.5} and found.longest == {"sketches": 2.5, "": 0.5}
    assert found.shuffled == {"sketches": 111, "": 0}
    assert found.failed == 1


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="there is no /proc")
def test_memory_of_a_tree_of_processes():
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = b\"x\" * (64 << 20); input()'])"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        with measure.Watched(lambda: measure.memory_of_trees({"one": process.pid}), every=0.1) as memory:
            while memory.peak["one"] < 64 << 20:
                assert process.poll() is None
        process.communicate(b"\n")
    assert memory.peak["one"] < 1 << 30
