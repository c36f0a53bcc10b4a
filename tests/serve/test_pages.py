"""Pages of answers: what is missing is said, what is long is cut, nothing of others is markup."""

from __future__ import annotations

from browser import ATTACK, Grids, Tree
from commands import text

import ndcore as nd
from ndcore.report.comparison import compare
from ndcore.serve.answers import About, Cluster, ClusterMember, Compared, ListPage, Located, Match, Peeked, TextJudgement
from ndcore.serve.pages import PAGE_BYTES, problem_page, show_about, show_compared, show_peeked

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
    page = Tree(problem_page(404, "Not Found", f"no document {ATTACK}"))
    assert "404 Not Found" in " ".join(page.text) and not page.values("onerror")
    assert text(1) not in page.text
