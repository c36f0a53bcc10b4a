"""Merging: the pages of the other store in their order, as if decided on now; new keys bring their history."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from stores import TEXT, Both, opened, settings

import ndcore as nd

TEXTS = st.builds(lambda words, end: " ".join(words) + end, st.lists(st.sampled_from("abcdAB"), max_size=7),
                  st.sampled_from(["", "!"]))
PAGES = st.lists(st.tuples(st.integers(0, 6).map(lambda i: f"http://h{i % 2}/{i}"), TEXTS, st.integers(0, 50)), max_size=10)


def by_definition(here, there):
    """Merge references: decide on each live text, then on the last text; new keys get the whole history."""
    for key, page in there._pages.items():
        new = key not in here._pages
        count = len(page.versions)
        dates = [version.date for version in page.versions]
        seen = next((i for i in range(count, 0, -1) if page.versions[i - 1].change not in ("unchanged", "lexical")), 1)
        here.decide(key, page.live, dates[seen - 1])
        for i in range(seen, count):
            here.decide(key, page.live if i < count - 1 else page.last, dates[i])
        if new:
            here._pages[key].versions[:] = page.versions


def test_pages_that_are_gone_are_gone_after_a_merge(tmp_path):
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings()) as b:
        a.decide("both", TEXT, 1)
        for key in ("both", "other", "back"):
            b.decide(key, TEXT, 2)
            b.mark_gone(key, 3)
        b.decide("back", TEXT, 4)
        a.merge(b)
        assert a.locate("both") == "back"
        assert [version.change for version in a.history("other")] == [None, "gone"]
        assert [version.change for version in a.history("both")] == [None, "unchanged", "gone"]
        assert a.check() == []


def test_each_time_that_a_page_was_gone_is_brought_along(tmp_path):
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings()) as b:
        for date, text in enumerate([TEXT, None, TEXT, None, TEXT.upper(), "else", None, "else"], 1):
            for key in ("x", "y"):
                if text is None:
                    b.mark_gone(key, date)
                else:
                    b.decide(key, text, date)
        changes = [None, "gone", "unchanged", "gone", "lexical", "other", "gone", "unchanged"]
        assert [version.change for version in b.history("x")] == changes
        assert a.merge(b) == 2
        for key in ("x", "y"):
            assert a.history(key) == b.history(key) and a.text(key) == "else" and a.locate(key) == b.locate(key)
        assert a.check() == []


@hypothesis_settings(max_examples=12)
@given(here=PAGES, there=PAGES, evidence=st.sampled_from(["text", "shingles"]), hosts=st.booleans(), compact=st.booleans())
def test_clusters_are_the_references(here, there, evidence, hosts, compact):
    place = Path(tempfile.mkdtemp())
    try:
        a = Both(place / "a", evidence=evidence, hosts=hosts)
        b = Both(place / "b", evidence=evidence, hosts=hosts)
        for both, pages in ((a, here), (b, there)):
            for page in pages:
                both.decide(*page)
        if compact:
            b.compact()
        assert a.store.merge(b.store) == len(b.store)
        by_definition(a.reference, b.reference)
        assert list(a.store.clusters()) == list(a.reference.clusters().values())
        known = {key for key, _, _ in here}
        for key, page in a.reference._pages.items():
            if key not in known:
                assert ([(v.date / 1e6, v.change, v.resemblance) for v in a.store.history(key)]
                        == [(v.date, v.change, v.resemblance) for v in page.versions])
            assert a.store.history(key)[-1].date / 1e6 == page.versions[-1].date
            if evidence == "text":
                assert a.store.text(key) == page.last
        b.check()
        assert a.store.check() == []
        a.reopen()
        assert list(a.store.clusters()) == list(a.reference.clusters().values())
        a.store.close()
        b.store.close()
    finally:
        shutil.rmtree(place)


def test_histories_come_along(tmp_path):
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings(threshold=0.6)) as b:
        a.decide("old", TEXT, 1)
        for i, text in enumerate((TEXT, TEXT + " x", TEXT + " x", TEXT + " X", "else")):
            b.decide("new", text, 10 + i)
        b.decide("old", TEXT.upper(), 0)
        b.decide("gone", TEXT, 5)
        b.remove("gone")
        assert a.merge(b) == 2
        assert [v.change for v in a.history("new")] == [None, "near", "unchanged", "lexical", "other"]
        assert a.history("new") == b.history("new") and a.text("new") == "else"
        assert [v.change for v in a.history("old")] == [None, "lexical"] and "gone" not in a
        a.decide("new", "else!", 20)
        assert [v.change for v in a.history("new")][-2:] == ["other", "lexical"]
    with opened(tmp_path / "a") as a:
        assert len(a.history("new")) == 6


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_all_evidence(tmp_path, evidence):
    chosen = settings(evidence=evidence)
    with opened(tmp_path / "a", **chosen) as a, opened(tmp_path / "b", **chosen) as b:
        a.decide("a", TEXT, 1)
        b.decide("b", TEXT + " more", 2)
        b.decide(b"c", TEXT.encode(), 3)
    with opened(tmp_path / "a") as a, opened(tmp_path / "b", read_only=True) as b:
        assert a.merge(b) == 2
        assert list(a.clusters()) == [["a", "b", b"c"]]


def test_batches(tmp_path, monkeypatch):
    from ndcore.store import store as stores

    monkeypatch.setattr(stores, "READ", 3)
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings()) as b:
        list(b.decide_many((i, f"{TEXT} {i}") for i in range(10)))
        assert a.merge(b) == 10 and a.cluster(0) == list(range(10))


def test_what_is_refused(tmp_path):
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings(width=3)) as b:
        with pytest.raises(ValueError, match="the store has shingling="):
            a.merge(b)
        with pytest.raises(ValueError, match="with itself"):
            a.merge(a)
        with pytest.raises(TypeError, match=r"open it with Store.open\(path, read_only=True\)"):
            a.merge(str(b.path))
    with nd.Store.open(tmp_path / "b" / "store", read_only=True) as b, opened(tmp_path / "a", read_only=True) as a, \
            pytest.raises(ValueError, match=r"read_only=True|shingling"):
        a.merge(b)
