"""The documents of a job on Spark: their keys and texts, digests and features, ranks in keep order, and equal ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ndcore.dedup.rules import CALLERS
from ndcore.spark.functions import F
from ndcore.spark.work import ELSEWHERE, Work, is_classic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

MOST = 1 << 36  # most documents: ranks have 36 bits beside the number of a block
PLACE_BITS = 33  # bits of Spark's monotonically_increasing_id that number the rows of a partition
FILE_KEY = {"file": "_metadata.file_path", "row": "_metadata.row_index"}
_UNSTABLE = re.compile(r"\b(?:monotonically_increasing_id|rand|randn|randstr|uniform|uuid|shuffle|spark_partition_id|"
                       r"reflect|input_file_name|input_file_block_(?:start|length))\([^()]*\)", re.IGNORECASE)
_FLOATS = ("float", "double")
_LABELS = ("boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date", "timestamp",
           "timestamp_ntz")  # and decimals


@dataclass(frozen=True)
class SparkDocuments:
    """The documents in keep order, the documents of `against` first.

    Attributes
    ----------
    ranked : DataFrame
        ``rank``, ``key``, ``against``, with `by` ``label``, with `by` or `must_agree` ``scope`` (only documents with equal
        scopes are compared), and the columns of the phase that sketched them.
    followers : DataFrame
        ``rank`` and ``leader`` of documents that are not compared, and ``how`` they follow: identical, lexical, shingle; or
        version, if the first document with their label of `one_per` is the leader or follows it.
    first_new : int
        The number of documents of `against`, whose ranks are lower.
    """

    ranked: DataFrame
    followers: DataFrame
    first_new: int

    @property
    def leaders(self) -> DataFrame:
        """The rows of `ranked` of documents that are compared: they follow none, and have shingles that count."""
        counted = "valid and size > 0" if "size" in self.ranked.columns else "valid"
        return self.ranked.where(counted).join(self.followers.select("rank"), "rank", "left_anti")


def refuse_options(function: str, given: dict[str, Any]) -> None:
    """Raise TypeError for options that are not parameters; the message says if the local function has them."""
    refused = CALLERS[f"spark.{function}"]
    for name in given:
        if reason := refused.get(name):
            raise TypeError(f"{name}=… is an option of ndcore.{function}, and not available on Spark, because "
                            f"{reason}; leave it out, or use the local function")
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def key_columns(df: DataFrame, id: str | Sequence[str] | None) -> dict[str, str]:
    """Return SQL for each column of the key, by name. Raises TypeError for other tables, and for types without equality."""
    from pyspark.sql import DataFrame

    if not isinstance(df, DataFrame):
        kind = f"{type(df).__module__.partition('.')[0]}.{type(df).__name__}"
        raise TypeError(f"documents must be a DataFrame of Spark, got {kind}; give spark.createDataFrame(…) of it, or use "
                        "the function of ndcore itself, which needs no Spark")
    if id is None:
        try:
            _ = df.selectExpr(*FILE_KEY.values()).schema  # Spark Connect reports errors with the schema
        except Exception as error:
            raise ValueError("id is None, and the rows are not read from Parquet files, whose paths and row numbers would "
                             "be the keys; name the columns that identify a document, as id='url'") from error
        return key_sql(None)
    names = [id] if isinstance(id, str) else list(id)
    for name in names:
        kind = type_of(df, name, "id").simpleString()
        if "map<" in kind or "variant" in kind:
            raise TypeError(f"id={name!r} is a column of type {kind}, whose values cannot be compared; cast it, as "
                            f"to_json({name})")
    if not names:
        raise ValueError("id names no columns; give one or more, as id='url'")
    return key_sql(names)


def key_sql(names: Sequence[str] | None) -> dict[str, str]:
    """Return SQL for each column, by name; None: SQL for the path of a Parquet file and the row number."""
    return dict(FILE_KEY) if names is None else {name: f"`{name.replace('`', '``')}`" for name in names}


def refuse_taken(columns: Collection[str], names: Collection[str]) -> None:
    """Raise ValueError if one of these columns has the name of another column of the result; Spark ignores case."""
    taken = {name.lower() for name in names}
    for name in columns:
        if name.lower() in taken:
            raise ValueError(f"the column {name!r} is also a column of the result, which has {', '.join(sorted(taken))}; "
                             f"rename it, as df.withColumnRenamed({name!r}, 'given_{name}')")


def refuse_unstable(rows: DataFrame, role: str) -> None:
    """Raise ValueError if a second reading of these columns may give other values.

    Cached tables are examined too, since a lost partition is recomputed. Columns that are not read are ignored.
    """
    reason = _unstable_step(rows) if is_classic(rows.sparkSession) else _unstable_function(rows)
    if reason is not None:
        raise ValueError(f"{role}: a second reading may give other values, because of {reason:.200}. Write the rows as "
                         "Parquet and read them from there, or df.checkpoint() them; or give a column as id that is in "
                         "the data. monotonically_increasing_id() depends on partitions, and cache() may lose some")


def _unstable_step(rows: DataFrame) -> str | None:
    """Find a step of the plan that Spark considers not deterministic; None if there is none."""
    execution = rows._jdf.queryExecution()
    plan = execution.sparkSession().sessionState().optimizer().execute(execution.analyzed())  # without cached tables
    if plan.deterministic():
        return None
    while True:
        children = plan.children()
        unstable = [child for child in map(children.apply, range(children.size())) if not child.deterministic()]
        if not unstable:
            return str(plan.simpleString(25))
        plan = unstable[0]


def _unstable_function(rows: DataFrame) -> str | None:
    """Find such a step on Spark Connect, by the names of functions in the plan, and by the declarations of UDFs."""
    plan: Any = rows
    optimized = plan._explain_string(extended=True).partition("== Optimized Logical Plan ==")[2]
    if named := _UNSTABLE.search(optimized):
        return str(named[0])
    messages = [plan._plan.to_proto(plan.sparkSession.client)]
    while messages:
        message = messages.pop()
        if message.DESCRIPTOR.name == "CommonInlineUserDefinedFunction" and not message.deterministic:
            return f"{message.function_name}()"
        for field, value in message.ListFields():
            if field.message_type is not None:
                several = value.values() if hasattr(value, "values") else value if hasattr(value, "append") else [value]
                messages += [child for child in several if hasattr(child, "ListFields")]
    return None


def type_of(df: DataFrame, name: str, role: str) -> DataType:
    """Return the type of a column. Raises ValueError if there is no such column."""
    if name not in df.columns:
        raise ValueError(f"{role}={name!r}: there is no such column; the columns are {', '.join(df.columns)}")
    cased = df.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
    alike = [column for column in df.columns if column == name or (not cased and column.lower() == name.lower())]
    if len(alike) > 1:
        raise ValueError(f"{role}={name!r}: for Spark several columns have this name ({', '.join(alike)}); rename "
                         "all but one")
    kind: DataType = df.schema[name].dataType
    return kind


def key_struct(key: dict[str, str]) -> Column:
    """Return the struct of the key's columns."""
    parts = ", ".join(f"{sql} as `{name.replace('`', '``')}`" for name, sql in key.items())
    return F.expr(f"struct({parts})")


