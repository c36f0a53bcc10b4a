"""The directory that ``ndcore cluster`` writes: what an earlier run left there, and what an interrupted run leaves."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ndcore.cli.door import Outcome
from ndcore.collection.collection import Collection
from ndcore.collection.manifest import described, is_collection
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.output_paths import check_output
from ndcore.files.provenance import SavedPlaces
from ndcore.files.sources import Source
from ndcore.sketch.sketches import Sketches

__all__ = ["CollectionOutput", "keep_places", "places_of"]


class CollectionOutput:
    """The output directory of one run.

    An interrupted run leaves an unfinished collection there, and the same command goes on with it. A collection is of the
    same command if its description has the same source: inputs, how they are read, and options.

    Attributes
    ----------
    name : str
        As the user gave it.
    source : dict or None
        What this run works on; None until it has claimed the directory.
    """

    def __init__(self, name: str, overwrite: bool, outcome: Outcome) -> None:
        """Name the directory; nothing is checked or written yet."""
        self.name, self.path, self.overwrite, self.outcome = name, Path(name), overwrite, outcome
        self.source: dict[str, Any] | None = None

    def check(self, inputs: Sequence[Source] = ()) -> None:
        """Check that a collection can be written here. Raises UsageError."""
        for source in inputs:
            if source.location and Path(source.location).resolve().is_relative_to(self.path.resolve()):
                raise UsageError(f"the input {source.path} lies in the output {self.name}; give another output name")
        check_output(self.name, "collection", overwrite=True, folder=True)  # an unfinished collection is continued

    def claim(self, source: dict[str, Any]) -> None:
        """Make the directory the output of this run.

        With ``--overwrite``, a collection there is removed, unless the same command left it unfinished.
        """
        if self.overwrite and is_collection(self.path):
            try:
                there = described(self.path)
                unfinished = not there["finished"] and there["source"] == source
            except ValueError:  # damaged, or of a newer format
                unfinished = False
            if not unfinished:
                shutil.rmtree(self.path)
        self.source = source

    def finished(self) -> Collection | None:
        """Return the collection here if an earlier run of the same source has finished it, else None."""
        if not is_collection(self.path):
            return None
        there = described(self.path)
        return Collection.open(self.name) if there["finished"] and there["source"] == self.source else None

    @contextlib.contextmanager
    def refuse_others(self) -> Iterator[None]:
        """Raise UsageError where the directory holds something else than a collection to go on with."""
        try:
            yield
        except FileExistsError as error:
            raise UsageError(f"the output {self.name} {error.strerror}; give another name, or --overwrite to replace a "
                             "collection") from error

    @contextlib.contextmanager
    def say_what_is_left(self) -> Iterator[None]:
        """Tell `main` at an interruption or an error what there is to go on with."""
        try:
            yield
        except (KeyboardInterrupt, MemoryError, OSError, DocumentError) as error:
            if self.source is not None and is_collection(self.path):
                self.outcome.message = self._left(error)
            raise

    def _left(self, error: BaseException) -> str:
        """Return what to say of the collection that is left; remove it if it has not a single document.

        Say nothing of a collection of another source, or whose description cannot be read: this run did not make it.
        """
        try:
            there = described(self.path)
        except (OSError, ValueError):
            return ""
        if there["source"] != self.source:
            return ""
        if there["finished"]:
            same = "the same command without --overwrite" if self.overwrite else "the same command"
            complete = f"the collection {self.path} is complete; {same} tells what is in it"
            return complete if isinstance(error, KeyboardInterrupt) else ""
        if not any(self.path.rglob("*.ndc")):
            shutil.rmtree(self.path)
            return ""
        same = "the same command with --on-error skip" if isinstance(error, DocumentError) else "the same command"
        return f"what was done so far is in {self.path}: {same} goes on from there"


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
