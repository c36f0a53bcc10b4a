"""The store against its definition, step by step, and its files."""

from __future__ import annotations

import asyncio
import datetime as dt
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from stores import TEXT, Both, opened, settings

import ndcore as nd
from ndcore.store.state import State
from ndcore.text.inputs import Extracted

TEXTS = st.builds(
    lambda words, end: " ".join(words) + end, st.lists(st.sampled_from("abcdeAB"), max_size=7),
    st.sampled_from(["", " ", "!"]))
KEYS = st.integers(0, 7).map(lambda i: f"http://h{i % 2}/{i}")
DATES = st.integers(0, 50)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("decide"), KEYS, TEXTS, DATES),
        st.tuples(st.just("decide_many"), st.lists(st.tuples(KEYS, TEXTS, DATES), min_size=1, max_size=6)),
        st.tuples(st.just("peek"), TEXTS, KEYS),
        st.tuples(st.just("mark_gone"), KEYS, DATES),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("expire"), DATES),
        st.tuples(st.sampled_from(["compact", "reopen"])),
    ),
    min_size=4, max_size=24,
)


@hypothesis_settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, threshold=st.sampled_from([0.3, 0.5, 0.7]), width=st.sampled_from([1, 2]),
       evidence=st.sampled_from(["text", "shingles"]), hosts=st.booleans())
def test_every_step_says_what_the_reference_says(steps, threshold, width, evidence, hosts):
    place = tempfile.mkdtemp()
    try:
        both = Both(Path(place), threshold=threshold, width=width, evidence=evidence, hosts=hosts)
        for name, *arguments in steps:
            getattr(both, name)(*arguments)
            both.check()
        assert both.store.check() == []
        both.store.close()
    finally:
        shutil.rmtree(place)


AGREED = st.lists(st.sampled_from(["numbers", "title", "negations"]), max_size=2, unique=True)
TEMPLATES = st.builds(  # one text with another number, first line or word of negation; or fewer words
    lambda head, words, end: f"{head}a b c {' '.join(words)}{end}",
    st.sampled_from(["", "\n", "A\n", "B\n"]), st.lists(st.sampled_from(["d", "7", "8", "not", "E"]), max_size=3),
    st.sampled_from(["", "!", " e f g h"]))


@hypothesis_settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, data=st.data(), least=st.sampled_from([0, 3, 5]), must_agree=AGREED, hosts=st.booleans(),
       threshold=st.sampled_from([0.3, 0.7]))
def test_options_of_the_verdict(steps, data, least, must_agree, hosts, threshold):
    place = tempfile.mkdtemp()
    try:
        evidence = "text" if must_agree else data.draw(st.sampled_from(["text", "shingles"]))
        both = Both(Path(place), threshold=threshold, evidence=evidence, hosts=hosts, min_shingles=least,
                    must_agree=must_agree)
        for name, *arguments in steps:
            if name == "decide_many":
                arguments = [[(key, data.draw(TEMPLATES), date) for key, _, date in arguments[0]]]
            elif name in ("decide", "peek"):
                arguments[name == "decide"] = data.draw(TEMPLATES)
            getattr(both, name)(*arguments)
            both.check()
        assert both.store.check() == []
        both.store.close()
    finally:
        shutil.rmtree(place)


def test_options_are_there_again(tmp_path):
    price = f"{TEXT} for 12 crowns"
    with opened(tmp_path, **settings(must_agree="numbers", min_shingles=3)) as store:
        store.decide("a", price, 0)
        assert store.decide("b", price.replace("12", "13"), 1).kept
        assert store.decide("c", price.upper(), 2).verdict == "lexical"
        assert store.decide("d", price + " now", 3).of == "a"
        assert store.decide("a", price.replace("12", "14"), 4).version == "other"
        assert store.decide("e", "one two three", 5).kept and store.decide("f", "one two three", 6).verdict == "identical"
        assert store.peek("one two three and").kept
        clusters = list(store.clusters())
        assert clusters == [["b"], ["c", "d"], ["a"], ["e", "f"]]
    for derived in (tmp_path / "store").glob("derived-*"):
        shutil.rmtree(derived)
    with opened(tmp_path) as store:
        assert (store.settings.must_agree, store.settings.min_shingles) == (("numbers",), 3)
        assert list(store.clusters()) == clusters and store.check() == []
        assert store.peek(price).of == "c" and store.peek(price.replace("12", "15")).kept


