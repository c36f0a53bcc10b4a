"""Many queries against a DataFrame of fingerprints, on Spark (Manku, Jain, Das Sarma 2007, §3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import UInts
from ndcore.hamming.fingerprints import WIDE, checked_fingerprints
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_join
from ndcore.phases.columns import numbers, pa
from ndcore.phases.fingerprints import match_fingerprints
from ndcore.spark.documents import key_columns, key_struct, refuse_options, refuse_unstable, type_of
from ndcore.spark.functions import F
from ndcore.spark.versions import as_frame, as_table, import_spark
from ndcore.spark.work import Work, check_executors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def hamming_join(
    queries: ArrayLike | DataFrame,
    fingerprints: DataFrame,
    max_distance: int = 3,
    *,
    id: str | Sequence[str] | None = None,
    column: str = "sketch",
    bits: int = 64,
    plan: TablePlan | Literal["auto"] = "auto",
    **local_only: Any,
) -> DataFrame:
    """Find all fingerprints of a DataFrame within max_distance bits of each query, by one scan of the DataFrame.

    The result is the same as in `ndcore.hamming_join`. The queries are sent to all tasks, and each task scans its
    fingerprints.

    Parameters
    ----------
    queries : array of uint64, shape (m,), or DataFrame
        A DataFrame has the columns that `id` and `column` name, and goes through the driver.
    fingerprints : DataFrame
        A row for each fingerprint, as from `sketch` with a SimHasher; leave out rows that are not ``valid``.
    max_distance, bits, plan
        As for `ndcore.hamming_join`; at most 64 bits.
    id
        As in `near_duplicates`.
    column : str
        The column of fingerprints, bigint: a fingerprint of 2^63 and more is negative, with the same 64 bits.
    **local_only
        Options that only `ndcore.hamming_join` has, which are refused by name.

    Returns
    -------
    DataFrame
        ``query``, the position in the array, or a struct of the key's columns; ``id``, a struct of the key's columns;
        ``distance``. Distinct rows, sorted by query, distance and id.

    Raises
    ------
    TypeError, ValueError
        A parameter, a column or a query is not accepted. A fingerprint of more than `bits` bits raises when the rows are
        computed.

    Notes
    -----
    O(n · tables · (1 + m / 2^p)), where p is the prefix of the plan, when the rows are computed. A task makes the tables of
    the queries, 8 to 20 bytes for each query and table. Matches are shuffled, fingerprints are not.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3.3, DOI 10.1145/1242572.1242592.
    """
    import_spark()
    from pyspark.sql import types as T

    refuse_options("hamming_join", local_only)
    if bits in WIDE:
        raise ValueError(f"bits is {bits}; on Spark fingerprints have 1 to 64 bits, a column of bigint: write wider ones to "
                         "a .npy file, which ndcore.hamming_join scans")
    bits, max_distance = checked_search(bits, max_distance, plan)
    collection = _fingerprints_of(fingerprints, id, column, "fingerprints")
    asked, names = _queries_of(queries, id, column)
    asked = checked_fingerprints(asked, bits)
    if plan == "auto":
        plan = plan_join(bits, max_distance, math.log2(max(1, len(asked))))
    check_executors(fingerprints.sparkSession)
    made = [collection.schema["id"], T.StructField("query", T.LongType()), T.StructField("distance", T.LongType())]
    if not len(asked):
        collection = collection.limit(0)
    matches = Work.apply(collection, match_fingerprints, T.StructType(made), queries=asked, plan=plan).distinct()
    if names is not None:
        matches = matches.join(F.broadcast(names), matches["query"] == names["position"]).drop("query", "position")
        matches = matches.withColumnRenamed("key", "query")
    return matches.select("query", "id", "distance").sort("query", "distance", "id")


def _fingerprints_of(df: DataFrame, id: str | Sequence[str] | None, column: str, role: str) -> DataFrame:
    """Return ``id``, a struct of the key, and ``fingerprint``."""
    key = key_columns(df, id)
    kind = type_of(df, column, f"column of {role}")
    if kind.typeName() != "long":
        raise TypeError(f"column={column!r} of {role} is of type {kind.simpleString()}; fingerprints are bigint, "
                        "with their 64 bits")
    missing = F.raise_error(F.lit(f"a fingerprint is missing (null) in column {column!r}; drop such rows"))
    value = F.coalesce(df[f"`{column}`"], missing.cast("bigint"))
    keyed = df.select(key_struct(key).alias("id"), value.alias("fingerprint"))
    refuse_unstable(keyed, role)
    return keyed


def _queries_of(queries: Any, id: str | Sequence[str] | None, column: str) -> tuple[UInts, DataFrame | None]:
    """Return the fingerprints of queries, and for a DataFrame the keys by position."""
    from pyspark.sql import DataFrame

    if not isinstance(queries, DataFrame):
        return queries, None
    listed = as_table(_fingerprints_of(queries, id, column, "queries").sort("id", "fingerprint"))
    asked = np.ascontiguousarray(numbers(listed.combine_chunks(), "fingerprint")).view(np.uint64)
    names = pa.table({"key": listed.column("id"), "position": np.arange(len(asked))})
    return asked, as_frame(queries.sparkSession, names)
