"""Places of ranges of tokens, against `locate`, which finds all tokens in another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment.offsets import locate_tokens
from ndcore.spans.token_places import place_all, place_ranges

SHINGLINGS = [
    nd.Shingling(), nd.Shingling(unit="char"), nd.Shingling(unit="grapheme"), nd.Shingling(unit="line"),
    nd.Shingling(unit="byte"), nd.Shingling(normalize="NFKC"), nd.Shingling(stop_words=["a"]),
    *(nd.Shingling(unit=unit, normalize=normalize) for unit in ("paragraph", "sentence") for normalize in (None, "words")),
    nd.Shingling(unit="line", normalize="words"),
]
CHARACTERS = st.text(st.sampled_from("aB1 \n\r\t.é́ß中文の\u00ad\u200d👍🏽ﬁ\ud800") | st.characters(codec=None), max_size=40)
TEXTS = CHARACTERS | st.binary(max_size=40) | CHARACTERS.map(lambda text: text.encode("utf-8", "surrogatepass"))


def offsets_in_bytes(text: str) -> list[int]:
    return np.cumsum([0, *(len(c.encode("utf-8", "surrogatepass")) for c in text)]).tolist()


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(SHINGLINGS))
@example("a\u00ad\u0301 b", SHINGLINGS[0])
@example("é" * 3, SHINGLINGS[4])
@example(" one \r\n\n two", SHINGLINGS[3])
def test_places_are_those_of_locate(text, shingling):
    starts, ends = locate_tokens(text, shingling)
    tokens = np.arange(len(starts))
    behind, before = np.append(starts, len(text))[tokens + 1], np.append(0, ends)[tokens]
    starts = np.maximum(starts, before)  # without characters that neighbours share
    ends = np.maximum(starts, np.minimum(ends, behind))
    found = place_ranges(text, shingling, tokens, tokens + 1)
    if isinstance(text, str):
        at = offsets_in_bytes(text)
        assert found.start_char.tolist() == starts.tolist()
        assert found.end_char.tolist() == ends.tolist()
        assert found.start_byte.tolist() == [at[i] for i in starts.tolist()]
        assert found.end_byte.tolist() == [at[i] for i in ends.tolist()]
    else:
        assert found.start_byte.tolist() == starts.tolist()
        assert found.end_byte.tolist() == ends.tolist()
        decoded = [len(text[:i].decode("utf-8", "surrogateescape")) for i in ends.tolist()]
        if shingling.unit != "byte":
            assert found.end_char.tolist() == decoded


def test_ranges_begin_with_their_first_token_and_end_with_their_last():
    found = place_ranges("a bé; cd, e", nd.Shingling(), np.array([1, 0]), np.array([3, 1]))
    assert [part.tolist() for part in found] == [[2, 0], [8, 1], [2, 0], [9, 1]]


def test_a_range_has_no_part_of_a_character():
    byte, folded = nd.Shingling("byte"), nd.Shingling("char", normalize="NFKC")
    for text, begin, end, expected in (
        ("abc在de", 0, 4, (0, 3, 0, 3)), ("abc在de", 4, 8, (4, 6, 6, 8)), ("abc在de", 3, 6, (3, 4, 3, 6)),
        ("abc在de", 4, 5, (4, 4, 6, 6)), ("abc在de".encode(), 2, 7, (2, 5, 2, 7)), ("abc在de".encode(), 2, 5, (2, 3, 2, 5)),
        (b"a\xffb\xe5", 1, 3, (1, 3, 1, 3)),
    ):
        found = place_ranges(text, byte, np.array([begin]), np.array([end]))
        assert tuple(int(part[0]) for part in found) == expected, (text, begin, end)
    found = place_ranges("aﬁb", folded, np.array([0, 2, 0]), np.array([2, 4, 4]))
    assert [part.tolist() for part in found[:2]] == [[0, 2, 0], [1, 3, 3]]


def test_no_ranges_have_no_places():
    none = np.empty(0, np.int64)
    assert [len(part) for part in place_ranges("a", nd.Shingling(), none, none)] == [0] * 4


def test_long_texts_are_read_in_blocks():
    text = "ab " * 5000
    found = place_ranges(text, nd.Shingling(), np.array([1, 1023, 1024, 4998]), np.array([2, 1024, 4000, 5000]))
    assert found.start_char.tolist() == [3, 3069, 3072, 14994]
    assert found.end_byte.tolist() == [5, 3071, 11999, 14999]


def test_tokens_of_a_callable_have_no_places():
    with pytest.raises(ValueError, match="callable"):
        place_ranges("a b", nd.Shingling(unit=str.split), np.array([0]), np.array([1]))


@pytest.mark.parametrize("threads", [1, 2])
def test_ranges_of_many_documents_in_any_order(threads):
    texts = [f"é one{i} two" for i in range(100)]
    pieces = [(np.arange(i, i + 10), texts[i : i + 10]) for i in range(0, 100, 10)]
    documents = np.array([99, 3, 57, 3])
    found = place_all(iter(pieces), nd.Shingling(), (documents, np.array([1, 2, 0, 1]), np.array([2, 3, 3, 2])), threads)
    parts = [texts[i][a:b] for i, a, b in zip(documents.tolist(), found.start_char.tolist(), found.end_char.tolist(),
                                              strict=True)]
    assert parts == ["one99", "two", "é one57 two", "one3"]
    assert found.end_byte.tolist() == [8, 11, 12, 7]
