"""The first pass: texts with the same bytes are sketched once, and each gets what it would get alone."""

from __future__ import annotations

import numpy as np
import pytest
from generated import splitmix64

import ndcore as nd
from ndcore.dedup.first_pass import alike, read_corpus
from ndcore.progress import reporting
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import SpooledCorpus, as_corpus
from ndcore.text.inputs import Extracted, digest

WORDS = [f"word{i}" for i in range(40)]
INVALID = b"a broken \xff byte and \xc3 another one here"


def texts_with_repeats(n: int, seed: int = 1) -> list[str | bytes]:
    """Texts of 0 to 12 words, most of them several times, as str and as bytes, one with invalid bytes."""
    outputs = splitmix64(seed)
    made: list[str | bytes] = [" ".join(WORDS[next(outputs) % 40] for _ in range(next(outputs) % 13)) for _ in range(n // 3)]
    made += [str(text).encode() for text in made[: n // 9]] + [INVALID, "", " . "]
    return [made[next(outputs) % len(made)] for _ in range(n)]


def read(texts, sketcher=None, **how):
    with reporting(None) as report:
        return read_corpus(texts if hasattr(texts, "batches") else as_corpus(texts), sketcher or nd.MinHasher(8), threads=1,
                           memory_limit=None, report=report, **how)


@pytest.mark.parametrize("digest_all", [False, True])
@pytest.mark.parametrize("normalize", [None, "NFKC"])
def test_repeats_get_what_each_text_gets_alone(digest_all, normalize):
    texts = texts_with_repeats(90)
    sketcher = nd.MinHasher(8, shingling=nd.Shingling(width=2, normalize=normalize))
    found = read(texts, sketcher, digest_all=digest_all, agreement=Agreement.of("numbers"))
    alone = [read([text], sketcher, digest_all=True, agreement=Agreement.of("numbers")) for text in texts]
    np.testing.assert_array_equal(found.rows, np.concatenate([each.rows for each in alone]))
    for name in ("valid", "lengths", "keys"):
        assert getattr(found, name).tolist() == [getattr(each, name)[0].tolist() for each in alone]
    assert found.invalid_bytes == sum(each.invalid_bytes for each in alone)
    assert found.known.all() or not digest_all
    expected = np.concatenate([each.digests for each in alone])
    np.testing.assert_array_equal(found.digests[found.known], expected[found.known])
    assert not found.digests[~found.known].any()


def test_repeats_and_documents_without_shingles_are_digested_at_once():
    texts = ["one two three", "", "four five six", b"one two three", "seven", " . "]
    assert read(texts).known.tolist() == [True, True, False, True, False, True]
    assert read(texts, digest_all=True).known.all()
    assert read(SpooledCorpus(iter(texts))).known.all()
    assert read(texts, nd.MinHasher(8, shingling=nd.Shingling(unit=lambda text: text.split(), width=1))).known.all()


def test_equal_texts_are_sketched_once(monkeypatch):
    sketched = []
    sketch_batch = nd.MinHasher.sketch_batch

    def counting(self, batch, *arguments):
        sketched.append(batch.count)
        return sketch_batch(self, batch, *arguments)

    monkeypatch.setattr(nd.MinHasher, "sketch_batch", counting)
    read(["a rose is a rose", "something else", b"a rose is a rose", "a rose is a rose", "something else "])
    assert sketched == [3]


def test_the_bytes_of_an_original_are_its_own():
    """Two pages without words have the same empty text and different bytes; two with words are equal by their text."""
    pages = [Extracted.of("", "<p>"), Extracted.of("", "<br>"), Extracted.of("", "<p>"),
             Extracted.of("to be or not to be", "x"), Extracted.of("to be or not to be", "y")]
    found = read(pages)
    assert [bytes(row[:16]) for row in found.digests[:3]] == [digest(b"<p>"), digest(b"<br>"), digest(b"<p>")]
    assert bytes(found.digests[3, :16]) == bytes(found.digests[4, :16]) == digest(b"to be or not to be")
    assert nd.near_duplicates(pages).labels.tolist() == [0, 1, 0, 3, 3]


def test_a_callable_is_asked_for_every_text():
    seen = []

    def words(text):
        seen.append(text)
        return text.split()

    read(["a b", "a b", "c"], nd.MinHasher(8, shingling=nd.Shingling(unit=words, width=1)))
    assert seen == ["a b", "a b", "c"]


def test_a_short_text_is_named_by_its_position():
    texts = ["long enough for this", "long enough for this", "too short"]
    with pytest.raises(ValueError, match="document 2 has 2 tokens"):
        nd.near_duplicates(texts, shingling=nd.Shingling(width=3, short="error"))


def test_columns_with_repeats():
    pyarrow = pytest.importorskip("pyarrow")
    texts = ["a rose is a rose", "", "something else", "a rose is a rose", "", "ein Größeres"]
    found, expected = read(pyarrow.array(texts)), read(texts)
    for name in ("rows", "digests", "known", "valid", "lengths"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_alike_are_equal_rows_among_those_asked_for():
    rows = np.array([[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2, 3]], np.uint32)
    assert alike(rows, np.ones(6, np.bool_)).tolist() == [True, True, True, True, False, True]
    assert alike(rows, np.array([True, True, False, False, True, False])).tolist() == [False] * 6
    assert alike(rows, np.array([True, True, False, False, True, True])).tolist() == [True, False, False, False, False, True]
    assert alike(rows[:0], np.ones(0, np.bool_)).tolist() == []


@pytest.mark.parametrize("filter", ["auto", "complete"])
def test_a_thousand_equal_and_lexically_equivalent_documents(filter):
    texts = ["To be, or not to be: that is it.", "to be or not to be that is it"] * 500 + ["something else entirely here"]
    found = nd.near_duplicates(texts, filter=filter)
    assert set(found.labels[:1000].tolist()) == {0} and found.labels[1000] == 1000
    assert found.classes.tolist() == ["kept", "lexical", *["identical", "lexical"] * 499, "kept"]
