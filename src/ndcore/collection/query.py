"""Find the documents of a collection that resemble a sketch, by the sorted entries (value, document)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ndcore._types import Floats, Ints, UInts
from ndcore.checks import check_choice, checked_threshold
from ndcore.collection.phase2_entries import pairing_sets
from ndcore.collection.segments import Overlaps
from ndcore.collection.settings import POLICIES, Policy
from ndcore.collection.stored import Groups, StoredCollection
from ndcore.sketch.sketches import Sketches
from ndcore.storage.container import CorruptFile

__all__ = ["Resembling", "Search"]


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
    """Looks sketches up in the mapped entries of a collection.

    Files are read in rounds: the keys of all values, the documents of the values found, the sketches of these documents. A
    round asks for all its pages before it reads the first. Ids are read one by one, for the documents returned.
    """

    def __init__(self, stored: StoredCollection) -> None:
        self._stored = stored
        self._copies = Groups.by(stored.clustering.leaders)

    def find(self, sketch: Sketches, threshold: float | None, policy: Policy, limit: int | None) -> list[Resembling]:
        """Find the documents that resemble a sketch, most similar first; parameters as of `Collection.query`."""
        clustering, names, settings = self._stored.clustering, self._stored.names, self._stored.settings
        threshold = clustering.threshold if threshold is None else checked_threshold(threshold)
        if limit is not None and limit < 1:
            raise ValueError(f"limit is at least 1, got {limit!r}")
        check_choice("policy", policy, POLICIES)
        documents, common = self._holders(pairing_sets(sketch, settings).values)
        if settings.needed > 1:
            documents = documents[common >= settings.needed]
        if not len(documents):
            return []
        overlaps = clustering.segments.against(sketch, documents)
        resemblance = overlaps.resemblance
        weight = resemblance if policy == "resemblance" else self._containment(sketch, documents, overlaps)
        found = np.flatnonzero(weight >= threshold)
        found = found[np.lexsort((documents[found], -resemblance[found]))]
        columns = (documents, resemblance, overlaps.a_in_b, overlaps.b_in_a)
        out: list[Resembling] = []
        for document, *values in zip(*(column[found].tolist() for column in columns), strict=True):
            for position in self._copies.members(document):
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
        n = len(self._stored.clustering)
        found, counts, _, _ = self._stored.entries.holders(values, self._stored.settings.max_holders)
        if len(found) and found[-1] >= n:
            raise CorruptFile(
                f"{self._stored.shelf.path}: an entry names document {found[-1]} of {n}; build the collection again"
            )
        return found, counts
