"""Cut texts, by hand."""

import random
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment.offsets import locate_tokens
from ndcore.reference import repeats as reference
from ndcore.spans.cuts import (
    clean_and_place,
    clean_corpus,
    clean_some,
    clean_texts,
    cut_corpus,
    cut_texts,
    find_corpus_spans,
    find_cut_spans,
)
from ndcore.spans.repeats_layout import merge_ranges
from ndcore.spans.token_places import place_all
from ndcore.text.corpus import as_corpus, indexed_texts

WORDS = nd.Shingling()


def cut_text(text, shingling, firsts, lasts):
    return cut_texts([text], shingling, np.array([0, len(firsts)]), firsts, lasts)[0]


def clean_text(text, shingling, firsts, lasts, whole=False):
    return clean_texts([text], shingling, np.array([0, len(firsts)]), firsts, lasts, whole)[0]


def joined(pieces: list[bytes]) -> bytes:
    """Join pieces one after another, with a space between two that have no blank of ASCII between them."""
    blanks, whole = b"\t\n\v\f\r ", b""
    for piece in pieces:
        whole += b" " if whole and whole[-1] not in blanks and piece[0] not in blanks else b""
        whole += piece
    return whole


def spans_of(text, shingling, firsts, lasts):
    found = find_cut_spans([text], shingling, np.array([0, len(firsts)]), firsts, lasts)
    return list(zip(*(column.tolist() for column in found), strict=True))


@pytest.mark.parametrize(("text", "ranges", "pieces"), [
    ("a b c", [], ["a b c"]),
    ("", [], []),
    ("a b c", [(0, 3)], []),
    ("a b c", [(0, 1)], ["b c"]),
    ("a b \n c.", [(1, 2)], ["a ", "c."]),
    ("a b, c", [(1, 2)], ["a ", ", c"]),
    (b"a b c d", [(0, 1), (2, 3)], [b"b ", b"d"]),
    ("é\u2003ü ö", [(0, 1)], ["\u2003ü ö"]),
    ("é\u2003ü ö".encode(), [(0, 1)], ["\u2003ü ö".encode()]),
])
def test_a_cut_takes_the_blanks_that_follow(text, ranges, pieces):
    firsts, lasts = (np.array([pair[k] for pair in ranges], np.int64) for k in (0, 1))
    assert cut_text(text, WORDS, firsts, lasts) == pieces


def test_blanks_are_tokens_of_characters_but_not_in_scanned_text():
    for normalize, left in [("NFKC", [" \n b"]), ("scan", ["b"])]:
        shingling = nd.Shingling("char", normalize=normalize)
        assert cut_text("a \n b", shingling, np.array([0]), np.array([1])) == left
        assert spans_of("a \n b", shingling, np.array([0]), np.array([1])) == [(0, 5 - len(left[0]))]


@pytest.mark.parametrize("unit", ["line", "paragraph"])
def test_a_cut_leaves_the_next_line_as_it_is(unit):
    shingling = nd.Shingling(unit)
    text = "one\n\n \u00a0two\n\n\x1cthree\n\n\u3000\n\n four"  # white space that is no blank belongs to a line
    tokens = shingling.tokens(text)
    for at in range(len(tokens) - 1):
        for each in (text, text.encode()):
            left = clean_text(each, shingling, np.array([at]), np.array([at + 1]))
            assert shingling.tokens(left) == tokens[:at] + tokens[at + 1 :]


@pytest.mark.parametrize(("text", "cut", "left"), [
    ("a cut b", 1, "a b"), ("a,cut. b", 1, "a, . b"), ("a\tcut\nb", 1, "a\tb"), ("a cut", 1, "a "), ("cut b", 0, "b"),
    ("中文字", 1, "中 字"), ("a\u00a0cut\u00a0b", 1, "a\u00a0 \u00a0b"), ("cut", 0, ""), ("cut \n", 0, ""),
    (" cut\v.", 0, " ."),
])
def test_pieces_are_joined_by_a_blank(text, cut, left):
    for given_text, expected in ((text, left), (text.encode(), left.encode())):
        assert clean_text(given_text, WORDS, np.array([cut]), np.array([cut + 1])) == expected


def test_texts_of_both_types_are_cleaned_together():
    texts = ["a b c", b"x \xff b y \xff\xa0", "", "\ud800 é b ü", b"b"]
    bounds, at = np.array([0, 1, 2, 2, 3, 4]), np.array([1, 1, 1, 0])
    assert clean_texts(texts, WORDS, bounds, at, at + 1) == ["a c", b"x \xff y \xff\xa0", "", "\ud800 é ü", b""]
    none = np.empty(0, np.int64)
    assert clean_texts(texts, WORDS, np.zeros(6, np.int64), none, none) == texts
    assert clean_texts([], WORDS, np.zeros(1, np.int64), none, none) == []


