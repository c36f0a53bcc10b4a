"""`ndcore.Index`: the texts that resemble a text, while texts come and go, against a comparison with each of them."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
import random
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference.resemblance import containment, resemblance
from ndcore.reference.shingling import shingles, tokens
from ndcore.storage import container
from ndcore.store import text_index

WORDS = [f"w{i}" for i in range(200)]
SURE = nd.FilterDesign.of(84, 1, 1, threshold=0.5)  # misses a pair at 0.5 with a probability of 2^-84


def similar(rng: random.Random, bases: list[list[str]]) -> str:
    """Return a text that shares most of its words with others."""
    words = list(rng.choice(bases))
    for _ in range(rng.randrange(6)):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def compare_with_all(texts: dict[object, str], text: str, threshold: float) -> list[tuple[object, float, float, float]]:
    """Return what a query should, from the reference; the order of `texts` is the order in which they were added."""
    mine = set(shingles(tokens(text)))
    sets = {key: set(shingles(tokens(each))) for key, each in texts.items()}
    rows = [(key, resemblance(mine, each), containment(mine, each), containment(each, mine))
            for key, each in sets.items() if mine and each]
    return sorted((row for row in rows if row[1] >= threshold), key=lambda row: -row[1])


@pytest.mark.parametrize("seed", range(4))
def test_queries_find_what_a_comparison_with_all_finds(seed, monkeypatch):
    monkeypatch.setattr(text_index, "SPARE", 20)  # so that the index is renewed
    rng = random.Random(seed)
    bases = [[rng.choice(WORDS) for _ in range(rng.randrange(3, 40))] for _ in range(5)]
    index, texts = nd.Index(0.5, filter=SURE), {}
    for step in range(400):
        if texts and rng.random() < 0.4:
            key = rng.choice(list(texts))
            index.remove(key)
            del texts[key]
        else:
            key = rng.choice([step, f"key {step}", ("a", step)])
            texts[key] = similar(rng, bases)
            index.add(key, texts[key])
        assert len(index) == len(texts) and list(index) == list(texts)
        if step % 5 == 0:
            text = similar(rng, bases)
            expected = compare_with_all(texts, text, 0.5)
            assert [tuple(each) for each in index.query(text)] == expected
            assert [tuple(each) for each in index.query(text, limit=3)] == expected[:3]


def test_pages_of_a_template_are_told_from_near_ones():
    frame = " ".join(f"frame{i}" for i in range(30))
    pages = {i: f"{frame} {' '.join(f'own{i}_{j}' for j in range(12))}" for i in range(60)}
    index = nd.Index(0.8)
    index.add_many(pages.items())
    assert len(index._index.search(index._sketch([pages[0]])[1][0])) > text_index.FEW  # so bitmaps decide
    assert [each.key for each in index.query(pages[7] + " more")] == [7]


def test_short_texts_have_one_shingle_and_empty_ones_none():
    index = nd.Index()
    index.add_many([("short", "Two words"), ("empty", ""), ("also empty", "…")])
    assert index.query("two, words") == [("short", 1.0, 1.0, 1.0)]
    assert index.query("") == [] and "empty" in index and len(index) == 3
    index.remove("empty")
    assert "empty" not in index


def test_bytes_and_str_are_the_same_text():
    index = nd.Index()
    index.add(b"a key", "über allen Gipfeln ist Ruh".encode())
    assert [each.key for each in index.query("Über allen Gipfeln ist Ruh")] == [b"a key"]


def test_a_key_is_added_once():
    index = nd.Index()
    index.add("a", "one text")
    with pytest.raises(ValueError, match="the index has the key 'a' already; remove it first"):
        index.add("a", "another text")
    with pytest.raises(ValueError, match="the index has the key 'b' already"):
        index.add_many([("b", "two"), ("b", "three")])
    assert list(index) == ["a"] and index.query("two") == []


@pytest.mark.parametrize("item, message", [
    (("a", 7), "the text is 7 of type int"), (([], "text"), "unhashable"), ("ab", "a tuple of a key and a text, got 'ab'"),
    (("a", "text", 3), "a tuple of a key and a text"),
])
def test_items_that_are_not_accepted(item, message):
    index = nd.Index()
    with pytest.raises(TypeError, match=message):
        index.add_many([("first", "a text"), item])
    assert len(index) == 0


def test_a_dict_of_texts_is_refused_with_what_to_give():
    index = nd.Index()
    with pytest.raises(TypeError, match=r"items is a dict; give the pairs of it: items\.items\(\)"):
        index.add_many({"a": "text"})
    index.add_many({"a": "text"}.items())
    assert list(index) == ["a"]


def test_arguments_that_are_not_accepted():
    with pytest.raises(ValueError, match="threshold"):
        nd.Index(1.5)
    with pytest.raises(ValueError, match="filter"):
        nd.Index(filter="complete")
    index = nd.Index()
    with pytest.raises(ValueError, match="limit"):
        index.query("text", limit=0)
    with pytest.raises(TypeError, match="the text is None"):
        index.query(None)
    with pytest.raises(KeyError, match="'gone'"):
        index.remove("gone")


def test_threads_share_an_index():
    index, failed = nd.Index(), []

    def work(name: int) -> None:
        try:
            for i in range(30):
                text = " ".join(f"{name}word{i}x{j}" for j in range(12))
                index.add((name, i), text)
                assert [each.key for each in index.query(text)] == [(name, i)]
                if i % 2:
                    index.remove((name, i))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and len(index) == 60


def interrupt_at(line: int, work: Callable[[], object]) -> bool:
    """Call a function, and raise KeyboardInterrupt before a line of the index; return whether it came to that line."""
    lines, before = itertools.count(), sys.gettrace()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != text_index.__file__:
            return None
        if event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("what", ["add", "remove"])
def test_an_index_is_whole_after_an_interrupt(what, monkeypatch):
    """`remove` renews the index here. Each line of the index is interrupted once."""
    monkeypatch.setattr(text_index, "SPARE", 2)
    texts = {i: f"{i} {i}a {i}b {i}c {i}d {i}e" for i in range(9)}
    for line in itertools.count():
        index = nd.Index()
        index.add_many([(i, texts[i]) for i in range(6)])
        for i in (0, 1, 2, 3)[: 4 if what == "remove" else 0]:
            index.remove(i)
        before = set(index)
        work = partial(index.remove, 4) if what == "remove" else partial(index.add_many, [(i, texts[i]) for i in (6, 7, 8)])
        interrupted = interrupt_at(line, work)
        assert set(index) in (before, before - {4} if what == "remove" else before | {6, 7, 8})
        for i in set(range(9)) - set(index):
            assert index.query(texts[i]) == []
            index.add(i, texts[i])
        if what == "remove" and index.query(texts[4]) == []:  # it was on its way
            index.remove(4)
            index.add(4, texts[4])
        assert [[each.key for each in index.query(texts[i])] for i in range(9)] == [[i] for i in range(9)]
        if not interrupted:
            break


class Unruly:
    """A key that is compared so many times before it raises an error."""

    left = 1000

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        Unruly.left -= 1
        if Unruly.left < 0:
            raise RuntimeError("compared once too often")
        return self is other


@pytest.mark.parametrize("times", range(12))
def test_keys_that_raise_are_added_together_or_not_at_all(times, monkeypatch):
    index, keys = nd.Index(), [Unruly() for _ in range(3)]
    items = [(key, f"{i} {i}a {i}b {i}c {i}d") for i, key in enumerate(keys)]
    index.add(*items[0])
    monkeypatch.setattr(Unruly, "left", times)
    with contextlib.suppress(RuntimeError):
        index.add_many(items[1:])
    monkeypatch.setattr(Unruly, "left", 1000)
    assert list(index) in (keys[:1], keys)
    assert [index.query(text) != [] for _, text in items] == [True, *[len(index) == 3] * 2]
    index.add("another", "another text with enough words")
    assert [each.key for each in index.query("another text with enough words")] == ["another"]


def filled(keys: list[Any], **options: Any) -> nd.Index:
    """Return an index with texts of which some resemble each other, and one without shingles; one was removed."""
    rng = random.Random(5)
    bases = [[rng.choice(WORDS) for _ in range(12)] for _ in range(3)]
    index = nd.Index(0.4, **options)
    index.add_many([(key, similar(rng, bases)) for key in keys])
    index.remove(keys[1])
    index.add(keys[1], "…")
    return index


def answers(index: nd.Index) -> list[list[nd.SimilarText]]:
    """Ask an index for texts of the kind that `filled` adds."""
    rng = random.Random(5)
    bases = [[rng.choice(WORDS) for _ in range(12)] for _ in range(3)]
    found = index.query_many([similar(rng, bases) for _ in range(20)])
    assert sum(map(len, found)) > 20
    return found


@pytest.mark.parametrize("keys", [[f"é{i}\udc80" for i in range(30)], [7 * i - 3 for i in range(30)]])
@pytest.mark.parametrize("options", [{}, {"shingling": nd.Shingling("char", 5), "seed": 7}, {"filter": SURE}])
def test_a_saved_index_answers_the_same(tmp_path, keys, options):
    index = filled(keys, **options)
    index.save(tmp_path / "texts.ndt", durable=False)
    for again in (nd.Index.load(tmp_path / "texts.ndt"), pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
        assert list(again) == list(index) and repr(again) == repr(index)
        assert answers(again) == answers(index)
        again.add("new", "a text that is new here")
        assert [each.key for each in again.query("A text that is new here!")] == ["new"] and "new" not in index
        for key in ("new", keys[0]):
            again.remove(key)
        assert keys[0] not in again
    again.save(tmp_path / "texts.ndt", durable=False)
    assert keys[0] not in nd.Index.load(tmp_path / "texts.ndt")


def test_an_empty_index_is_saved(tmp_path):
    nd.Index(0.7).save(tmp_path / "empty.ndt", durable=False)
    again = nd.Index.load(tmp_path / "empty.ndt")
    assert (len(again), again.threshold, again.query("text")) == (0, 0.7, [])


def test_keys_of_other_types_are_pickled(tmp_path):
    index = filled([("a", i) for i in range(9)])
    with pytest.raises(TypeError, match="all str or all integers of 64 bits"):
        index.save(tmp_path / "texts.ndt")
    assert list(pickle.loads(pickle.dumps(index))) == list(index)
    assert not (tmp_path / "texts.ndt").exists()


def halves(text: str) -> list[str]:
    return text.split(";")


def test_a_unit_of_ones_own_is_given_again(tmp_path):
    shingling = nd.Shingling(halves, 1)
    index = nd.Index(0.5, shingling=shingling)
    index.add("k", "one;two")
    index.save(tmp_path / "texts.ndt", durable=False)
    assert nd.Index.load(tmp_path / "texts.ndt", shingling).query("two;one") == [("k", 1.0, 1.0, 1.0)]
    with pytest.raises(ValueError, match="is a function: pass shingling="):
        nd.Index.load(tmp_path / "texts.ndt")
    with pytest.raises(nd.RecipeMismatch, match=r"shingling\.unit"):
        nd.Index.load(tmp_path / "texts.ndt", nd.Shingling(width=1))
    unnamed = nd.Index(shingling=nd.Shingling(lambda text: text.split(), 1))
    with pytest.raises(ValueError, match="unnamed callable"):
        unnamed.save(tmp_path / "unnamed.ndt")


def forged(path: Path, **changes: Any) -> None:
    """Change fields of the header, or arrays, of the file of an index; the checksums are right."""
    header, arrays = container.read(path, text_index.KIND)
    for name, value in changes.items():
        (arrays if isinstance(value, np.ndarray) else header)[name] = value
    container.write(path, text_index.KIND, header, arrays, durable=False)


@pytest.mark.parametrize("changes", [
    {"threshold": "0.8"}, {"threshold": 7.0}, {"groups": 0}, {"groups": 10**9}, {"need": 99}, {"group_size": None},
    {"recipe_id": "0" * 32}, {"recipe": "{}"}, {"recipe": 7},
    {"offsets": np.array([0, 9, 3, 9])}, {"offsets": np.array([0, 1])}, {"offsets": np.array([[0, 1]])},
    {"offsets": np.array([-1, 2, 3, 4])}, {"offsets": np.array([0, 1, 2, 2**62])}, {"offsets": np.zeros(0, np.int64)},
    {"values": np.zeros(4, np.uint64)}, {"values": np.zeros(4)}, {"values": np.zeros((2, 2), np.uint64)},
    {"ids": np.array([1, 1, 2])}, {"ids": np.array([1, 2])}, {"ids": np.array([1.0, 2.0, 3.0])},
])
def test_forged_files_are_refused(tmp_path, changes):
    index = nd.Index(0.5, shingling=nd.Shingling(width=2))
    index.add_many([(1, "a b c"), (2, "d e"), (3, "f g")])
    index.save(tmp_path / "texts.ndt", durable=False)
    assert len(nd.Index.load(tmp_path / "texts.ndt")) == 3
    forged(tmp_path / "texts.ndt", **changes)
    with pytest.raises(nd.CorruptFile, match="no sound index of texts"):
        nd.Index.load(tmp_path / "texts.ndt")


def test_files_of_another_kind_are_named(tmp_path):
    nd.MinHasher(4).sketch("a").save(tmp_path / "sketches.nds")
    with pytest.raises(ValueError, match="give a file of 'texts'"):
        nd.Index.load(tmp_path / "sketches.nds")


def test_many_queries_are_answered_as_one_by_one():
    index = filled(list(range(30)))
    texts = ["", "…", *(" ".join(WORDS[i : i + 12]) for i in range(2 * text_index.AT_ONCE))]
    assert index.query_many(iter(texts), limit=2) == [index.query(text, limit=2) for text in texts]
    assert index.query_many([]) == []
    with pytest.raises(TypeError, match="texts is one str; give a list of texts, or use query"):
        index.query_many("a text")
    with pytest.raises(TypeError, match="the text is 3"):
        index.query_many(["a", 3])


def test_repr_says_how_many():
    index = nd.Index(0.75)
    index.add("a", "text")
    assert repr(index) == "<Index: 1 texts, threshold 0.75>"
