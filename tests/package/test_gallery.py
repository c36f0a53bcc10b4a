"""docs/gallery.md shows the programs of examples as they are, and what they print now."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("gallery", reason="tools is not beside the tests")
sys.path.pop(0)


def test_the_page_is_what_the_programs_print():
    """If a change is meant, run tools/gallery.py, and read what has changed."""
    assert tool.page() == tool.PAGE.read_text("utf-8")


def test_there_are_twelve_programs_that_exist():
    assert len(tool.PROGRAMS) == len(set(tool.PROGRAMS.values())) == 12
    assert all((tool.ROOT / "examples" / f"{name}.py").exists() for name in tool.PROGRAMS)


def test_a_long_program_is_named(monkeypatch):
    monkeypatch.setattr(tool, "LONGEST", 10)
    with pytest.raises(ValueError, match=r"examples/compare_two\.py has more than 10 lines"):
        tool.show("compare_two", "Compare two texts")
