"""Reports of deduplications show what the result says, for any texts, in parsers and in a browser."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import ATTACK, Grids, Tree, browse, opened
from commands import ROWS, jsonl, refused, run, text
from devtools import tab

import ndcore as nd
from ndcore.report import model as reports
from ndcore.report.dedup import from_near_duplicates
from ndcore.report.model import Excerpt, Figure, Member, Part, Report, ReportTable, ShownCluster, View, truncate
from ndcore.report.page import render

WIDTH = nd.Shingling(width=3)


def result_of(texts: list[Any], **options: Any) -> nd.NearDuplicates:
    return nd.near_duplicates(texts, shingling=WIDTH, **{"threshold": 0.5, "threads": 1, **options})


@pytest.fixture(scope="module")
def result() -> nd.NearDuplicates:
    texts = [text(1), text(2), text(1), text(1).upper(), text(2, 1), text(3), text(2, 2), "", text(4), text(1), text(4, 1)]
    return result_of(texts, ids=[f"d{i}" for i in range(len(texts))])


# ---- structure


def test_of_a_result(result: nd.NearDuplicates) -> None:
    made = from_near_duplicates(result, rejected=2)
    assert [(part.name, part.documents) for part in made.parts] == [
        ("kept", 5), ("identical", 2), ("lexical", 1), ("shingle", 0), ("near", 3), ("rejected", 2)
    ]
    assert sum(part.documents for part in made.parts) == len(result) + 2
    assert {figure.label: figure.number for figure in made.figures} == {
        "read": 13, "kept": 5, "dropped": 6, "clusters": 3, "pairs accepted": int(result.verified.sum())
    }
    assert sorted(made.sizes.tolist()) == [2, 3, 4]
    assert [(cluster.name, cluster.documents) for cluster in made.clusters] == [("d0", 4), ("d1", 3), ("d8", 2)]
    second = made.clusters[1]
    assert second.members[0] == Member("d6", "near", nd.resemblance(text(2), text(2, 2), WIDTH), False)
    assert second.view == Excerpt(text(2, 2), len(text(2, 2)))
    assert made.clusters[0].view == Excerpt(text(1).upper(), len(text(1)))
    [near] = made.nearest  # the members above that are viewed with their clusters are left out
    assert (near.name, near.member) == ("d1", Member("d4", "near", nd.resemblance(text(2), text(2, 1), WIDTH), False))
    assert near.excerpt == Excerpt(text(2), len(text(2)))
    assert near.view == Excerpt(text(2, 1), len(text(2, 1)))


# ---- the page


def test_numbers_of_the_page(result: nd.NearDuplicates) -> None:
    page = Grids(render(from_near_duplicates(result, parameters=[("cluster", "star")], command="ndcore dedup x")))
    outcome = page.table("All documents by what became of them")
    assert [(row[0], row[1]) for row in outcome] == [
        ("kept", "5"), ("identical", "2"), ("lexical", "1"), ("shingle", "0"), ("near", "3"), ("rejected", "0")
    ]
    assert page.table("Clusters by their number") == [["2 documents", "1"], ["3 to 4 documents", "2"]]
    pairs = page.table("Accepted pairs by resemblance")
    assert sum(int(row[1]) for row in pairs) == int(result.verified.sum())
    assert [row[0] for row in page.table("All clusters")] == ["4", "3", "2"]
    lowest = nd.resemblance(text(2), text(2, 2), WIDTH)
    assert page.table("Members of d1") == [
        ["d6", "near", f"{lowest:.4f}"[:5]], ["d4", "near", f"{nd.resemblance(text(2), text(2, 1), WIDTH):.4f}"[:5]]
    ]
    made = dict(page.table("What decides the result"))  # type: ignore[arg-type]
    assert made["recipe id"] == result.sources.recipe.id
    assert json.loads(made["recipe"]) == json.loads(result.sources.recipe.to_json())
    assert made["command"] == "ndcore dedup x"
    assert made["threshold"] == "0.5"
    assert made["ndcore"] == nd.__version__
    assert f"missed with probability {result.filter.miss:.2g}" in "".join(page.text)


def test_parts_of_the_page(result: nd.NearDuplicates) -> None:
    source = render(from_near_duplicates(result))
    tree = Tree(source)
    tags = Counter(tag for tag, _ in tree.elements)
    assert tags["h1"] == tags["main"] == 1
    assert tags["h2"] == tags["section"]
    assert tags["table"] - source.count('<table class="nd-pair">') == tags["caption"]
    ids = tree.values("id")
    assert len(ids) == len(set(ids))
    targets = {link[1:] for link in tree.values("href")}
    assert targets <= set(ids)
    assert all(reference in ids for value in tree.values("aria-labelledby") for reference in value.split())
    assert all(attributes.get("aria-hidden") or attributes.get("aria-labelledby") or attributes.get("aria-label")
               for tag, attributes in tree.elements if tag == "svg")
    assert tree.values("src") == tree.values("style") == []
    assert not any(name.startswith("on") for _, attributes in tree.elements for name in attributes)
    assert not re.search(r"url\(|@import|https?:", re.sub(r"<body>.*</body>", "", source, flags=re.DOTALL))
    assert tags["script"] == tags["style"] == 1


def test_equal_results_give_equal_pages(result: nd.NearDuplicates) -> None:
    one, other = (render(from_near_duplicates(again)) for again in (result, dataclasses.replace(result)))
    assert one == other
    assert "2031-01-01" in render(from_near_duplicates(result, made="2031-01-01"))


def test_nothing_found() -> None:
    for texts in ([], ["", "..."], [text(1), text(2)]):
        page = render(from_near_duplicates(result_of(texts)))
        Tree(page)
        assert "There are none: no document stands for another." in page


def test_sketches_have_no_texts(result: nd.NearDuplicates) -> None:
    again = nd.near_duplicates(result.sketches, threshold=0.5)
    page = render(from_near_duplicates(again))
    assert "The texts are not at hand." in page
    assert "saved sketches are not at hand" in page
    assert "≈ " in page
    assert "nd-pair" not in page.partition("<body>")[2].partition("<script>")[0]


def test_against(result: nd.NearDuplicates) -> None:
    found = result_of([text(2, 1), text(5)], against=[text(2)])
    page = render(from_near_duplicates(found))
    assert "in the collection compared against" in page
    assert Grids(page).table("Members of against 0")[0][0] == "0"
    assert 'id="view-1"' in page
    sketched = result_of([text(2, 1), text(5)], against=nd.MinHasher(shingling=WIDTH).sketch_many([text(2)]))
    page = render(from_near_duplicates(sketched))
    assert "The texts are not at hand." in page


def test_chains() -> None:
    texts = [text(1, changes) for changes in (0, 2, 4)]
    chained = result_of(texts, threshold=0.6, cluster="components")
    assert chained.labels.tolist() == [0, 0, 0]
    assert chained.resemblance[2] < 0.6
    rows = Grids(render(from_near_duplicates(chained))).table("Chains")
    assert rows == [["0", "1", f"{nd.resemblance(texts[0], texts[2], WIDTH):.4f}"[:5]]]
    assert not [table for table in from_near_duplicates(result_of(texts)).tables if table.title == "Chains"]


def test_common_features() -> None:
    texts = [text(1, 1) + f" x{i}" for i in range(8)]
    found = result_of(texts, max_holders=3)
    assert found.common
    rows = Grids(render(from_near_duplicates(found, name="doc {}".format))).table("Common features")
    assert [int(row[0]) for row in rows] == sorted((run["holders"] for run in found.common), reverse=True)[: reports.ROWS]
    assert all(row[1].startswith("doc ") for row in rows)


# ---- what may be in names and texts


def attacked() -> Report:
    texts: list[str | bytes] = [f"{ATTACK} {text(1, i)}" for i in range(4)]
    texts += [f"{ATTACK} {text(2, i)}".encode("utf-8", "surrogatepass") + b"\xff" for i in range(2)]
    found = result_of(texts, ids=[f"{ATTACK}{i}" for i in range(6)], threshold=0.6)
    assert len(found.kept) == 2
    table = ReportTable(ATTACK, ATTACK, (ATTACK, "n"), ((ATTACK, 1),), 9)
    made = from_near_duplicates(
        found, command=ATTACK, parameters=[(ATTACK, ATTACK)], notes=[ATTACK], tables=[table], made=ATTACK
    )
    figures, parts = (Figure(1, ATTACK),), (*made.parts, Part(ATTACK, 1, ATTACK))
    return dataclasses.replace(made, title=f"title {ATTACK}", subtitle=ATTACK, pairs=ATTACK, figures=figures, parts=parts)


def test_hostile_names_and_texts() -> None:
    source = render(attacked())
    tree = Tree(source)
    tags = {tag for tag, _ in tree.elements}
    assert "img" not in tags
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", source)
    assert [tag for tag, _ in tree.elements].count("script") == 1
    assert {name for _, attributes in tree.elements for name in attributes}.isdisjoint({"onerror", "src", "style"})
    source.encode()


def test_the_page_is_bounded() -> None:
    limit, worst = reports.EXCERPT, "\x00\u202e" * 200_000
    name = "\ud800" * 100_000
    excerpt = Excerpt(truncate(worst, reports.EXCERPT), len(worst))
    members = tuple(Member(name, "near", 0.5, True) for _ in range(reports.MEMBERS))
    cluster = ShownCluster(name, name, 10**9, {"near": 10**9 - 1}, 0.5, members, excerpt, excerpt)
    flat = dataclasses.replace(cluster, view=None)
    numbers = list(map(str, range(9000)))
    pairs = (worst, worst), (" ".join(numbers), "x ".join(numbers)), ("a b " * 9000, "b a " * 9000)
    views = [
        dataclasses.replace(cluster, excerpt=Excerpt(a[:limit], len(a)), view=Excerpt(b[:limit], len(b))) for a, b in pairs
    ]
    table = ReportTable(name, name, (name, name), ((name, name),) * reports.ROWS, 10**6)
    big = Report(
        name, name, (), (Part("near", 10**9, name),), (name,) * 10, np.array([2, 10**9]), np.full(100, 10**9), name, 0.5,
        tuple(views * 3 + [cluster] + [flat] * 40),
        tuple(View(name, each.excerpt, each.members[0], each.view) for each in views * 3), nd.Shingling(width=1),
        (table,) * 6, ((name, name),) * 20, (name, name), name,
    )
    source = render(big)
    assert len(source.encode()) < 5_000_000
    assert source.count("are compared and shown.") >= 20
    assert source.count(" characters …") > 1000
    Tree(source)


# ---- in a browser


PROBE = """
const results = [], table = document.querySelector('table.sortable'), body = table.tBodies[0];
const state = () => [...body.rows].filter(row => row.checkVisibility()).map(row => row.id.slice(8)).join();
results.push(document.title, state());
const buttons = [...table.tHead.querySelectorAll('button')];
for (const i of [0, 0, 1, 3, 3]) { buttons[i].click(); results.push(state()); }
results.push(buttons[3].parentElement.getAttribute('aria-sort'), buttons[0].parentElement.hasAttribute('aria-sort'));
const input = document.querySelector('.filter input');
for (const words of ['', 'D6', 'fox1 d2', 'nowhere']) {
  input.value = words; input.dispatchEvent(new Event('input')); results.push(state());
}
results.push(document.querySelector('.filter output').textContent);
location.hash = '#view-2';
setTimeout(() => {
  results.push(document.getElementById('view-2').open, document.getElementById('view-1').open);
  results.push(getComputedStyle(document.querySelector('.figures')).display);
  document.title = JSON.stringify(results);
}, 50);
"""


@pytest.mark.slow
def test_the_page_runs_without_complaint(result: nd.NearDuplicates, tmp_path: Path) -> None:
    source = render(from_near_duplicates(result))
    assert opened(source, tmp_path) == (["6 of 11 documents duplicate another"], [])
    for other in (("'use strict';", "document.title = 'ran';"), ("* { box", "u { box"), ("<h1>", '<h1 style="color: red">')):
        title, messages = opened(source.replace(*other), tmp_path)  # the policy is what stops scripts and styles of others
        assert title == ["6 of 11 documents duplicate another"]
        assert "Content Security Policy" in "".join(messages)


@pytest.mark.slow
def test_hostile_texts_do_not_run(tmp_path: Path) -> None:
    source = render(attacked())
    title, messages = opened(source, tmp_path)
    assert title[0].startswith("title <script>alert(1)</script>")
    assert messages == []
    unguarded = re.sub(r"<meta http-equiv[^>]*>", "", source)  # nothing is left to the policy alone
    assert opened(unguarded, tmp_path) == (title, [])


@pytest.mark.slow
def test_sorting_and_filtering(result: nd.NearDuplicates, tmp_path: Path) -> None:
    source = re.sub(r"<meta http-equiv[^>]*>", "", render(from_near_duplicates(result)))
    (tmp_path / "page.html").write_text(source.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    dom, messages = browse(tmp_path / "page.html", until="document.title.startsWith('[')")
    assert messages == []
    found = json.loads(html.unescape(re.findall("<title>(.*?)</title>", dom)[0]))
    by_lowest = sorted("123", key=lambda i: (from_near_duplicates(result).clusters[int(i) - 1].lowest, i))
    assert by_lowest == ["2", "3", "1"]
    assert found == [
        "6 of 11 documents duplicate another", "1,2,3", "1,2,3", "3,2,1", "1,2,3", ",".join(reversed(by_lowest)),
        ",".join(by_lowest), "ascending", False, ",".join(by_lowest), "2", "1", "", "0 of 3 clusters", True, False, "grid",
    ]


@pytest.mark.slow
def test_a_picture(result: nd.NearDuplicates, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render(from_near_duplicates(result)), encoding="utf-8")
    with tab(tmp_path) as page:
        page.open((tmp_path / "page.html").as_uri())
        page.screenshot(tmp_path / "page.png", 400, 1200)
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


# ---- the command


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl(ROWS))
    return path


def test_command(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = tmp_path / "out", tmp_path / "r.html"
    assert run("dedup", corpus, "-o", out, "--report", page) == 0
    assert f"The report for a browser is {page}" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_bytes())
    grids = Grids(page.read_text("utf-8"))
    counts = {row[0]: int(row[1]) for row in grids.table("All documents")}
    assert counts == {**summary["counts"]["dropped_by_class"], "kept": 3, "rejected": 0}
    assert dict(grids.table("What decides"))["recipe id"] == summary["recipe"]["id"]  # type: ignore[arg-type]
    assert dict(grids.table("What decides"))["command"].startswith("ndcore dedup ")  # type: ignore[arg-type]
    assert grids.table("Inputs") == [["corpus.jsonl", "6", "0", "3", "3"]]
    first = page.read_bytes()
    assert run("dedup", corpus, "-o", out, "--overwrite", "--report", page, "-q") == 0
    second = page.read_bytes().replace(b" --overwrite", b"").replace(b" -q<", b"<")
    assert second == first


def test_command_with_sketches_and_against(corpus: Path, tmp_path: Path) -> None:
    saved, page = tmp_path / "old.nds", tmp_path / "r.html"
    assert run("sketch", corpus, "-o", saved, "-q") == 0
    assert run("dedup", saved, "-o", tmp_path / "a", "--report", page, "-q") == 0
    assert "The texts are not at hand." in page.read_text("utf-8")
    more = tmp_path / "more.jsonl"
    more.write_bytes(jsonl([{"id": "new", "text": text(2, 1)}, {"id": "other", "text": text(9)}]) + b"broken\n")
    again = ("--report", page, "--overwrite", "-q", "--on-error", "skip")
    assert run("dedup", more, "--against", corpus, "-o", tmp_path / "b", *again) == 0
    grids = Grids(page.read_text("utf-8"))
    assert grids.table("Compared against") == [["corpus.jsonl", "6", "0"]]
    assert grids.table("Rejected")[0][:2] == [str(more), "3"]
    assert grids.table("Members of e") == [["new", "identical", "1.000"]]
    assert run("dedup", more, "--against", saved, "-o", tmp_path / "c", *again) == 0
    assert Grids(page.read_text("utf-8")).table("Compared against") == [["saved sketches", "6"]]


def test_command_refuses(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    for place, reason in (
        (out / "r.html", "lies in the output"), (corpus, "exists already"), (tmp_path / "no" / "r.html", "no directory"),
        (tmp_path, "is a directory"),
    ):
        assert reason in refused(capsys, 2, "dedup", corpus, "-o", out, "--report", place)
    precious = tmp_path / "precious.html"
    precious.write_text("<html>")
    assert "exists already; give another" in refused(capsys, 2, "dedup", corpus, "-o", out, "--report", precious)
    message = refused(capsys, 2, "dedup", corpus, "-o", out, "--report", precious, "--overwrite")
    assert "is not a page of ndcore; --overwrite replaces nothing else" in message
    assert precious.read_text() == "<html>"
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    assert "lies in the input" in refused(capsys, 2, "dedup", folder, "-o", out, "--report", folder / "r.html")
    assert not out.exists()
