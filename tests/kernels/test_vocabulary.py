"""Numbers of tokens: equal for equal bytes; ranges that are compared; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore._repeats import Vocabulary

words = st.sampled_from([b"", b"a", b"b", b"a longer token", b"a longer tokem"])


def tape(*words: bytes) -> bytes:
    return b"".join(len(word).to_bytes(8, "big") + word for word in words)


def number(vocabulary: Vocabulary, data: bytes, firsts: list[int], lasts: list[int]) -> np.ndarray:
    """Number the tokens of ranges of one tape."""
    return vocabulary.number(data, np.array([0, len(data)]), np.array([0, len(firsts)]), np.array(firsts, np.int64),
                             np.array(lasts, np.int64))


@given(st.lists(st.tuples(words, words), max_size=12), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_ranges_of_equal_tokens(pairs, rng):
    """Compare ranges that go on from each other, overlap, repeat or are apart; expectations are computed twice."""
    document, known = [a for a, _ in pairs], [b for _, b in pairs] * 2
    vocabulary = Vocabulary()
    numbers = number(vocabulary, tape(*known), [0], [len(known)])
    ranges = []
    for _ in range(12):
        first = rng.randint(0, len(document))
        ranges.append((first, rng.randint(0, len(document) - first), first + rng.choice([0, len(document)])))
    firsts, counts, places = np.array(ranges, np.int64).T.copy()
    expected = [document[at : at + n] == known[at : at + n] for at, n, _ in ranges]
    assert vocabulary.same(tape(*document), firsts, counts, numbers, places).tolist() == expected


@pytest.mark.parametrize(
    "first, count, place", [(-1, 1, 0), (0, -1, 0), (2, 1, 0), (0, 3, 0), (3, 0, 0), (0, 1, -1), (0, 2, 1)])
def test_ranges_outside_are_refused(first, count, place):
    vocabulary = Vocabulary()
    numbers = number(vocabulary, tape(b"a", b"b"), [0], [2])
    firsts, counts, places = (np.array([value], np.int64) for value in (first, count, place))
    with pytest.raises(ValueError, match=f"{count} tokens from {first} on and numbers from {place} on: the tape has 2"):
        vocabulary.same(tape(b"a", b"b"), firsts, counts, numbers, places)
    with pytest.raises(ValueError, match="1 ranges begin, 2 have sizes and 1 have places"):
        vocabulary.same(tape(b"a"), firsts, np.zeros(2, np.int64), numbers, places)


def test_tokens_have_equal_numbers_exactly_for_equal_bytes():
    words = [str(i % 1500).encode() * (1 + i % 5) for i in range(6000)]
    known: dict[bytes, int] = {}
    expected = [known.setdefault(word, len(known)) for word in words]
    vocabulary = Vocabulary()
    found = [number(vocabulary, tape(*words[i : i + 700]), [0], [min(700, 6000 - i)])
             for i in range(0, 6000, 700)]
    assert np.concatenate(found).tolist() == expected
    assert len(vocabulary) == len(known)
    again = number(vocabulary, tape(words[0], b"passed over", b"", words[1]), [0, 3], [1, 4])
    assert again.tolist() == expected[:2]


@pytest.mark.parametrize(("data", "firsts", "lasts"), [
    (tape(b"a"), [0], [2]), (tape(b"a")[:-1], [0], [1]), (tape(b"a", b"b"), [1], [0]), (tape(b"a", b"b"), [1, 0], [2, 1]),
    (b"\xff" * 9, [0], [1]), (tape(b"a"), [0], []), (tape(b"a"), [-1], [1]),
])
def test_ranges_that_are_not_of_a_tape_are_refused(data, firsts, lasts):
    with pytest.raises(ValueError, match=r"tape|ranges|follow"):
        number(Vocabulary(), data, firsts, lasts)


def test_tapes_are_numbered_end_to_end():
    tapes = [tape(b"a", b"b", b"a"), tape(), tape(b"c", b"b"), tape(b"c")]
    ends = np.cumsum([0, *map(len, tapes)])
    firsts, lasts = np.array([0, 2, 1, 0]), np.array([1, 3, 2, 1])
    assert Vocabulary().number(b"".join(tapes), ends, np.array([0, 2, 2, 3, 4]), firsts, lasts).tolist() == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="tape 3 of 9 bytes is cut, or has fewer than 2 tokens"):
        Vocabulary().number(b"".join(tapes), ends, np.array([0, 2, 2, 3, 4]), firsts, np.array([1, 3, 2, 2]))
    for some, bounds in (
        (ends[:-1], [0, 2, 2, 3, 4]), (ends, [0, 2, 2, 3, 5]), (ends + 1, [0, 2, 2, 3, 4]), (ends[:0], [0]),
    ):
        with pytest.raises(ValueError, match="do not cut"):
            Vocabulary().number(b"".join(tapes), some, np.array(bounds), firsts, lasts)
