"""A growing collection on Spark: verdicts on a new crawl against all earlier ones, at the cost of the new one."""

from __future__ import annotations

import re
import secrets
import shutil
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from ndcore._candidates import Bitmaps
from ndcore._types import AnyPath, UInts
from ndcore.checks import check_choice, is_int
from ndcore.dedup.near_duplicates import plan_sketches
from ndcore.dedup.rules import CALLERS, Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.phases.neighbours import StoredFile, read_sharing, select_sharing
from ndcore.phases.sketches import sketch_documents
from ndcore.phases.value_filter import unite
from ndcore.phases.verification import Judgement
from ndcore.recipe import stored_recipe
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.documents import (
    MOST,
    SparkDocuments,
    check_keys,
    extend_schema,
    key_columns,
    key_sql,
    key_struct,
    label_of,
    rank_rows,
    refuse_taken,
    with_keys,
    with_scopes,
)
from ndcore.spark.file_ranges import share_among_tasks
from ndcore.spark.functions import F
from ndcore.spark.manifest import TABLES, BatchId, CollectionManifest, Commit, Conflict, Segment, Versions
from ndcore.spark.near_duplicates import SKETCHED
from ndcore.spark.result import RANK, VERDICT, Verdicts, conclude_verdicts
from ndcore.spark.settling import DECIDED, SHARED, Settling
from ndcore.spark.verification import ADVICE, filter_of, filter_pair_of
from ndcore.spark.versions import import_spark
from ndcore.spark.work import Work, count_stored, local_files
from ndcore.storage.container import CorruptFile
from ndcore.text.agreement import Agreement
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SKETCHED_ROWS = ("rank", "key", "file", "row", "valid", "bytes", "deciding", "scope", "features", "size", "bitmap", "added")
CHANGES = ", ".join(["rank bigint", "removed boolean", *(f"{name} {kind}" for name, kind in DECIDED.items())])
ARROW_TYPES = {name: {"bigint": "int64"}.get(kind, kind) for name, kind in DECIDED.items()}
CHANGED = ("representative", "class", "resemblance")
ROW_GROUP = 1 << 18  # bytes of a row group of copied texts, all of which is read for one of them
SENT = 32 << 20  # bytes of stored keys and ranks that go to all tasks, so that no row of a new document is moved
TASK_PAIRS = 1 << 22
KEY_HASH = "xxhash64(key)"


@dataclass(frozen=True)
class Change(Verdicts):
    """The outcome of `add`, `remove` or `expire`.

    Attributes
    ----------
    verdicts : DataFrame
        The verdicts on the added documents, with the columns of `GrowingCollection.result`.
    changed : DataFrame
        The older documents whose verdict has changed: the columns of the key, and ``added``; ``representative``,
        ``class`` and ``resemblance``; the earlier verdict in the struct ``before``. Sizes of clusters do not count.
    version : int
        The version of the collection afterwards.
    documents : int
        The number of documents that were added or, by `remove` and `expire`, removed.
    repeated : bool
        Whether an earlier call made this change, so that this one did nothing.
    key, directory
        As in `Verdicts`.
    """

    changed: DataFrame
    version: int
    documents: int
    repeated: bool


