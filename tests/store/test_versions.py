"""Where a text is now, and how pages changed."""

from __future__ import annotations

import numpy as np
import pytest
from stores import TEXT, Both, opened, settings

from ndcore.progress import resolve
from ndcore.storage.container import CorruptFile
from ndcore.store.damage import salvage
from ndcore.store.records import VALID, Sighting
from ndcore.store.verdict import Version
from ndcore.store.versions import chain_of, pages_of


def test_a_text_that_moved_is_located(tmp_path):
    both = Both(tmp_path)
    for key, text, date in (("old", TEXT, 1), ("new", TEXT + " moved", 5), ("old", "gone", 9), ("mirror", TEXT, 3)):
        both.decide(key, text, date)
    assert both.store.locate("mirror") == "new" and both.store.locate("old") == "old"
    both.check()
    both.store.close()


@pytest.mark.parametrize("evidence", ["text", "shingles"])
def test_a_page_that_is_gone(tmp_path, evidence):
    """It is located no more, is compared with as before, and comes back with another sighting."""
    both = Both(tmp_path, evidence=evidence)
    for key, date in (("a", 1), ("b", 2), ("c", 3)):
        both.decide(key, TEXT, date)
    for key, located in (("c", "b"), ("c", "b"), ("b", "a"), ("a", None)):
        both.mark_gone(key, 9)
        both.check()
        if located is None:
            with pytest.raises(LookupError, match="all pages with the content of 'a' are gone"):
                both.store.locate("a")
        else:
            assert both.store.locate("a") == located
    assert [version.change for version in both.store.history("c")] == [None, "gone"]
    both.decide("d", TEXT + " moved", 4)
    assert both.store.locate("a") == "d" and both.store.decide("e", TEXT, 0).of == "a"
    both.store.remove("e")
    for _ in range(2):
        both.reopen()
        both.check()
        both.compact()
        both.check()
    both.decide("c", TEXT + "!", 10)
    assert both.store.locate("a") == "c" and [v.change for v in both.store.history("c")] == [None, "gone", "lexical"]
    both.mark_gone("b", 11)
    both.decide("b", "else", 12)  # a new document of the key
    both.check()
    assert both.store.check() == []
    both.store.close()


def test_dates_of_pages_that_are_gone(tmp_path):
    """A tombstone is no sighting: the page expires as before."""
    both = Both(tmp_path)
    both.decide("a", TEXT, 1)
    both.mark_gone("a", 50)
    both.expire(10)
    both.check()
    assert len(both.store) == 0
    both.mark_gone("a", 60)
    with pytest.raises(TypeError, match="the date is"):
        both.store.mark_gone("a", [])  # type: ignore[arg-type]
    both.store.close()


def test_pages_that_are_gone_are_gone_after_a_repair(tmp_path):
    with opened(tmp_path / "a", **settings()) as a, opened(tmp_path / "b", **settings()) as b:
        for date, key in enumerate(("old", "new")):
            a.decide(key, TEXT, date)
        a.mark_gone("new", 7)
        assert salvage(a._directory.state, b._directory.state, resolve(False)).problems == []
        assert b.locate("old") == "old" and b.history("new") == a.history("new")


def test_a_tombstone_with_a_text_is_damage(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT, 1)
        forged = Sighting(0, 0, VALID, Version(1, "gone", None), bytes(16), 0, b"text")
        with pytest.raises(CorruptFile, match="a page that is gone, with a text"):
            store._directory.state.check(forged, 1000)


