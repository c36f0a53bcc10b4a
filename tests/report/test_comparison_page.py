"""The page of a comparison: figures, the note of a cut text, and nothing of a text that acts."""

from __future__ import annotations

from browser import ATTACK, Tree
from commands import text

import ndcore as nd
from ndcore.report.comparison import compare
from ndcore.report.comparison_page import compare_page

WIDTH = nd.Shingling(width=3)


def test_figures() -> None:
    page = Tree(compare_page(compare(text(1), text(1, 1), ("first", "second"), WIDTH, 0.5)))
    words = " ".join(page.text)
    assert f"{nd.resemblance(text(1), text(1, 1), WIDTH):.4f}" in words
    assert "Near-duplicates" in words and "first" in words and "only" not in words


def test_the_page_says_what_is_cut() -> None:
    page = Tree(compare_page(compare(text(1), text(1, 1), ("first", "second"), WIDTH, 0.5, 60)))
    assert page.text.count("passages of its first 60 characters only") == 2


def test_hostile_names_and_texts() -> None:
    page = Tree(compare_page(compare(ATTACK, ATTACK + " more", (ATTACK, ATTACK), WIDTH, 0.5)))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not page.values("onerror")
