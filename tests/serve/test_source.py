"""Pages of long lists, and beginnings of long texts."""

from __future__ import annotations

from ndcore.serve.answers import ListPage
from ndcore.serve.source import EXCERPT, excerpt, one_page


def test_pages() -> None:
    assert one_page(range(5), {"page": 1, "size": 2}) == ([0, 1], ListPage(1, 2, 5, True))
    assert one_page(range(5), {"page": 3, "size": 2}) == ([4], ListPage(3, 2, 5, False))
    assert one_page(range(5), {"page": 9, "size": 2}) == ([], ListPage(9, 2, 5, False))
    assert one_page([], {"versions": 1, "size": 2}, "versions") == ([], ListPage(1, 2, 0, False))


def test_excerpts() -> None:
    assert excerpt(None) is None
    short, long = excerpt("é"), excerpt(b"\xff" * (EXCERPT + 1))
    assert short is not None and (short.text, short.length, short.unit, short.cut) == ("é", 1, "character", False)
    assert long is not None and (long.text, long.length, long.unit, long.cut) == (
        "\\xff" * EXCERPT,
        EXCERPT + 1,
        "byte",
        True,
    )
