"""The first pass: texts with the same bytes are sketched once, and each gets what it would get alone."""

from __future__ import annotations

import numpy as np
import pytest
from generated import splitmix64

import ndcore as nd
from ndcore.dedup.documents import read_documents
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


def read_all(texts, sketcher=None, agreement=None, form_sets=False, shared=False, digest_all=False):
    with reporting(None) as report:
        return read_documents(
            [texts if hasattr(texts, "batches") else as_corpus(texts)], sketcher or nd.MinHasher(8), agreement,
            form_sets=form_sets, shared=shared, digest_all=digest_all, threads=1, memory_limit=None, report=report,
        )


def read(texts, sketcher=None, agreement=None, **how):
    return read_all(texts, sketcher, agreement, **how)[0]


@pytest.mark.parametrize("digest_all", [False, True])
@pytest.mark.parametrize("normalize", [None, "NFKC"])
def test_repeats_get_what_each_text_gets_alone(digest_all, normalize):
    texts = texts_with_repeats(90)
    sketcher = nd.MinHasher(8, shingling=nd.Shingling(width=2, normalize=normalize))
    found = read(texts, sketcher, digest_all=digest_all, agreement=Agreement.of("numbers"))
    alone = [read([text], sketcher, digest_all=True, agreement=Agreement.of("numbers")) for text in texts]
    np.testing.assert_array_equal(found.rows, np.concatenate([each.rows for each in alone]))
    for name in ("valid", "keys"):
        assert getattr(found, name).tolist() == [getattr(each, name)[0].tolist() for each in alone]
    assert read_all(texts)[1].tolist() == [read_all([text])[1][0] for text in texts]
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
    for name in ("rows", "digests", "known", "valid"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert read_all(pyarrow.array(texts))[1].tolist() == read_all(texts)[1].tolist()


@pytest.mark.parametrize("shared", [False, True])
def test_sets_of_the_first_pass_are_those_of_the_texts(shared):
    texts = texts_with_repeats(90)
    sketcher = nd.MinHasher(8, shingling=nd.Shingling(width=2))
    found, lengths, sets = read_all(texts, sketcher, form_sets=True, shared=shared)
    signatures, their_lengths, none = read_all(texts, sketcher)
    assert none is None and lengths.tolist() == their_lengths.tolist()
    for name in ("valid", "invalid_bytes"):
        assert np.array_equal(getattr(found, name), getattr(signatures, name)), name
    assert found.known[~found.valid].all() and not (found.known & ~signatures.known).any()
    assert np.array_equal(found.digests[found.known], signatures.digests[found.known])
    assert found.rows is None and sets.n == len(texts)
    expected = [np.unique(sketcher.shingling.fingerprints(text)).tolist() for text in texts]
    stored = {position: values[begin:end].tolist() for positions, values, offsets in sets.chunks()
              for position, begin, end in zip(positions.tolist(), offsets[:-1], offsets[1:], strict=True)}
    assert all(expected[position] == members for position, members in stored.items())
    raw = [text if isinstance(text, bytes) else text.encode() for text in texts]
    assert sorted(stored) == ([i for i, text in enumerate(raw) if raw.index(text) == i] if shared else list(range(len(raw))))
    hashes = {tuple(members): hashed for members, hashed in zip(expected, found.hashes.tolist(), strict=True)}
    assert [hashes[tuple(members)] for members in expected] == found.hashes.tolist()
    assert len(set(hashes.values())) == len(hashes)


@pytest.mark.parametrize("rules", [{"filter": "complete"}, {"drop": "contained"}, {"lost": True}, {"drop_common": 0.5}])
def test_a_run_with_all_sets_makes_signatures_when_they_are_asked_for(rules, monkeypatch):
    texts = texts_with_repeats(90, seed=2)
    expected = nd.near_duplicates(texts, shingling=nd.Shingling(width=2)).sketches
    with monkeypatch.context() as patch:
        patch.setattr(nd.MinHasher, "sketch_batch", lambda *arguments: pytest.fail("a signature was made"))
        result = nd.near_duplicates(texts, shingling=nd.Shingling(width=2), **rules)
    for name in ("values", "valid", "digests", "sizes"):
        np.testing.assert_array_equal(getattr(result.sketches, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("rules", [{"filter": "complete"}, {"drop": "contained"}, {"lost": True}, {"drop_common": 0.5}])
def test_copies_in_any_order_and_under_any_label_have_their_sets(rules):
    """The copy to keep may be a later one, or each label may have its own: none may share the set of the first."""
    texts = ["to be or not to be that is it", "to be or not to be that is it today", "to be or not to be that is it"] * 4
    how = {"shingling": nd.Shingling(width=2), "threshold": 0.8, **rules}
    backwards = nd.near_duplicates(texts, keep=np.arange(12)[::-1].copy(), **how)
    assert set(backwards.labels.tolist()) == {11}
    labels = nd.near_duplicates(texts, by=[i // 3 for i in range(12)], **how).labels
    assert labels.tolist() == [3 * (i // 3) for i in range(12)]
    first = nd.near_duplicates(texts, one_per=["a", "b", "a", *map(str, range(9))], **how)
    assert set(first.labels.tolist()) == {0}


@pytest.mark.parametrize("filter", ["auto", "complete"])
def test_a_thousand_equal_and_lexically_equivalent_documents(filter):
    texts = ["To be, or not to be: that is it.", "to be or not to be that is it"] * 500 + ["something else entirely here"]
    found = nd.near_duplicates(texts, filter=filter)
    assert set(found.labels[:1000].tolist()) == {0} and found.labels[1000] == 1000
    assert found.classes.tolist() == ["kept", "lexical", *["identical", "lexical"] * 499, "kept"]
