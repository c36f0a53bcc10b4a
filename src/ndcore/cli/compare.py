"""``ndcore compare``: two documents side by side."""

from __future__ import annotations

import json
import sys
from typing import Any

from ndcore.cli import compare_text
from ndcore.cli.compare_page import compare_page
from ndcore.cli.comparison import as_json, compare, load, shingling_of
from ndcore.cli.inputs import refuse_stdin_twice, text_field
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    OUTPUT,
    SHINGLES,
    Commands,
    add_json,
    add_overwrite,
    add_record,
    add_report,
    add_tokens,
)
from ndcore.cli.outputs import check_report, write_page
from ndcore.cli.summary import printable
from ndcore.cli.values import threshold

__all__ = ["add_compare"]


def add_compare(commands: Commands) -> None:
    p = commands.add_parser(
        "compare",
        help="two documents side by side",
        description="How much two documents resemble each other, exactly and as sketches see it, and the passages that "
        "they share or do not, side by side. A document is a file, FILE:LINE or FILE#ID for a record (line or row, in "
        "archives the number of the record; id, in archives the URL), or - for standard input.",
    )
    p.set_defaults(run=run_compare)
    p.add_argument("a", metavar="A", help="a document")
    p.add_argument("b", metavar="B", help="another")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("--all", action="store_true", help="show every passage in full")
    add_report(output, "the whole texts side by side")
    add_overwrite(output, "the page of --report")
    add_json(output, "print everything as one JSON object")
    p.add_argument_group(DUPLICATES).add_argument(
        "--threshold",
        type=threshold,
        default=0.8,
        metavar="T",
        help="resemblance from which they are near-duplicates (default 0.8)",
    )
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    shingles.add_argument("--labelled", action="store_true", help="tell repeated shingles apart by their occurrence number")
    add_record(p.add_argument_group(INPUT))


def run_compare(args: Any) -> int:
    """``ndcore compare``."""
    refuse_stdin_twice([args.a, args.b])
    check_report(args.report, args.overwrite, [name.partition("#")[0] for name in (args.a, args.b)])
    shingling = shingling_of(args)
    advice = "" if args.unit == "byte" else ", or compare with --unit byte"
    a, b = (
        load(name, text_field(args), args.id_field, args.unit, args.html_part, advice)
        for name in (args.a, args.b)
    )
    found = compare(a, b, (args.a, args.b), shingling, args.threshold)
    if args.report is not None:
        write_page(args.report, compare_page(found))
        args.outcome.written = True
    if args.json:
        print(json.dumps(as_json(found), indent=2))
    elif args.report is not None:
        print(f"{found.sentence[:1].upper()}{found.sentence[1:]}; the page is {printable(args.report)}")
    else:
        compare_text.report(found, sys.stdout, args.all)
    return 0
