"""The page of a ranking: rows, bounds, links, nothing of a name acts."""

from __future__ import annotations

from browser import ATTACK, Grids, Tree, count_aligned, opened

from ndcore.report import ranking as module
from ndcore.report.model import Figure
from ndcore.report.ranking import NearlyEqual, RankedPair, ranking_page

PAIRS = [RankedPair(f"a{i}", f"b{i}", 0.5, 0.25, 9 - i, "views/pair-1.html" if i == 0 else "") for i in range(4)]


def page(pairs=PAIRS, groups=(), ranked=4, grouped=0) -> str:
    return ranking_page("t", "s", [Figure(3, "submissions")], ["A note."], groups, grouped, pairs, ranked, [("by", "mean")])


def test_pairs_with_both_shares_their_larger_and_their_mean():
    grids = Grids(page())
    assert grids.table("Pairs: all 4")[0] == ["1", "a0", "b0", "0.500", "0.250", "0.500", "0.375", "9"]
    assert grids.values("href") == ["views/pair-1.html"]
    assert "A note." in "".join(grids.text)


def test_groups(monkeypatch):
    monkeypatch.setattr(module, "MEMBERS", 2)
    grids = Grids(page(groups=[NearlyEqual(5, ["x", "y", "z"], 0.95, "views/group-1.html")], grouped=1))
    assert grids.table("Groups: all 1") == [["5", "x, y and 3 more", "0.950 side by side"]]


def test_columns_of_numbers_have_heads_of_numbers():
    assert count_aligned(page(groups=[NearlyEqual(2, ["x", "y"], 0.95)], grouped=1)) == 3


def test_the_page_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)
    assert len(Grids(page(ranked=7)).table("Pairs: the first 2 of 7")) == 2


def test_nothing():
    source = page(pairs=[], ranked=0)
    assert source.count("There are none") == 2


def test_hostile_names(tmp_path):
    source = page([PAIRS[0]._replace(a=ATTACK)], [NearlyEqual(2, [ATTACK, "b"], 1.0)], 1, 1)
    Tree(source)
    [title], messages = opened(source, tmp_path)
    assert title == "t" and messages == []
