"""Render a report as a page of HTML of bounded size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ndcore._types import Text
from ndcore.alignment.passages import passages
from ndcore.alignment.rows import elided, spelt, visible
from ndcore.human import counted
from ndcore.recipe import Recipe
from ndcore.report.charts import Bar, chart, resemblance_bars, size_bars, stacked
from ndcore.report.html import overview, page
from ndcore.report.model import (
    EXCERPT,
    MEMBERS,
    Excerpt,
    Member,
    Report,
    ReportTable,
    ShownCluster,
    View,
    truncate,
    versions,
)
from ndcore.report.side_by_side import fragment
from ndcore.report.style import SCRIPT, STYLE
from ndcore.text.shingling import Shingling

__all__ = ["render"]

NAME, NAME_BYTES = 100, 500  # characters of a name, bytes of its HTML
SNIPPET, SNIPPET_BYTES = 180, 1500
VALUE, VALUE_BYTES = 12_000, 60_000  # of a parameter, the command line, the recipe
VIEWS_BYTES = 2_500_000  # of all texts side by side


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
        _section("outcome", "Outcome", _outcome(report)),
        _section("sizes", "Sizes and resemblances", _charts(report)),
        _section("clusters", "Clusters", _clusters(report)),
        _section("views", "Side by side", _views(report)),
        *(_section(f"table-{i}", _text(table.title), _table(table)) for i, table in enumerate(report.tables, 1)),
        _section("making", "How this was made", _making(report)),
    ]
    figures = "".join(f"<div><dd>{figure.number:,}</dd><dt>{_text(figure.label)}</dt></div>" for figure in report.figures)
    head = (
        f'<header><p class="eyebrow">ndcore report</p><h1>{_text(report.title)}</h1>'
        f'<p class="faint">{_text(report.subtitle)}</p><dl class="figures">{figures}</dl></header>'
    )
    return page(_plain(report.title), f"{head}\n<main>\n{chr(10).join(sections)}\n</main>", STYLE, SCRIPT)


def _section(name: str, title: str, body: str) -> str:
    """Render a section under a heading."""
    return f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">{title}</h2>\n{body}</section>'


def _grid(caption: str, heads: Sequence[tuple[str, bool]], lines: str, kind: str = "") -> str:
    """Render a table of rows that are HTML already; `heads` are names of columns, and whether they hold numbers."""
    names = "".join(f'<th scope="col"{_right(right)}>{name}</th>' for name, right in heads)
    about = f' class="{kind}"' if kind else ""
    return f"<table{about}><caption>{caption}</caption><thead><tr>{names}</tr></thead>\n<tbody>{lines}</tbody></table>"


# ---- texts of others, escaped and bounded


def _fitted(make: Callable[[int], str], limit: int, size: int) -> str:
    """Call `make` with limit, limit / 2, … characters until the result has at most `size` bytes; return it."""
    body = make(limit)
    while len(body.encode()) > size and limit > 8:
        limit //= 2
        body = make(limit)
    return body


def _short(text: str, limit: int) -> str:
    """Escape a text, and cut the middle of a long one."""
    head, middle, tail = elided(text, limit)
    if not middle:
        return visible(text)
    return f'{visible(head)}<span class="cut">… {len(middle):,} characters …</span>{visible(tail)}'


def _name(name: str) -> str:
    """Render the name of a document."""
    return f"<bdi>{_fitted(lambda limit: _short(name, limit), NAME, NAME_BYTES)}</bdi>"


def _text(text: str) -> str:
    """Render a short text, cut where it is long."""
    return _fitted(lambda limit: _short(text, limit), 600, 3000)


def _value(text: str) -> str:
    """Render the value of a parameter."""
    return f"<code>{_fitted(lambda limit: _short(text, limit), VALUE, VALUE_BYTES)}</code>"


def _snippet(excerpt: Excerpt) -> str:
    """Render the first words of an excerpt, on one line."""
    def first(limit: int) -> str:
        start = truncate(excerpt.text, 4 * limit)
        words: Text = b" ".join(start.split()) if isinstance(start, bytes) else " ".join(start.split())
        head = truncate(words, limit)
        if len(head) == len(words) and len(start) == excerpt.length:
            return visible(head)
        whole: Text = head.rpartition(b" ")[0] if isinstance(head, bytes) else head.rpartition(" ")[0]
        return f'{visible(whole or head)}<span class="cut">&nbsp;…</span>'

    return _fitted(first, SNIPPET, SNIPPET_BYTES)


def _resemblance(member: Member) -> str:
    """Write the resemblance of a member, marked where it is estimated."""
    if math.isnan(member.resemblance):
        return "–"
    return f"{'≈ ' if member.estimated else ''}{_three(member.resemblance)}"


def _three(value: float) -> str:
    """Write a number with three decimals, rounded down, so that it never looks like 1 or a threshold above it."""
    return "–" if math.isnan(value) else f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}"


# ---- outcome and charts


def _outcome(report: Report) -> str:
    """Render the classes of all documents, as a bar and a table, and the notes."""
    total = max(1, sum(part.documents for part in report.parts))
    counts = [(spelt(part.name[:NAME]), part.documents) for part in report.parts]
    bar = stacked(counts, "stack", "Documents by what became of them")
    lines = "".join(
        f'<tr><th scope="row"><i class="key p{i}"></i>{_text(part.name)}</th><td class="number">{part.documents:,}</td>'
        f'<td class="number faint">{_share(part.documents / total)}</td><td>{_text(part.meaning)}</td></tr>'
        for i, part in enumerate(report.parts)
    )
    heads = ("Class", False), ("Documents", True), ("Share", True), ("Meaning", False)
    table = _grid("All documents by what became of them", heads, lines)
    notes = "".join(f"<li>{_text(note)}</li>" for note in report.notes)
    listed = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f'<div class="card">{bar}<div class="wide">{table}</div></div>{listed}'


def _share(share: float) -> str:
    """Write a share as a percentage."""
    return "< 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


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
    numbers = _grid(title, ((what, False), (counted, True)), lines)
    return (
        f'<figure class="card"><figcaption>{title}</figcaption>{chart(f"chart-{name}", title, bars, mark, end)}'
        + (f'<p class="faint small">{_text(note)}</p>' if note else "")
        + f"<details><summary>The numbers</summary>{numbers}</details></figure>"
    )


# ---- clusters


def _clusters(report: Report) -> str:
    """Render the table of clusters."""
    if not report.clusters:
        return '<p class="faint">There are none: no document stands for another.</p>'
    total, listed = len(report.sizes), len(report.clusters)
    count = "All" if listed == total else f"The {listed:,} largest of {total:,}"
    names = [part.name for part in report.parts]
    caption = f"{count} clusters. Of the members of each, at most {MEMBERS} are listed, least alike first."
    heads = ("Documents", True), ("Representative", False), ("Members", False), ("Lowest resemblance", True)
    lines = "".join(_cluster(i, cluster, names) for i, cluster in enumerate(report.clusters, 1))
    return (
        '<div class="card"><p class="filter" hidden><label>Filter <input type="search" autocomplete="off" '
        'placeholder="words of a name or a text"></label> <output></output></p>'
        f'<div class="wide">{_grid(caption, heads, lines, "sortable")}</div></div>'
    )


def _cluster(number: int, cluster: ShownCluster, names: list[str]) -> str:
    """Render the row of a cluster."""
    bar = stacked([(name, cluster.verdicts.get(name, 0)) for name in names], "mini")
    classes = ", ".join(f"{cluster.verdicts[name]:,} {_text(name)}" for name in names if name in cluster.verdicts)
    snippet = f'<p class="snippet" dir="auto">{_snippet(cluster.excerpt)}</p>' if cluster.excerpt else ""
    note = f'<p class="faint small">{_text(cluster.note)}</p>' if cluster.note else ""
    link = f'<p class="small"><a href="#view-{number}">side by side</a></p>' if cluster.view else ""
    lowest = -1.0 if math.isnan(cluster.lowest) else cluster.lowest
    return (
        f'<tr id="cluster-{number}"><td class="number" data-value="{cluster.documents}">{cluster.documents:,}</td>'
        f'<td class="representative"><strong>{_name(cluster.name)}</strong>{note}{snippet}{_members(cluster)}</td>'
        f'<td data-value="{sum(cluster.verdicts.values())}">{bar}<span class="small">{classes}</span>{link}</td>'
        f'<td class="number" data-value="{lowest:.6f}">{_three(cluster.lowest)}</td></tr>\n'
    )


def _members(cluster: ShownCluster) -> str:
    """Render the members of a cluster, which unfold."""
    lines = "".join(
        f"<tr><td>{_name(member.name)}</td><td>{_text(member.verdict)}</td>"
        f'<td class="number">{_resemblance(member)}</td></tr>'
        for member in cluster.members
    )
    total, listed = sum(cluster.verdicts.values()), len(cluster.members)
    below = f", {listed:,} of them below" if listed < total else ""
    more = f": {total - listed:,} more are not listed" if listed < total else ""
    heads = ("Document", False), ("Class", False), ("Resemblance", True)
    return (
        f"<details><summary>{counted(total, 'member')}{below}</summary>"
        f"{_grid(f'Members of {_name(cluster.name)}{more}', heads, lines)}</details>"
    )


# ---- side by side


def _views(report: Report) -> str:
    """Render the pairs of documents side by side."""
    if not report.clusters:
        return '<p class="faint">There is nothing to compare.</p>'
    if report.shingling is None or callable(report.shingling.unit):
        return '<p class="faint">Where tokens of this unit stand in a text is not known: passages cannot be shown.</p>'
    least_alike = [
        (str(i), View(cluster.name, cluster.excerpt, cluster.members[0], cluster.view))
        for i, cluster in enumerate(report.clusters, 1) if cluster.view is not None and cluster.excerpt is not None
    ]
    nearest = [(f"near-{i}", view) for i, view in enumerate(report.nearest, 1)]
    if not least_alike and not nearest:
        only = all(set(cluster.verdicts) == {"identical"} for cluster in report.clusters)
        reason = "The clusters above are of identical documents." if only else "The texts are not at hand."
        return f'<p class="faint">{reason}</p>'
    shingling, size = _never_refusing(report.shingling), VIEWS_BYTES // (len(least_alike) + len(nearest))
    legend = (
        '<p class="faint">A number marks a passage that both texts share, <span class="nd-sign nd-only">≠</span> a passage '
        "that stands on this side alone.</p>"
    )
    clusters = [_view(place, view, shingling, size, f"cluster-{place}") for place, view in least_alike]
    pairs = [_view(place, view, shingling, size, None) for place, view in nearest]
    return (
        legend
        + _viewed("Least alike", "The representative and the member least like it, of the largest clusters with a "
                  "difference to see.", clusters)
        + _viewed("Nearest the threshold", f"Documents that resemble their representative by {report.threshold:g} or "
                  "little more: a slightly higher threshold would keep them apart.", pairs)
    )


def _viewed(title: str, text: str, views: Sequence[str]) -> str:
    """Render views under a heading."""
    return f'<h3>{title}</h3><p class="faint">{text}</p>{"".join(views)}' if views else ""


def _never_refusing(shingling: Shingling) -> Shingling:
    """Return the shingling with another rule for texts that are too short, as excerpts may be."""
    if shingling.short != "error":
        return shingling
    return Shingling.from_recipe(Recipe({**shingling.recipe.parameters, "short": "whole"}))


def _view(place: str, view: View, shingling: Shingling, size: int, cluster: str | None) -> str:
    """Render two documents side by side, which unfold."""
    sides, member = (view.excerpt, view.view), view.member
    names = _plain(view.name), _plain(member.name)

    def compared(limit: int) -> str:
        a, b = (truncate(side.text, limit) for side in sides)
        found = passages(a, b, shingling)
        notes = [
            f"Of {side}, the first {len(text):,} of {whole.length:,} {'bytes' if isinstance(text, bytes) else 'characters'} "
            "are compared and shown."
            for side, text, whole in zip(("the representative", "the member"), (a, b), sides, strict=True)
            if len(text) < whole.length
        ]
        note = f'<p class="cut-note">{" ".join(notes)}</p>' if notes else ""
        return note + overview(found) + fragment(a, b, found, names, f"v{place}-")

    back = f'<p class="small"><a href="#{cluster}">back to the cluster</a></p>' if cluster else ""
    return (
        f'<details class="card view" id="view-{place}"><summary><strong>{_name(view.name)}</strong> and '
        f'<strong>{_name(member.name)}</strong> <span class="faint">{_text(member.verdict)}, resemblance '
        f"{_resemblance(member)}</span></summary>\n{_fitted(compared, EXCERPT, size)}"
        f"{back}</details>\n"
    )


def _plain(name: str) -> str:
    """Cut a long name, without markup."""
    head, middle, tail = elided(name, NAME)
    return f"{head} … {len(middle):,} characters … {tail}" if middle else name


# ---- tables and parameters


def _table(table: ReportTable) -> str:
    """Render one of the other tables of the report."""
    text = f'<p class="faint">{_text(table.text)}</p>'
    if not table.rows:
        return text
    numeric = [isinstance(value, (int, float)) for value in table.rows[0]]
    lines = "".join(
        f"<tr>{''.join(f'<td{_right(right)}>{_cell(value)}</td>' for value, right in zip(row, numeric, strict=True))}</tr>"
        for row in table.rows
    )
    rows = len(table.rows)
    extent = f"{rows:,} in all" if rows == table.total else f"the first {rows:,} of {table.total:,}"
    grid = _grid(f"{_text(table.title)}: {extent}", tuple(zip(map(_text, table.columns), numeric, strict=True)), lines)
    return f'{text}<div class="card wide">{grid}</div>'


def _right(right: bool) -> str:
    """Return the attribute of a cell with a number."""
    return ' class="number"' if right else ""


def _cell(value: str | int | float) -> str:
    """Render the value of a cell."""
    if isinstance(value, str):
        return _name(value)
    return f"{value:,}" if isinstance(value, int) else _three(value)


def _making(report: Report) -> str:
    """Render the parameters that decide the result."""
    rows = [*report.parameters, ("recipe id", report.recipe[0]), ("recipe", report.recipe[1]), *versions()]
    if report.command is not None:
        rows.insert(0, ("command", report.command))
    if report.made is not None:
        rows.insert(0, ("made", report.made))
    lines = "".join(f'<tr><th scope="row">{_text(name)}</th><td>{_value(value)}</td></tr>' for name, value in rows)
    heads = ("Parameter", False), ("Value", False)
    grid = _grid("What decides the result: equal inputs give it again", heads, lines, "making")
    return f'<div class="card wide">{grid}</div>'
