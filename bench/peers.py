"""The same work by others: plain Python (ndcore.reference) and datasketch, fed the same canonical words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ndcore.reference import minhash as reference_minhash
from ndcore.reference import shingling as reference_shingling

WIDTH = 5
WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[bytes]:
    """Canonical words as a user of datasketch gets them; on ASCII text exactly those of ndcore."""
    return [word.encode("utf-8", "surrogatepass") for word in WORD.findall(text.lower())]


def shingles(text: str) -> set[bytes]:
    """Shingles as bytes: five words with blanks between them; a shorter text is one shingle."""
    found = words(text)
    if 0 < len(found) < WIDTH:
        return {b" ".join(found)}
    return {b" ".join(found[i : i + WIDTH]) for i in range(len(found) - WIDTH + 1)}


def from_texts(texts: Sequence[str], num_perm: int) -> list[Any]:
    """datasketch: text to MinHash, one document after another."""
    from datasketch import MinHash

    made = []
    for text in texts:
        sketch = MinHash(num_perm=num_perm)
        sketch.update_batch(shingles(text))
        made.append(sketch)
    return made


def from_shingles(sets: Sequence[set[bytes]], num_perm: int) -> list[Any]:
    """datasketch: ready sets of shingles to MinHash, by its own bulk function."""
    from datasketch import MinHash

    return list(MinHash.bulk(sets, num_perm=num_perm))


def _itself(value: Any) -> Any:
    return value


def from_hashes(hashes: Sequence[np.ndarray[Any, Any]], num_perm: int) -> list[Any]:
    """datasketch at its best: ready 32-bit hashes, so that only the permutations are left to do."""
    from datasketch import MinHash

    return list(MinHash.bulk(hashes, num_perm=num_perm, hashfunc=_itself))


def reference_signatures(texts: Sequence[str], num_perm: int) -> list[list[int]]:
    """ndcore.reference: text to signature."""
    return [reference_minhash.signature(reference_shingling.fingerprints(text), num_perm) for text in texts]


def reference_bottoms(texts: Sequence[str], size: int) -> list[list[int]]:
    """ndcore.reference: text to MIN_s."""
    return [reference_minhash.bottom(reference_shingling.fingerprints(text), size) for text in texts]
