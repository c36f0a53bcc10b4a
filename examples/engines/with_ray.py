"""Drop the near-duplicates of a Ray Dataset: tasks find and compare candidates in shuffles, the driver chooses."""

import pyarrow as pa
import pyarrow.compute as pc
import ray

from ndcore.phases.shuffles import Shuffles


def deduplicate(pages, threshold=0.8, parts=16):
    """Return a Dataset with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    if not pages.limit(1).count():  # without rows, tables of tasks have no columns
        return pages
    job, texts = Shuffles(threshold), pages.select_columns(["id", "text"])
    rows = texts.map_batches(job.sketch, batch_format="pyarrow")
    for step in (job.find_equal, job.find_pairs):
        rows = shuffle(rows, parts).map_groups(step, batch_format="pyarrow")
    rows = rows.union(texts.map_batches(job.list_texts, batch_format="pyarrow"))
    for step in (job.form_sets, job.compare):
        rows = shuffle(rows, parts).map_groups(step, batch_format="pyarrow")
    dropped = job.choose(collect(rows), lambda ids: collect(select(texts, ids, True)))
    return select(pages, dropped["id"], False)


def shuffle(rows, parts):
    """Group rows so that those of a key are together."""
    return rows.map_batches(
        lambda table: table.append_column("part", pa.array(table["key"].to_numpy() % parts)), batch_format="pyarrow"
    ).groupby("part", num_partitions=parts)


def select(pages, ids, wanted):
    """Return the rows whose id is among these, or is not."""
    shared = ray.put(ids)
    return pages.map_batches(
        lambda table: table.filter(pc.equal(pc.is_in(table["id"], ray.get(shared)), wanted)), batch_format="pyarrow"
    )


def collect(dataset):
    """Return a Dataset as a Table."""
    return pa.concat_tables(ray.get(dataset.to_arrow_refs()))


if __name__ == "__main__":
    print(deduplicate(ray.data.read_json("examples/notices.jsonl")).to_pandas())
