"""Render a page that ranks pairs of submissions, and lists groups of nearly equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ndcore.report.elements import (
    right_class,
    show_making,
    show_name,
    show_page,
    show_section,
    show_sortable,
    show_text,
    three_decimals,
)
from ndcore.report.model import Figure, versions

ROWS = 1000  # pairs on the page, the highest ranked
GROUPS = 200  # groups on the page, the largest
MEMBERS = 50  # names of a group that are shown


class RankedPair(NamedTuple):
    """A pair: its names, the share of each one's fingerprints that both have, their number, and the page of both, if any."""

    a: str
    b: str
    share_a: float
    share_b: float
    common: int
    page: str = ""


class NearlyEqual(NamedTuple):
    """A group: its size, the names of its first documents, the lowest resemblance to the first, the page of both."""

    documents: int
    names: Sequence[str]
    lowest: float
    page: str = ""


def ranking_page(
    title: str, subtitle: str, figures: Sequence[Figure], notes: Sequence[str], groups: Sequence[NearlyEqual], grouped: int,
    pairs: Sequence[RankedPair], ranked: int, parameters: Sequence[tuple[str, str]],
) -> str:
    """Render the page, which loads nothing. Names are escaped.

    Parameters
    ----------
    title, subtitle, figures
        The head of the page.
    notes : sequence of str
        Whole sentences that a reader should know.
    groups, pairs : sequence
        The first `GROUPS` groups and `ROWS` pairs are shown.
    grouped, ranked : int
        Numbers of all groups and pairs.
    parameters : sequence of (str, str)
        Names and values of the parameters that decide the result.
    """
    told = "".join(f"<li>{show_text(note)}</li>" for note in notes)
    sections = [
        *([f'<ul class="notes">{told}</ul>'] if told else []),
        show_section("groups", "Groups of copies and near copies", _show_groups(groups[:GROUPS], grouped)),
        show_section("pairs", "Pairs", _show_pairs(pairs[:ROWS], ranked)),
        show_section("making", "How this was made", show_making([*parameters, *versions()])),
    ]
    return show_page(title, subtitle, figures, sections)


def _extent(shown: int, total: int) -> str:
    """Say how many of all rows are shown."""
    return f"all {total:,}" if shown == total else f"the first {shown:,} of {total:,}"


def _show_groups(groups: Sequence[NearlyEqual], total: int) -> str:
    """Render the table of groups."""
    if not groups:
        return '<p class="faint">There are none.</p>'
    lines = []
    for group in groups:
        names = ", ".join(map(show_name, group.names[:MEMBERS]))
        more = group.documents - min(MEMBERS, len(group.names))
        link = f' <a href="{group.page}">side by side</a>' if group.page else ""
        lines.append(
            f'<tr><td{right_class(True)} data-value="{group.documents}" data-unit="submissions">{group.documents:,}</td>'
            f'<td class="representative">{names}{f" and {more:,} more" if more else ""}</td>'
            f'<td{right_class(True)} data-value="{group.lowest:.6f}" data-name="lowest resemblance">'
            f"{three_decimals(group.lowest)}{link}</td></tr>"
        )
    heads = ("Submissions", True), ("Names", False), ("Lowest resemblance to the first", True)
    caption = f"Groups: {_extent(len(groups), total)}. Names: the first submission, which the others resemble, first."
    return show_sortable(caption, heads, "".join(lines), "groups", "words of a name")


def _show_pairs(pairs: Sequence[RankedPair], total: int) -> str:
    """Render the table of pairs."""
    if not pairs:
        return '<p class="faint">There are none: no two submissions of different groups have a fingerprint in common.</p>'
    heads = (("Place", True), ("A", False), ("B", False), ("Of A", True), ("Of B", True), ("Larger", True), ("Mean", True),
             ("In common", True))
    lines = "".join(_show_pair(place, pair) for place, pair in enumerate(pairs, 1))
    caption = (f"Pairs: {_extent(len(pairs), total)}. Of A: the share of A's fingerprints that B has too. Larger, mean: of "
               "both shares. Links show both side by side.")
    return show_sortable(caption, heads, lines, "pairs", "words of a name")


def _show_pair(place: int, pair: RankedPair) -> str:
    """Render the row of a pair."""
    shares = (("of A", pair.share_a), ("of B", pair.share_b), ("larger", max(pair.share_a, pair.share_b)),
              ("mean", (pair.share_a + pair.share_b) / 2))
    number = f'<a href="{pair.page}">{place:,}</a>' if pair.page else f"{place:,}"
    return (
        f'<tr><td{right_class(True)} data-value="{place}">{number}</td><td>{show_name(pair.a)}</td>'
        f"<td>{show_name(pair.b)}</td>"
        + "".join(f'<td{right_class(True)} data-value="{share:.6f}" data-name="{name}">{three_decimals(share)}</td>'
                  for name, share in shares)
        + f'<td{right_class(True)} data-value="{pair.common}" data-name="in common">{pair.common:,}</td></tr>'
    )
