"""Pairs of documents of a report, side by side, within a bounded size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ndcore.alignment.passages import passages
from ndcore.recipe import Recipe
from ndcore.report.elements import fitted, plain_name, show_name, show_resemblance, show_text, three_decimals
from ndcore.report.html import overview
from ndcore.report.model import EXCERPT, Report, View, truncate
from ndcore.report.side_by_side import LEGEND, fragment
from ndcore.text.shingling import Shingling

__all__ = ["never_refusing", "side_by_side"]

VIEWS_BYTES = 2_500_000  # of all texts side by side


def side_by_side(report: Report) -> str:
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
        + _viewed("Least alike", "The representative and the member least like it, of the largest clusters with a "
                  "difference to see.", views(least_alike, lambda place: (f"cluster-{place}", "the cluster")))
        + _viewed("Nearest the threshold", f"Documents whose {report.measure} {to} their representative is "
                  f"{report.threshold:g} or little more: a slightly higher threshold would keep them apart.",
                  views(nearest, lambda place: None))
        + _viewed("What the drops cost", "The dropped documents with most shingles that no kept document has.",
                  views(lost, lambda place: ("losses", "the list")))
    )


def _viewed(title: str, text: str, views: Sequence[str]) -> str:
    """Render views under a heading."""
    return f'<h3>{title}</h3><p class="faint">{text}</p>{"".join(views)}' if views else ""


def never_refusing(shingling: Shingling) -> Shingling:
    """Return the shingling with another rule for texts that are too short, as excerpts may be."""
    if shingling.short != "error":
        return shingling
    return Shingling.from_recipe(Recipe({**shingling.recipe.parameters, "short": "whole"}))


def _view(
    place: str, view: View, shingling: Shingling, size: int, score: str | None, back: tuple[str, str] | None
) -> str:
    """Render two documents side by side, which unfold; `back` is the id and the name of where they are listed."""
    sides, member = (view.excerpt, view.view), view.member
    names = plain_name(view.name), plain_name(member.name)

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

    link = "" if back is None else f'<p class="small"><a href="#{back[0]}">back to {back[1]}</a></p>'
    its_score = "" if member.score is None else f", {score} {three_decimals(member.score)}"
    return (
        f'<details class="card view" id="view-{place}"><summary><strong>{show_name(view.name)}</strong> and '
        f'<strong>{show_name(member.name)}</strong> <span class="faint">{show_text(member.verdict)}, resemblance '
        f"{show_resemblance(member)}{its_score}</span></summary>\n{fitted(compared, EXCERPT, size)}"
        f"{link}</details>\n"
    )
