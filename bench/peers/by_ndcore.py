"""ndcore: the best variants of its kernels, and the portable ones."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any

import numpy as np
from common import BOTTOM, FAST, PERMUTATIONS, SCALED, WHOLE, agreeing, case, of_sets, of_texts, versions_of

import ndcore as nd

VERSIONS = versions_of("ndcore", "numpy")
BEST = {next(iter(known)) for known in nd.variants().values()}
FORMS = ["best", "portable"] if BEST - {"portable"} else ["best"]
KINDS = [("minima", 84, PERMUTATIONS), ("minima", 128, PERMUTATIONS), ("minima", 200, PERMUTATIONS), ("minima", 128, FAST),
         ("bottom", 200, BOTTOM), ("scaled", 25, SCALED)]


def label(method: str, form: str, source: str = "text") -> str:
    """Name a row."""
    parts = ["ndcore", *(["fast"] if method == FAST else []), *(["portable"] if form == "portable" else [])]
    return ", ".join([*parts, "text as written"] if source == "raw" else parts)


CASES = [case(label(method, form, source), method, task, number, source, form=form, same_sketches=form == "portable")
         for form in FORMS for task, number, method in KINDS
         for source in (("text", "raw", "hashes") if form == "best" else ("text", "hashes"))]
CASES += [case(f"{label(method, 'best')}, sketch(text)", method, "one by one", 128, "text", form="best")
          for method in (PERMUTATIONS, FAST)]
CASES += [case(f"ndcore, Rabin{', portable' * (form == 'portable')}", WHOLE, "whole string", size, "bytes", form=form)
          for form in FORMS for size in (32, 4_096, 1_048_576)]


def sketcher(one: dict[str, Any]) -> Any:
    if one["task"] == "bottom":
        return nd.BottomSketcher(one["number"])
    if one["task"] == "scaled":
        return nd.ModSketcher(one["number"])
    return nd.MinHasher(one["number"], method="fast" if one["method"] == FAST else "permutations")


def around(one: dict[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """Portable kernels for the run, or those chosen at import; choosing takes far longer than a short run."""
    demands = {} if one.get("form") == "best" else dict.fromkeys(nd.variants(), "portable")
    return nd.using(**demands)


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    if one["task"] == "whole string":
        content, rabin = Random(1).randbytes(one["number"]), nd.Rabin()
        return (lambda: rabin.fingerprint(content)), len(content), len(content)
    made = sketcher(one)
    if one["task"] == "one by one":
        return of_texts(lambda: [made.sketch(text) for text in data["texts"]], data["texts"])
    if one["source"] == "hashes":
        values = np.array([value for members in data["sets"] for value in members], np.uint64)
        ends = np.cumsum([0, *map(len, data["sets"])])
        return of_sets(lambda: made.sketch_hashes(values, ends), data["sets"])
    texts = data["raw" if one["source"] == "raw" else "texts"]
    run, size, _ = of_texts(lambda: made.sketch_many(texts, threads=1), texts)
    return run, size, of_texts(run, data["texts"])[2]


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    with around(one):
        made = sketcher(one).sketch_many(data["texts"], threads=1)
    if one["task"] == "minima":
        return [agreeing(made.values[a].tolist(), made.values[b].tolist()) for a, b in pairs]
    return [made.resemblance(a, b) for a, b in pairs]
