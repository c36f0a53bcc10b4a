"""The report of a clustering: what it shows is what brute force over the texts and the pairs gives."""

from __future__ import annotations

import html
import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import ATTACK, RUN_THIS, Grids, Tree, browse, opened
from commands import text
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.collection.cluster import cluster
from ndcore.collection.clustering import Clustering
from ndcore.reference import sketches as reference
from ndcore.report import collection
from ndcore.report.collection import from_clustering, shingles_of_values
from ndcore.report.model import Excerpt, Member, count_hundredths
from ndcore.report.page import render
from ndcore.text.corpus import TextCorpus

WIDTH = nd.Shingling(width=3)
WHOLE = nd.ModSketcher(1, shingling=WIDTH)


def clustered(texts: list[Any], **options: Any) -> Clustering:
    """Cluster by all shingles, so that resemblances are exact."""
    return cluster(texts, **{"sketcher": WHOLE, "threads": 1, **options})


def page_of(texts: list[Any], found: Clustering, **options: Any) -> Grids:
    return Grids(render(from_clustering(found, corpora=[TextCorpus(texts)], **options)))


def excerpt_of(number: int) -> str:
    return " ".join(text(number).split()[:8])


TEXTS = [
    text(1), text(2), text(1), text(1).upper(), text(2, 1), text(3), text(2, 2), "", text(4), text(1), text(4, 1), "",
    text(5), text(5), excerpt_of(2), excerpt_of(4), text(6),
]


@pytest.fixture(scope="module")
def found() -> Clustering:
    return clustered(TEXTS, ids=[f"d{i:02}" for i in range(len(TEXTS))])


# ---- what is counted


def test_of_a_clustering(found: Clustering) -> None:
    made = from_clustering(found, corpora=[TextCorpus(TEXTS)], rejected=2)
    assert [(part.name, part.documents) for part in made.parts] == [
        ("representative", 9), ("identical", 4), ("lexical", 1), ("shingle", 0), ("near", 3), ("rejected", 2)
    ]
    assert sum(part.documents for part in made.parts) == len(TEXTS) + 2
    assert {figure.label: figure.number for figure in made.figures} == {
        "read": 19, "clusters of more than one": 5, "documents in them": 13, "clusters of identical documents only": 2,
        "alone": 4, "without a sample: too short": 2, "rejected": 2,
    }
    assert sorted(made.sizes.tolist()) == [2, 2, 2, 3, 4]
    assert [(cluster.name, cluster.documents) for cluster in made.clusters] == [
        ("d00", 4), ("d01", 3), ("d07", 2), ("d08", 2), ("d12", 2)
    ]
    assert made.clusters[1].members[0] == Member("d06", "near", nd.resemblance(text(2), text(2, 2), WIDTH), False)
    assert made.clusters[1].view == Excerpt(text(2, 2), len(text(2, 2)))
    assert made.clusters[2].view is made.clusters[4].view is None
    assert made.recipe == (WHOLE.recipe.id, WHOLE.recipe.to_json())
    assert made.shingling == WIDTH


MANY = [
    *(text(j, i) for j in range(3) for i in range(5)), *(text(j)[: 40 * i] for j in range(3) for i in range(1, 5)),
    "a b c d e f g h i j", "a b c d e f",  # resemblance 1/2
    "k l m n o p", "k l m n q r",  # containment 1/2, both ways
]


