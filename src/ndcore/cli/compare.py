"""``ndcore compare``: two documents side by side."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import dataclass

from ndcore.cli import compare_text
from ndcore.cli.inputs import checked_shingling, refuse_stdin_twice
from ndcore.cli.named_document import load_document
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    OUTPUT,
    SHINGLES,
    Commands,
    RecordOptions,
    TokenOptions,
    add_json,
    add_overwrite,
    add_record,
    add_report,
    add_tokens,
)
from ndcore.cli.outputs import PageFile, report_file
from ndcore.cli.values import threshold
from ndcore.human import printable
from ndcore.report.comparison import as_json, compare
from ndcore.report.comparison_page import compare_page

__all__ = ["add_compare"]


def add_compare(commands: Commands) -> None:
    """Add ``ndcore compare`` to the commands."""
    p = commands.add_parser(
        "compare",
        description="Compare two documents: their resemblance (Jaccard similarity of their shingles), exact and as sketches "
        "estimate it, and the passages that they share and do not share, side by side. A document is a file, - for standard "
        "input, or a record of a file: FILE:LINE or FILE#ID. LINE is the number of a line, of a row, or of a record of an "
        "archive; ID is its id, in an archive its URL.",
    )
    p.set_defaults(run=run_compare, options=CompareOptions)
    p.add_argument("a", metavar="A", help="a document")
    p.add_argument("b", metavar="B", help="another document")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("--all", action="store_true", help="show every passage in full")
    add_report(output, "the whole texts side by side")
    add_overwrite(output, "the page of --report")
    add_json(output, "print everything as one JSON object")
    p.add_argument_group(DUPLICATES).add_argument(
        "--threshold", type=threshold, default=0.8, metavar="T",
        help="resemblance from which they are near-duplicates (default 0.8)",
    )
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    shingles.add_argument("--labelled", action="store_true",
                          help="number repeated shingles, so that repetitions count (shingles as a multiset)")
    add_record(p.add_argument_group(INPUT))


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TokenOptions, RecordOptions):
    """Options of ``ndcore compare``."""

    a: str
    b: str
    all: bool
    report: str | None
    overwrite: bool
    json: bool
    threshold: float
    labelled: bool


def run_compare(options: CompareOptions) -> int:
    """Run ``ndcore compare``."""
    refuse_stdin_twice([options.a, options.b])
    page = report_file(options.report, options.overwrite, [name.partition("#")[0] for name in (options.a, options.b)])
    with contextlib.nullcontext() if page is None else page:
        return _compare(options, page)


def _compare(options: CompareOptions, page: PageFile | None) -> int:
    """Compare the documents; write the page, or print what was found."""
    shingling = checked_shingling(
        unit=options.unit, width=options.width, labelled=options.labelled, normalize=options.normalize,
        stop_words=options.stop_words,
    )
    advice = "" if options.unit == "byte" else ", or compare with --unit byte"
    a, b = (load_document(name, options, options.unit, advice) for name in (options.a, options.b))
    found = compare(a, b, (options.a, options.b), shingling, options.threshold)
    if page is not None:
        page.write(compare_page(found))
        page.commit()
        options.outcome.written = True
    if options.json:
        print(json.dumps(as_json(found), indent=2))
    elif page is not None:
        print(f"{found.sentence[:1].upper()}{found.sentence[1:]}; the page is {printable(page.path)}")
    else:
        compare_text.report(found, sys.stdout, options.all)
    return 0
