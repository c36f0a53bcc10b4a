"""The directory that ``ndcore cluster`` writes: what an earlier run left there, and what an interrupted run leaves."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ndcore.cli.door import Outcome
from ndcore.cli.job_output import JobOutput
from ndcore.collection.collection import Collection
from ndcore.collection.manifest import described, is_collection
from ndcore.files.documents import Documents
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import check_output
from ndcore.files.provenance import SavedPlaces
from ndcore.files.sources import Source
from ndcore.sketch.sketches import Sketches
from ndcore.storage.job_description import COLLECTION

__all__ = ["CollectionOutput", "keep_places", "places_of"]


class CollectionOutput(JobOutput):
    """The output directory of one run: a collection, unfinished until the end."""

    others = "the output {name} {fault}; give another name, or --overwrite to replace a collection"

    def __init__(self, name: str, overwrite: bool, outcome: Outcome) -> None:
        """Name the directory; nothing is checked or written yet."""
        super().__init__(name, overwrite, outcome, COLLECTION)

    def check(self, inputs: Sequence[Source] = ()) -> None:
        """Check that a collection can be written here. Raises UsageError."""
        for source in inputs:
            if source.location and Path(source.location).resolve().is_relative_to(self.path.resolve()):
                raise UsageError(f"the input {source.path} lies in the output {self.name}; give another output name")
        check_output(self.name, "collection", overwrite=True, folder=True)  # an unfinished collection is continued

    def remove(self) -> None:
        """Remove the directory, a finished collection with everything in it."""
        with self.description.alone(self.path):
            shutil.rmtree(self.path)

    def finished(self) -> Collection | None:
        """Return the collection here if an earlier run of the same source has finished it, else None."""
        if not is_collection(self.path):
            return None
        with self.description.alone(self.path):  # which removes the lock of a job that was killed
            there = described(self.path)
        return Collection.open(self.name) if there["finished"] and there["source"] == self.source else None

    def _finished(self) -> str:
        """Return what to say of a complete collection."""
        same = "the same command without --overwrite" if self.overwrite else "the same command"
        return f"the collection {self.path} is complete; {same} tells what is in it"


def places_of(collection: Collection) -> SavedPlaces | None:
    """Return where the documents of a collection stand; None where it has no places. Raises CorruptFile."""
    return None if collection.places is None else SavedPlaces(*collection.places, len(collection))


def keep_places(collection: Collection, old: Collection | None, texts: Documents | Sketches | None) -> None:
    """Keep in a collection where its documents stand: the places of an old collection, then of new documents."""
    count = 0 if texts is None else len(texts)
    places = texts.saved_places() if isinstance(texts, Documents) else SavedPlaces.unknown(count)
    if old is not None:
        places = (places_of(old) or SavedPlaces.unknown(len(old))).followed_by(places)
    if places.header["files"]:
        collection.keep_places(places.header, places.arrays)
