"""A finished collection in its files: read when it is opened, checked when it is verified, its clusters saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._entries import BLOCK, SortedEntries
from ndcore._types import Ints, UInts
from ndcore.collection import slots
from ndcore.collection.clustering import Clustering
from ndcore.collection.ids import Names
from ndcore.collection.manifest import described
from ndcore.collection.phase3_pairs import counted_pairs
from ndcore.collection.phase4_clusters import ClusterLabels, PairedCollection
from ndcore.collection.segments import Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.collection.shelf import DirectoryShelf, part_name
from ndcore.pairs.chains import Chains
from ndcore.storage.container import CorruptFile

__all__ = ["Groups", "StoredCollection", "check_samples", "open_stored", "save_clusters"]


class Groups(NamedTuple):
    """The members of all groups of more than one document, sorted by label, then member."""

    group: NDArray[np.uint32]
    member: NDArray[np.uint32]

    @classmethod
    def by(cls, labels: Ints) -> Groups:
        """Group documents by their labels."""
        alone = np.bincount(labels, minlength=len(labels)) == 1
        members = np.flatnonzero(~alone[labels])
        order = members[np.argsort(labels[members], kind="stable")]
        return cls(labels[order].astype(np.uint32), order.astype(np.uint32))

    def members(self, label: int) -> list[int]:
        """Return the documents with this label, ascending; the label itself if it stands alone."""
        value = np.uint32(label)  # NumPy would copy the labels to search them for an int
        first, last = np.searchsorted(self.group, value, "left"), np.searchsorted(self.group, value, "right")
        members: list[int] = self.member[first:last].tolist()
        return members or [label]


class StoredCollection(NamedTuple):
    """A finished collection, mapped from its files.

    `slabs` say which values each part of the entries has; `entries` are all parts; `clusters` are the members of clusters.
    """

    shelf: DirectoryShelf
    parameters: dict[str, Any]
    settings: Settings
    clustering: Clustering
    names: Names
    slabs: UInts
    entries: SortedEntries
    clusters: Groups


def open_stored(place: Path, verify: bool) -> StoredCollection:
    """Open a finished collection: map its files, check small ones; verify: read all, compare checksums and values.

    Raises as `Collection.open`.
    """
    description = described(place)
    if not description["finished"]:
        raise ValueError(f"{place}: the collection was not finished; build it again with the same arguments to go on")
    shelf = DirectoryShelf(place)
    if verify:
        shelf.verify()
    try:
        stored = _read(shelf, description["parameters"])
        if verify:
            _check_values(stored)
        return stored
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, CorruptFile):
            raise
        raise CorruptFile(f"{place}: the files of the collection do not fit together: {error}") from error
    except FileNotFoundError as error:
        raise CorruptFile(f"{place}: the file {error.filename} is missing") from error


def _read(shelf: DirectoryShelf, parameters: dict[str, Any]) -> StoredCollection:
    """Read the slots that a collection needs at once, and map the rest."""
    segments = Segments([shelf.get_sketches(name) for name in shelf.names(slots.SKETCHES)])
    settings = Settings.from_plain(parameters, segments.recipe)
    n = len(segments)
    header, arrays = slots.read(shelf, slots.CLUSTERS, n)
    documents = slots.read(shelf, slots.DOCUMENTS, n)[1]
    grouping = Grouping(**{name: header[name] for name in slots.SLOTS[slots.CLUSTERS].header})
    grouping.check(settings.method, settings.floor)
    names = Names(slots.opened(shelf, slots.IDS, n)[1], n, shelf.where(slots.IDS))
    paired = PairedCollection.of(shelf, segments, documents["leader"].astype(np.int64), documents["same"], settings)
    chains = Chains(*(arrays[f"chains_{name}"] for name in Chains._fields))
    clusters = ClusterLabels(arrays["labels"].astype(np.int64), arrays["codes"], arrays["resemblance"], chains)
    slabs = slots.read(shelf, slots.SLABS, n)[1]["slabs"]
    return StoredCollection(
        shelf, parameters, settings, Clustering.of(paired, grouping, clusters, names), names, slabs,
        _mapped_entries(shelf, slabs, n), Groups(arrays["group"], arrays["member"]),
    )


def _mapped_entries(shelf: DirectoryShelf, slabs: UInts, n: int) -> SortedEntries:
    """Map the entries of all slabs, and read their directory, which collections of earlier versions do not have."""
    parts = []
    for number, (low, high, size) in enumerate(slabs.tolist()):
        name = part_name(slots.ENTRIES, number)
        entries = slots.opened(shelf, name, n)[1]
        if len(entries["keys"]) != size:
            raise slots.corrupt(shelf, name, f"it has {len(entries['keys'])} entries, not {size}")
        parts.append((entries["keys"], entries["documents"], low, high))
    if not shelf.has(slots.DIRECTORY):
        return SortedEntries(parts, None)
    first = slots.read(shelf, slots.DIRECTORY, n)[1]["first"]
    if len(first) != sum(-(-len(part[0]) // BLOCK) for part in parts):
        raise slots.corrupt(shelf, slots.DIRECTORY, f"it has {len(first)} values, not one for {BLOCK} entries of a part")
    return SortedEntries(parts, first.copy())  # in memory, whatever becomes of the page cache


def _check_values(stored: StoredCollection) -> None:
    """Raise CorruptFile where files that are mapped only do not hold together."""
    shelf, n = stored.shelf, len(stored.clustering)
    check_samples(stored)
    slots.read(shelf, slots.IDS, n)
    blocks: list[UInts] = []
    for number, (low, high, size) in enumerate(stored.slabs):
        name = part_name(slots.ENTRIES, number)
        entries = slots.read(shelf, name, n)[1]["keys"]
        if size and not low <= entries[0] <= entries[-1] <= high:
            raise slots.corrupt(shelf, name, f"its entries are not {size} from {low} to {high}")
        blocks.append(entries[::BLOCK])
    known = slots.read(shelf, slots.DIRECTORY, n)[1]["first"] if shelf.has(slots.DIRECTORY) else None
    if known is not None and not np.array_equal(known, np.concatenate(blocks)):
        raise slots.corrupt(shelf, slots.DIRECTORY, f"it has not every {BLOCK}th value of the entries")
    for _ in counted_pairs(shelf, n):
        pass


def check_samples(stored: StoredCollection) -> None:
    """Raise CorruptFile where sketches are not samples that ascend."""
    for name in stored.shelf.names(slots.SKETCHES):
        slots.read_sketches(stored.shelf, name, stored.settings.recipe)


def save_clusters(shelf: DirectoryShelf, found: Clustering) -> Groups:
    """Put clusters in their slot, in place of others; return the members of clusters."""
    header = {name: getattr(found, name) for name in slots.SLOTS[slots.CLUSTERS].header}
    groups = Groups.by(found.labels)
    shelf.put(slots.CLUSTERS, {**header, "threshold": float(found.threshold)}, {
        "labels": found.labels.astype(np.uint32), "codes": found.codes, "resemblance": found.resemblance,
        **groups._asdict(), **{f"chains_{name}": column for name, column in found.chains._asdict().items()},
    })
    return groups
