"""Sessions: provisional verdicts are the reference's over what is committed and the session; commit tells what changed."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from stores import FIELDS, TEXT, Both, opened, settings

TEXTS = st.builds(lambda words, end: " ".join(words) + end, st.lists(st.sampled_from([*"abcdAB", "7", "\n"]), max_size=7),
                  st.sampled_from(["", "!"]))
KEYS = st.integers(0, 6).map(lambda i: f"http://h{i % 2}/{i}")
PAGES = st.tuples(KEYS, TEXTS, st.integers(0, 50))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.just("decide"), PAGES), st.tuples(st.just("store"), st.just("remove"), KEYS),
        st.tuples(st.sampled_from(["one", "two"]), st.just("decide"), PAGES),
        st.tuples(st.sampled_from(["one", "two"]), st.just("decide"), PAGES),
        st.tuples(st.sampled_from(["one", "two"]), st.just("peek"), TEXTS),
        st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["commit", "discard", "cluster"]), KEYS),
        st.tuples(st.just("store"), st.sampled_from(["compact", "reopen"]), KEYS),
    ),
    min_size=4, max_size=24,
)


def told(verdict):
    return {name: getattr(verdict, name) for name in FIELDS}


class Sessions(Both):
    """A store with sessions, and the reference: a session is a copy of the store that decides on the session's pages too."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.pages = {"one": [], "two": []}
        self.given = {"one": [], "two": []}

    def view(self, name):
        """Return the reference of a session."""
        made = copy.deepcopy(self.reference)
        for page in self.pages[name]:
            made.decide(*page)
        return made

    def decide_in(self, name, page):
        expected = told(self.view(name).decide(*page))
        found = told(self.store.session(name).decide(*page))
        assert found == expected
        self.pages[name].append(page)
        self.given[name].append(expected)
        assert len(self.store.session(name)) == len(self.pages[name])

    def peek_in(self, name, text):
        assert told(self.store.session(name).peek(text, "http://h1/")) == told(self.view(name).peek(text, "http://h1/"))

    def cluster_in(self, name, key):
        view = self.view(name)
        if key in view._pages:
            assert self.store.session(name).cluster(key) == view.cluster(key)
        else:
            with pytest.raises(KeyError, match="neither the store nor the session"):
                self.store.session(name).cluster(key)

    def commit_in(self, name, _):
        changed = [told(verdict) for verdict in self.store.session(name).commit()]
        final = [told(self.reference.decide(*page)) for page in self.pages[name]]
        assert changed == [new for old, new in zip(self.given[name], final, strict=True) if old != new]
        self.pages[name], self.given[name] = [], []

    def discard_in(self, name, _):
        self.store.session(name).discard()
        self.pages[name], self.given[name] = [], []


@hypothesis_settings(max_examples=12)
@given(steps=STEPS, evidence=st.sampled_from(["text", "shingles"]), hosts=st.booleans(), least=st.sampled_from([0, 3]),
       must_agree=st.sampled_from([[], ["numbers", "title"]]))
def test_every_step_says_what_the_reference_says(steps, evidence, hosts, least, must_agree):
    place = tempfile.mkdtemp()
    try:
        both = Sessions(Path(place), evidence="text" if must_agree else evidence, hosts=hosts, min_shingles=least,
                        must_agree=must_agree)
        for who, what, argument in steps:
            if who != "store":
                getattr(both, what + "_in")(who, argument)
            elif what == "decide":
                both.decide(*argument)
            elif what == "remove":
                both.remove(argument)
            else:
                getattr(both, what)()
                if what == "reopen":
                    both.pages, both.given = {"one": [], "two": []}, {"one": [], "two": []}
            both.check()
        both.store.close()
    finally:
        shutil.rmtree(place)


def test_a_page_that_another_session_committed_first(tmp_path):
    with opened(tmp_path, **settings()) as store:
        one, two = store.session("one"), store.session("two")
        assert one.decide("a", TEXT, 1).kept and two.decide("b", TEXT, 2).kept
        assert store.session("one") is one and len(store) == 0
        assert one.commit() == [] and len(store) == 1 and len(one) == 0
        assert two.peek(TEXT).of == "a"
        changed = two.commit()
        assert [(verdict.key, verdict.verdict, verdict.of) for verdict in changed] == [("b", "identical", "a")]
        assert store.history("b")[0].date == 2_000_000 and store.text("b") == TEXT
    with opened(tmp_path) as store:
        assert list(store.clusters()) == [["a", "b"]]


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_all_evidence(tmp_path, evidence):
    with opened(tmp_path, **settings(evidence=evidence)) as store:
        store.decide("a", TEXT, 0)
        session = store.session("s")
        verdict = session.decide("b", TEXT + " more", 0)
        assert told(verdict) == told(store.peek(TEXT + " more")) and verdict.exact == (evidence != "sketch")
        store.decide("c", "something else entirely", 0)  # the session decides again on its pages
        assert session.decide("d", TEXT + " more", 0).equal == "b"
        assert session.commit() == []
        assert store.cluster("d") == ["a", "b", "d"]


def test_a_full_disk_keeps_the_rest(tmp_path, monkeypatch):
    from ndcore.store import session as module

    monkeypatch.setattr(module, "BATCH", 2)
    with opened(tmp_path, **settings()) as store:
        session = store.session("s")
        for i in range(5):
            session.decide(i, f"{TEXT} {i}", 0)
        store.decide("first", TEXT, 0)
        append, calls = store._directory.log.append, []

        def full(payloads):
            calls.append(len(payloads))
            if len(calls) == 2:
                raise OSError(28, "No space left on device")
            return append(payloads)

        monkeypatch.setattr(store._directory.log, "append", full)
        with pytest.raises(OSError, match="No space"):
            session.commit()
        assert (len(store), len(session)) == (3, 3)
        assert [verdict.of for verdict in session.commit()] == ["first"] * 5
        assert len(store) == 6 and store.check() == []


def test_what_is_refused(tmp_path):
    with opened(tmp_path, **settings()) as store:
        session = store.session("s")
        with pytest.raises(TypeError, match="the key is None"):
            session.decide(None, "x")
        with pytest.raises(TypeError, match="a session is a str"):
            store.session(7)
        with pytest.raises(TypeError, match="texts are str or bytes"):
            session.decide("a", 7)
        with store.session("t") as other:
            other.decide("a", "x")
        assert len(other) == 0 and store.session("t") is not other and "'s', 0 pages" in repr(session)
    with pytest.raises(ValueError, match="is closed"):
        session.decide("a", "x")
    with opened(tmp_path, read_only=True) as reader, pytest.raises(ValueError, match="read_only=True"):
        reader.session("s")
