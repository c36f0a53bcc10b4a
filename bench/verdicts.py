"""What a threshold finds, what every option of near_duplicates changes, and what that costs.

labels   precision and recall of pairs by threshold, unit and width, against the labels of corpora; exact resemblances of
         all pairs (overlaps.py)
options  filter="complete" and drop="contained" against brute force, which must agree; then the effect of every option
speed    the options in turns on the corpus of job.py; with --large ten million documents of 100 words

Each part writes a file of its own into the results; report.py makes docs/thresholds.md of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import verdict_options as effects
import verdict_speed
from corpus import add_options, data_folder, load, names
from joining import shingle_sets
from labelled import GENERATED, GRADES, SOURCES, Curve, curve, grade_rows, load_labelled
from measure import Report, options
from overlaps import overlaps
from verdict_cases import Case, load_case
from verdict_checks import COMPLETE, CONTAINMENTS, THRESHOLDS, check_complete, check_contained

from ndcore import Shingling

PARTS = ("labels", "options", "speed")
GRID = tuple(round(0.3 + 0.05 * i, 2) for i in range(14))
UNITS = {"1 word": ("word", 1), "3 words": ("word", 3), "5 words": ("word", 5), "8 words": ("word", 8),
         "5 characters": ("char", 5), "9 characters": ("char", 9), "1 line": ("line", 1)}
WIDTHS = ("1 word", "3 words", "5 words", "8 words")
KINDS = ("5 words", "5 characters", "9 characters", "1 line")
DEFAULT = "5 words"
MEDIAN = "median of all"
BOOKS = "peps"  # in the public domain: long documents are made of these


def rounded(values: list[float | None]) -> list[float | None]:
    """Round to four places."""
    return [None if value is None else round(value, 4) for value in values]


def median_of(curves: list[Curve], quantity: str) -> list[float | None]:
    """Return the median over corpora of precision or recall, by threshold, where it is known."""
    rows = [[value for value in column if value is not None]
            for column in zip(*(getattr(found, quantity) for found in curves), strict=True)]
    return [median(values) if values else None for values in rows]


def measure_labels(arguments: argparse.Namespace, chosen: list[str], folder: Path | None) -> int:
    """Make the tables of precision and recall."""
    report = Report("verdicts_labels", arguments)
    grid = [f"{t:g}" for t in GRID]
    sources = report.table("verdict-sources", "Labels", [
        "corpus", "documents of one label are", "says", "documents", "different ones with a label", "pairs of one label"])
    tables = {
        name: report.table(f"verdict-{name}", title, [first, "of pairs", *grid]) for name, title, first in (
            ("corpora", "Shingles of 5 words, by corpus", "corpus"), ("widths", "Widths, median of all corpora", "shingle"),
            ("units", "Units, median of all corpora", "shingle"))}
    every = report.table("verdict-curves", "All corpora and shingles", ["corpus", "shingle", "of pairs", *grid])
    curves: dict[str, list[Curve]] = {unit: [] for unit in UNITS}
    for name in chosen:
        labelled = load_labelled(name, folder, 300 if arguments.quick else None)
        report.inputs.append(labelled.corpus.facts())
        first = labelled.first
        for unit, (kind, width) in UNITS.items():
            print(f"{name}: {unit}", file=sys.stderr, flush=True)
            sets = shingle_sets(labelled.corpus.texts, Shingling(unit=kind, width=width))  # type: ignore[arg-type]
            found = curve(overlaps(sets, GRID[0]), labelled, first, GRID)
            curves[unit].append(found)
            for quantity in ("precision", "recall"):
                every.add(name, unit, quantity, *rounded(getattr(found, quantity)))
            every.add(name, unit, "pairs found", *found.found)
        default = curves[DEFAULT][-1]
        sources.add(name, *SOURCES.get(name, ("", "made-up versions of a text", "this program"))[1:], len(first),
                    int(first.sum()), default.same)
        for quantity in ("precision", "recall"):
            tables["corpora"].add(name, quantity, *rounded(getattr(default, quantity)))
    for quantity in ("precision", "recall"):
        tables["corpora"].add(MEDIAN, quantity, *rounded(median_of(curves[DEFAULT], quantity)))
        for table, units in (("widths", WIDTHS), ("units", KINDS)):
            for unit in units:
                tables[table].add(unit, quantity, *rounded(median_of(curves[unit], quantity)))
    measure_grades(report, folder)
    return report.finish()


def measure_grades(report: Report, folder: Path | None) -> None:
    """Make the table of the answers that people copied from a page, by how they were told to."""
    if folder is None or not (folder / "short_answers").is_dir():
        return
    corpus = load("short_answers", folder, label="category")
    report.inputs.append(corpus.facts())
    table = report.table("verdict-grades", f"Answers found as copies of their source, % ({', '.join(GRADES)})", [
        "shingle", "measure", "answers", "number", *(f"{t:g}" for t in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))])
    for unit in ("3 words", DEFAULT):
        kind, width = UNITS[unit]
        for row in grade_rows(corpus, Shingling(unit=kind, width=width), tuple(map(float, table.columns[4:]))):  # type: ignore[arg-type]
            table.add(unit, *row)


def measure_options(arguments: argparse.Namespace, chosen: list[str], folder: Path | None) -> int:
    """Check complete verdicts and containment against brute force, then show the effect of every option."""
    report = Report("verdicts_options", arguments)
    limit = 300 if arguments.quick else None
    complete = report.table("verdict-complete", 'filter="complete" and filter="auto" against brute force', COMPLETE)
    contained = report.table("verdict-contained", 'drop="contained" against brute force, threshold 0.8', CONTAINMENTS)
    thresholds = (0.5, 0.8, 0.95) if arguments.quick else THRESHOLDS
    cases = []
    for name in chosen:
        case = load_case(name, folder, limit)
        report.inputs.append(case.corpus.facts())
        print(f"{name}: against brute force", file=sys.stderr, flush=True)
        check_complete(report, complete, case, thresholds)
        check_contained(report, contained, case)
        cases.append(case)
    if report.failures:  # the effect of a wrong verdict is of no interest
        return report.finish()
    show_effects(report, cases, arguments, folder)
    return report.finish()


def show_effects(report: Report, cases: list[Case], arguments: argparse.Namespace, folder: Path | None) -> None:
    """Make a table for every option."""
    agree = report.table("verdict-agree", "must_agree, threshold 0.8", effects.AGREE)
    short = report.table("verdict-short", "min_shingles, threshold 0.8", effects.SHORT)
    common = report.table("verdict-common", "drop_common=0.05: pairs against labels", effects.COMMON)
    lost = report.table("verdict-lost", "Shingles of dropped documents that no kept one has, threshold 0.8", effects.LOST)
    reassigned = report.table("verdict-reassigned", "reassign, threshold 0.8", effects.REASSIGNED)
    chained = report.table("verdict-chained", "Connected components, threshold 0.8", effects.CHAINED)
    excerpts = report.table("verdict-excerpts", "Excerpts planted in long documents", effects.EXCERPTS)
    files = effects.copyright_files()
    if files is not None:
        report.inputs.append(files.corpus.facts())
    for case in [*cases, *([files] if files is not None and not arguments.quick else [])]:
        print(f"{case.name}: options", file=sys.stderr, flush=True)
        effects.show_agreement(agree, case)
        effects.show_short(short, case)
        effects.show_lost(report, lost, case)
        effects.show_reassigned(report, reassigned, case)
        effects.show_chained(chained, case)
        if (case.codes >= 0).any():
            effects.show_common(common, case, (0.5, 0.6, 0.7, 0.8))
    source = load(BOOKS, folder) if folder is not None and (folder / BOOKS).is_dir() else cases[0].corpus
    versions = dict(zip(source.groups or source.ids, source.texts, strict=True))
    effects.show_excerpts(report, excerpts, list(versions.values()), arguments.quick)


def corpora(arguments: argparse.Namespace, folder: Path | None, labelled: bool) -> list[str]:
    """Choose corpora: those asked for that are there, else those with labels, or all."""
    if folder is None:
        return [GENERATED]
    there = names(folder)
    return [name for name in arguments.corpora or there if name in there and (name in SOURCES or not labelled)]


def main() -> int:
    parser = options(__doc__, repeats=3)
    add_options(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts")
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="these only")
    verdict_speed.add_options(parser)
    arguments = parser.parse_args()
    if arguments.child:
        return verdict_speed.child(arguments)
    folder = data_folder(arguments.data)
    parts: dict[str, Callable[[], int]] = {
        "labels": lambda: measure_labels(arguments, corpora(arguments, folder, True), folder),
        "options": lambda: measure_options(arguments, corpora(arguments, folder, False), folder),
        "speed": lambda: verdict_speed.measure(arguments),
    }
    codes = [parts[name]() for name in PARTS if name in arguments.only]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
