"""Pages of answers: what is missing is said, what is long is cut, nothing of others is markup."""

from __future__ import annotations

import pytest
from browser import ATTACK, Grids, Tree
from commands import text

import ndcore as nd
from ndcore.report.comparison import compare
from ndcore.report.html import content_policy
from ndcore.serve.answers import About, Cluster, ClusterMember, Compared, ListPage, Located, Match, Peeked, TextJudgement
from ndcore.serve.pages import (
    PAGE_BYTES,
    PAGE_POLICY,
    STYLE,
    link,
    link_key,
    show_about,
    show_change,
    show_compared,
    show_date,
    show_pager,
    show_peeked,
    show_problem,
    show_setting,
    wrap_served,
)

ONE = ListPage(1, 50, 2, False)
MEMBERS = [ClusterMember("a", 1, None, None, None), ClusterMember(ATTACK, 3, "2026-01-02T03:04:05Z", None, None)]
CLUSTER = Cluster("a", 2, MEMBERS, ONE)


def test_settings_and_figures() -> None:
    page = show_about(About("store", ATTACK, 1234, {"a_b": 0.5}, {"clusters": 7, "documents": 1234, "log": ATTACK}), {})
    rows = Grids(page).table("What decides")
    assert [row[0] for row in rows] == ["a b", "log"]
    words = " ".join(Tree(page).text)
    assert "1,234" in words and "clusters" in words and "1234" not in words


def test_a_new_text() -> None:
    page = show_peeked(
        Peeked(TextJudgement("kept", None, None, None, None, None, True), None, None, None, None), {"text": ATTACK}
    )
    made = Tree(page)
    assert "New: nothing like it is stored" in " ".join(made.text)
    assert any(ATTACK.replace("\x00", "\ufffd") in each for each in made.text)  # in the field, for a second look


def test_estimates_say_so() -> None:
    judged = TextJudgement("near", "a", None, 0.89999, 1.0, 0.0001, False)
    page = show_peeked(Peeked(judged, CLUSTER, Located("a", ATTACK, None), None, None), {"text": "x" * 300_000})
    rows = dict(Grids(page).table("Verdict"))
    assert rows["resemblance (estimated from sketches)"] == "0.899"
    assert rows["share of the text that is in the representative"] == "100.0%"
    assert rows["share of the representative that is in the text"] == "< 0.1%"
    assert "xxxx" not in page  # a long text is not sent back


def test_matches() -> None:
    page = show_peeked(Peeked(None, None, None, [Match(ATTACK, 0.5, 0.25, 1.0, "b")], None), {"text": b"x"})
    assert Grids(page).table("Most similar first")[0][1:4] == ["0.500", "25.0%", "100.0%"]
    assert "No document resembles it" in show_peeked(Peeked(None, None, None, [], None), {"text": ""})


def test_comparisons_are_bounded() -> None:
    a, b = (" ".join(f"{word}{number}" for number in range(60_000) for word in ("\x01", other)) for other in "ab")
    found = Compared(compare(a, b, ("a", "b"), nd.Shingling(width=2), 0.5, 200_000))
    page = show_compared(found, {})
    assert len(page.encode()) < PAGE_BYTES + 50_000
    assert "passages of its first" in page
    Tree(page)


def test_problems() -> None:
    page = Tree(show_problem(404, "Not Found", f"no document {ATTACK}"))
    assert "404 Not Found" in " ".join(page.text) and not page.values("onerror")
    assert text(1) not in page.text


def test_the_policy_is_of_the_pages() -> None:
    [told] = [a["content"] for _, a in Tree(wrap_served("x", "<p>y</p>")).elements if a.get("http-equiv")]
    assert told == content_policy(STYLE, "", True) and f"{told}; frame-ancestors 'none'" == PAGE_POLICY


def test_links() -> None:
    assert link(None, "x") == "x" and link("/a?b=1&c=2", "x") == '<a href="/a?b=1&amp;c=2">x</a>'
    assert "href" not in link_key("a", current=True)
    assert Tree(link_key(ATTACK)).values("href")[0].startswith("/document?key=%3Cscript")
    assert link_key("x" * 300_000).startswith("<bdi>")  # too long for an address


@pytest.mark.parametrize(("number", "more", "links"), [(1, False, 0), (1, True, 1), (2, True, 2), (2, False, 1)])
def test_pagers(number: int, more: bool, links: int) -> None:
    made = Tree(show_pager(ListPage(number, 50, 120, more), "clusters", key=7))
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
