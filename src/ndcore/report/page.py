"""Render a report as an HTML page of bounded size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ndcore.alignment.passages import passages
from ndcore.alignment.rows import spell_text
from ndcore.human import counted
from ndcore.report.charts import Bar, draw_histogram, draw_stack, resemblance_bars, size_bars
from ndcore.report.elements import (
    NAME,
    fit,
    plain_name,
    show_grid,
    show_making,
    show_name,
    show_page,
    show_resemblance,
    show_section,
    show_share,
    show_snippet,
    show_sortable,
    show_tables,
    show_text,
    three_decimals,
)
from ndcore.report.html import draw_overview
from ndcore.report.model import (
    EXCERPT,
    MEANING,
    MEMBERS,
    Loss,
    Losses,
    Member,
    Part,
    Report,
    ShownCluster,
    View,
    never_refusing,
    truncate,
    versions,
)
from ndcore.report.side_by_side import LEGEND, show_side_by_side
from ndcore.text.shingling import Shingling


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
        show_section("outcome", "Outcome", _outcome(report)),
        show_section("sizes", "Sizes and resemblances", _charts(report)),
        show_section("clusters", "Clusters", _clusters(report)),
        *([] if report.losses is None else
          [show_section("losses", "What the drops cost", _losses(report.losses, report.score))]),
        show_section("views", "Side by side", side_by_side(report)),
        *show_tables(report.tables),
        show_section("making", "How this was made", _making(report)),
    ]
    return show_page(report.title, report.subtitle, report.figures, sections)


# ---- outcome and charts


def _outcome(report: Report) -> str:
    """Render the classes of all documents, as a bar and a table, and the notes."""
    total = max(1, sum(part.documents for part in report.parts))
    documents, colours = {part.name: part.documents for part in report.parts}, _in_order_of_colours(report)
    counts = [(spell_text(name[:NAME]), documents.get(name, 0)) for name in colours]
    bar = draw_stack(counts, "stack", "Documents by what became of them")
    lines = "".join(_part(part, colours.index(part.name), total) for part in report.parts)
    heads = ("Class", False), ("Documents", True), ("Share", True), ("Meaning", False)
    table = show_grid("All documents by what became of them", heads, lines)
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
    """List the classes in the order of their colours, absent ones too, so that each has the same colour on every page."""
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
    numbers = show_grid(title, ((what, False), (counted, True)), lines)
    return (
        f'<figure class="card"><figcaption>{title}</figcaption>{draw_histogram(f"chart-{name}", title, bars, mark, end)}'
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
    return show_sortable(caption, heads, lines, "clusters", "words of a name or a text")


def _cluster(number: int, cluster: ShownCluster, names: list[str], score: str | None) -> str:
    """Render the row of a cluster."""
    bar = draw_stack([(name, cluster.verdicts.get(name, 0)) for name in names], "mini")
    classes = ", ".join(f"{cluster.verdicts[name]:,} {show_text(name)}" for name in names if name in cluster.verdicts)
    snippet = f'<p class="snippet" dir="auto">{show_snippet(cluster.excerpt)}</p>' if cluster.excerpt else ""
    note = f'<p class="faint small">{show_text(cluster.note)}</p>' if cluster.note else ""
    link = f'<p class="small"><a href="#view-{number}">side by side</a></p>' if cluster.view else ""
    lowest = -1.0 if math.isnan(cluster.lowest) else cluster.lowest
    return (
        f'<tr id="cluster-{number}"><td class="number" data-value="{cluster.documents}" data-unit="documents">'
        f'{cluster.documents:,}</td>'
        f'<td class="representative"><strong>{show_name(cluster.name)}</strong>{note}{snippet}'
        f"{_members(cluster, score)}</td>"
        f'<td data-value="{sum(cluster.verdicts.values())}">{bar}<span class="small">{classes}</span>{link}</td>'
        f'<td class="number" data-value="{lowest:.6f}" data-name="lowest {score or "resemblance"}">'
        f"{three_decimals(cluster.lowest)}</td></tr>\n"
    )


def _members(cluster: ShownCluster, score: str | None) -> str:
    """Render the members of a cluster, folded at first."""
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
        f"{show_grid(f'Members of {show_name(cluster.name)}{more}', heads, lines)}</details>"
    )


def _score(member: Member) -> str:
    """Render the cell of a member's score, if it has one."""
    return "" if member.score is None else f'<td class="number">{three_decimals(member.score)}</td>'


# ---- the cost of the drops


