"""Pages of an endless crawl: about 5 KB each, three in ten edited copies of earlier ones; any part is made again.

A page is phrases of twelve words, drawn from 600,000 that a Markov chain over real words has written (`generating`). That is
ten times as fast as a chain for each page, and millions of pages are wanted. Unrelated pages share one phrase in 10,000.
"""

from __future__ import annotations

import functools

import numpy as np
from generating import base_words, lengths_of, plant, typeset, walk
from numpy.typing import NDArray

__all__ = ["AT_ONCE", "Page", "pages"]

SIZE, AT_ONCE, SEED = 5000, 20_000, 11
WORDS, CHAINS, LENGTH = 12, 2000, 300  # words of a phrase, chains, and phrases of a chain
TYPESET = 5  # one page in so many is not ASCII

Page = tuple[str, str]


@functools.cache
def phrases() -> NDArray[np.object_]:
    """Phrases with the white space behind them."""
    rng = np.random.default_rng(SEED)
    base = base_words(rng)
    chains = walk(rng, base, np.full(CHAINS, WORDS * LENGTH))
    return np.array(["".join(base.words[chain[i : i + WORDS]].tolist()) for chain in chains
                     for i in range(0, len(chain), WORDS)], np.object_)


def pages(start: int, count: int) -> list[Page]:
    """Pages `start` … of the crawl: keys and texts. Copies are of pages of the same 20,000."""
    made: list[Page] = []
    for block in range(start // AT_ONCE, (start + count - 1) // AT_ONCE + 1):
        made += _block(block)
    first = start % AT_ONCE
    return made[first : first + count]


def _block(block: int) -> list[Page]:
    """20,000 pages."""
    rng, pool = np.random.default_rng([SEED, block]), phrases()
    mean = sum(map(len, pool[:10_000])) / 10_000
    lengths = lengths_of(rng, AT_ONCE, int(AT_ONCE * SIZE / mean))
    documents = np.split(rng.integers(0, len(pool), int(lengths.sum())), np.cumsum(lengths)[:-1])
    plant(rng, documents, len(pool))
    texts = ["".join(pool[document].tolist()) for document in documents]
    return [(f"https://site{i % 997}.example/{block}/{i}", typeset(text) if i % TYPESET == 0 else text)
            for i, text in enumerate(texts)]
