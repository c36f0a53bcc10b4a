"""What notebooks show of results: tables of HTML that are escaped, small, and without colours of their own."""

from __future__ import annotations

import inspect
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore.notebook import FACTS, LONG, ROWS, NotebookTable, show_result
from ndcore.pairs.assignments import Assignments

ELEMENTS = {"div", "table", "caption", "tr", "th", "td"}
HOSTILE = ["<script>alert(1)</script>", "</td><img src=x onerror=alert(1)>", "\u202eevil\x1b[2J", "&amp;" * 1000, b"<b>\xff",
           1 << 9999]
ROSE = "a rose is a rose is a rose is a rose and so on"
TEXTS = [ROSE, ROSE + "!", ROSE + " now", "something else entirely that goes on and on", "<script>alert(1)</script>"]
NO_RESULTS = {  # of which a notebook shows the repr: what makes results, clients, errors, and rows within other results
    "Shingling", "MinHasher", "BottomSketcher", "ModSketcher", "SimHasher", "Winnower", "WeightedMinHasher",
    "BucketSketcher", "IMatcher", "DatasketchHasher", "PackageSimHasher", "ScanossWinnower", "Rabin", "StoreClient",
    "ServiceClient", "AsyncServiceClient", "ShardedStore", "Resampled", "CorruptFile", "RecipeMismatch", "Passage",
    "SimilarText", "LexedProgram", "TablePlan",
}


class Cells(HTMLParser):
    """The text of all cells, row by row; refuses other elements, attributes, and tags that do not match."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(shown)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS and not attrs, (tag, attrs)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """A result of every kind, of texts and names that nobody trusts."""
    folder = tmp_path_factory.mktemp("notebook")
    names = [f"<script>{i}</script>\u202e" for i in range(len(TEXTS))]
    found = nd.near_duplicates(TEXTS, ids=names)
    index = nd.Index(0.5)
    index.add_many(zip(names, TEXTS, strict=True))
    signatures = nd.MinHasher(16).sketch_many(TEXTS)
    signatures.ids = names
    winnower = nd.Winnower(2, nd.Shingling(width=2))
    hamming = nd.HammingIndex([1, 2, 3])
    collection = nd.Collection.build(folder / "<b>collection", TEXTS, names)
    with nd.Store.open(folder / "<b>store") as store:
        store.decide("<script>", ROSE)
        verdict = store.decide("</td>", ROSE)
        version = store.history("</td>")[0]
        keys = store.collapse(["</td>", "<script>", "<b>new"])
    return [
        found, found.pairs, found.explain(0, 1), found.filter, found.recipe, nd.collapse(TEXTS), keys, signatures,
        nd.collapse_hits([{"<b>": text} for text in TEXTS], text="<b>"),
        nd.b_bit(signatures), nd.BucketSketcher().sketch_many(TEXTS), nd.BottomSketcher(5).sketch_many(TEXTS),
        nd.SimHasher().sketch_many(TEXTS), winnower.sketch_many(TEXTS),
        nd.meta_sketches(nd.BottomSketcher(50).sketch_many(TEXTS)), signatures.compare(), signatures.compare(0, 1),
        signatures.compare([], []), nd.Idf.learn(TEXTS), nd.passages(TEXTS[0], TEXTS[2]),
        nd.cluster(TEXTS, names), collection, nd.repeats(TEXTS, 3), nd.contamination(TEXTS[:2], TEXTS, 3),
        nd.field_contamination([{"<b>q": TEXTS[0], "a": TEXTS[1]}], TEXTS, ["<b>q", "a"], 3), hamming, hamming.pairs(),
        hamming.query_many([1]), index, store, verdict, version, nd.rank_pairs(TEXTS, winnower), nd.ALTAVISTA,
        nd.near_duplicates([]), nd.cluster([]), nd.Index(), nd.repeats([], 3), nd.HammingIndex([]), signatures[:0],
    ]


def test_every_result_is_well_formed_and_escaped(results: list[Any]) -> None:
    for result in results:
        shown = result._repr_html_()
        cells = Cells(shown)
        assert shown.startswith("<div>") and len(shown) < 4000, result
        assert all(text.isprintable() for text in cells.texts), result
        assert "style" not in shown and "color" not in shown  # as the page around it, light or dark


def test_every_public_result_is_shown(results: list[Any]) -> None:
    """A new public class shows itself in notebooks, or is listed among the ones that do not."""
    classes = {name for name in nd.__all__ if inspect.isclass(getattr(nd, name))}
    showing = {name for name in classes if hasattr(getattr(nd, name), "_repr_html_")}
    assert classes - showing == NO_RESULTS
    assert {getattr(nd, name) for name in showing} <= {type(result) for result in results}


def test_facts_and_first_rows() -> None:
    found = nd.near_duplicates(TEXTS, ids=["a", "b", "c", "d", "e"])
    assert Cells(found._repr_html_()).rows == [
        ["class", "documents"], ["kept", "3"], ["lexical", "1"], ["near", "1"], ["representative", "duplicates"], ["a", "2"]]
    index = nd.Index(0.5)
    index.add("rose", ROSE)
    assert Cells(index._repr_html_()).rows == [["key", "shingles"], ["rose", "6"]]
    rows = Cells(nd.hamming_pairs([0, 1, 3])._repr_html_()).rows
    assert rows == [["a", "b", "distance"], ["0", "1", "1"], ["0", "2", "2"], ["1", "2", "1"]]
    once = nd.BottomSketcher().sketch_many(["a b c d e f", "a b c d e f g h"]).compare(0, 1)
    assert Cells(once._repr_html_()).rows[1] == ["", "0.5", "0.5", "0.5", "1"]
    spots = Cells(nd.MinHasher(4).sketch_many(TEXTS).compare()._repr_html_()).rows
    assert [row[0] for row in spots[1:]] == ["0, 0", "0, 1", "0, 2", "0, 3", "0, 4", "1, 0", "1, 1", "1, 2", "1, 3", "1, 4"]


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """Notebooks are shared: a store's key, a secret seed and secret polynomials stay out of them."""
    shingling = nd.Shingling.random(7)
    shown = nd.MinHasher(4, seed=123456789, shingling=shingling).sketch_many(TEXTS)._repr_html_()
    assert "123456789" not in shown and hex(shingling.polynomial)[2:] not in shown
    with nd.Store.open(tmp_path / "store") as store:
        assert store.settings.as_dict()["secret"] not in store._repr_html_()


