"""Drop the near-duplicates of a Dask DataFrame: tasks find and compare candidates in shuffles, the client chooses."""

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from ndcore.phases.shuffles import Shuffles


def deduplicate(pages, threshold=0.8):
    """Return a DataFrame with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    job, texts, parts = Shuffles(threshold), pages[["id", "text"]], pages.npartitions
    rows = run(job.sketch, texts)
    for step in (job.find_equal, job.find_pairs):
        rows = run(step, rows.shuffle("key", npartitions=parts))
    rows = dd.concat([rows, run(job.list_texts, texts)])
    for step in (job.form_sets, job.compare):
        rows = run(step, rows.shuffle("key", npartitions=parts))
    dropped = job.choose(as_table(rows.compute()), lambda ids: as_table(texts[texts["id"].isin(ids.tolist())].compute()))
    return pages[~pages["id"].isin(dropped["id"].to_pylist())]


def run(step, frame):
    """Run a step on each partition."""
    return frame.map_partitions(as_frame, step, meta=as_frame(frame._meta, step))


def as_frame(part, step):
    """Return what the step makes of a partition."""
    return step(as_table(part)).to_pandas(types_mapper=pd.ArrowDtype)


def as_table(frame):
    """Return a frame of pandas as a Table of Arrow."""
    return pa.Table.from_pandas(frame, preserve_index=False)


if __name__ == "__main__":
    print(deduplicate(dd.read_json("examples/notices.jsonl", lines=True)).compute())
