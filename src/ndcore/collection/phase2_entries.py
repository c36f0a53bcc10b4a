"""Phase two of Broder et al. 1997, §4.1: expand the sketches into a list of entries (value, document), sorted by value.

In: the sketches of phase one, except of documents that equal an earlier one. Out: the slots ``slabs``, ``entries/…``
and ``directory`` (kept for queries only), and ``runs/…``.

A document has a pairing set, of the values that propose pairs: by the method, the members of its sketch, its super-shingles
or its features. The list of entries does not fit in memory, so it is cut by the leading bits of values into slabs of similar
size, which are sorted independently. A run is the list of documents that hold one value, so it has all pairs that this value
proposes. A value held by more than `max_holders` documents is common (§5.1): it proposes no pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import ndcore._entries as _entries
import ndcore._sets as _sets
from ndcore._types import Bools, Ints, UInts
from ndcore.checks import check_numbered
from ndcore.collection import slots
from ndcore.collection.parts import cut_into_parts
from ndcore.collection.settings import Settings
from ndcore.collection.shelf import Shelf, part_name
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.features import features
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_features import super_features
from ndcore.sketch.super_shingles import super_shingles

__all__ = ["PairingSets", "pairing_sets", "sort_entries"]

DIGITS = 12  # leading bits of values by which they are cut into slabs
SLAB = 1 << 22  # entries that are sorted at a time, at least
ENTRY_BYTES = 60  # an entry, its scratch, key, document and run
FILE_BYTES = 18  # of an entry on disk, its part of the runs included

_NO_VALUES = np.empty(0, np.uint64)


class PairingSets(NamedTuple):
    """The values that propose pairs: document i of a part has the ascending set values[offsets[i] : offsets[i + 1]]."""

    values: UInts
    offsets: Ints


def pairing_sets(part: Sketches, settings: Settings) -> PairingSets:
    """Return the pairing sets of the documents of a part, by the method of the settings."""
    if settings.method == "shingles":
        assert part.offsets is not None
        return PairingSets(part.values, part.offsets)
    if settings.method == "super-shingles":
        sets = super_shingles(part, settings.run)
        return PairingSets(*_sets.distinct(sets.values.copy(), sets.offsets))
    design = settings.filter
    assert design is not None
    shape = (design.groups, design.group_size)
    rows = super_features(part, *shape, design.need) if settings.combined else features(part, *shape)
    return PairingSets(*_sets.distinct(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]))


class _Part(NamedTuple):
    """Pairing sets of consecutive documents, the first document, and which documents are taken."""

    sets: PairingSets
    first: int
    taken: NDArray[np.uint8]


def sort_entries(
    sets: Sequence[PairingSets], taken: Bools, shelf: Shelf, *, max_holders: int, keep: bool,
    memory_limit: int | None, threads: int | None, report: Progress,
) -> None:
    """Sort the entries of the documents taken, slab by slab, and gather the runs of each slab.

    Parameters
    ----------
    sets : sequence of PairingSets
        Of all documents, in parts.
    taken : bool (n,)
        Documents whose entries are sorted.
    shelf : Shelf
        Gets ``slabs``; with `keep`, ``entries/…`` (keys, documents) and ``directory``, every 512th key of each part; and
        ``runs/…``: the documents of each value held by 2 to max_holders of them (holders), where each run ends (ends), and
        the values held by more (common: value, holders, example), with their holders one after another (crowd). Parts that
        are there already are not made again.
    """
    parts = list(_parts(sets, taken))
    resumed = shelf.has(slots.SLABS)
    if not resumed:
        cut = _cut_into_slabs(parts, memory_limit, threads)
        if keep:
            shelf.reserve(FILE_BYTES * int(cut[:, 2].sum()), "the sorted entries")
        slots.drop_parts(shelf, slots.ENTRIES, slots.RUNS)  # of other slabs
        shelf.drop(slots.DIRECTORY)
        shelf.put(slots.SLABS, {}, {"slabs": cut})
    slabs = slots.read(shelf, slots.SLABS, len(taken))[1]["slabs"]
    if sum(slabs[:, 2].tolist()) > sum(len(part.values) for part in sets):
        raise slots.corrupt(shelf, slots.SLABS, "its slabs have more entries than the sketches have members")

    def sorted_slab(name: str, slab: list[int]) -> tuple[UInts, NDArray[np.uint32]]:
        if keep and shelf.has(name):
            arrays = slots.read(shelf, name, len(taken))[1]
            return arrays["keys"], arrays["documents"]
        try:
            keys, documents = _sorted(parts, *slab)
        except ValueError as error:
            if not resumed:
                raise
            raise slots.corrupt(shelf, slots.SLABS, str(error)) from error
        if keep:
            shelf.put(name, {}, {"keys": keys, "documents": documents})
        return keys, documents

    def work(number: int) -> UInts:
        entries, runs = part_name(slots.ENTRIES, number), part_name(slots.RUNS, number)
        if not shelf.has(runs) or (keep and not shelf.has(entries)):
            keys, documents = sorted_slab(entries, slabs[number].tolist())
            shelf.put(runs, {}, _runs(keys, documents, min(max_holders, len(taken))))
        elif keep:
            keys = slots.opened(shelf, entries, len(taken))[1]["keys"]
        return keys[::_entries.BLOCK].copy() if keep else _NO_VALUES

    first: list[UInts] = []
    done, total = 0, int(slabs[:, 2].sum())
    for number, blocks in enumerate(map_pieces(work, range(len(slabs)), threads)):
        first.append(blocks)
        done += int(slabs[number, 2])
        report("sorting entries", done, total)
    if keep and not shelf.has(slots.DIRECTORY):
        shelf.put(slots.DIRECTORY, {}, {"first": np.concatenate(first)})


def _parts(sets: Sequence[PairingSets], taken: Bools) -> Iterator[_Part]:
    """Yield the pairing sets of each part with its documents."""
    first = 0
    for part in sets:
        last = first + len(part.offsets) - 1
        yield _Part(part, first, taken[first:last].astype(np.uint8))
        first = last


def _cut_into_slabs(parts: Sequence[_Part], memory_limit: int | None, threads: int | None) -> UInts:
    """Compute (lowest value, highest value, entries) of each slab, ascending; at least one."""
    shift = 64 - DIGITS
    histogram = np.zeros(1 << DIGITS, np.int64)
    for part in parts:
        _entries.histogram(part.sets.values, part.sets.offsets, part.taken, shift, histogram)
    cuts = cut_into_parts(histogram, SLAB, ENTRY_BYTES, memory_limit, threads)
    slabs = np.empty((len(cuts) - 1, 3), np.uint64)
    slabs[:, 0] = cuts[:-1].astype(np.uint64) << np.uint64(shift)
    slabs[:, 1] = ((cuts[1:] - 1).astype(np.uint64) << np.uint64(shift)) | np.uint64((1 << shift) - 1)
    slabs[:, 2] = np.add.reduceat(histogram, cuts[:-1])
    check_numbered(int(slabs[:, 2].max()), "members of sketches in one part", "give a memory_limit, or a larger modulus")
    return slabs


def _sorted(parts: Sequence[_Part], low: int, high: int, size: int) -> tuple[UInts, NDArray[np.uint32]]:
    """Gather and sort the `size` entries whose values are from low to high; return (values, documents)."""
    entries, end = np.empty((size, 2), np.uint64), 0
    for (values, offsets), first, taken in parts:
        end = _entries.gather(values, offsets, taken, first, low, high, entries, end)
    if end != size:
        raise ValueError(f"there are {end} members from {low} to {high} where {size} were counted: sketches do not ascend")
    _entries.sort_entries(entries)
    return entries[:, 0].copy(), entries[:, 1].astype(np.uint32)


def _runs(keys: UInts, documents: NDArray[np.uint32], max_holders: int) -> dict[str, NDArray[np.generic]]:
    """Gather the arrays of a part of ``runs/…``: the runs of a slab, and its common values with their holders."""
    holders, ends, common = _entries.runs(keys, documents, max_holders)
    starts = np.searchsorted(keys, common[:, 0])
    sizes = common[:, 1].astype(np.int64)
    of_common = [documents[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return {"holders": holders, "ends": ends, "common": common, "crowd": np.concatenate([documents[:0], *of_common])}
