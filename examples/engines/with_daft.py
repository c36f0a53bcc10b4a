"""Drop the near-duplicates of a Daft DataFrame: tasks sketch, one place decides."""

import daft
import pyarrow as pa

import ndcore as nd
from ndcore.phases.one_place import find_contenders, sketch_table

BINARY = daft.DataType.binary()
SKETCHED = daft.DataType.struct({"valid": daft.DataType.bool(), "deciding": BINARY, "features": BINARY})


def deduplicate(pages, threshold=0.8):
    """Return a DataFrame with the columns `id` and `text` without near-duplicates; of several the smallest id stays."""
    design = nd.design_filter(threshold)
    sketcher = nd.MinHasher(design.num_perm)

    @daft.func.batch(return_dtype=SKETCHED)
    def sketch(texts: daft.Series):
        table = sketch_table(pa.table({"text": texts.to_arrow()}), text="text", sketcher=sketcher, design=design)
        return table.select(["valid", "deciding", "features"]).to_struct_array()

    sketches = pages.select("id", sketch(pages["text"]).alias("sketch")).select("id", daft.col("sketch").unnest()).to_arrow()
    contenders = daft.from_arrow(sketches.select(["id"]).filter(pa.array(find_contenders(sketches, design=design))))
    rows = pages.select("id", "text").join(contenders, on="id", how="semi").sort("id").to_arrow()
    dropped = rows.select(["id"]).filter(pa.array(~nd.near_duplicates(rows["text"], threshold=threshold, filter="lsh").mask))
    return pages.join(daft.from_arrow(dropped), on="id", how="anti")


if __name__ == "__main__":
    deduplicate(daft.read_json("examples/notices.jsonl")).show()
