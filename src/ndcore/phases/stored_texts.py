"""Phase 4 of a collection that grows: the texts of candidates, read from where they lie in Parquet files.

The naive way reads all texts and drops those that nobody asked for. Here a task opens the files that hold its rows, and
reads the row groups that hold them, the column of texts alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ndcore._types import Ints
from ndcore.checks import imported
from ndcore.phases.columns import Batches, byte_rows, drop_empty, numbers, pa, row_changes
from ndcore.phases.shingle_sets import form_sets
from ndcore.text.shingling import Shingling

ADVICE = "what a collection refers to must stay as it was; with copy=True it keeps a copy of its own"
HADOOP = {"s3a": "s3", "s3n": "s3"}  # schemes of Hadoop, as Arrow names them


def form_stored_sets(batches: Batches, *, root: str, text: str, shingling: Shingling) -> Iterator[Any]:
    """Form the shingle sets of documents whose texts lie in the rows of Parquet files.

    Parameters
    ----------
    batches : record batches with ``name``, ``digest``, ``file`` and ``row``
        Sorted by file and row. The name is for messages; the digest is of the text's bytes; a file is a URI, or a path
        below `root`; row is the number of the row in the file.
    root : str
        The directory of the collection.
    text : str
        The column of texts. A text whose digest is another one, or that is missing, is an error with the name.
    shingling : Shingling

    Yields
    ------
    record batches
        All other columns, with ``part``, ``parts`` and ``members``, as `form_sets` makes them.
    """
    reader = _RowReader(root, text)
    for batch in drop_empty(batches):
        places = np.stack([_codes(batch.column("file")), numbers(batch, "row")], axis=1)
        starts = np.flatnonzero(row_changes(places[:, 0]))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), batch.num_rows], strict=True):
            rows, name = batch.slice(start, end - start), batch.column("name")[start].as_py()
            for some, texts in reader.read(batch.column("file")[start].as_py(), places[start:end, 1], name):
                known = rows.take(some).drop_columns(["file", "row"])
                if texts.null_count:
                    raise ValueError(_describe_change(known.column("name")[int(np.argmax(texts.is_null()))].as_py()))
                for made in form_sets([known.append_column("text", texts)], text="text", shingling=shingling, wanted=None):
                    differs = (byte_rows(made.column("digest")) != byte_rows(made.column("bytes"))).any(axis=1)
                    if differs.any():
                        raise ValueError(_describe_change(made.column("name")[int(np.argmax(differs))].as_py()))
                    yield made.drop_columns(["name", "digest", "bytes"])


def _describe_change(name: str) -> str:
    """Say that a text has changed."""
    return f"the text of the document {name} is another one than when the document was added; {ADVICE}"


def _codes(column: Any) -> Ints:
    """Number the distinct values of a column."""
    codes: Ints = column.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


class _RowReader:
    """Reads rows of Parquet files; the file and the row group that were read last stay open."""

    def __init__(self, root: str, text: str) -> None:
        self._root, self._text = root, text
        self._open: tuple[str, Any, Ints] | None = None

    def read(self, file: str, rows: Ints, name: str) -> Iterator[tuple[Ints, Any]]:
        """Yield positions in `rows` and their texts, for each row group of a file. name: of the first, for messages."""
        try:
            source, bounds = self._open_file(file)
            outside = np.flatnonzero((rows < 0) | (rows >= bounds[-1]))
            if len(outside):
                raise ValueError(f"it has {bounds[-1]} rows, and row {rows[outside[0]]} is asked for")
            groups = np.searchsorted(bounds, rows, "right") - 1
            for group in np.unique(groups).tolist():
                some = np.flatnonzero(groups == group)
                column = source.read_row_group(group, columns=[self._text])
                if column.num_columns != 1:
                    raise ValueError(f"it has no column {self._text!r}: the DataFrame renamed it")
                yield some, _plain(column.column(0)).take(pa.array(rows[some] - bounds[group]))
        except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
            raise ValueError(f"the text of the document {name} cannot be read from {file}: {error}; {ADVICE}") from error

    def _open_file(self, file: str) -> tuple[Any, Ints]:
        """Open a file; return it, and the rows at which its row groups begin, with the number of all."""
        if self._open is None or self._open[0] != file:
            parquet, fs = imported("pyarrow.parquet", "ndcore.spark"), imported("pyarrow.fs", "ndcore.spark")
            scheme, colon, rest = file.partition(":")
            if not colon:
                rest = f"//{quote(str(below(self._root, file)))}"
                scheme = "file"
            system, path = fs.FileSystem.from_uri(f"{HADOOP.get(scheme, scheme)}:{rest}")
            source = parquet.ParquetFile(system.open_input_file(path))
            counts = [source.metadata.row_group(i).num_rows for i in range(source.num_row_groups)]
            self._open = file, source, np.cumsum([0, *counts])
        return self._open[1], self._open[2]


def below(root: str, file: str) -> Path:
    """Return the path of a file of the collection itself. Raises ValueError if it would lie elsewhere."""
    parts = Path(file).parts
    if len(parts) != 3 or parts[0] != "tables" or ".." in parts:
        raise ValueError("this is not a file of the collection")
    return Path(root, *parts)


def _plain(column: Any) -> Any:
    """Return a column of a table as one array of large strings or bytes; other types are refused."""
    kind = str(column.type)
    if "string" not in kind and "binary" not in kind:
        raise ValueError(f"the column of texts is of type {kind}")
    column = column.cast(pa.large_binary() if "binary" in kind else pa.large_string())
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