def test_blanks_of_bytes_are_those_of_str():
    blanks = [code for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    for code in (*blanks, *(code + 1 for code in blanks), *range(1, 0xD800, 211), 0x1D4B3, sys.maxunicode):
        text = f"a{chr(code)}b {chr(code)}"
        whole, data = (cut_text(each, WORDS, np.array([0]), np.array([1])) for each in (text, text.encode()))
        assert [piece.encode() for piece in whole] == data, hex(code)
        text = f"x{chr(code)}中{chr(code)}y"
        at = np.array([next(i for i, token in enumerate(WORDS.tokens(text)) if "中" in token)])
        whole, data = (clean_text(each, WORDS, at, at + 1) for each in (text, text.encode()))
        assert whole.encode() == data == joined(cut_text(text.encode(), WORDS, at, at + 1)), hex(code)


def left_out(text: str, spans: list[tuple[int, int]]) -> str:
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    assert all(end <= start for end, start in zip(ends, starts, strict=True))
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def test_spans_are_what_pieces_leave_out():
    rng = random.Random(3)
    for _ in range(300):
        words = [rng.choice(["a", "Fluß", "中文", "𝒳y", "é", "x."]) for _ in range(rng.randrange(1, 12))]
        text = "".join(word + rng.choice([" ", "\u3000", "\n ", ", "]) for word in words)
        n = len(WORDS.tokens(text))
        bounds = sorted(rng.sample(range(n + 1), rng.randrange(0, min(n, 5)) // 2 * 2))
        firsts, lasts = np.array(bounds[::2], np.int64), np.array(bounds[1::2], np.int64)
        expected = "".join(cut_text(text, WORDS, firsts, lasts))
        spans = spans_of(text, WORDS, firsts, lasts)
        assert left_out(text, spans) == expected
        assert spans_of(text.encode(), WORDS, firsts, lasts) == spans
        places = [found.span() for found in re.finditer(r"[a-z]+|Fluß|é|𝒳y|中|文", text)]
        assert spans == reference.spans(text, places, list(zip(bounds[::2], bounds[1::2], strict=True)))
        firsts, lasts = np.arange(n), np.arange(1, n + 1)  # each token by itself: what is between them goes too
        whole = "".join(cut_text(text, WORDS, firsts[:1], lasts[-1:]))
        assert left_out(text, spans_of(text, WORDS, firsts, lasts)) == whole


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("a é在ﬁ\n👍"), max_size=8), st.data(), st.sampled_from([("byte", None), ("char", "NFKC")]))
def test_cuts_keep_characters_that_other_tokens_share(text, data, unit):
    shingling = nd.Shingling(unit[0], normalize=unit[1])
    places = list(zip(*(part.tolist() for part in locate_tokens(text, shingling)), strict=True))
    count = data.draw(st.integers(0, len(places)))
    bounds = sorted(data.draw(st.lists(st.integers(0, len(places)), min_size=count, max_size=count, unique=True)))
    pairs = list(pairwise(bounds))[:: data.draw(st.sampled_from([1, 2]))]
    firsts, lasts = np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)
    spans = spans_of(text, shingling, firsts, lasts)
    assert spans == reference.spans(text, places, pairs)
    wanted = {at for first, last in pairs for at in range(first, last)}
    kept = [c for c, char in enumerate(text) if any(a <= c < b for i, (a, b) in enumerate(places) if i not in wanted)]
    assert left_out(text, spans) == "".join(text[c] for c in kept)
    begins, ends = merge_ranges(firsts, lasts)
    assert "".join(cut_text(text, shingling, begins, ends)) == left_out(text, spans)
    for given_text in (text, text.encode()):
        left = clean_text(given_text, shingling, begins, ends, True)
        expected = joined([piece.encode() for piece in cut_text(text, shingling, begins, ends)])
        assert (left.encode() if isinstance(left, str) else left) == expected
    if unit[0] == "byte":
        exact = b"".join(cut_text(text.encode(), shingling, begins, ends))
        assert exact == bytes(byte for i, byte in enumerate(text.encode()) if i not in wanted)


def test_spans_of_several_texts_are_the_spans_of_each():
    texts = ["a b c", b"a \xc3\xa9 b", "", "a b  c é d", "d"]
    bounds, firsts, lasts = np.array([0, 1, 2, 2, 5, 6]), np.array([1, 1, 0, 1, 3, 0]), np.array([2, 2, 1, 3, 4, 1])
    expected = [(2, 4), (2, 4), (0, 2), (2, 7), (7, 9), (0, 1)]
    found = find_cut_spans(texts, WORDS, bounds, firsts, lasts)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
    assert [cut_texts(texts, WORDS, bounds, firsts, lasts)[k] for k in range(5)] == [
        ["a ", "c"], [b"a ", b"b"], [], ["d"], []]


class Unskippable:
    """A corpus that is read as a whole."""

    def __init__(self, texts):
        self.texts = texts

    def batches(self):
        yield self.texts


