"""Drop the near-duplicates of a Daft DataFrame: tasks find and compare candidates in shuffles, the client chooses."""

import daft
import pyarrow as pa

from ndcore.phases.shuffles import Shuffles


def deduplicate(pages, threshold=0.8, parts=16):
    """Return a DataFrame with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    job, texts = Shuffles(threshold), pages.select("id", "text")
    rows = run(job.sketch, texts)
    for step in (job.find_equal, job.find_pairs):
        rows = run(step, rows, parts)
    rows = rows.concat(run(job.list_texts, texts))
    for step in (job.form_sets, job.compare):
        rows = run(step, rows, parts)
    dropped = job.choose(rows.to_arrow(), lambda ids: select(texts, ids, "semi").to_arrow())
    return select(pages, dropped["id"], "anti")


def run(step, frame, parts=None):
    """Run a step on each batch of the frame or, given a number of parts, on all rows of each part."""
    empty = pa.schema([(field.name, field.dtype.to_arrow_dtype()) for field in frame.schema()]).empty_table()
    kind = daft.DataType.from_arrow_type(pa.struct(step(empty).schema))

    @daft.func.batch(return_dtype=kind)
    def rows_of(*columns: daft.Series):
        return step(pa.table([column.to_arrow() for column in columns], empty.column_names)).to_struct_array()

    made = rows_of(*(frame[name] for name in frame.column_names)).alias("row")
    made = frame.select(made) if parts is None else frame.groupby((frame["key"] % parts).alias("part")).map_groups(made)
    return made.select(daft.col("row").unnest())


def select(pages, ids, how):
    """Return the rows that have one of these ids, or that have none."""
    return pages.join(daft.from_arrow(pa.table({"id": ids})), on="id", how=how)


if __name__ == "__main__":
    deduplicate(daft.read_json("examples/notices.jsonl")).show()
