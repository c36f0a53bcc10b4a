"""What lies on the shelf of a collection, and what must be true of it before it is used.

===========  =====================================================  =====================  ============================
slot         what                                                   written by             read by
===========  =====================================================  =====================  ============================
sketches/…   sketches of consecutive documents                      fourphase              fourphase, collection
read         how many documents were sketched (unfinished only)     fourphase              fourphase
documents    the leader of each document, and how it is the same    fourphase              fourphase, collection
slabs        (lowest, highest value, entries) of each slab          phases                 phases, collection
entries/…    sorted entries (value, document) of a slab             phases                 phases, collection
runs/…       documents that hold a value in common (until paired)   phases                 phases, fourphase
ranges       (first, last document, pairs) (unfinished only)        phases                 phases
pairs/…      pairs of documents, and what their samples share       phases                 clusterings, clusterreport
paired       common values: value, holders, example                 fourphase              fourphase
clusters     labels, classes, resemblances, chains                  collection             collection
ids          ids of documents, in their order and sorted            collection             names
places       where documents stand in files (checked there)         commands/clustering    files/provenance
===========  =====================================================  =====================  ============================

A file is believed in nothing: its checksums say that it was not damaged, not who wrote it. Names, types and lengths of
arrays are compared whenever a slot is read, what they hold by `read`, at linear cost, and by whoever looks at a part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Arrays
from ndcore.collection.shelf import Shelf
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import check_values
from ndcore.sketch.sketches import Sketches
from ndcore.storage.container import CorruptFile

__all__ = ["SLOTS", "Slot", "corrupt", "opened", "read", "sketches"]

Form = Mapping[str, tuple[type[np.generic], str]]  # by name of an array: dtype, dimensions

HOW_SAME = 4  # itself, identical, lexical, shingle
CLASSES = 6
LARGEST = (1 << 64) - 1


class Slot(NamedTuple):
    """What a slot holds.

    Attributes
    ----------
    forms : tuple of mappings
        Sets of arrays, of which it has one: dtype and dimensions of each. A dimension is a letter; n is the number of
        documents, a digit itself, and any other letter the same in all arrays. "n'" is n + 1.
    fault : callable
        (arrays, n) to what is wrong with their values in words, or None. Linear.
    header : tuple of str
        Names that the header has.
    """

    forms: tuple[Form, ...]
    fault: Callable[[Arrays, int], str | None]
    header: tuple[str, ...] = ()


def opened(shelf: Shelf, name: str, documents: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a slot, whose values are not looked at.

    CorruptFile where there is none, or the arrays are not of the names, types and dimensions that the slot has.
    """
    try:
        header, arrays = shelf.get(name)
    except FileNotFoundError as error:
        raise corrupt(shelf, name, "the file is missing") from error
    slot = SLOTS[name.partition("/")[0]]
    faults = [_misfit(form, arrays, documents) for form in slot.forms]
    if None not in faults:
        raise corrupt(shelf, name, str(faults[0]))
    for key in slot.header:
        if key not in header:
            raise corrupt(shelf, name, f"its header has no {key!r}")
    return header, arrays


