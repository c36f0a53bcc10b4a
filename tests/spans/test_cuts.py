"""Cut texts, by hand."""

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans.cuts import cut_text, joined

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
