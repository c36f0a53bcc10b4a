"""The form of arrays in a file: their names, types and dimensions, compared before their values are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from ndcore._types import Arrays

__all__ = ["Form", "misfit"]

Form: TypeAlias = Mapping[str, tuple[type[np.generic], str]]
"""By name of an array: dtype, dimensions. A dimension is a digit itself, or a letter: the same number in all arrays."""


def misfit(form: Form, arrays: Arrays, sizes: Mapping[str, int], of: str) -> str | None:
    """Find an array whose name, type or dimensions do not fit the form; say so in words.

    Parameters
    ----------
    form : Form
    arrays : dict of str to array
    sizes : dict of str to int
        Letters of dimensions that are known.
    of : str
        What they are known from, for the message.
    """
    if arrays.keys() != form.keys():
        return f"it has the arrays {', '.join(sorted(arrays)) or 'none'}, not {', '.join(sorted(form)) or 'none'}"
    known = dict(sizes)
    for name, (dtype, dimensions) in form.items():
        array, wanted = arrays[name], dimensions.split()
        if array.dtype != dtype or array.ndim != len(wanted):
            return f"{name} is {array.dtype} of {array.ndim} dimensions, not {np.dtype(dtype)} of {len(wanted)}"
        for size, dimension in zip(array.shape, wanted, strict=True):
            expected = int(dimension) if dimension.isdigit() else known.setdefault(dimension, size)
            if size != expected:
                return f"{name} has {size} where {expected} fit {of}"
    return None
