"""The directory that ``ndcore cluster`` writes: what an earlier run left there, and what an interrupted run leaves."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ndcore.cli.door import Outcome
from ndcore.cli.job_output import JobOutput, unfinished_beside
from ndcore.collection.collection import Collection
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.outputs import check_output, lies_in
from ndcore.files.provenance import SavedPlaces
from ndcore.files.sources import Source
from ndcore.sketch.sketches import Sketches
from ndcore.storage.job_description import COLLECTION
from ndcore.storage.staging import Staging, commit_together

__all__ = ["CollectionOutput", "keep_places", "places_of"]


class CollectionOutput(JobOutput):
    """The output directory of one run: a collection, unfinished until the end.

    Where a collection is replaced, the run works in a directory beside it, `path`, until `commit`.
    """

    others = "the output {name} {fault}; give another name, or --overwrite to replace a collection"

    def __init__(self, name: str, overwrite: bool, outcome: Outcome) -> None:
        """Name the directory; nothing is checked or written yet."""
        super().__init__(name, overwrite, outcome, COLLECTION)

    def claim(self, source: dict[str, Any]) -> None:
        """Take the directory for this run, or one beside it where a collection is there that ``--overwrite`` replaces.

        Raises
        ------
        BlockingIOError
            Another process works in the collection.
        UsageError
            The directory beside it holds something else than what an interrupted run leaves there.
        """
        beside = unfinished_beside(self.name)
        there = self.description.is_in(self.path)
        if self.overwrite and (self.description.is_in(beside) or (there and _is_finished(self.path))):
            self._check_replaced()
            if there:
                with self.description.alone(self.path):
                    pass
            self.path = beside
            if self.description.is_in(beside) and _is_finished(beside) and not self._is_of(source):
                raise UsageError(f"{beside}, where the new collection is made, holds a finished or damaged one already; "
                                 f"move or remove it, or give another name than {self.name}")
        super().claim(source)

    def _is_of(self, source: dict[str, Any]) -> bool:
        """Tell whether the collection here is of a source."""
        try:
            return bool(self.description.read(self.path)["source"] == json.loads(json.dumps(source)))
        except ValueError:
            return False

    def _goes_on(self, there: dict[str, Any], source: dict[str, Any]) -> bool:
        """Tell whether to go on with what is there: beside the output, also with a finished one that is not in its place."""
        return super()._goes_on(there, source) or (self.path != Path(self.name) and there["source"] == source)

    def _check_replaced(self) -> None:
        """Raise UsageError where something else than a collection would be replaced."""
        check_output(self.name, "collection", overwrite=True, ours=self.description.is_in, folder=True)

    def commit(self, staging: Staging, others: Sequence[Staging]) -> bool:
        """Commit other outputs, then put a collection that was made beside the output in its place; tell whether it was.

        The old one goes when the block of `staging` ends.
        """
        target = Path(self.name)
        if self.path == target:
            commit_together(others)
            return False
        with contextlib.ExitStack() as stack:
            if self.description.is_in(target):
                stack.enter_context(self.description.alone(target))
            staging.check, staging.made = self._check_replaced, self.path  # something else may be there by now
            commit_together([*others, staging])
            self.path = target
        return True

    def check(self, inputs: Sequence[Source] = ()) -> None:
        """Check that a collection can be written here. Raises UsageError."""
        for source in inputs:
            if source.location and lies_in(source.location, self.name):
                raise UsageError(f"the input {source.path} lies in the output {self.name}; give another output name")
        check_output(self.name, "collection", overwrite=True, folder=True)  # an unfinished collection is continued

    def remove(self) -> None:
        """Remove the directory, a finished collection with everything in it."""
        with self.description.alone(self.path):
            shutil.rmtree(self.path)

    def finished(self) -> Collection | None:
        """Return the collection here if an earlier run of the same source has finished it, else None."""
        if not self.description.is_in(self.path):
            return None
        with self.description.alone(self.path):  # which removes the lock of a job that was killed
            there = self.description.read(self.path)
        return Collection.open(self.path) if there["finished"] and there["source"] == self.source else None

    def _finished(self) -> str:
        """Return what to say of a complete collection."""
        if self.path != Path(self.name):
            return f"the new collection is complete in {self.path}: the same command puts it in the place of {self.name}"
        same = "the same command without --overwrite" if self.overwrite else "the same command"
        return f"the collection {self.path} is complete; {same} tells what is in it"


def _is_finished(place: Path) -> bool:
    """Tell whether a collection may be finished: it is, or its description cannot be read."""
    try:
        return bool(COLLECTION.read(place)["finished"])
    except ValueError:  # damaged, or of a newer format
        return True


def places_of(collection: Collection) -> SavedPlaces | None:
    """Return where the documents of a collection stand; None where it has no places. Raises CorruptFile."""
    return None if collection.places is None else SavedPlaces(*collection.places, len(collection))


def keep_places(collection: Collection, old: Collection | None, texts: FileDocuments | Sketches | None) -> None:
    """Keep in a collection where its documents stand: the places of an old collection, then of new documents."""
    count = 0 if texts is None else len(texts)
    places = texts.saved_places() if isinstance(texts, FileDocuments) else SavedPlaces.unknown(count)
    if old is not None:
        places = (places_of(old) or SavedPlaces.unknown(len(old))).followed_by(places)
    if places.header["files"]:
        collection.keep_places(places.header, places.arrays)
