"""The shelf of a collection: where the phases put what they make, in memory or in a directory, and what is a slot there.

A slot is a file of a collection, or an entry in memory. Slots with parts have one file a part, as ``pairs/00000000``.
`SLOTS` says for each what it holds and how long it lives.

Files may be forged: checksums tell damage, not who wrote a file. So `Shelf.opened` compares names, types and lengths of
arrays, and `Shelf.read` compares their values too, at linear cost. The functions named ``_wrong_…`` take the arrays of a
slot and the number n of documents, and return what is wrong with the values, in words, or None.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Arrays
from ndcore.collection.segments import CountedPairs, Overlaps
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import check_values
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import KIND, Sketches
from ndcore.storage.container import CorruptFile
from ndcore.storage.file_shelf import FileShelf, Form, find_misfit, part_name
from ndcore.storage.packed_ids import unpack_ids

__all__ = [
    "CLASSES", "CONTAINED", "IDENTICAL", "KEPT", "LEXICAL", "NEAR", "SHINGLE", "SLOTS", "VERSION", "DirectoryShelf",
    "MemoryShelf", "Shelf", "Slot", "counted_pairs", "part_name",
]

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained", "version")  # how a document relates to another
KEPT, IDENTICAL, LEXICAL, SHINGLE, NEAR, CONTAINED, VERSION = range(7)  # positions there; below NEAR, sketches are equal

SKETCHES, SKETCHED, DOCUMENTS = "sketches", "read", "documents"  # phase one
KEYS, BY, ONE_PER = "keys", "by", "one_per"  # the same, with options
SLABS, ENTRIES, DIRECTORY, RUNS = "slabs", "entries", "directory", "runs"  # phase two
RANGES, PAIRS, PAIRED = "ranges", "pairs", "paired"  # phase three
CLUSTERS, IDS, PLACES = "clusters", "ids", "places"  # phase four, and what a collection adds to the four phases

LARGEST = (1 << 64) - 1
_COUNTING = threading.Lock()  # guards the sizes of memory shelves: phases put from several threads


# ---- what must be true of the values in a slot


def _wrong_documents(arrays: Arrays, n: int) -> str | None:
    """Find a leader that is not the first of its documents, or an unknown kind of sameness."""
    leader, same = arrays["leader"], arrays["same"]
    own = np.arange(n, dtype=np.uint32)
    if (leader > own).any() or (leader[leader] != leader).any():
        return "a leader is not the first of its documents"
    if ((same >= NEAR) & (same != VERSION)).any() or ((same == 0) != (leader == own)).any():
        return "a document is the same as its leader in no known way"
    return None


def _wrong_labels(arrays: Arrays, n: int) -> str | None:
    """Find labels that do not lie one after another, or are not text."""
    try:
        unpack_ids(arrays)
    except ValueError as error:
        return str(error)
    return None


def _wrong_slabs(arrays: Arrays, n: int) -> str | None:
    """Find a gap or an overlap between slabs, which cover all 64-bit values."""
    low, high = arrays["slabs"][:, 0], arrays["slabs"][:, 1]
    follow = len(low) and low[0] == 0 and high[-1] == LARGEST and (low <= high).all()
    if not follow or (high[:-1] + np.uint64(1) != low[1:]).any():
        return "its slabs do not follow each other from the lowest value to the highest"
    return None


def _wrong_entries(arrays: Arrays, n: int) -> str | None:
    """Find an entry of an unknown document, or out of order."""
    keys, documents = arrays["keys"], arrays["documents"]
    if len(documents) and documents.max() >= n:
        return f"an entry names document {documents.max()} of {n}"
    if ((keys[1:] < keys[:-1]) | ((keys[1:] == keys[:-1]) & (documents[1:] <= documents[:-1]))).any():
        return "its entries do not ascend"
    return None


def _wrong_directory(arrays: Arrays, n: int) -> str | None:
    """Find a value that does not ascend."""
    first = arrays["first"]
    return "its values do not ascend" if (first[1:] < first[:-1]).any() else None


def _wrong_runs(arrays: Arrays, n: int) -> str | None:
    """Find an unknown document in a run, a run of fewer than two, or one out of order."""
    holders, ends, of_common = arrays["holders"], arrays["ends"], arrays["crowd"]
    for documents in (holders, of_common):
        if len(documents) and documents.max() >= n:
            return f"a value is held by document {documents.max()} of {n}"
    if (ends[-1] if len(ends) else 0) != len(holders) or (np.diff(ends.astype(np.int64), prepend=0) < 2).any():
        return f"its runs of 2 documents and more do not end one after another, the last of {len(holders)}"
    later = np.ones(len(holders), np.bool_)
    later[:1] = later[ends[:-1]] = False
    if (holders[1:] <= holders[:-1])[later[1:]].any():
        return "the documents of a run do not ascend"
    fault = _wrong_paired(arrays, n)
    if fault is None and int(arrays["common"][:, 1].sum()) != len(of_common):
        fault = f"common values are not held by {len(of_common)} documents"
    return fault


def _wrong_paired(arrays: Arrays, n: int) -> str | None:
    """Find a common value with an impossible number of holders, or an unknown example."""
    holders, examples = arrays["common"][:, 1], arrays["common"][:, 2]
    if ((holders < 1) | (holders > n) | (examples >= n)).any():
        return f"a common value is held by none of {n} documents"
    return None


def _wrong_ranges(arrays: Arrays, n: int) -> str | None:
    """Find a gap or an overlap between ranges, which cover all documents."""
    first, last, size = arrays["ranges"].T
    if (np.append(first, n) != np.append(0, last)).any() or (first >= last).any() or (size < 0).any():
        return f"its ranges do not follow each other from the first of {n} documents to the last"
    return None


def _wrong_pairs(arrays: Arrays, n: int) -> str | None:
    """Find a pair of unknown documents, out of order, or with impossible counts."""
    a, b, common = arrays["a"], arrays["b"], arrays["common"]
    if len(b) and (b.max() >= n or (a >= b).any()):
        return f"a pair is not of an earlier and a later one of {n} documents"
    if ((a[1:] < a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] <= b[:-1]))).any():
        return "its pairs do not ascend"
    if ((common > arrays["in_a"]) | (common > arrays["in_b"])).any():
        return "a pair has more members in common than one of the two has"
    return None


def _wrong_clusters(arrays: Arrays, n: int) -> str | None:
    """Find a label, class, resemblance, list of members or chain that cannot be."""
    labels, codes, resemblance = arrays["labels"], arrays["codes"], arrays["resemblance"]
    own = np.arange(n, dtype=np.uint32)
    if (labels > own).any() or (labels[labels] != labels).any():
        return "a representative is not the first of its cluster"
    if (codes >= len(CLASSES)).any() or ((codes == 0) != (labels == own)).any():
        return "a document is in its cluster for no known reason"
    if ((resemblance < 0) | (resemblance > 1)).any():
        return "a resemblance is not between 0 and 1"
    group, member = arrays["group"], arrays["member"]
    if len(member) != int(np.count_nonzero(np.bincount(labels, minlength=n)[labels] > 1)) or (len(member) and (
            member.max() >= n or (labels[member] != group).any() or (group[1:] < group[:-1]).any()
            or ((group[1:] == group[:-1]) & (member[1:] <= member[:-1])).any())):
        return "the members of clusters are not those that the labels tell"
    chained, size = arrays["chains_representative"], arrays["chains_size"]
    if ((chained < 0) | (chained >= n)).any() or (chained[1:] <= chained[:-1]).any():
        return f"chains are not of ascending ones of {n} documents"
    if ((size < 1) | (size > n) | (arrays["chains_apart"] < 0) | (arrays["chains_apart"] > size)
            | (arrays["chains_hops"] < 0) | (arrays["chains_hops"] > size)).any():
        return f"a chain is of no number of {n} documents"
    return None


def _wrong_ids(arrays: Arrays, n: int) -> str | None:
    """Find an order that does not permute the documents, or does not sort their ids."""
    if "order" not in arrays:
        return None
    order, seen = arrays["order"], np.zeros(n, np.bool_)
    if n and order.max() >= n:
        return f"the order of the ids names document {order.max()} of {n}"
    seen[order] = True
    if not seen.all():
        return "the order of the ids does not permute the documents"
    keys = arrays["ids"][order] if "ids" in arrays else arrays["keys"]
    if (keys[1:] < keys[:-1]).any():
        return "the ids do not ascend in their order"
    if "ids" in arrays:
        return None
    ends, data = arrays["id_offsets"], arrays["id_bytes"]
    if ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any():
        return f"the ids do not lie one after another in {len(data)} bytes"
    return None


# ---- the table of slots

COMMON: Form = {"common": (np.uint64, "c 3")}  # value, number of holders, one of them
ORDER: Form = {"order": (np.uint32, "n")}
LABELS: tuple[Form, ...] = (
    {"ids": (np.int64, "n")}, {"id_bytes": (np.uint8, "b"), "id_offsets": (np.int64, "n'")},
)
CHAINS: Form = {
    **{f"chains_{name}": (np.int64, "k") for name in ("representative", "size", "apart", "hops")},
    **{f"chains_{name}": (np.float64, "k") for name in ("least", "bottleneck")},
}

Lifetime = Literal["kept", "until paired", "until finished"]


class Slot(NamedTuple):
    """What a slot holds.

    Attributes
    ----------
    contents : str
    forms : tuple of mappings
        Sets of arrays, one of which the slot has: dtype and dimensions of each. A dimension is a letter; n is the number of
        documents, a digit itself, and any other letter the same in all arrays. "n'" is n + 1.
    fault : callable, optional
        Of (arrays, n): what is wrong with their values in words, or None. Linear.
    lifetime : "kept", "until paired" or "until finished"
        "until paired": dropped when phase three has ended. "until finished": dropped when the collection is complete.
    header : tuple of str
        Names that the header has.
    """

    contents: str
    forms: tuple[Form, ...] = ({},)
    fault: Callable[[Arrays, int], str | None] | None = None
    lifetime: Lifetime = "kept"
    header: tuple[str, ...] = ()


SLOTS: Mapping[str, Slot] = {
    SKETCHES: Slot("sketches of consecutive documents, in parts"),
    SKETCHED: Slot("the number of documents, once all are sketched", lifetime="until finished", header=("documents",)),
    DOCUMENTS: Slot("the first document with an equal sketch, and how a document is the same as it",
                    ({"leader": (np.uint32, "n"), "same": (np.uint8, "n")},), _wrong_documents),
    KEYS: Slot("digests of what must agree, in parts as the sketches", ({"keys": (np.uint8, "k 16")},)),
    BY: Slot("labels of documents that are compared with each other", LABELS, _wrong_labels),
    ONE_PER: Slot("labels of documents of which the first is compared", LABELS, _wrong_labels),
    SLABS: Slot("lowest value, highest value and number of entries of each part of the entries",
                ({"slabs": (np.uint64, "s 3")},), _wrong_slabs),
    ENTRIES: Slot("sorted entries (value, document), in parts",
                  ({"keys": (np.uint64, "e"), "documents": (np.uint32, "e")},), _wrong_entries),
    DIRECTORY: Slot("every 512th value of the entries", ({"first": (np.uint64, "b")},), _wrong_directory),
    RUNS: Slot("documents that hold a value in common, and values held by too many, in parts",
               ({"holders": (np.uint32, "h"), "ends": (np.uint32, "r"), "crowd": (np.uint32, "w"), **COMMON},), _wrong_runs,
               "until paired"),
    RANGES: Slot("first document, last document and number of pairs of each part of the pairs",
                 ({"ranges": (np.int64, "r 3")},), _wrong_ranges, "until finished"),
    PAIRS: Slot("pairs of documents and what their samples have in common, in parts",
                (dict.fromkeys(("a", "b", "common", "in_a", "in_b"), (np.uint32, "p")),), _wrong_pairs),
    PAIRED: Slot("values held by too many documents, once all pairs are counted", (COMMON,), _wrong_paired),
    CLUSTERS: Slot("labels, classes, resemblances, members of clusters, and chains",
                   ({"labels": (np.uint32, "n"), "codes": (np.uint8, "n"), "resemblance": (np.float64, "n"),
                     "group": (np.uint32, "g"), "member": (np.uint32, "g"), **CHAINS},),
                   _wrong_clusters, header=("threshold", "policy", "cluster", "guard", "least")),
    IDS: Slot("ids of documents, as they come and sorted",
              ({}, {"ids": (np.int64, "n"), **ORDER},
               {"id_bytes": (np.uint8, "b"), "id_offsets": (np.int64, "n'"), "keys": (np.uint64, "n"), **ORDER}),
              _wrong_ids),
    PLACES: Slot("where documents stand in files; `ndcore.files.provenance` checks it"),
}


# ---- shelves


class Shelf(Protocol):
    """Named outcomes, each a header and arrays. An outcome on a shelf is complete."""

    def has(self, name: str) -> bool:
        """Tell whether an outcome is there."""

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Put an outcome there, in place of an older one."""

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return header and arrays of an outcome; the arrays are not to be written to."""

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        """Put sketches there."""

    def get_sketches(self, name: str) -> Sketches:
        """Return sketches that were put there."""

    def drop(self, name: str) -> None:
        """Drop an outcome, if it is there."""

    def names(self, folder: str) -> list[str]:
        """List the names that begin with ``folder/``, ascending."""

    def where(self, name: str) -> str:
        """Name an outcome for a message: by its file, if it is in one."""

    def reserve(self, need: int, what: str) -> None:
        """Raise OSError where the disk has no room for `need` bytes more."""

    def opened(self, name: str, documents: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return header and arrays of a slot, or of a part, without a look at their values.

        CorruptFile where it is missing, or where names, types or dimensions of its arrays are wrong.
        """
        try:
            header, arrays = self.get(name)
        except FileNotFoundError as error:
            raise self.corrupt(name, "the file is missing") from error
        slot = SLOTS[name.partition("/")[0]]
        sizes = {"n": documents, "n'": documents + 1}
        faults = [find_misfit(form, arrays, sizes, f"the other arrays and {documents} documents") for form in slot.forms]
        if None not in faults:
            raise self.corrupt(name, str(faults[0]))
        for key in slot.header:
            if key not in header:
                raise self.corrupt(name, f"its header has no {key!r}")
        return header, arrays

    def read(self, name: str, documents: int) -> dict[str, AnyArray]:
        """Return the arrays of a slot, or of a part, with values that are possible. O(values).

        CorruptFile, which names the file, where they are not.
        """
        arrays = self.opened(name, documents)[1]
        wrong = SLOTS[name.partition("/")[0]].fault
        fault = None if wrong is None else wrong(arrays, documents)
        if fault is not None:
            raise self.corrupt(name, fault)
        return arrays

    def read_parts(self, slot: str, documents: int) -> list[dict[str, AnyArray]]:
        """Return the arrays of each part of a slot, as `read` returns them."""
        return [self.read(name, documents) for name in self.names(slot)]

    def read_sketches(self, recipe: Recipe) -> list[Sketches]:
        """Return the parts of the sketches, of this recipe, whose samples ascend; CorruptFile where not. O(values)."""
        parts = []
        for name in self.names(SKETCHES):
            parts.append(found := self.get_sketches(name))
            try:
                recipe.check(found.recipe)
                check_values(found.recipe, found.values, found.offsets, found.moduli)
            except ValueError as error:
                raise self.corrupt(name, str(error)) from error
        return parts

    def read_keys(self, documents: int) -> NDArray[np.uint8]:
        """Return the digests of what must agree, of all documents."""
        rows = np.concatenate([np.empty((0, 16), np.uint8), *(part["keys"] for part in self.read_parts(KEYS, documents))])
        if len(rows) != documents:
            raise self.corrupt(part_name(KEYS, 0), f"there are keys of {len(rows)} documents, not of {documents}")
        return rows

    def drop_slots(self, *names: str) -> None:
        """Drop these slots with all their parts."""
        for slot in names:
            for name in (slot, *self.names(slot)):
                self.drop(name)

    def discard(self, lifetime: Lifetime) -> None:
        """Drop the slots whose lifetime has ended."""
        self.drop_slots(*(name for name, slot in SLOTS.items() if slot.lifetime == lifetime))

    def corrupt(self, name: str, fault: str) -> CorruptFile:
        """Make the error to raise where something is wrong with a slot."""
        return CorruptFile(f"{self.where(name)}: {fault}; build the collection again")


