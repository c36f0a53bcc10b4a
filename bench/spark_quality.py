"""What remains, and what goes wrong, on Spark: ndcore beside the usual MinHash LSH and MLlib, on the same documents.

All get shingles of five canonical words. Required, else the exit code is 1: ndcore drops no document without a kept one at
the threshold, and fewer than 0.5 % of the near pairs survive.

- *MinHash LSH with components*: bands and rows that weigh misses and false candidates alike (`optimal_param` of datasketch
  and text-dedup) on 256 minima; documents that share a band are joined, connected components are formed, and the first
  document of each stays. No pair is compared. This is the algorithm of text-dedup
  (https://github.com/ChenghaoMou/text-dedup) and BigCode.
- *MLlib with components*: `MinHashLSH.approxSimilarityJoin` finds the pairs of documents that share one of the hash tables
  and are within the distance, exactly by the sets; the first document of each connected component stays.
"""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from corpus import Corpus, natural
from exact import Join, exact_join
from measure import Option, Report, program
from numpy.typing import NDArray
from on_spark import LOCAL, session

import ndcore as nd
from ndcore.reference.clustering import components

NUM_PERM = 256
WARM_UP = 500  # documents of a run before each that is timed
SURVIVORS = 0.005
EDITED, VOCABULARY = 0.06, 100_000  # the most words that a version changes, as a share; words that it may take instead
GRID = (np.arange(10_000) + 0.5) / 10_000  # resemblances at which an area is summed
BUCKETS = 2038074743 - 1  # MLlib computes modulo this prime, plus one

Bools = NDArray[np.bool_]


