"""Shingle sets of families of documents, drawn from a seed, and the candidates found among them. No test is here."""

from __future__ import annotations

import random

import numpy as np

from ndcore import Shingling
from ndcore.pairs.shingle_sets import ShingleSets


def silent(*_):
    pass


def corpus(seed, n=60, largest=60):
    """Sets of a few families: copies with members exchanged, parts, and sets of one member; some are empty."""
    rng = random.Random(seed)
    found: list[set[int]] = []
    for _ in range(n):
        kind = rng.random()
        if found and kind < 0.7:
            members = set(rng.choice(found))
            for _ in range(rng.choice((0, 0, 1, 2, 5, 20))):
                if members and rng.random() < 0.5:
                    members.remove(rng.choice(sorted(members)))
                else:
                    members.add(rng.getrandbits(64))
            if kind < 0.2:
                members = set(rng.sample(sorted(members), rng.randint(0, len(members))))
        else:
            size = rng.choice((0, 1, 2, 3, largest))
            members = {rng.choice((rng.getrandbits(64), rng.randrange(200))) for _ in range(size)}
        found.append(members)
    return found


def shingle_sets(listed, limit=1 << 20, chunk=7):
    """The sets as ShingleSets, in chunks, and the documents that have any."""
    sets = ShingleSets(Shingling(), len(listed), tokens=False, threads=1, limit=limit)
    for start in range(0, len(listed), chunk):
        some = listed[start : start + chunk]
        values = np.array([z for members in some for z in sorted(members)], np.uint64)
        offsets = np.cumsum([0, *map(len, some)]).astype(np.int64)
        sets.append(np.arange(start, start + len(some)), values, offsets)
    return sets, np.array([d for d, members in enumerate(listed) if members], np.int64)


def found_of(candidates):
    """The pairs, each once, and the sets of documents of long runs."""
    pairs = [pair for a, b in candidates.pairs() for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert len(set(pairs)) == len(pairs) and all(a < b for a, b in pairs)
    runs = [part.tolist() for part in np.split(candidates.runs.documents, candidates.runs.begins[1:-1])]
    runs = [documents for documents in runs if documents]
    assert all(documents == sorted(set(documents)) for documents in runs)
    return set(pairs), list(map(set, runs))
