"""The benchmark that clusters the collection of 1996, in small: it runs, and its own requirements hold."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "altavista.py"
if not BENCH.is_file():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
if shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None:
    pytest.skip("there is no C compiler for phrases.c", allow_module_level=True)


@pytest.mark.slow
def test_the_collection_of_1996_in_small(tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, str(BENCH), "--quick", "--results", str(tmp_path), "--work", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.json")
    result = json.loads(path.read_text())
    assert not result["failures"]
    truth = next(table for table in result["tables"] if table["name"] == "altavista-truth")
    row = dict(zip(truth["columns"], truth["rows"][0], strict=True))
    assert abs(row["clusters"] / row["expected"] - 1) < 0.03  # 2,400 families, some of which fall apart or are missed
    assert abs(row["documents in them"] / row["expected ones"] - 1) < 0.03
