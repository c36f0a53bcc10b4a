"""The plots of docs/thresholds.md: precision and recall by threshold, for corpora, widths and units; grades of copying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Table = dict[str, Any]
COLOURS = ("#1f5fa8", "#d06a1f", "#2a8f5b", "#b04a8f", "#7a6a2a", "#4aa3c7", "#8a8a8a", "#c23b3b", "#000000")
DASHES = ("-", "--", "-.", ":")
BOLD = ("median of all", "5 words")


def plain(plot: Any, title: str, horizontal: str, vertical: str) -> None:
    """Give a plot its title and axes from 0 to 1."""
    plot.set_title(title, fontsize=10, loc="left")
    plot.set_xlabel(horizontal, fontsize=9)
    plot.set_ylabel(vertical, fontsize=9)
    plot.set_ylim(0, 1.03)
    plot.tick_params(labelsize=8)
    plot.grid(color="#e4e4e4", linewidth=0.6)
    plot.spines[["top", "right"]].set_visible(False)


def rows_of(table: Table) -> dict[str, dict[str, list[float]]]:
    """Return what is drawn: name -> quantity -> a value for each threshold, nan where there is none."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, quantity, *values in table["rows"]:
        found.setdefault(name, {})[quantity] = [float("nan") if value is None else value for value in values]
    return found


def curves(name: str) -> Callable[[dict[str, Table], Any], None]:
    """Return the drawing of a table: precision by threshold, recall by threshold, and one by the other."""
    def drawing(tables: dict[str, Table], figure: Any) -> None:
        table = tables[name]
        thresholds = [float(column) for column in table["columns"][2:]]
        plots = figure.subplots(1, 3)
        figure.set_size_inches(12, 4.3)
        for i, (label, found) in enumerate(rows_of(table).items()):
            style = {"color": "#000000" if label in BOLD else COLOURS[i % len(COLOURS)], "label": label,
                     "linewidth": 2.4 if label in BOLD else 1.3, "linestyle": "-" if label in BOLD else DASHES[i % 4]}
            plots[0].plot(thresholds, found["precision"], **style)
            plots[1].plot(thresholds, found["recall"], **style)
            plots[2].plot(found["recall"], found["precision"], **style)
        plain(plots[0], "How many of the pairs found are right", "threshold", "precision")
        plain(plots[1], "How many of the right pairs are found", "threshold", "recall")
        plain(plots[2], "One by the other", "recall", "precision")
        figure.legend(*plots[0].get_legend_handles_labels(), fontsize=8, frameon=False, loc="outside lower center", ncols=5)

    return drawing


def grades(tables: dict[str, Table], figure: Any) -> None:
    """Draw the share of the answers found by resemblance and by containment, by how they were written."""
    table = tables["verdict-grades"]
    thresholds = [float(column) for column in table["columns"][4:]]
    plots = figure.subplots(1, 2, sharey=True)
    figure.set_size_inches(9, 3.6)
    measures = list(dict.fromkeys(row[1] for row in table["rows"]))
    for plot, measure in zip(plots, measures, strict=True):
        rows = [row for row in table["rows"] if row[0] == "5 words" and row[1] == measure]
        for i, row in enumerate(rows):
            plot.plot(thresholds, [value / 100 for value in row[4:]], DASHES[i % 4], color=COLOURS[i], label=row[2])
        plain(plot, measure, "threshold", "share found")
    plots[0].legend(fontsize=8, frameon=False)


# table that a plot stands under -> (file, description, drawing)
PLOTS: dict[str, tuple[str, str, Callable[[dict[str, Table], Any], None]]] = {
    "verdict-corpora": ("thresholds-corpora.svg", "Precision and recall by threshold, by corpus", curves("verdict-corpora")),
    "verdict-widths": ("thresholds-widths.svg", "Precision and recall by threshold and width", curves("verdict-widths")),
    "verdict-units": ("thresholds-units.svg", "Precision and recall by threshold and unit", curves("verdict-units")),
    "verdict-grades": ("thresholds-grades.svg", "Copied answers found by resemblance and by containment", grades),
}
