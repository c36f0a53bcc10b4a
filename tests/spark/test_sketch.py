"""Sketches on Spark: the local values, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import sketch

TEXTS = ["a rose is a rose is a rose", "", "something else entirely, as it seems", "one", "a rose is a rose " * 40]


@pytest.mark.parametrize("sketcher", [None, nd.SimHasher(), nd.SimHasher(128), nd.Winnower()])
def test_the_local_sketches(spark: Any, sketcher: Any) -> None:
    df = spark.createDataFrame([(i, text) for i, text in enumerate(TEXTS)], "id bigint, text string").repartition(3)
    found = sketch(df, id="id", sketcher=sketcher)
    expected = (sketcher or nd.MinHasher()).sketch_many(TEXTS)
    table = expected.to_arrow()
    assert found.columns == ["id", *table.column_names]
    assert found.schema["sketch"].metadata["ndcore.recipe_id"] == expected.recipe.id
    for row in found.collect():
        for name in table.column_names:
            got, wanted = row[name], table[name][row.id].as_py()
            if name in ("sketch", "modulus"):
                got = np.array(got, np.int64).view(np.uint64).tolist()
            assert got == wanted or got != got, (name, row.id)


def test_what_is_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, "a")], "size bigint, text string")
    with pytest.raises(ValueError, match=r"the column 'size' is also a column of the result, .*; rename it"):
        sketch(df, id="size")
    with pytest.raises(TypeError, match="sketcher must be a sketcher, as MinHasher"):
        sketch(df, id="text", sketcher=84)  # type: ignore[arg-type]