def with_keys(
    df: DataFrame, text: str, key: dict[str, str], added: dict[str, Column], *, against: bool = False
) -> DataFrame:
    """Select the columns ``key`` (a struct), ``against``, ``text`` and the added ones."""
    kind = type_of(df, text, "text")
    if kind.typeName() not in ("string", "binary"):
        raise TypeError(f"text={text!r} is a column of type {kind.simpleString()}; texts are string or binary")
    written = F.expr(f"`{text.replace('`', '``')}`")
    keyed = df.select(key_struct(key).alias("key"), F.lit(against).alias("against"), written.alias("text"),
                      *(column.alias(name) for name, column in added.items()))
    refuse_unstable(keyed, "against" if against else "the documents")
    return keyed


def label_of(df: DataFrame, label: str | Column, role: str) -> Column:
    """Return a binary column of 16 bytes that equal labels share; null and nan raise. Raises TypeError for other types."""
    if isinstance(label, str):
        type_of(df, label, role)
        label = F.col(f"`{label.replace('`', '``')}`")
    kind = df.select(label.alias("label")).schema["label"].dataType
    name = kind.typeName()
    if name not in _LABELS and not name.startswith("decimal"):
        raise TypeError(f"{role} is of type {kind.simpleString()}; labels are booleans, numbers, strings, binary, dates or "
                        "timestamps: cast it to string")
    label = refuse_missing(kind, label, f"{role}: a label is missing (null or nan); give the document one of its own")
    if name in _FLOATS:
        label = label + F.lit(0.0)  # -0.0 is 0.0
    if name == "timestamp":
        label = F.unix_micros(label)  # as strings, two instants at the end of summer time would be equal
    return digest_of(label if name == "binary" else label.cast("string").cast("binary"))


