"""Sketches of documents on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcore.phases.sketches import list_sketches
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.spark.documents import key_columns, refuse_taken, with_keys
from ndcore.spark.versions import import_spark
from ndcore.spark.work import Work, check_executors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sketch(
    df: DataFrame, text: str = "text", id: str | Sequence[str] | None = None, *, sketcher: Sketcher | None = None
) -> DataFrame:
    """Sketch the documents of a DataFrame; `Sketcher.sketch_many` gives the same values.

    Parameters
    ----------
    df : DataFrame
        A row for each document. Only its key and its text are read.
    text, id
        As in `near_duplicates`. Keys may repeat.
    sketcher : MinHasher, BottomSketcher, ModSketcher, SimHasher or Winnower, optional
        None: ``MinHasher()``.

    Returns
    -------
    DataFrame
        A row for each document, in no order: the columns of the key, then the columns of `Sketches.to_arrow`. ``sketch`` is
        an array of bigint, for simhashes of 64 bits a bigint, and its metadata has the recipe (``ndcore.recipe``). Spark
        has no unsigned numbers: a value of 2^63 and more is negative, with the same 64 bits. ``size``, ``size_exact`` and
        ``valid`` follow, with ``modulus`` of adaptive mod sketches and ``positions`` of winnowed ones.

    Raises
    ------
    TypeError, ValueError
        A parameter or a column is not accepted. A missing text raises when the rows are computed.

    Notes
    -----
    O(bytes), each time the rows are computed. Nothing is shuffled; a task holds a batch of Arrow.
    """
    import_spark()
    from pyspark.sql import types as T

    used = MinHasher() if sketcher is None else sketcher
    if not isinstance(used, Sketcher):
        raise TypeError(f"sketcher must be a sketcher, as MinHasher(), or None, got {used!r:.80}")
    key = key_columns(df, id)
    keyed = with_keys(df, text, key, {}).select("key.*", "text")
    empty = used.sketch_many([])
    values = T.LongType() if empty.values.ndim == 1 and empty.offsets is None else T.ArrayType(T.LongType())
    recipe = {"ndcore.recipe": used.recipe.to_json(), "ndcore.recipe_id": used.recipe.id}
    made = [T.StructField("sketch", values, metadata=recipe), T.StructField("size", T.DoubleType()),
            T.StructField("size_exact", T.BooleanType()), T.StructField("valid", T.BooleanType())]
    if empty.moduli is not None:
        made.append(T.StructField("modulus", T.LongType()))
    if empty.positions is not None:
        made.append(T.StructField("positions", T.ArrayType(T.LongType())))
    names = {"text", *(field.name for field in made)}
    refuse_taken(key, names)
    check_executors(df.sparkSession)
    known = [field for field in keyed.schema.fields if field.name != "text"]
    return Work.apply(keyed, list_sketches, T.StructType([*known, *made]), text="text", sketcher=used)
