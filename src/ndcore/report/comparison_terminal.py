"""The terminal's view of two documents side by side, drawn by rich: names, figures, and the passages of both."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from ndcore.alignment.passages import Passage
from ndcore.alignment.rows import AlignedRow, elided, rows
from ndcore.checks import missing
from ndcore.choices import NORMALIZED
from ndcore.human import printable
from ndcore.report.comparison import ComparedDocument, DocumentComparison, as_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text as Styled

SHOWN_ROWS = 40
SHOWN_CHARACTERS = {True: 240, False: 1200}  # characters shown of a shared passage, and of another one
STYLES = {"": "cyan", "moved": "magenta", "again": "magenta", "=": "dim cyan", "-": "yellow", "+": "green"}


def print_comparison(comparison: DocumentComparison, stream: TextIO, every: bool) -> None:
    """Write a comparison to a terminal in colours, or to another stream as plain text; `every`: all passages in full.

    Raises ImportError without rich.
    """
    with _draw(stream, "; --json and --report do without") as console:
        _print_figures(comparison, console)
        if comparison.verdict != "identical":
            _print_passages(comparison, console, every, ": --all shows everything, --report FILE and --json have it too")


def print_passages(comparison: DocumentComparison, stream: TextIO) -> None:
    """Write the names of two documents and their passages, without verdict and figures. Raises ImportError without rich."""
    with _draw(stream, "") as console:
        _print_names(comparison, console)
        _print_passages(comparison, console, False, "")


@contextlib.contextmanager
def _draw(stream: TextIO, advice: str) -> Iterator[Any]:
    """Yield a console of rich; at the end of the ``with`` block write what it drew, without blanks at the ends of lines.

    Raises ImportError without rich; `advice` is added to its message.
    """
    try:
        from rich.console import Console
    except ImportError as error:
        raise ImportError(f"{missing('rich', 'this view')}{advice}") from error
    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False)
    with console.capture() as capture:
        yield console
    stream.write(re.sub(r" +$", "", capture.get(), flags=re.MULTILINE))


def _print_names(comparison: DocumentComparison, console: Any) -> None:
    """Print the names and sizes of both documents."""
    from rich.text import Text

    for letter, document in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text.assemble((f"{letter}  {printable(document.name)}", "bold"), f"  {document.sizes}"))


def _print_figures(comparison: DocumentComparison, console: Any) -> None:
    """Print both documents, the verdict, and the table of figures."""
    from rich.table import Table
    from rich.text import Text

    _print_names(comparison, console)
    console.print(Text.assemble("Verdict: ", (comparison.sentence, "bold"), f" (threshold {comparison.threshold:g})"))
    if comparison.verdict == "none":
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", "exact", *(estimate.sketch for estimate in comparison.estimates)):
        table.add_column(name, overflow="fold")
    estimated = [_format_interval(e.resemblance, e.interval) for e in comparison.estimates]
    table.add_row("resemblance", Text(f"{comparison.exact.resemblance:.4f}", "bold"), *estimated)
    for side, name in enumerate(("A in B", "B in A")):
        values = (_format_interval(e.containment[side], e.containment_intervals[side]) for e in comparison.estimates)
        table.add_row(name, f"{comparison.containment[side]:.4f}", *values)
    console.print(table)
    console.print(
        f"{comparison.exact.common:,} of {comparison.exact.union:,} shingles are in both. A in B: containment, the share of "
        "A's shingles that B has. Estimates with intervals of 95 % confidence."
    )


def _format_interval(value: float, interval: tuple[float, float]) -> str:
    """Format an estimate with its interval."""
    low, high = interval
    return f"{value:.4f} exactly" if low == high else f"{value:.3f} ({low:.2f}-{high:.2f})"


def _print_passages(comparison: DocumentComparison, console: Any, every: bool, advice: str) -> None:
    """Print the passages of both documents side by side; `advice` follows the number of those that are not shown."""
    from rich.table import Table

    listed = rows(comparison.passages)
    shown = listed if every else listed[:SHOWN_ROWS]
    table = Table.grid(expand=True, padding=(0, 0, 0, 0))
    for _ in range(2):
        table.add_column(ratio=1)
    for row in shown:
        table.add_row(*(_build_cell(comparison, side, row, every) for side in (0, 1)))
    console.print()
    console.print("[n] shared; = equal, too short to be a shared shingle; - in A, not at this place in B; + in B, not at "
                  "this place in A; moved: elsewhere in the other document; again: repeated")
    console.print(table)
    left = sum(len(row.a) + len(row.b) for row in listed[len(shown) :])
    if left:
        console.print(f"and {left:,} more passages{advice}")


def _build_cell(comparison: DocumentComparison, side: int, row: AlignedRow, every: bool) -> Table:
    """Build one side of a row of passages."""
    from rich.table import Table
    from rich.text import Text

    document = (comparison.a, comparison.b)[side]
    cell = Table.grid(padding=(0, 1, 0, 0), expand=True)
    cell.add_column(no_wrap=True, min_width=4, justify="right")
    cell.add_column(ratio=1, overflow="fold")
    for passage in (row.a, row.b)[side]:
        note = "again" if passage.repeat else "" if row.aligned else "moved"
        mark = "=" if passage.short else f"[{passage.number}]" if passage.number else "-+"[side]
        style = STYLES[note if passage.number and not passage.short else mark]
        cell.add_row(Text(mark, style), _style(document, passage, note, style, comparison.shingling.unit, every))
    return cell


def _style(document: ComparedDocument, p: Passage, note: str, style: str, unit: Any, every: bool) -> Styled:
    """Build the styled text of a passage; a long one is shortened unless `every` is True."""
    from rich.text import Text

    text = _make_printable(document.text[p.start : p.end], unit)
    limit = len(text) if every else SHOWN_CHARACTERS[p.number > 0]
    head, middle, tail = elided(text, limit)
    styled = Text(f"({note}) " if p.number and note else "", "italic")
    styled.append(head, style)
    if middle:
        styled.append(f" ... {len(middle):,} characters ... ").append(tail, style)
    return styled


def _make_printable(text: str | bytes, unit: Any) -> str:
    """Make a text printable; for units that ignore blanks, such as words, a run of blanks becomes one blank."""
    decoded = as_text(text)
    if unit == "word":
        return printable(re.sub(r"\s+", " ", decoded))
    lines: Iterable[str] = re.split(r"\r\n?|\n", decoded) if unit in NORMALIZED["words"] else [decoded]
    return "\n".join(map(printable, lines))
