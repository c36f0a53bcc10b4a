"""The clustering of AltaVista, 1996, again: 30 million documents, 1 shingle of 10 words in 25, connected components at 50 %.

The collection is made up (collection1996.py), so what is true of it is known. Its text is made while it is read, and the
time that takes is told apart: ndcore has the rest. Collections of --sizes are clustered one after the other into a
directory, each in a process of its own. Required, else the exit code is 1: hardly a pair that resembles itself by 70 % or
more is apart, hardly one of 30 % or less together, hardly a document with one of another family.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from collection1996 import Collection
from job import Stages
from measure import Report, Watched, options, peak_memory, usable_cpus
from numpy.typing import NDArray
from phrases import machine_bank
from truth1996 import judged

import ndcore as nd
from ndcore.collection.shelf import SLABS, Shelf
from ndcore.text.inputs import as_texts

SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000)
WIDTH, MODULUS, THRESHOLD = 10, 25, 0.5
MEMORY = 5 << 30
# Of the pairs that must be together, must not, of all documents; at most. Pages of some 25 shingles have one member or none
# in their samples, and ten pairs of a family are apart at once: 1 to 3 % of the pairs.
LEAK, MERGED, FOREIGN = 0.05, 0.02, 1e-4
LAST = ("sorting entries", "counting pairs", "clustering")  # phases


class Generated:
    """The collection as ndcore reads one; keeps account of the time that making it takes."""

    random_access = True

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.seconds = self.cpu = 0.0
        self.nbytes = 0
        self._memory = [np.empty(0, np.uint8), np.empty(0, np.uint8)]  # threads still read the batch before

    def _made(self, number: int, documents: NDArray[np.int64]) -> Any:
        wall, cpu = time.perf_counter(), time.thread_time()
        recipes = self.collection.recipes(documents)
        batch = self.collection.bank.write(recipes, self._memory[number % 2])
        if len(batch.data) > len(self._memory[number % 2]):
            self._memory[number % 2] = np.empty(4 * len(batch.data), np.uint8)
        self.nbytes += len(batch.data)
        texts = as_texts(batch.arrow())
        self.seconds += time.perf_counter() - wall
        self.cpu += time.thread_time() - cpu
        return texts

    def batches(self) -> Iterator[Any]:
        """4096 documents each."""
        for number in range(self.collection.batches):
            first = 4096 * number
            yield self._made(number, np.arange(first, min(first + 4096, len(self.collection))))

    def selected(self, wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Single documents again."""
        positions = np.flatnonzero(wanted)
        for number, first in enumerate(range(0, len(positions), 4096)):
            some = positions[first : first + 4096]
            yield some, self._made(number, some)


def run(documents: int, folder: str) -> dict[str, Any]:
    """Cluster so many documents; everything that there is to tell."""
    collection = Collection(documents)
    source, stages = Generated(collection), Stages()
    sketcher = nd.ModSketcher(MODULUS, shingling=nd.Shingling(width=WIDTH))
    wall, cpu = time.perf_counter(), time.process_time()
    with Watched() as watched:
        made = nd.Collection.build(
            Path(folder) / "collection", source, threshold=THRESHOLD, sketcher=sketcher, cluster="components",
            memory_limit=MEMORY, progress=stages,
        )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = made.clustering
    entries = int(Shelf(made.path).read(SLABS, documents)["slabs"][:, 2].sum())
    some = range(0, documents, max(1, documents // 200))
    asked = time.perf_counter()
    for document in some:
        made.resembling(document)
    asked = (time.perf_counter() - asked) / len(some)
    sizes = np.bincount(found.labels, minlength=documents)
    return {
        "documents": documents, "bytes": source.nbytes, "wall": wall, "cpu": cpu, "made": source.seconds,
        "cpu_of_making": source.cpu,
        "stages": stages.seconds, "anonymous": watched.peak, "peak": peak_memory(), "entries": entries,
        "members": int(found.segments.members.sum()), "pairs": len(found.pairs.a), "common": len(found.common.value),
        "clusters": int((sizes > 1).sum()), "clustered": int(sizes[sizes > 1].sum()), "query": asked,
        "disk": sum(file.stat().st_size for file in made.path.rglob("*") if file.is_file()),
        "judged": judged(collection, found.labels)._asdict(), "expected": collection.figures()._asdict(),
    }


def add(report: Report, table: Any, truth: Any, told: dict[str, Any]) -> None:
    """A row of each table, and what is required."""
    documents, stages, right = told["documents"], told["stages"], told["judged"]
    ours, of_sketching = told["wall"] - told["made"], stages["sketching"] + stages.get("comparing equal signatures", 0.0)
    last = [stages[phase] for phase in LAST]
    table.add(
        documents, told["bytes"] / 1e9, told["wall"], told["made"], ours, of_sketching - told["made"],
        *last, sum(last), told["cpu"] - told["cpu_of_making"],
        told["entries"] / 1e6, told["pairs"] / 1e6, told["anonymous"] / 1e9, told["disk"] / 1e9, told["query"] * 1e3,
    )
    truth.add(
        documents, told["clusters"], told["expected"]["clusters"], told["clustered"], told["expected"]["clustered"],
        told["common"], right["required"], right["leaked"], right["forbidden"], right["merged"], right["foreign"],
    )
    report.require(right["leaked"] <= max(2, LEAK * right["required"]), f"{documents}: too many pairs are apart")
    report.require(right["merged"] <= max(2, MERGED * right["forbidden"]), f"{documents}: too many pairs are together")
    report.require(right["foreign"] <= max(2, FOREIGN * documents), f"{documents}: too many documents are with strangers")


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="documents (default: 1, 3, 10 and 30 million)")
    parser.add_argument("--work", metavar="FOLDER", help="where to put the collections (default: the temporary folder)")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(run(arguments.child, arguments.work)))
        return 0
    report = Report("altavista", arguments)
    table = report.table("altavista", f"{len(usable_cpus())} threads, 1 shingle of {WIDTH} words in {MODULUS}, resemblance "
                         f"{THRESHOLD:.0%}; seconds", [
        "documents", "GB of text", "in all", "making the text", "ndcore", "sketching and digests", "sorting entries",
        "counting pairs", "clusters", "entries to clusters", "CPU seconds of ndcore", "million entries", "million pairs",
        "GB of memory", "GB of disk", "ms a query"])
    words = f"What was found, and what is true (phrases of SHA-256 {machine_bank().sha256()[:16]})"
    truth = report.table("altavista-truth", words, [
        "documents", "clusters", "expected", "documents in them", "expected ones", "common shingles", "pairs to be together",
        "apart", "pairs to be apart", "together", "documents with strangers"])
    for documents in (20_000,) if arguments.quick else arguments.sizes:
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            command = [sys.executable, __file__, "--child", str(documents), "--work", folder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        add(report, table, truth, json.loads(done.stdout))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