def read(shelf: Shelf, name: str, documents: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a slot that hold together; CorruptFile, which names the file, where not. O(values)."""
    header, arrays = opened(shelf, name, documents)
    fault = SLOTS[name.partition("/")[0]].fault(arrays, documents)
    if fault is not None:
        raise corrupt(shelf, name, fault)
    return header, arrays


def sketches(shelf: Shelf, name: str, recipe: Recipe) -> Sketches:
    """Return sketches of this recipe whose samples ascend; CorruptFile, which names the file, where not. O(values)."""
    found = shelf.get_sketches(name)
    try:
        recipe.check(found.recipe)
        check_values(found.recipe, found.values, found.offsets, found.moduli)
    except ValueError as error:
        raise corrupt(shelf, name, str(error)) from error
    return found


def corrupt(shelf: Shelf, name: str, fault: str) -> CorruptFile:
    """Return the error to raise where something is wrong with a slot."""
    return CorruptFile(f"{shelf.where(name)}: {fault}; build the collection again")


def _misfit(form: Form, arrays: Arrays, documents: int) -> str | None:
    if arrays.keys() != form.keys():
        return f"it has the arrays {', '.join(sorted(arrays)) or 'none'}, not {', '.join(sorted(form)) or 'none'}"
    sizes = {"n": documents, "n'": documents + 1}
    for name, (dtype, dimensions) in form.items():
        array, wanted = arrays[name], dimensions.split()
        if array.dtype != dtype or array.ndim != len(wanted):
            return f"{name} is {array.dtype} of {array.ndim} dimensions, not {np.dtype(dtype)} of {len(wanted)}"
        for size, dimension in zip(array.shape, wanted, strict=True):
            expected = int(dimension) if dimension.isdigit() else sizes.setdefault(dimension, size)
            if size != expected:
                return f"{name} has {size} where {expected} fit the other arrays and {documents} documents"
    return None


# ---- what values must be


def _documents(arrays: Arrays, n: int) -> str | None:
    leader, same = arrays["leader"], arrays["same"]
    own = np.arange(n, dtype=np.uint32)
    if (leader > own).any() or (leader[leader] != leader).any():
        return "a leader is not the first of its documents"
    if (same >= HOW_SAME).any() or ((same == 0) != (leader == own)).any():
        return "a document is the same as its leader in no known way"
    return None


def _slabs(arrays: Arrays, n: int) -> str | None:
    low, high = arrays["slabs"][:, 0], arrays["slabs"][:, 1]
    follow = len(low) and low[0] == 0 and high[-1] == LARGEST and (low <= high).all()
    if not follow or (high[:-1] + np.uint64(1) != low[1:]).any():
        return "its slabs do not follow each other from the lowest value to the highest"
    return None


def _entries(arrays: Arrays, n: int) -> str | None:
    keys, documents = arrays["keys"], arrays["documents"]
    if len(documents) and documents.max() >= n:
        return f"an entry names document {documents.max()} of {n}"
    if ((keys[1:] < keys[:-1]) | ((keys[1:] == keys[:-1]) & (documents[1:] <= documents[:-1]))).any():
        return "its entries do not ascend"
    return None


def _runs(arrays: Arrays, n: int) -> str | None:
    holders, ends, crowd = arrays["holders"], arrays["ends"], arrays["crowd"]
    for documents in (holders, crowd):
        if len(documents) and documents.max() >= n:
            return f"a value is held by document {documents.max()} of {n}"
    if (ends[-1] if len(ends) else 0) != len(holders) or (np.diff(ends.astype(np.int64), prepend=0) < 2).any():
        return f"its runs of 2 documents and more do not end one after another, the last of {len(holders)}"
    later = np.ones(len(holders), np.bool_)
    later[:1] = later[ends[:-1]] = False
    if (holders[1:] <= holders[:-1])[later[1:]].any():
        return "the documents of a run do not ascend"
    fault = _common(arrays, n)
    if fault is None and int(arrays["common"][:, 1].sum()) != len(crowd):
        fault = f"common values are not held by {len(crowd)} documents"
    return fault


def _common(arrays: Arrays, n: int) -> str | None:
    holders, examples = arrays["common"][:, 1], arrays["common"][:, 2]
    if ((holders < 1) | (holders > n) | (examples >= n)).any():
        return f"a common value is held by none of {n} documents"
    return None


def _ranges(arrays: Arrays, n: int) -> str | None:
    first, last, size = arrays["ranges"].T
    if (np.append(first, n) != np.append(0, last)).any() or (first >= last).any() or (size < 0).any():
        return f"its ranges do not follow each other from the first of {n} documents to the last"
    return None


def _pairs(arrays: Arrays, n: int) -> str | None:
    a, b, common = arrays["a"], arrays["b"], arrays["common"]
    if len(b) and (b.max() >= n or (a >= b).any()):
        return f"a pair is not of an earlier and a later one of {n} documents"
    if ((a[1:] < a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] <= b[:-1]))).any():
        return "its pairs do not ascend"
    if ((common > arrays["in_a"]) | (common > arrays["in_b"])).any():
        return "a pair has more members in common than one of the two has"
    return None


def _clusters(arrays: Arrays, n: int) -> str | None:
    labels, codes, resemblance = arrays["labels"], arrays["codes"], arrays["resemblance"]
    own = np.arange(n, dtype=np.uint32)
    if (labels > own).any() or (labels[labels] != labels).any():
        return "a representative is not the first of its cluster"
    if (codes >= CLASSES).any() or ((codes == 0) != (labels == own)).any():
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


def _ids(arrays: Arrays, n: int) -> str | None:
    if "order" not in arrays:
        return None
    order, seen = arrays["order"], np.zeros(n, np.bool_)
    if n and order.max() >= n:
        return f"the order of the ids names document {order.max()} of {n}"
    seen[order] = True
    if not seen.all():
        return "the order of the ids is no permutation of the documents"
    keys = arrays["ids"][order] if "ids" in arrays else arrays["keys"]
    if (keys[1:] < keys[:-1]).any():
        return "the ids do not ascend in their order"
    if "ids" in arrays:
        return None
    ends, data = arrays["id_offsets"], arrays["id_bytes"]
    if ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any():
        return f"the ids do not lie one after another in {len(data)} bytes"
    return None


def _nothing(arrays: Arrays, n: int) -> str | None:
    return None


PAIRS: Form = dict.fromkeys(("a", "b", "common", "in_a", "in_b"), (np.uint32, "p"))
COMMON: Form = {"common": (np.uint64, "c 3")}
CHAINS: Form = {
    **{f"chains_{name}": (np.int64, "k") for name in ("representative", "size", "apart", "hops")},
    **{f"chains_{name}": (np.float64, "k") for name in ("least", "bottleneck")},
}

SLOTS: Mapping[str, Slot] = {
    "read": Slot(({},), _nothing, ("documents",)),
    "documents": Slot(({"leader": (np.uint32, "n"), "same": (np.uint8, "n")},), _documents),
    "slabs": Slot(({"slabs": (np.uint64, "s 3")},), _slabs),
    "entries": Slot(({"keys": (np.uint64, "e"), "documents": (np.uint32, "e")},), _entries),
    "runs": Slot(({"holders": (np.uint32, "h"), "ends": (np.uint32, "r"), "crowd": (np.uint32, "w"), **COMMON},), _runs),
    "ranges": Slot(({"ranges": (np.int64, "r 3")},), _ranges),
    "pairs": Slot((PAIRS,), _pairs),
    "paired": Slot((COMMON,), _common),
    "clusters": Slot(
        ({"labels": (np.uint32, "n"), "codes": (np.uint8, "n"), "resemblance": (np.float64, "n"), "group": (np.uint32, "g"),
          "member": (np.uint32, "g"), **CHAINS},),
        _clusters, ("threshold", "policy", "cluster", "guard", "least"),
    ),
    "ids": Slot(
        ({}, {"ids": (np.int64, "n"), "order": (np.uint32, "n")},
         {"id_bytes": (np.uint8, "b"), "id_offsets": (np.int64, "n'"), "keys": (np.uint64, "n"), "order": (np.uint32, "n")}),
        _ids,
    ),
}
