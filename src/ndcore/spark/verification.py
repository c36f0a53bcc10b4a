"""Form the shingle sets of candidates, and compare pairs in blocks, on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ndcore._types import UInts
from ndcore.phases.probes import join_tables, put_together
from ndcore.phases.shingle_sets import form_sets
from ndcore.phases.value_filter import MOST_WORDS, fill_filter, fill_filter_pair, join_filter_pairs
from ndcore.phases.verification import OF_PAIR, OF_SET, Judgement, verify_blocks
from ndcore.spark.functions import F
from ndcore.spark.versions import as_table
from ndcore.spark.work import Work, count_stored, in_few_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCORED = "a bigint, b bigint, resemblance double, of_a double, of_b double"
ADVICE = ": write the rows as Parquet and read them from there, or df.checkpoint() them"
PER_WORD = 4  # values for each word of a filter
WORDS = 1 << 18  # of a filter that one task fills, about a million values
IN_BLOCK = 4096  # documents with which one is compared in a block


def read_sets(
    work: Work, texts: DataFrame, wanted: DataFrame, judgement: Judgement, among: UInts | None = None
) -> DataFrame:
    """Read the texts of the wanted documents (``rank``, ``key``, ``against``, ``bytes``) again, and form their shingle sets.

    Returns all other columns of the documents, with ``part`` of ``parts``, and ``members``. A filter of the documents goes
    to all tasks, so texts are not shuffled. A text whose digest has changed, or that is missing now, is an error with
    its key. among: words of a filter; only fingerprints that pass it are members.
    """
    hashed = "xxhash64(key, against) as hash"
    known = [name for name in wanted.columns if name not in ("key", "against", "bytes")]
    wanted = work.keep(wanted.selectExpr("*", hashed), "documents of candidates")
    sets = work.apply(
        texts.selectExpr("key", "against", hashed, "text"), form_sets,
        texts.selectExpr("key", "against", hashed, "1L as part", "1L as parts", "binary('') as members",
                         "binary('') as bytes").schema,
        text="text", shingling=judgement.sketcher.shingling,
        wanted=filter_of(work, wanted, "hash", count=count_stored(wanted)), among=among,
    )
    keys = wanted.selectExpr(*known, "key as its_key", "against as its_side", "bytes as its_bytes")
    joined = keys.join(sets, (sets.key == keys.its_key) & (sets.against == keys.its_side), "left")
    changed = F.expr(f"""raise_error(concat('the document ', to_json(its_key), if(bytes is null,
        ' is not there when the input is read again', ' has another text when the input is read again'), '{ADVICE}'))""")
    part = F.when(F.expr("bytes <=> its_bytes"), F.col("part")).otherwise(changed.cast("bigint"))
    return keep_sets(work, joined.select(*known, part.alias("part"), "parts", "members"))


def keep_sets(work: Work, sets: DataFrame) -> DataFrame:
    """Store the shingle sets of candidates.

    Documents with ``runs`` get a column of their own for their members, ``of_runs``, which `LongRuns` reads without the
    members of others; and ``size``, in bytes.
    """
    step = "shingle sets of candidates"
    if "runs" not in sets.columns:
        return work.keep(sets, step)
    sets = sets.selectExpr("*", "if(runs is null, null, members) as of_runs", "length(members) as size")
    stored = work.keep(sets.withColumn("members", F.expr("if(runs is null, members, null)")), step)
    return stored.withColumn("members", F.expr("coalesce(members, of_runs)"))


def filter_of(work: Work, wanted: DataFrame, *values: str, count: int | None = None) -> UInts:
    """Make the words of a filter of values: SQL of columns as `fill_filter` takes them.

    count: the number of values; None: the number of rows.
    """
    words = _count_words(wanted.count() if count is None else count)
    return _fill(work, wanted, values, words, np.zeros(words, np.uint64), fill_filter, join_tables, marks=True)


def filter_pair_of(work: Work, wanted: DataFrame, *values: str, count: int) -> tuple[UInts, UInts]:
    """Make the words of a filter of `count` values, and of one of those that come more than once; see `filter_of`."""
    words = _count_words(count)
    pairs = _fill(work, wanted, values, words, np.zeros(2 * words, np.uint64), fill_filter_pair, join_filter_pairs)
    return pairs[::2].copy(), pairs[1::2].copy()


def _count_words(values: int) -> int:
    """Return the number of words of a filter of this number of values."""
    return min(MOST_WORDS, 1 << max(0, (values // PER_WORD).bit_length()))


def _fill(
    work: Work, wanted: DataFrame, values: Sequence[str], words: int, whole: UInts, fill: Callable[..., Any],
    join: Callable[..., Any], **joining: Any,
) -> UInts:
    """Fill a table, `whole`, by a phase, which takes `words`; another one joins the tables of all cores by slices."""
    work.describe("filter of candidates")
    tasks = 1 if words <= WORDS and in_few_files(wanted) else work.cores
    schema = "slice bigint, cells binary"
    columns = (f"{value} as value_{i}" for i, value in enumerate(values))
    filled = work.apply(wanted.selectExpr(*columns).coalesce(tasks), fill, schema, words=words)
    if tasks > 1:
        filled = work.apply(filled.repartition("slice"), join, schema, **joining)
    put_together(whole, as_table(filled))
    return whole


def compare_pairs(work: Work, pairs: DataFrame, sets: DataFrame, judgement: Judgement, step: str) -> DataFrame:
    """Compare the pairs ``a`` < ``b`` of each ``block``, a number; return the accepted ones."""
    return work.keep(work.apply(rows_of_blocks(pairs, sets), verify_blocks, SCORED, judgement=judgement), step)


def rows_of_blocks(pairs: DataFrame, sets: DataFrame) -> DataFrame:
    """Make the rows of blocks, sorted, given the ``block`` that each pair is in. A block's sets go to one task."""
    documents = pairs.selectExpr("block", "explode(array(a, b)) as rank").distinct()
    group = [name for name in ("group",) if name in sets.columns]
    members = documents.join(sets, "rank")
    members = members.selectExpr("block", f"{OF_SET} as kind", "rank as a", "part as b", "members", *group)
    asked = pairs.selectExpr("block", f"{OF_PAIR} as kind", "a", "b", "binary('') as members",
                             *(f"0L as {name}" for name in group))
    return members.union(asked).repartition("block").sortWithinPartitions("block", "kind", "a", "b")


def blocks_by_first(pairs: DataFrame) -> DataFrame:
    """Assign pairs to a ``block`` by their ``a``; a document with many pairs has several blocks."""
    sizes = pairs.groupBy("a").count().selectExpr("a as of", f"count div {IN_BLOCK} + 1 as parts")
    return pairs.join(sizes, pairs.a == sizes.of).selectExpr("a", "b", "xxhash64(a, pmod(xxhash64(b), parts)) as block")
