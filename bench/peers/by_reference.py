"""ndcore.reference: the definitions in plain Python, on the first few documents only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import BOTTOM, PERMUTATIONS, SCALED, case, of_sets, of_texts, size_of, versions_of

from ndcore.reference import shingling, sketches

ENOUGH, ENOUGH_ITEMS = 15_000, 1_500  # bytes, shingles

VERSIONS = versions_of("ndcore")
KINDS = [("minima", 84, PERMUTATIONS), ("minima", 128, PERMUTATIONS), ("minima", 200, PERMUTATIONS),
         ("bottom", 200, BOTTOM), ("scaled", 25, SCALED)]
CASES = [case("ndcore.reference", method, task, number, source)
         for task, number, method in KINDS for source in ("text", "hashes")]


def function(one: dict[str, Any]) -> Callable[[list[int]], list[int]]:
    chosen = {"bottom": sketches.bottom, "scaled": sketches.mod}.get(one["task"], sketches.signature)
    return lambda members: chosen(members, one["number"])


def few(documents: list[Any], size: Callable[[Any], int], enough: int) -> list[Any]:
    """The first documents that come to about so much, and at least one."""
    taken: list[Any] = []
    for document in documents:
        taken.append(document)
        enough -= size(document)
        if enough <= 0:
            break
    return taken


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    sketch = function(one)
    if one["source"] == "text":
        texts = few(sorted(data["texts"], key=len), lambda text: size_of([text]), ENOUGH)
        return of_texts(lambda: [sketch(shingling.fingerprints(text)) for text in texts], texts)
    sets = [members[:ENOUGH_ITEMS] for members in few(data["sets"], len, ENOUGH_ITEMS)]
    return of_sets(lambda: [sketch(members) for members in sets], sets)
