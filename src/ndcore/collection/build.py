"""Build a collection in a directory: the four phases with their outcomes in files, then the ids, then the clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._types import AnyArray, AnyPath, Arrays
from ndcore.checks import check_ids
from ndcore.collection import slots
from ndcore.collection.cluster import run_phases
from ndcore.collection.ids import Names
from ndcore.collection.job import Given, Job, length
from ndcore.collection.manifest import begin, describe
from ndcore.collection.shelf import DirectoryShelf
from ndcore.collection.stored import save_clusters
from ndcore.progress import Progress, reporting
from ndcore.sketch.sketches import Sketches
from ndcore.storage.job_description import COLLECTION

__all__ = ["IdArrays", "build_collection", "ids_to_pack", "packed_ids"]

IdArrays = Callable[[int], dict[str, AnyArray]]
"""Of the number of documents, known at the end: the arrays of the slot ``ids``."""


def build_collection(
    path: AnyPath, job: Job, id_arrays: IdArrays, documents: Arrays | None, source: Mapping[str, Any] | None,
    text_bytes: int, progress: bool | Progress | None,
) -> None:
    """Build a collection, or go on with one that was interrupted, as `Collection.build` says.

    Parameters
    ----------
    documents : mapping of arrays or None
        The slot ``documents``, where it is known from another collection.

    Raises BlockingIOError where another job builds there, and otherwise as `Collection.build`.
    """
    place = Path(path)
    parameters = {**job.settings.plain(), "tell_apart": job.tell_apart}
    shelf = DirectoryShelf(place)
    with COLLECTION.alone(place):
        begin(place, parameters, json.loads(json.dumps(source)))
        shelf.mend()
        shelf.reserve(job.settings.expected_bytes(text_bytes) - shelf.nbytes, "sketches and sorted entries of so much text")
        if documents is not None:
            shelf.put(slots.DOCUMENTS, {}, documents)
        with reporting(progress) as report:
            found = run_phases(shelf, job, report, keep=True)
            ids = id_arrays(len(found))
        if not (shelf.has(slots.IDS) and _equal(slots.opened(shelf, slots.IDS, len(found))[1], ids)):
            shelf.put(slots.IDS, {}, ids)
        save_clusters(shelf, found)
        slots.discard(shelf, "until finished")
        shelf.sync()
        describe(place, parameters, source, finished=True)


def ids_to_pack(given: Given, ids: Iterable[Any] | None, earlier: Names | None = None) -> IdArrays:
    """Check ids as far as they are known, before anything is written; return how to pack them, `earlier` ones first.

    An iterator is read at the end, when the documents have been. TypeError or ValueError as of `Collection.build`.
    """
    if ids is None and isinstance(given, Sketches):
        ids = given.ids
    if ids is None:
        if earlier is not None and earlier.given:
            raise ValueError(f"the documents of the collection have ids, as {earlier[0]!r:.80}; give some for the new ones")
        return lambda total: {}
    check_ids(ids, length(given))
    ready = Names.packed(ids) if isinstance(ids, Sized) else None

    def packed(total: int) -> dict[str, AnyArray]:
        arrays = Names.packed(ids) if ready is None else ready
        count = len(arrays["order"])
        check_ids(range(count), total - (0 if earlier is None else len(earlier)))
        if earlier is None or not len(earlier):
            return arrays
        both = (names[position] for names in (earlier, Names(arrays, count)) for position in range(len(names)))
        return Names.packed(both if isinstance(earlier[0], str) == ("keys" in arrays) else map(str, both))

    return packed


def packed_ids(arrays: dict[str, AnyArray]) -> IdArrays:
    """Return ids that are packed already, for any number of documents."""
    return lambda total: arrays


def _equal(there: Arrays, given: Arrays) -> bool:
    """Tell whether two sets of arrays are the same."""
    return there.keys() == given.keys() and all(np.array_equal(there[name], given[name]) for name in there)
