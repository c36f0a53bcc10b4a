"""Recognise the outputs of ndcore itself: its collections, directories, sketches and indexes are never read as texts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ndcore.files.errors import UsageError
from ndcore.files.outputs import SUMMARY, begins_output, is_output
from ndcore.storage.container import MAGIC, kind_of
from ndcore.storage.job_description import COLLECTION as COLLECTION_JOB
from ndcore.storage.job_description import REPEATS
from ndcore.store.manifest import COPY as STORE_COPY
from ndcore.store.manifest import DESCRIPTION as STORE_DESCRIPTION
from ndcore.store.manifest import begins_store, is_store

COLLECTION, OUTPUT, SEARCH, SKETCHES, STORE = "collection", "output", "search", "sketches", "store"
NAMES = frozenset((COLLECTION_JOB.file, SUMMARY, STORE_DESCRIPTION, STORE_COPY, REPEATS.file))  # these identify a directory
_SUFFIXES = (".nds", ".ndc", ".ndh", ".ndt", ".ndw")
_WHAT = {
    COLLECTION: "is a collection of ndcore cluster, without texts: ndcore cluster {0} NEW -o COLLECTION adds documents "
    "to it, ndcore query asks it, ndcore dedup NEW --against {0} takes one of signatures; elsewhere name the documents",
    OUTPUT: "is an output of ndcore; its documents are {0}/{1}: name that",
    STORE: "is a store of ndcore store, which ndcore store decide {0} IN adds pages to; name the documents",
    SEARCH: "is what an interrupted ndcore repeats has left, and the same command goes on from there; name the documents",
    SKETCHES: "holds sketches, not documents",
    "hamming": "is an index of fingerprints, not a document: ndcore hamming query {0} asks it",
    "texts": "is an index of texts in Python, without the texts: ndcore.Index.load opens it; name the documents",
    "idf": "holds weights of shingles, not a document: give them to ndcore sketch by --weights",
}


def own_kind(path: str) -> str | None:
    """Return the kind of the output of ndcore at `path`, from `own_directory` or its container, or None.

    Raises CorruptFile if a file begins like a container of ndcore and is damaged.
    """
    place = Path(path)
    if place.is_dir():
        return own_directory(place, NAMES)
    return kind_of(place)


def own_directory(place: Path, names: Collection[str]) -> str | None:
    """Return "collection", "store", "search" or "output" if a directory with entries of these names is one, else None."""
    if COLLECTION_JOB.file in names and COLLECTION_JOB.is_in(place):
        return COLLECTION
    if not NAMES.isdisjoint(names) and is_store(place):
        return STORE
    if REPEATS.file in names and REPEATS.is_in(place):
        return SEARCH
    return OUTPUT if SUMMARY in names and is_output(place) else None


def own_remote(name: str, head: bytes) -> str | None:
    """Like `own_directory`, recognise a remote directory by the name and the beginning of a file in it."""
    if name == COLLECTION_JOB.file and COLLECTION_JOB.begins(head):
        return COLLECTION
    if name in (STORE_DESCRIPTION, STORE_COPY) and begins_store(head):
        return STORE
    if name == REPEATS.file and REPEATS.begins(head):
        return SEARCH
    return OUTPUT if name == SUMMARY and begins_output(head) else None


def is_own_file(path: str) -> bool:
    """Tell whether a file has a suffix of ndcore, and begins like its containers."""
    if not path.lower().endswith(_SUFFIXES):
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def refuse_own(path: str, accept: Collection[str] = ()) -> str | None:
    """Return `own_kind` if it is None or accepted; else raise a UsageError that says what to do with the file."""
    kind = own_kind(path)
    if kind is None or kind in accept:
        return kind
    what = _WHAT.get(kind, "is a file of ndcore ({1}), not a document; name the directory that it belongs to")
    if kind != OUTPUT:
        raise UsageError(f"{path} {what.format(path, kind)}")
    parts = ("kept", "annotated", "cleaned", "cleaned.jsonl", "annotated.jsonl")
    part = next((part for part in parts if (Path(path) / part).exists()), None)
    what = "is an output of ndcore without documents; name the documents" if part is None else what
    raise UsageError(f"{path} {what.format(path, part)}")
