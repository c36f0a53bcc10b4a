"""datasketch 1.x and 2.x: `MinHash.bulk` over shingles as bytes, its fastest constructor; from 2.0 with two schemes."""

from __future__ import annotations

from typing import Any

import xxhash
from common import PERMUTATIONS, case, encoded, of_sets, of_texts, versions_of
from datasketch import MinHash

VERSIONS = versions_of("datasketch", "numpy", "xxhash")
MAJOR = int(VERSIONS["datasketch"].partition(".")[0])
SCHEMES = ("affine32", "legacy") if MAJOR >= 2 else ("",)
CASES = [case(f"datasketch {MAJOR}.x" + (f", {scheme}" if scheme else ""), PERMUTATIONS, "minima", number, source,
              scheme=scheme, hashing=hashing)
         for number in (84, 128, 200) for scheme in SCHEMES for source, hashing in (("text", "sha1"), ("hashes", "ready"))]
CASES += [case(f"datasketch {MAJOR}.x, with xxh32 for SHA-1", PERMUTATIONS, "minima", number, "text", scheme=SCHEMES[0],
               hashing="xxh32") for number in (84, 128, 200)]


def itself(value: int) -> int:
    return value


def settings(one: dict[str, Any]) -> dict[str, Any]:
    """Arguments of MinHash."""
    chosen: dict[str, Any] = {"num_perm": one["number"]}
    if one["scheme"]:
        chosen["scheme"] = one["scheme"]
    if one["hashing"] != "sha1":
        chosen["hashfunc"] = itself if one["hashing"] == "ready" else xxhash.xxh32_intdigest
    return chosen


def sketches(one: dict[str, Any], texts: list[str]) -> list[MinHash]:
    return list(MinHash.bulk(map(encoded, texts), **settings(one)))


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    if one["source"] == "text":
        return of_texts(lambda: sketches(one, data["texts"]), data["texts"])
    chosen = settings(one)
    ready = [[value & 0xFFFFFFFF for value in members] for members in data["sets"]]
    return of_sets(lambda: MinHash.bulk(ready, **chosen), ready)


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    made = sketches(one, data["texts"])
    return [made[a].jaccard(made[b]) for a, b in pairs]
