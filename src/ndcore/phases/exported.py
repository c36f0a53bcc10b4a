"""Phase 1 of a collection that grows, for the pages of stores: what was found out about each is read, and no text again.

The naive way reads and sketches all texts where the collection is. Here each store sketches its pages where it is, once, and
a task takes its rows after the digest of their file. Of each file the texts of one row group, chosen at random, are sketched
again and compared.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore.checks import imported
from ndcore.filters.design import FilterDesign
from ndcore.phases.columns import Batches, arrow, byte_rows, bytes_of, drop_empty, numbers
from ndcore.phases.sketches import sketch_documents
from ndcore.sketch.minhash import MinHasher
from ndcore.text.agreement import MustAgree

__all__ = ["ADVICE", "FEATURES", "MOST_ROWS", "read_exported"]

ADVICE = "export the store again"
MOST_BYTES = 1 << 30  # of a file of features, which a task has in memory
FEATURES = ("length", "valid", "bytes", "deciding", "features", "size", "bitmap")
"""Columns of what was found out about a page, and their order; ``agrees`` may follow."""
MOST_ROWS = 1 << 16  # of a file


def read_exported(
    batches: Batches, *, text: str, sketcher: MinHasher, design: FilterDesign, must_agree: MustAgree, bitmap_key: bytes
) -> Iterator[Any]:
    """Read the rows of exports: see `ndcore.spark.exports`.

    Parameters
    ----------
    batches : record batches
        A row for each file of features; the column `text` describes it as JSON.
    text, sketcher, design, must_agree, bitmap_key
        As of `sketch_documents`, which made the rows.

    Yields
    ------
    record batches
        ``key``, ``against`` (false), perhaps ``scope``, ``file`` and ``row`` of the text, and FEATURES.

    Raises
    ------
    ValueError
        A file is missing, or is another one than when it was written.
    """
    for batch in drop_empty(batches):
        for described in map(json.loads, batch.column(text).to_pylist()):
            place = Path(described["features"])
            try:
                rows = _read(place, described)
                _check(rows, described["rows"], design.groups, bitmap_key)
                _compare_sample(rows, described, sketcher=sketcher, design=design, must_agree=must_agree,
                                bitmap_key=bitmap_key)
            except (OSError, ValueError, KeyError) as error:  # ArrowInvalid is a ValueError
                raise ValueError(f"{place} cannot be added: {error}; {ADVICE}") from error
            pa, n = arrow(), rows.num_rows
            columns = {"key": rows.column("key"), "against": pa.array(np.zeros(n, np.bool_))}
            if "scope" in rows.schema.names:
                columns["scope"] = rows.column("scope")
            columns["file"] = pa.array([Path(described["texts"]).as_uri()] * n, pa.string())
            columns["row"] = rows.column("row")
            columns.update({name: rows.column(name) for name in rows.schema.names if name not in columns})
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _read(place: Path, described: dict[str, Any]) -> Any:
    """Read a file of features whole, after its digest, as one record batch."""
    pa, parquet = arrow(), imported("pyarrow.parquet", "ndcore.spark")
    with place.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if hashlib.blake2b(data, digest_size=16).hexdigest() != described["digest"]:
        raise ValueError("it is another file than the one that was exported")
    source = parquet.ParquetFile(pa.BufferReader(data))
    if source.metadata.num_rows > MOST_ROWS:
        raise ValueError(f"it has {source.metadata.num_rows} rows, and an export at most {MOST_ROWS} in a file")
    table = source.read().combine_chunks()
    table.validate(full=True)
    schema = pa.schema([*_key_fields(described), *_feature_fields(described)])
    if table.schema.remove_metadata() != schema:
        raise ValueError(f"its columns are {table.schema.to_string(show_schema_metadata=False)!r:.200}, and an export has "
                         f"{schema.to_string()!r:.200}")
    merged = table.to_batches()
    return merged[0] if merged else pa.RecordBatch.from_pylist([], schema)


def _key_fields(described: dict[str, Any]) -> list[Any]:
    """Return the fields of a file of features that say which page a row is of."""
    pa = arrow()
    kinds = {"string": pa.string(), "bigint": pa.int64(), "binary": pa.binary()}
    key = pa.struct([(name, kinds[kind]) for name, kind in described["key"].items()])
    scope = [pa.field("scope", pa.binary())] if described["by"] else []
    return [pa.field("key", key), pa.field("row", pa.int64()), *scope]


def _feature_fields(described: dict[str, Any]) -> list[Any]:
    """Return the fields of FEATURES."""
    pa = arrow()
    kinds = {"length": pa.int64(), "valid": pa.bool_(), "size": pa.int64()}
    names = [*FEATURES, *(["agrees"] if described["agrees"] else [])]
    return [pa.field(name, kinds.get(name, pa.binary())) for name in names]


def _check(rows: Any, count: int, groups: int, bitmap_key: bytes) -> None:
    """Raise ValueError for values that no export has."""
    if rows.num_rows != count or not np.array_equal(numbers(rows, "row"), np.arange(count)):
        raise ValueError(f"it has not a row for each of {count} pages, one after the other")
    if not count:
        return
    for name in ("key", *rows.schema.names):
        column = rows.column(name)
        if column.null_count or (name == "key" and any(child.null_count for child in column.flatten())):
            raise ValueError(f"values of {name} are missing")
    lengths = {"bytes": 16, "deciding": 16, "features": 8 * groups, "scope": 16, "agrees": 16}
    for name, length in lengths.items():
        if name in rows.schema.names and byte_rows(rows.column(name)).shape[1] != length:
            raise ValueError(f"values of {name} have another length than {length} bytes")
    sizes, held = numbers(rows, "size"), np.diff(bytes_of(rows.column("bitmap"))[1])
    if (sizes < 0).any() or (sizes >> 32).any():
        raise ValueError("a shingle set has a size that no set has")
    bounds = Bitmaps(sizes.astype(np.uint32), False, bitmap_key).stored()[1]
    if not np.array_equal(8 * np.diff(bounds), held):
        raise ValueError("bitmaps have other lengths than their sets ask for")


def _compare_sample(rows: Any, described: dict[str, Any], **given: Any) -> None:
    """Sketch the texts of a row group anew, and compare. ValueError where a page differs, or texts are missing."""
    parquet = imported("pyarrow.parquet", "ndcore.spark")
    texts = parquet.ParquetFile(described["texts"])
    counts = [texts.metadata.row_group(i).num_rows for i in range(texts.num_row_groups)]
    if sum(counts) != rows.num_rows:
        raise ValueError(f"{described['texts']} has {sum(counts)} texts for {rows.num_rows} pages")
    if not counts:
        return
    chosen = secrets.randbelow(len(counts))
    first, column = sum(counts[:chosen]), described["text"]
    sample = texts.read_row_group(chosen, columns=[column])
    if sample.column_names != [column]:
        raise ValueError(f"{described['texts']} has no column {column!r}")
    made = arrow().Table.from_batches(sketch_documents(sample.to_batches(), text=column, **given)).combine_chunks()
    for name in made.column_names:
        mine, theirs = made.column(name).combine_chunks(), rows.column(name).slice(first, counts[chosen])
        if not mine.equals(theirs):
            at = next(i for i in range(counts[chosen]) if mine[i] != theirs[i])
            raise ValueError(f"{name} of the page {rows.column('key')[first + at].as_py()} does not come from its text in "
                             f"{described['texts']}")
