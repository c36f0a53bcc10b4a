"""Nothing acknowledged is lost by SIGKILL, the store always opens, and it says what the reference says: 200 kills."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")  # a kill leaves what the kernel has: the disk does not matter


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("seed", range(4))
def test_fifty_kills(tmp_path, seed):
    place = Path(tempfile.mkdtemp(dir=MEMORY)) if seed and MEMORY.is_dir() else tmp_path
    try:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("killed.py")), str(place), str(seed), "50"],
            capture_output=True, text=True, check=False, timeout=300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        )
    finally:
        shutil.rmtree(place)
    assert done.returncode == 0, done.stderr
    stores = [json.loads(line) for line in done.stdout.splitlines()]
    assert stores[-1]["kills"] >= 50 and sum(each["written"] for each in stores) >= 20