def test_keys_are_of_the_texts_that_are_kept(tmp_path):
    one, two = (Extracted.of(TEXT + end, f"<title>{title}</title>{TEXT}", page_title=title)
                for title, end in (("One", ""), ("Two", " more")))
    with opened(tmp_path, **settings(must_agree="title")) as store:
        store.decide("a", one)
        assert store.decide("b", Extracted.of(TEXT, "<p>", page_title="Two")).verdict == "identical"
        assert store.decide("c", two).kept and store.decide("d", "\n" + two.upper()).of == "c"


@pytest.mark.parametrize("options", [{"must_agree": "numbers"}, {"scope": "host"}, {"min_shingles": 100}])
def test_features_that_two_scopes_share_by_chance(tmp_path, monkeypatch, options):
    """Features are compared by some bits. What a search finds by chance is compared by texts and hosts too."""
    with opened(tmp_path, **settings(**options)) as store:
        store.decide("http://a/", TEXT + " 1")
        monkeypatch.setattr(State, "find_sharing", lambda state, features, kept: state.kept.numbers())
        assert store.peek(TEXT + " 2", "http://b/").kept
        assert store.decide("http://b/", TEXT + " 2").kept


def test_what_was_decided_is_there_again(tmp_path):
    with opened(tmp_path, **settings()) as store:
        assert store.decide("a", TEXT, "2020-01-02").kept
        assert store.decide(7, TEXT.encode(), dt.date(2020, 1, 3)).of == "a"
        assert list(store.decide_many([(b"c", "else"), ("d", TEXT.upper(), 0)]))[1].verdict == "lexical"
    with opened(tmp_path) as store:
        assert list(store.clusters()) == [["a", 7, "d"], [b"c"]]
        assert (store.text(7), store.text(b"c"), store.locate("a")) == (TEXT.encode(), "else", 7)
        assert store.history("a")[0].datetime == dt.datetime(2020, 1, 2, tzinfo=dt.UTC)
        assert "a" in store and "b" not in store and len(store) == 4
        assert store.stats()["clusters"] == 2


def test_a_log_alone_is_enough(tmp_path):
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {i % 3}", i) for i in range(20)]))
        store.remove(0)
        before = list(store.clusters())
    for derived in (tmp_path / "store").glob("derived-*"):
        shutil.rmtree(derived)
    with opened(tmp_path) as store:
        assert list(store.clusters()) == before
        assert store.check() == []


def test_readers_follow_the_writer(tmp_path):
    with opened(tmp_path, **settings()) as writer:
        writer.decide("a", TEXT)
        with opened(tmp_path, read_only=True) as reader:
            assert len(reader) == 1
            writer.decide("b", TEXT)
            reader.refresh()
            assert reader.cluster("b") == ["a", "b"]
            with pytest.raises(ValueError, match="read_only"):
                reader.decide("c", TEXT)
            writer.compact()
            writer.remove("a")
            reader.refresh()
            assert reader.cluster("b") == ["b"]
            assert reader.peek(TEXT).of == "b"
        with pytest.raises(BlockingIOError):
            opened(tmp_path)


def test_settings_are_fixed(tmp_path):
    with opened(tmp_path, threshold=0.7, evidence="shingles") as store:
        store.decide("a", TEXT)
        with pytest.raises(LookupError, match="evidence='shingles'"):
            store.text("a")
    with opened(tmp_path, threshold=0.7) as store:
        assert store.settings.evidence == "shingles"
    for other in ({"threshold": 0.8}, {"evidence": "text"}, {"shingling": nd.Shingling(width=2)}, {"seed": 2},
                  {"filter": nd.FilterDesign.of(5, 5, threshold=0.7)}):
        with pytest.raises(ValueError, match="created with"):
            opened(tmp_path, **other)


