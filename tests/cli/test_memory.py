"""Memory of commands: the pages of a process that are no file, which --memory bounds."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENTS = 100_000
SCRIPT = """
import sys, threading
from pathlib import Path
from ndcore.cli.main import main

def own():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])

class Watch(threading.Thread):
    peak, done = 0, threading.Event()
    def run(self):
        while not self.done.wait(0.002):
            self.peak = max(self.peak, own())

watch = Watch(daemon=True)
watch.start()
code = main(sys.argv[1:])
watch.done.set()
watch.join()
print(watch.peak)
sys.exit(code)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what pages are no file"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of 60 words each; a tenth are near-duplicates of the document before."""
    rng = random.Random(7)
    words = [f"w{i}" for i in range(20_000)]
    path, text = tmp_path_factory.mktemp("memory") / "corpus.jsonl", rng.choices(words, k=60)
    with path.open("w", encoding="utf-8") as file:
        for i in range(DOCUMENTS):
            text = [*text[:-1], "other"] if i % 10 == 9 else rng.choices(words, k=60)
            file.write(json.dumps({"id": f"d{i}", "text": " ".join(text)}) + "\n")
    return path


def peak(*command: str) -> int:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *command], capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def test_dedup_takes_below_a_kilobyte_a_document(corpus: Path, tmp_path: Path) -> None:
    # 60 MB are modules and batches. An estimate of the cost of a complete filter from all signatures took 2.5 KB a document.
    free, limited = tmp_path / "free", tmp_path / "limited"
    assert peak("dedup", str(corpus), "-o", str(free), "--quiet", "--threads", "2") < (100 << 20) + 1000 * DOCUMENTS
    bounded = peak("dedup", str(corpus), "-o", str(limited), "--memory", "8M", "--quiet", "--threads", "2")
    assert bounded < (8 << 20) + (100 << 20) + 400 * DOCUMENTS  # without the limit the signatures alone are 34 MB
    assert (free / "clusters.jsonl").read_bytes() == (limited / "clusters.jsonl").read_bytes()
    assert json.loads((free / "summary.json").read_text())["counts"]["dropped"] == DOCUMENTS // 10
