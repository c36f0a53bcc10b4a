"""Write notebooks for Jupyter from pages of the documentation, with a copy of examples beside them.

    python tools/notebooks.py FOLDER

The text of a notebook is the page, so there is no second one to keep. Blocks of python and pycon become cells of Python,
blocks of sh cells of bash; what a page says that they print is left out, since running the cells shows it.
"""

from __future__ import annotations

import argparse
import doctest
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import PRINTED, Block, read_blocks
from written_file import ROOT

PAGES = ("tutorial", "which-threshold", "store")  # deduplicate a corpus; choose a threshold; a crawler's pages
BASH = "%%bash\nset -euo pipefail\n"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^()\s#]+)")  # the path of a relative link
BEFORE = """Run the cells in order, in the folder of this notebook: `examples` is beside it. ndcore must be installed in this
kernel, and its command on the path. This notebook was made from [a page of the documentation]({page})."""


def make_cell(kind: str, source: str, number: int) -> dict[str, Any]:
    """Return a cell of format 4.5."""
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.strip("\n")}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def iterate_sources(page: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield kind and source of the cells of a page; its links lead from `folder` to the files of this checkout."""
    lines = page.read_text("utf-8").splitlines()
    begun = 0
    for block in read_blocks(page):
        end = block.line - 2  # of the lines before the fence
        yield "markdown", _link_from(folder, page, "\n".join(lines[begun:end]).removesuffix(PRINTED))
        begun = block.line + block.text.count("\n")
        yield from _translate(block)
    yield "markdown", _link_from(folder, page, "\n".join(lines[begun:]))


def _translate(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the cells of a block: a session of pycon is cut behind every example that prints something."""
    if block.language == "sh":
        yield "code", BASH + block.text
    elif block.language == "python":
        yield "code", block.text
    elif block.language == "pycon":
        source = ""
        for example in doctest.DocTestParser().get_examples(block.text):
            source += example.source
            if example.want:
                yield "code", source
                source = ""
        yield "code", source
    elif block.before != PRINTED:
        yield "markdown", f"```{block.language}\n{block.text}```"


def _link_from(folder: Path, page: Path, text: str) -> str:
    """Make relative links lead from the folder of the notebook to what they name beside the page."""
    return LINK.sub(lambda match: os.path.relpath(page.parent / match[1], folder), text)


def make_notebook(page: Path, folder: Path) -> dict[str, Any]:
    """Return the notebook of a page that will be in a folder."""
    (_, title), *rest = iterate_sources(page, folder)
    title, _, about = title.partition("\n\n")
    before = BEFORE.format(page=os.path.relpath(page, folder))
    sources = [("markdown", title), ("markdown", before), ("markdown", about), *rest]
    cells = [make_cell(kind, source, i) for i, (kind, source) in enumerate(sources) if source.strip()]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def write_notebooks(folder: Path) -> list[Path]:
    """Write the notebooks and the examples into a new folder, and return the paths of the notebooks."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    written = []
    for name in PAGES:
        written.append(folder / f"{name}.ipynb")
        notebook = make_notebook(ROOT / "docs" / f"{name}.md", folder.resolve())
        written[-1].write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return written


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", metavar="FOLDER", type=Path, help="a folder that does not exist")
    for path in write_notebooks(options.parse_args().folder):
        print(path)
