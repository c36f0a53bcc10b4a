"""gaoya: `MinHashStringIndex`, which splits the text, makes the signature and puts it into its bands in one call."""

from __future__ import annotations

from typing import Any

from common import PERMUTATIONS, case, of_texts, versions_of
from gaoya.minhash import MinHashStringIndex

BANDS = {84: (14, 6), 128: (16, 8), 200: (20, 10)}

VERSIONS = versions_of("gaoya")
CASES = [case("gaoya, with insertion into its index", PERMUTATIONS, "minima", number, "text") for number in BANDS]


def index(bands: tuple[int, int], threshold: float) -> MinHashStringIndex:
    return MinHashStringIndex(hash_size=32, jaccard_threshold=threshold, num_bands=bands[0], band_size=bands[1],
                              analyzer="word", lowercase=False, ngram_range=(5, 5), id_container="vec")


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    texts = data["texts"]
    ids = list(range(len(texts)))
    return of_texts(lambda: index(BANDS[one["number"]], 0.8).par_bulk_insert_docs(ids, texts), texts)


def estimates(one: dict[str, Any], data: dict[str, Any], pairs: list[list[int]]) -> list[float]:
    """Bands of one hash, so that every document that agrees anywhere is found; who is not agrees nowhere."""
    texts = data["texts"]
    filled = index((one["number"], 1), 0.0)
    filled.par_bulk_insert_docs(list(range(len(texts))), texts)
    answers = {a: dict(filled.query(texts[a], return_similarity=True)) for a in sorted({a for a, _ in pairs})}
    return [answers[a].get(b, 0.0) for a, b in pairs]
