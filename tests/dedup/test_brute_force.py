"""The main job beside brute force (`ndcore.reference.dedup`), over generated corpora and all parameters.

The filter of most tests is 100 groups of one minimum, one needed: at the lowest threshold here, 0.3, it misses a pair
with probability 0.7^100 < 10^-15, so the engine must give what brute force gives. Seeds are fixed.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from deduplicated import BANDS, EVERY_PAIR, TEN, WORDS, Whole, agrees, equal, listed, with_digests
from generated import corpus
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import clustering, rabin, shingling
from ndcore.reference import dedup as reference
from ndcore.reference import resemblance as exact


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Draw documents, parameters of both, and parameters of the engine that change no result."""
    rng = random.Random(draw(st.integers(0, 10**9)))
    documents = corpus(rng, draw(st.sampled_from([0, 1, 5, 20, 40])))
    both: dict[str, Any] = {
        "threshold": draw(st.sampled_from([0.3, 0.5, 0.8, 0.9, 1.0])),
        "cluster": draw(st.sampled_from(["star", "greedy", "components"])),
        "verify": draw(st.sampled_from(["fingerprints", "tokens"])),
    }
    keep = draw(st.sampled_from(["first", "longest", "priorities"]))
    both["keep"] = keep if keep != "priorities" else [rng.randrange(5) for _ in documents]
    other = draw(st.sampled_from(["alone", "against", "by"]))
    if other == "against":
        both["against"] = corpus(rng, draw(st.sampled_from([0, 1, 20]))) + documents[:2]
    elif other == "by":
        both["by"] = [rng.randrange(3) for _ in documents]
    if draw(st.booleans()):
        both["one_per"] = [rng.randrange(1 + len(documents)) for _ in documents]
    how = {
        "threads": draw(st.sampled_from([1, 2])),
        "memory_limit": draw(st.sampled_from([None, 300, 2000])),
        "iterator": draw(st.booleans()),
    }
    return documents, both, how


def both_ways(documents, both, how, **shingles) -> tuple[nd.NearDuplicates, reference.Result]:
    how = dict(how)
    given_texts = iter(documents) if how.pop("iterator", False) else documents
    ours = nd.near_duplicates(given_texts, shingling=nd.Shingling(**shingles), **EVERY_PAIR, **both, **how)
    return ours, reference.near_duplicates(documents, **both, **shingles)


# ---------------------------------------------------------------------------------------------- oracle


@given(jobs(), st.sampled_from([1, 2, 5]), st.booleans())
@settings(max_examples=50)
def test_as_brute_force(job, width, labelled):
    documents, both, how = job
    ours, theirs = both_ways(documents, both, how, width=width, labelled=labelled)
    agrees(ours, theirs)
    assert ours.common == []
    for threshold in {both["threshold"], min(1.0, both["threshold"] + 0.1), 1.0}:
        agrees(ours.rethreshold(threshold), reference.near_duplicates(
            documents, **{**both, "threshold": threshold}, width=width, labelled=labelled))  # fmt: skip


@given(jobs(), st.sampled_from([("char", None), ("line", None), ("byte", None), ("word", "NFKC"), ("char", "NFKC")]),
       st.sampled_from(["whole", "skip"]))  # fmt: skip
@settings(max_examples=20)
def test_other_units_as_brute_force(job, unit, short):
    documents, both, how = job
    keep = both["keep"] if isinstance(both["keep"], str) else "first"
    both = {**both, "keep": keep, "by": None, "one_per": None, "against": documents[15:20]}
    agrees(*both_ways(documents[:15], both, how, unit=unit[0], normalize=unit[1], width=4, short=short))


def sets_of(documents, width=5) -> list[set[int]]:
    return [set(shingling.fingerprints(document, width=width)) for document in documents]


@given(st.integers(0, 10**9), st.sampled_from([2, 3, 5, 8]), st.sampled_from(["star", "greedy"]), st.booleans(),
       st.sampled_from([0.5, 0.8]), st.booleans())  # fmt: skip