@pytest.mark.parametrize("policy", ["resemblance", "containment"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.9])
def test_pairs_are_counted(policy: Any, threshold: float) -> None:
    texts, found = MANY, clustered(MANY, policy=policy, threshold=threshold)
    measure, rows = Counter[int](), []
    for a, b in itertools.combinations(range(len(texts)), 2):
        resemblance = nd.resemblance(texts[a], texts[b], WIDTH)
        contained = [nd.containment(texts[a], texts[b], WIDTH), nd.containment(texts[b], texts[a], WIDTH)]
        value = resemblance if policy == "resemblance" else max(contained)
        if value >= threshold and resemblance < 1:
            measure[min(int(value * 100 + 1e-9), 99)] += 1
        for inner, outer, containment in ((a, b, contained[0]), (b, a, contained[1])):
            if containment >= 0.8 and resemblance < 1:
                rows.append((inner, outer, containment, resemblance))
    made = from_clustering(found)
    assert {i: n for i, n in enumerate(made.resemblances.tolist()) if n} == measure
    [table] = [table for table in made.tables if table.title == "Contained documents"]
    apart = sorted(row for row in rows if row[3] < threshold)
    assert table.total == len(apart) > 0
    assert table.text.startswith(f"{len(rows)} containments of")
    assert f" In {len(apart)} of" in table.text
    sizes = [len(set(WIDTH.shingles(each))) for each in texts]
    assert list(table.rows) == [
        (str(inner), sizes[inner], str(outer), sizes[outer], containment, resemblance)
        for inner, outer, containment, resemblance in apart[: collection.LISTED]
    ]


