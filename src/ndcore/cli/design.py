"""``ndcore design``: choose the filter for a threshold, or show what a given filter does, in numbers and as a curve."""

from __future__ import annotations

import dataclasses

import numpy as np

from ndcore.cli.account import Account, Figures, present
from ndcore.cli.command import blame_command
from ndcore.cli.commands import DesignOptions
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputFile
from ndcore.filters.design import ALTAVISTA, FilterDesign
from ndcore.filters.pass_probability import miss_probability
from ndcore.filters.prefix import SHINGLE_BYTES
from ndcore.filters.search import design_filter
from ndcore.human import printable
from ndcore.plots import checked_format, plot_filter
from ndcore.report.plain_values import plain
from ndcore.stats.collisions import fingerprint_bits

THRESHOLD, DOCUMENTS = 0.8, 10**6
RESEMBLANCES = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)


def run_design(options: DesignOptions) -> int:
    picture = None if options.plot is None else OutputFile(options.plot, "picture", overwrite=options.overwrite)
    with blame_command():
        if options.plot is not None:
            checked_format(options.plot)
        chosen = _read_design(options) or _search(options)
    if picture is not None:
        with picture:
            with picture.making() as new:
                plot_filter(chosen).save(new)
            picture.commit()
        options.outcome.written = True
    return present(options, _make_account(chosen, options.plot))


def _read_design(options: DesignOptions) -> FilterDesign | None:
    """Make the filter that the options describe; None if they do not describe one."""
    shapes = {"--groups": options.groups, "--group-size": options.group_size, "--need": options.need}
    named = [name for name, value in shapes.items() if value is not None]
    bounds = {"--miss": options.miss, "--false-candidates": options.false_candidates, "--bytes": options.bytes}
    bounded = [name for name, value in bounds.items() if value is not None]
    if options.preset is not None and named:
        raise UsageError(f"--preset is a filter, and {named[0]} is part of another; give one of them")
    if bounded and (named or options.preset is not None):
        raise UsageError(f"{bounded[0]} bounds the search for a filter; leave it out where the filter is given")
    if options.preset is not None:
        shape = ALTAVISTA.groups, ALTAVISTA.group_size, ALTAVISTA.need
        wanted, documents = options.threshold or ALTAVISTA.threshold, options.collection or ALTAVISTA.documents
    elif named:
        if options.groups is None or options.group_size is None:
            raise UsageError(f"{named[0]} is part of a filter; give --groups and --group-size")
        shape = options.groups, options.group_size, options.need or 1
        wanted, documents = options.threshold or THRESHOLD, options.collection or DOCUMENTS
    else:
        return None
    return FilterDesign.of(*shape, threshold=wanted, num_perm=options.num_perm, documents=documents)


def _search(options: DesignOptions) -> FilterDesign:
    """Search for the cheapest filter within the bounds of the options."""
    length = {} if options.num_perm is None else {"num_perm": options.num_perm, "max_num_perm": options.num_perm}
    return design_filter(
        options.threshold or THRESHOLD, miss=options.miss, documents=options.collection or DOCUMENTS,
        bytes_per_document=options.bytes, false_candidates=options.false_candidates, **length,
    )


def _make_account(chosen: FilterDesign, picture: str | None) -> Account:
    """Make the account of a filter: its fields and their consequences, the complete filter, and a table."""
    shape = chosen.groups, chosen.group_size, chosen.need
    rows = [(rho, float(chosen.pass_probability(rho)), float(miss_probability(rho, *shape)))
            for rho in sorted({*RESEMBLANCES, chosen.threshold})]
    named = ("bands", "rows", "half", "steepest", "inflection", "feature_bits", "bytes_per_document",
             "collisions_per_document", "candidates_per_document", "spurious")
    looked_up = int(chosen.complete.probe_length(np.array([100]))[0])
    data = {
        **dataclasses.asdict(chosen), **{name: getattr(chosen, name) for name in named},
        "complete": {"threshold": chosen.threshold, "looked_up_of_100": looked_up, "miss": chosen.complete.miss,
                     "bytes_per_shingle": SHINGLE_BYTES},
        "probabilities": [{"resemblance": rho, "candidate": passed, "missed": missed} for rho, passed, missed in rows],
    }
    return Account(plain(data), [
        f"Filter for pairs at resemblance {chosen.threshold:g} or more in {chosen.documents:,} documents",
        Figures(_list_parameters(chosen), 11, 9),
        "Expected",
        Figures(_list_expectations(chosen), 11, 9),
        "  resemblance  candidate     missed",
        *(f"  {rho:11g}  {passed:9.3g}  {missed:9.3g}{'  <- threshold' if rho == chosen.threshold else ''}"
          for rho, passed, missed in rows),
        f"With --filter complete, ndcore dedup {chosen.complete}.",
        f"  It takes {SHINGLE_BYTES} bytes a shingle in a temporary file.",
        *([] if picture is None else [f"Curve in {printable(picture)}"]),
    ])


def _list_parameters(chosen: FilterDesign) -> list[tuple[str, str, str]]:
    """List the lines that describe the filter."""
    used, bits = chosen.groups * chosen.group_size, fingerprint_bits(chosen.documents)
    length = f"2 log2(documents) + 20 = {bits}" + (f", but a feature has {chosen.feature_bits}" if bits > 64 else "")
    return [
        ("groups", f"{chosen.groups}", "features of a document (LSH bands)"),
        ("group size", f"{chosen.group_size}", "minima in a feature (LSH rows of a band)"),
        ("need", f"{chosen.need}", "features that a candidate pair shares (in LSH always 1)"),
        ("num_perm", f"{chosen.num_perm}", f"minima in a signature; {used} are used"),
        ("bits", f"{chosen.feature_bits}", f"of a feature: {length}"),
        ("bytes", f"{chosen.bytes_per_document}", "of features for a document"),
    ]


def _list_expectations(chosen: FilterDesign) -> list[tuple[str, str, str]]:
    """List the lines that describe what the filter does."""
    return [
        ("miss", f"{chosen.miss:.2g}", f"of the pairs at {chosen.threshold:g} are missed, fewer above it"),
        ("half", f"{chosen.half:.3f}", "resemblance at which half of the pairs pass"),
        ("steepest", f"{chosen.steepest:.3f}", f"resemblance at which rho^{chosen.group_size} is the steepest power"),
        ("inflection", f"{chosen.inflection:.3f}", "resemblance at which the curve is steepest"),
        ("collisions", f"{chosen.collisions_per_document:.2g}", "unrelated documents that share a feature with a document"),
        ("candidates", f"{chosen.candidates_per_document:.2g}", "unrelated documents that are compared with a document"),
        ("spurious", f"{chosen.spurious:.2g}", "pairs that pass only because features collide"),
    ]
