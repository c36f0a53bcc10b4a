"""Pairs of a report side by side, or the reason why there are none."""

from __future__ import annotations

import pytest
from browser import Grids, count_aligned
from commands import text

import ndcore as nd
from ndcore.report import model as reports
from ndcore.report.dedup import from_near_duplicates
from ndcore.report.page import render


def test_identical_documents_have_no_view() -> None:
    page = render(from_near_duplicates(nd.near_duplicates(["", "", text(1), text(1)])))
    assert "The clusters above are of identical documents." in page
    assert Grids(page).table("Members of 0") == [["1", "identical", "–"]]


def test_columns_of_numbers_have_heads_of_numbers() -> None:
    found = nd.near_duplicates([text(1), text(1), text(1, 1), text(2)], threshold=0.5, lost=True)
    assert count_aligned(render(from_near_duplicates(found))) > 3


def test_units_without_places_have_no_view() -> None:
    unit = nd.Shingling(unit=str.split, width=2)  # type: ignore[arg-type]
    page = render(from_near_duplicates(nd.near_duplicates(["a b c d e", "a b c d f"], threshold=0.5, shingling=unit)))
    assert "passages cannot be shown" in page
    assert "shingles of 2 tokens" in page


def test_short_error_does_not_refuse_what_was_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "EXCERPT", 8)
    strict = nd.Shingling(width=3, short="error")
    page = render(from_near_duplicates(nd.near_duplicates([text(1), text(1, 1)], threshold=0.5, shingling=strict)))
    assert page.count("the first 8 of") == 2
