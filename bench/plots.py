"""The plots of docs/benchmarks.md and docs/which-sketch.md, as SVG. Needs matplotlib (extra `bench`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import shown

Table = dict[str, Any]
OURS, REFERENCE, OTHERS = "#1f5fa8", "#9db8d6", "#b0b0b0"
MOST_BYTES = 200_000
COLOURS = ("#1f5fa8", "#d06a1f", "#2a8f5b", "#b04a8f", "#7a6a2a", "#4aa3c7", "#8a8a8a", "#c23b3b", "#000000")
DASHES = ("-", "--", "-.", ":")


def rows_of(table: Table, **wanted: str) -> Iterator[dict[str, Any]]:
    """Rows as dictionaries, where the named columns have these values."""
    for row in table["rows"]:
        found = dict(zip(table["columns"], row, strict=True))
        if all(found[name] == value for name, value in wanted.items()):
            yield found


def frame(plot: Any, title: str, horizontal: str = "") -> None:
    """Give a plot its title and the name of its horizontal axis, small labels, and no frame above and to the right."""
    plot.set_title(title, fontsize=10, loc="left")
    plot.set_xlabel(horizontal, fontsize=9)
    plot.tick_params(labelsize=8)
    plot.spines[["top", "right"]].set_visible(False)


def colour(who: str) -> str:
    """ndcore stands out."""
    if who == "ndcore.reference" or "portable" in who:
        return REFERENCE
    return OURS if who.startswith("ndcore") else OTHERS


def bars(plot: Any, rows: list[tuple[str, float]], title: str, unit: str) -> None:
    """Horizontal bars on a logarithmic axis, each with its figure."""
    names, values = [name for name, _ in rows][::-1], [value for _, value in rows][::-1]
    drawn = plot.barh(names, values, color=[colour(name) for name in names])
    plot.bar_label(drawn, [shown(value) for value in values], padding=3, fontsize=8)
    plot.set_xscale("log")
    plot.set_xlim(min(values) / 2, max(values) * 4)
    frame(plot, title, unit)


def peers(tables: dict[str, Table], figure: Any) -> None:
    """Text to sketches, all libraries, by number of minima."""
    table = tables["against"]
    plots = figure.subplots(1, 2)
    figure.set_size_inches(11, 5)
    for plot, sketch in zip(plots, ("84 minima", "128 minima"), strict=True):
        rows = [row for row in rows_of(table, input="documents", sketch=sketch) if "as written" not in row["who"]]
        bars(plot, [(row["who"], row["MB/s"]) for row in rows], f"{sketch}, from text", "MB/s, one core (more is better)")


def kernels(tables: dict[str, Table], figure: Any) -> None:
    """Ready hashes, long sets and short ones."""
    table = tables["against-kernels"]
    plots = figure.subplots(1, 2)
    figure.set_size_inches(11, 4)
    for plot, name in zip(plots, ("sets of 1,000", "sets of 10"), strict=True):
        rows = list(rows_of(table, input=name, sketch="128 minima"))
        bars(plot, [(row["who"], row["ns/hash"]) for row in rows], f"128 minima, {name} hashes",
             "ns per hash, one core (less is better)")


def scripts(tables: dict[str, Table], figure: Any) -> None:
    """ndcore by input."""
    table = tables["pipeline"]
    inputs = list(dict.fromkeys(row[0] for row in table["rows"]))
    sketches = list(dict.fromkeys(row[1] for row in table["rows"]))
    plot = figure.subplots()
    figure.set_size_inches(9, 4)
    width = 0.8 / len(sketches)
    for i, sketch in enumerate(sketches):
        values = [next(row["MB/s"] for row in rows_of(table, input=name, sketch=sketch, variants="best")) for name in inputs]
        plot.bar([j + i * width for j in range(len(inputs))], values, width, label=sketch)
    plot.set_xticks([j + 0.4 - width / 2 for j in range(len(inputs))], inputs, fontsize=8)
    plot.set_ylabel("MB/s, one core", fontsize=9)
    plot.legend(fontsize=8, frameon=False)
    plot.set_title("Text to sketches by input", fontsize=10, loc="left")
    plot.spines[["top", "right"]].set_visible(False)


def stages(tables: dict[str, Table], figure: Any) -> None:
    """Where the time of `ndcore dedup` goes."""
    table = tables["job-stages"]
    program = next(row["program"] for row in rows_of(table) if row["program"].startswith("ndcore dedup"))
    settings = list(dict.fromkeys((row["variants"], row["threads"]) for row in rows_of(table, program=program)))
    names = list(dict.fromkeys(row["stage"] for row in rows_of(table, program=program)))
    plot = figure.subplots()
    figure.set_size_inches(9, 2.6)
    labels = [f"{variants}, {threads} thread{'s' if threads > 1 else ''}" for variants, threads in settings][::-1]
    left = [0.0] * len(settings)
    for name in names:
        rows = rows_of(table, program=program, stage=name)
        seconds = {(row["variants"], row["threads"]): row["seconds"] for row in rows}
        values = [seconds.get(setting, 0.0) for setting in settings][::-1]
        plot.barh(labels, values, left=left, label=name)
        left = [a + b for a, b in zip(left, values, strict=True)]
    frame(plot, "ndcore dedup by stage", "seconds")
    plot.legend(fontsize=7, frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.45, -0.28))


def plain(plot: Any, title: str, horizontal: str, vertical: str) -> None:
    """Give a plot its title and axes from 0 to 1."""
    frame(plot, title, horizontal)
    plot.set_ylabel(vertical, fontsize=9)
    plot.set_ylim(0, 1.03)
    plot.grid(color="#e4e4e4", linewidth=0.6)


def methods(tables: dict[str, Table], figure: Any) -> None:
    """Draw the mean F1, and the mean recall at equal precision, of every kind of sketch by its bytes."""
    table = tables["verdicts"]
    names = list(dict.fromkeys(row["method"] for row in rows_of(table)))
    plots = figure.subplots(1, 2, sharey=True)
    figure.set_size_inches(10, 4.6)
    for plot, quantity in zip(plots, ("F1", "recall at 0.95"), strict=True):
        for i, name in enumerate(names):
            rows = list(rows_of(table, method=name))
            if rows[0]["bytes"] == "all":
                plot.axhline(rows[0][quantity], color="#000000", linewidth=1, linestyle=":", label="exact resemblance")
                continue
            plot.plot([row["bytes"] for row in rows], [row[quantity] for row in rows], DASHES[i // len(COLOURS)], marker="o",
                      markersize=4, color=COLOURS[i % len(COLOURS)], label=name)
        plot.set_xscale("log", base=2)
        ticks = sorted({row["bytes"] for row in rows_of(table) if row["bytes"] != "all"})
        plot.set_xticks(ticks, [str(size) for size in ticks])
        plot.minorticks_off()
    plain(plots[0], "Highest F1, mean of the corpora", "bytes of a sketch", "F1")
    plain(plots[1], "Pairs found where 95 % are right", "bytes of a sketch", "recall")
    figure.legend(*plots[0].get_legend_handles_labels(), fontsize=8, frameon=False, loc="outside lower center", ncols=4)


# table that a plot is under -> (file, description, drawing); None where no program measures that any more
PLOTS: dict[str, tuple[str, str, Callable[[dict[str, Table], Any], None] | None]] = {
    "against": ("benchmarks-peers.svg", "Text to sketches, by library", peers),
    "against-kernels": ("benchmarks-kernels.svg", "Sketches of ready hashes, by library", kernels),
    "pipeline": ("benchmarks-inputs.svg", "Text to sketches, by input", scripts),
    "altavista": ("benchmarks-growth.svg", "Clustering by number of documents", None),
    "nearness-curves": ("benchmarks-nearness.svg", "Simhash: precision and recall by distance", None),
    "job-stages": ("benchmarks-stages.svg", "ndcore dedup, by stage", stages),
    "verdicts": ("sketches-bytes.svg", "What sketches find, by their bytes", methods),
}


def draw(tables: dict[str, Table], folder: Path) -> list[Path]:
    """Write the plots whose tables are there. The same results and matplotlib give the same files."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "ndcore", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (file, _, drawing) in PLOTS.items():
        if name not in tables or drawing is None:
            continue
        figure = pyplot.figure(layout="constrained")
        drawing(tables, figure)
        path = folder / file
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
        if path.stat().st_size > MOST_BYTES:
            raise SystemExit(f"{path.name} has {path.stat().st_size} bytes; at most {MOST_BYTES} belong in the repository")
        written.append(path)
    return written
