"""A page with a calendar that shows how much the pages of each day changed since their previous captures."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcore.human import counted
from ndcore.report.elements import show_grid, show_making, show_name, show_page, show_section, show_tables, show_text
from ndcore.report.html import REPORT_STYLE, read_beside
from ndcore.report.model import Figure, ReportTable, versions

STYLE = REPORT_STYLE + read_beside(__file__, "calendar.css")

YEARS = 50  # years that are drawn, the latest
DAYS = 300  # days with a list of pages, the days that changed most
PAGES = 12  # pages in the list of a day, those that changed most
LEVELS = (0.0, 0.05, 0.2, 0.5)  # upper bounds of all colours but the last
CELL, GAP = 13, 3
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class DayCapture(NamedTuple):
    """A capture in the list of its day; `amount` is how much the page changed, 0 to 1, or None if unknown."""

    url: str
    time: str
    what: str
    amount: float | None


class CalendarDay(NamedTuple):
    """The captures of a day.

    Attributes
    ----------
    captures, compared : int
        Number of captures, and of those whose change is known.
    changed : int
        Number of captures with another text than the previous one.
    amount : float
        The mean of their amounts; nan if none is known.
    shown : sequence of DayCapture
        Some of the captures, the most changed first.
    """

    date: datetime.date
    captures: int
    compared: int
    changed: int
    amount: float
    shown: Sequence[DayCapture]


def calendar_page(
    title: str, subtitle: str, figures: Sequence[Figure], days: Sequence[CalendarDay], tables: Sequence[ReportTable],
    parameters: Sequence[tuple[str, str]],
) -> str:
    """Render an HTML page, one file that loads nothing and works without its script. Equal days give equal pages.

    Parameters
    ----------
    title, subtitle, figures
        The head of the page.
    days : sequence of CalendarDay
        Distinct days, by date. Each day of the last `YEARS` years has a cell; the pages of the `DAYS` that changed most are
        listed.
    tables : sequence of ReportTable
    parameters : sequence of (str, str)
        Names and values of the parameters that decide the result.
    """
    listed = {day.date for day in sorted(days, key=lambda day: (-_or(day.amount * day.compared, -1.0), day.date))[:DAYS]}
    sections = [
        show_section("calendar", "Calendar", _show_years(days, listed)),
        *show_tables(tables),
        show_section("days", "Day by day", _show_days(days, listed)),
        show_section("making", "How this was made", show_making([*parameters, *versions()])),
    ]
    return show_page(title, subtitle, figures, sections, STYLE)


def _or(value: float, otherwise: float) -> float:
    """Return a value, or another one for nan."""
    return otherwise if math.isnan(value) else value


def level_of(amount: float) -> str:
    """Return the CSS class for a mean amount: nd-c0 (no text changed) to nd-c4; nd-new for nan.

    >>> [level_of(amount) for amount in (0.0, 0.04, 0.3, 1.0, float("nan"))]
    ['nd-c0', 'nd-c1', 'nd-c3', 'nd-c4', 'nd-new']
    """
    if math.isnan(amount):
        return "nd-new"
    return f"nd-c{sum(amount > bound for bound in LEVELS)}"


def _show_years(days: Sequence[CalendarDay], listed: set[datetime.date]) -> str:
    """Render a calendar for each year, the latest first, and the legend."""
    if not days:
        return '<p class="faint">There are no captures.</p>'
    by_year: dict[int, list[CalendarDay]] = {}
    for day in days:
        by_year.setdefault(day.date.year, []).append(day)
    years = sorted(by_year, reverse=True)
    shown = years[:YEARS]
    left = len(years) - len(shown)
    note = f'<p class="faint">The last {YEARS} of {len(years):,} years are drawn.</p>' if left else ""
    drawn = "".join(_draw_year(year, by_year[year], listed) for year in shown)
    return f'{note}<div class="card"><div class="nd-years">{drawn}</div>{_show_legend()}</div>'


def _draw_year(year: int, days: Sequence[CalendarDay], listed: set[datetime.date]) -> str:
    """Draw the weeks of a year as columns, Monday at the top; a day with captures is a link to its list."""
    first, step = datetime.date(year, 1, 1), CELL + GAP
    there = {day.date: day for day in days}
    length = (datetime.date(year, 12, 31) - first).days + 1
    shapes, months = [], []
    for number in range(length):
        date = datetime.date.fromordinal(first.toordinal() + number)
        week, weekday = divmod(number + first.weekday(), 7)
        x, y = 34 + week * step, 20 + weekday * step
        if date.day == 1:
            months.append(f'<text x="{x}" y="12">{MONTHS[date.month - 1]}</text>')
        square = f'x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2"'
        day = there.get(date)
        if day is None:
            shapes.append(f'<rect class="nd-none" {square}/>')
            continue
        cell = f'<rect class="{level_of(day.amount)}" {square}><title>{_describe(day)}</title></rect>'
        shapes.append(f'<a href="#day-{date}">{cell}</a>' if date in listed else cell)
    rows = (0, "Mon"), (2, "Wed"), (4, "Fri")
    names = "".join(f'<text x="4" y="{30 + row * step}">{name}</text>' for row, name in rows)
    captures = sum(day.captures for day in days)
    label = f"{year}: {captures:,} captures on {len(days):,} days"
    return (f'<figure><figcaption>{year}</figcaption><svg class="nd-year" viewBox="0 0 {34 + 54 * step} {20 + 7 * step}" '
            f'role="img" aria-label="{label}">{"".join(months)}{names}{"".join(shapes)}</svg></figure>')


def _describe(day: CalendarDay) -> str:
    """Describe a day in words."""
    share = "" if math.isnan(day.amount) else f", by {day.amount:.0%} on average"
    known = f"{day.changed:,} of {day.compared:,} changed{share}" if day.compared else "all seen for the first time"
    return f"{day.date}: {counted(day.captures, 'capture')}, {known}"


def _show_legend() -> str:
    """Render the meaning of the colours."""
    bounds = [f"up to {bound:.0%}" for bound in LEVELS[1:]]
    words = ["no text changed", *bounds, f"more than {LEVELS[-1]:.0%}"]
    keys = [(f"nd-c{i}", word) for i, word in enumerate(words)]
    keys += [("nd-new", "first captures only"), ("nd-none", "no capture")]
    listed = "".join(f'<li><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="{kind}" x="1" y="1" width="12" '
                     f'height="12" rx="2"/></svg>{word}</li>' for kind, word in keys)
    return f'<ul class="nd-legend"><li>changed on average:</li>{listed}</ul>'


def _show_days(days: Sequence[CalendarDay], listed: set[datetime.date]) -> str:
    """Render the pages of days, which unfold."""
    chosen = [day for day in days if day.date in listed]
    note = ""
    if len(chosen) < len(days):
        note = f'<p class="faint">The {len(chosen):,} of {len(days):,} days that changed most are listed.</p>'
    return note + "\n".join(map(_show_day, reversed(chosen)))


def _show_day(day: CalendarDay) -> str:
    """Render a day with some of its captures."""
    heads = ("Page", False), ("Time", False), ("Against the capture before", False)
    lines = "".join(f"<tr><td>{show_name(each.url)}</td><td>{show_text(each.time)}</td><td>{show_text(each.what)}</td></tr>"
                    for each in day.shown)
    left = day.captures - len(day.shown)
    more = f'<p class="faint small">and {left:,} more, which changed less; --json lists all</p>' if left else ""
    return (f'<details class="card nd-day" id="day-{day.date}"><summary>{_describe(day)}</summary>\n'
            f'<div class="wide">{show_grid(f"Captures of {day.date}", heads, lines)}</div>{more}</details>')


class DayBook:
    """A collector of captures by day, in any order. Memory: some captures of each day."""

    def __init__(self) -> None:
        self._days: dict[datetime.date, _Day] = {}

    def add(self, date: datetime.date, capture: DayCapture, changed: bool) -> None:
        """Add a capture."""
        self._days.setdefault(date, _Day()).add(capture, changed)

    def days(self) -> list[CalendarDay]:
        """Return the days by their date."""
        return [day.close(date) for date, day in sorted(self._days.items())]


class _Day:
    def __init__(self) -> None:
        self._captures = self._compared = self._changed = 0
        self._sum = 0.0
        self._shown: list[DayCapture] = []

    def add(self, capture: DayCapture, changed: bool) -> None:
        """Count a capture, and keep it while it is among the most changed."""
        self._captures += 1
        self._changed += changed
        if capture.amount is not None:
            self._compared += 1
            self._sum += capture.amount
        self._shown.append(capture)
        if len(self._shown) > 4 * PAGES:
            self._shown = _most_changed(self._shown)

    def close(self, date: datetime.date) -> CalendarDay:
        """Return the day."""
        amount = self._sum / self._compared if self._compared else math.nan
        return CalendarDay(date, self._captures, self._compared, self._changed, amount, _most_changed(self._shown))


def _most_changed(captures: Iterable[DayCapture]) -> list[DayCapture]:
    """Return the most changed captures."""
    return sorted(captures, key=lambda each: (-(-1.0 if each.amount is None else each.amount), each.url, each.time))[:PAGES]
