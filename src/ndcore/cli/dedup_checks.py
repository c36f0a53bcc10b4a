"""Checks of ``ndcore dedup`` before anything is read: refuse options and inputs that do not go together."""

from __future__ import annotations

from ndcore.cli import summary
from ndcore.cli.dedup_options import DedupOptions
from ndcore.cli.inputs import RECORD_FORMATS, all_sketches, refuse_bare
from ndcore.files.errors import UsageError
from ndcore.files.formats import RECORDS
from ndcore.files.outputs import STDOUT, check_apart
from ndcore.files.sources import Inputs
from ndcore.files.table_files import TableFile

__all__ = ["check_tables", "refuse", "refuse_several"]



def refuse_several(options: DedupOptions) -> None:
    """Raise UsageError for outputs that hold the result of one threshold, where several are given."""
    for option, given in (("-o -", options.output == STDOUT), ("--table", options.table), ("--pairs", options.pairs)):
        if given and len(options.thresholds) > 1:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")


def check_tables(options: DedupOptions) -> dict[str, TableFile]:
    """Check the files of --table and --pairs, and return those that are asked for."""
    paths = {name: path for name, path in (("table", options.table), ("pairs", options.pairs)) if path is not None}
    check_apart([options.output, options.report, *paths.values()])
    inputs = [*options.inputs, *options.against]
    return {name: TableFile(path, options.overwrite, inputs) for name, path in paths.items()}


def refuse(options: DedupOptions, found: Inputs, known: Inputs) -> None:
    """Refuse, before anything is read, options and inputs that do not go together.

    Raises
    ------
    UsageError
        Options do not go together, or not with the inputs.
    DocumentError
        The inputs hold no documents.
    """
    sources, sketched = found.sources, all_sketches(found.sources, "IN")
    sketched_known = all_sketches(known.sources, "--against")
    if not sources:
        raise summary.nothing_found(options.inputs[0], found.ignored)
    if options.by and known.sources:
        raise UsageError("--by cannot be combined with --against: run ndcore dedup once for each group")
    if options.annotate and (options.output != STDOUT or sketched):
        plain = next((source.path for source in sources if source.location and source.kind not in RECORDS), None)
        if plain is not None:
            raise UsageError(f"--annotate needs records ({RECORD_FORMATS}): {plain} has no place for an annotation")
    saved = [group[0].path for group, is_saved in ((sources, sketched), (known.sources, sketched_known)) if is_saved]
    _refuse_rules(options, saved[0] if saved else None)
    by_field = bool(options.keep[1] or options.by or options.one_per)
    if by_field or options.keep[0] == "longest":
        keep = "--keep " + ":".join(filter(None, options.keep))
        option = "--by" if options.by else "--one-per" if options.one_per else keep
        if sketched:
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        if by_field:
            refuse_bare(option, sources)


def _refuse_rules(options: DedupOptions, sketched: str | None) -> None:
    """Refuse options of the verdict that do not go together, or that need texts where there are saved sketches.

    `sketched` is the path of saved sketches among the inputs, --against included; None without any.
    """
    if options.drop == "contained" and options.cluster != "star":
        raise UsageError(f"--drop contained makes stars, and --clustering {options.cluster} does not; leave one of them out")
    if options.drop == "contained" and options.filter == "lsh":
        raise UsageError("--drop contained is found by the complete filter, and --filter lsh by bands of signatures, which "
                         "find documents that resemble each other: leave --filter out")
    needing = {
        "--filter complete": options.filter == "complete", "--drop contained": options.drop == "contained",
        "--must-agree": options.must_agree, "--min-shingles": options.min_shingles, "--drop-common": options.drop_common,
        "--lost": options.lost,
    }
    for option in (option for option, given in needing.items() if given):
        if sketched is not None:
            raise UsageError(f"{option} needs the texts; {sketched} holds sketches, not the shingles: name the documents "
                             f"instead, or leave {option} out")
