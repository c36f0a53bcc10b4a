"""Export the pages of a store as Parquet files for other engines: the key, the last text of each, and its digest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcore._types import Text
from ndcore.checks import imported
from ndcore.progress import Progress
from ndcore.storage.disk_space import sync_tree
from ndcore.storage.staging import new_directory
from ndcore.store.verdict import Key
from ndcore.text.inputs import as_bytes

ROW_GROUP = 1 << 18  # about as many bytes of text in a row group, all of which a reader of one text must read
PAGES = 512  # most pages of a row group
GROUPS = 1024  # row groups of a file


def write_pages(
    pages: Iterator[tuple[Key, Text, bytes]], path: Path, name: str | None, total: int, report: Progress
) -> int:
    """Write pages to a directory, and return their number; see `Store.export`. Memory: one row group."""
    parquet = imported("pyarrow.parquet", "Store.export")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is {name!r:.80} of type {type(name).__name__}; it must be a str")
    done = 0
    with new_directory(path) as made:
        batches = _make_batches(pages, name)
        for number, first in enumerate(batches):
            with parquet.ParquetWriter(made / f"pages-{number:05}.parquet", first.schema, compression="zstd") as writer:
                for batch in itertools.chain([first], itertools.islice(batches, GROUPS - 1)):
                    writer.write_batch(batch)
                    done += batch.num_rows
                    report("exporting pages", done, total)
        sync_tree(made)
    return done


def _make_batches(pages: Iterator[tuple[Key, Text, bytes]], name: str | None) -> Iterator[Any]:
    """Make the record batches of pages, one for each row group; without pages, an empty one."""
    pa = imported("pyarrow", "Store.export")
    types, kind = {str: pa.string(), int: pa.int64(), bytes: pa.binary()}, None
    for keys, texts, digests in _cut(pages):
        kind = kind or (type(keys[0]) if keys else str)
        if (other := next((key for key in keys if type(key) is not kind), None)) is not None:
            raise ValueError(f"the key {other!r:.80} is of type {type(other).__name__}, and keys before it are of type "
                             f"{kind.__name__}; a table has keys of one type")
        try:
            columns = {"key": pa.array(keys, types[kind]), "text": pa.array(texts, pa.large_binary()),
                       "digest": pa.array(digests, pa.binary())}
        except UnicodeEncodeError as error:
            raise ValueError(f"the key {error.object!r:.80} has a surrogate, which no table can hold") from error
        if name is not None:
            columns = {"store": pa.array([name] * len(keys), pa.string()), **columns}
        yield pa.RecordBatch.from_pydict(columns)


def _cut(pages: Iterator[tuple[Key, Text, bytes]]) -> Iterator[tuple[list[Key], list[bytes], list[bytes]]]:
    """Split pages into the keys, texts and digests of row groups; at least one, which may be empty."""
    keys, texts, digests, size = list[Key](), list[bytes](), list[bytes](), 0
    for key, text, digest in pages:
        data = as_bytes(text)
        if keys and (len(keys) == PAGES or size + len(data) > ROW_GROUP):
            yield keys, texts, digests
            keys, texts, digests, size = [], [], [], 0
        keys.append(key)
        texts.append(data)
        digests.append(digest)
        size += len(data)
    yield keys, texts, digests
