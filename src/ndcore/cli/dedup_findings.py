"""The search of ``ndcore dedup``, and its outputs: documents, verdicts, and ``summary.json``."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy as np

from ndcore._types import Ints
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import recipe_data
from ndcore.cli.command import blame_command
from ndcore.cli.commands import DedupOptions
from ndcore.cli.inputs import (
    all_sketches,
    choose_settings,
    count_repeated,
    ids_of,
    open_documents,
    ranking_of,
    refuse_nothing_read,
    say_how_ordered,
    text_field,
)
from ndcore.collection.collection import Collection
from ndcore.dedup.classes import CLASSES
from ndcore.dedup.near_duplicates import near_duplicates
from ndcore.dedup.result import NearDuplicates
from ndcore.files.document_fields import GroupingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.formats import ARCHIVED
from ndcore.files.jsonl_output import write_lines
from ndcore.files.ndcore_files import COLLECTION
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.provenance import Place
from ndcore.files.rewritten_inputs import SavedRecords, write_annotated, write_ids, write_kept, write_kept_ids
from ndcore.files.sources import STDIN, Inputs, Source, is_stream, is_url, read_otherwise
from ndcore.files.verdicts import NamedVerdicts, PlaceColumns, write_clusters
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.filters.search import design_filter
from ndcore.human import pasted, printable
from ndcore.parallel import beside
from ndcore.progress import by_position, reporting
from ndcore.report.plain_values import plain
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import Idf
from ndcore.text.shingling import Shingling

# ---- the search


@dataclass(frozen=True)
class Side:
    """One side of a run: the documents or saved sketches that are deduplicated, or those they are compared against."""

    corpus: FileDocuments | Sketches
    sources: list[Source]

    @property
    def documents(self) -> FileDocuments | None:
        """The documents; None if only sketches were saved."""
        return self.corpus if isinstance(self.corpus, FileDocuments) else None

    @property
    def sketched(self) -> bool:
        """Whether only sketches were saved, so that resemblances are estimates."""
        return self.documents is None

    @property
    def places(self) -> PlaceColumns | None:
        """The function that returns the places of documents as columns; None if only sketches were saved."""
        return None if self.documents is None else self.documents.places


class DedupRun:
    """The inputs of one deduplication, and the search itself; `stack` closes the documents at the end."""

    def __init__(
        self, options: DedupOptions, inputs: Inputs, known: Inputs, weights: Idf | None, stack: contextlib.ExitStack
    ) -> None:
        self.options, self.weights = options, weights
        self.saved: SavedRecords | None = None  # the rejected records in the output
        self.ranking = ranking_of(options.keep)
        self._groups = GroupingField(options.by, "--by") if options.by else None
        self._versions = GroupingField(options.one_per, "--one-per") if options.one_per else None
        fields = {"keep": self.ranking, "by": self._groups, "one_per": self._versions, "annotate": options.annotate}
        self.texts = _side(options, inputs, "IN", stack, **fields)
        self.known = _side(options, known, "--against", stack) if known.sources else None

    @property
    def sides(self) -> list[Side]:
        """The inputs, and the documents of --against if there are any."""
        return [self.texts] if self.known is None else [self.texts, self.known]

    @property
    def estimated(self) -> bool:
        """Whether some pairs are judged by sketches."""
        return any(side.sketched for side in self.sides)

    def near_duplicates(self) -> Any:
        """Find the near-duplicates at the lowest threshold.

        Raises UsageError if the options do not fit the saved sketches, or no filter finds pairs at the threshold;
        DocumentError if no document could be read.
        """
        options, threshold = self.options, self.options.thresholds[0]
        saved = [side.corpus for side in self.sides if side.sketched]
        self.shingling, numbers = choose_run_settings(options, saved, self.weights)
        if options.filter != "complete" and options.drop != "contained" and self.weights is None:
            check_threshold(threshold, numbers.get("num_perm", 84))
        codes = [None if grouping is None else grouping.codes for grouping in (self._groups, self._versions)]
        with reporting(not options.quiet) as report:
            result = near_duplicates(
                self.texts.corpus,
                threshold=threshold,
                shingling=self.shingling,
                must_agree=tuple(options.must_agree),
                weights=self.weights,
                against=None if self.known is None else self.known.corpus,
                keep=options.keep[0] if self.ranking is None else self.ranking.priorities,
                by=codes[0],
                one_per=codes[1],
                **options.take("filter", "drop", "min_shingles", "drop_common", "lost", "max_lost", "reassign", "cluster",
                               "max_holders", "memory_limit", "threads"),
                progress=by_position(report, "sketching", self._position),
                **numbers,
            )
        say_how_ordered(self.ranking)
        if self.texts.documents is not None:
            refuse_nothing_read(self.texts.documents, options.inputs[0])
        return result

    def _position(self) -> tuple[int, int] | None:
        """Return the bytes read and the bytes of all files, for both sides; None if either is unknown."""
        positions = [side.documents.position() for side in self.sides if side.documents is not None]
        known = [position for position in positions if position is not None]
        if not known or len(known) < len(positions):
            return None
        return sum(read for read, _ in known), sum(total for _, total in known)


def choose_run_settings(
    options: DedupOptions, saved: Sequence[Any], weights: Idf | None
) -> tuple[Shingling, dict[str, Any]]:
    """Choose the shingling, num_perm and seed of a run, by saved sketches or by weights if there are any."""
    if weights is None:
        return choose_settings(options, saved, num_perm=options.num_perm, seed=options.seed)
    shingling, _ = choose_settings(options, [weights])
    return shingling, {name: number for name, number in options.take("num_perm", "seed").items() if number is not None}


def _side(options: DedupOptions, inputs: Inputs, what: str, stack: contextlib.ExitStack, **fields: Any) -> Side:
    """Load saved sketches, or open documents; `what` names the inputs in messages."""
    if all_sketches(inputs.sources, what):
        return Side(_signatures(inputs.sources), inputs.sources)
    documents = open_documents(options, inputs, memory_limit=options.memory_limit, **fields)
    return Side(stack.enter_context(documents), inputs.sources)


def check_threshold(threshold: float, num_perm: int) -> int:
    """Return the length of the signatures. Raises UsageError, before anything is read, if no filter finds pairs."""
    with blame_command():
        return design_filter(threshold, num_perm=num_perm).num_perm


def _signatures(sources: Sequence[Source]) -> Sketches:
    """Load and concatenate the signatures of files and collections. Raises UsageError for other sketches."""
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


# ---- parts of summary.json

LARGEST = 20  # losses that are listed
SAMPLED = 10_000  # signatures that an estimate reads: reading all would take longer than the search


def describe_filter(result: NearDuplicates) -> dict[str, Any]:
    """Describe the filter: its parameters, the probability that it misses a pair at the threshold, and why it was chosen."""
    design = result.filter
    described: dict[str, Any] = plain(design)
    return {"kind": "lsh" if isinstance(design, FilterDesign) else "prefix", **described, "miss": design.miss,
            "choice": plain(result.filter_choice)}


def cost_of_completeness(result: NearDuplicates) -> dict[str, Any] | None:
    """Estimate the cost of ``--filter complete``; None if the filter is complete already, or texts are not available.

    At most `SAMPLED` shingle sets are measured. If documents have signatures, these give the sizes, so no text is read
    again.
    """
    documents = result.sources
    if isinstance(result.filter, PrefixFilter) or not documents.has_text(np.arange(len(documents))).all():
        return None
    compared = np.flatnonzero(documents.valid & result.leaders.compared)
    sample = compared[_spread(len(compared), SAMPLED)]
    if documents.rows is not None:
        sizes = sizes_of_rows(documents.rows[sample], np.ones(len(sample), np.bool_), documents.recipe)
    else:
        assert result.basis.verifier is not None  # the rule needed the sets of all documents
        sizes = result.basis.verifier.sets.sizes(sample).astype(np.float64)
    shingles = float(sizes.sum())
    looked_up = result.filter.complete.probe_length(np.rint(sizes).astype(np.int64)).sum()
    whole = round(shingles * len(compared) / max(1, len(sample)))
    return {
        "shingles": whole, "looked_up_of_100": round(100 * float(looked_up) / max(shingles, 1.0), 1),
        "shingle_bytes": SHINGLE_BYTES * whole, "sampled": len(sample),
    }


def _spread(n: int, most: int) -> Ints:
    """Choose at most `most` of n positions: a random one from each of `most` parts of nearly equal length."""
    if n <= most:
        return np.arange(n)
    ends = np.arange(most + 1) * n // most
    return np.random.default_rng(n).integers(ends[:-1], ends[1:])


def describe_losses(verdicts: NamedVerdicts) -> dict[str, Any] | None:
    """Count the shingles that no kept document has, and list the largest losses; None if they were not counted."""
    lost = verdicts.lost
    if lost is None:
        return None
    first = verdicts.by_loss()[:LARGEST]
    return {
        "shingles": int(lost.sum()), "documents": int(np.count_nonzero(lost)),
        "largest": [verdicts.line(position) for position in first[lost[first] > 0].tolist()],
    }


DIFFERING = [CLASSES.index(name) for name in ("near", "contained", "chained")]  # classes whose texts differ in words
ANOTHER_LOOK = "To look at a pair with ndcore compare, save standard input to a file: it can be read once only."


class DedupFindings:
    """The near-duplicates of a run at one threshold.

    Positions count the documents of the inputs from 0, then the documents of --against. Pairs were verified at
    `verified_at`, the lowest threshold of the run.
    """

    def __init__(self, run: DedupRun, result: Any, verified_at: float) -> None:
        self.run, self.result, self.verified_at = run, result, verified_at
        texts, known = run.texts, run.known
        against: dict[str, Any] = {} if known is None else {
            "against": ids_of(known.corpus), "against_sketched": known.sketched, "against_places": known.places,
            "has_against": True}
        self.verdicts = NamedVerdicts(result, ids_of(texts.corpus), sketched=texts.sketched, places=texts.places, **against)

    @classmethod
    def of(cls, run: DedupRun) -> DedupFindings:
        """Find the near-duplicates at the lowest threshold of the run."""
        return cls(run, run.near_duplicates(), run.options.thresholds[0])

    def at(self, threshold: float) -> DedupFindings:
        """Derive the findings at a higher threshold from the pairs that were verified at the lowest one."""
        result = self.result
        if threshold == result.threshold:
            return self
        design: FilterDesign | PrefixFilter = result.filter
        if isinstance(design, PrefixFilter):
            design = dataclasses.replace(design, threshold=threshold)
        else:
            design = FilterDesign.of(design.groups, design.group_size, design.need, threshold=threshold,
                                     num_perm=design.num_perm, documents=design.documents)
        return DedupFindings(self.run, dataclasses.replace(result.rethreshold(threshold), filter=design), self.verified_at)

    def locate(self, position: int) -> tuple[Side, int]:
        """Find the side of a document, and its position there."""
        n, known = len(self.verdicts), self.run.known
        return (self.run.texts, position) if position < n or known is None else (known, position - n)

    def name_document(self, position: int) -> str:
        """Name a document for people: its place and its id."""
        side, inside = self.locate(position)
        if side.documents is None:
            return printable(str(self.verdicts.name(position)), 60)
        ident = side.documents.own_id(inside)
        more = "" if ident is None else f" ({printable(str(ident), 60)})"
        return f"{printable(str(side.documents.place(inside)))}{more}"

    def example(self) -> str:
        """Return a line with the command that shows a pair; empty if no pair has both texts available."""
        n, labels, known = len(self.verdicts), self.result.labels, self.run.known
        readable = (labels < n) | (known is None or not known.sketched)
        dropped = self.verdicts.by_loss()
        dropped = dropped[readable[dropped]]
        if not len(dropped) or self.run.texts.sketched:
            return ""
        differing = dropped[np.isin(self.verdicts.classes[dropped], DIFFERING)]
        pair = int((differing if len(differing) else dropped)[0])
        places = [self._lasting_place(position) for position in (int(labels[pair]), pair)]
        if None in places:
            return ANOTHER_LOOK
        options, words = self.run.options, []
        stop_words = None if options.stop_words is None else options.stop_words.path
        for field in options.text_field or ():
            words += ["--text-field", field]
        for option, value, default in (
            ("--html", options.html_part, None), ("--encoding", options.encoding, None),
            ("--delimiter", options.delimiter, None), ("--unit", options.unit, None), ("--width", options.width, None),
            ("--normalize", options.normalize, None), ("--stop-words", stop_words, None),
            ("--threshold", self.result.threshold, 0.8),
        ):
            words += [option, str(value)] if value != default else []
        return f"Look at a pair with: ndcore compare {pasted([*map(str, places), *words])}"

    def _lasting_place(self, position: int) -> Place | None:
        """Return the place of a document; None for a stream, which cannot be read again."""
        side, inside = self.locate(position)
        assert side.documents is not None
        place = side.documents.place(inside)
        lasting = is_url(place.file) or (place.file != STDIN and not (Path(place.file).exists() and is_stream(place.file)))
        return place if lasting else None

    # ---- files

    def write(self, output: OutputDirectory) -> dict[str, Any]:
        """Write everything below the output directory, and return the summary."""
        documents, options = self.run.texts.documents, self.run.options
        clusters = beside(partial(write_clusters, output, self.verdicts), options.threads)
        with reporting(not options.quiet) as report, clusters:
            if documents is None:
                sources = self.run.texts.sources
                write_kept_ids(output, sources[0].name if len(sources) == 1 else "sketches", self._kept_ids())
            elif options.annotate:
                write_annotated(output, documents, self.verdicts, report)
            else:
                write_kept(output, documents, self.verdicts.kept, report)
        data = self.summary()
        write_summary(output, data)
        return data

    def print(self, stdout: IO[bytes]) -> dict[str, Any]:
        """Write the kept records (with --annotate, all) to standard output as lines of JSON, and return the summary.

        Documents that could not be read, and paths that were skipped, are listed on standard error.
        """
        documents, kept, options = self.run.texts.documents, self.verdicts.kept, self.run.options
        replaced, options.outcome.printed = 0, True
        with reporting(not options.quiet) as report:
            if documents is None:
                write_ids(stdout, self._kept_ids())
            elif options.annotate:
                replaced = write_lines(stdout, documents, np.ones_like(kept), self.verdicts.describe, report)
            else:
                replaced = write_lines(stdout, documents, kept, None, report)
        stdout.flush()
        data = self.summary() | {"replaced_bytes": replaced}
        for side in self.run.sides:
            if side.documents is not None:
                summary.print_unread(side.documents, sys.stderr)
        return data

    def _kept_ids(self) -> Iterator[str | int]:
        """Iterate over the ids of the kept documents."""
        return (self.verdicts.name(int(position)) for position in np.flatnonzero(self.verdicts.kept))

    # ---- summary.json

    def summary(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        run, result, documents, known = self.run, self.result, self.run.texts.documents, self.run.known
        rejected = 0 if documents is None else len(documents.rejected)
        recipe, against = result.sources.recipe, None
        if known is not None:
            against = {"read": len(known.corpus), "sketches": True} if known.documents is None else {
                "read": known.documents.read, "inputs": summary.input_counts(known.documents, None),
                **summary.what_was_not_read(known.documents)}
        if documents is not None:
            inputs = summary.input_counts(documents, self.verdicts)
        else:  # of a single file of sketches, its documents are counted
            counts = {"read": len(run.texts.corpus)} if len(run.texts.sources) == 1 else {}
            inputs = [{"name": source.name, **counts} for source in run.texts.sources]
        return {
            "ndcore": __version__,
            "counts": self._counts(rejected),
            "clusters": self.verdicts.clusters(),
            "parameters": self._parameters(recipe),
            "recipe": None if recipe is None else recipe_data(recipe),
            "verdict": recipe_data(result.recipe),
            "estimated": run.estimated,
            "expected_spurious": result.expected_spurious,
            "missed_by_estimate": result.missed_by_estimate,
            "filter": describe_filter(result),
            "complete_filter": cost_of_completeness(result),
            "common": plain(result.common),
            "common_shingles": result.common_shingles,
            "lost": describe_losses(self.verdicts),
            "pairs_below": None if result.pairs_below is None else [step._asdict() for step in result.pairs_below],
            "pairs_verified_at": self.verified_at,
            "without_shingles": int(np.count_nonzero(~np.asarray(result.valid[: len(self.verdicts)], bool))),
            "pages_without_main_content": 0 if documents is None else documents.without_main,
            "pages_by_tags": [] if documents is None else summary.by_tags_list(documents),
            "invalid_utf8_bytes": int(result.invalid_bytes),
            "blank_lines": 0 if documents is None else documents.blank,
            "without_keep_field": run.ranking.missing if run.ranking is not None else 0,
            "repeated_ids": count_repeated(run.texts.corpus),
            **({} if documents is None else summary.archive_counts(documents)),
            "inputs": inputs,
            "read_otherwise": {} if documents is None else read_otherwise(documents.sources),
            "against": against,
            **summary.what_was_not_read(documents, run.saved),
        }

    def _counts(self, rejected: int) -> dict[str, Any]:
        """Count read, kept, dropped and rejected documents. Raises AssertionError if the sum is wrong, a bug of ndcore."""
        read, kept, dropped = len(self.verdicts) + rejected, int(self.verdicts.kept.sum()), self.verdicts.counts()
        if read != kept + sum(dropped.values()) + rejected:
            raise AssertionError(f"{read} read, {kept} kept, {dropped} dropped and {rejected} rejected do not add up")
        return {"read": read, "kept": kept, "dropped": sum(dropped.values()), "dropped_by_class": dropped,
                "rejected": rejected}

    def _parameters(self, recipe: Any) -> dict[str, Any]:
        """Return the parameters that decide the result, from the command line or by default."""
        options, shingling = self.run.options, self.run.shingling
        html = options.html_part
        if html is None and any(source.kind in ("html", *ARCHIVED) for source in self.run.texts.sources):
            html = "page"
        return {
            **options.take("inputs", "against"),
            "threshold": self.result.threshold,
            **{name: getattr(shingling, name) for name in ("unit", "width", "normalize")},
            **{name: recipe[name] for name in ("num_perm", "seed") if recipe is not None and name in recipe},
            **options.take("filter", "drop", "must_agree", "min_shingles", "drop_common", "cluster", "reassign", "lost",
                           "max_lost", "weights", "max_holders"),
            "keep": ":".join(filter(None, options.keep)),
            **options.take("by", "one_per"),
            "text_field": text_field(options),
            "id_field": options.id_field or "id",
            **options.take("include", "exclude", "hidden", "on_error", "annotate"),
            "html": html,
            **options.take("encoding", "delimiter"),
            "resiliparse": metadata.version("resiliparse") if html else None,
        }


