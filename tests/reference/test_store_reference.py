"""The store by its definition, checked by hand."""

from __future__ import annotations

import pytest

from ndcore.reference.store import BruteForceStore

TEXT = "one two three four five six seven eight nine ten eleven twelve"


def verdicts(store: BruteForceStore, *pages: tuple[str, str]) -> list[tuple[str, object]]:
    found = [store.decide(key, text, date) for date, (key, text) in enumerate(pages)]
    return [(verdict.verdict, verdict.of) for verdict in found]


def test_a_page_joins_the_first_document_that_it_resembles_most():
    store = BruteForceStore(width=2)  # 11 shingles; one word more is one shingle more
    assert verdicts(store, ("a", TEXT), ("b", TEXT + " more"), ("c", "else"), ("d", TEXT.upper())) == [
        ("kept", None), ("near", "a"), ("kept", None), ("lexical", "a")]
    seen = store.peek(TEXT + " more")
    assert (seen.verdict, seen.of, seen.equal) == ("near", "a", "b")
    assert (seen.resemblance, seen.contained, seen.containing) == (11 / 12, 11 / 12, 1.0)
    assert store.clusters() == {"a": ["a", "b", "d"], "c": ["c"]}


def test_a_version_that_says_the_same_keeps_its_place():
    store = BruteForceStore(width=2)
    verdicts(store, ("a", TEXT), ("b", TEXT), ("a", TEXT), ("a", TEXT.upper()))
    assert [version.change for version in store.history("a")] == [None, "unchanged", "lexical"]
    assert store.clusters() == {"a": ["a", "b"]}
    assert (store.locate("a"), store.locate("b")) == ("a", "a")  # seen last


def test_another_version_leaves_its_cluster_to_the_next():
    store = BruteForceStore(width=2)
    verdicts(store, ("a", TEXT), ("b", TEXT), ("c", TEXT), ("a", "gone"))
    assert store.clusters() == {"b": ["b", "c"], "a": ["a"]}
    assert [(v.change, v.resemblance) for v in store.history("a")] == [(None, None), ("other", 0.0)]
    store.remove("b")
    assert store.cluster("c") == ["c"]


def test_a_chain_whose_head_goes_changes_altogether():
    words = [f"w{i}" for i in range(30)]
    store = BruteForceStore(threshold=0.8, width=1)  # neighbours: 18 of 22 words; the next but one: 16 of 24
    verdicts(store, *((f"{i}", " ".join(words[2 * i : 2 * i + 20])) for i in range(5)))
    assert store.clusters() == {"0": ["0", "1"], "2": ["2", "3"], "4": ["4"]}
    store.remove("0")
    assert store.clusters() == {"1": ["1", "2"], "3": ["3", "4"]}


def test_scopes_keep_documents_apart_and_old_ones_expire():
    store = BruteForceStore(scope=lambda key: key[0])
    assert verdicts(store, ("a1", TEXT), ("b1", TEXT), ("a2", TEXT)) == [
        ("kept", None), ("kept", None), ("identical", "a1")]
    assert store.peek(TEXT, key="b9").of == "b1"
    assert store.expire(1) == ["a1"]
    assert store.clusters() == {"b1": ["b1"], "a2": ["a2"]}
    with pytest.raises(KeyError):
        store.remove("a1")
