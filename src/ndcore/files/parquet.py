"""Parquet files, read in bounded batches and written with the same schema, row groups and compression.

Apache Parquet, https://parquet.apache.org/docs/file-format/. Refused are files with compression around them (Parquet has
its own), and what pyarrow cannot read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ndcore.checks import missing
from ndcore.files.arrow import batch_rows, check_names, first_line
from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source

_GROUP_BYTES = 64 << 20


class ParquetFile:
    """A Parquet file.

    Attributes
    ----------
    schema : pyarrow.Schema

    Raises
    ------
    DocumentError
        pyarrow is missing, or this is not a Parquet file.
    """

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DocumentError(source.path, None, missing("pyarrow", "reading .parquet")) from error
        self._source, self._pa, self._pq = source, pa, pq
        try:
            self._file = pq.ParquetFile(source.location)
            self.schema = self._file.schema_arrow
            check_names(self.schema)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DocumentError(source.path, None, f"not a readable Parquet file: {first_line(error)}") from error

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def batches(self, columns: Iterable[str] | None = None) -> Iterator[Any]:
        """Yield record batches of about 8 MiB; ``source.seen`` follows. `columns`: the fields to read, None for all."""
        metadata, size = self._file.metadata, Path(self._source.location).stat().st_size
        names = None if columns is None else list(columns)
        rows = 0
        for group in range(metadata.num_row_groups):
            for batch in self._group(group, names):
                rows += len(batch)
                self._source.seen = size * rows // metadata.num_rows
                yield batch

    def _group(self, index: int, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield the batches of one row group."""
        group = self._file.metadata.row_group(index)
        size = batch_rows(group.num_rows, group.total_byte_size)
        try:
            if group.num_rows:
                yield from self._file.iter_batches(batch_size=size, row_groups=[index], columns=columns)
        except (self._pa.ArrowException, OSError) as error:
            raise DocumentError(self._source.path, None, f"damaged Parquet file: {first_line(error)}") from error

    def rewrite(self, target: Path, schema: Any, select: Callable[[Any], Any]) -> None:
        """Write what `select` makes of each batch, a table with this schema, to a new file with the same compression.

        Row groups stay apart and are at most about 64 MiB each.
        """
        with self._pq.ParquetWriter(target, schema, compression=self._codec()) as writer:
            for group in range(self._file.metadata.num_row_groups):
                pending: list[Any] = []
                for batch in self._group(group):
                    pending.append(select(batch).cast(schema))
                    pending = self._flush(writer, pending, _GROUP_BYTES)
                self._flush(writer, pending, 1)

    def _codec(self) -> str:
        """Find the compression of the first column."""
        metadata = self._file.metadata
        if metadata.num_row_groups and metadata.num_columns:
            codec = str(metadata.row_group(0).column(0).compression)
            return "none" if codec == "UNCOMPRESSED" else codec
        return "snappy"

    def _flush(self, writer: Any, pending: list[Any], enough: int) -> list[Any]:
        """Write the pending tables as a row group once they have `enough` bytes; return what is still pending."""
        rows = sum(len(table) for table in pending)
        if not rows or sum(table.nbytes for table in pending) < enough:
            return pending
        writer.write_table(self._pa.concat_tables(pending), row_group_size=rows)
        return []
