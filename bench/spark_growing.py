"""A collection on Spark to which crawls are added one by one, beside one run over all of them.

Each crawl is as large as the others; of its documents a tenth is near to one of an older crawl or of its own, and a
twentieth equal to one. Required, else the exit code is 1: representatives, classes and resemblances after the last add are
those of the one run.

`--cluster` runs on a standalone master with two workers of one core each, processes on this machine, instead of local[2].
"""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path

import numpy as np
from measure import Option, Report, program
from on_spark import OPTIONS, Events, place_of, size_of
from spark_shapes import ALL, Keys, Shape, mixed, write_file

THRESHOLD = 0.8
LENGTH = 100  # words of a document
CHANGED = 5  # words of a near-duplicate that are its own
NEAR, EQUAL = 10, 5  # of 100 documents


def shape(documents: int) -> Shape:
    """All crawls, one after another."""

    def words(numbers: Keys) -> tuple[Keys, Keys]:
        kind = mixed(numbers) % np.uint64(100)
        older = (mixed(numbers + ALL) % np.maximum(numbers, 1).astype(np.uint64)).astype(np.int64)
        source = np.where(kind < NEAR + EQUAL, older, numbers)
        keys = source[:, None] * 1000 + np.arange(LENGTH)
        keys[kind < NEAR, -CHANGED:] += (1 + numbers[kind < NEAR])[:, None] * ALL
        return keys, np.full(len(numbers), LENGTH, np.int64)

    return Shape(documents, words)


def write(all_documents: Shape, first: int, documents: int, folder: Path) -> None:
    """Write a crawl as a Parquet file, in an order of rows of its own."""
    folder.mkdir(parents=True)
    write_file(folder / "crawl.parquet", all_documents, first + np.argsort(mixed(np.arange(documents))))


def ask(report: Report, given: Namespace) -> None:
    """Add the crawls, do the one run, compare, and tabulate."""
    from ndcore.spark import Collection, near_duplicates

    documents, crawls, work = given.documents, given.crawls, given.folder
    whole = shape(documents * crawls)
    for crawl in range(crawls):
        write(whole, crawl * documents, documents, work / "in" / f"crawl={crawl}")
    seconds: dict[str, float] = {}
    dropped: dict[str, int] = {}
    disk: dict[str, int] = {}
    with place_of(report, given) as place, place.session(work / "log") as spark:
        collection = Collection.create(work / "all", id="number", threshold=THRESHOLD)
        warm = Collection.create(work / "warm", id="number", threshold=THRESHOLD)
        write(whole, 0, 100, work / "first")
        for name, target, source in [("warming up", warm, work / "first"), *(
                (f"add {i + 1}", collection, work / "in" / f"crawl={i}") for i in range(crawls))]:
            spark.sparkContext.setJobGroup(name, name)
            start = time.perf_counter()
            change = target.add(spark.read.parquet(str(source)), batch=name)
            seconds[name] = time.perf_counter() - start
            dropped[name], disk[name] = change.documents - change.counts()["kept"], size_of(Path(target.path) / "tables")
        spark.sparkContext.setJobGroup("one run", "one run")
        start = time.perf_counter()
        once = near_duplicates(spark.read.parquet(str(work / "in")), id="number", threshold=THRESHOLD,
                               directory=str(work / "steps"))
        seconds["one run"] = time.perf_counter() - start
        dropped["one run"], disk["one run"] = documents * crawls - once.counts()["kept"], size_of(work / "steps")
        spark.sparkContext.setJobGroup("comparison", "comparison")
        columns = ["number", "representative.number as label", "class", "resemblance"]
        one, other = (frame.verdicts.selectExpr(*columns) for frame in (once, collection.result(spark)))
        same = one.exceptAll(other).isEmpty() and other.exceptAll(one).isEmpty()
        report.require(same, "verdicts differ from those of the one run")
    tasks = Events(work / "log", by="spark.jobGroup.id").cpu
    table = report.table("spark_growing", f"{crawls} crawls of {documents:,} documents, {place.name}", [
        "job", "documents", "dropped", "seconds", "seconds of tasks", "MB on disk"])
    for name, wall in seconds.items():
        if name != "warming up":
            count = documents * (crawls if name == "one run" else 1)
            table.add(name, count, dropped[name], wall, tasks[name], disk[name] / 1e6)
    adds = [name for name in seconds if name.startswith("add")]
    table.add("all adds", documents * crawls, sum(map(dropped.__getitem__, adds)), sum(map(seconds.__getitem__, adds)),
              sum(map(tasks.__getitem__, adds)), disk[adds[-1]] / 1e6)


if __name__ == "__main__":
    program("spark_growing", ask, __doc__, documents=Option(100_000, "of a crawl", 500), crawls=Option(10, "how many"),
            **OPTIONS)
