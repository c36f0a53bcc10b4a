"""Drop the near-duplicates of a Dask DataFrame: tasks sketch, one place decides."""

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

import ndcore as nd
from ndcore.phases.one_place import find_contenders, sketch_table


def deduplicate(pages, threshold=0.8):
    """Return a DataFrame with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    design = nd.design_filter(threshold)
    settings = {"sketcher": nd.MinHasher(design.num_perm), "design": design}
    texts = pages[["id", "text"]]
    sketches = texts.map_partitions(sketch, **settings, meta=sketch(texts._meta, **settings)).compute()
    contends = find_contenders(pa.Table.from_pandas(sketches, preserve_index=False), design=design)
    rows = texts[texts["id"].isin(sketches["id"][contends].tolist())].compute().sort_values("id")
    dropped = rows["id"][~nd.near_duplicates(rows["text"], threshold=threshold, filter="lsh").mask]
    return pages[~pages["id"].isin(dropped.tolist())]


def sketch(part, **settings):
    """Sketch the texts of a partition."""
    table = pa.Table.from_pandas(part, preserve_index=False)
    return sketch_table(table, text="text", **settings).to_pandas(types_mapper=pd.ArrowDtype)


if __name__ == "__main__":
    print(deduplicate(dd.read_json("examples/notices.jsonl", lines=True)).compute())
