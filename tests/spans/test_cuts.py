"""Cut texts, by hand."""

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans.cuts import cut_corpus, cut_text, joined
from ndcore.text.corpus import as_corpus

WORDS = nd.Shingling()


@pytest.mark.parametrize(("text", "ranges", "pieces"), [
    ("a b c", [], ["a b c"]),
    ("", [], []),
    ("a b c", [(0, 3)], []),
    ("a b c", [(0, 1)], ["b c"]),
    ("a b \n c.", [(1, 2)], ["a ", "c."]),
    ("a b, c", [(1, 2)], ["a ", ", c"]),
    (b"a b c d", [(0, 1), (2, 3)], [b"b ", b"d"]),
    ("é\u2003ü ö", [(0, 1)], ["ü ö"]),
])
def test_a_cut_takes_the_blanks_that_follow(text, ranges, pieces):
    firsts, lasts = (np.array([pair[k] for pair in ranges], np.int64) for k in (0, 1))
    assert cut_text(text, WORDS, firsts, lasts) == pieces


def test_pieces_are_joined_by_a_blank():
    assert joined(["a ", "b"], True) == "a b"
    assert joined(["中", "文"], True) == "中 文"
    assert joined([b"a", b"\tb"], False) == b"a\tb"
    assert joined([], True) == ""
    assert joined([], False) == b""


@pytest.mark.parametrize("threads", [1, 2])
def test_documents_of_a_corpus_are_cut_in_order(threads):
    texts = ["a b c", b"a b", "", "d"] * 500
    documents = np.repeat(np.arange(0, 2000, 4), 2)
    firsts, lasts = np.tile([0, 2], 500), np.tile([1, 3], 500)
    found = list(cut_corpus(as_corpus(texts), WORDS, (documents, firsts, lasts), threads))
    assert found == [(True, ["b "]), (False, [b"a b"]), (True, []), (True, ["d"])] * 500


def test_tokens_of_a_callable_are_not_cut():
    none = np.empty(0, np.int64)
    with pytest.raises(ValueError, match=r"of a callable stand .* cut at tokens"):
        cut_corpus(as_corpus(["a"]), nd.Shingling(unit=str.split), (none, none, none), 1)
