"""sourmash: sketches of numbers, the smallest ("num") or those below a bound ("scaled"), of hashes of word shingles.

It is made for genomes: text reaches it as 64-bit MurmurHash3 values of the shingles, by its own `hash_murmur`.
"""

from __future__ import annotations

from typing import Any

from common import BOTTOM, SCALED, case, encoded, of_sets, of_texts, versions_of
from sourmash import MinHash
from sourmash.minhash import hash_murmur

VERSIONS = versions_of("sourmash")
CASES = [case(f"sourmash, {'num' if task == 'bottom' else 'scaled'}", method, task, number, source)
         for task, method, number in (("bottom", BOTTOM, 200), ("scaled", SCALED, 25)) for source in ("text", "hashes")]


def sketch(one: dict[str, Any], hashes: list[int]) -> MinHash:
    size = {"n": one["number"]} if one["task"] == "bottom" else {"n": 0, "scaled": one["number"]}
    made = MinHash(ksize=21, **size)
    made.add_many(hashes)
    return made


def from_texts(one: dict[str, Any], texts: list[str]) -> list[MinHash]:
    return [sketch(one, [hash_murmur(shingle) for shingle in encoded(text)]) for text in texts]


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    if one["source"] == "text":
        return of_texts(lambda: from_texts(one, data["texts"]), data["texts"])
    return of_sets(lambda: [sketch(one, members) for members in data["sets"]], data["sets"])


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    made = from_texts(one, data["texts"])
    return [made[a].jaccard(made[b]) for a, b in pairs]
