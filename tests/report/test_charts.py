"""Charts of reports: bars count what there is, and are told in words."""

from __future__ import annotations

import numpy as np
import pytest
from browser import Tree
from hypothesis import given
from hypothesis import strategies as st

from ndcore.report.charts import Bar, draw_histogram, draw_stack, resemblance_bars, size_bars
from ndcore.report.model import count_hundredths


@given(st.lists(st.integers(2, 5000), min_size=1, max_size=50))
def test_size_bars(sizes: list[int]) -> None:
    bars = size_bars(np.array(sizes, np.int64))
    for i, bar in enumerate(bars):
        assert bar.number == sum(2**i < size <= 2 ** (i + 1) for size in sizes)
    assert sum(bar.number for bar in bars) == len(sizes)
    assert [bar.label for bar in bars[:3]] == ["2 documents", "3 to 4 documents", "5 to 8 documents"][: len(bars)]


@given(
    st.lists(st.integers(0, 1000).map(lambda x: x / 1000), min_size=1, max_size=50), st.sampled_from([0.3, 0.5, 0.8, 1.0])
)
def test_resemblance_bars(values: list[float], threshold: float) -> None:
    bars = resemblance_bars(count_hundredths(np.array(values)), threshold)
    assert sum(bar.number for bar in bars) == len(values)
    assert len(bars) <= 50
    assert float(bars[0].label[:4]) <= min(*values, threshold, 0.99)
    for bar in bars:
        low, high = map(float, bar.label.split(" to "))
        assert bar.number == sum(low - 1e-9 <= value < high - 1e-9 or value == high == 1 for value in values)


def test_nothing_to_draw() -> None:
    assert size_bars(np.empty(0, np.int64)) == []
    assert resemblance_bars(count_hundredths(np.empty(0)), 0.5) == []


def test_chart_is_told_in_words() -> None:
    bars = [Bar(f"interval {i}", str(i), i * i) for i in range(12)]
    tree = Tree(draw_histogram("c", "Squares", bars, (3.5, "here")))
    assert dict(tree.elements[0][1])["aria-labelledby"] == "c-title c-desc"
    assert {"c-title", "c-desc"} == set(tree.values("id"))
    joined = "\n".join(tree.text)
    assert "interval 1: 1; interval 2: 4;" in joined
    assert "and 3 more intervals" in joined
    heights = {attrs["width"]: None for tag, attrs in tree.elements if tag == "rect"}
    assert len([tag for tag, _ in tree.elements if tag == "rect"]) == 11
    assert len(heights) == 1


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=8))
def test_stacked_fills_the_bar(counts: list[int]) -> None:
    tree = Tree(draw_stack([(f"n{i}", count) for i, count in enumerate(counts)], "stack", "All"))
    rects = [attrs for tag, attrs in tree.elements if tag == "rect"]
    assert [attrs["class"] for attrs in rects] == [f"p{i}" for i, count in enumerate(counts) if count]
    if rects:
        assert sum(float(str(attrs["width"])) for attrs in rects) == pytest.approx(1000, abs=0.1)
