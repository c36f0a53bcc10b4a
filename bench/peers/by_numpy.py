"""NumPy on ready hashes: what a user writes who needs no more than that."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import BOTTOM, SCALED, case, of_sets, versions_of

VERSIONS = versions_of("numpy")
CASES = [case("numpy, partition then unique; repeats spoil it", BOTTOM, "bottom", 200, "hashes"),
         case("numpy, h[h % 25 == 0]", SCALED, "scaled", 25, "hashes")]


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    ready = [np.array(members, np.uint64) for members in data["sets"]]
    number = one["number"]

    def bottom() -> list[Any]:
        return [np.unique(np.partition(h, number)[:number] if len(h) > number else h) for h in ready]

    def divisible() -> list[Any]:
        modulus = np.uint64(number)
        return [h[h % modulus == 0] for h in ready]

    return of_sets(bottom if one["task"] == "bottom" else divisible, data["sets"])
