"""The slots of a collection: one table of what lies on its shelf, and how a slot is read.

A slot is a file of a collection, or an entry in memory. Slots with parts have one file a part, as ``pairs/00000000``.
`SLOTS` says for each what it holds, which modules write and read it, and how long it lives.

Files may be forged: checksums tell damage, not who wrote a file. So `opened` compares names, types and lengths of arrays,
and `read` compares their values too, at linear cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ndcore._types import AnyArray, Arrays
from ndcore.collection import slot_checks
from ndcore.collection.shelf import Shelf
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import check_values
from ndcore.sketch.sketches import Sketches
from ndcore.storage.array_forms import Form, misfit
from ndcore.storage.container import CorruptFile

__all__ = ["SLOTS", "Slot", "corrupt", "discard", "drop_parts", "opened", "read", "read_parts", "read_sketches"]

SKETCHES, SKETCHED, DOCUMENTS = "sketches", "read", "documents"  # phase one
SLABS, ENTRIES, DIRECTORY, RUNS = "slabs", "entries", "directory", "runs"  # phase two
RANGES, PAIRS, PAIRED = "ranges", "pairs", "paired"  # phase three
CLUSTERS, IDS, PLACES = "clusters", "ids", "places"  # phase four, and what a collection adds to the four phases

Lifetime = Literal["kept", "until paired", "until finished"]


class Slot(NamedTuple):
    """What a slot holds.

    Attributes
    ----------
    name : str
    contents : str
    written_by, read_by : tuple of str
        Modules of `ndcore.collection`.
    lifetime : "kept", "until paired" or "until finished"
        "until paired": dropped when phase three has ended. "until finished": dropped when the collection is complete.
    forms : tuple of mappings
        Sets of arrays, one of which the slot has: dtype and dimensions of each. A dimension is a letter; n is the number of
        documents, a digit itself, and any other letter the same in all arrays. "n'" is n + 1.
    fault : callable
        Of (arrays, n): what is wrong with their values in words, or None. Linear.
    header : tuple of str
        Names that the header has.
    """

    name: str
    contents: str
    written_by: tuple[str, ...]
    read_by: tuple[str, ...]
    lifetime: Lifetime = "kept"
    forms: tuple[Form, ...] = ({},)
    fault: Callable[[Arrays, int], str | None] = slot_checks.nothing
    header: tuple[str, ...] = ()


COMMON: Form = {"common": (np.uint64, "c 3")}  # value, number of holders, one of them
ORDER: Form = {"order": (np.uint32, "n")}
CHAINS: Form = {
    **{f"chains_{name}": (np.int64, "k") for name in ("representative", "size", "apart", "hops")},
    **{f"chains_{name}": (np.float64, "k") for name in ("least", "bottleneck")},
}

SLOTS: Mapping[str, Slot] = {slot.name: slot for slot in (
    Slot(SKETCHES, "sketches of consecutive documents, in parts",
         ("phase1_sketches",), ("phase1_sketches", "stored")),
    Slot(SKETCHED, "the number of documents, once all are sketched",
         ("phase1_sketches",), ("phase1_sketches",), "until finished", header=("documents",)),
    Slot(DOCUMENTS, "the first document with an equal sketch, and how a document is the same as it",
         ("build", "equal_documents"), ("collection", "equal_documents", "stored"),
         forms=({"leader": (np.uint32, "n"), "same": (np.uint8, "n")},), fault=slot_checks.documents),
    Slot(SLABS, "lowest value, highest value and number of entries of each part of the entries",
         ("phase2_entries",), ("phase2_entries", "phase3_pairs", "stored"),
         forms=({"slabs": (np.uint64, "s 3")},), fault=slot_checks.slabs),
    Slot(ENTRIES, "sorted entries (value, document), in parts",
         ("phase2_entries",), ("phase2_entries", "phase3_pairs", "stored"),
         forms=({"keys": (np.uint64, "e"), "documents": (np.uint32, "e")},), fault=slot_checks.entries),
    Slot(DIRECTORY, "every 512th value of the entries; collections of earlier versions have none",
         ("phase2_entries",), ("phase2_entries", "stored"),
         forms=({"first": (np.uint64, "b")},), fault=slot_checks.directory),
    Slot(RUNS, "documents that hold a value in common, and values held by too many, in parts",
         ("phase2_entries",), ("phase3_pairs",), "until paired",
         ({"holders": (np.uint32, "h"), "ends": (np.uint32, "r"), "crowd": (np.uint32, "w"), **COMMON},), slot_checks.runs),
    Slot(RANGES, "first document, last document and number of pairs of each part of the pairs",
         ("phase3_pairs",), ("phase3_pairs",), "until finished",
         ({"ranges": (np.int64, "r 3")},), slot_checks.ranges),
    Slot(PAIRS, "pairs of documents and what their samples have in common, in parts",
         ("phase3_pairs",), ("phase3_pairs",),
         forms=(dict.fromkeys(("a", "b", "common", "in_a", "in_b"), (np.uint32, "p")),), fault=slot_checks.pairs),
    Slot(PAIRED, "values held by too many documents, once all pairs are counted",
         ("phase3_pairs",), ("phase3_pairs",), forms=(COMMON,), fault=slot_checks.paired),
    Slot(CLUSTERS, "labels, classes, resemblances, members of clusters, and chains",
         ("stored",), ("stored",),
         forms=({"labels": (np.uint32, "n"), "codes": (np.uint8, "n"), "resemblance": (np.float64, "n"),
                 "group": (np.uint32, "g"), "member": (np.uint32, "g"), **CHAINS},),
         fault=slot_checks.clusters, header=("threshold", "policy", "cluster", "guard", "least")),
    Slot(IDS, "ids of documents, as they come and sorted",
         ("build",), ("build", "collection", "stored"),
         forms=({}, {"ids": (np.int64, "n"), **ORDER},
                {"id_bytes": (np.uint8, "b"), "id_offsets": (np.int64, "n'"), "keys": (np.uint64, "n"), **ORDER}),
         fault=slot_checks.ids),
    Slot(PLACES, "where documents stand in files; `ndcore.files.provenance` checks it",
         ("collection",), ("collection",)),
)}


def opened(shelf: Shelf, name: str, documents: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return header and arrays of a slot, or of a part, without a look at their values.

    CorruptFile where it is missing, or where names, types or dimensions of its arrays are wrong.
    """
    try:
        header, arrays = shelf.get(name)
    except FileNotFoundError as error:
        raise corrupt(shelf, name, "the file is missing") from error
    slot = SLOTS[name.partition("/")[0]]
    sizes = {"n": documents, "n'": documents + 1}
    faults = [misfit(form, arrays, sizes, f"the other arrays and {documents} documents") for form in slot.forms]
    if None not in faults:
        raise corrupt(shelf, name, str(faults[0]))
    for key in slot.header:
        if key not in header:
            raise corrupt(shelf, name, f"its header has no {key!r}")
    return header, arrays


