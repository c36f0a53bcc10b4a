"""What ``ndcore dedup`` found at one threshold: written as records, told as an account, shown as words."""

from __future__ import annotations

import dataclasses
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.dedup_costs import cost_of_completeness, describe_filter, describe_losses
from ndcore.cli.dedup_run import Run, Side
from ndcore.cli.inputs import repeated, text_field
from ndcore.dedup.classes import CLASSES
from ndcore.files.jsonl_output import write_lines
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.provenance import Place
from ndcore.files.rewritten_inputs import write_annotated, write_ids, write_kept, write_kept_ids
from ndcore.files.sources import STDIN, is_stream, is_url, read_otherwise
from ndcore.files.verdicts import NamedVerdicts, write_clusters
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.human import pasted, printable
from ndcore.progress import reporting
from ndcore.report.plain_values import plain

__all__ = ["Findings"]

DIFFERING = [CLASSES.index(name) for name in ("near", "contained", "chained")]  # which differ from their representative
ANOTHER_LOOK = "To look at a pair with ndcore compare, save standard input to a file: it can be read once only."


class Findings:
    """The near-duplicates of a run at one threshold.

    Positions of documents count the inputs from 0 on, and the documents of --against after them.

    Attributes
    ----------
    run : Run
    result : NearDuplicates
    verdicts : Verdicts
    verified_at : float
        The threshold that pairs were verified at: the lowest of the run.
    """

    def __init__(self, run: Run, result: Any, verified_at: float) -> None:
        self.run, self.result, self.verified_at = run, result, verified_at
        texts, known = run.texts, run.known
        self.verdicts = NamedVerdicts(
            result,
            texts.ids,
            () if known is None else known.ids,
            texts.sketched,
            known is not None and known.sketched,
            known is not None,
            texts.places,
            None if known is None else known.places,
        )

    @classmethod
    def of(cls, run: Run) -> Findings:
        """Find the near-duplicates at the lowest threshold of the run."""
        return cls(run, run.near_duplicates(), run.options.thresholds[0])

    def at(self, threshold: float) -> Findings:
        """Return the findings at a threshold; the pairs that were verified at the lowest answer for higher ones."""
        found = self.result
        if threshold == found.threshold:
            return self
        result = dataclasses.replace(found.rethreshold(threshold), filter=_filter_at(found.filter, threshold))
        return Findings(self.run, result, self.verified_at)

    def locate(self, position: int) -> tuple[Side, int]:
        """Return the side that a document is on, and its position there."""
        n, known = len(self.verdicts), self.run.known
        return (self.run.texts, position) if position < n or known is None else (known, position - n)

    # ---- words

    def shown(self, position: int) -> str:
        """Name a document for people: its place and its own id."""
        side, inside = self.locate(position)
        if side.documents is None:
            return printable(str(self.verdicts.name(position)), 60)
        ident = side.documents.own_id(inside)
        more = "" if ident is None else f" ({printable(str(ident), 60)})"
        return f"{printable(str(side.documents.place(inside)))}{more}"

    def example(self) -> str:
        """Return the line that says how to look at a pair, empty where the texts of none are at hand."""
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
        """Return where a document stands; None in a stream, which cannot be read again."""
        side, inside = self.locate(position)
        assert side.documents is not None
        place = side.documents.place(inside)
        lasting = is_url(place.file) or (place.file != STDIN and not (Path(place.file).exists() and is_stream(place.file)))
        return place if lasting else None

    # ---- files

    def write(self, output: OutputDirectory) -> dict[str, Any]:
        """Write everything below the output directory, and return the summary."""
        documents = self.run.texts.documents
        with reporting(not self.run.options.quiet) as report:
            if documents is None:
                sources = self.run.texts.sources
                write_kept_ids(output, sources[0].name if len(sources) == 1 else "sketches", self._kept_ids())
            elif self.run.options.annotate:
                write_annotated(output, documents, self.verdicts, report)
            else:
                write_kept(output, documents, self.verdicts.kept, report)
        write_clusters(output, self.verdicts)
        account = self.account()
        write_summary(output, account)
        return account

    def print(self, stdout: IO[bytes]) -> dict[str, Any]:
        """Write the kept records (of --annotate, all) to standard output as lines of JSON, and return the summary.

        Documents that could not be read, and paths that were passed over, are listed on standard error.
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
        account = self.account() | {"replaced_bytes": replaced}
        for side in self.run.sides:
            if side.documents is not None:
                summary.print_unread(side.documents, sys.stderr)
        return account

    def _kept_ids(self) -> Any:
        return (self.verdicts.name(int(position)) for position in np.flatnonzero(self.verdicts.kept))

    # ---- the account

    def account(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        run, result, documents = self.run, self.result, self.run.texts.documents
        rejected = [] if documents is None else documents.rejected
        recipe = result.sources.recipe
        return {
            "ndcore": __version__,
            "counts": summary.counts(len(self.verdicts) + len(rejected), len(rejected), self.verdicts),
            "clusters": self.verdicts.clusters(),
            "parameters": self._parameters(recipe),
            "recipe": {"id": recipe.id, "parameters": json.loads(recipe.to_json())} if recipe is not None else None,
            "verdict": {"id": result.recipe.id, "parameters": json.loads(result.recipe.to_json())},
            "estimated": run.estimated,
            "expected_spurious": result.expected_spurious,
            "filter": describe_filter(result),
            "complete_filter": cost_of_completeness(result),
            "common": plain(result.common),
            "common_shingles": result.common_shingles,
            "lost": describe_losses(self.verdicts),
            "pairs_verified_at": self.verified_at,
            "without_shingles": int(np.count_nonzero(~np.asarray(result.valid[: len(self.verdicts)], bool))),
            "pages_without_main_content": 0 if documents is None else documents.without_main,
            "pages_by_tags": [] if documents is None else summary.by_tags_list(documents),
            "invalid_utf8_bytes": int(result.invalid_bytes),
            "blank_lines": 0 if documents is None else documents.blank,
            "without_keep_field": run.ranking.missing if run.ranking is not None else 0,
            "repeated_ids": repeated(run.texts.corpus),
            **({} if documents is None else summary.archive_counts(documents)),
            "inputs": _sketch_counts(run.texts) if documents is None else summary.input_counts(documents, self.verdicts),
            "read_otherwise": {} if documents is None else read_otherwise(documents.sources),
            "against": None if run.known is None else _against(run.known),
            "rejected": summary.rejected_list(rejected, run.saved),
            "ignored": [] if documents is None else summary.ignored_list(documents.ignored),
            "excluded": 0 if documents is None else documents.excluded,
        }

    def _parameters(self, recipe: Any) -> dict[str, Any]:
        options, shingling = self.run.options, self.run.shingling
        html = options.html_part
        if html is None and any(source.kind in ("html", "archive") for source in self.run.texts.sources):
            html = "page"
        return {
            "inputs": options.inputs,
            "against": options.against,
            "threshold": self.result.threshold,
            "unit": shingling.unit,
            "width": shingling.width,
            "normalize": shingling.normalize,
            **{name: recipe[name] for name in ("num_perm", "seed") if recipe is not None and name in recipe},
            "filter": options.filter,
            "drop": options.drop,
            "must_agree": options.must_agree,
            "min_shingles": options.min_shingles,
            "drop_common": options.drop_common,
            "cluster": options.cluster,
            "reassign": options.reassign,
            "lost": options.lost,
            "max_holders": options.max_holders,
            "keep": ":".join(filter(None, options.keep)),
            "by": options.by,
            "one_per": options.one_per,
            "text_field": text_field(options),
            "id_field": options.id_field or "id",
            "include": options.include,
            "exclude": options.exclude,
            "hidden": options.hidden,
            "on_error": options.on_error,
            "annotate": options.annotate,
            "html": html,
            "encoding": options.encoding,
            "delimiter": options.delimiter,
            "resiliparse": metadata.version("resiliparse") if html else None,
        }


def _filter_at(found: FilterDesign | PrefixFilter, threshold: float) -> FilterDesign | PrefixFilter:
    """Describe a filter at a higher threshold than the one it was made for."""
    if isinstance(found, PrefixFilter):
        return dataclasses.replace(found, threshold=threshold)
    return FilterDesign.of(found.groups, found.group_size, found.need, threshold=threshold, num_perm=found.num_perm,
                           documents=found.documents)


def _sketch_counts(side: Side) -> list[dict[str, Any]]:
    if len(side.sources) > 1:
        return [{"name": source.name} for source in side.sources]
    return [{"name": side.sources[0].name, "read": len(side.corpus)}]


def _against(known: Side) -> dict[str, Any]:
    if known.documents is None:
        return {"read": len(known.corpus), "sketches": True}
    return {
        "read": known.documents.read,
        "inputs": summary.input_counts(known.documents, None),
        "rejected": summary.rejected_list(known.documents.rejected),
        "ignored": summary.ignored_list(known.documents.ignored),
        "excluded": known.documents.excluded,
    }
