"""``ndcore design``: the filter for a threshold, or what a given one does, in words, numbers and pictures."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

from ndcore.cli.options import OUTPUT, Commands, add_json, add_overwrite
from ndcore.cli.summary import plain, printable
from ndcore.cli.values import positive, probability, resemblance_and_probability, threshold
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import check_output
from ndcore.filters.design import ALTAVISTA, FilterDesign
from ndcore.filters.pass_probability import miss_probability
from ndcore.filters.search import design_filter
from ndcore.stats.collisions import fingerprint_bits

THRESHOLD, DOCUMENTS = 0.8, 10**6
RESEMBLANCES = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)


def add_design(commands: Commands) -> None:
    p = commands.add_parser(
        "design",
        help="choose a filter, or see what one does",
        description="The cheapest filter (groups × group size, need) for a threshold, within bounds of error and of "
        "storage; or, with --groups and --group-size or --preset, what a given one does.",
        epilog="A signature is cut into groups (elsewhere: bands) of minima (rows); a pair is a candidate where it shares "
        "at least `need` of its groups. Costs rest on a model of unrelated documents, misses do not.",
    )
    p.set_defaults(run=run_design)
    wanted = p.add_argument_group("pairs")
    wanted.add_argument(
        "--threshold", type=threshold, metavar="T", help="resemblance from which pairs are wanted (default 0.8)"
    )
    wanted.add_argument("--collection", type=positive, metavar="N", help="documents in the collection (default 1000000)")
    search = p.add_argument_group("bounds of the search")
    search.add_argument(
        "--miss", type=probability, metavar="P", help="let at most P of the pairs at the threshold be missed (default 1e-3)"
    )
    search.add_argument(
        "--false-candidates",
        type=resemblance_and_probability,
        metavar="R:P",
        help="let at most P of the pairs at the lower resemblance R pass, for instance 0.5:0.01",
    )
    search.add_argument("--bytes", type=positive, metavar="N", help="storage for the features of a document, at most")
    search.add_argument(
        "--num-perm", type=positive, metavar="N", help="length of a signature (default 84, or up to 200 where needed)"
    )
    given = p.add_argument_group("a given filter")
    given.add_argument("--groups", type=positive, metavar="K", help="features of a document (elsewhere: bands)")
    given.add_argument("--group-size", type=positive, metavar="S", help="minima in a feature (elsewhere: rows)")
    given.add_argument("--need", type=positive, metavar="R", help="features that a candidate pair shares (default 1)")
    given.add_argument("--preset", choices=("altavista",), help="6 groups of 14, need 2, for 200,000,000 pages at 0.975")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("--plot", metavar="FILE", help="write the curve to a .png, .svg or .pdf file; it must not exist")
    add_overwrite(output, "any file of the name of --plot")
    add_json(output, "print one JSON object")


def run_design(args: argparse.Namespace) -> int:
    """``ndcore design``."""
    if args.plot is not None:
        _check_picture(args.plot, args.overwrite)
    try:
        chosen = _given(args) or _searched(args)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if args.plot is not None:
        from ndcore.plots import plot_filter

        plot_filter(chosen).save(args.plot)
        args.outcome.written = True
    if args.json:
        print(json.dumps(plain(_account(chosen)), indent=2))
    else:
        _report(chosen, args.plot)
    return 0


def _check_picture(name: str, overwrite: bool) -> None:
    """UsageError where the picture cannot be written, or should not be."""
    from ndcore.plots import checked_format

    check_output(name, "picture", overwrite=overwrite)
    try:
        checked_format(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _given(args: argparse.Namespace) -> FilterDesign | None:
    """The filter that the command line names, if it names one."""
    named = {"--groups": args.groups, "--group-size": args.group_size, "--need": args.need}
    wanted = [name for name, value in named.items() if value is not None]
    bounds = {"--miss": args.miss, "--false-candidates": args.false_candidates, "--bytes": args.bytes}
    bounded = [name for name, value in bounds.items() if value is not None]
    if args.preset is not None and wanted:
        raise UsageError(f"--preset is a filter, and {wanted[0]} is part of another; give one of them")
    if bounded and (wanted or args.preset is not None):
        raise UsageError(f"{bounded[0]} bounds the search for a filter; leave it out where the filter is given")
    if args.preset is not None:
        groups, group_size, need = ALTAVISTA.groups, ALTAVISTA.group_size, ALTAVISTA.need
        threshold, documents = args.threshold or ALTAVISTA.threshold, args.collection or ALTAVISTA.documents
    elif wanted:
        if args.groups is None or args.group_size is None:
            raise UsageError(f"{wanted[0]} is part of a filter; give --groups and --group-size")
        groups, group_size, need = args.groups, args.group_size, args.need or 1
        threshold, documents = args.threshold or THRESHOLD, args.collection or DOCUMENTS
    else:
        return None
    return FilterDesign.of(groups, group_size, need, threshold=threshold, num_perm=args.num_perm, documents=documents)


def _searched(args: argparse.Namespace) -> FilterDesign:
    length = {} if args.num_perm is None else {"num_perm": args.num_perm, "max_num_perm": args.num_perm}
    return design_filter(args.threshold or THRESHOLD, miss=args.miss, documents=args.collection or DOCUMENTS,
                         bytes_per_document=args.bytes, false_candidates=args.false_candidates, **length)


def _rows(chosen: FilterDesign) -> list[tuple[float, float, float]]:
    """(resemblance, probability to pass, to be missed) at usual resemblances and at the threshold."""
    at = sorted({*RESEMBLANCES, chosen.threshold})
    shape = chosen.groups, chosen.group_size, chosen.need
    return [(rho, float(chosen.pass_probability(rho)), float(miss_probability(rho, *shape))) for rho in at]


def _account(chosen: FilterDesign) -> dict[str, Any]:
    """What --json prints: the fields of the design, what follows from them, and the table."""
    named = ("bands", "rows", "half", "steepest", "inflection", "feature_bits", "bytes_per_document",
             "collisions_per_document", "candidates_per_document", "spurious")
    account = dataclasses.asdict(chosen) | {name: getattr(chosen, name) for name in named}
    account["probabilities"] = [
        {"resemblance": rho, "candidate": passed, "missed": missed} for rho, passed, missed in _rows(chosen)]
    return account


def _report(chosen: FilterDesign, picture: str | None) -> None:
    """A page for people."""
    print(f"Filter for pairs at resemblance {chosen.threshold:g} or more in {chosen.documents:,} documents")
    _print_lines(_parameters(chosen))
    print("Expected of it")
    _print_lines(_expectations(chosen))
    print("  resemblance  candidate     missed")
    for rho, passed, missed in _rows(chosen):
        mark = "  <- threshold" if rho == chosen.threshold else ""
        print(f"  {rho:11g}  {passed:9.3g}  {missed:9.3g}{mark}")
    if picture is not None:
        print(f"Curve in {printable(picture)}")


def _print_lines(lines: list[tuple[str, str, str]]) -> None:
    for name, value, meaning in lines:
        print(f"  {name:<11} {value:>9}  {meaning}")


def _parameters(chosen: FilterDesign) -> list[tuple[str, str, str]]:
    used, bits = chosen.groups * chosen.group_size, fingerprint_bits(chosen.documents)
    length = f"2 log2(documents) + 20 = {bits}" + (f", of the {chosen.feature_bits} there are" if bits > 64 else "")
    return [
        ("groups", f"{chosen.groups}", "features of a document (elsewhere: bands)"),
        ("group size", f"{chosen.group_size}", "minima in a feature (elsewhere: rows)"),
        ("need", f"{chosen.need}", "features that a candidate pair shares (elsewhere: always 1)"),
        ("num_perm", f"{chosen.num_perm}", f"minima in a signature; {used} are used"),
        ("bits", f"{chosen.feature_bits}", f"of a feature: {length}"),
        ("bytes", f"{chosen.bytes_per_document}", "of features for a document"),
    ]


def _expectations(chosen: FilterDesign) -> list[tuple[str, str, str]]:
    return [
        ("miss", f"{chosen.miss:.2g}", f"of the pairs at {chosen.threshold:g}, fewer above it"),
        ("half", f"{chosen.half:.3f}", "resemblance at which half of the pairs pass"),
        ("steepest", f"{chosen.steepest:.3f}", f"resemblance at which rho^{chosen.group_size} is steeper than other powers"),
        ("inflection", f"{chosen.inflection:.3f}", "resemblance at which the curve is steepest"),
        ("collisions", f"{chosen.collisions_per_document:.2g}", "unrelated documents that share a feature with a document"),
        ("candidates", f"{chosen.candidates_per_document:.2g}", "unrelated documents to be compared with a document"),
        ("spurious", f"{chosen.spurious:.2g}", "pairs that pass only because features collide"),
    ]
