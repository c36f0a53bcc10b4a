"""Where the tokens of a text are: literals, and the reference's tokens in their places."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from generated import texts
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _text
from ndcore.alignment.offsets import locate_tokens
from ndcore.reference import text as reference_text

KINDS = [("word", None), ("word", "NFKC"), ("char", None), ("char", "NFKC"), ("grapheme", None), ("grapheme", "NFKC"),
         ("char", "scan"), ("grapheme", "scan"), ("line", None), ("paragraph", None), ("sentence", None), ("line", "words"),
         ("sentence", "words"), ("byte", None)]  # fmt: skip
ALPHABET = (
    "ab, .-‐\n\r\t\x00Éé\u0301\u0345\u093c\u200d\u202e\u00ad\u3099かｶ\uff9e人"
    "々ー12½ﬁ㎏ⅧKſ\u1100\u1161\u11a8가\ud800\udcff𝔸"
)
TEXTS = st.text(st.sampled_from(ALPHABET), max_size=40)
BYTES = st.lists(st.one_of(st.binary(max_size=3), TEXTS.map(lambda t: t.encode("utf-8", "surrogatepass")))).map(b"".join)


def cut(text: str | bytes, unit: str, normalize: str | None) -> list[tuple[int, int]]:
    starts, ends = locate_tokens(text, nd.Shingling(unit, 1, normalize=normalize))
    assert starts.dtype == ends.dtype == np.int64
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "unit", "normalize", "expected"),
    [
        ("", "word", None, []),
        ("  ...", "word", None, []),
        ("A rose, is", "word", None, ["A", "rose", "is"]),
        ("don't_go", "word", None, ["don", "t", "go"]),
        ("第3章 人3abc", "word", None, ["第", "3", "章", "人", "3abc"]),
        ("e\u0301a \u0301b x\u00ady\u00ad.", "word", None, ["e\u0301a", "b", "x\u00ady"]),
        ("½ ﬁsh ㎏", "word", "NFKC", ["½", "½", "ﬁsh", "㎏"]),
        ("か\u3099x", "word", "NFKC", ["か\u3099", "x"]),
        ("éa\ud800", "char", None, ["é", "a"]),
        (b"\xc3\xa9\xffa", "char", None, [b"\xc3\xa9", b"a"]),
        (b"\xc3\xa9\xff\xc3a b", "word", None, [b"\xc3\xa9", b"a", b"b"]),
        ("e\u0301🇩🇪\r\n\ud800\u0301", "grapheme", None, ["e\u0301", "🇩🇪", "\r\n", "\u0301"]),
        (b"a\xcc\x81\xff\xcc\x81", "grapheme", None, [b"a\xcc\x81", b"\xcc\x81"]),
        (" é \r\n\n\x0bb c \rd", "line", None, ["é", "b c", "d"]),
        (" é \r\n\x0b\nb \n  c \rd\r\r", "paragraph", None, ["é", "b \n  c \rd"]),
        ("É! \u2028b. \ud800 c.\u3000D\u0085", "sentence", None, ["É!", "b. \ud800 c.", "D"]),
        ("¿Qué?\n-\n\tSí!!\n", "line", "words", ["¿Qué?", "Sí!!"]),
        (b"\xffa. \xc3\xa9. B\xff", "sentence", "words", [b"\xffa. \xc3\xa9.", b"B\xff"]),
        ("é", "byte", None, ["é", "é"]),
        (b"ab", "byte", None, [b"a", b"b"]),
        ("Co-\n\top\u200b - x-\u2028", "char", "scan", ["C", "o", "o", "p\u200b", "-", "x"]),
        ("a- b-", "grapheme", "scan", ["a", "-", "b", "-"]),
        (b"\xc3\xa9-\xff\n-\r\nz", "char", "scan", [b"\xc3\xa9", b"-", b"-", b"z"]),
    ],
)
def test_places(text: Any, unit: str, normalize: str | None, expected: list[Any]) -> None:
    assert [text[start:end] for start, end in cut(text, unit, normalize)] == expected


@pytest.mark.parametrize(("unit", "normalize"), KINDS)
@given(text=st.one_of(TEXTS, BYTES, texts))
def test_a_token_is_what_stands_in_its_place(unit: str, normalize: str | None, text: str | bytes) -> None:
    # The slice of the text has the token, and nothing but separators is between the slices.
    tokens = reference_text.tokens(text, unit, normalize)
    places = cut(text, unit, normalize)
    assert len(places) == len(tokens)
    assert all(start < end for start, end in places)
    assert all(x <= y for one, two in itertools.pairwise(places) for x, y in zip(one, two, strict=True))
    for token, (start, end) in zip(tokens, places, strict=True):
        found = reference_text.tokens(text[start:end], unit, normalize)
        assert token in found
        if normalize is None and (isinstance(text, bytes) or unit != "byte"):
            assert [token] == found
    edges = [0, *(edge for place in places for edge in place), len(text)]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        between = reference_text.tokens(text[start:end], unit, normalize) if start < end else []
        assert set(between) <= ({b"-", "‐".encode()} if normalize == "scan" else set())  # alone, a hyphen stays


@given(st.lists(st.sampled_from(["the", "The", "a", "rose", "é", "人", "ﬁ", "1"]), max_size=20),
       st.sampled_from([None, "NFKC"]))  # fmt: skip
def test_stop_words_have_no_place(words: list[str], normalize: Any) -> None:
    sh = nd.Shingling(width=1, normalize=normalize, stop_words=["the", "人", "fi"])
    text = " ".join(words)
    starts, ends = locate_tokens(text, sh)
    found = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert found == [word for word in words if word.lower() != "the" and word != "人" and (word, normalize) != ("ﬁ", "NFKC")]
    assert len(found) == len(sh.tokens(text))


def test_passages_reach_over_stop_words() -> None:
    texts = "x one the two three y", "z one two a three u"
    found = nd.passages(*texts, nd.Shingling(width=3, stop_words=["the", "a"]))
    shared = [text[p.start : p.end] for text, passages in zip(texts, found, strict=True) for p in passages if p.number]
    assert shared == ["one the two three", "one two a three"]


def test_all_code_points_are_what_the_reference_says() -> None:
    kinds = _text.kinds(np.arange(0x110000, dtype=np.uint32))
    assert set(np.flatnonzero(kinds == _text.IGNORABLE).tolist()) == set(reference_text.IGNORABLE)
    folded = [reference_text.FOLD.get(c, c) for c in range(0x110000)]
    used = [c for c in range(0x110000) if c not in reference_text.IGNORABLE]
    assert [bool(kinds[c] == _text.MARK) for c in used] == [folded[c] in reference_text.MARK for c in used]
    others = {_text.SEPARATOR, _text.IGNORABLE, _text.MARK}
    assert [int(kinds[c]) not in others for c in used] == [folded[c] in reference_text.LETTER_OR_NUMBER for c in used]


def test_text_is_cut_where_the_normal_form_may_be() -> None:
    # A boundary neither moves before nor composes with what precedes it, by the reference's own tables.
    seconds = {second for _, second in reference_text.COMPOSITION} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in range(0x110000):
        [first, *_] = reference_text.nfkd([reference_text.FOLD.get(c, c)])
        stays = reference_text.COMBINING_CLASS.get(first, 0) == 0 and first not in seconds
        assert _text.is_boundary(c) == (stays and c not in reference_text.IGNORABLE), hex(c)
