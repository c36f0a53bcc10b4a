"""A collection that grows, on Spark: verdicts on a new crawl against all before it, at the cost of the new one."""

from __future__ import annotations

import re
import secrets
import shutil
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from ndcore._candidates import Bitmaps
from ndcore._types import AnyPath
from ndcore.checks import imported, is_int
from ndcore.dedup.near_duplicates import plan_sketches
from ndcore.dedup.rules import CALLERS, Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.phases.sketches import sketch_documents
from ndcore.phases.verification import Judgement
from ndcore.recipe import Recipe
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.documents import (
    MOST,
    SparkDocuments,
    key_columns,
    key_sql,
    label_of,
    rank_documents,
    refuse_taken,
    with_keys,
)
from ndcore.spark.manifest import TABLES, BatchId, Commit, Conflict, Manifest, Segment, Versions
from ndcore.spark.near_duplicates import SKETCHED
from ndcore.spark.result import RANK, VERDICT, Verdicts, conclude_verdicts
from ndcore.spark.settling import DECIDED, Settling, select_matching
from ndcore.spark.work import Work
from ndcore.storage.container import CorruptFile
from ndcore.text.agreement import Agreement
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Change", "Collection"]

SKETCHED_ROWS = ("rank", "key", "file", "row", "valid", "bytes", "deciding", "scope", "features", "size", "bitmap")
CHANGED = ("representative", "class", "resemblance")
ROW_GROUP = 1 << 18  # bytes of a row group of copied texts: what is read for one of them
TASK_PAIRS = 1 << 22


@dataclass(frozen=True)
class Change(Verdicts):
    """What `add` did.

    Attributes
    ----------
    verdicts : DataFrame
        The verdicts on the documents of the batch, as of `Collection.verdicts`.
    changed : DataFrame
        The older documents whose verdict is another one now: the columns of the key; ``representative``, ``class`` and
        ``resemblance``; the same of before in the struct ``before``. Sizes of clusters do not count.
    version : int
        Of the collection, that has the batch.
    documents : int
        Of the batch.
    repeated : bool
        The batch was there already, and nothing was done.
    key, directory
        As in `Verdicts`.
    """

    changed: DataFrame
    version: int
    documents: int
    repeated: bool


