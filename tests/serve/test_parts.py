"""Parts of pages: links, dates, pagers and changes, escaped."""

from __future__ import annotations

import pytest
from browser import ATTACK, Tree

from ndcore.report.html import policy
from ndcore.serve.answers import ListPage
from ndcore.serve.parts import PAGE_POLICY, STYLE, framed, key_link, link, pager, show_change, show_date, show_setting


def test_the_policy_is_of_the_pages() -> None:
    [told] = [a["content"] for _, a in Tree(framed("x", "<p>y</p>")).elements if a.get("http-equiv")]
    assert told == policy(STYLE, "", True) and f"{told}; frame-ancestors 'none'" == PAGE_POLICY


def test_links() -> None:
    assert link(None, "x") == "x" and link("/a?b=1&c=2", "x") == '<a href="/a?b=1&amp;c=2">x</a>'
    assert "href" not in key_link("a", current=True)
    assert Tree(key_link(ATTACK)).values("href")[0].startswith("/document?key=%3Cscript")
    assert key_link("x" * 300_000).startswith("<bdi>")  # too long for an address


@pytest.mark.parametrize(("number", "more", "links"), [(1, False, 0), (1, True, 1), (2, True, 2), (2, False, 1)])
def test_pagers(number: int, more: bool, links: int) -> None:
    made = Tree(pager(ListPage(number, 50, 120, more), "clusters", key=7))
    assert len(made.values("href")) == links
    assert all("key=7&kind=int" in href and "size" not in href for href in made.values("href"))
    assert not links or "page" in " ".join(made.text)


def test_words() -> None:
    shown = show_date("2026-01-02T03:04:05.678Z")
    assert "".join(Tree(shown).text) == "2026-01-02 03:04:05" and show_date(None) == "–"
    assert show_change(None) == "first version" and "lexical only" in show_change("lexical")
    assert [("real" in show_change(change)) for change in ("unchanged", "lexical", "near", "other")] == [
        False,
        False,
        True,
        True,
    ]
    assert show_change("<b>") == "&lt;b&gt;"
    assert [show_setting(value) for value in (1234567, True, 0.5, "x")] == ["1,234,567", "True", "0.5", "x"]