class GrowingCollection:
    """A collection of documents on disk. Adding a crawl costs about as much as the crawl alone.

    Made by `create` or `open`. Documents are in the order (add, key), and verdicts are the same as in one run of
    `ndcore.spark.near_duplicates` over all documents in this order. Every call reads the newest version first.

    Attributes
    ----------
    path : str
    settings : dict
        The arguments of `create`.
    rules, filter, recipe
        As in `ndcore.NearDuplicates`.
    """

    def __init__(self, versions: Versions, manifest: CollectionManifest, shingling: Shingling | None) -> None:
        self._versions, self.path, self.settings = versions, str(versions.path), manifest.settings
        given = manifest.settings
        try:
            sketches = stored_recipe(given["sketches"])
            self._agreement = Agreement.of(tuple(given["must_agree"]) or None)
            shape = given["filter"]
            self.filter = FilterDesign.of(shape["groups"], shape["group_size"], shape["need"], threshold=given["threshold"],
                                          num_perm=sketches["num_perm"])
            self.rules = Rules.of(self._agreement, self.filter, threshold=given["threshold"], cluster=given["cluster"],
                                  max_holders=given["max_holders"], min_shingles=given["min_shingles"])
            self._bitmap_key = bytes.fromhex(given["bitmap_key"])
            self._text, self._id, self._by, self._copy = (given[name] for name in ("text", "id", "by", "copy"))
            names = [self._text, *([] if self._by is None else [self._by]), *([] if self._id is None else self._id)]
            if not all(isinstance(name, str) for name in names) or len(self._bitmap_key) != Bitmaps.KEY_BYTES:
                raise ValueError(f"{names} are not names of columns, or the key of bitmaps has another length")
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFile(f"{self.path}: the settings in its manifest cannot be read: {error!r:.300}") from error
        self._schema: StructType | None = None  # schema of the rows of documents, once some were read
        self._of_first_format = False  # whether these have decisions of their own
        self._sketcher = MinHasher.from_recipe(sketches, shingling)
        self.recipe = self.rules.recipe(self._sketcher.recipe, self.filter)

    @classmethod
    def create(
        cls,
        path: AnyPath,
        text: str = "text",
        id: str | Sequence[str] | None = None,
        *,
        threshold: float = 0.8,
        shingling: Shingling | None = None,
        num_perm: int = 84,
        seed: int = 1,
        filter: Literal["auto", "lsh"] | FilterDesign = "auto",
        cluster: Literal["star", "greedy"] = "star",
        max_holders: int = 1000,
        by: str | None = None,
        must_agree: str | Sequence[str] | None = None,
        min_shingles: int = 0,
        copy: bool = False,
        **refused: Any,
    ) -> Self:
        """Make an empty collection.

        Parameters
        ----------
        path : path
            A new directory of a file system that this process and all executors reach under this path.
        text, id, threshold, shingling, num_perm, seed, filter, max_holders, min_shingles
            As for `near_duplicates`; every added DataFrame has these column names. "auto" is "lsh".
        cluster : "star" or "greedy"
            As for `near_duplicates`.
        by : str, optional
            The column of labels; documents with different ones are never compared.
        must_agree : str or sequence of str, optional
            Names of keys, as there; a callable is refused because it cannot be stored.
        copy : bool
            Keep a copy of the texts in the collection. False: texts are read from the Parquet files of the DataFrames,
            which must not change.
        **refused
            Options that only `near_duplicates` has, which are refused by name, with the reason.

        Returns
        -------
        GrowingCollection

        Raises
        ------
        FileExistsError
            Something is at the path.
        TypeError, ValueError
            A parameter is not accepted.
        """
        reasons = CALLERS["spark.collection"]
        for name, value in {**refused, "cluster": cluster, "filter": filter}.items():
            reason = reasons.get(name) or (isinstance(value, str) and reasons.get(f"{name}={value!r}"))
            if reason:
                raise TypeError(f"{name}={value!r:.80} is an option of ndcore.spark.near_duplicates, and not available in a "
                                f"collection that grows: {reason}")
            if name in refused:
                raise TypeError(f"create() got an unexpected keyword argument {name!r}")
        agreement = Agreement.of(must_agree)
        if agreement is not None and any(callable(rule) for rule in _as_list(must_agree)):
            raise TypeError("must_agree holds a callable, which a collection cannot store; give names of keys")
        if not isinstance(copy, bool):
            raise TypeError(f"copy is True or False, got {copy!r:.80}")
        if by is not None and not isinstance(by, str):
            raise TypeError(f"by is the name of a column, got {by!r:.80}")
        rules = Rules.of(agreement, filter, threshold=threshold, cluster=cluster, max_holders=max_holders,
                         min_shingles=min_shingles)
        sketcher, design = plan_sketches([], rules, shingling, num_perm, seed, filter)
        assert isinstance(design, FilterDesign)
        settings = {
            "text": text, "id": None if id is None else _as_list(id), "by": by, "copy": copy,
            "threshold": float(threshold), "cluster": cluster, "max_holders": int(max_holders),
            "min_shingles": int(min_shingles), "must_agree": list(rules.must_agree),
            "filter": {"groups": design.groups, "group_size": design.group_size, "need": design.need},
            "sketches": sketcher.recipe.to_json(), "bitmap_key": secrets.token_bytes(Bitmaps.KEY_BYTES).hex(),
        }
        versions = _versions(path)
        return cls(versions, versions.begin(settings), shingling)

    @classmethod
    def open(cls, path: AnyPath, *, shingling: Shingling | None = None) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : path
        shingling : Shingling, optional
            Needed if its unit is a callable.

        Raises
        ------
        FileNotFoundError
            There is no collection at the path.
        CorruptFile
            The manifest is damaged, or names something other than a table of the collection.
        """
        versions = _versions(path)
        return cls(versions, versions.latest(), shingling)

    def __repr__(self) -> str:
        return f"Collection({self.path!r})"

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self._versions.latest().version

    @property
    def batches(self) -> list[BatchId | None]:
        """The ids of the added batches, in order."""
        return [commit.batch for commit in self._versions.latest().commits if commit.kind == "add"]

    def add(
        self, df: DataFrame, *, batch: BatchId | None = None, repeated: Literal["refuse", "replace", "version"] = "refuse"
    ) -> Change:
        """Add documents after all others, and decide on them.

        Parameters
        ----------
        df : DataFrame
            A row for each document. The order of their keys is the order of the documents within the batch.
        batch : str or int, optional
            An id. A batch whose id is in the collection is not added again: its verdicts are returned, so that a job can be
            retried. 1 and "1" are different ids.
        repeated : "refuse", "replace" or "version"
            The treatment of a document whose key is in the collection already. "refuse": an error. "replace": it replaces
            the older documents with this key, which are removed. "version": it is a version of the first one, as with
            one_per in `near_duplicates`, and their texts are not compared.

        Returns
        -------
        Change

        Raises
        ------
        Conflict
            Another process changed the collection meanwhile. Nothing of this batch is in it; try again.
        TypeError, ValueError
            A column is not accepted, or a key is missing or repeats.
        Exception
            Raised by Spark, with the message of ndcore: a text of an older candidate is missing or has changed.

        Notes
        -----
        The keys, digests and features of older documents are scanned, and the texts of candidates are read. A killed call
        leaves tables that no manifest names.
        """
        check_choice("repeated", repeated, ("refuse", "replace", "version"))
        before, batch = self._begin(batch, "add")
        if before.commit_of(batch) is not None:
            return self._change(df.sparkSession, before, batch, repeated=True)
        key = key_columns(df, self._id)
        refuse_taken(key, ("representative", "added", "before", *VERDICT, RANK))
        work = self._work(df.sparkSession)
        return self._commit(work, batch, lambda token: self._add(work, df, key, before, Commit("add", batch, 0, None), token,
                                                                 repeated))

    def remove(
        self, df: DataFrame, *, batch: BatchId | None = None, unknown: Literal["refuse", "ignore"] = "refuse"
    ) -> Change:
        """Remove documents, and decide again on documents that had joined them.

        Parameters
        ----------
        df : DataFrame
            Has the columns of the key: a row for each document to remove, with all its versions.
        batch : str or int, optional
            An id of this removal, as for `add`.
        unknown : "refuse" or "ignore"
            The treatment of a key that is not in the collection.

        Returns
        -------
        Change
            `changed` has the cascade: documents that now represent themselves, and documents that joined another one.

        Raises
        ------
        Conflict, TypeError, ValueError
            As for `add`.

        Notes
        -----
        No table is rewritten: rows, and texts that were copied, stay on disk, in tables that older versions name.
        """
        check_choice("unknown", unknown, ("refuse", "ignore"))
        before, batch = self._begin(batch, "remove")
        if before.commit_of(batch) is not None:
            return self._change(df.sparkSession, before, batch, repeated=True)
        keys = df.select(key_struct(key_columns(df, self._id)).alias("key"))
        work = self._work(df.sparkSession)
        return self._commit(work, batch, lambda token: self._remove(work, keys, before, Commit("remove", batch, 0, None),
                                                                    token, unknown))

    def expire(self, through: BatchId, spark: SparkSession | None = None) -> Change:
        """Remove all documents of a batch and of earlier ones, and decide again on documents that had joined them.

        Parameters
        ----------
        through : str or int
            The id of a batch that was added.
        spark : SparkSession, optional
            None: the active one.

        Returns
        -------
        Change
            As for `remove`; `repeated` is True if nothing is left of these batches.
        """
        import_spark()
        before, work = self._versions.latest(), self._work(spark)
        last = before.commit_of(through)
        if last is None or before.commits[last - 1].kind != "add":
            raise ValueError(f"no batch {through!r:.80} was added; the batches are {self.batches!r:.200}")
        old = self._rows(work, before)
        assert old is not None
        gone = work.keep(old.where(f"added <= {last}").select("rank"), "documents that go away")
        commit = Commit("expire", None, count_stored(gone), None)
        if commit.documents == 0:
            return self._change(work.spark, before, None, repeated=True)
        segments = tuple(segment for segment in before.segments if segment.commit > last) or before.segments[-1:]
        return self._commit(work, None, lambda token: self._decide_without(work, old, before, commit, token, gone,
                                                                    {"segments": segments}))

    def _begin(self, batch: BatchId | None, kind: str) -> tuple[CollectionManifest, BatchId | None]:
        """Read the newest version, and check the id of a batch; return both."""
        import_spark()
        if batch is not None and is_int(batch):
            batch = int(batch)  # also for integers of NumPy
        elif batch is not None and not (isinstance(batch, str) and batch):
            raise TypeError(f"batch is a str that is not empty, or an int, got {batch!r:.80}")
        manifest = self._versions.latest()
        done = manifest.commit_of(batch)
        if done is not None and manifest.commits[done - 1].kind != kind:
            raise ValueError(f"batch={batch!r:.80} was another change: {manifest.commits[done - 1].kind}")
        return manifest, batch

    def _commit(self, work: Work, batch: BatchId | None, make: Callable[[str], CollectionManifest]) -> Change:
        """Make a version; remove its tables if that fails."""
        token = secrets.token_hex(8)
        try:
            after = make(token)
        except BaseException as error:
            now = self._versions.latest()
            if not now.names(token):  # an interrupt may occur after the version was made
                for table in self._versions.table("").glob(f"{token}-*"):
                    shutil.rmtree(table, ignore_errors=True)
            if isinstance(error, Conflict) and now.commit_of(batch) is not None:
                return self._change(work.spark, now, batch, repeated=True)
            raise
        return self._change(work.spark, after, batch, repeated=False)

    def result(self, spark: SparkSession | None = None) -> Verdicts:
        """Read the verdicts on all documents.

        Parameters
        ----------
        spark : SparkSession, optional
            None: the active one.

        Returns
        -------
        Verdicts
            ``verdicts`` has a row for each document: the columns of its key; ``added``, the version of the collection that
            added it; ``representative``, a struct of the same columns; ``class``, ``resemblance`` and ``cluster_size``, as
            in `ndcore.NearDuplicates`.
        """
        import_spark()
        manifest, work = self._versions.latest(), self._work(spark)
        return Verdicts(self._verdicts(work, manifest).drop(RANK), key_sql(self._id), work)

    def _work(self, spark: SparkSession | None) -> Work:
        """Begin a job whose steps are removed with it."""
        from pyspark.sql import SparkSession

        place = self._versions.path / "steps" / secrets.token_hex(8)
        work = Work(spark or SparkSession.active(), _uri(place))
        weakref.finalize(work, shutil.rmtree, place, True)
        return work

    def _read(self, work: Work, names: Sequence[str], schema: str | StructType | None = None) -> DataFrame:
        """Read tables with the same columns; without a schema, a job of Spark reads it from a file."""
        reader = work.spark.read if schema is None else work.spark.read.schema(schema)
        return reader.parquet(*(_uri(self._versions.table(name)) for name in names))

    def _rows(self, work: Work, manifest: CollectionManifest) -> DataFrame | None:
        """Read the rows of all documents; None before the first batch."""
        documents = self._documents(work, manifest)
        return None if documents is None else _with_changes(documents, self._read_changes(work, manifest))

    def _documents(self, work: Work, manifest: CollectionManifest) -> DataFrame | None:
        """Read the rows of all documents as their tables have them, also of removed ones; None before the first batch."""
        if not manifest.segments:
            return None
        names = [segment.table for segment in manifest.segments]
        if self._schema is None:
            one = self._read(work, names[:1])
            lacking = [f"{name} {kind}" for name, kind in DECIDED.items() if name not in one.columns]
            self._schema = extend_schema(one, ", ".join(lacking)) if lacking else one.schema
            self._of_first_format = not lacking  # later tables are of this format, or of a later one
        return self._read(work, names, self._schema)

    def _read_changes(self, work: Work, manifest: CollectionManifest) -> DataFrame | None:
        """Read the decisions that the tables of documents lack, and which documents are removed."""
        return self._read(work, manifest.changed, CHANGES) if manifest.changed else None

    def _read_sharing(self, work: Work, manifest: CollectionManifest, words: UInts) -> DataFrame:
        """Read the documents of the collection that pass a filter of SHARED, with their decisions."""
        assert self._schema is not None
        rows = self._select_stored(work, manifest.segments, self._schema, words)
        return _with_changes(rows, self._read_changes(work, manifest))

    def _select_stored(self, work: Work, segments: Sequence[Segment], schema: StructType, words: UInts) -> DataFrame:
        """Read the documents of segments that pass a filter of SHARED: all columns but ``added``; keys are JSON."""
        from pyspark.sql import types as T

        stored = [T.StructField("key", T.StringType()) if field.name == "key" else field
                  for field in schema.fields if field.name not in ("added", *DECIDED)]
        decided = [field for field in schema.fields if field.name in DECIDED]
        files = [StoredFile(f"{TABLES}/{segment.table}/{path.name}", path.stat().st_size) for segment in segments
                 for path in sorted(self._versions.table(segment.table).glob("*.parquet"))]
        shares = [[file.path for file in share] for share in share_among_tasks(work.spark, files, work.cores)]
        at = work.spark.range(0, len(shares), 1, max(1, len(shares))).toDF("at")
        return work.apply(at, read_sharing, T.StructType([*stored, *decided]), shares=shares, root=self.path,
                          columns=[field.name for field in stored], wanted=words,
                          decided={field.name: ARROW_TYPES[field.name] for field in decided})

    def _find_keys(self, work: Work, manifest: CollectionManifest, keys: DataFrame, words: UInts) -> DataFrame:
        """Find the documents with these keys: ``rank``, ``key`` and ``version_of``. words: of a filter with their KEY_HASH.

        Of most documents nothing but a hash of the key goes to Python; keys are compared where hashes are equal.
        """
        documents = self._documents(work, manifest)
        assert documents is not None
        hashed = documents.selectExpr("rank", f"{KEY_HASH} as _hash")
        selected = work.apply(hashed, select_sharing, hashed.schema, column="_hash", wanted=words)
        alike = selected.join(keys.selectExpr(f"{KEY_HASH} as _hash"), "_hash", "left_semi").select("rank")
        alike = work.keep(alike, "documents with the hash of a key")
        if not count_stored(alike):
            return documents.where("false").select("rank", "key", "version_of")
        rows = documents.select("rank", "key", *DECIDED).join(alike, "rank", "left_semi")
        rows = _with_changes(rows, self._read_changes(work, manifest))
        return rows.select("rank", "key", "version_of").join(keys, "key", "left_semi")

    def _verdicts(self, work: Work, manifest: CollectionManifest) -> DataFrame:
        """Conclude the verdicts on all documents, with RANK."""
        documents = self._documents(work, manifest)
        if documents is None:
            raise ValueError(f"{self.path} has no documents: add a batch first")
        changes, decided = self._read_changes(work, manifest), documents.where("leader is not null")
        if changes is not None:
            now = changes.where("not removed").select("rank", *DECIDED)
            if self._of_first_format:
                decided = decided.join(changes.select("rank"), "rank", "left_anti").select(*now.columns).union(now)
            else:
                decided = now
            if any(commit.changes is not None for commit in manifest.commits):
                documents = documents.join(changes.where("removed").select("rank"), "rank", "left_anti")
        return self._conclude(documents, decided)

    def _conclude(self, rows: DataFrame, decided: DataFrame) -> DataFrame:
        """Conclude the verdicts on documents by their rows, and the decisions on those that do not represent themselves."""
        rows = rows.withColumn("key", F.expr("struct(key.*, added)"))
        followers = decided.where("leader != rank").select("rank", "leader", "how")
        labels = decided.where("leader = rank and label != rank").selectExpr("rank", "label", "resemblance",
                                                                             "resemblance as score")
        return conclude_verdicts(SparkDocuments(rows, followers, 0), labels, None, self.rules).drop("against")

    def _change(self, spark: SparkSession, manifest: CollectionManifest, batch: BatchId | None, *, repeated: bool) -> Change:
        """Describe the change that a batch made; None: the newest version."""
        number = manifest.commit_of(batch) or manifest.version
        commit, work = manifest.commits[number - 1], self._work(spark)  # a new one: steps of the job can be removed
        verdicts = self._verdicts(work, manifest)
        places = [f"{RANK} between {segment.first} and {segment.first + segment.documents - 1}"
                  for segment in manifest.segments if segment.commit == number]
        ours = verdicts.where(" or ".join(places) or "false").drop(RANK)
        if commit.changes is not None:
            changed = self._read(work, [commit.changes])
        else:
            changed = _differences(verdicts, verdicts).where("false")
        work.finish()
        return Change(ours, key_sql(self._id), work, changed, number, commit.documents, repeated)

    def _sides(self, work: Work, df: DataFrame, key: dict[str, str], table: str) -> DataFrame:
        """Return the documents, with the places of their texts, which are copied if the collection has copies."""
        added = {} if self._by is None else {"scope": label_of(df, self._by, "by")}
        if self._copy:
            work.describe("copy of the texts")
            rows = with_keys(df, self._text, key, added)
            rows.write.option("parquet.block.size", ROW_GROUP).parquet(_uri(self._versions.table(table)))
            written = self._read(work, [table], rows.schema)
            return written.selectExpr("*", f"concat('{TABLES}/{table}/', _metadata.file_name) as file",
                                      "_metadata.row_index as `row`")
        try:
            key_columns(df, None)
        except ValueError as error:
            raise ValueError("the rows are not read from Parquet files, to which a collection could refer for their texts; "
                             "write them as Parquet and read them from there, or create the collection with copy=True, "
                             "which keeps a copy of the texts") from error
        return with_keys(df, self._text, key, {**added, **{name: F.expr(sql) for name, sql in key_sql(None).items()}})

    def _add(
        self, work: Work, df: DataFrame, key: dict[str, str], before: CollectionManifest, commit: Commit, token: str,
        repeated: str,
    ) -> CollectionManifest:
        """Decide on new documents, write their table, and commit."""
        sides = self._sides(work, df, key, f"{token}-texts")
        kind = sides.schema["key"].dataType.simpleString()
        if before.key not in (None, kind):
            raise ValueError(f"the keys are {kind}, and the collection has keys {before.key}; cast them")
        check_keys(work, sides)
        order, total, _ = rank_rows(work, sides.select("key", "against"), [])
        if before.following + total > MOST:
            raise ValueError(f"with this batch there are more than {MOST} documents; begin another collection")
        table = f"{token}-documents"
        new = self._write_documents(work, sides, order, total, before, table)
        seen, shared = filter_pair_of(work, new, KEY_HASH, *SHARED, count=total * (self.filter.groups + 2))
        settling, old = self._settling(work, before), self._rows(work, before)
        gone = versions = None
        if old is not None:
            first = self._find_repeats(work, before, new, seen, repeated)
            if repeated == "replace":
                gone = work.keep(first.select("rank"), "documents that are replaced")
                gone = gone if count_stored(gone) else None
            elif repeated == "version":
                of_key = first.where("version_of is null").selectExpr("rank as version_of", "key")
                versions = new.select("rank", "key").join(of_key, "key").select("rank", "version_of")
        undecided = new.selectExpr("*", *_undecided())
        segment = Segment(table, before.following, total, before.version + 1)
        fields: dict[str, Any] = {
            "key": kind, "following": before.following + total, "segments": (*before.segments, segment)}
        commit = replace(commit, documents=total)
        if old is not None and gone is not None:
            decided = work.keep(settling.settle(_with_names(old), _with_names(new), None, gone), "decisions")
            return self._overlay(work, before, commit, token, old.unionByName(undecided), old, decided, gone, fields)
        if old is None:
            old = undecided.where("false")
            sharing = _with_names(old)
        else:
            sharing = work.keep(self._read_sharing(work, before, seen), "documents that share values")
            count = min(total, count_stored(sharing)) * (self.filter.groups + 1)
            shared = unite(shared, filter_of(work, sharing, *SHARED, count=count))
        meeting = work.keep(self._select_stored(work, [segment], new.schema, shared), "new documents that share values")
        decided = settling.settle(old, meeting, sharing, None, versions)
        work.describe("decisions on the new documents")
        changed = f"{token}-changed"
        rows = decided.selectExpr("rank", "false as removed", *DECIDED)
        rows.write.parquet(_uri(self._versions.table(changed)))
        return self._versions.commit(before, commit, changed=(*before.changed, changed), **fields)

    def _write_documents(
        self, work: Work, sides: DataFrame, order: DataFrame, total: int, before: CollectionManifest, table: str
    ) -> DataFrame:
        """Sketch the new documents, and write their table; return its rows.

        order: ``key`` and ``rank`` among them. total: of documents whose keys were read; none of them may be lost.
        """
        made = f"{SKETCHED}, size bigint, bitmap binary{', agrees binary' if self._agreement else ''}"
        sketched = work.apply(sides, sketch_documents, extend_schema(sides.drop("text"), made), text="text",
                              sketcher=self._sketcher, design=self.filter, must_agree=tuple(self.rules.must_agree) or None,
                              bitmap_key=self._bitmap_key)
        work.describe("sketches")
        changed = f"""raise_error(concat('the document ', to_json(key), ' was not there when keys were read{ADVICE}'))"""
        ranks = order.selectExpr("key", f"rank + {before.following}L as rank")
        files = local_files(order)
        if files is not None and sum(path.stat().st_size for path in files) <= SENT:
            ranks = F.broadcast(ranks)
        ranked = with_scopes(sketched).join(ranks, "key", "left").withColumns({
            "rank": F.expr(f"coalesce(rank, cast({changed} as bigint))"), "added": F.lit(before.version + 1).cast("bigint")})
        rows = ranked.select(*(name for name in SKETCHED_ROWS if name in ranked.columns))
        rows.write.parquet(_uri(self._versions.table(table)))
        documents = self._read(work, [table], rows.schema)
        if (written := count_stored(documents)) != total:
            raise ValueError(f"{total} documents were there when their keys were read, and {written} when their texts were "
                             f"read{ADVICE}")
        return documents

    def _remove(
        self, work: Work, keys: DataFrame, before: CollectionManifest, commit: Commit, token: str, unknown: str
    ) -> CollectionManifest:
        """Remove the documents of these keys."""
        old = self._rows(work, before)
        if old is None:
            raise ValueError(f"{self.path} has no documents: add a batch first")
        kind = keys.schema["key"].dataType.simpleString()
        if before.key != kind:
            raise ValueError(f"the keys are {kind}, and the collection has keys {before.key}; cast them")
        keys = work.keep(keys.distinct(), "keys of documents that go away")
        found = self._find_keys(work, before, keys, filter_of(work, keys, KEY_HASH))
        gone = work.keep(found.select("rank", "key"), "documents that go away")
        missing = keys.join(gone.select("key"), "key", "left_anti").limit(1).collect()
        if missing and unknown == "refuse":
            raise ValueError(f"the key {missing[0].key.asDict()} is not in the collection; with unknown='ignore' such keys "
                             "are left out")
        commit = replace(commit, documents=count_stored(gone))
        return self._decide_without(work, old, before, commit, token, gone.select("rank"), {})

    def _decide_without(
        self, work: Work, old: DataFrame, before: CollectionManifest, commit: Commit, token: str, gone: DataFrame,
        fields: dict[str, Any],
    ) -> CollectionManifest:
        """Decide on the collection without some documents, and commit."""
        known = _with_names(old)
        new = known.where("false").drop(*DECIDED)
        decided = self._settling(work, before).settle(known, new, None, gone).select("rank", *DECIDED)
        decided = work.keep(decided, "decisions")
        return self._overlay(work, before, commit, token, old, old, decided, gone, fields)

    def _settling(self, work: Work, before: CollectionManifest) -> Settling:
        """Make the `Settling` of this collection."""
        judgement = Judgement(self._sketcher, self.filter, least_equal_minima(self._sketcher.num_perm, self.rules.threshold),
                              self.rules.threshold, self.rules.min_shingles, before.following)
        return Settling(work, self.path, "text" if self._copy else self._text, judgement, self.rules, self._bitmap_key,
                        TASK_PAIRS, partial(self._read_sharing, work, before))

    def _overlay(
        self, work: Work, before: CollectionManifest, commit: Commit, token: str, both: DataFrame, old: DataFrame,
        decided: DataFrame, gone: DataFrame, fields: dict[str, Any],
    ) -> CollectionManifest:
        """Write the rows that replace older ones, and the verdicts that changed, and commit."""
        segments: tuple[Segment, ...] = fields.get("segments", before.segments)
        older = decided.where(f"rank < {before.following}")
        same = " and ".join(f"{name} <=> {name}_before" for name in DECIDED)
        states = old.selectExpr("rank", *(f"{name} as {name}_before" for name in DECIDED))
        moved = older.join(states, "rank").where(f"not ({same})").select("rank", *DECIDED)
        moved = work.keep(moved, "decisions that changed")
        entered = decided.where(f"rank >= {before.following}").select("rank", *DECIDED)
        changes = moved.union(entered).selectExpr("rank", "false as removed", *DECIDED)
        changes = changes.union(gone.selectExpr("rank", "true", *_undecided()))
        rows = changes
        if (earlier := self._read_changes(work, before)) is not None:
            rows = rows.union(earlier.join(changes.select("rank"), "rank", "left_anti").select(*rows.columns))
        first = min((segment.first for segment in segments), default=before.following)
        names = {"changed": f"{token}-changed", "changes": f"{token}-changes"}
        work.describe("rows that replace others")
        rows.where(f"rank >= {first}").write.parquet(_uri(self._versions.table(names["changed"])))
        now = _with_changes(both, changes)
        differences = _differences(self._conclude(old, old), self._conclude(now, now))
        differences.write.parquet(_uri(self._versions.table(names["changes"])))
        fields = {**fields, "changed": (names["changed"],)}
        return self._versions.commit(before, replace(commit, changes=names["changes"]), **fields)

    def _find_repeats(
        self, work: Work, before: CollectionManifest, new: DataFrame, words: UInts, repeated: str
    ) -> DataFrame:
        """Find the older documents whose keys new ones have. Raises ValueError if there are any and they are refused."""
        found = self._find_keys(work, before, new.select("key"), words)
        if repeated != "refuse":
            return found
        work.describe("check of keys against the collection")
        if first := found.limit(1).collect():
            raise ValueError(f"the key {first[0].key.asDict()} is in the collection already; keys are unique, or "
                             "repeated='replace' or 'version' says what becomes of the older document")
        return found


def _with_names(rows: DataFrame) -> DataFrame:
    """Return rows of documents as `_read_sharing` does: keys are JSON, and ``added`` is not there."""
    return rows.withColumn("key", F.to_json("key")).drop("added")


def _undecided() -> list[str]:
    """List the SQL of DECIDED where the table of documents has no decisions."""
    return [f"cast(null as {kind}) as {name}" for name, kind in DECIDED.items()]


def _with_changes(rows: DataFrame, changes: DataFrame | None) -> DataFrame:
    """Decide on rows of tables of documents by rows of changes; others lead and represent themselves."""
    names = [name for name in rows.columns if name not in DECIDED]
    undecided = "leader is null"  # tables of format 1 have decisions of their own
    own = {"version_of": "version_of", "leader": "coalesce(leader, rank)", "how": "how",
           "label": f"if({undecided}, rank, label)", "resemblance": f"if({undecided}, 1D, resemblance)"}
    if changes is None:
        return rows.selectExpr(*names, *(f"{sql} as {name}" for name, sql in own.items()))
    now = changes.selectExpr("rank", f"struct(removed, {', '.join(DECIDED)}) as now")
    return rows.join(now, "rank", "left").where("now is null or not now.removed").selectExpr(
        *names, *(f"if(now is null, {sql}, now.{name}) as {name}" for name, sql in own.items()))


def _differences(before: DataFrame, now: DataFrame) -> DataFrame:
    """Return the changed verdicts, each with the previous one."""
    struct = f"struct({', '.join(CHANGED)})"
    was = before.selectExpr(f"{RANK} as _rank", f"{struct} as before")
    names = [_quote_column(name) for name in now.columns if name not in (RANK, *CHANGED, "cluster_size")]
    joined = now.join(was, now[RANK] == was["_rank"]).where(f"not ({struct} <=> before)")
    return joined.selectExpr(*names, *CHANGED, "before")


def _as_list(names: Any) -> list[Any]:
    """Return one or several names as a list."""
    return [names] if isinstance(names, str) or callable(names) else list(names)


def _quote_column(name: str) -> str:
    """Quote a column's name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def _versions(path: AnyPath) -> Versions:
    """Check the path of a collection."""
    given = str(path)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", given):
        raise ValueError(f"{given!r} is a URI; a collection lies in a directory of a mounted file system, whose hard links "
                         "make one of two concurrent changes fail")
    place = Path(path).absolute()
    if wrong := re.search(r"[*?\[\]{}\\,:%]", str(place)):
        raise ValueError(f"{given!r} has {wrong[0]!r}, which Spark would not take as it is; name another directory")
    return Versions(place)


def _uri(place: Path) -> str:
    """Convert a path to the form that Spark accepts."""
    return f"file://{place}"