def digest_of(column: Column) -> Column:
    """Return 16 bytes of the SHA-256 of a binary column."""
    return F.unhex(F.substring(F.sha2(column, 256), 1, 32))


def refuse_missing(kind: DataType, column: Column, message: str) -> Column:
    """Return the column with a check: a value that is null or nan raises."""
    missing = column.isNull()
    if kind.typeName() in _FLOATS:
        missing = missing | F.isnan(column)
    return F.when(missing, F.raise_error(F.lit(message)).cast(kind)).otherwise(column)


def extend_schema(rows: DataFrame, more: str) -> StructType:
    """Return the schema of these rows with more columns at the end, in DDL."""
    from pyspark.sql import types as T

    return T.StructType([*rows.schema.fields, *rows.sparkSession.createDataFrame([], more).schema.fields])


def number_documents(
    work: Work, sides: DataFrame, order: Sequence[str], phase: Callable[..., Any], made: str, how: str, **given: Any
) -> SparkDocuments:
    """Sketch the documents of both sides, sort them in keep order, and find equal ones.

    Parameters
    ----------
    sides : DataFrame
        ``key``, ``against``, ``text``, the columns that `order` (SQL) needs, and perhaps labels: ``scope`` of `by`,
        ``version`` of `one_per`.
    phase, made, given
        The phase that sketches the documents; the columns that it makes, with ``valid``, ``bytes``, ``deciding`` and perhaps
        ``agrees``, the digest of `must_agree`; its settings.
    how : str
        SQL for ``how`` in `SparkDocuments.followers`, with ``first.bytes`` (and ``first.tokens``, if they are made) of the
        leader.
    """
    if work.recorded:
        sides = sides.withColumn("seen", F.xxhash64(*sides.columns))
    known = sides.drop("text")
    sketched = work.keep(work.apply(sides, phase, extend_schema(known, made), text="text", **given), "sketches")
    if work.taken:
        _refuse_changes(sides, sketched)
    ranked, _, first_new = rank_rows(work, sketched.drop("seen"), order)
    ranked = with_scopes(ranked.withColumn("label", F.col("scope")) if "scope" in ranked.columns else ranked)
    return SparkDocuments(ranked, _find_followers(work, ranked, how), first_new)


def rank_rows(work: Work, rows: DataFrame, order: Sequence[str]) -> tuple[DataFrame, int, int]:
    """Sort the rows of documents in keep order (see `number_documents`), and number them.

    Returns them with the column ``rank``, the number of documents, and how many of them are in `against`.
    """
    sequence = [F.expr("against").desc(), *(F.expr(term) for term in order), F.col("key")]
    in_order = rows.sort(*sequence).withColumn("place", F.monotonically_increasing_id())  # in a partition
    placed = work.keep(in_order, "keep order").withColumn("part", F.expr(f"shiftright(place, {PLACE_BITS})"))
    sizes = sorted((row.part, row.size, row.against) for row in placed.groupBy("part").agg(
        F.count("*").alias("size"), F.expr("count_if(against) as against")).collect())
    if sum(size for _, size, _ in sizes) > MOST:
        raise ValueError(f"there are more than {MOST} documents; remove near-duplicates in parts, each against the last")
    starts, total = dict[int, int](), 0
    for part, size, _ in sizes:
        starts[part] = total
        total += size
    listed = ",".join(str(starts.get(part, 0)) for part in range(max(starts, default=0) + 1))
    # not by a join, which would be repeated by each reading
    start = f"cast(split('{listed}', ',') as array<bigint>)[cast(part as int)]"
    ranked = placed.withColumn("rank", F.expr(f"{start} + (place & {(1 << PLACE_BITS) - 1})")).drop("place", "part")
    return ranked, total, sum(against for _, _, against in sizes)


