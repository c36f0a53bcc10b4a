"""``ndcore compare``: show two documents side by side."""

from __future__ import annotations

import contextlib
import sys

from ndcore.cli.account import Account, present
from ndcore.cli.commands import CompareOptions
from ndcore.cli.inputs import load_document, make_shingling, refuse_stdin_twice
from ndcore.cli.outputs import report_file
from ndcore.human import printable
from ndcore.report.comparison import as_json, compare
from ndcore.report.comparison_page import compare_page
from ndcore.report.comparison_terminal import print_comparison


def run_compare(options: CompareOptions) -> int:
    refuse_stdin_twice([options.a, options.b])
    page = report_file(options.report, options.overwrite, [name.partition("#")[0] for name in (options.a, options.b)])
    shingling = make_shingling(options, labelled=options.labelled)
    advice = "" if options.unit == "byte" else ", or compare with --unit byte"
    with contextlib.nullcontext() if page is None else page:  # which no other job may write
        a, b = (load_document(name, options, options.unit, advice) for name in (options.a, options.b))
        comparison = compare(a, b, (options.a, options.b), shingling, options.threshold)
        if page is not None:
            page.write(compare_page(comparison))
            page.commit()
            options.outcome.written = True
    if page is None and not options.json:
        print_comparison(comparison, sys.stdout, options.all)
        return 0
    sentence = f"{comparison.sentence[:1].upper()}{comparison.sentence[1:]}"
    text = [] if page is None else [f"{sentence}; the page is {printable(page.path)}"]
    return present(options, Account(as_json(comparison), text))
