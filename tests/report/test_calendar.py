"""The page with a calendar: each day in its week, its colour, links to the lists, bounds and hostile names."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path

import pytest
from browser import HOSTILE, Tree, browse

from ndcore.report.calendar import DAYS, PAGES, CalendarDay, DayBook, DayCapture, calendar_page, level_of
from ndcore.report.model import Figure


def make_page(days: list[CalendarDay]) -> str:
    return calendar_page("Title", "subtitle", [Figure(1, "pages")], days, (), [("threshold", "0.8")])


def make_days(dates: list[datetime.date], amount: float = 0.3) -> list[CalendarDay]:
    return [CalendarDay(date, 1, 1, 1, amount, [DayCapture("http://a/", "10:00:00", "other, resemblance 0.700", amount)])
            for date in dates]


@pytest.mark.parametrize(("amount", "level"), [
    (0.0, "nd-c0"), (0.001, "nd-c1"), (0.05, "nd-c1"), (0.2, "nd-c2"), (0.21, "nd-c3"), (0.5, "nd-c3"), (0.51, "nd-c4"),
    (1.0, "nd-c4"), (math.nan, "nd-new"),
])
def test_colours(amount: float, level: str) -> None:
    assert level_of(amount) == level


def test_a_day_is_in_the_column_of_its_week_and_the_row_of_its_weekday() -> None:
    """1 January 2024 was a Monday, 7 January a Sunday, 8 January the Monday below the next column."""
    source = make_page(make_days([datetime.date(2024, 1, day) for day in (1, 7, 8)]))
    cells = re.findall(r'<a href="#day-(\S+)"><rect class="nd-c3" x="(\d+)" y="(\d+)"', source)
    assert cells == [("2024-01-01", "34", "20"), ("2024-01-07", "34", "116"), ("2024-01-08", "50", "20")]
    assert source.count('<rect class="nd-none"') == 366 - 3 + 1  # and one in the legend
    source = make_page(make_days([datetime.date(2023, 1, day) for day in (1, 2)]))  # 1 January 2023 was a Sunday
    cells = re.findall(r'<a href="#day-(\S+)"><rect class="nd-c3" x="(\d+)" y="(\d+)"', source)
    assert cells == [("2023-01-01", "34", "116"), ("2023-01-02", "50", "20")]


def test_each_link_leads_to_its_day() -> None:
    source = make_page(make_days([datetime.date(2024, 2, 29), datetime.date(1999, 12, 31)]))
    tree = Tree(source)
    targets = {value.removeprefix("#") for value in tree.values("href")}
    assert targets == {"day-2024-02-29", "day-1999-12-31"} <= set(tree.values("id"))
    assert source.index("<figcaption>2024") < source.index("<figcaption>1999")
    assert not re.search(r'(?:src|href)="(?!#)', source)


def test_days_and_years_are_bounded() -> None:
    dates = [datetime.date(year, month, 1) for year in range(1000, 1059) for month in range(1, 13)]
    source = make_page(make_days(dates))
    assert source.count("<figcaption>") == 50
    assert "The last 50 of 59 years are drawn." in source
    assert source.count("<details") == 300
    assert len(source) < 4 << 20


def test_the_days_that_changed_most_are_listed() -> None:
    quiet = make_days([datetime.date(2024, 1, 1) + datetime.timedelta(days) for days in range(DAYS)], 0.01)
    loud = make_days([datetime.date(2025, 6, 1)], 0.9)
    source = make_page(quiet + loud)
    assert 'id="day-2025-06-01"' in source and source.count("<details") == DAYS


def test_a_book_counts_and_shows_the_most_changed() -> None:
    book, day = DayBook(), datetime.date(2024, 5, 1)
    for number in range(100):
        book.add(day, DayCapture(f"http://a/{number:03}", "10:00:00", "near", number / 200), number > 0)
    book.add(day, DayCapture("http://a/new", "10:00:00", "first", None), False)
    book.add(datetime.date(2024, 4, 1), DayCapture("http://a/new", "10:00:00", "first", None), False)
    first, second = book.days()
    assert (first.date.month, first.captures, first.compared) == (4, 1, 0) and math.isnan(first.amount)
    assert (second.captures, second.compared, second.changed) == (101, 100, 99)
    assert second.amount == pytest.approx(sum(range(100)) / 200 / 100)
    assert [each.url for each in second.shown] == [f"http://a/{99 - i:03}" for i in range(PAGES)]
    assert "and 89 more, which changed less" in make_page([second])


def test_hostile_names_are_escaped() -> None:
    day = CalendarDay(datetime.date(2024, 5, 1), 1, 1, 1, 1.0, [DayCapture(HOSTILE + "x" * 5000, "10:00:00", "other", 1.0)])
    source = make_page([day])
    Tree(source)
    assert "<script>alert" not in source and len(source) < 100_000


def test_no_days() -> None:
    assert "There are no captures." in make_page([])


@pytest.mark.slow
def test_the_browser_opens_a_day_and_complains_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(make_page(make_days([datetime.date(2024, 5, 1)])), encoding="utf-8")
    shown, messages = browse(path)
    assert not messages
    assert "2024-05-01" in shown
