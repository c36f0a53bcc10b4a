"""The generated pages and tables of docs/ are what bench/report.py makes of the committed results."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from benches import BENCH, imported

report, measure = imported("report", "measure")
if not measure.RESULTS.is_dir():
    pytest.skip("the results are not here", allow_module_level=True)


def test_pages_are_those_of_the_results():
    done = subprocess.run([sys.executable, BENCH / "report.py", "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_result_has_a_title():
    names = {result["name"] for result in report.newest(measure.RESULTS)}
    assert {name.removesuffix("_cluster") for name in names} == set(report.TITLES)


def test_a_result_of_two_workers_follows_that_of_one_machine(tmp_path):
    for name in ("kernels", "spark_growing_cluster", "spark_growing", "spark"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "failures": [], "arguments": {}}))
    assert [report.title_of(result["name"]) for result in report.newest(tmp_path)] == [
        "Spark on one machine", "Crawl after crawl on one machine", "Crawl after crawl on two workers", "Kernels"]
