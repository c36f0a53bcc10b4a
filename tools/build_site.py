"""Build the site of the documentation: the pages of docs/ and the reference of every public name.

    python tools/build_site.py OUTPUT

Needs the extra `docs`, and ndcore installed from this checkout. A warning of Sphinx is an error. The pages of docs/ stay as
they are: this program copies them to a temporary folder, and adds the pages of the reference and the navigation, which
follows the tables of docs/README.md.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from written_file import ROOT

CONF = ROOT / "packaging" / "site"
COPIED = ("docs", "examples", "README.md", "DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE",
          "bench/README.md", "src/ndcore/core/ndcore.h", "tests/package/interface.txt")
FRONT = "docs/README.md"
HEADINGS = ("Learn", "Do", "Understand", "Look up")
MODULES = ("ndcore.spark", "ndcore.crawl.scrapy", "ndcore.judge", "ndcore.chains", "ndcore.plots", "ndcore.reportpage",
           "ndcore.nearreport", "ndcore.clusterreport", "ndcore.progress")  # with public names of their own


class Topic(NamedTuple):
    """A section of the reference: public names that are defined in these rooms of ndcore."""

    title: str
    about: str
    rooms: tuple[str, ...]


TOPICS = (
    Topic("Near-duplicates", "Find the near-duplicates among documents in memory.", ("dedup", "pairs")),
    Topic("Two texts", "Compare two texts exactly, and show what they share.", ("text", "alignment")),
    Topic("Collections", "Cluster a whole collection, query it, rank its pairs.", ("collection",)),
    Topic("Passages", "Find repeated passages, and test questions in training data.", ("spans",)),
    Topic("Stores and services", "Decide about each page of a crawl as it comes.", ("store",)),
    Topic("Sketches", "Sketch texts and sets, save sketches, and compare them.", ("sketch", "recipe", "storage")),
    Topic("Filters", "Choose bands and rows, and compute what a filter finds and misses.", ("filters", "stats")),
    Topic("Hamming distance", "Find fingerprints that differ in a few bits.", ("hamming",)),
    Topic("Kernels", "Rabin fingerprints, and the variants of kernels for a CPU.", ("_rabin", "kernels", "_version", "")),
)


def group_names() -> dict[Topic, list[str]]:
    """Group the public names of ndcore by topic. Raises ValueError for a room that no topic has."""
    import ndcore

    stub = (ROOT / "src" / "ndcore" / "__init__.pyi").read_text(encoding="utf-8")
    homes = {name: home for home, name in re.findall(r"^from ndcore\.(\S+) import \S+ as (\S+)$", stub, re.M)}
    topics = {room: topic for topic in TOPICS for room in topic.rooms}
    grouped: dict[Topic, list[str]] = {topic: [] for topic in TOPICS}
    for name in ndcore.__all__:
        room = homes.get(name, "").split(".")[0]
        if room not in topics:
            raise ValueError(f"no topic of tools/build_site.py has the room {room!r} of ndcore.{name}")
        grouped[topics[room]].append(name)
    return grouped


def write_reference(folder: Path) -> None:
    """Write a page for each public name and each module, and the page that lists all of them by topic."""
    folder.mkdir()
    listed, lines = [], ["# Reference", "", "Every public name. `help(ndcore.NAME)` prints the same text.", ""]
    for topic, names in group_names().items():
        lines += [f"## {topic.title}", "", topic.about, "", "| name | what it does |", "|---|---|"]
        for name in names:
            listed.append(_write_name(folder, "ndcore", name))
            lines.append(f"| [`{name}`]({listed[-1]}.rst) | {_summarise('ndcore', name)} |")
        lines.append("")
    lines += ["## Modules", "", "| module | what it is for |", "|---|---|"]
    for module in MODULES:
        listed.append(_write_module(folder, module))
        lines.append(f"| [`{module}`]({listed[-1]}.rst) | {_first_sentence(importlib.import_module(module))} |")
    lines += ["", *_make_toctree(None, listed)]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def _write_name(folder: Path, module: str, name: str) -> str:
    """Write the page of a public name, and return the name of the page."""
    value = getattr(importlib.import_module(module), name)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    page = f"{name}-class" if kind == "class" else name  # `Repeats` and `repeats` are one name on some disks
    members = ["   :members:"] if kind == "class" else []
    lines = [name, "=" * len(name), "", f".. auto{kind}:: {module}.{name}", *members, ""]
    (folder / f"{page}.rst").write_text("\n".join(lines), encoding="utf-8")
    return page


def _write_module(folder: Path, module: str) -> str:
    """Write the page of a module with all its public names, and return the name of the page."""
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", "   :members:", "   :imported-members:", ""]
    (folder / f"{module}.rst").write_text("\n".join(lines), encoding="utf-8")
    return module


def _summarise(module: str, name: str) -> str:
    """Return the first sentence of the docstring of a public name, or the value of a constant."""
    value = getattr(importlib.import_module(module), name)
    return _first_sentence(value) if callable(value) else f"`{value!r}`"


def _first_sentence(value: object) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    first = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    return first.replace("``", "`")


def _make_toctree(caption: str | None, pages: list[str]) -> Iterator[str]:
    """Yield the lines of a hidden list of pages, from which Sphinx makes the navigation."""
    yield "```{toctree}"
    yield ":hidden:"
    if caption is not None:
        yield f":caption: {caption}"
    yield from ("", *pages, "```", "")


def order_pages(front: str) -> Iterator[str]:
    """Yield the lines of the navigation: for each of `HEADINGS` on the front page, the pages of its table.

    Raises ValueError where a heading is missing.
    """
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", front, re.M | re.S))
    for heading in HEADINGS:
        if heading not in sections:
            raise ValueError(f"{FRONT} has no heading {heading!r}")
        pages = re.findall(r"^\| \[[^]]+\]\(([^)#]+\.md)\)", sections[heading], re.M)
        if heading == HEADINGS[-1]:
            pages.insert(0, "reference/index")
        yield from _make_toctree(heading, pages)


def assemble(source: Path) -> None:
    """Copy the pages to a folder, and add the reference and the navigation."""
    for name in COPIED:
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, target)
    write_reference(source / "docs" / "reference")
    (source / "README.md").write_text(f"---\norphan: true\n---\n\n{(ROOT / 'README.md').read_text(encoding='utf-8')}",
                                      encoding="utf-8")  # it is under no heading
    front = source / FRONT
    text = front.read_text(encoding="utf-8")
    front.write_text("\n".join([text, *order_pages(text)]), encoding="utf-8")


def main() -> int:
    """Build the site, and return the exit code of Sphinx."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("output", metavar="OUTPUT", type=Path, help="a folder for the site")
    output = options.parse_args().output
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as folder:
        assemble(Path(folder))
        return build_main(["-W", "--keep-going", "-q", "-b", "html", "-c", str(CONF), "-d", f"{folder}/doctrees", folder,
                           str(output)])


if __name__ == "__main__":
    sys.exit(main())
