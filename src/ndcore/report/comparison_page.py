"""Render a comparison as a page of HTML."""

from __future__ import annotations

from ndcore.alignment.rows import visible
from ndcore.human import printable
from ndcore.report.comparison import ComparedDocument, DocumentComparison
from ndcore.report.html import draw_overview, read_beside, wrap_page
from ndcore.report.side_by_side import show_side_by_side

STYLE = read_beside(__file__, "comparison.css")


def compare_page(compared: DocumentComparison) -> str:
    """Render a comparison as one page."""
    return wrap_page(title_of(compared), show_comparison(compared), STYLE)


def title_of(compared: DocumentComparison) -> str:
    """Return the title of the page."""
    return f"{printable(compared.a.name)} and {printable(compared.b.name)}: {compared.sentence}"


def show_comparison(compared: DocumentComparison) -> str:
    """Render verdict, figures, a map of the shared passages, and the passages side by side."""
    sentence = visible(compared.sentence)
    body = [
        f"<h1>{sentence[:1].upper()}{sentence[1:]}</h1>",
        f'<p class="verdict">{_show_subtitle(compared)}</p>',
        f'<div class="cards">{_card("A", compared.a)}{_card("B", compared.b)}</div>',
    ]
    if compared.verdict != "none":
        body.append(_show_figures(compared))
    body.append(f'<div class="card wide">{_legend()}{draw_overview(compared.passages)}</div>')
    body.append(show_side_by_side(compared.a.shown, compared.b.shown, compared.passages, (compared.a.name, compared.b.name)))
    return "\n".join(body)


def _show_subtitle(compared: DocumentComparison) -> str:
    """Render the line below the verdict: shared shingles, threshold, kind of shingles."""
    sh = compared.shingling
    labelled = "labelled " if sh.labelled else ""
    normal = f", {sh.normalize}" if sh.normalize else ""
    shared = f"{compared.exact.common:,} of {compared.exact.union:,} {labelled}shingles are in both"
    return f"{shared} · threshold {compared.threshold:g} · shingles of {sh.width} {sh.unit}s{normal}"


def _card(letter: str, document: ComparedDocument) -> str:
    """Render the name and size of a document."""
    note = document.note and f"<p>{document.note}</p>"
    return (
        f'<section class="card"><h2>{letter} · {visible(document.name)}</h2><p>{document.sizes}</p>{note}</section>'
    )


def _show_figures(compared: DocumentComparison) -> str:
    """Render the table of exact and estimated figures."""
    heads = "".join(f'<th scope="col">from {estimate.sketch}, 95 % interval</th>' for estimate in compared.estimates)
    cells = "".join(_cell(e.resemblance, e.interval, compared.exact.resemblance) for e in compared.estimates)
    lines = [f'<tr><th scope="row">resemblance</th><td class="exact">{compared.exact.resemblance:.4f}</td>{cells}</tr>']
    for side, name in enumerate(("containment of A in B", "containment of B in A")):
        cells = "".join(
            _cell(e.containment[side], e.containment_intervals[side], compared.containment[side]) for e in compared.estimates
        )
        lines.append(f'<tr><th scope="row">{name}</th><td class="exact">{compared.containment[side]:.4f}</td>{cells}</tr>')
    return (
        f'<div class="card wide"><table class="estimates"><thead><tr><td></td><th scope="col">exact</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: float, interval: tuple[float, float], exact: float) -> str:
    """Render an estimate with its interval, in digits and drawn."""
    low, high = interval
    return f"<td>{value:.4f} <small>{low:.4f} to {high:.4f}</small>{_track(exact, interval)}</td>"


def _track(exact: float, interval: tuple[float, float]) -> str:
    """Draw the interval as a band on a track from 0 to 1, with a tick at the exact value."""
    low, high = interval
    band = f'x="{low:.2%}" width="{max(high - low, 0.004):.2%}"'
    return (
        '<svg class="track" aria-hidden="true"><rect class="all" y="4" width="100%" height="6" rx="3"/>'
        f'<rect class="band" {band} y="4" height="6" rx="3"/>'
        f'<line class="tick" x1="{exact:.2%}" x2="{exact:.2%}" y2="14"/></svg>'
    )


def _legend() -> str:
    """Render the legend of the signs."""
    return (
        '<div class="legend"><span><span class="nd-sign s">1</span>shared: the same number on both sides</span>'
        '<span><span class="nd-sign nd-equal">=</span>equal, too short to be a shared shingle</span>'
        '<span><span class="nd-sign nd-only">≠</span>not at this place of the other document</span>'
        '<span><span class="nd-sign m">2</span>shared, but elsewhere in the other document, or repeated</span></div>'
    )
