"""Results of contamination: rules of the literature, benchmarks, how they look."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import ndcore as nd


def test_rules():
    item = " ".join(f"w{i}" for i in range(17))  # 10 runs of 8 words, 5 of 13
    seven, six = (" ".join(f"w{i}" for i in range(n)) for n in (14, 13))
    palm = nd.contamination([item, item, "x"], [seven], 8)
    assert palm.found.tolist() == [7, 7, 0] and palm.contaminated("palm").tolist() == [True, True, False]
    assert nd.contamination([item], [six], 8).contaminated("palm").tolist() == [False]
    assert nd.contamination([item], [six], 8).contaminated().tolist() == [True]
    assert nd.contamination([item], [six]).contaminated("gpt-3").tolist() == [True]
    assert nd.contamination([item], [" ".join(six.split()[1:])]).contaminated("gpt-3").tolist() == [False]
    with pytest.raises(ValueError, match=r"rule='gpt-3' has windows of 13 tokens, these have 8: .* min_tokens=13"):
        palm.contaminated("gpt-3")
    with pytest.raises(ValueError, match="rule"):
        palm.contaminated("gpt-4")


def test_benchmarks():
    found = nd.contamination(["a b c", "d e f", "a b x y", ""], ["1 a b c"], 2)
    assert found.by_benchmark(["p", "q", "p", "r"]) == [("p", 2, 2, 7, 5), ("q", 1, 0, 3, 0), ("r", 1, 0, 0, 0)]
    with pytest.raises(ValueError, match="1 labels for 4 items"):
        found.by_benchmark(["p"])


def test_results_say_what_was_found_and_are_read_only():
    found = nd.contamination(["a b c", "d"], ["a b", "e"], 2)
    assert repr(found) == "<Contamination of 2 items, 1 of which have runs of 2 tokens in 2 documents>"
    again = copy.deepcopy(found)
    assert again.covered.tolist() == [2, 0] and not again.covered.flags.writeable
    assert [part.tolist() for part in again.places] == [[0], [0], [2], [0], [0]]
    assert [part.tolist() for part in again.spans] == [[0], [0], [2], [0], [0]]
    assert [part.tolist() for part in again.documents] == [[0], [2], [2], [2]]


def test_the_corpus_without_what_was_found():
    corpus = ["x a b c, y", b"none", "a b c", "(a b) and a b"]
    found = nd.contamination(["a b c d", "a b"], iter(corpus), 3)
    assert found.shingling == nd.Shingling()
    assert list(found.cleaned(iter(corpus), threads=2)) == ["x , y", b"none", "", "( ) and "]
    for other in (corpus[:2], [*corpus, "more"]):
        with pytest.raises(ValueError, match=f"has {len(other)} documents, and 4 were looked through"):
            list(found.cleaned(other))
    with pytest.raises(ValueError, match="document 0 has no token 3, which is to be cut: its text is not the one that"):
        list(found.cleaned(["x", *corpus[1:]]))


@pytest.mark.parametrize("shingling", [nd.Shingling("byte"), nd.Shingling(normalize="NFKC"), nd.Shingling(stop_words=["to"]),
                                       nd.Shingling("line", normalize="words")], ids=repr)
def test_a_shorter_text_is_refused_in_every_unit(shingling):
    found = nd.contamination(["a b c\nd e f"], [b"x a b c\nd e f"], 1, shingling=shingling)
    with pytest.raises(ValueError, match="document 0 has no token"):
        list(found.cleaned([b""]))


def test_ids_and_callables_cannot_be_cut():
    ids = (np.array([1, 2], np.uint16), [0, 2])
    found = nd.contamination(ids, ids, 2)
    assert found.shingling is None
    with pytest.raises(ValueError, match="spans has the tokens"):
        found.cleaned(["a"])
    by_blanks = nd.contamination(["a b"], ["a b"], 2, shingling=nd.Shingling(unit=str.split))
    with pytest.raises(ValueError, match="callable"):
        by_blanks.cleaned(["a b"])


def test_another_corpus_is_no_harm():
    found = nd.contamination(["a b c"], ["x x x x a b c", "y"], 3)
    with pytest.raises((ValueError, IndexError)):
        list(found.cleaned(["short", "y"]))
