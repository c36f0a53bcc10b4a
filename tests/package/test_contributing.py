"""CONTRIBUTING.md, DESIGN.md and SECURITY.md: every file that they send a reader to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "tools", "bench", "docs", "packaging", "examples", ".ci", ".github")
FILES = {f"/{path.relative_to(ROOT).as_posix()}" for path in [*ROOT.iterdir(), *(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]}
NAME = re.compile(r"`([\w./]+\.(?:py|pyi|pyx|pxd|c|h|md|txt|toml|yml|sh))`")
OTHERS = {"Python.h", "features.c"}  # of CPython; a name that is not taken, and why


def lost(text: str) -> list[str]:
    """List the files in code spans that are nowhere; a path may begin inside of the tree, as ``sketch/mod.py``."""
    return [name for name in NAME.findall(text) if name not in OTHERS and not any(x.endswith(f"/{name}") for x in FILES)]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "DESIGN.md", "SECURITY.md"])
def test_every_file_that_is_named_exists(page):
    text = (ROOT / page).read_text("utf-8")
    assert NAME.findall(text) and lost(text) == []


def test_a_file_that_is_gone_is_told():
    assert lost("`sketch/mod.py` `collection/job.py` `bottom.py` `phase4_clusters.py`") == [
        "collection/job.py", "phase4_clusters.py",
    ]  # fmt: skip
