"""``ndcore compare``: two documents side by side."""

from __future__ import annotations

import contextlib
import json
import sys

from ndcore.cli import compare_text
from ndcore.cli.commands import CompareOptions
from ndcore.cli.inputs import checked_shingling, refuse_stdin_twice
from ndcore.cli.named_document import load_document
from ndcore.cli.outputs import PageFile, report_file
from ndcore.human import printable
from ndcore.report.comparison import as_json, compare
from ndcore.report.comparison_page import compare_page

__all__ = ["run_compare"]


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