@settings(max_examples=20)
def test_promises_where_features_are_common(seed, max_holders, cluster, by_group, threshold, against):
    # Long runs: not every pair is looked at, yet every dropped document resembles the kept one that represents it, and
    # kept ones do not resemble each other.
    rng = random.Random(seed)
    documents = corpus(rng, 50, 25)
    old = corpus(rng, 10, 25) if against and not by_group else []
    by = [rng.randrange(2) for _ in documents] if by_group else None
    result = nd.near_duplicates(documents, threshold=threshold, cluster=cluster, by=by, max_holders=max_holders,
                                against=old or None, shingling=WORDS, **EVERY_PAIR)  # fmt: skip
    everything = [*documents, *old]
    sets, groups = sets_of(everything, 1), [*(by or [0] * len(documents)), *[0] * len(old)]
    for i, label in enumerate(result.labels.tolist()):
        assert label >= len(documents) or result.labels[label] == label
        assert groups[label] == groups[i]
        if result.classes[i] == "near":
            assert exact.resemblance(sets[i], sets[label]) == result.resemblance[i] >= threshold
        elif result.classes[i] == "shingle":
            assert sets[i] == sets[label]
    for a, b, measured in zip(*result.pairs, strict=True):
        assert a < b and groups[a] == groups[b]
        assert np.isnan(measured) if not sets[a] else measured == exact.resemblance(sets[a], sets[b]) >= threshold
    kept = result.kept.tolist() + list(range(len(documents), len(everything)))
    for i in result.kept.tolist():
        for j in kept:
            if i != j and groups[i] == groups[j]:
                assert not exact.resemblance(sets[i], sets[j]) >= threshold, (i, j)


def test_a_giant_cluster_does_not_escape():
    # 300 documents share every feature; runs hold at most 4, so none is expanded, and all join the first.
    documents = [TEN + " " + "tail " * (i + 1) for i in range(300)] + ["apart from all of these"]
    result = nd.near_duplicates(documents, shingling=WORDS, max_holders=4, **EVERY_PAIR)
    assert result.kept.tolist() == [0, 300]
    assert set(result.classes[1:300]) == {"shingle"}
    assert {(run["holders"], run["representatives"]) for run in result.common} == {(300, 1)}
    assert {run["example"] for run in result.common} == {0} and len(result.common) == 100


def test_no_representative_of_a_long_run_is_left_out():
    # 40 documents share one word in two, so a feature now and then; they do not resemble each other. Each has a copy.
    documents = [f"same words in all of them {i} {i}a {i}b {i}c {i}d {i}e {i}f {i}g {i}h" for i in range(40)]
    documents += [text + " too" for text in documents]
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.9, max_holders=3, **EVERY_PAIR)
    assert result.kept.tolist() == list(range(40)) and result.labels[40:].tolist() == list(range(40))
    assert max(run["representatives"] for run in result.common) > 3


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_the_automatic_filter_misses_few_and_invents_none(seed):
    # auto: every pair is exact and among the pairs of brute force; at most 1 in 1000 at the threshold is missed, and these
    # corpora (fixed seeds) have fewer than 200 pairs.
    documents = corpus(random.Random(seed), 40)
    result = nd.near_duplicates(documents)
    theirs = reference.near_duplicates(documents, threshold=0.8)
    pairs = listed(result.pairs)
    assert set(pairs) <= set(listed(theirs.pairs)) and len(pairs) == len(theirs.pairs) < 200
    assert result.labels.tolist() == theirs.labels
    assert result.filter.miss <= 1e-3 and result.filter.threshold == 0.8


# ---------------------------------------------------------------------------------------------- digests


@given(st.integers(0, 10**9), st.sampled_from(["first", "longest"]), st.sampled_from(["whole", "skip"]), st.booleans())
@settings(max_examples=15)
def test_digests_of_suspects_decide_as_digests_of_all_do(seed, keep, short, sketched):
    # Many documents of few words: most of them are identical or lexically equivalent to several others.
    rng = random.Random(seed)
    documents, old = corpus(rng, 60, vocabulary=6), corpus(rng, 20, vocabulary=6)
    documents += rng.choices([*documents, *old], k=60)
    against = with_digests(old, nd.MinHasher(100)) if sketched and short == "whole" else old
    how = {"against": against, "keep": keep, "shingling": nd.Shingling(short=short), **EVERY_PAIR}
    suspects, everything = nd.near_duplicates(documents, **how), nd.near_duplicates(Whole(documents), **how)
    equal(suspects, everything)
    np.testing.assert_array_equal(suspects.sketches.digests, everything.sketches.digests)


