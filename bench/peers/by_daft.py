"""Daft: the expression `minhash` on a column; it splits at single blanks and does not fold case."""

from __future__ import annotations

from typing import Any

import daft
from common import PERMUTATIONS, agreeing, case, of_texts, versions_of
from daft.functions import minhash

FORMS = {
    "Daft, from a list of str": ("list", "murmurhash3"),
    "Daft, column at hand": ("column", "murmurhash3"),
    "Daft, column at hand, xxh3": ("column", "xxhash3_64"),
}

VERSIONS = versions_of("daft")
CASES = [case(who, PERMUTATIONS, "minima", number, "text", at_hand=at_hand == "column", hashing=hashing,
              same_sketches=who == "Daft, column at hand")
         for number in (84, 128, 200) for who, (at_hand, hashing) in FORMS.items()]


def signatures(frame: Any, one: dict[str, Any]) -> Any:
    column = minhash(daft.col("text"), num_hashes=one["number"], ngram_size=5, seed=1, hash_function=one["hashing"])
    return frame.select(column.alias("minima")).collect()


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    texts = data["texts"]
    if not one["at_hand"]:
        return of_texts(lambda: signatures(daft.from_pydict({"text": texts}), one), texts)
    frame = daft.from_pydict({"text": texts}).collect()
    return of_texts(lambda: signatures(frame, one), texts)


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    rows = signatures(daft.from_pydict({"text": data["texts"]}), one).to_pydict()["minima"]
    return [agreeing(rows[a], rows[b]) for a, b in pairs]
