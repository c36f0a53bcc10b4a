"""Near-duplicates in a ranked list, beside brute force (`ndcore.reference.dedup`)."""

from __future__ import annotations

import copy
import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
from generated import corpus
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.dedup import collapse as module
from ndcore.reference.dedup import near_duplicates as reference
from ndcore.text.inputs import Extracted

ROSE = "a rose is a rose is a rose"
SHORT = ["", "", b"", "?", "a", "A!", "a b", "b a"]


def agrees(texts: list[Any], **options: Any) -> nd.Collapsed:
    names = ("unit", "width", "labelled", "short", "normalize")
    shingling = nd.Shingling(**{name: options.pop(name) for name in names if name in options})
    of_shingling = {name: getattr(shingling, name) for name in names}
    originals = [text.original if isinstance(text, Extracted) else text for text in texts]
    expected = reference(texts, **options, **of_shingling, originals=originals)
    found = nd.collapse(texts, **options, shingling=shingling)
    assert found.labels.tolist() == expected.labels
    assert found.kept.tolist() == expected.kept
    np.testing.assert_array_equal(found.score, expected.score)
    return found


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.sampled_from([0, 1, 2, 10, 40]), st.sampled_from([0.1, 0.3, 0.5, 0.8, 1.0]),
       st.sampled_from(["resembling", "contained"]), st.booleans(), st.sampled_from(["whole", "skip"]), st.integers(1, 4))
def test_lists_agree_with_brute_force(seed, size, threshold, drop, labelled, short, width):
    rng = random.Random(seed)
    texts = corpus(rng, size) + rng.sample(SHORT, len(SHORT))
    agrees(texts, threshold=threshold, drop=drop, labelled=labelled, short=short, width=width)


@pytest.mark.parametrize("drop", ["resembling", "contained"])
def test_pairs_that_are_counted_in_parts(monkeypatch, drop):
    monkeypatch.setattr(module, "VOLUME", 5)
    agrees(corpus(random.Random(3), 60), threshold=0.3, drop=drop)


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("threshold", [0.3, 0.6, 1.0])
def test_the_same_labels_as_the_main_job(drop, threshold):
    texts = corpus(random.Random(8), 60)
    found = nd.collapse(texts, threshold=threshold, drop=drop)
    whole = nd.near_duplicates(texts, threshold=threshold, drop=drop, filter="complete")
    assert np.array_equal(found.labels, whole.labels)
    assert np.array_equal(found.score, whole.score, equal_nan=True)


def test_excerpts_go_under_the_longer_text_above_them():
    words = [f"w{i}" for i in range(40)]
    whole, part = " ".join(words), " ".join(words[10:30])
    found = agrees([whole, part, whole + " more"], threshold=0.8, drop="contained", width=2)
    assert found.labels.tolist() == [0, 0, 0]
    assert found.score.tolist() == [1.0, 1.0, 39 / 40]
    assert agrees([part, whole], threshold=0.8, drop="contained").labels.tolist() == [0, 1]
    assert agrees([whole, part], threshold=0.8).labels.tolist() == [0, 1]


def test_copies_follow_the_first_of_them():
    """The last text is a copy of the second, which resembles the first by 5/9. Alone it would join the third, by 6/8."""
    found = agrees(["a b c d e x", "a b c d e f g h", "c d e f g h", "A, b c d e f g h."], threshold=0.5, width=1)
    assert found.labels.tolist() == [0, 0, 2, 0]
    assert found.score.tolist() == [1.0, 5 / 9, 1.0, 5 / 9]


def test_texts_without_shingles_can_only_be_identical():
    found = agrees(["", "!", b"", ROSE, "!", "?"])
    assert found.labels.tolist() == [0, 1, 0, 3, 1, 5]
    assert [math.isnan(score) for score in found.score] == [False, False, True, False, True, False]
    pages = [Extracted.of("", "<p>"), Extracted.of("", "<br>"), Extracted.of("?", "<p>"), "?"]
    assert agrees(pages).labels.tolist() == [0, 1, 0, 3]


def test_the_result():
    found = nd.collapse([ROSE, "something else", ROSE.upper(), ROSE + " is a rose", "something else?"], threshold=0.9)
    assert found.folded == {0: [2, 3], 1: [4]}
    assert list(found.folded) == found.kept.tolist()
    assert (len(found), found.threshold, found.drop) == (5, 0.9, "resembling")
    assert (found.kept.dtype, found.labels.dtype, found.score.dtype) == (np.int64, np.int64, np.float64)
    assert repr(found) == "<Collapsed list of 5 texts at 0.9: 2 kept>"
    shown = found._repr_html_()
    assert "Collapsed list of 5 texts at 0.9: 2 kept<" in shown and "<td>0</td><td>2</td>" in shown
    for same in (found, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert same.folded == found.folded
        for array in (same.kept, same.labels, same.score):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_a_long_list_in_a_notebook():
    found = nd.collapse([f"text {i}" for i in range(30)])
    assert "Kept texts: the first 10 of 30<" in found._repr_html_()
    assert found._repr_html_().count("<tr>") == 11


def test_nothing():
    found = nd.collapse([])
    assert (len(found), found.kept.tolist(), found.folded) == (0, [], {})
    assert repr(found) == "<Collapsed list of 0 texts at 0.8: 0 kept>"


def test_other_iterables():
    assert nd.collapse(iter([ROSE, ROSE])).labels.tolist() == [0, 0]
    assert nd.collapse(np.array([ROSE, ROSE])).labels.tolist() == [0, 0]
    arrow = pytest.importorskip("pyarrow")
    assert nd.collapse(arrow.array([ROSE, "other", ROSE])).labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("arguments", "error", "words"), [
    ((ROSE,), TypeError, "texts is one str"), (([ROSE, None],), TypeError, "document 1 is None"),
    (([1],), TypeError, "document 0 is 1 of type int"), (({"a": ROSE},), TypeError, "texts is a dict"),
])
def test_other_texts_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        nd.collapse(*arguments)


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"threshold": 0}, ValueError, "threshold"), ({"threshold": 1.5}, ValueError, "1.5"),
    ({"threshold": "high"}, ValueError, "'high'"),
    ({"drop": "all"}, ValueError, "drop must be one of resembling, contained, got 'all'"),
    ({"shingling": 3}, TypeError, "shingling must be a Shingling"),
    ({"shingling": nd.Shingling(short="error")}, ValueError, "document 0 has 1 tokens"),
])
def test_other_options_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        nd.collapse(["word", ROSE], **options)