def test_digests_are_taken_where_they_decide():
    result = nd.near_duplicates([TEN, "other words", "...", TEN + "!", "yet other words"])
    assert result.sources.known.tolist() == [True, False, True, True, False]
    assert nd.near_duplicates([TEN, TEN + "!"], shingling=nd.Shingling(unit=str.split)).sources.known.all()


def test_equal_signatures_of_unequal_tokens():
    # Lines whose polynomials differ by a multiple of Q have one symbol, hence one signature; digests tell them apart.
    line = b"a line of more than eight bytes"
    forged = (int.from_bytes(line, "big") ^ rabin.TOKEN_POLYNOMIAL << 64).to_bytes(len(line), "big")
    assert forged.split() and b"\n" not in forged and b"\r" not in forged and forged != line
    documents = [line, forged, line + b"\n", forged, b" " + forged]
    ours, theirs = both_ways(documents, {"threshold": 0.8}, {}, unit="line")
    agrees(ours, theirs)
    assert ours.classes.tolist() == ["kept", "shingle", "lexical", "shingle", "shingle"]
    ours, theirs = both_ways(documents, {"threshold": 0.8, "verify": "tokens"}, {}, unit="line")
    agrees(ours, theirs)
    assert ours.classes.tolist() == ["kept", "kept", "lexical", "identical", "lexical"]


# ---------------------------------------------------------------------------------------------- sketches for texts


def by_estimates(rows, leaders, valid, n, threshold, order) -> list[tuple[int, int, float]]:
    heads = [i for i in range(len(rows)) if leaders[i] == i and valid[i]]
    measured = [(a, b, float((rows[a] == rows[b]).sum()) / rows.shape[1]) for a in heads for b in heads if a < b and a < n]
    return [pair for pair in measured if pair[2] >= threshold]


@pytest.mark.parametrize("digests", [True, False])
@given(st.integers(0, 10**9), st.sampled_from([0.5, 0.8]))
@settings(max_examples=20)
def test_sketches_stand_for_texts(digests, seed, threshold):
    # Pairs follow from the estimates; identical and lexically equal documents are known only by digests.
    documents = corpus(random.Random(seed), 40)
    sketcher = nd.MinHasher(100)
    sketches = with_digests(documents, sketcher) if digests else sketcher.sketch_many(documents)
    result = nd.near_duplicates(sketches, threshold=threshold, filter=BANDS)
    theirs = reference.near_duplicates(documents, threshold=1.0)
    n = len(documents)
    order = list(range(n))
    valid = sketches.valid.tolist()
    rows = np.array([sketches[i] for i in order])
    leaders = order
    if digests:  # brute force at threshold 1 tells which documents are identical or lexically equivalent
        same = {i: theirs.labels[i] for i in order if theirs.classes[i] in ("identical", "lexical")}
        leaders = [same.get(i, i) for i in order]
        if any(name == "shingle" for name in theirs.classes):
            return  # a copy of a shingle-equivalent document: its leader is not its label at threshold 1
    pairs = by_estimates(rows, leaders, valid, n, threshold, order)
    assert list(zip(*(column.tolist() for column in result.pairs.where(result.verified)), strict=True)) == pairs
    heads = clustering.star(n, pairs, order)
    assert result.labels.tolist() == [heads[leader] for leader in leaders]
    assert result.estimated.tolist() == result.verified.tolist()
    assert ("identical" in result.classes) is (digests and "identical" in theirs.classes)
    assert "shingle" not in result.classes  # an estimate of 1 proves nothing


def test_saved_sketches_with_digests_are_a_collection(tmp_path):
    old = [TEN, "something else entirely, of other words than these", "..."]
    with_digests(old, nd.MinHasher(100)).save(tmp_path / "old.nds")
    texts = [TEN.upper(), "new", "...", TEN, "Something else entirely, of other words than these!"]
    result = nd.near_duplicates(texts, against=nd.load(tmp_path / "old.nds"), filter=BANDS)
    assert result.labels.tolist() == [5, 1, 7, 5, 6]
    assert result.classes.tolist() == ["lexical", "kept", "identical", "identical", "lexical"]
    mapped = nd.near_duplicates(texts, against=nd.load(tmp_path / "old.nds", mmap=True), filter=BANDS)
    equal(result, mapped)
    near = nd.near_duplicates([TEN + " ten"], against=nd.load(tmp_path / "old.nds"), filter=BANDS, threshold=0.5)
    assert near.classes.tolist() == ["near"] and near.estimated.tolist() == [True]
    assert near.resemblance[0] == (near.sketches[0] == nd.load(tmp_path / "old.nds")[0]).mean()
    both = nd.near_duplicates(near.sketches, against=nd.load(tmp_path / "old.nds"), filter=BANDS, threshold=0.5)
    assert both.labels.tolist() == [1]


