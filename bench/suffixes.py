"""Repeated passages by a suffix array: what `nd.repeats` finds, compared with its definition, without fingerprints.

Documents are sequences of tokens, which a dictionary numbers. Every document ends with a number of its own, so what two
suffixes have in common ends where a document does. What the tokens of a text are is taken as given. The order of the
suffixes and their common beginnings come from prefix doubling (Manber and Myers 1993), in NumPy, or from pydivsufsort,
which sorts them as bytes (Mori's libdivsufsort) and finds the common beginnings by Kasai et al. 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

import ndcore as nd

Documents: TypeAlias = Iterable[Sequence[Hashable]]
Numbers: TypeAlias = NDArray[Any]
Sorter: TypeAlias = "Callable[[Tokens], Suffixes]"


class Tokens(NamedTuple):
    """The tokens of documents end to end, each document followed by a number of its own, and their number in each."""

    numbers: Numbers
    sizes: Numbers

    @property
    def starts(self) -> Numbers:
        """The place of the first token of each document."""
        return np.cumsum(self.sizes + 1) - self.sizes - 1


class Suffixes(NamedTuple):
    """Places in the order of their suffixes, and how many tokens each has in common with the one before (the first: 0)."""

    order: Numbers
    common: Numbers


def numbered(documents: Documents) -> Tokens:
    """Number the tokens of documents."""
    names: dict[Hashable, int] = {}
    parts = [np.array([names.setdefault(token, len(names)) for token in tokens] + [0], np.int32) for tokens in documents]
    sizes = np.array([len(part) - 1 for part in parts], np.int64)
    numbers = np.concatenate([np.empty(0, np.int32), *parts])
    numbers[np.cumsum(sizes + 1) - 1] = len(names) + np.arange(len(sizes))
    return Tokens(numbers, sizes)


def by_doubling(tokens: Tokens) -> Suffixes:
    """Sort suffixes by their first 1, 2, 4, … tokens."""
    n, ranks = len(tokens.numbers), [np.unique(tokens.numbers, return_inverse=True)[1].astype(np.int64)]
    while n and ranks[-1].max() + 1 < n:
        length, rank = 1 << (len(ranks) - 1), ranks[-1]
        behind = np.zeros(n, np.int64)
        behind[: n - length] = rank[length:] + 1
        ranks.append(np.unique(rank * (n + 1) + behind, return_inverse=True)[1])
    order = np.argsort(ranks[-1])
    common = np.zeros(n, np.int64)
    for k in reversed(range(len(ranks))):  # the longest power of two first
        here, before = order[1:] + common[1:], order[:-1] + common[1:]
        inside = np.maximum(here, before) < n
        common[1:][inside] += (ranks[k][here[inside]] == ranks[k][before[inside]]).astype(np.int64) << k
    return Suffixes(order, common)


def by_divsufsort(tokens: Tokens) -> Suffixes:
    """Sort suffixes of bytes, as many for each token; keep those that begin at a token."""
    from pydivsufsort import divsufsort, kasai

    width = max(1, (int(tokens.numbers.max(initial=0)).bit_length() + 7) // 8)
    data = np.ascontiguousarray(tokens.numbers.astype(">u4").view(np.uint8).reshape(-1, 4)[:, 4 - width :]).ravel()
    order = divsufsort(data)
    order = order[order % width == 0] // width
    common = np.zeros_like(order)
    common[1:] = kasai(tokens.numbers, order)[:-1]
    return Suffixes(order, common)


class Expected:
    """What is repeated in documents, by the definition, for windows of `size` tokens."""

    def __init__(self, tokens: Tokens, suffixes: Suffixes, size: int) -> None:
        n = len(tokens.numbers)
        self.size, self.n = size, n
        self.document = np.repeat(np.arange(len(tokens.sizes), dtype=np.int32), tokens.sizes + 1)
        joined = np.append(suffixes.common >= size, False)  # with the suffix before
        member = np.flatnonzero(joined[:-1] | joined[1:])
        self.places = suffixes.order[member].astype(np.int64)  # of windows that stand at several, equal ones together
        self.common = np.append(np.where(joined[member], suffixes.common[member], 0), 0)
        heads = np.flatnonzero(~joined[member])
        group = np.cumsum(~joined[member]) - 1
        first = np.minimum.reduceat(self.places, heads) if len(heads) else heads
        last = np.maximum.reduceat(self.places, heads) if len(heads) else heads
        self.earlier = self.apart(first[group], self.places, size)
        self.later = self.apart(self.places, last[group], size)

    def apart(self, first: Numbers, second: Numbers, size: Any) -> Numbers:
        """Tell whether runs of this size at two places, the first one earlier, are in two documents or do not overlap."""
        return (self.document[first] != self.document[second]) | (first + size <= second)

    def covered(self, windows: Numbers) -> Numbers:
        """Mark the tokens of windows at these places, each named once."""
        return marked(self.n, windows, windows + self.size) > 0

    @cached_property
    def position(self) -> Numbers:
        """The position of each place in `places`."""
        found = np.full(self.n + 1, -1, np.int32)
        found[self.places] = np.arange(len(self.places))
        return found

    def runs(self, places: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
        """Find the first place, and the number of places, of the runs at these places, all windows of several places."""
        found, count = places.copy(), np.ones_like(places)
        for step, edge in ((-1, 0), (1, 1)):
            at = self.position[places].astype(np.int64)
            going = np.flatnonzero(self.common[at + edge] >= sizes)
            while len(going):
                at[going] += step
                found[going] = np.minimum(found[going], self.places[at[going]])
                count[going] += 1
                going = going[self.common[at[going] + edge] >= sizes[going]]
        return found, count


def marked(n: int, begins: Numbers, ends: Numbers) -> Numbers:
    """Count for each of n places the ranges that hold it."""
    change = np.zeros(n + 1, np.int32)
    np.add.at(change, begins, 1)
    np.add.at(change, ends, -1)
    return np.cumsum(change[:-1], dtype=np.int32)


def differences(documents: Documents, found: nd.Repeats, sort: Sorter) -> list[str]:
    """Compare a result with its definition; return what differs, in words.

    Compared are the tokens that are repeated, the tokens that ``copies="none"`` cuts, and of each row: that it equals its
    source, has the earliest source and the right number of copies, and cannot go on.
    """
    tokens = numbered(documents)
    if not np.array_equal(found.sizes, tokens.sizes):
        numbers = [f"{sizes.sum()} tokens in {len(sizes)} documents" for sizes in (found.sizes, tokens.sizes)]
        return [", not ".join(numbers)]
    expected = Expected(tokens, sort(tokens), found.min_tokens)
    starts = tokens.starts
    begins, ends = starts[found.documents] + found.starts, starts[found.documents] + found.ends
    told = []
    rows, repeated = marked(expected.n, begins, ends), expected.covered(expected.places[expected.earlier])
    if (rows != repeated).any():
        told.append(f"{np.count_nonzero(rows != repeated)} tokens are repeated and in no row, or the other way round")
    cuts, firsts, lasts = found.cuts("none")
    cut = marked(expected.n, starts[cuts] + firsts, starts[cuts] + lasts)
    everywhere = expected.covered(expected.places[expected.earlier | expected.later])
    if (cut != everywhere).any():
        told.append(f"{np.count_nonzero(cut != everywhere)} tokens are wrongly cut, or not cut, by 'none'")
    return told or _differing_rows(tokens, expected, found, begins, ends)


def _differing_rows(tokens: Tokens, expected: Expected, found: nd.Repeats, begins: Numbers, ends: Numbers) -> list[str]:
    """Compare the rows, which are a partition of the repeated tokens: see `differences`."""
    sources = tokens.starts[found.sources] + found.source_starts
    windows = np.sort(expected.places[expected.earlier])
    run = windows[np.searchsorted(windows, begins, "right") - 1]  # the last run that covers the beginning
    first, count = expected.runs(run, ends - run)
    longer, _ = expected.runs(run, ends - run + 1)
    pieces = zip(begins.tolist(), ends.tolist(), sources.tolist(), strict=True)
    numbers = tokens.numbers
    wrong = {
        "are not in order": np.diff(begins, prepend=-1) <= 0,
        "differ from their sources": np.array([
            not np.array_equal(numbers[begin:end], numbers[source : source + end - begin]) for begin, end, source in pieces],
            np.bool_),
        "overlap their sources": ~expected.apart(first, run, ends - run),
        "have an earlier source": first + begins - run != sources,
        "have another number of copies": count != found.copies,
        "could go on": expected.apart(longer, run, ends - run + 1),
    }
    return [f"{np.count_nonzero(rows)} of {len(begins)} rows {what}" for what, rows in wrong.items() if rows.any()]
