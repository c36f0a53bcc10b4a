"""One run of ``ndcore dedup``: inputs to the engine, its result to files."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.inputs import COLLECTION, all_sketches, ids_of, open_documents, repeated, settings, text_field
from ndcore.cli.outputs import binary
from ndcore.files.document_fields import Grouping, Ranking
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.jsonl_output import write_ids, write_lines
from ndcore.files.output_directory import (
    OutputDirectory,
    write_annotated,
    write_clusters,
    write_kept,
    write_kept_ids,
    write_summary,
)
from ndcore.files.provenance import Place
from ndcore.files.sources import STDIN, Inputs, Source, is_stream, is_url
from ndcore.files.verdicts import Verdicts
from ndcore.filters.design import FilterDesign
from ndcore.filters.search import design_filter
from ndcore.human import counted
from ndcore.progress import Progress, by_position, reporting

RECORD_FORMATS = "of JSON, CSV, Parquet, Arrow"


class Run:
    """Inputs, parameters and result of one deduplication.

    Parameters
    ----------
    args : Namespace
        Of ``ndcore dedup``; `refuse` has found nothing.
    found, known : Inputs
        What to deduplicate, and what it is deduplicated against (no sources: nothing).
    stack : ExitStack
        Gets what has to be closed at the end.
    """

    def __init__(self, args: argparse.Namespace, found: Inputs, known: Inputs, stack: contextlib.ExitStack) -> None:
        self.args = args
        self.sketched, self.against_sketched = (
            all_sketches(found.sources, "IN"),
            all_sketches(known.sources, "--against"),
        )
        rule, order = args.keep
        self.ranking = Ranking(rule, order == "desc") if order else None
        self.grouping = Grouping(args.by, "--by") if args.by else None
        self.versions = Grouping(args.one_per, "--one-per") if args.one_per else None
        self.texts = self._open(
            found, self.sketched, stack, keep=self.ranking, by=self.grouping, one_per=self.versions, annotate=args.annotate
        )
        self.known = self._open(known, self.against_sketched, stack) if known.sources else None
        self.sources = found.sources
        self.verdicts: Verdicts
        self.result: Any = None

    def _open(self, found: Inputs, sketched: bool, stack: contextlib.ExitStack, **options: Any) -> Any:
        if sketched:
            return _signatures(found.sources)
        return stack.enter_context(open_documents(self.args, found, **options))

    def find_duplicates(self) -> None:
        """Run the engine; `result` and `verdicts` are there afterwards."""
        args = self.args
        self.shingling, permutations = settings(
            args, [x for x in (self.texts, self.known) if x is not None and not isinstance(x, Documents)]
        )
        _check_threshold(args.threshold, **permutations)
        with reporting(not args.quiet) as report:
            self.result = self._found(by_position(report, "sketching", self._position), permutations)
        self._refuse_nothing_read()
        self._lowest = self.result
        self.select(args.threshold)

    def select(self, threshold: float) -> None:
        """Make `result` and `verdicts` those of a threshold, which is the lowest of the run or a higher one.

        The pairs that were verified for the lowest threshold answer for the higher ones.
        """
        self.args.threshold = threshold
        lowest, self.result = self._lowest, self._lowest
        if threshold > lowest.threshold:
            design = FilterDesign.of(
                lowest.filter.groups, lowest.filter.group_size, lowest.filter.need, threshold=threshold,
                num_perm=lowest.filter.num_perm, documents=lowest.filter.documents,
            )
            self.result = dataclasses.replace(lowest.rethreshold(threshold), filter=design)
        self.verdicts = Verdicts(
            self.result,
            ids_of(self.texts),
            ids_of(self.known) if self.known is not None else (),
            self.sketched,
            self.against_sketched,
            self.known is not None,
            self.texts.place if isinstance(self.texts, Documents) else None,
            self.known.place if isinstance(self.known, Documents) else None,
        )

    def _position(self) -> tuple[int, int] | None:
        """Bytes read, and bytes of all files: of the documents and of those of --against."""
        places = [side.position() for side in (self.texts, self.known) if isinstance(side, Documents)]
        if not places or None in places:
            return None
        read, total = (sum(column) for column in zip(*filter(None, places), strict=True))
        return read, total

    def _found(self, report: Progress, permutations: dict[str, Any]) -> Any:
        from ndcore.dedup.near_duplicates import near_duplicates

        args = self.args
        return near_duplicates(
            self.texts,
            threshold=args.threshold,
            shingling=self.shingling,
            against=self.known,
            keep=self._keep(),
            by=self.grouping.codes if self.grouping is not None else None,
            one_per=self.versions.codes if self.versions is not None else None,
            cluster=args.cluster,
            max_holders=args.max_holders,
            memory_limit=args.memory_limit,
            threads=args.threads,
            progress=report,
            **permutations,
        )

    def shown(self, position: int) -> str:
        """Return what people are told of a document: its place and its id; positions from n on are those of --against."""
        n = len(self.verdicts)
        known, inside = (self.texts, position) if position < n else (self.known, position - n)
        if not isinstance(known, Documents):
            return summary.printable(str(self.verdicts.name(position)), 60)
        ident = known.own_id(inside)
        more = "" if ident is None else f" ({summary.printable(str(ident), 60)})"
        return f"{summary.printable(str(known.place(inside)))}{more}"

    def example(self) -> str:
        """Return the line that says how to look at a pair of this run, empty where no texts are at hand."""
        n, labels = len(self.verdicts), self.result.labels
        dropped = np.flatnonzero(~self.verdicts.kept & ((labels < n) | (not self.against_sketched)))
        if not len(dropped) or self.sketched:
            return ""
        near = dropped[self.result.classes[dropped] == "near"]
        pair = int((near if len(near) else dropped)[0])
        places = [self._place(position) for position in (int(labels[pair]), pair)]
        if None in places:
            return "To look at a pair with ndcore compare, save standard input to a file: it can be read once only."
        args, options = self.args, []
        stop_words = None if args.stop_words is None else args.stop_words.path
        for field in args.text_field or ():
            options += ["--text-field", field]
        for option, value, default in (
            ("--html", args.html_part, None), ("--unit", args.unit, None), ("--width", args.width, None),
            ("--normalize", args.normalize, None), ("--stop-words", stop_words, None), ("--threshold", args.threshold, 0.8),
        ):
            options += [option, str(value)] if value != default else []
        return f"Look at a pair with: ndcore compare {shlex.join([*map(str, places), *options])}"

    def _place(self, position: int) -> Place | None:
        """Where a document of the inputs or of --against stands; None in a stream, which cannot be read again."""
        n = len(self.verdicts)
        place: Place = self.texts.place(position) if position < n else self.known.place(position - n)  # type: ignore[union-attr]
        lasting = is_url(place.file) or (place.file != STDIN and not (Path(place.file).exists() and is_stream(place.file)))
        return place if lasting else None

    def _keep(self) -> str | Callable[[], Any]:
        return self.ranking.priorities if self.ranking is not None else self.args.keep[0]

    def _refuse_nothing_read(self) -> None:
        texts = self.texts
        if isinstance(texts, Documents) and not texts.read and texts.ignored:
            raise summary.nothing_found(self.args.inputs[0], texts.ignored)
        if isinstance(texts, Documents) and not len(texts) and texts.rejected:
            first = texts.rejected[0]
            reason = f"{first.reason} (and {counted(len(texts.rejected) - 1, 'other document')} could not be read either)"
            raise DocumentError(first.path, first.number, reason if len(texts.rejected) > 1 else first.reason)

    def write(self, output: OutputDirectory) -> dict[str, Any]:
        """Everything below the output directory; the summary is returned."""
        with reporting(not self.args.quiet) as report:
            if not isinstance(self.texts, Documents):
                self._write_kept_ids(output)
            elif self.args.annotate:
                write_annotated(output, self.texts, self.verdicts, report)
            else:
                write_kept(output, self.texts, self.verdicts.kept, report)
        write_clusters(output, self.verdicts)
        account = self.account()
        write_summary(output, account)
        return account

    def print(self) -> dict[str, Any]:
        """Write the kept records (of --annotate, all) to standard output as lines of JSON, and return the summary.

        What could not be read, and what was passed over, is listed on standard error.
        """
        replaced, self.args.outcome.printed = 0, True
        with reporting(not self.args.quiet) as report:
            if isinstance(self.texts, Documents):
                kept = self.verdicts.kept
                which, annotation = (np.ones_like(kept), self.verdicts.describe) if self.args.annotate else (kept, None)
                replaced = write_lines(binary(sys.stdout), self.texts, which, annotation, report)
            else:
                kept_ids = (self.verdicts.name(int(position)) for position in np.flatnonzero(self.verdicts.kept))
                write_ids(binary(sys.stdout), kept_ids)
        binary(sys.stdout).flush()
        account = self.account() | {"replaced_bytes": replaced}
        if isinstance(self.texts, Documents):
            summary.print_rejected(self.texts.rejected, sys.stderr)
            summary.print_ignored(self.texts.ignored, sys.stderr)
        return account

    def _write_kept_ids(self, output: OutputDirectory) -> None:
        name = self.sources[0].name if len(self.sources) == 1 else "sketches"
        kept = np.flatnonzero(self.verdicts.kept)
        write_kept_ids(output, name, (self.verdicts.name(int(position)) for position in kept))

    def account(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        texts, known, result = self.texts, self.known, self.result
        from_files = isinstance(texts, Documents)
        rejected = texts.rejected if from_files else []
        recipe = result.sources.recipe
        return {
            "ndcore": __version__,
            "counts": summary.counts(len(self.verdicts) + len(rejected), len(rejected), self.verdicts),
            "clusters": self.verdicts.clusters(),
            "parameters": self._parameters(recipe),
            "recipe": {"id": recipe.id, "parameters": json.loads(recipe.to_json())} if recipe is not None else None,
            "estimated": self.sketched or self.against_sketched,
            "expected_spurious": result.expected_spurious,
            "filter": summary.plain(result.filter),
            "common": summary.plain(result.common),
            "pairs_verified_at": self._lowest.threshold,
            "without_shingles": int(np.count_nonzero(~np.asarray(result.valid[: len(self.verdicts)], bool))),
            "pages_without_main_content": texts.without_main if from_files else 0,
            "invalid_utf8_bytes": int(result.invalid_bytes),
            "blank_lines": texts.blank if from_files else 0,
            "without_keep_field": self.ranking.missing if self.ranking is not None else 0,
            "repeated_ids": repeated(texts),
            **(summary.archive_counts(texts) if from_files else {}),
            "inputs": summary.input_counts(texts, self.verdicts) if from_files else _sketch_counts(self.sources, texts),
            "against": None if known is None else self._against(known),
            "rejected": summary.rejected_list(rejected),
            "ignored": summary.ignored_list(texts.ignored) if from_files else [],
            "excluded": texts.excluded if from_files else 0,
        }

    def _against(self, known: Any) -> dict[str, Any]:
        if not isinstance(known, Documents):
            return {"read": len(known), "sketches": True}
        return {
            "read": known.read,
            "inputs": summary.input_counts(known, None),
            "rejected": summary.rejected_list(known.rejected),
            "ignored": summary.ignored_list(known.ignored),
            "excluded": known.excluded,
        }

    def _parameters(self, recipe: Any) -> dict[str, Any]:
        args, shingling = self.args, self.shingling
        permutations = {name: recipe[name] for name in ("num_perm", "seed") if recipe is not None and name in recipe}
        html = args.html_part or ("page" if any(source.kind in ("html", "archive") for source in self.sources) else None)
        return {
            "inputs": args.inputs,
            "against": args.against,
            "threshold": args.threshold,
            "unit": shingling.unit,
            "width": shingling.width,
            "normalize": shingling.normalize,
            **permutations,
            "cluster": args.cluster,
            "max_holders": args.max_holders,
            "keep": ":".join(filter(None, args.keep)),
            "by": args.by,
            "one_per": args.one_per,
            "text_field": text_field(args),
            "id_field": args.id_field or "id",
            "include": args.include,
            "exclude": args.exclude,
            "hidden": args.hidden,
            "on_error": args.on_error,
            "annotate": args.annotate,
            "html": html,
            "resiliparse": metadata.version("resiliparse") if html else None,
        }


def _check_threshold(threshold: float, num_perm: int = 84, seed: int = 1) -> None:
    """Raise UsageError, before anything is read, where no filter finds pairs at `threshold`."""
    try:
        design_filter(threshold, num_perm=num_perm)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _sketch_counts(sources: Sequence[Source], sketches: Any) -> list[dict[str, Any]]:
    return (
        [{"name": source.name} for source in sources]
        if len(sources) > 1
        else [{"name": sources[0].name, "read": len(sketches)}]
    )


def _signatures(sources: Sequence[Source]) -> Any:
    """The sketches of files and collections, one after another; UsageError where ndcore dedup cannot use those of one."""
    from ndcore.collection.collection import Collection
    from ndcore.sketch.sketches import load

    joined: Any = None
    for source in sources:
        sketches = Collection.open(source.path).sketches if source.kind == COLLECTION else load(source.path)
        kind = sketches.recipe["kind"]
        if kind != "minhash":
            again = f"ndcore cluster IN -o {source.path} --method features"
            again = again if source.kind == COLLECTION else f"ndcore sketch IN -o {source.path}"
            raise UsageError(f"{source.path} holds {kind} sketches, and ndcore dedup compares signatures: make some of the "
                             f"documents with {again}, or name the documents")
        joined = sketches if joined is None else joined.concat(sketches)
    return joined