def test_the_first_pairs_of_all_parts_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check pairs in parts by their first document; either may be the contained one."""
    found = clustered(MANY, threshold=0.9)
    whole = from_clustering(found).tables[1]
    assert any(int(row[0]) > int(row[2]) for row in whole.rows)  # type: ignore[arg-type]
    [pairs] = list(collection.counted_pairs(found.shelf, len(found)))
    every = [pairs.where(np.arange(len(pairs.a)) == i) for i in reversed(range(len(pairs.a)))]
    for listed in (1, 2, 5):
        monkeypatch.setattr(collection, "LISTED", listed)
        for parts in ([pairs], every):
            monkeypatch.setattr(collection, "counted_pairs", lambda shelf, n, parts=parts: iter(parts))
            assert from_clustering(found).tables[1] == whole._replace(rows=whole.rows[:listed])


@given(st.lists(st.floats(0, 1), max_size=30), st.lists(st.floats(0, 1), max_size=30))
def test_hundredths_add_up(one: list[float], other: list[float]) -> None:
    parts = [count_hundredths(np.array(values)) for values in (one, other, one + other)]
    assert (parts[0] + parts[1] == parts[2]).all()
    assert parts[2].shape == (100,)
    assert parts[2].sum() == len(one + other)


def test_names_are_asked_for_what_is_shown_only() -> None:
    texts = [text(i // 3) for i in range(3000)] + [text(5000)] * 3000
    asked: list[int] = []

    def name(position: int) -> str:
        asked.append(position)
        return str(position)

    found = clustered(texts)
    found.__dict__.pop("classes", None)
    from_clustering(found, corpora=[TextCorpus(texts)], name=name)
    assert len(asked) < 300
    assert "classes" not in vars(found)  # a str for every document


# ---- common shingles


UNITS = [
    nd.Shingling(width=2), nd.Shingling("char", width=4), nd.Shingling("byte", width=3), nd.Shingling("line", width=1),
    nd.Shingling(width=2, labelled=True), nd.Shingling(width=5, short="whole"), nd.Shingling("grapheme", width=2),
]


@given(st.text(alphabet="aé B\n人", max_size=40), st.sampled_from(UNITS), st.integers(0, 2**64 - 1))
def test_shingles_of_values(document: str, shingling: nd.Shingling, seed: int) -> None:
    shingles = [each[:-1] if shingling.labelled else each for each in shingling.shingles(document)]
    values = reference.permute(shingling.fingerprints(document).tolist(), seed)
    strange = next(z for z in itertools.count(1) if z not in values)
    found = shingles_of_values(document, [*values, strange], shingling, seed)
    assert found == dict(zip(values, shingles, strict=True))


def test_common_shingles_in_words() -> None:
    stock = "All rights are reserved by us."
    texts = [f"{text(i, i % 2)} {stock if i % 2 else ''} {text(7)[:40] if i > 3 else ''}" for i in range(12)] * 2
    texts.append(text(0, 1))
    found = clustered(texts, max_holders=5)
    holders = Counter(shingle for each in texts[:12] for shingle in set(WIDTH.shingles(each)))
    firsts = {shingle: next(i for i, each in enumerate(texts) if shingle in WIDTH.shingles(each)) for shingle in holders}
    common = {" ".join(shingle): count for shingle, count in holders.items() if count > 5}
    assert set(common.values()) == {6, 8}
    grids = page_of(texts, found)
    rows = grids.table("Common shingles")
    assert {shingle: int(count) for count, shingle, _ in rows} == common
    assert [int(row[0]) for row in rows] == sorted(common.values(), reverse=True)
    assert all(row[2] == str(firsts[tuple(row[1].split())]) for row in rows)
    told = f"{len(common)} shingles of the sketches are held by more than 5 documents each, {sum(common.values())} times"
    assert told in "".join(grids.text)
    for a, b, overlaps in collection.counted_pairs(found.shelf, len(found)):  # common ones count in them too
        shared = [len({*WIDTH.shingles(texts[i])} & {*WIDTH.shingles(texts[j])}) for i, j in zip(a, b, strict=True)]
        assert overlaps.common.tolist() == shared
    without = Grids(render(from_clustering(found))).table("Common shingles")
    assert without == [[count, example] for count, _, example in rows]


def test_adaptive_samples_have_the_values_of_shingles() -> None:
    stock = " ".join(f"stock{i}" for i in range(100))
    texts = [f"{stock} {' '.join(f'w{j}x{i}' for i in range(50 * (j + 1)))}" for j in range(10)]
    found = cluster(texts, sketcher=nd.ModSketcher("adaptive", seed=9, shingling=WIDTH), max_holders=4, threads=1)
    rows = page_of(texts, found).table("Common shingles")
    assert len(rows) == min(len(found.common.value), collection.LISTED) > 5
    assert all(len(row[1].split()) == 3 and row[1] in stock for row in rows)


def test_values_that_the_text_lacks_have_no_words() -> None:
    texts = [f"{text(i)} all rights are reserved" for i in range(6)]
    found = clustered(texts, max_holders=3)
    changed = [*texts]
    changed[0] = "all rights are other"
    rows = page_of(changed, found).table("Common shingles")
    assert Counter(row[1] for row in rows) == {"all rights are": 1, "–": 1}


def test_no_shingle_is_common(found: Clustering) -> None:
    source = render(from_clustering(found))
    assert "No shingles in the sketches are held by more than 1,000 documents" in source


# ---- the page


def test_numbers_of_the_page(found: Clustering) -> None:
    page = page_of(TEXTS, found, parameters=[("memory", "1 GB")], command="ndcore cluster x", rejected=1)
    outcome = {row[0]: int(row[1]) for row in page.table("All documents by what became of them")}
    assert outcome == {"representative": 9, "identical": 4, "lexical": 1, "shingle": 0, "near": 3, "rejected": 1}
    assert page.table("Clusters by their number") == [["2 documents", "3"], ["3 to 4 documents", "2"]]
    assert sum(int(row[1]) for row in page.table("Accepted pairs by resemblance")) == np.count_nonzero(
        found.pairs.overlaps.resemblance >= 0.5
    )
    made = dict(page.table("What decides the result"))  # type: ignore[arg-type]
    assert (made["method"], made["threshold"], made["cluster"], made["max_holders"]) == ("shingles", "0.5", "star", "1000")
    assert (made["recipe id"], made["memory"], made["command"]) == (WHOLE.recipe.id, "1 GB", "ndcore cluster x")
    assert not {"guard", "run"} & set(made)


def test_containment(found: Clustering) -> None:
    page = page_of(TEXTS, found.rethreshold(policy="containment"))
    assert ["contained", "2"] in [row[:2] for row in page.table("All documents")]
    assert page.table("Members of d01")[0][:2] == ["d14", "contained"]
    assert sum(int(row[1]) for row in page.table("Accepted pairs by containment")) == np.count_nonzero(
        found.pairs.overlaps.contained >= 0.5
    )
    assert "Clusters at containment 0.5 or more" in "".join(page.text)


def test_only_resemblances_are_near_a_threshold(found: Clustering) -> None:
    """Show pairs near the threshold where it is one of resemblance, which the page shows of a pair."""
    by = {policy: from_clustering(found.rethreshold(policy=policy), corpora=[TextCorpus(TEXTS)]).nearest
          for policy in ("resemblance", "containment")}
    assert [(view.name, view.member.name) for view in by["resemblance"]] == [("d01", "d04")]
    assert by["containment"] == ()


def test_estimates_are_marked(found: Clustering) -> None:
    assert "≈ " not in render(from_clustering(found))
    for sketcher in (nd.ModSketcher(2, shingling=WIDTH), nd.ModSketcher("adaptive", shingling=WIDTH)):
        longer = [" ".join(text(i) for i in range(20)), " ".join(text(i, i == 3) for i in range(20))]
        estimated = cluster(longer, sketcher=sketcher, threads=1)
        assert "≈ " in render(from_clustering(estimated))


def test_chains() -> None:
    texts = [text(1, changes) for changes in (0, 2, 4)]
    chained = clustered(texts, threshold=0.6, cluster="components")
    lowest = nd.resemblance(texts[0], texts[2], WIDTH)
    assert lowest < 0.6
    page = page_of(texts, chained)
    bottleneck = min(nd.resemblance(*texts[:2], WIDTH), nd.resemblance(*texts[1:], WIDTH))
    row = ["0", "3", "1", f"{lowest:.4f}"[:5], f"{bottleneck:.4f}"[:5], "2"]
    assert page.table("Chains") == [row]
    assert "or linked by others" in page.table("All documents")[4][3]
    for guard, became in ((0.6, "stars"), (0.3, "one cluster")):
        assert page_of(texts, chained.rethreshold(guard=guard)).table("Chains") == [[*row, became]]
    more = clustered([*texts, *(text(2, changes) for changes in (0, 2, 4, 5))], threshold=0.6, cluster="components")
    assert [row[:3] for row in Grids(render(from_clustering(more))).table("Chains")] == [["3", "4", "2"], ["0", "3", "1"]]
    assert not [table for table in from_clustering(clustered(texts, threshold=0.6)).tables if table.title == "Chains"]


@pytest.mark.parametrize("method", ["super-shingles", "features"])
def test_other_methods(method: Any) -> None:
    texts = [text(1, i) for i in range(6)] + [text(1)]
    sketchers = {"super-shingles": nd.BottomSketcher(50, shingling=WIDTH), "features": nd.MinHasher(84, shingling=WIDTH)}
    sketches = sketchers[method].sketch_many(texts)
    found = cluster(sketches, method=method, run=3, max_holders=2, threads=1)
    made = from_clustering(found, corpora=[TextCorpus(texts)])
    assert [table.title for table in made.tables] == [f"Common {method}"]
    assert made.tables[0].columns == ("Holders", "One of them")
    assert made.tables[0].rows
    page = Grids(render(made))
    assert f"Pairs were looked for by {method}" in "".join(page.text)
    assert [row[:2] for row in page.table("All documents")][3] == ["shingle", "1"]


def test_without_texts(found: Clustering) -> None:
    source = render(from_clustering(found))
    assert "The texts are not at hand: nothing of them can be shown." in source
    assert "nd-pair" not in source.partition("<body>")[2].partition("<script>")[0]
    sketched = Grids(render(from_clustering(cluster(WHOLE.sketch_many(TEXTS)))))
    assert sketched.table("Accepted pairs") == Grids(source).table("Accepted pairs")


def test_several_corpora(found: Clustering) -> None:
    parts = [TextCorpus(TEXTS[:5]), None, TextCorpus(TEXTS[8:])]
    made = from_clustering(found, corpora=parts, starts=[0, 5, 8])
    whole = from_clustering(found, corpora=[TextCorpus(TEXTS)])
    for cluster_, same in zip(made.clusters, whole.clusters, strict=True):
        assert cluster_.excerpt == (None if cluster_.name == "d07" else same.excerpt)


def test_callables_are_not_known_from_sketches() -> None:
    unit = nd.Shingling(unit=str.split, width=2)  # type: ignore[arg-type]
    texts = ["a b c d e", "a b c d f"] * 3
    found = clustered(texts, sketcher=nd.ModSketcher(1, shingling=unit), max_holders=1, tell_apart=False)
    source = render(from_clustering(found, corpora=[TextCorpus(texts)]))
    assert "passages cannot be shown" in source
    assert Grids(source).table("Common shingles")[0] == ["2", "0"]


@pytest.mark.parametrize("texts", [[], [""], ["", "..."], [text(1), text(2)]])
def test_nothing_found(texts: list[str]) -> None:
    source = render(from_clustering(clustered(texts), corpora=[TextCorpus(texts)]))
    Tree(source)
    documents = "document is" if len(texts) == 1 else "documents are"
    assert f"0 of {len(texts)} {documents} in clusters of more than one" in source
    assert "There are none: no document stands for another." in source


def test_equal_clusterings_give_equal_pages(found: Clustering) -> None:
    again = clustered(TEXTS, ids=found.ids, threads=2, memory_limit=1)
    one, other = (render(from_clustering(each, corpora=[TextCorpus(TEXTS)])) for each in (found, again))
    assert one == other


# ---- what may be in names and texts, and in a browser


def attacked() -> str:
    texts: list[str | bytes] = [f"{ATTACK} {text(1, i)}" for i in range(4)]
    texts += [f"{ATTACK} {text(2, i)}".encode("utf-8", "surrogatepass") + b"\xff" for i in range(4)]
    texts += [f"{ATTACK}"]
    shingling = nd.Shingling("char", width=40)
    found = clustered(
        texts, ids=[f"{ATTACK}{i}" for i in range(9)], sketcher=nd.ModSketcher(1, shingling=shingling), max_holders=8,
        cluster="components", threshold=0.1,
    )
    made = from_clustering(
        found, corpora=[TextCorpus(texts)], command=ATTACK, parameters=[(ATTACK, ATTACK)], notes=[ATTACK], made=ATTACK
    )
    assert any("onerror" in str(row[1]) for row in made.tables[0].rows)
    return render(made)


def test_hostile_names_and_texts() -> None:
    source = attacked()
    tags = [tag for tag, _ in Tree(source).elements]
    assert "img" not in tags
    assert tags.count("script") == 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", source)
    assert len(source.encode()) < 5_000_000


@pytest.mark.slow
def test_hostile_texts_do_not_run(tmp_path: Path) -> None:
    source = attacked()
    title, messages = opened(source, tmp_path)
    assert title == ["8 of 9 documents are in clusters of more than one"]
    assert messages == []
    unguarded = re.sub(r"<meta http-equiv[^>]*>", "", source)  # nothing is left to the policy alone
    assert opened(unguarded, tmp_path) == (title, [])
    ran = unguarded.replace("</main>", f"<script>{RUN_THIS}</script></main>")
    assert opened(ran, tmp_path)[0] == ["ran"]


PROBE = """
const shown = [...document.querySelectorAll('section')].map(section => section.querySelector('h2').textContent);
const wide = document.documentElement.scrollWidth <= innerWidth;
document.title = [...shown, wide, document.querySelectorAll('path.mark').length].join('|');
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1200])
def test_in_a_browser(found: Clustering, tmp_path: Path, width: int) -> None:
    source = render(from_clustering(found, corpora=[TextCorpus(TEXTS)]))
    assert opened(source, tmp_path) == (["13 of 17 documents are in clusters of more than one"], [])
    probed = re.sub(r"<meta http-equiv[^>]*>", "", source).replace("</body>", f"<script>{PROBE}</script></body>")
    (tmp_path / "page.html").write_text(probed, encoding="utf-8")
    dom, messages = browse(tmp_path / "page.html", width)
    assert messages == []
    assert html.unescape(re.findall("<title>(.*?)</title>", dom)[0]).split("|") == [
        "Outcome", "Sizes and resemblances", "Clusters", "Side by side", "Common shingles", "Contained documents",
        "How this was made", "true", "1",
    ]
