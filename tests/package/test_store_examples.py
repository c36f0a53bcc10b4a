"""The example of several crawling processes and one store does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import ndcore as nd

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(name: str, folder: Path) -> str:
    """Run an example, and return what it prints."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout


def test_several_workers_and_one_store(tmp_path: Path) -> None:
    out = printed("store_workers", tmp_path)
    assert "15 pages from 3 workers" in out
    assert out.endswith("problems: []\n")
    with nd.Store.open(tmp_path / "seen") as store:
        assert len(store) == 15
        clusters = [len(members) for members in store.clusters()]
        assert sorted(clusters) == [1, 1, 1, 12]  # a page of each worker, and what all of them fetched
        assert re.findall(r"'kept': (\d+)", out) == ["4"]  # each content was new once, to one of the workers
