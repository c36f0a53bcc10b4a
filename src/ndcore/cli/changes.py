"""``ndcore changes``: show how the pages in web archives changed from capture to capture."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, Figures, Listing, Note, Notes, TextBlock, files_written, present
from ndcore.cli.command import option_of
from ndcore.cli.commands import ChangesOptions
from ndcore.cli.inputs import find_inputs, make_shingling
from ndcore.cli.outputs import report_file
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import ARCHIVED
from ndcore.files.json_values import write_time
from ndcore.files.page_captures import CapturedText, PageCapture, PageCaptures
from ndcore.human import counted, printable
from ndcore.progress import by_position, reporting
from ndcore.report.calendar import DayBook, DayCapture, calendar_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.store.verdict import Version, microseconds
from ndcore.store.version_change import TextVersion
from ndcore.text.shingling import Shingling

SHOWN = 5  # pages in the text
MEANINGS = {  # meanings of changes, in the order of the account
    "first": "the first capture of a page",
    "unchanged": "the same text as the capture before",
    "lexical": "the same words in the same order",
    "near": "another text, with a resemblance at or above the threshold",
    "other": "another text below it",
    "gone": "there no more (404, 410), or moved for ever (301, 308)",
    "unknown": "a revisit of a payload that the inputs do not have",
}


def compare_captures(
    captures: PageCaptures, shingling: Shingling, threshold: float
) -> Iterator[tuple[PageCapture, Version | None, bool | None]]:
    """Yield each capture with its version, and whether its page equals the previous one byte for byte.

    A capture is compared with the previous one of its URL whose text is known. The version is None if its text is unknown.
    """
    for _, group in itertools.groupby(captures, key=lambda pair: pair[0].url):
        before: tuple[TextVersion, CapturedText] | None = None
        for capture, captured in group:
            date = microseconds(capture.date)
            if captured is None:
                yield capture, Version(date, "gone", None), None
            elif captured.text is None:
                yield capture, None, None
            else:
                text = TextVersion(captured.text, shingling)
                if before is None:
                    version, same = Version(date, None, None), None
                else:
                    same = before[1].digest == captured.digest
                    version = Version(date, *text.change_from(before[0], threshold))
                before = text, captured
                yield capture, version, same


@dataclass
class PageChanges:
    """A page: its captures, and how often its text changed. `listed` has each capture, if captures are listed."""

    url: str
    last: str = ""
    captures: int = 0
    changes: int = 0
    listed: list[dict[str, Any]] = field(default_factory=list)


class ChangeFindings:
    """The findings about captures: counts, pages, and the days of the calendar; with `listing`, also each capture."""

    def __init__(self, listing: bool) -> None:
        self._listing = listing
        self.pages: list[PageChanges] = []
        self.first = ""
        self.counts: Counter[str] = Counter(dict.fromkeys(MEANINGS, 0))
        self.revisits = self.same_bytes = self.captures = 0
        self.book = DayBook()

    def add(self, capture: PageCapture, version: Version | None, same: bool | None) -> None:
        """Add a capture; all captures of a page are added consecutively."""
        if not self.pages or self.pages[-1].url != capture.url:
            self.pages.append(PageChanges(capture.url))
        page, name = self.pages[-1], "unknown" if version is None else version.change or "first"
        resemblance = None if version is None else version.resemblance
        real = version is not None and version.real
        page.last = write_time(capture.date)
        page.captures, page.changes = page.captures + 1, page.changes + real
        self.first = min(self.first or page.last, page.last)
        if self._listing:
            page.listed.append({
                "date": page.last, "change": name, "resemblance": resemblance, "same_bytes": same,
                "revisit": capture.revisit, "file": capture.file, "line": capture.line,
            })
        self.counts[name] += 1
        self.captures += 1
        self.revisits += capture.revisit
        self.same_bytes += bool(same)
        alike = name in ("unchanged", "lexical")
        amount = 1.0 if resemblance is None else 1.0 - resemblance  # of the change
        words = name if resemblance is None or alike else f"{name}, resemblance {resemblance:.3f}"
        shown = DayCapture(capture.url, f"{capture.date:%H:%M:%S}", words,
                           None if name in ("first", "unknown") else 0.0 if alike else amount)
        self.book.add(capture.date.date(), shown, real or name == "gone")


# ---- the command


def run_changes(options: ChangesOptions) -> int:
    for name, given in options.take("text_field", "id_field", "delimiter").items():
        if given:
            raise UsageError(f"{option_of(name)} does nothing here: captures of web archives have no fields; leave it out")
    page = report_file(options.report, options.overwrite, options.inputs)
    shingling = make_shingling(options)
    [inputs] = find_inputs(options, (options.inputs, ()))
    named = [source for source in inputs.sources if source.named and source.location]
    wrong = next((source.path for source in named if source.kind not in ARCHIVED), None)
    if wrong is not None:
        raise UsageError(f"{wrong} is neither a web archive (.warc, .arc) nor an index of them (.cdx, .cdxj)")
    findings = ChangeFindings(options.json)
    captures = PageCaptures(inputs, html=options.html_part, threads=options.threads, on_error=options.on_error)
    with contextlib.nullcontext() if page is None else page:  # locked for other jobs
        with captures, reporting(not options.quiet) as report:
            captures.collect(by_position(report, "reading", captures.position))
            _refuse_nothing(captures, options.inputs[0])
            for done, compared in enumerate(compare_captures(captures, shingling, options.threshold), 1):
                findings.add(*compared)
                if done % 100 == 0:
                    report("comparing", done, len(captures))
            report("comparing", len(captures), len(captures))
        account = _make_account(options, captures, findings, shingling)
        if page is not None:
            page.write(_render(account.data, findings))
            page.commit()
            options.outcome.written = True
    return present(options, account)


def _refuse_nothing(captures: PageCaptures, path: str) -> None:
    """Raise DocumentError if there are no captures."""
    if len(captures):
        return
    if captures.rejected:
        raise DocumentError(*captures.rejected[0])
    if captures.ignored and not captures.kinds:
        raise summary.nothing_to_read(path, captures.ignored)
    raise DocumentError(path, None, "no captures of pages: the archives have no response with HTML or plain text")


def _make_account(
    options: ChangesOptions, captures: PageCaptures, findings: ChangeFindings, shingling: Shingling
) -> Account:
    """Make the account of a run."""
    data: dict[str, Any] = {
        "ndcore": __version__,
        "parameters": {
            "inputs": options.inputs, "threshold": options.threshold, "unit": shingling.unit, "width": shingling.width,
            "normalize": shingling.normalize, "html": options.html_part or "page",
        },
        "counts": {"pages": len(findings.pages), "captures": findings.captures, **findings.counts,
                   "same_bytes": findings.same_bytes, "revisits": findings.revisits, "rejected": len(captures.rejected)},
        "first": findings.first, "last": max((page.last for page in findings.pages), default=""),
        "pages": [{"url": page.url, "changes": page.changes, "captures": page.listed} for page in findings.pages],
        "records_not_captures": dict(sorted(captures.kinds.items())),
        "rejected": summary.rejected_list(captures.rejected),
        "ignored": summary.ignored_list(captures.ignored),
    }

    def tell() -> Iterator[str | TextBlock]:
        counts = data["counts"]
        yield (f"{counted(counts['captures'], 'capture')} of {counted(counts['pages'], 'page')}, {data['first'][:10]} to "
               f"{data['last'][:10]}; near: a resemblance of {options.threshold:g} or more")
        yield Figures([(name, counts[name], meaning) for name, meaning in MEANINGS.items()])
        changed = _most_changed(findings)
        if changed:
            yield f"Most changed of {counted(len(changed), 'page')} whose text changed"
            yield Listing((f"{page.changes:>6,} of {page.captures:,}  {printable(page.url)}"
                           for page in changed[:SHOWN]), len(changed) - SHOWN, "page")
        yield Notes([
            Note(counts["same_bytes"], "capture", "with the same page as before, byte for byte"),
            Note(len(captures.rejected), "record", "could not be read; --json lists them"),
            Note(len(captures.ignored), "path", "passed over; --json lists them"),
        ])
        yield from files_written(options.report)

    return Account(data, tell())


def _most_changed(findings: ChangeFindings) -> list[PageChanges]:
    """List the pages whose text changed, the most frequent changes first."""
    return sorted((page for page in findings.pages if page.changes), key=lambda page: (-page.changes, page.url))


def _render(data: dict[str, Any], findings: ChangeFindings) -> str:
    """Render the page for a browser."""
    counts, days = data["counts"], findings.book.days()
    figures = [Figure(counts["pages"], "pages"), Figure(counts["captures"], "captures"),
               Figure(len(days), "days with captures"), Figure(counts["near"] + counts["other"], "texts that changed"),
               Figure(counts["gone"], "gone")]
    changed = _most_changed(findings)
    tables = (
        ReportTable("Changes", "Each capture against the one before, of the same page.", ("Change", "Captures", "Meaning"),
                    tuple((name, counts[name], meaning) for name, meaning in MEANINGS.items()), len(MEANINGS)),
        ReportTable("Pages that changed most", "By the number of captures with another text than the one before.",
                    ("Page", "Changes", "Captures", "Last capture"),
                    tuple((page.url, page.changes, page.captures, page.last[:10]) for page in changed[:ROWS]), len(changed)),
    )
    parameters = [(name, " ".join(value) if isinstance(value, list) else str(value))
                  for name, value in data["parameters"].items()]
    subtitle = f"{data['first'][:10]} to {data['last'][:10]}. Colours: one minus the resemblance to the capture before."
    return calendar_page("Change over time", subtitle, figures, days, tables, parameters)
