"""Memory and time of every command with --memory on many short documents (60 words, a tenth near-duplicates).

`ndcore dedup` is run without a limit, with --memory, with the complete filter, and with a table and a report;
near_duplicates on the list of texts; `ndcore cluster`, `ndcore repeats` and, on as many fingerprints,
`ndcore hamming build` with --memory.

Every run is a process of its own. Its own memory, RssAnon, is looked at a hundred times a second: mapped files are not
counted. All runs of `ndcore dedup` with one filter must write the same clusters.jsonl, which must name every altered copy
with its original. A limit must be kept, and what a process may take beyond it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import Report, options

WORDS, VOCABULARY, BLOCK = 60, 50_000, 20_000
BEYOND = 400_000_000  # bytes that a process may take beyond its limit, of up to four million documents
LIMITS = {"1G": 1 << 30, "256M": 256 << 20}
SETTINGS = {  # of ndcore dedup
    "": [], "--memory 1G": ["--memory", "1G"], "--memory 256M": ["--memory", "256M"],
    "--filter complete": ["--filter", "complete"],
    "--filter complete --memory 256M": ["--filter", "complete", "--memory", "256M"],
    "--table, --report": ["--table", "table.parquet", "--report", "page.html"],
    "--table, --report, --memory 256M": ["--table", "table.parquet", "--report", "page.html", "--memory", "256M"],
}
OTHERS = (  # commands with --memory, on documents, and on fingerprints
    ["cluster", "corpus.jsonl", "-o", "out", "--quiet"],
    ["repeats", "corpus.jsonl", "-o", "out", "--quiet"],
    ["hamming", "build", "prints.npy", "-o", "out.ndh", "--quiet", "--max-distance", "3"],
)
LIST = """
import json, sys, ndcore
with open(sys.argv[1], encoding="utf-8") as file:
    texts = [json.loads(line)["text"] for line in file]
import time
start = time.process_time()
result = ndcore.near_duplicates(texts)
print(time.process_time() - start)
"""


class Run(NamedTuple):
    """What a process took: seconds of the CPU, and the most bytes of its own; and what it printed."""

    seconds: float
    peak: int
    printed: str


def write(path: Path, documents: int) -> dict[str, str]:
    """Write the corpus; return the originals of altered copies, by their ids."""
    rng = np.random.default_rng(7)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(sorted({"".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(VOCABULARY)}), object)
    copies = {}
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, documents, BLOCK):
            count = min(BLOCK, documents - first)
            chosen = rng.integers(0, len(words), (count, WORDS))
            for i in range(1, count, 10):  # documents 0, 10, … are never copies
                chosen[i] = chosen[i - 1]
                chosen[i, rng.integers(WORDS)] = rng.integers(len(words))
                copies[f"d{first + i}"] = f"d{first + i - 1}"
            for i, row in enumerate(words[chosen].tolist(), first):
                file.write(json.dumps({"id": f"d{i}", "text": " ".join(row)}) + "\n")
    return copies


def run(command: list[str], folder: Path) -> Run:
    """Run a command to its end."""
    before, peak = os.times(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            if found := re.search(r"RssAnon:\s*(\d+) kB", status.read_text()):
                peak = max(peak, 1024 * int(found[1]))
            time.sleep(0.01)
        assert process.stdout is not None
        printed = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    after = os.times()
    return Run(after.children_user + after.children_system - before.children_user - before.children_system, peak, printed)


def labels(clusters: Path) -> tuple[str, dict[str, str]]:
    """Return the digest of clusters.jsonl, and the representative of each dropped document."""
    data = clusters.read_bytes()
    lines = map(json.loads, data.splitlines())
    return hashlib.sha256(data).hexdigest(), {line["id"]: line["representative"] for line in lines}


def measure(report: Report, documents: int, folder: Path) -> None:
    """Measure all settings on so many documents."""
    corpus = folder / "corpus.jsonl"
    copies = write(corpus, documents)
    table = report.table(f"memory-{documents}", f"{documents:,} documents of {WORDS} words, {corpus.stat().st_size:,} bytes",
                         ["run", "CPU seconds", "× the list", "own memory MB", "bytes a document"])
    taken = run([sys.executable, "-c", LIST, str(corpus)], folder)
    listed = float(taken.printed)
    table.add("near_duplicates(list)", listed, 1.0, None, None)

    def add(name: str, command: list[str], work: str) -> None:
        """Run a command of ndcore, add it to the table, and check its limit."""
        taken = run([sys.executable, "-m", "ndcore", *command], Path(work))
        table.add(name, taken.seconds, taken.seconds / listed, taken.peak / 1e6, taken.peak / documents)
        if "--memory" in command:
            most = LIMITS[command[command.index("--memory") + 1]] + BEYOND
            report.require(taken.peak <= most, f"{name}: {taken.peak / 1e6:.0f} MB at {documents:,} documents")

    digests = {}
    for more, given in SETTINGS.items():
        name = f"ndcore dedup {more}".rstrip()
        with tempfile.TemporaryDirectory(dir=folder) as work:
            add(name, ["dedup", str(corpus), "-o", "out", "--quiet", *given], work)
            digests[name], dropped = labels(Path(work) / "out" / "clusters.jsonl")
        missed = sum(dropped.get(copy) != original for copy, original in copies.items())
        report.require(missed <= len(copies) // 100, f"{name}: {missed} of {len(copies)} altered copies are not with theirs")
    for complete in (False, True):
        same = {name: digest for name, digest in digests.items() if ("complete" in name) == complete}
        report.require(len(set(same.values())) == 1, f"runs with one filter differ: {same}")
    np.save(folder / "prints.npy", np.random.default_rng(7).integers(0, 1 << 64, documents, np.uint64))
    for command in OTHERS:
        name = " ".join(["ndcore", *command[: 2 if command[0] == "hamming" else 1], "--memory 256M"])
        with tempfile.TemporaryDirectory(dir=folder) as work:
            inside = [str(folder / part) if (folder / part).exists() else part for part in command]
            add(name, [*inside, "--memory", "256M"], work)
    corpus.unlink()


def main() -> int:
    parser = options(__doc__, 1)
    parser.add_argument("--documents", nargs="+", type=int, default=[500_000, 1_000_000, 2_000_000, 4_000_000],
                        help="numbers of documents (default: half a million to four)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.documents = [20_000]
    report = Report("memory", arguments)
    with tempfile.TemporaryDirectory() as folder:
        for documents in arguments.documents:
            measure(report, documents, Path(folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
