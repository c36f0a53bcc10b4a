"""Exports: the pages of a store as a table of a collection that grows, sketched where the store is, without Spark.

An export is a directory: ``export.json``, its description, and pairs of Parquet files. ``texts-00000.parquet`` has the texts
in row groups of `ROW_GROUP` bytes, to be read by place, and ``features-00000.parquet`` what was found out about each. The
description has the digests of the latter; a text has its own among the features. See DESIGN.md §6, "A collection that grows,
on Spark".
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcore.checks import imported
from ndcore.filters.design import FilterDesign
from ndcore.parallel import map_pieces, thread_count
from ndcore.phases.columns import arrow
from ndcore.phases.exported import ADVICE, FEATURES, MOST_ROWS
from ndcore.phases.sketches import sketch_documents
from ndcore.progress import Progress, reporting
from ndcore.recipe import RecipeMismatch, stored_recipe
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.manifest import digest_fields
from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import naming, sync, sync_tree
from ndcore.storage.staging import Staging
from ndcore.store.keys import host_of
from ndcore.store.store import Store
from ndcore.store.verdict import Key
from ndcore.text.inputs import as_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ndcore.spark.work import Work

__all__ = ["Export", "ExportFile", "ExportSettings", "write_export"]

KIND, FORMAT = "ndcore.spark.export", 1
DESCRIPTION = "export.json"
LARGEST = 64 << 20  # bytes of a description
ROW_GROUP = 1 << 18  # bytes of texts that are read for one of them
PAGES = 512  # of a row group, at most
FILE_BYTES = 256 << 20  # of the texts of a file, about
KINDS = {str: "string", int: "bigint", bytes: "binary"}


@dataclass(frozen=True)
class ExportFile:
    """A pair of files of an export.

    Attributes
    ----------
    digest : str
        BLAKE2b-128 of the file of features.
    features, texts : int
        Bytes of both files.
    rows : int
        Of each.
    """

    digest: str
    features: int
    texts: int
    rows: int


@dataclass(frozen=True)
class ExportSettings:
    """What the rows of a collection depend on.

    Attributes
    ----------
    text : str
        The column of texts.
    id : tuple of str
        The columns of the key.
    by : str or None
        The column of labels.
    sketcher, design, must_agree, bitmap_key
        As of `sketch_documents`.
    """

    text: str
    id: tuple[str, ...]
    by: str | None
    sketcher: MinHasher
    design: FilterDesign
    must_agree: tuple[str, ...]
    bitmap_key: bytes

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        return {"text": self.text, "id": list(self.id), "by": self.by, "sketches": self.sketcher.recipe.to_json(),
                "groups": self.design.groups, "group_size": self.design.group_size, "must_agree": list(self.must_agree),
                "bitmap_key": self.bitmap_key.hex()}

    def check(self, place: Path, stored: dict[str, Any]) -> None:
        """Raise ValueError where an export was made by other settings; the message names the first difference."""
        mine = self.as_dict()
        if stored.keys() != mine.keys():
            raise CorruptFile(f"{place}: its settings are {', '.join(sorted(map(str, stored)))!r:.200}")
        try:
            self.sketcher.recipe.check(stored_recipe(stored["sketches"]), "a collection and an export")
        except RecipeMismatch as error:
            raise ValueError(f"{place}: {error}; export the store for this collection") from error
        except (TypeError, ValueError) as error:
            raise CorruptFile(f"{place}: its recipe cannot be read: {error}; {ADVICE}") from error
        for name, value in mine.items():
            if stored[name] != value:
                differs = (f"{name} is {stored[name]!r:.80} there and {value!r:.80} here" if name != "bitmap_key" else
                           "it was made for another collection, which has another key of bitmaps")
                raise ValueError(f"{place}: {differs}; export the store for this collection")

    def sides(self, work: Work, exports: Sequence[Export]) -> DataFrame:
        """Return a row for each file of exports, which `read_exported` reads; other columns say what it makes.

        ValueError: keys are of several types.
        """
        from pyspark.sql import functions as F
        from pyspark.sql import types as T

        keys = {tuple(export.key.items()): export.place for export in exports if export.key}
        if len(keys) > 1:
            (kind, place), (other, second) = list(keys.items())[:2]
            raise ValueError(f"the keys of {place} are {dict(kind)}, and the keys of {second} are {dict(other)}; a "
                             "collection has keys of one type")
        key = next(map(dict, keys), dict.fromkeys(self.id, "string"))
        named = {"string": T.StringType(), "bigint": T.LongType(), "binary": T.BinaryType()}
        struct = T.StructType([T.StructField(name, named[kind]) for name, kind in key.items()])
        rows = [(described,) for export in exports for described in export.described(self)]
        files = work.table(rows, text="string").repartition(max(1, len(rows)))
        scope = [] if self.by is None else [F.lit(None).cast("binary").alias("scope")]
        return files.select(F.lit(None).cast(struct).alias("key"), F.lit(False).alias("against"), *scope,
                            F.lit(None).cast("string").alias("file"), F.lit(None).cast("bigint").alias("row"), "text")


@dataclass(frozen=True)
class Export:
    """An export that was read.

    Attributes
    ----------
    place : Path
    key : dict of str
        The columns of the key and their types as Spark spells them; empty without pages.
    files : tuple of ExportFile
    """

    place: Path
    key: dict[str, str]
    files: tuple[ExportFile, ...]

    @classmethod
    def read(cls, place: Path, settings: ExportSettings) -> Export:
        """Read an export, and check that it is whole, and for a collection.

        Raises
        ------
        FileNotFoundError, CorruptFile, ValueError
            As of `GrowingCollection.add_exports`.
        """
        place = place.absolute()
        described = place / DESCRIPTION
        try:
            with described.open("rb") as file:
                data = file.read(LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(2, f"holds no export of a store: there is no {DESCRIPTION}", str(place)) from None
        try:
            fields = json.loads(data)
            if not isinstance(fields, dict) or KIND not in fields:
                raise ValueError(f"it has no {KIND!r}")
            if fields.pop(KIND) != FORMAT:
                raise ValueError(f"it is of another format than {FORMAT}, which this ndcore reads")
            if fields.pop("digest") != digest_fields(fields):
                raise ValueError("its digest differs")
            export = cls(place, dict(fields["key"]), tuple(ExportFile(**each) for each in fields["files"]))
            export._check()
            stored = dict(fields["settings"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorruptFile(f"{described}: not the description of an export: {error!r:.300}; {ADVICE}") from error
        settings.check(place, stored)
        if export.key and tuple(export.key) != settings.id:
            raise CorruptFile(f"{described}: its key is {export.key!r:.200}; {ADVICE}")
        export._check_sizes()
        return export

    def _check(self) -> None:
        """Raise ValueError for values that no export has."""
        if not all(kind in KINDS.values() for kind in self.key.values()) or (self.files and not self.key):
            raise ValueError(f"{self.key!r:.200} are not types of keys")
        for file in self.files:
            numbers = (file.features, file.texts, file.rows)
            if not isinstance(file.digest, str) or not all(type(number) is int for number in numbers):
                raise ValueError(f"{file!r:.200} does not describe two files")
            if not 0 < file.rows <= MOST_ROWS:
                raise ValueError(f"a file has {file.rows} rows, and an export 1 to {MOST_ROWS}")

    def _check_sizes(self) -> None:
        """Raise CorruptFile where a file is missing, or has another size."""
        for number, file in enumerate(self.files):
            for name, size in (("features", file.features), ("texts", file.texts)):
                place = _file(self.place, name, number)
                try:
                    found = place.stat().st_size
                except FileNotFoundError:
                    raise CorruptFile(f"{place} is missing; {ADVICE}") from None
                if found != size:
                    raise CorruptFile(f"{place} has {found} bytes, and had {size} when it was exported; {ADVICE}")

    def described(self, settings: ExportSettings) -> Iterator[str]:
        """Yield what `read_exported` needs of each file, as JSON."""
        for number, file in enumerate(self.files):
            yield json.dumps({"features": str(_file(self.place, "features", number)),
                              "texts": str(_file(self.place, "texts", number)), "digest": file.digest, "rows": file.rows,
                              "text": settings.text, "key": self.key, "by": settings.by is not None,
                              "agrees": bool(settings.must_agree)})


def write_export(
    store: Store, directory: Path, settings: ExportSettings, name: str | None, threads: int | None,
    progress: bool | Progress | None,
) -> int:
    """Write the pages of a store for a collection; see `GrowingCollection.export`. Returns their number."""
    if store.settings.evidence != "text":
        raise LookupError(f"{store.path}: the store was created with evidence={store.settings.evidence!r}, so it keeps no "
                          "texts, and a collection reads the texts of candidates")
    _check_name(name, settings.id)
    target = Path(os.path.realpath(directory))
    if os.path.lexists(directory) and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(17, "exists already; give a path that does not, or an empty directory", os.fspath(directory))
    with Staging(directory) as staging, naming(directory, inside=staging.new), reporting(progress) as report:
        staging.new.mkdir()
        writer = _Writer(staging.new, settings, name)
        work, total = partial(_sketch, settings=settings), len(store)
        for texts, made in map_pieces(work, _cut(writer, store.pages()), thread_count(threads)):
            writer.write(texts, made)
            report("exporting pages", writer.pages, total)
        writer.close()
        fields = {"settings": settings.as_dict(), "key": writer.key, "files": [asdict(file) for file in writer.files]}
        description = json.dumps({KIND: FORMAT, "digest": digest_fields(fields), **fields}, indent=1)
        (staging.new / DESCRIPTION).write_text(description, encoding="utf-8")
        sync_tree(staging.new)
        staging.new.rename(target)  # fails where something has come into an empty directory meanwhile
        sync(target.parent)
    return writer.pages


def _check_name(name: str | None, id: tuple[str, ...]) -> None:
    """Raise ValueError or TypeError where the columns of the key do not fit the name of the store."""
    if name is not None and not (isinstance(name, str) and name):
        raise TypeError(f"name is a str that is not empty, got {name!r:.80}")
    wanted = 1 if name is None else 2
    if len(id) != wanted:
        listed = f"the columns {', '.join(id)}" if id else "no columns"
        raise ValueError(f"the collection has {listed} as id, and with name={name!r:.80} a page has {wanted}: create the "
                         "collection with id='url' for keys alone, or with id=['store', 'url'] for the name of the store "
                         "and the key")


def _cut(writer: _Writer, pages: Iterator[tuple[Key, Any]]) -> Iterator[Any]:
    """Cut pages into record batches, one for each row group."""
    keys: list[Key] = []
    texts: list[bytes] = []
    held = 0
    for key, text in pages:
        data = as_bytes(text)
        if keys and (len(keys) == PAGES or held + len(data) > ROW_GROUP):
            yield writer.batch(keys, texts)
            keys, texts, held = [], [], 0
        keys.append(key)
        texts.append(data)
        held += len(data)
    if keys:
        yield writer.batch(keys, texts)


def _sketch(batch: Any, *, settings: ExportSettings) -> tuple[Any, list[Any]]:
    """Sketch the pages of a record batch; return it, and what was found out about them."""
    made = sketch_documents([batch], text="text", sketcher=settings.sketcher, design=settings.design,
                            must_agree=settings.must_agree or None, bitmap_key=settings.bitmap_key)
    return batch, list(made)


class _Writer:
    """Writes pairs of files, one after the other."""

    def __init__(self, directory: Path, settings: ExportSettings, name: str | None) -> None:
        self._directory, self._settings, self._name = directory, settings, name
        self.files: list[ExportFile] = []
        self.key: dict[str, str] = {}
        self.pages = 0
        self._kind: type | None = None
        self._rows = self._bytes = 0
        self._open: dict[str, Any] = {}

    def batch(self, keys: list[Key], texts: list[bytes]) -> Any:
        """Make a record batch of pages: ``key``, with labels ``scope``, and ``text``."""
        pa, id = arrow(), self._settings.id
        kinds = {str: pa.string(), int: pa.int64(), bytes: pa.binary()}
        if self._kind is None:
            self._kind = type(keys[0])
            self.key = dict(zip(id, ["string"] * (len(id) - 1) + [KINDS[self._kind]], strict=True))
        for key in keys:
            if type(key) is not self._kind:
                raise TypeError(f"the key {key!r:.80} is of type {type(key).__name__}, and keys before it are of type "
                                f"{self._kind.__name__}; a table has keys of one type")
        try:
            column = pa.array(keys, kinds[self._kind])
        except UnicodeEncodeError as error:
            raise ValueError(f"the key {error.object!r:.80} has a surrogate, which no table can hold") from error
        names = [] if self._name is None else [pa.array([self._name] * len(keys), pa.string())]
        columns = {"key": pa.StructArray.from_arrays([*names, column], list(id))}
        if self._settings.by is not None:
            labels = [hashlib.sha256(host_of(key).encode("utf-8", "surrogatepass")).digest()[:16] for key in keys]
            columns["scope"] = pa.array(labels, pa.binary())
        columns["text"] = pa.array(texts, pa.large_binary())
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def write(self, batch: Any, made: list[Any]) -> None:
        """Write the texts of a batch as a row group, and its features."""
        pa = arrow()
        if self._open and (self._rows + batch.num_rows > MOST_ROWS or self._bytes > FILE_BYTES):
            self._end()
        texts = pa.RecordBatch.from_arrays([batch.column("text")], [self._settings.text])
        self._write("texts", texts)
        for rows in made:
            n = rows.num_rows
            columns = {"key": rows.column("key"), "row": pa.array(range(self._rows, self._rows + n), pa.int64())}
            columns.update({name: rows.column(name) for name in ("scope", *FEATURES, "agrees") if name in rows.schema.names})
            self._write("features", pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))
            self._rows += n
        self._bytes += batch.column("text").nbytes
        self.pages += batch.num_rows

    def close(self) -> None:
        """End the last files."""
        if self._open:
            self._end()

    def _write(self, name: str, batch: Any) -> None:
        """Write a batch to a file of a pair."""
        if name not in self._open:
            parquet = imported("pyarrow.parquet", "an export of a store")
            self._open[name] = parquet.ParquetWriter(_file(self._directory, name, len(self.files)), batch.schema,
                                                     compression="zstd")
        self._open[name].write_batch(batch)

    def _end(self) -> None:
        """End the files of a pair."""
        for writer in self._open.values():
            writer.close()
        features, texts = (_file(self._directory, name, len(self.files)) for name in ("features", "texts"))
        with features.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        self.files.append(ExportFile(digest, features.stat().st_size, texts.stat().st_size, self._rows))
        self._open, self._rows, self._bytes = {}, 0, 0


def _file(directory: Path, name: str, number: int) -> Path:
    """Return the path of a file of an export."""
    return directory / f"{name}-{number:05}.parquet"