class ManyDocuments(Assignments):
    """A result of n documents, of which each second one is near the first."""

    def __init__(self, n: int) -> None:
        self.labels, self.classes, self.ids = np.arange(n) // 2 * 2, np.tile(["kept", "near"], n // 2), None


def test_a_million_documents_take_no_more_room() -> None:
    million = 1_000_000
    shown = ManyDocuments(million)._repr_html_()
    cells = Cells(shown)
    assert len(shown) < 2000 and f"the first {ROWS} of 500,000" in "".join(cells.texts)
    sketches = nd.MinHasher(1).sketch_hashes(np.arange(million, dtype=np.uint64), np.arange(million + 1))
    assert len(sketches._repr_html_()) < 2000 and len(Cells(sketches._repr_html_()).rows) < 20
    assert len(nd.HammingIndex(np.arange(million, dtype=np.uint64))._repr_html_()) < 2000


def test_hostile_values() -> None:
    shown = show_result("<script>", NotebookTable("<b>" * 1000, HOSTILE[:2] + ["n"] * 4, [HOSTILE, HOSTILE[::-1]]))
    rows = Cells(shown).rows
    assert rows[1][0] == "<script>alert(1)</script>" and rows[1][2] == "\\u202eevil\\x1b[2J" and rows[1][4] == "<b>\\xff"
    assert all(len(cell) <= LONG for row in rows for cell in row)
    assert len(shown) < 6000


def test_rows_are_asked_for_as_far_as_they_are_shown() -> None:
    def endless() -> Any:
        number = 0
        while True:
            assert number <= FACTS
            yield (number, np.int64(1_000_000), True, None, 1 / 3)
            number += 1

    shown = show_result("", NotebookTable("All", tuple("abcde"), endless(), 10**9))
    assert len(Cells(shown).rows) == ROWS + 1 and "All: the first 10 of 1,000,000,000" in shown
    assert Cells(shown).rows[1] == ["0", "1,000,000", "yes", "", "0.333333"]
    assert "the first 25<" in show_result("", NotebookTable("", tuple("abcde"), endless()))
    assert show_result("<nothing>", NotebookTable("", ("a",), [])) == "<div>nothing</div>"
