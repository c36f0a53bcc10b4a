"""The source can be read: docstrings that open with a verb, no stilted phrases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from words import STILTED, definitions, opens_with_a_verb, python_files

ROOT = Path(__file__).parents[2] / "src" / "ndcore"  # an installed package has no .pyx and no .c
PROJECT = Path(__file__).parents[2]
FILES = python_files([ROOT])


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_docstrings_open_with_a_verb():
    """At least 95 of 100 docstrings of functions and methods; properties may be noun phrases."""
    found = [item for path in FILES for item in definitions(path) if item.docstring is not None and not item.is_property]
    nouns = [item.where for item in found if not opens_with_a_verb(item.docstring or "")]
    assert len(found) > 500
    assert len(nouns) <= 0.05 * len(found), nouns


def test_a_quarter_of_the_docstrings_opens_with_return_at_most():
    found = [item.docstring or "" for path in FILES for item in definitions(path) if item.docstring and not item.is_property]
    assert sum(docstring.startswith("Return") for docstring in found) <= 0.25 * len(found)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_no_phrase_reads_as_if_translated(path):
    source = path.read_text(encoding="utf-8")
    found = [f"line {source.count(chr(10), 0, match.start()) + 1}: {match.group()!r}: {advice}"
             for pattern, advice in STILTED.items() for match in re.finditer(pattern, source)]
    assert found == []


def test_the_design_has_every_room():
    """The table in DESIGN.md §2 names every folder of the package."""
    if not (PROJECT / "DESIGN.md").exists():
        pytest.skip("DESIGN.md is not beside the tests")
    section = (PROJECT / "DESIGN.md").read_text(encoding="utf-8").partition("## 2. Rooms")[2].partition("\n## 3.")[0]
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert rooms <= set(re.findall(r"`(\w+)`", section))