def with_scopes(rows: DataFrame) -> DataFrame:
    """Mix ``agrees`` into ``scope``, where documents have digests of `must_agree`; without shingles only bytes decide."""
    if "agrees" not in rows.columns:
        return rows
    of_by = F.col("scope") if "scope" in rows.columns else F.lit(b"")
    return rows.withColumn("scope", digest_of(F.concat(of_by, F.expr("if(valid, agrees, binary(''))"))))


def _refuse_changes(sides: DataFrame, sketched: DataFrame) -> None:
    """Raise ValueError if documents differ from an earlier run's, by ``seen``, a hash of the row."""
    summary = ("count(*)", "sum(cast(seen as decimal(20, 0)))")
    if sides.selectExpr(*summary).collect() == sketched.selectExpr(*summary).collect():
        return
    now, then = sides.selectExpr("key", "against", "seen as now"), sketched.selectExpr("key", "against", "seen as then")
    for row in now.join(then, ["key", "against"], "full").where("not now <=> then").limit(1).collect():
        what = ("is not there any more" if row.now is None else "is new" if row.then is None else
                "has another text, label or priority")
        raise ValueError("the steps in the directory are of another input: "
                         f"the document {row.key.asDict()} {what}; {ELSEWHERE}")


def check_keys(work: Work, sides: DataFrame) -> None:
    """Raise ValueError if a key, or a part of one, is null, or if a key repeats on one side.

    Reads only the columns ``key`` and ``against``, before any text.
    """
    work.describe("check of keys")
    parts = [f"key.`{name.replace('`', '``')}`" for name in sides.select("key.*").columns]
    missing = " or ".join(f"{part} is null" for part in parts)
    wrong = sides.groupBy("against", "key").count().where(f"count > 1 or {missing}").limit(1).collect()
    if wrong:
        number, key = wrong[0]["count"], wrong[0].key.asDict()
        what = "keys have no missing values" if None in key.values() else "keys are unique"
        raise ValueError(f"{number} document{'s have' if number > 1 else ' has'} the key {key}; {what}")


def _find_followers(work: Work, ranked: DataFrame, how: str) -> DataFrame:
    """Find the versions, and the documents that equal an earlier one, except documents without a deciding digest."""
    versions = None
    if "version" in ranked.columns:
        labelled = ranked.where("version is not null").select("version", "rank")
        first = labelled.groupBy("version").agg(F.min("rank").alias("first"))
        versions = labelled.join(first, "version").where("rank != first").select("rank", "first")
        versions = work.keep(versions, "versions")
        ranked = ranked.join(versions, "rank", "left_anti")
    kind = ["valid", "deciding", *(name for name in ("scope",) if name in ranked.columns)]
    digests = [name for name in ("bytes", "tokens") if name in ranked.columns]
    leader = f"first(struct(rank, {', '.join(digests)})) over (partition by {', '.join(kind)} order by rank) as first"
    classes = ranked.where("deciding is not null").selectExpr("rank", *digests, leader)
    equal = classes.where("rank != first.rank").selectExpr("rank", "first.rank as leader", f"{how} as how")
    equal = work.keep(equal, "equal documents")
    if versions is None:
        return equal
    leaders = equal.selectExpr("rank as first", "leader")
    return equal.union(versions.join(leaders, "first", "left").selectExpr(
        "rank", "coalesce(leader, first) as leader", "'version' as how"))
