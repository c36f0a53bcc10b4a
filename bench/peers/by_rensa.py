"""rensa: its ordinary path (`digest_matrix_from_token_sets`), and rho, which looks at a sample of the tokens only."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import FAST, SAMPLED, agreeing, case, of_sets, of_texts, shingles, versions_of
from rensa import RMinHash

PATHS = {"ordinary": FAST, "rho": SAMPLED}

VERSIONS = versions_of("rensa", "numpy")
CASES = [case(f"rensa, {path}", method, "minima", number, source, path=path)
         for number in (84, 128, 200) for path, method in PATHS.items() for source in ("text", "hashes")]
CASES.append(case("rensa, RMinHash.update", FAST, "one by one", 128, "text", path="ordinary"))


def digests(one: dict[str, Any], texts: list[str]) -> Any:
    sets = [shingles(text) for text in texts]
    if one["path"] == "rho":
        return RMinHash.digest_matrix_from_token_sets_rho(sets, one["number"], 1)
    return RMinHash.digest_matrix_from_token_sets(sets, one["number"], 1)


def one_by_one(texts: list[str], number: int) -> list[RMinHash]:
    made = []
    for text in texts:
        sketch = RMinHash(number, 1)
        sketch.update(shingles(text))
        made.append(sketch)
    return made


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    if one["task"] == "one by one":
        return of_texts(lambda: one_by_one(data["texts"], one["number"]), data["texts"])
    if one["source"] == "text":
        return of_texts(lambda: digests(one, data["texts"]), data["texts"])
    values = np.array([value for members in data["sets"] for value in members], np.uint64)
    ends = np.cumsum([0, *map(len, data["sets"])]).astype(np.uint64)
    name = "digest_matrix_from_flat_token_hashes" + ("_rho" if one["path"] == "rho" else "")
    function = getattr(RMinHash, name)
    return of_sets(lambda: function(values, ends, one["number"], 1), data["sets"])


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    rows = digests(one, data["texts"]).to_rows()
    return [agreeing(rows[a], rows[b]) for a, b in pairs]
