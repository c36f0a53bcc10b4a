"""Find common shingles, which do not count, on Spark (`drop_common`): more than a share of a label's documents have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ndcore._candidates import Counts
from ndcore.pairs.common_shingles import COMMON_CLASSES, CommonShingles
from ndcore.phases.columns import numbers
from ndcore.phases.common_shingles import LABEL_CELLS, count_candidates
from ndcore.phases.labelled_shingles import LabelledShingles
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.documents import SparkDocuments, extend_schema
from ndcore.spark.functions import F
from ndcore.spark.probes import ReadTexts
from ndcore.spark.verification import filter_of
from ndcore.spark.versions import as_table
from ndcore.spark.work import Work
from ndcore.text.agreement import MustAgree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 1 << 23  # most common shingles of all labels together: 128 MiB in each task
CELL = "cast(conv(hex(substring(label, 1, 2)), 16, 10) as bigint)"  # SQL of a label's first two bytes


def find_common(
    work: Work, sides: DataFrame, documents: SparkDocuments, share: float, counts: Counts, texts: ReadTexts, *,
    sketcher: MinHasher, must_agree: MustAgree,
) -> LabelledShingles:
    """Find the shingles of more than a share of the documents with a label, at least `COMMON_CLASSES` of them different.

    The result equals `ndcore.pairs.common_shingles.find_common`. counts: of all shingles, by label.
    """
    ranked = documents.ranked
    label = F.col("label") if "label" in ranked.columns else F.lit(b"").alias("label")
    versions = documents.followers.where("how = 'version'")
    has_versions = "version" in ranked.columns
    counted = ranked.where("valid")
    counted = counted.join(versions.select("rank"), "rank", "left_anti") if has_versions else counted
    sizes = work.keep(counted.groupBy(label).count(), "documents of labels")
    least = np.zeros(LABEL_CELLS, np.uint64)
    smallest = as_table(sizes.groupBy(F.expr(f"coalesce({CELL}, 0)").alias("cell")).agg(F.min("count").alias("count")))
    least[numbers(smallest, "cell")] = numbers(smallest, "count").astype(np.uint64)
    hashed = ["xxhash64(key, against) as hash"] if has_versions else []
    scope = ["scope"] if "scope" in sides.columns else []
    left = ranked.select("rank", "key", "against").join(versions.select("rank"), "rank").select("key", "against")
    made = "value bigint, label binary, holders bigint, classes array<binary>, documents bigint, digests bigint"
    rows = work.apply(
        sides.selectExpr("key", "against", "text", *scope, *hashed).coalesce(work.cores), count_candidates,
        extend_schema(left, made), text="text",
        sketcher=sketcher, must_agree=must_agree, counts=counts, documents=least, share=share,
        versions=filter_of(work, left, "xxhash64(key, against)") if has_versions else None,
    )
    rows = work.keep(rows, "candidates of common shingles")
    texts.add(rows)
    of_values = rows.where("value is not null")
    if has_versions:
        of_values = of_values.join(left, ["key", "against"], "left_anti")
    sums = of_values.groupBy("value", "label").agg(
        F.sum("holders").alias("holders"), F.size(F.array_distinct(F.flatten(F.collect_list("classes")))).alias("classes"))
    common = sums.join(sizes, "label").where(f"holders > {float(share)!r}D * count and classes >= {COMMON_CLASSES}")
    work.describe("common shingles")
    table = as_table(common.select("label", "value").limit(MOST + 1))
    if len(table) > MOST:
        raise ValueError(f"drop_common={share!r}: more than {MOST:,} shingles are common, of all labels of by=… together, "
                         "and each task holds them all; give a larger share, or leave out by=…")
    labels = table["label"].to_pylist()
    number = {name: i for i, name in enumerate(sorted(set(labels)))}  # sorted, so that it is the same when the job resumes
    groups = np.array([number[name] for name in labels], np.int64)
    values = numbers(table, "value").view(np.uint64)
    order = np.lexsort((values, groups))
    return LabelledShingles(CommonShingles(values[order], groups[order]), number)


def with_groups(work: Work, documents: DataFrame, left_out: LabelledShingles) -> DataFrame:
    """Add the column ``group``, the number of each document's label in `left_out`, -1 for others."""
    if "label" not in documents.columns:
        return documents.withColumn("group", F.lit(left_out.labels.get(b"", -1)).cast("bigint"))
    table = work.table(list(left_out.labels.items()), label="binary", group="int64")
    joined = documents.join(F.broadcast(table), "label", "left")
    return joined.select(*(name for name in documents.columns if name != "label"), F.expr("coalesce(group, -1L) as group"))
