"""The generated pages and tables of docs/ are what bench/report.py makes of the committed results."""

from __future__ import annotations

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
    assert {result["name"] for result in report.newest(measure.RESULTS)} == set(report.TITLES)
