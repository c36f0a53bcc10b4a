"""Make the pictures of docs/tutorial.md and docs/office-files.md from runs of their commands and programs.

    python tools/pictures.py

Needs Chromium, and ndcore with the extras `cli`, `plot` and `web`. The bytes of pictures depend on the versions of Chromium
and matplotlib, so no test compares them; look at the pictures after a change of the page, of reports or of charts.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pages import read_blocks, run_shell
from written_file import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
SCREENSHOTS = {"first.html": ("tutorial-report.png", 1210), "pair.html": ("tutorial-pair.png", 900)}  # picture, height
WIDTH = 1100  # in pixels, as the heights
COLOURS = 128  # of a screenshot, so that it is small
KINDS = ("article", "same bytes", "other layout", "some words changed", "excerpt")  # the first that is there is no copy
RUNS = {"first": "first run", "second": "--html main", "third": "--html main --drop contained"}


def run_page(folder: Path) -> None:
    """Run the blocks of sh of the page in a folder. Raises RuntimeError where one fails."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for block in read_blocks(PAGE):
        if block.language == "sh":
            done = run_shell(block.text, folder)
            if done.returncode:
                raise RuntimeError(f"{PAGE.name}:{block.line}: {done.stderr}")


def take_screenshot(page: Path, picture: Path, height: int) -> None:
    """Write what Chromium shows of the top of a page."""
    from PIL import Image

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for name in names if (path := shutil.which(name))), None)
    if chromium is None:
        raise RuntimeError("screenshots need Chromium: install it, as in apt install chromium")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([chromium, "--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={profile}",
                        f"--window-size={WIDTH},{height}", f"--screenshot={picture}", page.as_uri()],
                       check=True, capture_output=True)
    Image.open(picture).convert("RGB").quantize(COLOURS).save(picture, optimize=True)


def count_left(folder: Path, run: str) -> Counter[str]:
    """Count the copies that a run has kept, by kind: of each article, all kept documents but one."""
    with (folder / "dirty.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (folder / run / "clusters.jsonl").open(encoding="utf-8") as lines:
        dropped = {json.loads(line)["id"] for line in lines}
    left: Counter[str] = Counter()
    seen = set[str]()
    for row in sorted((row for row in rows if row["id"] not in dropped), key=lambda row: KINDS.index(row["kind"])):
        if row["article"] in seen:
            left[row["kind"]] += 1
        seen.add(row["article"])
    return left


def draw_steps(folder: Path, picture: Path) -> None:
    """Draw a bar for each run, cut by the kinds of copies that are left."""
    from matplotlib.figure import Figure

    from ndcore.plots import COLOURS as PALETTE

    left = {name: count_left(folder, run) for run, name in RUNS.items()}
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = figure.subplots()
    start = dict.fromkeys(left, 0)
    for kind, colour in zip(KINDS[1:], PALETTE, strict=False):
        widths = [counts[kind] for counts in left.values()]
        axes.barh(list(left), widths, left=list(start.values()), color=colour, label=kind)
        start = {name: start[name] + left[name][kind] for name in left}
    for place, count in enumerate(start.values()):
        axes.text(count + 1, place, str(count), va="center")
    axes.set_xlabel("copies left")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(picture, metadata={"Date": None})


def draw_noise(picture: Path) -> None:
    """Draw the resemblances that examples/misread.py measures, and as thin lines those of unrelated texts."""
    from matplotlib.figure import Figure

    from ndcore.plots import COLOURS as PALETTE
    from ndcore.plots import DASHES

    sys.path.insert(0, str(ROOT / "examples"))
    import misread

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.subplots()
    shares = [100 * share for share in misread.SHARES]
    for (name, values), colour, dash in zip(misread.measure().items(), PALETTE, DASHES, strict=False):
        axes.plot(shares, values[:-1], color=colour, linestyle=dash, marker="o", markersize=3, label=name)
        axes.axhline(values[-1], color=colour, linestyle=dash, linewidth=0.6)
    axes.set(xlabel="wrong characters, %", ylabel="resemblance to the original", ylim=(0, 1.02), xlim=(0, max(shares)))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    """Run the page, and write its pictures into docs."""
    draw_noise(PAGE.parent / "office-noise.svg")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        run_page(folder)
        for page, (picture, height) in SCREENSHOTS.items():
            take_screenshot(folder / page, PAGE.parent / picture, height)
        draw_steps(folder, PAGE.parent / "tutorial-steps.svg")


if __name__ == "__main__":
    main()
