"""What the options of near_duplicates cost: in turns on the corpus of job.py, and complete on ten million documents.

Every run is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from corpus import LARGE_BYTES, LARGE_DOCUMENTS
from job import make_corpus
from measure import Report, Times, Watched, memory_now, peak_memory, usable_cpus

THRESHOLD = 0.8
LARGE = 10_000_000
PHRASES = 25  # of 4 words
MEMORY = "2G"  # memory_limit of --large
AUTO, COMPLETE = "auto", "complete"
CASES: dict[str, dict[str, Any]] = {
    AUTO: {},
    COMPLETE: {"filter": "complete"},
    "contained": {"drop": "contained"},
    "must_agree numbers": {"must_agree": "numbers"},
    "drop_common 0.05": {"drop_common": 0.05},
    "lost": {"lost": True},
    "reassign": {"reassign": True},
    "auto at 0.5": {"threshold": 0.5},
    "complete at 0.5": {"threshold": 0.5, "filter": "complete"},
    "auto at 0.95": {"threshold": 0.95},
    "complete at 0.95": {"threshold": 0.95, "filter": "complete"},
}
BESIDE = {"complete at 0.5": "auto at 0.5", "complete at 0.95": "auto at 0.95"}  # compared with; else AUTO


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--large", action="store_true", help="also ten million documents of 100 words, complete")
    parser.add_argument("--documents", type=int, default=LARGE_DOCUMENTS, help="of the corpus of job.py")
    parser.add_argument("--bytes", type=int, default=LARGE_BYTES, help="of it")
    parser.add_argument("--seed", type=int, default=1, help="of it")
    parser.add_argument("--large-documents", type=int, default=LARGE, metavar="N", help="of --large")
    parser.add_argument("--work", metavar="FOLDER", help="where the input is written (default: the temporary folder)")
    parser.add_argument("--child", choices=(*CASES, "large"), help=argparse.SUPPRESS)


# ---- in the child


def child(arguments: argparse.Namespace) -> int:
    """Run one case and print what it found as JSON."""
    large = arguments.child == "large"
    print(json.dumps(run_large(arguments.large_documents) if large else run(Path(arguments.work), arguments.child)))
    return 0


def run(path: Path, case: str) -> dict[str, Any]:
    """Run near_duplicates on the texts of a JSONL file, which are read beforehand."""
    import ndcore as nd

    with path.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    before = memory_now()
    start = time.perf_counter()
    result = nd.near_duplicates(texts, **{"threshold": THRESHOLD, **CASES[case]})
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "before": before, "peak": peak_memory(), "kept": len(result.kept),
            "labels": hashlib.sha256(result.labels.tobytes()).hexdigest()}


def run_large(documents: int) -> dict[str, Any]:
    """Run a complete verdict on made-up documents of 100 words, and judge a sample of families exactly."""
    from altavista import Generated
    from collection1996 import IDENTICAL, MIXED, Collection
    from job import Stages

    import ndcore as nd

    class Short(Collection):
        """The collection of 1996 with documents of one length; versions differ in the last phrase."""

        def _phrases(self, keys: Any, kind: Any) -> Any:
            return np.full(len(keys), PHRASES, np.int64)

    source, stages = Generated(collection := Short(documents)), Stages()
    wall, cpu = time.perf_counter(), time.process_time()
    with Watched() as watched:
        result = nd.near_duplicates(source, threshold=THRESHOLD, filter="complete", memory_limit=MEMORY, progress=stages)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    dropped = result.duplicates
    foreign = alone = 0
    for some in np.array_split(dropped, max(1, len(dropped) // 100_000)):
        own, theirs = (collection.members(numbers).family for numbers in (some, result.labels[some]))
        foreign += int(np.count_nonzero(own != theirs))
    kinds = np.flatnonzero(np.isin(collection.kind, (IDENTICAL, MIXED)))
    families = [int(collection._first_family[kind]) + i for kind in kinds for i in range(min(20, collection.count[kind]))]
    for family in families:
        members = collection.documents_of(family)
        kept = members[result.labels[members] == members][:20]
        texts = [collection.bank.write(collection.recipes(kept)).text(i) for i in range(len(kept))]
        alone += sum(nd.resemblance(a, b) >= THRESHOLD for i, a in enumerate(texts) for b in texts[:i])
    return {"documents": documents, "bytes": source.nbytes, "wall": wall, "cpu": cpu, "made": source.seconds,
            "cpu_of_making": source.cpu, "stages": stages.seconds, "anonymous": watched.peak, "peak": peak_memory(),
            "kept": len(result.kept), "dropped": len(dropped), "foreign": foreign, "families": len(families),
            "alone": int(alone)}


# ---- in the parent


def spawn(arguments: argparse.Namespace, case: str, path: Path) -> dict[str, Any]:
    """Run a case in a fresh process."""
    command = [sys.executable, str(Path(__file__).with_name("verdicts.py")), "--child", case, "--work", str(path),
               "--large-documents", str(arguments.large_documents)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip()[-2000:] or f"exit code {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(arguments: argparse.Namespace) -> int:
    """Run all cases in turns, then the large one."""
    if arguments.quick:
        arguments.documents, arguments.bytes, arguments.repeats = 600, 3_000_000, 1
        arguments.large_documents = 20_000
    report = Report("verdicts_speed", arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        path = Path(folder) / "corpus.jsonl"
        make_corpus(arguments, report, path)
        runs: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
        for turn in range(arguments.repeats):
            for case, done in runs.items():
                print(f"{case}, turn {turn + 1}", file=sys.stderr, flush=True)
                found = spawn(arguments, case, path)
                report.require("error" not in found, f"{case}: {found.get('error')}")
                if "error" not in found:
                    done.append(found)
        if not report.failures:
            tabulate(report, runs)
        if arguments.large:
            large(report, arguments, path)
    return report.finish()


def tabulate(report: Report, runs: dict[str, list[dict[str, Any]]]) -> None:
    """Make the table of seconds and memory by option."""
    facts = report.inputs[0]
    size = f"{facts['documents']:,} documents, {int(str(facts['bytes'])) / 1e6:.0f} MB"
    table = report.table("verdict-speed", f"Options on {size}, {len(usable_cpus())} threads, threshold {THRESHOLD}", [
        "options", "seconds", "least", "IQR %", "× time of auto", "peak MB over the start", "kept"],
        note="A ratio is the median over neighbouring turns, and beside auto at the same threshold.")
    for case, done in runs.items():
        same = {found["labels"] for found in done}
        report.require(len(same) == 1, f"{case}: the labels differ from run to run")
        taken, auto = (Times([found["seconds"] for found in runs[name]]) for name in (case, BESIDE.get(case, AUTO)))
        table.add(case, taken.median, taken.least, 100 * taken.spread, auto.ratio_to(taken),
                  max(found["peak"] - found["before"] for found in done) / 1e6, done[0]["kept"])
    report.details["runs"] = runs


def large(report: Report, arguments: argparse.Namespace, path: Path) -> None:
    """Make the table of the ten million documents."""
    print("ten million documents", file=sys.stderr, flush=True)
    found = spawn(arguments, "large", path)
    report.require("error" not in found, f"large: {found.get('error')}")
    if "error" in found:
        return
    report.require(found["foreign"] == 0, f"large: {found['foreign']} documents are dropped for one of another family")
    report.require(found["alone"] == 0, f"large: {found['alone']} near-duplicates of {found['families']} families are kept")
    table = report.table("verdict-large", f"Complete on made-up documents of 100 words, {len(usable_cpus())} threads, "
                         f"threshold {THRESHOLD}, memory_limit {MEMORY}", [
        "documents", "GB of text read", "minutes", "without making the text", "CPU minutes", "GB of memory",
        "with mapped files", "kept", "dropped", "families judged exactly", "near-duplicates kept in them"],
        note="Pages of mapped temporary files can be dropped when others need the memory.")
    table.add(found["documents"], found["bytes"] / 1e9, found["wall"] / 60, (found["wall"] - found["made"]) / 60,
              (found["cpu"] - found["cpu_of_making"]) / 60, found["anonymous"] / 1e9, found["peak"] / 1e9,
              found["kept"], found["dropped"], found["families"], found["alone"])
    stages = report.table("verdict-large-stages", "Its stages", ["stage", "seconds"])
    for stage, seconds in found["stages"].items():
        stages.add(stage, seconds)