def test_removed_documents_leave_no_byte_after_compaction(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("gone-key", "secret words that nobody else has")
        store.decide("kept-key", TEXT)
        store.decide("kept-key", "another text altogether, a new version")
        store.remove("gone-key")
        store.compact()
        files = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
        assert not any(word in content for content in files for word in (b"gone-key", b"secret words", b"seven eight"))
        assert any(b"kept-key" in content for content in files)
        assert [version.change for version in store.history("kept-key")] == [None, "other"]
        assert store.stats()["forgotten"] == 0


def test_sketches_estimate(tmp_path):
    words = [f"w{i}" for i in range(300)]
    with opened(tmp_path, evidence="sketch", threshold=0.5) as store:
        store.decide("a", " ".join(words))
        verdict = store.decide("b", " ".join(words[:280]))
        assert (verdict.verdict, verdict.of, verdict.exact) == ("near", "a", False)
        assert abs(verdict.resemblance - 276 / 296) < 0.15  # four standard deviations of 84 minima
        assert verdict.contained > 0.8
        store.remove("a")
        assert store.cluster("b") == ["b"]


def test_urls_and_hosts(tmp_path):
    with opened(tmp_path, keys="url", scope="host") as store:
        assert store.decide("http://a.example/?b=2&a=1#top", TEXT).key == "http://a.example/?a=1&b=2"
        assert store.decide("http://a.example/?a=1&b=2", TEXT).version == "unchanged"
        assert store.decide("http://b.example/", TEXT).kept
        assert store.peek(TEXT, "http://b.example/other").of == "http://b.example/"
        with pytest.raises(TypeError, match="keys='url'"):
            store.decide(1, TEXT)


def test_tasks_share_a_thread(tmp_path):
    async def crawl(store):
        return await asyncio.gather(*(store.adecide(i, f"{TEXT} {i % 5}") for i in range(60)),
                                    store.adecide("bad", 5), return_exceptions=True)

    with opened(tmp_path, **settings(threshold=1.0), durability="each") as store:
        *found, error = asyncio.run(crawl(store))
        assert isinstance(error, TypeError)
        assert [verdict.of for verdict in found] == [None] * 5 + [i % 5 for i in range(5, 60)]
        assert "bad" not in store


@pytest.mark.parametrize("key", ["", "\ud800", "a\0b", "k" * 5000, b"", b"\xff\x00", 0, -(1 << 63), (1 << 63) - 1])
def test_keys_of_all_kinds(tmp_path, key):
    with opened(tmp_path) as store:
        store.decide(key, TEXT)
    with opened(tmp_path) as store:
        assert key in store and store.cluster(key) == [key]


@pytest.mark.parametrize("text", ["", b"", "\ud800", b"\xff\xfe", "!!", "a" * 100_000, "x y " * 50_000])
def test_texts_of_all_kinds(tmp_path, text):
    with opened(tmp_path) as store:
        assert store.decide("a", text).kept
        assert store.decide("b", text).verdict == "identical"
    with opened(tmp_path) as store:
        assert store.text("a") == text
        store.remove("a")
        assert store.cluster("b") == ["b"]


def test_arguments_are_checked(tmp_path):
    with opened(tmp_path) as store:
        for bad in ((None, TEXT), (1.5, TEXT), ("a", None), (1 << 63, TEXT)):
            with pytest.raises((TypeError, ValueError)):
                store.decide(*bad)
        for bad in ("then", float("nan"), 1e300, [1]):
            with pytest.raises((TypeError, ValueError), match="date"):
                store.decide("a", TEXT, bad)
        for missing in (store.remove, store.cluster, store.locate, store.history, store.text):
            with pytest.raises(KeyError, match="no page with the key"):
                missing("a")
        with pytest.raises(TypeError, match="tuples of"):
            list(store.decide_many(["a"]))
        assert len(store) == 0
    with pytest.raises(ValueError, match="closed"):
        store.decide("a", TEXT)
    with pytest.raises(FileNotFoundError):
        nd.Store.open(tmp_path / "none", read_only=True)
    with pytest.raises(FileExistsError):
        nd.Store.open(tmp_path)


def test_sessions_and_the_listener_end_with_the_store(tmp_path):
    with opened(tmp_path, **settings()) as store:
        session, listener = store.session("s"), store.listen()
        session.decide("a", TEXT)
        assert store.session("s") is session and store.listen() is listener
    assert listener.closed
    with opened(tmp_path) as store:
        assert len(store) == 0 and len(store.session("s")) == 0


def test_a_listener_can_be_opened_again(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.listen().close()
        with store.listen(), nd.StoreClient(store.path) as client:
            assert client.decide("a", TEXT).kept


def test_readers_share_nothing(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT)
        with opened(tmp_path, read_only=True) as reader:
            for call in (lambda: reader.session("s"), reader.listen, lambda: reader.merge(store)):
                with pytest.raises(ValueError, match=r"read_only=True|itself"):
                    call()