def bands_and_rows(threshold: float, num_perm: int) -> tuple[int, int]:
    """The bands b and rows r with the least sum of the two areas of error of 1 − (1 − s^r)^b."""

    def error(b: int, r: int) -> float:
        passes = 1 - (1 - GRID**r) ** b
        return float(np.where(threshold > GRID, passes, 1 - passes).sum())

    return min(((b, r) for b in range(1, num_perm + 1) for r in range(1, num_perm // b + 1)), key=lambda pair: error(*pair))


def first_of_components(documents: int, pairs: list[tuple[int, int]]) -> Bools:
    """Keep the first document of each connected component."""
    return np.array(components(documents, [(a, b, 1.0) for a, b in pairs])) == np.arange(documents)


def by_ndcore(pages: Any, documents: int, threshold: float) -> Bools:
    from ndcore.spark import near_duplicates

    with tempfile.TemporaryDirectory() as folder:
        verdicts = near_duplicates(pages, id="number", threshold=threshold, directory=f"{folder}/steps").verdicts
        kept = verdicts.filter("class = 'kept'").select("number").toPandas()["number"].to_numpy()
    return np.isin(np.arange(documents), kept)


def by_bands(pages: Any, documents: int, threshold: float) -> Bools:
    """MinHash LSH with components: an edge from the first document of a band's bucket to each other one."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    bands, rows = bands_and_rows(threshold, NUM_PERM)
    sketcher = nd.MinHasher(NUM_PERM)

    def buckets(batches: Any) -> Any:
        for batch in batches:
            features = nd.features(sketcher.sketch_many(batch["text"].to_pylist()), bands, rows)
            yield pa.record_batch({
                "number": np.repeat(batch["number"].to_numpy(), bands), "band": np.tile(np.arange(bands), len(features)),
                "bucket": features.ravel().view(np.int64)})

    entries = pages.mapInArrow(buckets, "number long, band long, bucket long")
    first = f.min("number").over(Window.partitionBy("band", "bucket"))
    edges = entries.select(first.alias("first"), "number").filter("first < number").distinct().toPandas()
    return first_of_components(documents, list(zip(edges["first"].tolist(), edges["number"].tolist(), strict=True)))


def by_mllib(pages: Any, documents: int, threshold: float) -> Bools:
    """MLlib's join of sets, five hash tables: a pair at the threshold is missed with a probability of (1 − t)^5."""
    from pyspark.ml.feature import MinHashLSH
    from pyspark.ml.linalg import SparseVector, VectorUDT
    from pyspark.sql import functions as f

    @f.udf(VectorUDT())
    def vector(shingles: list[int]) -> SparseVector:
        return SparseVector(BUCKETS, shingles, [1.0] * len(shingles))

    def sets(batches: Any) -> Any:
        for batch in batches:
            values, offsets = nd.Shingling().fingerprints_many(batch["text"].to_pylist())
            found = [np.unique(values[a:b] % np.uint64(BUCKETS)).astype(np.int64).tolist()
                     for a, b in pairwise(offsets.tolist())]
            yield pa.record_batch([batch["number"], pa.array(found, pa.list_(pa.int64()))], ["number", "shingles"])

    rows = pages.mapInArrow(sets, "number long, shingles array<long>").filter("size(shingles) > 0")
    vectors = rows.select("number", vector("shingles").alias("features"))
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=5, seed=1).fit(vectors)
    joined = model.approxSimilarityJoin(vectors, vectors, 1 - threshold + 1e-9, "distance")
    pairs = joined.selectExpr("datasetA.number AS a", "datasetB.number AS b").filter("a < b").toPandas()
    return first_of_components(documents, list(zip(pairs["a"].tolist(), pairs["b"].tolist(), strict=True)))


WAYS: dict[str, Callable[[Any, int, float], Bools]] = {
    "ndcore.spark": by_ndcore, "MinHash LSH with components": by_bands, "MLlib with components": by_mllib,
}


def judge(kept: Bools, join: Join) -> tuple[int, int]:
    """Count near pairs whose two documents are kept, and dropped documents that resemble no kept one."""
    survive = np.count_nonzero(kept[join.a] & kept[join.b])
    covered = np.zeros(len(kept), np.bool_)
    covered[join.a[kept[join.b]]] = covered[join.b[kept[join.a]]] = True
    return int(survive), int(np.count_nonzero(~kept & ~covered))


def versions(documents: int) -> Corpus:
    """Generated documents of 100 words; two of three are edited versions of one of the three before them."""
    rng = np.random.default_rng(1)
    words = [text.split() for text in natural(1, documents, 600 * documents).texts]
    for i in range(3, documents):
        if i % 3:
            words[i] = words[i - int(rng.integers(1, 4))].copy()
            for place in np.flatnonzero(rng.random(len(words[i])) < rng.uniform(0, EDITED)).tolist():
                words[i][place] = f"word{int(rng.integers(VOCABULARY))}"
    return Corpus("versions", [f"versions/{i}" for i in range(documents)], [" ".join(each) for each in words])


def write(corpus: Corpus, folder: Path) -> str:
    """Write the documents as Parquet files, in an order that is not the keep order."""
    folder.mkdir()
    order = np.random.default_rng(7).permutation(len(corpus))
    for part, chosen in enumerate(np.array_split(order, 8)):
        table = pa.table({"number": chosen, "text": [corpus.texts[i] for i in chosen]})
        pq.write_table(table, folder / f"{part}.parquet")
    return str(folder)


def ask(report: Report, given: Namespace) -> None:
    """Run each way on the same documents, and judge what it keeps."""
    documents, threshold = given.documents, given.threshold
    corpus = versions(documents)
    report.inputs.append(corpus.facts())
    join = exact_join(corpus.texts, threshold)
    table = report.table("spark_quality", f"Three ways on Spark, {len(join.a):,} near pairs at {threshold}, {LOCAL}", [
        "way", "documents", "kept", "near pairs left", "near pairs left %", "dropped without a near kept one",
        "of the dropped %", "seconds"])
    source, few = write(corpus, given.folder / "pages"), write(versions(WARM_UP), given.folder / "few")
    settings = {"spark.sql.shuffle.partitions": "16", "spark.driver.memory": "4g"}
    with session(LOCAL, given.folder / "log", settings) as spark:
        for name, run in WAYS.items():
            run(spark.read.parquet(few), WARM_UP, threshold)
            start = time.perf_counter()
            kept = run(spark.read.parquet(source), documents, threshold)
            seconds = time.perf_counter() - start
            survive, wrong = judge(kept, join)
            dropped = documents - int(kept.sum())
            table.add(name, documents, int(kept.sum()), survive, 100 * survive / max(1, len(join.a)), wrong,
                      100 * wrong / max(1, dropped), seconds)
            if run is by_ndcore:
                report.require(wrong == 0, f"{wrong} documents are dropped without a kept one at {threshold}")
                report.require(survive <= SURVIVORS * len(join.a), f"{survive} of {len(join.a)} near pairs survive")


if __name__ == "__main__":
    program("spark_quality", ask, __doc__, documents=Option(50_000, "generated", 2000),
            threshold=Option(0.8, "of resemblance"))