@pytest.mark.parametrize("kind", [as_corpus, Unskippable])
@pytest.mark.parametrize("threads", [1, 2])
def test_only_documents_with_ranges_are_cut(kind, threads):
    texts = ["a b c", "x", b"a \xc3\xa9 b", "", "d"] * 300
    ranges = (np.arange(0, 1500, 5) + 2, np.ones(300, np.int64), np.full(300, 2))
    assert list(clean_some(kind(texts), 1500, WORDS, ranges, threads)) == [b"a b"] * 300
    found = [np.concatenate(column).tolist() for column in zip(*find_corpus_spans(kind(texts), 1500, WORDS, ranges, threads),
                                                               strict=True)]
    assert found == [[2] * 300, [4] * 300]


def test_a_document_that_has_changed_is_named():
    ranges = (np.array([0, 2]), np.array([0, 1]), np.array([1, 3]))
    with pytest.raises(ValueError, match="the corpus has no document 2, and 3 were looked through"):
        list(clean_some(as_corpus(["a b", "c"]), 3, WORDS, ranges, 1))
    for shingling in (WORDS, nd.Shingling(normalize="NFKC"), nd.Shingling("byte")):
        for cut in (clean_some, clean_corpus, cut_corpus, find_corpus_spans):
            with pytest.raises(ValueError, match="document 2 has no token 2, which is to be cut: its text is not the one"):
                list(cut(as_corpus(["a b", "", "cd" if shingling.unit == "byte" else "c d"]), 3, shingling, ranges, 1))


@pytest.mark.parametrize("threads", [1, 2])
def test_documents_of_a_corpus_are_cut_in_order(threads):
    texts = ["a b c", b"a b", "", "d"] * 500
    documents = np.repeat(np.arange(0, 2000, 4), 2)
    firsts, lasts = np.tile([0, 2], 500), np.tile([1, 3], 500)
    given_ranges = (as_corpus(texts), 2000, WORDS, (documents, firsts, lasts), threads)
    assert list(cut_corpus(*given_ranges)) == [["b "], [b"a b"], [], ["d"]] * 500
    assert list(clean_corpus(*given_ranges)) == ["b ", b"a b", "", "d"] * 500


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("shingling", "rest"), [
    (WORDS, "é b"), (nd.Shingling("byte"), " é b"), (nd.Shingling(normalize="NFKC"), "é b")])
def test_one_reading_cuts_and_places(shingling, rest, threads):
    texts = ["a é b", "x", b"b c d e", "", b"\xc3\xa9\xff z y", "v w"] * 400
    cuts = np.arange(0, 2400, 6), np.zeros(400, np.int64), np.ones(400, np.int64)
    ranges = (np.concatenate([np.arange(4, 2400, 6), np.arange(0, 2400, 6)[::-1]]), np.repeat([1, 0], 400), np.full(800, 2))

    def pieces(*documents):
        wanted = np.zeros(2400, np.bool_)
        wanted[np.concatenate(documents)] = True
        return indexed_texts([as_corpus(texts)], [0], wanted)

    left, places = clean_and_place(pieces(cuts[0], ranges[0]), 2400, shingling, cuts, ranges, threads)
    assert list(left) == [rest] * 400 == list(clean_some(as_corpus(texts), 2400, shingling, cuts, 1))
    expected = place_all(pieces(ranges[0]), shingling, ranges, 1)
    for column, other in zip(places, expected, strict=True):
        assert column.tolist() == other.tolist()


def test_bytes_are_cut_between_characters_where_rows_are_placed():
    cuts = np.array([0]), np.array([0]), np.array([2])  # "a" and the first byte of "é"
    left, places = clean_and_place(iter([(np.arange(1), [b"a\xc3\xa9b"])]), 1, nd.Shingling("byte"), cuts, cuts, 1)
    assert list(left) == [b"\xc3\xa9b"]
    assert (places.start_byte.tolist(), places.end_byte.tolist()) == ([0], [2])


def test_a_document_that_is_missing_where_rows_are_placed_is_named():
    cuts = np.array([0, 2]), np.array([0, 1]), np.array([1, 2])
    with pytest.raises(ValueError, match="the corpus has no document 2, and 3 were looked through"):
        list(clean_and_place(iter([(np.arange(2), ["a b", "c"])]), 3, WORDS, cuts, cuts, 1)[0])
    with pytest.raises(ValueError, match="document 2 has no token 1, which is to be cut: its text is not the one"):
        list(clean_and_place(iter([(np.arange(3), ["a b", "c", "d"])]), 3, WORDS, cuts, cuts, 1)[0])
    with pytest.raises(ValueError, match=r"of a callable are .* cut at tokens"):
        clean_and_place(iter([]), 3, nd.Shingling(unit=str.split), cuts, cuts, 1)


@pytest.mark.parametrize("n", [1, 3])
def test_a_corpus_with_other_documents_is_refused(n):
    none = np.empty(0, np.int64)
    with pytest.raises(ValueError, match=f"the corpus has 2 documents, and {n} were looked through"):
        list(cut_corpus(as_corpus(["a", "b"]), n, WORDS, (none, none, none), 1))


def test_tokens_of_a_callable_are_not_cut():
    none = np.empty(0, np.int64)
    with pytest.raises(ValueError, match=r"of a callable are .* cut at tokens"):
        cut_corpus(as_corpus(["a"]), 1, nd.Shingling(unit=str.split), (none, none, none), 1)
