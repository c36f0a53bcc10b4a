"""The shelf of a collection: the store for the results of the phases, in memory or in a directory; and its slots.

A slot is a file of a collection, or an entry in memory. Slots with parts have one file a part, as ``pairs/00000000``.
`SLOTS` defines the content and the lifetime of each slot.

Files may be forged: checksums show damage, but not who wrote a file. So `Shelf.opened` checks names, types and lengths of
arrays, and `Shelf.read` also checks their values, at linear cost: for each slot a function yields possible faults in order,
and later checks may rely on earlier ones.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

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

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained", "version")  # relations of a document
KEPT, IDENTICAL, LEXICAL, SHINGLE, NEAR, CONTAINED, VERSION = range(7)  # positions there; below NEAR, sketches are equal

SKETCHES, SKETCHED, DOCUMENTS = "sketches", "read", "documents"  # phase one
KEYS, BY, ONE_PER = "keys", "by", "one_per"  # phase one, with options
SLABS, ENTRIES, DIRECTORY, RUNS = "slabs", "entries", "directory", "runs"  # phase two
RANGES, PAIRS, PAIRED = "ranges", "pairs", "paired"  # phase three
CLUSTERS, IDS, PLACES = "clusters", "ids", "places"  # phase four, and additions of a collection

LARGEST = (1 << 64) - 1
_COUNTING = threading.Lock()  # guards the sizes of memory shelves, to which several threads write


# ---- checks of the values in a slot

Faults = Iterator[tuple[Any, str]]
"""Yields possible faults of values, and whether they are present, for the arrays of a slot and the number n of documents."""


def _documents(arrays: Arrays, n: int) -> Faults:
    leader, same, own = arrays["leader"], arrays["same"], np.arange(n, dtype=np.uint32)
    yield (leader > own).any() or (leader[leader] != leader).any(), "a leader is not the first of its documents"
    yield (((same >= NEAR) & (same != VERSION)).any() or ((same == 0) != (leader == own)).any(),
           "a document is the same as its leader in no known way")


def _labels(arrays: Arrays, n: int) -> Faults:
    try:
        unpack_ids(arrays)
    except ValueError as error:
        yield True, str(error)


def _slabs(arrays: Arrays, n: int) -> Faults:
    low, high = arrays["slabs"][:, 0], arrays["slabs"][:, 1]
    covered = len(low) and low[0] == 0 and high[-1] == LARGEST and (low <= high).all()
    yield (not covered or (high[:-1] + np.uint64(1) != low[1:]).any(),
           "its slabs do not follow each other from the lowest value to the highest")


def _entries(arrays: Arrays, n: int) -> Faults:
    keys, documents = arrays["keys"], arrays["documents"]
    yield _beyond(documents, n), f"an entry names document {documents.max(initial=0)} of {n}"
    yield _unsorted(keys, documents), "its entries do not ascend"


def _directory(arrays: Arrays, n: int) -> Faults:
    yield (arrays["first"][1:] < arrays["first"][:-1]).any(), "its values do not ascend"


def _runs(arrays: Arrays, n: int) -> Faults:
    holders, ends, of_common = arrays["holders"], arrays["ends"], arrays["crowd"]
    for documents in (holders, of_common):
        yield _beyond(documents, n), f"a value is held by document {documents.max(initial=0)} of {n}"
    yield ((ends[-1] if len(ends) else 0) != len(holders) or (np.diff(ends.astype(np.int64), prepend=0) < 2).any(),
           f"its runs of 2 documents and more do not end one after another, the last of {len(holders)}")
    later = np.ones(len(holders), np.bool_)
    later[:1] = later[ends[:-1]] = False
    yield (holders[1:] <= holders[:-1])[later[1:]].any(), "the documents of a run do not ascend"
    yield from _check_pairs(arrays, n)
    yield (int(arrays["common"][:, 1].sum()) != len(of_common),
           f"common values are not held by {len(of_common)} documents")


def _check_pairs(arrays: Arrays, n: int) -> Faults:
    _, holders, examples = arrays["common"].T
    yield ((holders < 1) | (holders > n) | (examples >= n)).any(), f"a common value is held by none of {n} documents"


def _ranges(arrays: Arrays, n: int) -> Faults:
    first, last, size = arrays["ranges"].T
    yield ((np.append(first, n) != np.append(0, last)).any() or (first >= last).any() or (size < 0).any(),
           f"its ranges do not follow each other from the first of {n} documents to the last")


def _pairs(arrays: Arrays, n: int) -> Faults:
    a, b, common = arrays["a"], arrays["b"], arrays["common"]
    yield _beyond(b, n) or (a >= b).any(), f"a pair is not of an earlier and a later one of {n} documents"
    yield _unsorted(a, b), "its pairs do not ascend"
    yield (((common > arrays["in_a"]) | (common > arrays["in_b"])).any(),
           "a pair has more members in common than one of the two has")


def _clusters(arrays: Arrays, n: int) -> Faults:
    labels, codes, resemblance = arrays["labels"], arrays["codes"], arrays["resemblance"]
    own = np.arange(n, dtype=np.uint32)
    yield (labels > own).any() or (labels[labels] != labels).any(), "a representative is not the first of its cluster"
    yield ((codes >= len(CLASSES)).any() or ((codes == 0) != (labels == own)).any(),
           "a document is in its cluster for no known reason")
    yield ((resemblance < 0) | (resemblance > 1)).any(), "a resemblance is not between 0 and 1"
    group, member = arrays["group"], arrays["member"]
    yield (len(member) != int(np.count_nonzero(np.bincount(labels, minlength=n)[labels] > 1)) or _beyond(member, n)
           or (labels[member] != group).any() or _unsorted(group, member),
           "the members of clusters are not those that the labels tell")
    chained, size = arrays["chains_representative"], arrays["chains_size"]
    yield (((chained < 0) | (chained >= n)).any() or (chained[1:] <= chained[:-1]).any(),
           f"chains are not of ascending ones of {n} documents")
    counts = np.stack([arrays["chains_apart"], arrays["chains_hops"]])
    yield (((size < 1) | (size > n) | (counts < 0) | (counts > size)).any(), f"a chain is of no number of {n} documents")


def _ids(arrays: Arrays, n: int) -> Faults:
    if "order" not in arrays:
        return
    order, seen = arrays["order"], np.zeros(n, np.bool_)
    yield _beyond(order, n), f"the order of the ids names document {order.max(initial=0)} of {n}"
    seen[order] = True
    yield not seen.all(), "the order of the ids does not permute the documents"
    keys = arrays["ids"][order] if "ids" in arrays else arrays["keys"]
    yield (keys[1:] < keys[:-1]).any(), "the ids do not ascend in their order"
    if "ids" not in arrays:
        ends, data = arrays["id_offsets"], arrays["id_bytes"]
        yield (ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any(),
               f"the ids do not lie one after another in {len(data)} bytes")


def _beyond(documents: AnyArray, n: int) -> bool:
    """Tell whether there is a document that does not exist."""
    return bool(len(documents) and documents.max() >= n)


def _unsorted(first: AnyArray, second: AnyArray) -> bool:
    """Tell whether rows (first, second) do not strictly ascend."""
    return bool(((first[1:] < first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] <= second[:-1]))).any())


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
    """The definition of a slot.

    Attributes
    ----------
    contents : str
    forms : tuple of mappings
        The possible sets of arrays of the slot: dtype and dimensions of each array. A dimension is n, the number of
        documents; "n'", which is n + 1; a digit, which is itself; or another letter, which is the same in all arrays.
    faults : callable
        Yields possible faults of the values, in words, and whether they are present. Linear.
    lifetime : "kept", "until paired" or "until finished"
        "until paired": dropped when phase three has ended. "until finished": dropped when the collection is complete.
    header : tuple of str
        Names that the header has.
    """

    contents: str
    forms: tuple[Form, ...] = ({},)
    faults: Callable[[Arrays, int], Iterable[tuple[Any, str]]] = lambda arrays, n: ()
    lifetime: Lifetime = "kept"
    header: tuple[str, ...] = ()


SLOTS: Mapping[str, Slot] = {
    SKETCHES: Slot("sketches of consecutive documents, in parts"),
    SKETCHED: Slot("the number of documents, once all are sketched", lifetime="until finished", header=("documents",)),
    DOCUMENTS: Slot("the first document with an equal sketch, and how a document is the same as it",
                    ({"leader": (np.uint32, "n"), "same": (np.uint8, "n")},), _documents),
    KEYS: Slot("digests of what must agree, in parts as the sketches", ({"keys": (np.uint8, "k 16")},)),
    BY: Slot("labels of documents that are compared with each other", LABELS, _labels),
    ONE_PER: Slot("labels of documents of which the first is compared", LABELS, _labels),
    SLABS: Slot("lowest value, highest value and number of entries of each part of the entries",
                ({"slabs": (np.uint64, "s 3")},), _slabs),
    ENTRIES: Slot("sorted entries (value, document), in parts",
                  ({"keys": (np.uint64, "e"), "documents": (np.uint32, "e")},), _entries),
    DIRECTORY: Slot("every 512th value of the entries", ({"first": (np.uint64, "b")},), _directory),
    RUNS: Slot("documents that hold a value in common, and values held by too many, in parts",
               ({"holders": (np.uint32, "h"), "ends": (np.uint32, "r"), "crowd": (np.uint32, "w"), **COMMON},), _runs,
               "until paired"),
    RANGES: Slot("first document, last document and number of pairs of each part of the pairs",
                 ({"ranges": (np.int64, "r 3")},), _ranges, "until finished"),
    PAIRS: Slot("pairs of documents and what their samples have in common, in parts",
                (dict.fromkeys(("a", "b", "common", "in_a", "in_b"), (np.uint32, "p")),), _pairs),
    PAIRED: Slot("values held by too many documents, once all pairs are counted", (COMMON,), _check_pairs),
    CLUSTERS: Slot("labels, classes, resemblances, members of clusters, and chains",
                   ({"labels": (np.uint32, "n"), "codes": (np.uint8, "n"), "resemblance": (np.float64, "n"),
                     "group": (np.uint32, "g"), "member": (np.uint32, "g"), **CHAINS},),
                   _clusters, header=("threshold", "policy", "cluster", "guard", "least")),
    IDS: Slot("ids of documents, as they come and sorted",
              ({}, {"ids": (np.int64, "n"), **ORDER},
               {"id_bytes": (np.uint8, "b"), "id_offsets": (np.int64, "n'"), "keys": (np.uint64, "n"), **ORDER}),
              _ids),
    PLACES: Slot("where documents are in files; `ndcore.files.provenance` checks it"),
}


# ---- shelves


class Shelf(FileShelf):
    """A shelf of files for the results of a collection; see `FileShelf`."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, "collection")

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        """Store sketches."""
        sketches.save(self._place(name), durable=False)

    def get_sketches(self, name: str) -> Sketches:
        """Return stored sketches."""
        self._check_kind(name, KIND)
        return load(self._file(name), mmap=True, verify=False)

    def opened(self, name: str, documents: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the header and arrays of a slot, or of a part, without checking their values.

        Raises CorruptFile if it is missing, or if names, types or dimensions of its arrays are wrong.
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
        """Return the arrays of a slot, or of a part, after checking their values. O(values).

        Raises CorruptFile, which names the file, for impossible values.
        """
        arrays = self.opened(name, documents)[1]
        for wrong, fault in SLOTS[name.partition("/")[0]].faults(arrays, documents):
            if wrong:
                raise self.corrupt(name, fault)
        return arrays

    def made(
        self, name: str, documents: int, make: Callable[[], dict[str, AnyArray]], instead_of: Sequence[str] = ()
    ) -> dict[str, AnyArray]:
        """Read the arrays of a slot, or of a part; if it is missing, make and store them.

        instead_of: slots that it replaces, which are dropped when it is made.
        """
        if self.has(name):
            return self.read(name, documents)
        arrays = make()
        self.drop_slots(*instead_of)
        self.put(name, {}, arrays)
        return arrays

    def read_parts(self, slot: str, documents: int) -> list[dict[str, AnyArray]]:
        """Yield the arrays of each part of a slot, as from `read`."""
        return [self.read(name, documents) for name in self.names(slot)]

    def is_paired(self, documents: int, keep: bool) -> bool:
        """Tell whether phases two and three are complete; without `keep`, entries may be missing."""
        if not all(self.has(name) for name in (PAIRED, SLABS, RANGES)):
            return False
        slabs, ranges = (len(self.read(name, documents)[name]) for name in (SLABS, RANGES))
        wanted = [part_name(PAIRS, number) for number in range(ranges)]
        wanted += [part_name(ENTRIES, number) for number in range(slabs) if keep]
        return all(self.has(name) for name in wanted)

    def read_sketches(self, recipe: Recipe) -> list[Sketches]:
        """Return the parts of the sketches. Raises CorruptFile for another recipe, or unsorted samples. O(values)."""
        parts = []
        for name in self.names(SKETCHES):
            parts.append(sketches := self.get_sketches(name))
            try:
                recipe.check(sketches.recipe)
                check_values(sketches.recipe, sketches.values, sketches.offsets, sketches.moduli)
            except ValueError as error:
                raise self.corrupt(name, str(error)) from error
        return parts

    def read_keys(self, documents: int) -> NDArray[np.uint8]:
        """Return the digests of the keys of `must_agree` of all documents."""
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
        """Make the error for a faulty slot."""
        return CorruptFile(f"{self.where(name)}: {fault}; build the collection again")


class MemoryShelf(Shelf):
    """A shelf in memory; results beyond `limit` bytes in all go to files in a temporary directory."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit, self._bytes = limit, 0
        self._kept: dict[str, tuple[int, Any]] = {}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def spilled(self) -> bool:
        """Whether any result went to files."""
        return self._temporary is not None

    def _keep(self, name: str, nbytes: int, what: Any) -> bool:
        """Keep a result in memory, replacing an older one; False if there is no room, but a directory for its file."""
        with _COUNTING:
            self.drop(name)
            if self._limit is None or self._bytes + nbytes <= self._limit:
                self._kept[name] = nbytes, what
                self._bytes += nbytes
                return True
            if self._temporary is None:
                temporary = tempfile.TemporaryDirectory(prefix="ndcore-")
                super().__init__(temporary.name)
                self._temporary = temporary
            return False

    def has(self, name: str) -> bool:
        return name in self._kept or (self.spilled and super().has(name))

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        if not self._keep(name, sum(array.nbytes for array in arrays.values()), (dict(header), dict(arrays))):
            super().put(name, header, arrays)

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        if self.spilled and name not in self._kept:
            return super().get(name)
        outcome: tuple[dict[str, Any], dict[str, AnyArray]] = self._kept[name][1]
        return outcome

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        if not self._keep(name, sketches.values.nbytes + 32 * len(sketches), sketches):
            super().put_sketches(name, sketches)

    def get_sketches(self, name: str) -> Sketches:
        if self.spilled and name not in self._kept:
            return super().get_sketches(name)
        sketches: Sketches = self._kept[name][1]
        return sketches

    def drop(self, name: str) -> None:
        self._bytes -= self._kept.pop(name, (0, None))[0]
        if self.spilled:
            super().drop(name)

    def names(self, folder: str) -> list[str]:
        kept = [name for name in self._kept if name.startswith(f"{folder}/")]
        return sorted(kept + (super().names(folder) if self.spilled else []))

    def where(self, name: str) -> str:
        return super().where(name) if self.spilled and name not in self._kept else name

    def reserve(self, need: int, what: str) -> None:
        pass


def counted_pairs(shelf: Shelf, n: int) -> Iterator[CountedPairs]:
    """Yield the pairs of n documents on the shelf, part by part, ascending. Raises CorruptFile if they do not ascend."""
    last = -1
    for name in shelf.names(PAIRS):
        columns = {key: column.astype(np.int64) for key, column in shelf.read(name, n).items()}
        a, b = columns.pop("a"), columns.pop("b")
        if len(a):
            if a[0] <= last:
                raise shelf.corrupt(name, f"its pairs do not follow the pairs of document {last}, in the part before")
            last = int(a[-1])
        yield CountedPairs(a, b, Overlaps(**columns))
