"""Draw the findings from people's answers: F1, precision and recall by threshold, and a table of the measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ndcore._types import Floats
from ndcore.report.elements import show_grid, show_text

LEFT, RIGHT, TOP, BOTTOM = 40, 700, 12, 220
LINES = ("f1", "precision", "recall")
CURVES = """
.nd-curve text { font: 12px system-ui, sans-serif; fill: var(--faint); } .nd-curve { width: 100%; max-width: 46rem; }
.nd-curve .axis { stroke: var(--line); fill: none; } .nd-curve .band { fill: var(--shared); opacity: .15; }
.nd-curve .f1 { stroke: var(--shared); stroke-width: 2.5; fill: none; } .nd-curve .mark { stroke: var(--alone); }
.nd-curve .precision { stroke: var(--moved); fill: none; stroke-dasharray: 6 4; }
.nd-curve .recall { stroke: var(--ink); fill: none; stroke-dasharray: 2 3; }
"""


class Judged(Protocol):
    """The findings of a session of `ndcore.judge` that are drawn."""

    @property
    def ready(self) -> bool: ...
    @property
    def measure(self) -> Any: ...
    @property
    def threshold(self) -> float: ...
    @property
    def f1(self) -> Any: ...
    @property
    def precision(self) -> Any: ...
    @property
    def recall(self) -> Any: ...
    @property
    def curves(self) -> Any: ...
    @property
    def measures(self) -> Sequence[Any]: ...


def measure_table(judged: Judged) -> str:
    """Render the measures, best first."""
    lines = ""
    for each in judged.measures:
        word = "recommended" if each.measure == judged.measure else "worse" if each.differs else "not told apart"
        lines += (f"<tr><td>{show_text(str(each.measure))}</td><td class=\"number\">{each.threshold:.2f}</td>"
                  f'<td class="number">{show_text(str(each.f1))}</td><td>{word}</td></tr>')
    heads = ("Measure", False), ("Threshold", True), ("F1", True), ("", False)
    return f'<div class="card wide">{show_grid("Each at its best threshold; intervals of 95 %", heads, lines)}</div>'


def curve_chart(judged: Judged) -> str:
    """Draw F1 with its interval, precision and recall by threshold, as an SVG element."""
    curves = judged.curves
    low, high = float(curves.thresholds[0]), float(curves.thresholds[-1])

    def points(values: Floats) -> str:
        return " ".join(f"{LEFT + (RIGHT - LEFT) * (x - low) / (high - low):.1f},{BOTTOM - (BOTTOM - TOP) * y:.1f}"
                        for x, y in zip(curves.thresholds.tolist(), values.tolist(), strict=True))

    back = points(curves.f1[1]).split()[::-1]
    shapes = [f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>',
              f'<polygon class="band" points="{points(curves.f1[2])} {" ".join(back)}"/>']
    shapes += [f'<polyline class="{name}" points="{points(getattr(curves, name)[0])}"/>' for name in LINES]
    for tick in (0.2, 0.4, 0.6, 0.8, 1.0):
        x = LEFT + (RIGHT - LEFT) * (tick - low) / (high - low)
        shapes.append(f'<text x="{x - 8:.1f}" y="{BOTTOM + 16}">{tick:g}</text>')
    shapes += [f'<text x="8" y="{BOTTOM - (BOTTOM - TOP) * y + 4:.1f}">{y:g}</text>' for y in (0, 0.5, 1)]
    if judged.ready:
        x = LEFT + (RIGHT - LEFT) * (judged.threshold - low) / (high - low)
        shapes.append(f'<path class="mark" d="M{x:.1f} {TOP}V{BOTTOM}"/>')
    words = f"F1 {judged.f1}, precision {judged.precision}, recall within the pool {judged.recall} at {judged.threshold:.2f}"
    return (f'<figure><svg class="nd-curve" viewBox="0 0 720 245" role="img" aria-label="{show_text(words)}">'
            f'{"".join(shapes)}</svg><figcaption>F1 with its interval of 95 % (solid), precision (dashed) and recall within '
            f"the pool (dotted) by threshold. {show_text(words)}.</figcaption></figure>")