class Collection:
    """A collection of documents on disk to which crawls are added, each at its own cost.

    Made by `create` or `open`. Documents are in the order (add, key), and verdicts are those of one
    `ndcore.spark.near_duplicates` over all of them in this order. Every call reads the newest version first.

    Attributes
    ----------
    path : str
    settings : dict
        What `create` was given.
    rules, filter, recipe
        As in `ndcore.NearDuplicates`.
    """

    def __init__(self, versions: Versions, manifest: Manifest, shingling: Shingling | None) -> None:
        self._versions, self.path, self.settings = versions, str(versions.path), manifest.settings
        given = manifest.settings
        try:
            self._sketcher = MinHasher.from_recipe(Recipe.from_json(given["sketches"]), shingling)
            self._agreement = Agreement.of(tuple(given["must_agree"]) or None)
            shape = given["filter"]
            self.filter = FilterDesign.of(shape["groups"], shape["group_size"], shape["need"], threshold=given["threshold"],
                                          num_perm=self._sketcher.num_perm)
            self.rules = Rules.of(self._agreement, self.filter, threshold=given["threshold"], cluster=given["cluster"],
                                  max_holders=given["max_holders"], min_shingles=given["min_shingles"])
            self._bitmap_key = bytes.fromhex(given["bitmap_key"])
            self._text, self._id, self._by, self._copy = (given[name] for name in ("text", "id", "by", "copy"))
        except (KeyError, TypeError) as error:
            raise CorruptFile(f"{self.path}: its settings are not those of a collection: {error!r}") from error
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
            As in `near_duplicates`; names of columns are those of every DataFrame that is added. "auto" is "lsh".
        cluster : "star" or "greedy"
            As there.
        by : str, optional
            The column of labels; documents with different ones are never compared.
        must_agree : str or sequence of str, optional
            Names of keys, as there; a callable is refused, as it cannot be stored.
        copy : bool
            Keep a copy of the texts in the collection. False: texts are read from the Parquet files that the DataFrames were
            read from, which must stay as they are.
        **refused
            Options that only `near_duplicates` has; they are refused by name, with the reason.

        Returns
        -------
        Collection

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
        if agreement is not None and any(callable(rule) for rule in _listed(must_agree)):
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
            "text": text, "id": None if id is None else _listed(id), "by": by, "copy": copy,
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
            Needed where its unit is a callable.

        Raises
        ------
        FileNotFoundError
            There is no collection at the path.
        CorruptFile
            The manifest is damaged, or names what is not a table of the collection.
        """
        versions = _versions(path)
        return cls(versions, versions.latest(), shingling)

    def __repr__(self) -> str:
        return f"Collection({self.path!r})"

    @property
    def version(self) -> int:
        """The number of changes that were made, at this moment."""
        return self._versions.latest().version

    @property
    def batches(self) -> list[BatchId | None]:
        """The ids of the batches that were added, in this order."""
        return [commit.batch for commit in self._versions.latest().commits if commit.kind == "add"]

    def add(self, df: DataFrame, *, batch: BatchId | None = None) -> Change:
        """Add documents after all others, and decide on them.

        Parameters
        ----------
        df : DataFrame
            A row for each document. Keys must be new; their order is the order of the documents within the batch.
        batch : str or int, optional
            An id. A batch whose id is there already is not added again: its verdicts are returned, so that a job may be
            tried again. 1 and "1" are two ids.

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
            Of Spark, with the message of ndcore: a text of an older candidate is missing or has changed.

        Notes
        -----
        The keys, digests and features of older documents are scanned, and no text of them but those of candidates. If it is
        killed, it leaves tables that no manifest names.
        """
        imported("pyspark", "ndcore.spark")
        if batch is not None and not (is_int(batch) or (isinstance(batch, str) and batch)):
            raise TypeError(f"batch is a str that is not empty, or an int, got {batch!r:.80}")
        before = self._versions.latest()
        if before.commit_of(batch) is not None:
            return self._change(df.sparkSession, before, batch, repeated=True)
        key = key_columns(df, self._id)
        refuse_taken(key, ("representative", "before", *VERDICT, RANK))
        token = secrets.token_hex(8)
        work = self._work(df.sparkSession)
        try:
            after = self._add(work, df, key, before, batch, token)
        except BaseException as error:
            for table in self._versions.table("").glob(f"{token}-*"):
                shutil.rmtree(table, ignore_errors=True)
            if isinstance(error, Conflict) and (now := self._versions.latest()).commit_of(batch) is not None:
                return self._change(df.sparkSession, now, batch, repeated=True)
            raise
        return self._change(df.sparkSession, after, batch, repeated=False)

    def result(self, spark: SparkSession | None = None) -> Verdicts:
        """Read the verdicts on all documents.

        Parameters
        ----------
        spark : SparkSession, optional
            None: the active one.

        Returns
        -------
        Verdicts
            ``verdicts`` has a row for each document: the columns of its key; ``representative``, a struct of the same
            columns; ``class``, ``resemblance`` and ``cluster_size``, as in `ndcore.NearDuplicates`.
        """
        imported("pyspark", "ndcore.spark")
        manifest, work = self._versions.latest(), self._work(spark)
        return Verdicts(self._verdicts(work, manifest).drop(RANK), key_sql(self._id), work)

    def _work(self, spark: SparkSession | None) -> Work:
        """Begin a job, whose steps are removed with it."""
        from pyspark.sql import SparkSession

        place = self._versions.path / "steps" / secrets.token_hex(8)
        work = Work(spark or SparkSession.active(), _uri(place))
        weakref.finalize(work, shutil.rmtree, place, True)
        return work

    def _read(self, work: Work, names: Sequence[str]) -> DataFrame:
        """Read tables of the same columns."""
        return work.spark.read.parquet(*(_uri(self._versions.table(name)) for name in names))

    def _rows(self, work: Work, manifest: Manifest) -> DataFrame | None:
        """Read the rows of all documents; None before the first batch."""
        if not manifest.segments:
            return None
        return self._read(work, [segment.table for segment in manifest.segments])

    def _verdicts(self, work: Work, manifest: Manifest) -> DataFrame:
        """Conclude the verdicts on all documents, with RANK."""
        rows = self._rows(work, manifest)
        if rows is None:
            raise ValueError(f"{self.path} has no documents yet: add a batch first")
        followers = rows.where("leader != rank").select("rank", "leader", "how")
        labels = rows.where("leader = rank and label != rank").selectExpr("rank", "label", "resemblance",
                                                                          "resemblance as score")
        return conclude_verdicts(SparkDocuments(rows, followers, 0), labels, None, self.rules).drop("against")

    def _change(self, spark: SparkSession, manifest: Manifest, batch: BatchId | None, *, repeated: bool) -> Change:
        """Describe what a batch did; None: the newest version."""
        number = manifest.commit_of(batch) or manifest.version
        commit, work = manifest.commits[number - 1], self._work(spark)
        verdicts = self._verdicts(work, manifest)
        places = [f"{RANK} between {segment.first} and {segment.first + segment.documents - 1}"
                  for segment in manifest.segments if segment.commit == number]
        names = [_quoted(name) for name in key_sql(self._id)]
        changed = verdicts.where("false").selectExpr(*names, *CHANGED, f"struct({', '.join(CHANGED)}) as before")
        if commit.changes is not None:
            changed = self._read(work, [commit.changes])
        ours = verdicts.where(" or ".join(places) or "false").drop(RANK)
        return Change(ours, key_sql(self._id), work, changed, number, commit.documents, repeated)

    def _sides(self, work: Work, df: DataFrame, key: dict[str, str], table: str) -> DataFrame:
        """Return the documents, with the places of their texts; copied, where the collection has copies."""
        from pyspark.sql import functions as F

        added = {} if self._by is None else {"scope": label_of(df, self._by, "by")}
        if self._copy:
            rows = with_keys(df, self._text, key, added)
            work.describe("copy of the texts")
            rows.write.option("parquet.block.size", ROW_GROUP).parquet(_uri(self._versions.table(table)))
            written = self._read(work, [table])
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
        self, work: Work, df: DataFrame, key: dict[str, str], before: Manifest, batch: BatchId | None, token: str
    ) -> Manifest:
        """Decide on new documents, write their table, and commit."""
        sides = self._sides(work, df, key, f"{token}-texts")
        kind = sides.schema["key"].dataType.simpleString()
        if before.key not in (None, kind):
            raise ValueError(f"the keys are {kind}, and the collection has keys {before.key}; cast them")
        made = f"{SKETCHED}, size bigint, bitmap binary{', agrees binary' if self._agreement else ''}"
        ranked, total, _ = rank_documents(work, sides, [], sketch_documents, made, sketcher=self._sketcher,
                                          design=self.filter, must_agree=tuple(self.rules.must_agree) or None,
                                          bitmap_key=self._bitmap_key)
        if before.following + total > MOST:
            raise ValueError(f"with this batch there are more than {MOST} documents; begin another collection")
        columns = [name for name in SKETCHED_ROWS if name in ranked.columns]
        new = work.keep(ranked.withColumn("rank", ranked["rank"] + before.following).select(*columns), "new documents")
        old = self._rows(work, before)
        if old is None:
            old = new.where("false").selectExpr("*", *(f"cast(null as {kind}) as {name}" for name, kind in DECIDED.items()))
        self._refuse_repeats(work, old, new)
        judgement = Judgement(self._sketcher, self.filter, least_equal_minima(self._sketcher.num_perm, self.rules.threshold),
                              self.rules.threshold, self.rules.min_shingles, before.following)
        settling = Settling(work, self.path, "text" if self._copy else self._text, judgement, self.rules, self._bitmap_key,
                            TASK_PAIRS)
        classes, labels = settling.settle(old, new)
        rows = new.join(classes, "rank").join(labels, "rank", "left")
        work.describe("rows of the new documents")
        table = f"{token}-documents"
        rows.selectExpr(*columns, "cast(null as bigint) as version_of", "leader", "how",
                        "if(leader = rank, coalesce(label, rank), null) as label", "resemblance").write.parquet(
                            _uri(self._versions.table(table)))
        segment = Segment(table, before.following, total, before.version + 1)
        return self._versions.commit(before, Commit("add", batch, total, None), key=kind, following=before.following + total,
                                     segments=(*before.segments, segment))

    def _refuse_repeats(self, work: Work, old: DataFrame, new: DataFrame) -> None:
        """Raise ValueError where a new document has the key of an older one."""
        matching = select_matching(work, old.select("key"), "unhex(lpad(hex(xxhash64(key)), 16, '0'))", new)
        work.describe("check of keys against the collection")
        repeated = matching.join(new.select("key"), "key", "left_semi").limit(1).collect()
        if repeated:
            raise ValueError(f"the key {repeated[0].key.asDict()} is in the collection already; keys are unique")


def _listed(names: Any) -> list[Any]:
    """Return one name, or several, as a list."""
    return [names] if isinstance(names, str) or callable(names) else list(names)


def _quoted(name: str) -> str:
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
    """Return a path as Spark takes it."""
    return f"file://{place}"
