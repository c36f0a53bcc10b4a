"""Render a report as a page of HTML of bounded size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ndcore.alignment.rows import spelt
from ndcore.human import counted
from ndcore.report.charts import Bar, chart, resemblance_bars, size_bars, stacked
from ndcore.report.elements import (
    NAME,
    grid,
    header,
    making_card,
    plain_name,
    section,
    show_name,
    show_resemblance,
    show_share,
    show_snippet,
    show_text,
    table_card,
    three_decimals,
)
from ndcore.report.html import page
from ndcore.report.model import MEANING, MEMBERS, Loss, Losses, Member, Part, Report, ShownCluster, versions
from ndcore.report.style import SCRIPT, STYLE
from ndcore.report.views import side_by_side

__all__ = ["render"]


def render(report: Report) -> str:
    """Render a report as a page: one file that loads nothing, works without its script, and can be printed.

    Names, texts and parameters are escaped. Long ones are cut, and the page says so. A report with the bounds of
    `ndcore.report.model` has at most about 4 MB. Equal reports give equal pages.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML.
    """
    sections = [
        section("outcome", "Outcome", _outcome(report)),
        section("sizes", "Sizes and resemblances", _charts(report)),
        section("clusters", "Clusters", _clusters(report)),
        *([] if report.losses is None else [section("losses", "What the drops cost", _losses(report.losses, report.score))]),
        section("views", "Side by side", side_by_side(report)),
        *(section(f"table-{i}", show_text(table.title), table_card(table)) for i, table in enumerate(report.tables, 1)),
        section("making", "How this was made", _making(report)),
    ]
    head = header(report.title, report.subtitle, report.figures)
    return page(plain_name(report.title), f"{head}\n<main>\n{chr(10).join(sections)}\n</main>", STYLE, SCRIPT)


# ---- outcome and charts


def _outcome(report: Report) -> str:
    """Render the classes of all documents, as a bar and a table, and the notes."""
    total = max(1, sum(part.documents for part in report.parts))
    documents, colours = {part.name: part.documents for part in report.parts}, _in_order_of_colours(report)
    counts = [(spelt(name[:NAME]), documents.get(name, 0)) for name in colours]
    bar = stacked(counts, "stack", "Documents by what became of them")
    lines = "".join(_part(part, colours.index(part.name), total) for part in report.parts)
    heads = ("Class", False), ("Documents", True), ("Share", True), ("Meaning", False)
    table = grid("All documents by what became of them", heads, lines)
    notes = "".join(f"<li>{show_text(note)}</li>" for note in report.notes)
    listed = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f'<div class="card">{bar}<div class="wide">{table}</div></div>{listed}'


def _part(part: Part, colour: int, total: int) -> str:
    """Render the row of a class."""
    return (
        f'<tr><th scope="row"><i class="key p{colour}"></i>{show_text(part.name)}</th>'
        f'<td class="number">{part.documents:,}</td><td class="number faint">{show_share(part.documents / total)}</td>'
        f"<td>{show_text(part.meaning)}</td></tr>"
    )


def _in_order_of_colours(report: Report) -> list[str]:
    """List the classes by their colours, absent ones too, so that a class has the same colour on every page."""
    names = [part.name for part in report.parts]
    known = [names[0] if i == 0 and names else name for i, name in enumerate(MEANING)]
    return known + [name for name in names if name not in known]


def _charts(report: Report) -> str:
    """Render the histograms of cluster sizes and resemblances."""
    sizes = size_bars(report.sizes)
    bars = resemblance_bars(report.resemblances, report.threshold)
    if not sizes and not bars:
        return '<p class="faint">No document duplicates another.</p>'
    figures = ""
    if sizes:
        figures += _chart("sizes", "Clusters by their number of documents", "Documents", "Clusters", sizes, None, "", "")
    if bars:
        low = float(bars[0].label.partition(" ")[0])
        place = (report.threshold - low) / (1 - low) * len(bars)
        figures += _chart(
            "pairs", f"Accepted pairs by {report.measure}", report.measure.capitalize(), "Pairs", bars,
            (place, f"threshold {report.threshold:g}"), "1", report.pairs,
        )
    return f'<div class="pair">{figures}</div>'


def _chart(
    name: str, title: str, what: str, counted: str, bars: Sequence[Bar], mark: tuple[float, str] | None, end: str, note: str
) -> str:
    """Render a histogram with its numbers in a table."""
    lines = "".join(f'<tr><td>{bar.label}</td><td class="number">{bar.number:,}</td></tr>' for bar in bars if bar.number)
    numbers = grid(title, ((what, False), (counted, True)), lines)
    return (
        f'<figure class="card"><figcaption>{title}</figcaption>{chart(f"chart-{name}", title, bars, mark, end)}'
        + (f'<p class="faint small">{show_text(note)}</p>' if note else "")
        + f"<details><summary>The numbers</summary>{numbers}</details></figure>"
    )


# ---- clusters


def _clusters(report: Report) -> str:
    """Render the table of clusters."""
    if not report.clusters:
        return '<p class="faint">There are none: no document stands for another.</p>'
    total, listed = len(report.sizes), len(report.clusters)
    count = "All" if listed == total else f"The {listed:,} largest of {total:,}"
    names = _in_order_of_colours(report)
    caption = f"{count} clusters. Of the members of each, at most {MEMBERS} are listed, least alike first."
    lowest = f"Lowest {report.score or 'resemblance'}"
    heads = ("Documents", True), ("Representative", False), ("Members", False), (lowest, True)
    lines = "".join(_cluster(i, cluster, names, report.score) for i, cluster in enumerate(report.clusters, 1))
    return (
        '<div class="card"><p class="filter" hidden><label>Filter <input type="search" autocomplete="off" '
        'placeholder="words of a name or a text"></label> <output></output></p>'
        f'<div class="wide">{grid(caption, heads, lines, "sortable")}</div></div>'
    )


def _cluster(number: int, cluster: ShownCluster, names: list[str], score: str | None) -> str:
    """Render the row of a cluster."""
    bar = stacked([(name, cluster.verdicts.get(name, 0)) for name in names], "mini")
    classes = ", ".join(f"{cluster.verdicts[name]:,} {show_text(name)}" for name in names if name in cluster.verdicts)
    snippet = f'<p class="snippet" dir="auto">{show_snippet(cluster.excerpt)}</p>' if cluster.excerpt else ""
    note = f'<p class="faint small">{show_text(cluster.note)}</p>' if cluster.note else ""
    link = f'<p class="small"><a href="#view-{number}">side by side</a></p>' if cluster.view else ""
    lowest = -1.0 if math.isnan(cluster.lowest) else cluster.lowest
    return (
        f'<tr id="cluster-{number}"><td class="number" data-value="{cluster.documents}">{cluster.documents:,}</td>'
        f'<td class="representative"><strong>{show_name(cluster.name)}</strong>{note}{snippet}'
        f"{_members(cluster, score)}</td>"
        f'<td data-value="{sum(cluster.verdicts.values())}">{bar}<span class="small">{classes}</span>{link}</td>'
        f'<td class="number" data-value="{lowest:.6f}" data-name="lowest {score or "resemblance"}">'
        f"{three_decimals(cluster.lowest)}</td></tr>\n"
    )


def _members(cluster: ShownCluster, score: str | None) -> str:
    """Render the members of a cluster, which unfold."""
    lines = "".join(
        f"<tr><td>{show_name(member.name)}</td><td>{show_text(member.verdict)}</td>"
        f'<td class="number">{show_resemblance(member)}</td>{_score(member)}</tr>'
        for member in cluster.members
    )
    total, listed = sum(cluster.verdicts.values()), len(cluster.members)
    below = f", {listed:,} of them below" if listed < total else ""
    more = f": {total - listed:,} more are not listed" if listed < total else ""
    heads = [("Document", False), ("Class", False), ("Resemblance", True)]
    heads += [] if score is None else [(score.capitalize(), True)]
    return (
        f"<details><summary>{counted(total, 'member')}{below}</summary>"
        f"{grid(f'Members of {show_name(cluster.name)}{more}', heads, lines)}</details>"
    )


def _score(member: Member) -> str:
    """Render the cell of a member's score, where it has one."""
    return "" if member.score is None else f'<td class="number">{three_decimals(member.score)}</td>'


