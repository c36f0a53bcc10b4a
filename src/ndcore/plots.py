"""Plot filters, confidence intervals and resemblances, with the data of each plot (Broder 2000, Figures 1 and 2).

Each plot has a function that computes its data and needs only NumPy, and a ``plot_`` function that draws it with
matplotlib (extra `plot`) and returns figure and data. Figures are made without pyplot: nothing is displayed and no global
state changes. Charts of the HTML reports are separate (`report.charts`): they are SVG and need no matplotlib.

>>> from ndcore import ALTAVISTA
>>> curve = filter_curve(ALTAVISTA, points=5)
>>> curve.x.tolist(), [round(float(p), 7) for p in curve.series["6 × 14, need 2"]]
([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 1e-07, 0.0045404, 1.0])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Floats, Ints
from ndcore.checks import checked_int, missing
from ndcore.filters.design import FilterDesign
from ndcore.filters.pass_probability import checked_resemblance
from ndcore.stats.binomial import interval
from ndcore.storage.container import replacing

__all__ = [
    "Bands",
    "Curves",
    "Histogram",
    "Plot",
    "filter_curve",
    "histogram",
    "interval_bands",
    "interval_widths",
    "plot_filter",
    "plot_histogram",
    "plot_intervals",
]


# Okabe and Ito's palette for colour-blind readers; each colour has its own dash for print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 1)), (0, (9, 2)),
                           (0, (4, 1, 1, 1, 1, 1)))
FOOT = 1e-12  # of the logarithmic scale
FORMATS = (".png", ".svg", ".pdf")
SIZES = (84, 200, 1000)
RESEMBLANCES = (0.5, 0.8, 0.95)


class Curves(NamedTuple):
    """Series of y values by name, over the same x values."""

    x: Floats
    series: dict[str, Floats]


class Bands(NamedTuple):
    """Estimates from sketches of one size, and the ends of their confidence intervals."""

    estimate: Floats
    low: Floats
    high: Floats


class Histogram(NamedTuple):
    """Counts of values in [edges[i], edges[i + 1]), the last interval closed."""

    edges: Floats
    counts: Ints


class Plot(NamedTuple):
    """A matplotlib figure and its data."""

    figure: Any
    data: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .png, .svg or .pdf file, whole or not at all; equal data give equal bytes.

        Raises ValueError for other suffixes.
        """
        import matplotlib as mpl

        suffix = checked_format(path)
        dateless = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
        repeatable: Any = {"svg.hashsalt": "ndcore", "svg.fonttype": "path"}
        with mpl.rc_context(repeatable), replacing(path, durable=False) as file:
            self.figure.savefig(file, format=suffix[1:], dpi=160, metadata=dateless)


def checked_format(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a picture in lower case. Raises ValueError if it is not a supported format."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{os.fspath(path)}: pictures are written as {', '.join(FORMATS)}; name a file that ends so")
    return suffix


# ---- data


def filter_curve(*designs: FilterDesign, points: int = 1001) -> Curves:
    """Compute the probability of a candidate pair for each design, over resemblances from 0 to 1.

    Parameters
    ----------
    *designs : FilterDesign
        One or more designs. Designs of the same shape share a series.
    points : int
        At least 2.

    Raises
    ------
    ValueError
        If there are no designs or fewer than 2 points.
    """
    if not designs:
        raise ValueError("a curve needs at least one design; give for instance ndcore.ALTAVISTA")
    if checked_int("points", points, 1) < 2:
        raise ValueError(f"points is {points}; a curve from 0 to 1 has at least 2")
    x = np.linspace(0.0, 1.0, points)
    return Curves(x, {_name(design): np.asarray(design.pass_probability(x)) for design in designs})


def interval_bands(sizes: Iterable[int] = SIZES, confidence: float = 0.95) -> dict[int, Bands]:
    """Compute the interval of `Sketches.interval` for every estimate that sketches of each size can have.

    Parameters
    ----------
    sizes : iterable of int
        Numbers of minima of a signature, or of members of a bottom sketch.
    confidence : float
        Strictly between 0 and 1.
    """
    bands = {}
    for size in sizes:
        counts = np.unique(np.linspace(0, checked_int("a size", size, 1), 201).round().astype(np.int64))
        ends = np.array([interval(int(count), size, confidence) for count in counts])
        bands[size] = Bands(counts / size, ends[:, 0], ends[:, 1])
    return bands


