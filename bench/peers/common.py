"""What the peers' modules share: the shingles of texts whose words are between single blanks. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

WIDTH = 5
PERMUTATIONS, FAST, SAMPLED = "independent permutations", "one pass (fast similarity sketching)", "sample of tokens"
BOTTOM, SCALED, WHOLE = "smallest hashes", "hashes divisible by, or below a bound", "whole string"


def case(who: str, method: str, task: str, number: int, source: str, **own: Any) -> dict[str, Any]:
    """A case of a peer; see worker.py."""
    return {"who": who, "method": method, "task": task, "number": number, "source": source, **own}


def shingles(text: str) -> list[str]:
    """Five words with blanks between them; a shorter text is one shingle, and one without words has none."""
    words = text.split(" ")
    if len(words) < WIDTH:
        return [text] if text else []
    return [" ".join(words[i : i + WIDTH]) for i in range(len(words) - WIDTH + 1)]


def encoded(text: str) -> list[bytes]:
    """`shingles` as UTF-8."""
    return [shingle.encode("utf-8", "surrogatepass") for shingle in shingles(text)]


def size_of(texts: Sequence[str]) -> int:
    """Bytes of the texts as UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def count_of(texts: Sequence[str]) -> int:
    """Shingles of the texts, repeats included."""
    return sum(max(1, text.count(" ") + 2 - WIDTH) if text else 0 for text in texts)


def of_texts(run: Any, texts: Sequence[str]) -> tuple[Any, int, int]:
    """What `prepare` returns for a function that goes through these texts."""
    return run, size_of(texts), count_of(texts)


def of_sets(run: Any, sets: Sequence[Sequence[int]]) -> tuple[Any, int, int]:
    """What `prepare` returns for a function that goes through these sets of hashes."""
    items = sum(map(len, sets))
    return run, 8 * items, items


def agreeing(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The share of equal coordinates."""
    return sum(x == y for x, y in zip(a, b, strict=True)) / len(a)


def versions_of(*packages: str) -> dict[str, str]:
    """Versions of installed packages."""
    return {package: version(package) for package in packages}
