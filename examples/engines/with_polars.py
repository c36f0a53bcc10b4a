"""Drop the near-duplicates of a Polars frame. A lazy one stays lazy: only its texts are read."""

import polars as pl

import ndcore as nd


def deduplicate(frame, text="text", **options):
    """Return the frame without near-duplicates. `options` are those of nd.near_duplicates."""
    texts = frame.lazy().select(text).collect()[text]
    result = nd.near_duplicates(texts, **options)
    row = max(frame.lazy().collect_schema().names(), key=len) + "_row"  # no column has this name
    dropped = pl.LazyFrame({row: result.duplicates}, schema={row: pl.get_index_type()})
    rows = frame.lazy().with_row_index(row)
    kept = rows.join(dropped, on=row, how="anti", maintain_order="left").drop(row)
    return kept if isinstance(frame, pl.LazyFrame) else kept.collect()


if __name__ == "__main__":
    print(deduplicate(pl.scan_ndjson("examples/notices.jsonl")).collect())
