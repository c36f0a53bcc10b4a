"""Find the documents of a collection that resemble a sketch, by the sorted entries (value, document)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats, Ints, UInts
from ndcore.checks import check_choice, checked_threshold
from ndcore.collection import slots
from ndcore.collection.phase2_entries import pairing_sets
from ndcore.collection.segments import Overlaps
from ndcore.collection.settings import POLICIES, Policy
from ndcore.collection.shelf import part_name
from ndcore.collection.stored import Groups, StoredCollection
from ndcore.sketch.sketches import Sketches
from ndcore.storage.container import CorruptFile

__all__ = ["Resembling", "Search", "span_of"]


class Resembling(NamedTuple):
    """A document that resembles a text: estimates from the sketches, and the id that stands for its cluster.

    `text_in_document` and `document_in_text` are containments.
    """

    id: Any
    resemblance: float
    text_in_document: float
    document_in_text: float
    cluster: Any


class Search:
    """Looks sketches up in the entries of a collection, whose parts are mapped when they are first needed."""

    def __init__(self, stored: StoredCollection) -> None:
        self._stored = stored
        self._copies = Groups.by(stored.clustering.leaders)
        self._opened: dict[int, tuple[UInts, NDArray[np.uint32]]] = {}

    def find(self, sketch: Sketches, threshold: float | None, policy: Policy, limit: int | None) -> list[Resembling]:
        """Find the documents that resemble a sketch, most similar first; parameters as of `Collection.query`."""
        clustering, names, settings = self._stored.clustering, self._stored.names, self._stored.settings
        threshold = clustering.threshold if threshold is None else checked_threshold(threshold)
        if limit is not None and limit < 1:
            raise ValueError(f"limit is at least 1, got {limit!r}")
        check_choice("policy", policy, POLICIES)
        documents, common = self._holders(pairing_sets(sketch, settings).values)
        documents = documents[common >= settings.needed]
        overlaps = clustering.segments.against(sketch, documents)
        weight = overlaps.resemblance if policy == "resemblance" else self._containment(sketch, documents, overlaps)
        found = np.flatnonzero(weight >= threshold)
        found = found[np.lexsort((documents[found], -overlaps.resemblance[found]))]
        out: list[Resembling] = []
        columns = (overlaps.resemblance, overlaps.a_in_b, overlaps.b_in_a)
        for i in found.tolist():
            values = [float(column[i]) for column in columns]
            for position in self._copies.members(int(documents[i])):
                label = int(clustering.labels[position])
                out.append(Resembling(names[position], values[0], values[1], values[2], names[label]))
                if len(out) == limit:
                    return out
        return out

    def _containment(self, sketch: Sketches, documents: Ints, overlaps: Overlaps) -> Floats:
        """Return the larger containment of a sketch and each document; the resemblance where samples are too small."""
        whole = sketch.moduli is None or sketch.moduli[0] == 1
        members, least = np.minimum(overlaps.in_a, overlaps.in_b), self._stored.clustering.least
        exact = self._stored.clustering.segments.whole(documents, documents) & whole
        return np.where(exact | (members >= least), overlaps.contained, overlaps.resemblance)

    def _holders(self, values: UInts) -> tuple[Ints, Ints]:
        """Return (documents, how many of these values each holds), without common values."""
        stored = self._stored
        n, slabs, most = len(stored.clustering), stored.slabs, stored.settings.max_holders
        holders = [np.empty(0, np.int64)]
        slab_of = np.searchsorted(slabs[:, 1], values)
        for slab in np.unique(slab_of).tolist():
            if slab == len(slabs):
                continue
            keys, documents = self._entries(slab)
            low, high = (int(bound) for bound in slabs[slab, :2])
            for value in values[slab_of == slab]:
                first, last = span_of(keys, value, low, high)
                if 0 < last - first <= most:
                    holders.append(documents[first:last].astype(np.int64))
        found, counts = np.unique(np.concatenate(holders), return_counts=True)
        if len(found) and found[-1] >= n:
            raise CorruptFile(
                f"{stored.shelf.path}: an entry names document {found[-1]} of {n}; build the collection again"
            )
        return found, counts.astype(np.int64)

    def _entries(self, slab: int) -> tuple[UInts, NDArray[np.uint32]]:
        """Return the sorted entries of a slab; map them if they are not."""
        if slab not in self._opened:
            name = part_name(slots.ENTRIES, slab)
            arrays = slots.opened(self._stored.shelf, name, len(self._stored.clustering))[1]
            self._opened[slab] = arrays["keys"], arrays["documents"]
        return self._opened[slab]


def span_of(keys: UInts, value: np.uint64, low: int, high: int) -> tuple[int, int]:
    """Find a value among ascending ones from low to high by interpolation search; return (first, last) of its span.

    The interpolated place is searched with neighbouring pages of the file; all keys where the value is not there.
    """
    n = len(keys)
    place, reach = (int(value) - low) * n // (high - low + 1), 4 * math.isqrt(n) + 64
    first, last = max(0, place - reach), min(n, place + reach)
    if (first and keys[first - 1] >= value) or (last < n and keys[last] <= value):
        first, last = 0, n
    part = keys[first:last]
    return first + int(np.searchsorted(part, value, "left")), first + int(np.searchsorted(part, value, "right"))
