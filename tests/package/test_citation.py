"""CITATION.cff says what the package is: its version, its licence, and papers that the documents cite too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ndcore as nd

ROOT = Path(__file__).parents[2]
if not (ROOT / "CITATION.cff").exists():
    pytest.skip("CITATION.cff is not beside the tests", allow_module_level=True)
TEXT = (ROOT / "CITATION.cff").read_text("utf-8")


def test_it_is_this_version():
    assert re.findall(r"^version: (.+)$", TEXT, re.M) == [nd.__version__]
    assert re.findall(r"^license: (.+)$", TEXT, re.M) == ["Apache-2.0"]


def test_its_references_are_in_the_documents():
    cited = (ROOT / "docs" / "references.md").read_text("utf-8")
    dois = re.findall(r"^ +doi: (.+)$", TEXT, re.M)
    assert len(dois) == TEXT.count("  - type:") == 4
    assert all(doi in cited for doi in dois)


def test_it_is_valid():
    cff = pytest.importorskip("cffconvert", reason="cffconvert is not installed")
    cff.Citation(TEXT).validate()