def interval_widths(
    resemblances: Iterable[float] = RESEMBLANCES, sizes: Sequence[int] = (), confidence: float = 0.95
) -> Curves:
    """Compute the width of the interval, high − low, over sizes of sketches, for the estimate nearest to each resemblance.

    The default `sizes` are multiples of 20 from 20 to 2000, whose estimates include the usual resemblances.
    """
    x = np.array(sizes or [20, 40, 60, 80, 100, 140, 200, 280, 400, 560, 800, 1120, 1600, 2000], np.int64)
    series = {}
    for rho in checked_resemblance(list(resemblances)).tolist():
        ends = [interval(round(rho * size), size, confidence) for size in x.tolist()]
        series[f"{rho:g}"] = np.array([high - low for low, high in ends])
    return Curves(x.astype(np.float64), series)


def histogram(values: ArrayLike, width: float = 0.02) -> Histogram:
    """Count resemblances in intervals of the same width, from the interval of the smallest value up to 1.

    Parameters
    ----------
    values : array of float in [0, 1]
        For instance ``result.pairs.resemblance[result.verified]``, which excludes the nan of pairs without shingles.
    width : float in (0, 1]
        1 divided by a whole number.

    Raises
    ------
    ValueError
        If a value lies outside [0, 1], if there are no values, or for other widths.
    """
    array = checked_resemblance(values).ravel()
    if len(array) == 0:
        raise ValueError("there are no values to count; give resemblances, for instance result.pairs.resemblance")
    if not 0.0 < width <= 1.0 or abs(1.0 / width - round(1.0 / width)) > 1e-9:
        raise ValueError(f"width is {width}; it must be 1 divided by a whole number, for example 0.02")
    parts = round(1.0 / width)
    place = np.minimum((array * parts + 1e-9).astype(np.int64), parts - 1)  # 1e-9: 0.58 is in the interval that begins there
    first = int(place.min())
    return Histogram(np.arange(first, parts + 1) / parts, np.bincount(place - first, minlength=parts - first))


# ---- figures