def _losses(losses: Losses, score: str | None) -> str:
    """Render the review list: the dropped documents with the most shingles that no kept document has."""
    if not losses.shingles:
        return '<p class="faint">Nothing: every shingle of a dropped document is in a kept one.</p>'
    shingles, documents = counted(losses.shingles, "shingle"), counted(losses.documents, "dropped document")
    text = f"{shingles} of {documents} that no kept document has. The largest losses come first: look at these drops."
    lines = "".join(_loss(rank, loss) for rank, loss in enumerate(losses.largest, 1))
    heads = [("Shingles lost", True), ("Share", True), ("Document, and its representative", False), ("Class", False),
             ("Resemblance", True), *([] if score is None else [(score.capitalize(), True)])]
    listed = len(losses.largest)
    extent = "all" if listed == losses.documents else f"the {listed:,} largest of {losses.documents:,}"
    table = show_grid(f"What the drops cost: {extent}. Share: of the document's own shingles", heads, lines)
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
    return show_making(rows)


VIEWS_BYTES = 2_500_000  # most bytes for all texts side by side


def side_by_side(report: Report) -> str:
    """Render the pairs of documents side by side."""
    if not report.clusters:
        return '<p class="faint">There is nothing to compare.</p>'
    if report.shingling is None or callable(report.shingling.unit):
        return '<p class="faint">Where tokens of this unit are in a text is not known: passages cannot be shown.</p>'
    least_alike = [
        (str(i), View(cluster.name, cluster.excerpt, cluster.members[0], cluster.view))
        for i, cluster in enumerate(report.clusters, 1) if cluster.view is not None and cluster.excerpt is not None
    ]
    nearest = [(f"near-{i}", view) for i, view in enumerate(report.nearest, 1)]
    lost = [] if report.losses is None else [
        (f"lost-{i}", loss.view) for i, loss in enumerate(report.losses.largest, 1) if loss.view is not None
    ]
    if not least_alike and not nearest and not lost:
        only = all(set(cluster.verdicts) == {"identical"} for cluster in report.clusters)
        reason = "The clusters above are of identical documents." if only else "The texts are not at hand."
        return f'<p class="faint">{reason}</p>'
    shingling, size = never_refusing(report.shingling), VIEWS_BYTES // (len(least_alike) + len(nearest) + len(lost))
    to = "in" if report.measure.startswith("containment") else "to"

    def views(chosen: list[tuple[str, View]], back: Callable[[str], tuple[str, str] | None]) -> list[str]:
        return [_view(place, view, shingling, size, report.score, back(place)) for place, view in chosen]

    return (
        f'<p class="faint">{LEGEND}</p>'
        + _show_views("Least alike", "The representative and the member least like it, of the largest clusters with a "
                  "difference to see.", views(least_alike, lambda place: (f"cluster-{place}", "the cluster")))
        + _show_views("Nearest the threshold", f"Documents whose {report.measure} {to} their representative is "
                  f"{report.threshold:g} or little more: a slightly higher threshold would keep them apart.",
                  views(nearest, lambda place: None))
        + _show_views("What the drops cost", "The dropped documents with most shingles that no kept document has.",
                  views(lost, lambda place: ("losses", "the list")))
    )


def _show_views(title: str, text: str, views: Sequence[str]) -> str:
    """Render views under a heading."""
    return f'<h3>{title}</h3><p class="faint">{text}</p>{"".join(views)}' if views else ""


def _view(
    place: str, view: View, shingling: Shingling, size: int, score: str | None, back: tuple[str, str] | None
) -> str:
    """Render two documents side by side, folded at first; `back` is the id and the name of the table that lists them."""
    sides, member = (view.excerpt, view.view), view.member
    names = plain_name(view.name), plain_name(member.name)

    def compare_beginnings(limit: int) -> str:
        a, b = (truncate(side.text, limit) for side in sides)
        aligned = passages(a, b, shingling)
        notes = [
            f"Of {side}, the first {len(text):,} of {whole.length:,} {'bytes' if isinstance(text, bytes) else 'characters'} "
            "are compared and shown."
            for side, text, whole in zip(("the representative", "the member"), (a, b), sides, strict=True)
            if len(text) < whole.length
        ]
        note = f'<p class="cut-note">{" ".join(notes)}</p>' if notes else ""
        return note + draw_overview(aligned) + show_side_by_side(a, b, aligned, names, f"v{place}-")

    link = "" if back is None else f'<p class="small"><a href="#{back[0]}">back to {back[1]}</a></p>'
    its_score = "" if member.score is None else f", {score} {three_decimals(member.score)}"
    return (
        f'<details class="card view" id="view-{place}"><summary><strong>{show_name(view.name)}</strong> and '
        f'<strong>{show_name(member.name)}</strong> <span class="faint">{show_text(member.verdict)}, resemblance '
        f"{show_resemblance(member)}{its_score}</span></summary>\n{fit(compare_beginnings, EXCERPT, size)}"
        f"{link}</details>\n"
    )
