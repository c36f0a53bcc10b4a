"""Compaction: histories, sightings and verdicts stay; removed texts, also in dictionaries, go."""

from __future__ import annotations

import random

import pytest
from stores import TEXT, Both, opened, settings

import ndcore as nd
from ndcore.store import text_codec
from ndcore.store.compaction import rewrite
from ndcore.store.log import Log
from ndcore.store.records import Changes, Removal, encode


def test_versions_survive(tmp_path):
    both = Both(tmp_path)
    for date, text in enumerate([TEXT, TEXT, TEXT.upper(), TEXT + " more", TEXT + "  more", "else", "else"]):
        both.decide("a", text, date)
        both.decide("b", text + "!", date)
        both.compact()
        both.check()
    both.reopen()
    both.compact()
    both.check()
    both.decide("a", "else ", 9)
    both.check()
    assert both.store.check() == []
    both.store.close()


def test_a_dictionary_is_trained_again(tmp_path, monkeypatch):
    pytest.importorskip("zstandard")
    monkeypatch.setattr(text_codec, "SAMPLES", 100)
    with opened(tmp_path, **settings(threshold=1.0)) as store:
        for i in range(120):
            store.decide(i, " ".join(f"zebra{(i * 7 + j * j) % 97}" for j in range(80)))
        store._directory.state.evidence.codec._training.join()
        for i in range(120, 240):
            store.decide(i, " ".join(f"heron{(i * 7 + j * j) % 97}" for j in range(80)))
        assert b"zebra" in store._directory.state.evidence.codec.dictionary
        for i in range(120):
            store.remove(i)
        store.compact()
        assert b"zebra" not in b"".join(path.read_bytes() for path in store.path.rglob("*") if path.is_file())
        assert store.text(200).startswith("heron") and store.check() == []
    with nd.Store.open(store.path) as store:
        assert store.text(239).startswith("heron") and store.peek(store.text(150)).equal == 150


@pytest.mark.parametrize("evidence", ["text", "shingles"])
def test_a_removal_that_leaves_a_cluster_without_its_first_page(tmp_path, evidence):
    """No writer does this; somebody forged it. The pages are decided on again, as when a record is damaged."""
    with opened(tmp_path, **settings(evidence=evidence)) as store:
        list(store.decide_many([(i, TEXT, i) for i in range(4)] + [(9, "else", 9)]))
    [place] = store.path.glob("log-*")
    log = Log.open(place)
    log.append([encode(Removal(Changes(removed=[0])))])
    log.close()
    with opened(tmp_path) as store:
        with pytest.raises(nd.CorruptFile, match="removes document 0, and leaves document 1 in its cluster; check"):
            rewrite(store._directory.state, Log.create(tmp_path / "new", store._directory.manifest.tag), lambda *_: None)
        [problem] = store.check()
        assert problem.startswith("document 0 is removed, and 3 documents of its cluster")
        store.compact()
        assert list(store.clusters()) == [[1, 2, 3], [9]] and store.check() == [] and len(store) == 4


def test_a_crash_before_the_switch_leaves_the_old_store(tmp_path, monkeypatch):
    from ndcore.store import directory

    with opened(tmp_path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {i}", i) for i in range(20)]))
        before = list(store.clusters())
        monkeypatch.setattr(directory, "rewrite", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.compact()
        assert list(store.clusters()) == before and store.decide("more", "else").kept
    with opened(tmp_path) as store:
        assert len(store) == 21 and not (store.path / "log-1").exists()


def test_pages_that_were_compressed_before_a_compaction(tmp_path, monkeypatch):
    """Each compaction trains a dictionary of its own: what waits to be kept meanwhile is compressed again."""
    pytest.importorskip("zstandard")
    monkeypatch.setattr(text_codec, "SAMPLES", 200)
    monkeypatch.setattr(text_codec, "DICTIONARY", 4096)
    chance = random.Random(1)
    texts = {i: "menu of the site " + " ".join(chance.choices([f"word{i}" for i in range(3000)], k=60)) for i in range(1400)}
    pages = list(texts.items())
    with opened(tmp_path) as store:
        list(store.decide_many(pages[:400]))
        store._state.evidence.codec._training.join()
        store.decide(*pages[400])
        first = store._state.evidence.codec.dictionary
        session = store.session("s")
        for page in pages[401:420]:
            session.decide(*page)

        def meanwhile():
            for i, page in enumerate(pages[420:]):
                if i in (300, 301):
                    for key in range(100 * (i - 300), 100 * (i - 299)):
                        store.remove(key)
                    store.compact()
                yield page

        list(store.decide_many(meanwhile(), threads=2))
        assert first and store._state.evidence.codec.dictionary not in (first, b"")
        assert session.cluster(410) == [410] and session.commit() == []
        assert store.check() == [] and len(store) == 1200
    with opened(tmp_path) as store:
        assert all(store.text(key) == texts[key] for key in range(200, 1400))