def plot_filter(*designs: FilterDesign, scale: Literal["linear", "log", "both"] = "both", points: int = 1001) -> Plot:
    """Plot the curves of filters on a linear scale, a logarithmic scale, or both side by side.

    Parameters
    ----------
    *designs, points
        As in `filter_curve`, which computes the data. Dots mark where half of the pairs pass; lines mark the thresholds.
    scale : "linear", "log" or "both"
        Broder 2000, Figure 1 or Figure 2. The logarithmic scale ends at 10^-12.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if scale not in ("linear", "log", "both"):
        raise ValueError(f'scale is {scale!r}; accepted are "linear", "log" and "both"')
    data = filter_curve(*designs, points=points)
    halves = {_name(design): design.half for design in designs}
    thresholds = sorted({design.threshold for design in designs})
    scales = ("linear", "log") if scale == "both" else (scale,)
    figure, axes = _figure(len(scales))
    for each, plot in zip(scales, axes, strict=True):
        for (name, y), style in zip(data.series.items(), _styles(data.series), strict=True):
            shown = y > 0.0
            plot.plot(data.x[shown], y[shown], label=f"{name} (half at {halves[name]:.3f})", **style)
            plot.plot([halves[name]], [0.5], "o", markersize=4, color=style["color"])
        for threshold in thresholds:
            line = plot.axvline(threshold, color="#888888", linewidth=0.8, zorder=1)
            plot.annotate(f"{threshold:g}", (threshold, 1.0), (0, 2), xycoords=plot.get_xaxis_transform(),
                          textcoords="offset points", ha="center", va="bottom", fontsize=8, color="#555555")
        line.set_label("threshold" if len(thresholds) == 1 else "thresholds")
        plot.set_xlim(0.0, 1.0)
        plot.set_xlabel("resemblance of the pair")
        if each == "log":
            plot.set_yscale("log")
            plot.set_ylim(FOOT, 2.0)
            plot.set_ylabel("probability of a candidate (logarithmic scale)")
        else:
            plot.set_ylim(0.0, 1.02)
            plot.set_ylabel("probability of a candidate")
    _legend(axes[0], "groups × group size")
    return Plot(figure, data)


def plot_intervals(
    sizes: Iterable[int] = SIZES, resemblances: Iterable[float] = RESEMBLANCES, confidence: float = 0.95
) -> Plot:
    """Plot the ends of the confidence interval of each estimate, and the width of the interval against the sketch size.

    The data are (`interval_bands`, `interval_widths`) of these arguments. Raises ImportError if matplotlib is not installed.
    """
    bands, widths = interval_bands(sizes, confidence), interval_widths(resemblances, (), confidence)
    figure, (ends, by_size) = _figure(2)
    for (size, band), style in zip(bands.items(), _styles(bands), strict=True):
        ends.plot(band.estimate, band.high - band.estimate, label=f"{size:,}", **style)
        ends.plot(band.estimate, band.low - band.estimate, **style)
        ends.fill_between(band.estimate, band.low - band.estimate, band.high - band.estimate, alpha=0.08,
                          color=style["color"], linewidth=0)
    ends.axhline(0.0, color="#888888", linewidth=0.8)
    ends.set_xlim(0.0, 1.0)
    ends.set_xlabel("estimated resemblance")
    ends.set_ylabel(f"ends of the {confidence:.0%} interval, less the estimate")
    _legend(ends, "values in the sketch", loc="upper right", ncols=len(bands))
    low, high = ends.get_ylim()
    ends.set_ylim(low, high + 0.25 * (high - low))  # room for the legend
    for (name, width), style in zip(widths.series.items(), _styles(widths.series), strict=True):
        by_size.plot(widths.x, width, label=name, **style)
    by_size.set_xscale("log")
    by_size.set_yscale("log")
    by_size.set_xlabel("values in the sketch (logarithmic scale)")
    by_size.set_ylabel(f"width of the {confidence:.0%} interval (logarithmic scale)")
    _plain_ticks(by_size.xaxis, [20, 50, 100, 200, 500, 1000, 2000])
    _plain_ticks(by_size.yaxis, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    _legend(by_size, "resemblance")
    return Plot(figure, (bands, widths))


def plot_histogram(values: ArrayLike, width: float = 0.02, threshold: float | None = None) -> Plot:
    """Plot the bars of `histogram`, with a line at the threshold if it is given.

    Raises the errors of `histogram`, and ImportError if matplotlib is not installed.
    """
    data = histogram(values, width)
    figure, [plot] = _figure(1)
    plot.bar(data.edges[:-1], data.counts, width=np.diff(data.edges), align="edge", color=COLOURS[0], edgecolor="white",
             linewidth=0.5)
    if threshold is not None:
        plot.axvline(threshold, color=COLOURS[1], linewidth=1.2)
        plot.annotate(f"threshold {threshold:g}", (threshold, 1.0), (3, -3), xycoords=plot.get_xaxis_transform(),
                      textcoords="offset points", ha="left", va="top", fontsize=8, color=COLOURS[1])
        plot.set_ylim(0, 1.12 * max(1, data.counts.max()))  # room for its name
    plot.set_xlim(min(data.edges[0], 1.0 if threshold is None else threshold), 1.0)
    plot.set_xlabel("resemblance")
    plot.set_ylabel(f"pairs in an interval of {width:g}")
    plot.yaxis.get_major_locator().set_params(integer=True)
    return Plot(figure, data)


# ---- parts of figures


def _name(design: FilterDesign) -> str:
    return f"{design.groups} × {design.group_size}, need {design.need}"


def _figure(count: int) -> tuple[Any, list[Any]]:
    """Make a figure of `count` plots side by side."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        advice = "the functions without plot_ in their name give the data"
        raise ImportError(f"{missing('matplotlib', 'a picture')}; {advice}") from error
    figure = Figure(figsize=(4.6 * count, 3.6), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for plot in axes:
        plot.grid(color="#E5E5E5", linewidth=0.6)
        plot.set_axisbelow(True)
        plot.spines[["top", "right"]].set_visible(False)
        plot.tick_params(labelsize=8)
        plot.xaxis.label.set_size(9)
        plot.yaxis.label.set_size(9)
    return figure, axes


def _styles(series: Iterable[object]) -> list[dict[str, Any]]:
    """Return a colour and a dash for each series."""
    return [{"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.6}
            for i, _ in enumerate(series)]


def _legend(plot: Any, title: str, **how: Any) -> None:
    plot.legend(title=title, fontsize=8, title_fontsize=8, edgecolor="none", framealpha=0.9, **how)


def _plain_ticks(axis: Any, places: list[float]) -> None:
    """Set ticks at these places only, labelled with their numbers."""
    axis.set_ticks(places, labels=[f"{place:,g}" for place in places])
    axis.set_ticks([], minor=True)
