"""A pyarrow Table of sketches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore.checks import imported


def arrow_table(sk: Any) -> Any:
    """Build the Table that `Sketches.to_arrow` documents."""
    pa = imported("pyarrow", "to_arrow")
    if sk.values.ndim == 1 and sk.offsets is None:
        column = pa.array(sk.values)
    elif sk.offsets is None:
        flat = pa.array(np.ascontiguousarray(sk.values).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(flat, sk.values.shape[1])
    else:
        column = pa.LargeListArray.from_arrays(pa.array(sk.offsets), pa.array(sk.values))
    columns = {"sketch": column, "size": sk.sizes, "size_exact": sk.sizes_exact, "valid": sk.valid}
    if sk.moduli is not None:
        columns["modulus"] = sk.moduli
    if sk.positions is not None:
        columns["positions"] = pa.LargeListArray.from_arrays(pa.array(sk.offsets), pa.array(sk.positions))
    if sk.ids is not None:
        columns = {"id": as_column(pa, sk.ids), **columns}
    metadata = {"ndcore.recipe": sk.recipe.to_json(), "ndcore.recipe_id": sk.recipe.id}
    return pa.table(columns).replace_schema_metadata(metadata)


def as_column(arrow: Any, values: Any) -> Any:
    """Return a pyarrow array; of integers beside strings, or beyond 64 bits, their strings.

    Strings with lone surrogates, which Arrow does not have, are escaped, as ``\\udc80``.
    """
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError, UnicodeEncodeError):
        return arrow.array([None if value is None else str(value).encode("utf-8", "backslashreplace").decode()
                            for value in values])
