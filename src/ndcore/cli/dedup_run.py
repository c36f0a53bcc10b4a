"""One run of ``ndcore dedup``: its options, its two sides, and the search for near-duplicates."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ndcore.cli.dedup_options import DedupOptions
from ndcore.cli.inputs import (
    COLLECTION,
    all_sketches,
    choose_settings,
    ids_of,
    open_documents,
    refuse_nothing_read,
    say_how_ordered,
)
from ndcore.collection.collection import Collection
from ndcore.dedup.near_duplicates import near_duplicates
from ndcore.files.document_fields import GroupingField, Ids, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputDirectory
from ndcore.files.rewritten_inputs import SavedRecords, write_rejected
from ndcore.files.sources import Inputs, Source
from ndcore.files.verdicts import PlaceColumns
from ndcore.filters.search import design_filter
from ndcore.progress import by_position, reporting
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import Sketches

__all__ = ["Run", "Side"]


@dataclass(frozen=True)
class Side:
    """What is deduplicated, or what it is deduplicated against: documents, or saved sketches."""

    corpus: FileDocuments | Sketches
    sources: list[Source]

    @property
    def documents(self) -> FileDocuments | None:
        """The documents, None of saved sketches."""
        return self.corpus if isinstance(self.corpus, FileDocuments) else None

    @property
    def sketched(self) -> bool:
        """Whether it is saved sketches, so that resemblance is estimated."""
        return self.documents is None

    @property
    def ids(self) -> Sequence[str | int] | Ids:
        """Ids of the documents."""
        return ids_of(self.corpus)

    @property
    def places(self) -> PlaceColumns | None:
        """The function from positions to where these documents stand, as columns; None of saved sketches."""
        return None if self.documents is None else self.documents.places


class Run:
    """Inputs and parameters of one deduplication, and the search itself.

    Parameters
    ----------
    options : DedupOptions
        With these inputs nothing refuses them.
    found, known : Inputs
        What to deduplicate, and what it is deduplicated against (no sources: nothing).
    stack : ExitStack
        Closes the documents at the end.

    Attributes
    ----------
    texts : Side
    known : Side or None
    ranking : Ranking or None
        Values of the field of --keep.
    saved : dict or None
        The rejected records that are in the output; None where they are not written.
    """

    def __init__(self, options: DedupOptions, found: Inputs, known: Inputs, stack: contextlib.ExitStack) -> None:
        self.options = options
        self.saved: SavedRecords | None = None
        rule, order = options.keep
        self.ranking = RankingField(rule, order == "desc") if order else None
        self._groups = GroupingField(options.by, "--by") if options.by else None
        self._versions = GroupingField(options.one_per, "--one-per") if options.one_per else None
        fields = {"keep": self.ranking, "by": self._groups, "one_per": self._versions, "annotate": options.annotate}
        self.texts = _side(options, found, "IN", stack, **fields)
        self.known = _side(options, known, "--against", stack) if known.sources else None

    @property
    def sides(self) -> list[Side]:
        """The inputs and, if there is one, the side of --against."""
        return [self.texts] if self.known is None else [self.texts, self.known]

    @property
    def estimated(self) -> bool:
        """Whether some pairs are judged by sketches."""
        return any(side.sketched for side in self.sides)

    def near_duplicates(self) -> Any:
        """Find the near-duplicates at the lowest threshold.

        Raises
        ------
        UsageError
            The options do not go with the saved sketches, or no filter finds pairs at the threshold.
        DocumentError
            No document could be read.
        """
        options, threshold = self.options, self.options.thresholds[0]
        saved = [side.corpus for side in self.sides if side.sketched]
        self.shingling, numbers = choose_settings(options, saved, num_perm=options.num_perm, seed=options.seed)
        if options.filter != "complete" and options.drop != "contained":
            _check_threshold(threshold, numbers.get("num_perm", 84))
        codes = [None if grouping is None else grouping.codes for grouping in (self._groups, self._versions)]
        with reporting(not options.quiet) as report:
            result = near_duplicates(
                self.texts.corpus,
                threshold=threshold,
                shingling=self.shingling,
                filter=options.filter,
                drop=options.drop,
                must_agree=tuple(options.must_agree),
                min_shingles=options.min_shingles,
                drop_common=options.drop_common,
                lost=options.lost,
                reassign=options.reassign,
                against=None if self.known is None else self.known.corpus,
                keep=options.keep[0] if self.ranking is None else self.ranking.priorities,
                by=codes[0],
                one_per=codes[1],
                cluster=options.cluster,
                max_holders=options.max_holders,
                memory_limit=options.memory_limit,
                threads=options.threads,
                progress=by_position(report, "sketching", self._position),
                **numbers,
            )
        say_how_ordered(self.ranking)
        if self.texts.documents is not None:
            refuse_nothing_read(self.texts.documents, options.inputs[0])
        return result

    def save_rejected(self, output: OutputDirectory) -> None:
        """Write the rejected records below the output, once for all thresholds."""
        if self.texts.documents is not None:
            self.saved = write_rejected(output, self.texts.documents)

    def _position(self) -> tuple[int, int] | None:
        """Return the bytes read and the bytes of all files, of both sides; None where either is unknown."""
        places = [side.documents.position() for side in self.sides if side.documents is not None]
        if not places or None in places:
            return None
        read, total = (sum(column) for column in zip(*filter(None, places), strict=True))
        return read, total


def _side(options: DedupOptions, found: Inputs, what: str, stack: contextlib.ExitStack, **fields: Any) -> Side:
    if all_sketches(found.sources, what):
        return Side(_signatures(found.sources), found.sources)
    documents = open_documents(options, found, memory_limit=options.memory_limit, **fields)
    return Side(stack.enter_context(documents), found.sources)


def _check_threshold(threshold: float, num_perm: int) -> None:
    """Raise UsageError, before anything is read, where no filter finds pairs at `threshold`."""
    try:
        design_filter(threshold, num_perm=num_perm)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _signatures(sources: Sequence[Source]) -> Sketches:
    """Load the signatures of files and collections, one after another; raise UsageError for sketches of other kinds."""
    joined: Sketches | None = None
    for source in sources:
        sketches = Collection.open(source.path).sketches if source.kind == COLLECTION else load(source.path)
        kind = sketches.recipe["kind"]
        if kind != "minhash":
            again = f"ndcore cluster IN -o {source.path} --method features"
            again = again if source.kind == COLLECTION else f"ndcore sketch IN -o {source.path}"
            raise UsageError(f"{source.path} holds {kind} sketches, and ndcore dedup compares signatures: make some of the "
                             f"documents with {again}, or name the documents")
        joined = sketches if joined is None else joined.concat(sketches)
    assert joined is not None
    return joined
