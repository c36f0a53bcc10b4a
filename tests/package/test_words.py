"""The source can be read: docstrings that open with a verb, no stilted phrases."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from words import STILTED, Definition, definitions, opens_with_a_verb, python_files

ROOT = Path(__file__).parents[2] / "src" / "ndcore"  # an installed package has no .pyx and no .c
PROJECT = Path(__file__).parents[2]
FILES = python_files([ROOT])


@functools.cache
def functions_with_docstrings() -> list[Definition]:
    return [item for path in FILES for item in definitions(path) if item.docstring is not None and not item.is_property]


def test_docstrings_open_with_a_verb():
    """At least 95 of 100 docstrings of functions and methods; properties may be noun phrases."""
    documented = functions_with_docstrings()
    nouns = [item.where for item in documented if not opens_with_a_verb(item.docstring or "")]
    assert len(documented) > 500
    assert len(nouns) <= 0.05 * len(documented), "\n".join(nouns)


def test_a_quarter_of_the_docstrings_opens_with_return_at_most():
    docstrings = [item.docstring or "" for item in functions_with_docstrings()]
    assert sum(docstring.startswith("Return") for docstring in docstrings) <= 0.25 * len(docstrings)


def test_no_phrase_reads_as_if_translated():
    """One test of all files: it names every phrase, with its file and line."""
    phrases = []
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        phrases += [f"{path.relative_to(ROOT)}:{source.count(chr(10), 0, match.start()) + 1}: {match.group()!r}: {advice}"
                    for pattern, advice in STILTED.items() for match in re.finditer(pattern, source)]
    assert not phrases, "\n".join(phrases)


def test_the_design_has_every_room():
    """The table in DESIGN.md §2 names every folder of the package."""
    if not (PROJECT / "DESIGN.md").exists():
        pytest.skip("DESIGN.md is not beside the tests")
    section = (PROJECT / "DESIGN.md").read_text(encoding="utf-8").partition("## 2. Rooms")[2].partition("\n## 3.")[0]
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert rooms <= set(re.findall(r"`(\w+)`", section))
