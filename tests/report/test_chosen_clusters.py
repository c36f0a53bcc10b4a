"""The clusters and pairs that a report shows: the largest, the least alike, the nearest the threshold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import ATTACK, Grids, Tree, browse
from commands import text
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.report.chosen_clusters import choose_clusters
from ndcore.report.dedup import from_near_duplicates
from ndcore.report.model import MEMBERS, Excerpt, Report
from ndcore.report.page import render

ORDER = {"near": 0, "shingle": 1, "lexical": 2, "identical": 3}


@given(st.lists(st.integers(0, 7), max_size=40), st.randoms(use_true_random=False))
def test_shown_clusters(choice: list[int], random: Any) -> None:
    n = len(choice)
    firsts = {c: i for i, c in reversed(list(enumerate(choice)))}  # the first of a colour represents it; of colour 0, n + 0
    labels = [n if c == 0 else firsts[c] for c in choice]
    kept = [label == i for i, label in enumerate(labels)]
    classes = ["kept" if k else random.choice(["identical", "lexical", "near"]) for k in kept]
    resemblance = [1.0 if k else random.choice([0.5, 0.7, 1.0, float("nan")]) for k in kept]
    asked: list[int] = []

    def excerpts(positions: Any) -> dict[int, Excerpt]:
        asked.extend(positions.tolist())
        return {int(p): Excerpt(str(p), 9) for p in positions}

    found, nearest = choose_clusters(
        np.array(labels, np.int64), lambda positions: np.array(classes)[positions], np.array(resemblance), name=str,
        note=lambda i: "old" if i >= n else "", estimated=lambda a, b: b >= n, excerpts=excerpts, limit=3, views=1,
        threshold=0.6,
    )
    groups = {label: [i for i in range(n) if labels[i] == label != i] for label in labels}
    expected = sorted((label for label in groups if groups[label]), key=lambda label: (-len(groups[label]), label))[:3]
    assert [cluster.name for cluster in found] == [str(label) for label in expected]
    for cluster, label in zip(found, expected, strict=True):
        members = sorted(groups[label], key=lambda i: (np.nan_to_num(resemblance[i], nan=1.0), ORDER[classes[i]], i))
        assert [member.name for member in cluster.members] == [str(i) for i in members][: MEMBERS]
        assert cluster.documents == len(members) + 1
        assert cluster.verdicts == Counter(classes[i] for i in members)
        assert cluster.note == ("old" if label == n else "")
        assert [m.estimated for m in cluster.members] == [label == n and m.verdict == "near" for m in cluster.members]
        assert cluster.excerpt == Excerpt(str(label), 9)
        assert cluster.view in (None, Excerpt(str(members[0]), 9))
    views = [cluster for cluster in found if cluster.view is not None]
    different = [cluster for cluster in found if cluster.members[0].verdict != "identical"]
    assert views == different[:1]
    viewed = {int(cluster.members[0].name) for cluster in views}
    above = [i for i in range(n) if not kept[i] and 0.6 <= resemblance[i] < 1.0 and i not in viewed]
    assert [(int(view.name), int(view.member.name)) for view in nearest] == [
        (labels[i], i) for i in sorted(above, key=lambda i: (resemblance[i], i))[:1]
    ]
    pairs = {int(name) for view in nearest for name in (view.name, view.member.name)}
    assert sorted(asked) == sorted({*expected, *viewed, *pairs})


LONG = f"{text(1)} {text(2)}"  # 74 shingles, 35 of them of each part
TEXTS = [text(3), text(3, 1), text(3, 2), LONG, text(2), text(3)]
LONG_FIRST = [1, 2, 3, 0, 4, 5]


def page_of(texts: list[Any] = TEXTS, **options: Any) -> tuple[Report, str]:
    found = nd.near_duplicates(texts, **{"threshold": 0.6, "threads": 1, "lost": True, **options})
    made = from_near_duplicates(found)
    return made, render(made)


def distinct(one: str) -> set[tuple[str, ...]]:
    words = one.split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def test_the_largest_losses_come_first() -> None:
    made, page = page_of(keep=LONG_FIRST, drop="contained")
    kept = distinct(text(3)) | distinct(LONG)
    expected = {i: len(distinct(TEXTS[i]) - kept) for i in (1, 2)}
    assert expected == {1: 1, 2: 6}
    assert made.losses is not None
    assert (made.losses.shingles, made.losses.documents) == (7, 2)
    assert [(loss.member.name, loss.representative, loss.lost, loss.shingles) for loss in made.losses.largest] == [
        ("2", "0", 6, 35), ("1", "0", 1, 35)]
    first = made.losses.largest[0]
    assert (first.member.verdict, first.member.resemblance, first.member.score) == ("near", 29 / 41, 29 / 35)
    assert first.view is not None and first.view.view.text == TEXTS[2]
    rows = Grids(page).table("What the drops cost: all")
    assert [[cell.split("for")[0] for cell in row] for row in rows] == [
        ["6", "17.1%", "2", "near", "0.707", "0.828"], ["1", "2.9%", "1", "near", "0.944", "0.971"]]
    assert {figure.label: figure.number for figure in made.figures}["shingles lost"] == 7


def test_links_of_the_list() -> None:
    tree = Tree(page_of()[1])
    ids = tree.values("id")
    assert len(ids) == len(set(ids)) and {link[1:] for link in tree.values("href")} <= set(ids)
    assert {"losses", "view-lost-1", "view-lost-2"} <= set(ids)


def test_the_list_is_bounded() -> None:
    texts = [f"{text(1)} only{i}" for i in range(40)]
    made, page = page_of(texts)
    assert made.losses is not None
    assert (made.losses.documents, len(made.losses.largest)) == (39, 20)
    assert "the 20 largest of 39" in page
    assert sum(loss.view is not None for loss in made.losses.largest) == 10


def test_no_losses() -> None:
    assert "every shingle of a dropped document is in a kept one" in page_of([text(1), text(1)])[1]
    made, page = page_of([text(1), text(1)], lost=False)
    assert made.losses is None and "What the drops cost" not in page


def test_versions_are_listed() -> None:
    made, _ = page_of([text(1), text(2)], one_per=["a", "a"])
    assert made.losses is not None
    [loss] = made.losses.largest
    assert (loss.member.verdict, loss.lost, loss.shingles) == ("version", 35, 35)
    assert np.isnan(loss.member.resemblance)


# ---- classes and scores


def test_contained_documents() -> None:
    made, page = page_of(keep=LONG_FIRST, drop="contained", lost=False)
    grids = Grids(page)
    outcome = {row[0]: row[1] for row in grids.table("All documents by what became of them")}
    assert outcome == {"kept": "2", "identical": "1", "lexical": "0", "shingle": "0", "near": "2", "contained": "1",
                       "rejected": "0"}
    assert grids.table("Members of 3") == [["4", "contained", "0.472", "1.000"]]  # 35 / 74
    assert sum(int(row[1]) for row in grids.table("Accepted pairs by containment")) == 4
    made_of = {row[0]: row[1] for row in grids.table("What decides the result")}
    assert made_of["drop"] == "contained"
    assert made_of["filter"].startswith("looks up ")
    assert "Lowest containment" in page and made.measure == "containment"
    assert "Contained documents at containment 0.6 or more" in page


def test_scores_without_common_shingles() -> None:
    pages = [f"{text(1)} own{i // 2} text{i // 2} of{i // 2} page{i // 2} and more number{i}" for i in range(40)]
    made, page = page_of(pages, drop_common=0.5)
    assert made.score == "score"
    shared = len(set.intersection(*map(distinct, pages)))
    assert shared == 35
    a, b = distinct(pages[0]) - distinct(pages[2]), distinct(pages[1]) - distinct(pages[2])
    assert [row[:2] for row in Grids(page).table("Members of 0")] == [["1", "near"]]
    resemblance = len(distinct(pages[0]) & distinct(pages[1])) / len(distinct(pages[0]) | distinct(pages[1]))
    shown = [f"{value:.4f}"[:5] for value in (resemblance, len(a & b) / len(a | b))]
    assert Grids(page).table("Members of 0")[0][2:] == shown
    assert "35 shingles are in more than 50% of the documents, and not compared." in page


@pytest.mark.parametrize(("drop", "score"), [("resembling", "score"), ("contained", "containment")])
def test_a_note_says_that_shingles_weigh_differently(drop: str, score: str) -> None:
    pages = [text(1), text(1, 1), text(2)]
    note = "is a share of weight: rare shingles count more. A resemblance counts all shingles alike."
    assert note not in page_of(pages, drop=drop)[1]
    assert f"A {score} {note}" in page_of(pages, drop=drop, weights=nd.Idf.learn(pages))[1]


def test_chained_documents() -> None:
    made, page = page_of([text(1, changes) for changes in (0, 1, 2)], cluster="components", threshold=0.72)
    assert {part.name: part.documents for part in made.parts if part.documents} == {"kept": 1, "near": 1, "chained": 1}
    lowest = nd.resemblance(text(1), text(1, 2))
    assert Grids(page).table("Chains") == [["0", "1", f"{lowest:.4f}"[:5]]]


def test_rules_are_told() -> None:
    _, page = page_of(must_agree=["numbers", "title"], min_shingles=7, reassign=True, filter="complete")
    made_of = {row[0]: row[1] for row in Grids(page).table("What decides the result")}
    assert made_of["must_agree"] == "numbers, title"
    assert (made_of["min_shingles"], made_of["reassign"], made_of["missed at the threshold"]) == ("7", "yes", "0")
    assert "No pair at or above the threshold is missed: the filter is complete." in page


@pytest.mark.slow
def test_the_list_in_a_browser(tmp_path: Path) -> None:
    hostile = [f"{ATTACK} {one}" for one in TEXTS]
    found = nd.near_duplicates(hostile, [f"{ATTACK}{i}" for i in range(len(hostile))], threshold=0.6, lost=True)
    (tmp_path / "page.html").write_text(render(from_near_duplicates(found)), encoding="utf-8")
    dom, messages = browse(tmp_path / "page.html")
    assert messages == [] and 'id="view-lost-1"' in dom and "<title>ran" not in dom