class MemoryShelf(Shelf):
    """A shelf in memory; outcomes past `limit` bytes in all go to files of a temporary directory."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit, self._bytes = limit, 0
        self._kept: dict[str, tuple[int, Any]] = {}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._files: DirectoryShelf | None = None

    @property
    def spilled(self) -> bool:
        """Whether an outcome went to files."""
        return self._files is not None

    def _keep(self, name: str, nbytes: int, what: Any) -> DirectoryShelf | None:
        """Keep an outcome in memory, in place of an older one; where there is no room, return the files to put it in."""
        with _COUNTING:
            self.drop(name)
            if self._limit is None or self._bytes + nbytes <= self._limit:
                self._kept[name] = nbytes, what
                self._bytes += nbytes
                return None
            if self._files is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="ndcore-")
                self._files = DirectoryShelf(self._temporary.name)
            return self._files

    def has(self, name: str) -> bool:
        return name in self._kept or (self._files is not None and self._files.has(name))

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        files = self._keep(name, sum(array.nbytes for array in arrays.values()), (dict(header), dict(arrays)))
        if files is not None:
            files.put(name, header, arrays)

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        if self._files is not None and name not in self._kept:
            return self._files.get(name)
        outcome: tuple[dict[str, Any], dict[str, AnyArray]] = self._kept[name][1]
        return outcome

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        files = self._keep(name, sketches.values.nbytes + 32 * len(sketches), sketches)
        if files is not None:
            files.put_sketches(name, sketches)

    def get_sketches(self, name: str) -> Sketches:
        if self._files is not None and name not in self._kept:
            return self._files.get_sketches(name)
        sketches: Sketches = self._kept[name][1]
        return sketches

    def drop(self, name: str) -> None:
        self._bytes -= self._kept.pop(name, (0, None))[0]
        if self._files is not None:
            self._files.drop(name)

    def names(self, folder: str) -> list[str]:
        kept = [name for name in self._kept if name.startswith(f"{folder}/")]
        return sorted(kept + ([] if self._files is None else self._files.names(folder)))

    def where(self, name: str) -> str:
        return name if self._files is None or name in self._kept else self._files.where(name)

    def reserve(self, need: int, what: str) -> None:
        pass


class DirectoryShelf(FileShelf, Shelf):
    """A shelf of files, for the outcomes of a collection; see `FileShelf`."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, "collection")

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        sketches.save(self._place(name), durable=False)

    def get_sketches(self, name: str) -> Sketches:
        self._check_kind(name, KIND)
        return load(self._file(name), mmap=True, verify=False)


def counted_pairs(shelf: Shelf, n: int) -> Iterator[CountedPairs]:
    """Yield the pairs of n documents on the shelf, part by part, ascending. CorruptFile where they are not."""
    last = -1
    for name in shelf.names(PAIRS):
        columns = {key: column.astype(np.int64) for key, column in shelf.read(name, n).items()}
        a, b = columns.pop("a"), columns.pop("b")
        if len(a):
            if a[0] <= last:
                raise shelf.corrupt(name, f"its pairs do not follow the pairs of document {last}, in the part before")
            last = int(a[-1])
        yield CountedPairs(a, b, Overlaps(**columns))
