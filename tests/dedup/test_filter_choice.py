"""The choice between LSH and the complete filter: by counts of the first documents, with the same verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from generated import splitmix64

import ndcore as nd
from ndcore.dedup.filter_choice import SMALL

UNLIKE = 3000


def unlike(n: int, words: int, seed: int) -> list[str]:
    """Texts of words that few others have, each twentieth an edited copy of the one before."""
    outputs = splitmix64(seed)
    texts = [[f"w{next(outputs) % 100_000}" for _ in range(words)] for _ in range(n)]
    for i in range(19, n, 20):
        texts[i] = [*texts[i - 1][:-1], "edited"]
    return [" ".join(text) for text in texts]


def template(n: int) -> list[str]:
    """Pages with 60 words of a frame and 12 of their own, and a copy of each with 5 of these."""
    frame = [f"frame{i}" for i in range(60)]
    pages = [" ".join([*frame, *(f"own{i}x{j}" for j in range(12))]) for i in range(n)]
    copies = [" ".join([*frame, *(f"own{i}x{j}" for j in range(5)), *(f"new{i}x{j}" for j in range(7))]) for i in range(n)]
    return pages + copies


def same_verdicts(one: nd.NearDuplicates, other: nd.NearDuplicates) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name != "classes")
               for name in ("labels", "classes", "resemblance"))


def test_short_documents_and_templates_get_the_complete_filter():
    for texts in (unlike(UNLIKE, 14, 1), template(UNLIKE)):
        result = nd.near_duplicates(texts)
        assert result.filter == nd.near_duplicates(texts[:3], filter="complete").filter and result.filter.miss == 0
        assert result.rules.filter == "complete" and result.filter_choice.complete and result.filter_choice.ratio < 1
        assert same_verdicts(result, nd.near_duplicates(texts, filter="complete"))
        assert "the complete filter takes about 0." in str(result.filter_choice)


def test_long_unlike_documents_get_bands():
    texts = unlike(UNLIKE, 120, 2)
    result, bands = nd.near_duplicates(texts), nd.near_duplicates(texts, filter="lsh")
    assert isinstance(result.filter, nd.FilterDesign) and result.rules.filter == "auto"
    assert not result.filter_choice.complete and result.filter_choice.ratio > 1 and bands.filter_choice is None
    assert same_verdicts(result, bands) and result.recipe.parameters["filter"] == bands.recipe.parameters["filter"]
    np.testing.assert_array_equal(result.sketches.values, bands.sketches.values)
    np.testing.assert_array_equal(result.sketches.digests, bands.sketches.digests)
    assert "LSH takes about 0." in str(result.filter_choice)


@pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
def test_documents_without_shingles_and_copies_are_read_once_among_the_first(make):
    """The first documents are read as sets, and become signatures: with empty ones, copies and invalid bytes among them."""
    texts = ["", " . ", b"\xff\xfe broken here and there it is", *unlike(UNLIKE, 90, 3)]
    texts[5] = texts[9] = texts[7]
    result, bands = nd.near_duplicates(make(texts)), nd.near_duplicates(texts, filter="lsh")
    assert result.filter_choice is not None and isinstance(result.filter, nd.FilterDesign)
    assert same_verdicts(result, bands) and result.invalid_bytes == bands.invalid_bytes
    np.testing.assert_array_equal(result.sketches.values, bands.sketches.values)
    np.testing.assert_array_equal(result.valid, bands.valid)


def test_against_follows_the_choice_of_the_first_side():
    texts, known = unlike(UNLIKE, 14, 4), unlike(UNLIKE, 14, 4)[: UNLIKE // 2]
    result = nd.near_duplicates(texts, against=known)
    assert result.filter_choice.complete and (result.labels[: UNLIKE // 2] >= UNLIKE).all()
    assert same_verdicts(result, nd.near_duplicates(texts, against=known, filter="complete"))


@pytest.mark.parametrize("how", [{"verify": "tokens"}, {"lost": True}, {"drop_common": 0.5}, {"filter": "lsh"},
                                 {"filter": nd.design_filter(0.8)}], ids=str)
def test_where_another_option_needs_bands_nothing_is_chosen(how):
    result = nd.near_duplicates(unlike(SMALL, 8, 5), **how)
    assert result.filter_choice is None and isinstance(result.filter, nd.FilterDesign)


def test_few_documents_few_different_ones_and_sketches_are_not_estimated():
    short = unlike(SMALL, 14, 6)
    assert nd.near_duplicates(short[:-1]).filter_choice is None
    assert nd.near_duplicates([*short[:20]] * 200).filter_choice is None
    assert nd.near_duplicates(nd.near_duplicates(short).sketches).filter_choice is None
    assert nd.near_duplicates(short, against=nd.near_duplicates(short).sketches).filter_choice is None


def test_sets_that_would_be_too_large_stay_out():
    """By bands these pages cost more, but their number is not known before they are read, and each has many shingles."""
    frame = [f"frame{i}" for i in range(560)]
    pages = [" ".join([*frame, *(f"own{i}x{j}" for j in range(90))]) for i in range(400)]
    assert nd.near_duplicates(iter(pages[:150])).filter_choice is None  # all of them are among the first
    choice = nd.near_duplicates(iter(pages)).filter_choice
    assert choice is not None and not choice.complete and not choice.fits and choice.ratio < 1
    assert "too many shingles" in str(choice)


def test_a_choice_holds_at_higher_thresholds():
    result = nd.near_duplicates(unlike(UNLIKE, 14, 1), threshold=0.7)
    assert result.filter_choice.complete
    expected = nd.near_duplicates(unlike(UNLIKE, 14, 1), threshold=0.9, filter="complete")
    assert same_verdicts(result.rethreshold(0.9), expected)


def test_copies_are_not_taken_for_a_template():
    """Every second document is an edited copy of the one before: as many pairs as documents, however many there are."""
    texts = [" ".join([f"w{i // 2}x{j}" for j in range(120)] + ["edited"] * (i % 2)) for i in range(UNLIKE)]
    choice = nd.near_duplicates(texts).filter_choice
    many = nd.near_duplicates(texts * 4).filter_choice
    assert not choice.complete and not many.complete and many.ratio == pytest.approx(choice.ratio, rel=0.01)


def test_the_estimate_is_the_same_in_every_run():
    """Counters with random keys made another ratio in every run, and in rare cases another choice."""
    texts = unlike(SMALL, 60, 8)
    first, again = (nd.near_duplicates(texts, threads=threads).filter_choice for threads in (1, 2))
    assert first is not None and first.ratio == again.ratio
