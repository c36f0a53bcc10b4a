"""The main job on Spark: equal to the local one, its fixed cost, its growth, and what it moves and holds.

Documents are those of collection1996.py with 100 words each, in Parquet files of 100,000. Required, else the exit code is 1:
the verdicts on a small collection are those of `ndcore.near_duplicates`, to the last representative and resemblance; and in
every collection no kept document of a sample of families is 0.8 like another.

`--cluster` runs on a standalone master with two workers of one core each, processes on this machine, instead of local[2].
Sketching is compared with an identity `mapInArrow` over the same columns and with the local function, in turns. Figures come
from Spark's event log and from /proc.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from collection1996 import Collection
from measure import Report, interleaved, options
from numpy.typing import NDArray
from spark_runs import Place, add_options, differences, place_for, session

import ndcore as nd

SIZES = (10_000, 100_000, 1_000_000)
CHECKED = 10_000  # documents of which verdicts are compared with the local ones
SKETCHED = 200_000  # documents
PHRASES = 25  # of four words
THRESHOLD = 0.8
ROWS = 102_400  # of a file
FAMILIES = 50  # judged exactly


class Short(Collection):
    """The collection of 1996 with documents of one length; versions differ in the last phrase."""

    def _phrases(self, keys: Any, kind: Any) -> Any:
        return np.full(len(keys), PHRASES, np.int64)


def write(collection: Collection, folder: Path) -> int:
    """Write a collection as Parquet files with the columns number and text; return the bytes of texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    total = 0
    schema = pa.schema([("number", pa.int64()), ("text", pa.string())])
    for first in range(0, collection.documents, ROWS):
        with pq.ParquetWriter(folder / f"{first:011}.parquet", schema, compression="zstd") as writer:
            for start in range(first, min(first + ROWS, collection.documents), 4096):
                numbers = np.arange(start, min(start + 4096, collection.documents))
                batch = collection.bank.write(collection.recipes(numbers))
                total += int(batch.offsets[-1])
                texts = batch.arrow().cast(pa.binary()).cast(pa.string())
                writer.write_batch(pa.record_batch([pa.array(numbers), texts], schema=schema))
    return total


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    """Give batches back."""
    yield from batches


def compare_with_local(report: Report, place: Place, work: Path, documents: int) -> None:
    """Require the verdicts of the local function."""
    collection = Short(documents)
    write(collection, work / "checked")
    batch = collection.bank.write(collection.recipes(np.arange(documents)))
    expected = nd.near_duplicates([batch.text(i) for i in range(len(batch))], threshold=THRESHOLD, filter="lsh")
    rows = place.run(work / "checked", work, THRESHOLD).rows()
    for what in differences(rows, expected.labels, expected.classes, expected.resemblance):
        report.require(False, f"{what} differ from the local ones")


def judge(report: Report, collection: Collection, kept: NDArray[np.bool_]) -> None:
    """Require that kept documents of the same family are less alike than the threshold, in a sample of families."""
    rng = np.random.default_rng(1)
    wrong = 0
    for family in rng.choice(collection.families, min(FAMILIES, collection.families), replace=False).tolist():
        members = collection.documents_of(family)
        members = members[kept[members]][:20]
        batch = collection.bank.write(collection.recipes(members))
        texts = [batch.text(i) for i in range(len(batch))]
        wrong += sum(nd.resemblance(a, b) >= THRESHOLD for i, a in enumerate(texts) for b in texts[:i])
    report.require(wrong == 0, f"{collection.documents} documents: {wrong} kept pairs of the sample are {THRESHOLD} alike")


def measure_sketching(report: Report, spark: Any, folder: Path, megabytes: float, arguments: Any) -> None:
    """Compare sketching on Spark with an identity and with the local function, over the same rows, in turns."""
    import pyarrow.parquet as pq

    from ndcore.spark import sketch

    df = spark.read.parquet(str(folder))
    texts = pq.read_table(folder)["text"]

    def run(rows: Any) -> None:
        rows.write.format("noop").mode("overwrite").save()

    cases = {
        "identity": lambda: run(df.mapInArrow(identity, df.schema)),
        "local": lambda: nd.MinHasher().sketch_many(texts, threads=2),
        "Spark": lambda: run(sketch(df, id="number")),
    }
    taken = interleaved(cases, arguments.repeats, arguments.warm_up)
    table = report.table("spark_sketching", f"Sketches of 84 minima of {df.count():,} documents, {megabytes:,.0f} MB", [
        "identity seconds", "local seconds", "Spark seconds", "Spark / (identity + local)"])
    identical, local, spark_seconds = (taken[name].seconds for name in cases)
    ratio = float(np.median([c / (a + b) for a, b, c in zip(identical, local, spark_seconds, strict=True)]))
    table.add(*(taken[name].median for name in cases), ratio)


def measure_jobs(report: Report, place: Place, work: Path) -> None:
    """Run all sizes, and tabulate."""
    table = report.table("spark_jobs", f"near_duplicates on Spark, documents of 100 words, {place.name}", [
        "documents", "MB", "seconds", "documents a second", "seconds of tasks", "tasks", "failed tasks",
        "bytes shuffled a document", "bytes kept on disk a document", "memory of the largest worker MB",
        "memory of the driver MB", "kept"])
    steps = report.table("spark_steps", f"Steps of the largest job, {place.name}", [
        "step", "seconds", "seconds of tasks", "tasks", "bytes shuffled", "bytes spilled", "longest task seconds"])
    for documents in place.arguments.documents:
        collection = Short(documents)
        source = work / f"documents-{documents}"
        nbytes = write(collection, source)
        done = place.run(source, work, THRESHOLD)
        rows = done.rows()
        kept = rows["number"].to_numpy() == rows["label"].to_numpy()
        judge(report, collection, kept)
        events = done.events
        table.add(documents, nbytes / 1e6, done.seconds, documents / done.seconds, sum(events.cpu.values()),
                  sum(events.tasks.values()), events.failed, sum(events.shuffled.values()) / documents,
                  done.disk / documents, done.largest_worker, done.memory["driver"] / 1e6, int(kept.sum()))
        steps.rows = [list(row) for row in events.rows()]
        shutil.rmtree(source)


def run_on(report: Report, place: Place, work: Path) -> None:
    """Check, then measure."""
    quick = place.arguments.quick
    compare_with_local(report, place, work, 200 if quick else CHECKED)
    if not place.workers:
        source = work / "sketched"
        nbytes = write(Short(1000 if quick else SKETCHED), source)
        with session(place.master, work / "log-sketched", {}) as spark:
            measure_sketching(report, spark, source, nbytes / 1e6, place.arguments)
    measure_jobs(report, place, work)


def main() -> int:
    parser = options(__doc__, repeats=3)
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES, metavar="N", help="sizes of collections")
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.documents, arguments.repeats = (500,), 1
    report = Report("spark_cluster" if arguments.cluster else "spark", arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder, place_for(arguments, Path(folder)) as place:
        run_on(report, place, Path(folder))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