def read(shelf: Shelf, name: str, documents: int) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return header and arrays of a slot, or of a part, with values that are possible. O(values).

    CorruptFile, which names the file, where they are not.
    """
    header, arrays = opened(shelf, name, documents)
    fault = SLOTS[name.partition("/")[0]].fault(arrays, documents)
    if fault is not None:
        raise corrupt(shelf, name, fault)
    return header, arrays


def read_parts(shelf: Shelf, slot: str, documents: int) -> Iterator[tuple[str, dict[str, AnyArray]]]:
    """Yield name and arrays of each part of a slot, as `read` returns them."""
    for name in shelf.names(slot):
        yield name, read(shelf, name, documents)[1]


def read_sketches(shelf: Shelf, name: str, recipe: Recipe) -> Sketches:
    """Return sketches of this recipe whose samples ascend; CorruptFile, which names the file, where not. O(values)."""
    found = shelf.get_sketches(name)
    try:
        recipe.check(found.recipe)
        check_values(found.recipe, found.values, found.offsets, found.moduli)
    except ValueError as error:
        raise corrupt(shelf, name, str(error)) from error
    return found


def drop_parts(shelf: Shelf, *names: str) -> None:
    """Drop all parts of these slots."""
    for name in names:
        for part in shelf.names(name):
            shelf.drop(part)


def discard(shelf: Shelf, lifetime: Lifetime) -> None:
    """Drop the slots whose lifetime has ended."""
    for slot in SLOTS.values():
        if slot.lifetime == lifetime:
            shelf.drop(slot.name)
            drop_parts(shelf, slot.name)


def corrupt(shelf: Shelf, name: str, fault: str) -> CorruptFile:
    """Make the error to raise where something is wrong with a slot."""
    return CorruptFile(f"{shelf.where(name)}: {fault}; build the collection again")
