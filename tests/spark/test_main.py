"""The entry of jobs: exit codes and messages."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyspark.sql

from ndcore.spark import __main__, dedup_job


def test_the_path_needs_no_spark(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert __main__.main(["--path"]) == 0
    assert Path(capsys.readouterr().out.strip()) == Path(__main__.__file__)
    assert __main__.main(["dedup", "--input", "a", "--output", "b"]) == 1
    assert "ndcore.spark needs pyspark: pip install 'ndcore[spark]'" in capsys.readouterr().err


def test_what_a_job_says(monkeypatch, capsys):
    stopped = []
    session = SimpleNamespace(stop=lambda: stopped.append(True))
    builder = SimpleNamespace(getOrCreate=lambda: session)
    monkeypatch.setattr(pyspark.sql, "SparkSession", SimpleNamespace(builder=SimpleNamespace(appName=lambda name: builder)))

    def run(spark: Any, options: Any) -> dict[str, Any]:
        if options.output == "bad":
            raise ValueError("bad exists")
        return {"read": 3, "kept": 2}

    monkeypatch.setattr(dedup_job, "run", run)
    assert __main__.main(["dedup", "--input", "a", "--output", "b"]) == 0
    assert capsys.readouterr().out == "read 3 kept 2\n"
    assert __main__.main(["dedup", "--input", "a", "--output", "bad"]) == 1
    assert capsys.readouterr().err == "ndcore.spark: bad exists\n" and len(stopped) == 2
