"""Values of results become values of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ndcore.report.plain_values import plain


class Pair(NamedTuple):
    a: int
    b: float


@dataclass
class Named:
    pair: Pair
    numbers: object


def test_plain() -> None:
    found = plain(Named(Pair(1, float("nan")), np.array([1.5, np.inf])))
    assert found == {"pair": {"a": 1, "b": None}, "numbers": [1.5, None]}
    assert plain({1: {2}, "x": (np.int64(3), None, True)}) == {"1": [2], "x": [3, None, True]}
    assert plain(object).startswith("<class")