# ---- what the drops cost


def _losses(losses: Losses, score: str | None) -> str:
    """Render the review list: the dropped documents with most shingles that no kept document has."""
    if not losses.shingles:
        return '<p class="faint">Nothing: every shingle of a dropped document is in a kept one.</p>'
    shingles, documents = counted(losses.shingles, "shingle"), counted(losses.documents, "dropped document")
    text = f"{shingles} of {documents} that no kept document has. The largest losses come first: look at these drops."
    lines = "".join(_loss(rank, loss) for rank, loss in enumerate(losses.largest, 1))
    heads = [("Shingles lost", True), ("Share", True), ("Document, and its representative", False), ("Class", False),
             ("Resemblance", True), *([] if score is None else [(score.capitalize(), True)])]
    listed = len(losses.largest)
    extent = "all" if listed == losses.documents else f"the {listed:,} largest of {losses.documents:,}"
    table = grid(f"What the drops cost: {extent}. Share: of the document's own shingles", heads, lines)
    return f'<p class="faint">{text}</p><div class="card wide">{table}</div>'


def _loss(rank: int, loss: Loss) -> str:
    """Render a row of the review list."""
    member = loss.member
    share = show_share(loss.lost / loss.shingles) if loss.shingles else "–"
    link = f' · <a href="#view-lost-{rank}">side by side</a>' if loss.view else ""
    return (
        f'<tr><td class="number">{loss.lost:,}</td><td class="number">{share}</td><td>{show_name(member.name)}'
        f'<p class="faint small">for {show_name(loss.representative)}{link}</p></td><td>{show_text(member.verdict)}</td>'
        f'<td class="number">{show_resemblance(member)}</td>{_score(member)}</tr>'
    )


# ---- parameters


def _making(report: Report) -> str:
    """Render the parameters that decide the result."""
    rows = [*report.parameters, ("recipe id", report.recipe[0]), ("recipe", report.recipe[1]), *versions()]
    if report.command is not None:
        rows.insert(0, ("command", report.command))
    if report.made is not None:
        rows.insert(0, ("made", report.made))
    return making_card(rows)
