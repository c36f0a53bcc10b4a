"""Draw small charts of a report as SVG elements: histograms, and stacked bars.

The page of a report loads nothing and follows the reader's colour scheme, so its charts are inline SVG, styled by the page,
with text for screen readers. Reports do not need matplotlib, an optional extra with which `ndcore.plots` draws figures for
print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ndcore._types import Ints

WIDTH, HEIGHT = 420, 200
LEFT, RIGHT, TOP, BOTTOM = 8, 412, 40, 172  # bounds of the bars
LEAST = 1.5  # least height of a bar that is not 0


class Bar(NamedTuple):
    """The number in one interval; `label` names the interval, `tick` is written below it if there is room."""

    label: str
    tick: str
    number: int


def size_bars(sizes: Ints) -> list[Bar]:
    """Count sizes of clusters, all at least 2, in intervals that double: 2, 3 to 4, 5 to 8, …, each up to a power of 2."""
    if not len(sizes):
        return []
    counts = np.bincount(np.frexp((sizes - 1).astype(np.float64))[1] - 1).tolist()
    ends = [(2**i + 1, 2 ** (i + 1)) for i in range(len(counts))]
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ends]
    ticks = [str(low) if low == high else f"{low}–{high}" if high < 100 else f"≤{_short(high)}" for low, high in ends]
    return [Bar(f"{name} documents", tick, count) for name, tick, count in zip(names, ticks, counts, strict=True)]


def _short(number: int) -> str:
    """Write a power of 2 in at most four characters."""
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= unit:
            return f"{number // unit}{name}"
    return str(number)


def resemblance_bars(counts: Ints, threshold: float) -> list[Bar]:
    """Make the bars of resemblances counted in 100ths, or in 50ths if there would be more than 50 bars.

    They begin with the lowest resemblance, or at the threshold.
    """
    if not counts.any():
        return []
    parts = 100 if np.argmax(counts > 0) >= 50 and threshold >= 0.5 else 50
    counts = counts.reshape(parts, -1).sum(axis=1)
    first = min(int(np.argmax(counts > 0)), int(threshold * parts + 1e-9), parts - 1)
    return [
        Bar(f"{i / parts:.2f} to {(i + 1) / parts:.2f}", f"{i / parts:g}" if i % 5 == 0 else "", int(counts[i]))
        for i in range(first, parts)
    ]


def draw_histogram(name: str, title: str, bars: Sequence[Bar], mark: tuple[float, str] | None = None, end: str = "") -> str:
    """Draw a histogram.

    Parameters
    ----------
    name : str
        Prefix of the ids of its title and description.
    title : str
    bars : sequence of Bar
    mark : (float, str), optional
        Place and label of a vertical line; the place is a number of bars from the left.
    end : str
        The end of the last interval, if the ticks mark the beginnings of intervals.
    """
    most = max(bar.number for bar in bars)
    step = (RIGHT - LEFT) / len(bars)
    inner = min(step * (0.84 if step > 12 else 0.9), 72.0)
    highest = next(i for i, bar in enumerate(bars) if bar.number == most)
    shapes = [f'<path class="axis" d="M{LEFT} {BOTTOM}.5H{RIGHT}"/>']
    for i, bar in enumerate(bars):
        x = LEFT + (i + 0.5) * step
        height = max((BOTTOM - TOP) * bar.number / most, LEAST) if bar.number else 0
        if height:
            shapes.append(
                f'<rect class="bar" x="{x - inner / 2:.2f}" y="{BOTTOM - height:.2f}" width="{inner:.2f}" '
                f'height="{height:.2f}" rx="{min(2.0, inner / 4):.2f}"><title>{bar.label}: {bar.number:,}</title></rect>'
            )
        if bar.number and (step > 26 or i == highest):
            shapes.append(f'<text class="count" x="{_inside(x)}" y="{BOTTOM - height - 5:.2f}">{bar.number:,}</text>')
        if bar.tick:
            at = x if step > 26 else x - step / 2  # the tick is below the middle of an interval, or below its beginning
            shapes.append(f'<text x="{at:.2f}" y="{BOTTOM + 16}">{bar.tick}</text>')
    if end:
        shapes.append(f'<text x="{RIGHT}" y="{BOTTOM + 16}">{end}</text>')
    if mark is not None:
        x, label = LEFT + mark[0] * step, mark[1]
        side = "start" if x < WIDTH / 2 else "end"
        shapes.append(
            f'<path class="mark" d="M{x:.2f} 6V{BOTTOM}"/>'
            f'<text class="mark {side}" x="{x + (5 if side == "start" else -5):.2f}" y="15">{label}</text>'
        )
    filled = [bar for bar in bars if bar.number]
    words = "; ".join(f"{bar.label}: {bar.number:,}" for bar in filled[:8])
    rest = f"; and {len(filled) - 8} more intervals, in the table" if len(filled) > 8 else ""
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{words}{rest}</desc>{"".join(shapes)}</svg>'
    )


def _inside(x: float) -> str:
    """Shift the middle of a label so that the label stays within the chart."""
    return f"{min(max(x, LEFT + 14), RIGHT - 14):.2f}"


def draw_stack(counts: Sequence[tuple[str, int]], kind: str, title: str = "") -> str:
    """Draw a stacked bar whose parts have the classes p0, p1, …; without a title it is hidden from screen readers."""
    total = max(1, sum(count for _, count in counts))
    widths = [max(count / total * 1000, 4.0) if count else 0.0 for _, count in counts]
    scale, x, shapes = 1000 / max(1.0, sum(widths)), 0.0, []
    for i, ((label, count), width) in enumerate(zip(counts, widths, strict=True)):
        if count:
            tip = f"<title>{label}: {count:,}</title>" if title else ""
            shapes.append(f'<rect class="p{i}" x="{x * scale:.2f}" width="{width * scale:.2f}" height="10">{tip}</rect>')
        x += width
    about = f'role="img" aria-labelledby="{kind}-title"' if title else 'aria-hidden="true"'
    head = f'<title id="{kind}-title">{title}</title>' if title else ""
    return f'<svg class="{kind}" viewBox="0 0 1000 10" preserveAspectRatio="none" {about}>{head}{"".join(shapes)}</svg>'