def test_expected_spurious_matches_of_sketches():
    # Pairs judged by signatures alone, times P(Binomial(groups, 2^-bits) >= need); "..." has no shingles.
    texts, others = [TEN, "b", "c", "d", "..."], ["e", "f", "g"]
    three = nd.FilterDesign.of(3, 1, 2, threshold=0.5)
    chance = 3 * 2.0**-64  # two of three features of one minimum of 32 bits; the term of all three is 2^-32 of that
    sketches, old = (nd.MinHasher(3).sketch_many(documents) for documents in (texts, others))

    def expected(new: Any, against: Any = None, filter: nd.FilterDesign = three) -> float:
        return nd.near_duplicates(new, against=against, filter=filter, num_perm=3, threshold=0.5).expected_spurious

    close = partial(pytest.approx, rel=1e-9, abs=0)  # by default 1e-12, which is larger than all these
    assert expected(texts) == expected(texts, others) == expected(sketches[:1]) == 0.0
    assert expected(sketches) == close(6 * chance)
    assert expected(sketches, old) == expected(sketches, others) == close((6 + 12) * chance)
    assert expected(texts, old) == close(12 * chance)
    assert expected(sketches, None, nd.FilterDesign.of(1, 3, 1, threshold=0.5)) == close(6 * 2.0**-64)
    assert expected(sketches[:0]) == 0.0


def test_pairs_missed_by_estimates():
    # 3 minima at 0.5: a pair stays if at most one of them is equal; with texts nothing is estimated.
    texts = [TEN, "b", "c", "d"]
    sketches, filter = nd.MinHasher(3).sketch_many(texts), nd.FilterDesign.of(3, 1, 1, threshold=0.5)
    assert nd.near_duplicates(sketches, filter=filter, threshold=0.5).missed_by_estimate == pytest.approx(0.5)
    assert nd.near_duplicates(texts, filter=filter, num_perm=3, threshold=0.5).missed_by_estimate == 0.0
    # Simulated: the share of pairs with independent minima that agree with probability 0.8 and whose estimate is below 0.8.
    equal = np.random.default_rng(1).random((100_000, 84)) < 0.8
    stay = (equal.mean(1) < 0.8).mean()
    result = nd.near_duplicates(nd.MinHasher(84).sketch_many(texts))
    assert result.missed_by_estimate == pytest.approx(stay, abs=0.008)  # 5 standard deviations


def test_sketches_explain_by_estimates():
    result = nd.near_duplicates(nd.MinHasher(84).sketch_many([TEN, TEN + " more", "x y z a b c"]), threshold=0.5)
    told = result.explain(0, 1)
    assert told.exact is None and told.resemblance == told.estimate == result.sketches.resemblance(0, 1)
    assert told.verdict == "near" and result.explain(0, 2).verdict == "different"


def test_mixing_recipes_is_refused():
    sketches = nd.MinHasher(84).sketch_many(["a"])
    for call, difference in [
        (lambda: nd.near_duplicates(sketches, against=nd.MinHasher(84, seed=3).sketch_many(["a"])), "seed is 1 here and 3"),
        (lambda: nd.near_duplicates(sketches, against=nd.MinHasher(90).sketch_many(["a"])), "num_perm is 84 here and 90"),
        (lambda: nd.near_duplicates(sketches, shingling=nd.Shingling(width=3)), "shingling.width is 5 here and 3"),
        (lambda: nd.near_duplicates(["a"], against=sketches, shingling=nd.Shingling("char")), "shingling.unit is 'word'"),
    ]:
        with pytest.raises(nd.RecipeMismatch, match=difference):
            call()
