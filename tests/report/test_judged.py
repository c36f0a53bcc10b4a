"""The chart and the table of what people's answers say."""

from __future__ import annotations

import re

from browser import Grids, Tree
from judgedpairs import answer, versions

from ndcore.judge import Measure, Session
from ndcore.report.judged import curve_chart, measure_table


def test_the_chart_and_the_table_name_what_is_recommended():
    session = Session(versions(2, 12), measures=[Measure(width=2), Measure(width=3)])
    assert 'class="mark"' not in curve_chart(session.findings())  # too few answers
    answer(session, 14)
    found = session.findings()
    chart = curve_chart(found)
    Tree(chart)
    assert f"at {found.threshold:.2f}" in chart
    assert 'class="mark"' in chart
    points = re.findall(r"[ \"]([0-9.]+),([0-9.]+)", chart)
    assert all(40 <= float(x) <= 700 and 12 <= float(y) <= 220 for x, y in points)
    rows = Grids(measure_table(found)).table("Each at its best threshold")
    assert [row[-1] for row in rows].count("recommended") == 1
    assert len(rows) == 2