def test_changes_are_real_or_lexical(tmp_path):
    both = Both(tmp_path)
    for date, text in enumerate([TEXT, TEXT + ".", TEXT + " more", "else", "else", "", ""]):
        both.decide("a", text, 100 - date)  # late dates are stored as they are
        both.check()
    assert [version.real for version in both.store.history("a")] == [False, False, True, True, False, True, False]
    both.store.close()


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_a_page_with_its_versions(tmp_path, evidence):
    chosen = settings(evidence=evidence, scope="host")
    key = "http://a.example/x"
    with opened(tmp_path / "a", **chosen) as a, opened(tmp_path / "b", **chosen) as b:
        for i, text in enumerate((TEXT, TEXT + " x", TEXT.upper() + " X", TEXT.upper() + " X")):
            a.decide(key, text, i)
        state, preparer = a._directory.state, b._directory.preparer
        [(found, gone)] = pages_of(state, *chain_of(state, 1), preparer)
        assert gone is None
        assert [page.date for page in found] == [1_000_000, 2_000_000, 3_000_000]
        assert [len(page.past) for page in found] == [2, 0, 0] and found[0].past[1].change == "near"
        expected = preparer.page(key, TEXT + " x", 1)
        for page in found:
            assert (page.key, page.name, page.hashed, page.scope) == (key, expected.name, expected.hashed, expected.scope)
            assert np.array_equal(page.features, expected.features) and page.tokens == expected.tokens
            assert page.size == expected.size and isinstance(page.text, str)
        assert (found[0].whole == expected.whole) and found[1].whole == found[2].whole != expected.whole


@pytest.mark.parametrize("evidence", ["text", "sketch"])
def test_a_ranked_list_is_folded_by_clusters(tmp_path, evidence):
    """Beside `cluster`, for str, bytes and int; a new version moves its page to another cluster."""
    other = "nothing of this is like the text above it at all"
    pages = [("a", TEXT, 5), (7, TEXT + " more", 9), (b"b", other, 1), ("c", TEXT, 2), (8, "all alone, of its own kind", 3)]
    with opened(tmp_path, **settings(evidence=evidence)) as store:
        for page in pages:
            store.decide(*page)
        keys = ["new", "c", b"b", 7, "a", "new", 8]
        result = store.collapse(keys)
        assert result.labels == [0, 1, 2, 1, 1, 0, 6] and result.unknown == ["new", "new"]
        assert result.clusters == [None, "a", b"b", "a", "a", None, 8]
        assert result.clusters == [store.cluster(key)[0] if key in store else None for key in keys]
        for best, shown in (("representative", "a"), ("latest", 7), ([0, 2, 0, 1, 2, 0, 0], "c")):
            assert store.collapse(keys, best).shown == ["new", shown, b"b", 8]
        assert store.collapse(keys, np.array([0, 2, 0, 1, 2, 0, 0])).shown == ["new", "c", b"b", 8]
        store.mark_gone(7)
        assert store.collapse(keys, "latest").shown == ["new", "a", b"b", 8]
        assert store.collapse(["new", 7, "new"], "latest").shown == ["new", 7]  # all that the list has is gone
        assert store.collapse(keys, earlier=["a", "new"]).labels == [-1, -1, 2, -1, -1, -1, 6]
        assert store.collapse([7, b"b"], earlier=["c"]).repeated == [0]  # by the cluster, though "c" is not in the list
        store.decide("c", other + " but this", 10)
        assert store.collapse(keys).folded == {0: [5], 1: [2], 3: [4], 6: []}
        store.remove("a")
        assert store.collapse([7, "a"]).clusters == [7, None]
        assert store.collapse([]).shown == []
        for keys, options, error, message in (
            (["a", None], {}, TypeError, "the key is None"), ([1.5], {}, TypeError, "keys are str, bytes or int"),
            ([1 << 64], {}, ValueError, "64 bits"), ("a", {}, TypeError, "keys is a list"),
            (["a"], {"best": "first"}, ValueError, "rank, representative, latest, got 'first'"),
        ):
            with pytest.raises(error, match=message):
                store.collapse(keys, **options)


def test_urls_of_one_page_are_folded(tmp_path):
    pytest.importorskip("w3lib")
    with opened(tmp_path, keys="url") as store:
        store.decide("http://a.example/?b=1&a=2", TEXT)
        result = store.collapse(["http://a.example/?a=2&b=1", "http://a.example/?b=1&a=2#top", "http://b.example/"])
        assert result.labels == [0, 0, 2] and result.clusters[0] == "http://a.example/?a=2&b=1"
