"""Drop the near-duplicates of a Ray Dataset: tasks sketch, the driver decides."""

import pyarrow as pa
import pyarrow.compute as pc
import ray

import ndcore as nd
from ndcore.phases.one_place import find_contenders, sketch_table


def deduplicate(pages, threshold=0.8):
    """Return a Dataset with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    if not pages.limit(1).count():  # without rows, tables of tasks have no columns
        return pages
    design = nd.design_filter(threshold)
    settings = {"text": "text", "sketcher": nd.MinHasher(design.num_perm), "design": design}
    texts = pages.select_columns(["id", "text"])
    sketches = collect(texts.map_batches(sketch_table, fn_kwargs=settings, batch_format="pyarrow"))
    contenders = sketches["id"].filter(find_contenders(sketches, design=design))
    rows = collect(choose(texts, contenders, True)).sort_by("id")
    dropped = rows["id"].filter(~nd.near_duplicates(rows["text"], threshold=threshold, filter="lsh").mask)
    return choose(pages, dropped, False)


def choose(pages, ids, wanted):
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
