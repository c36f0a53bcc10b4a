"""The main job beside brute force (`ndcore.reference.dedup`), over generated corpora and all parameters.

The filter of most tests is 100 groups of one minimum, one needed: at the lowest threshold here, 0.3, it misses a pair
with probability 0.7^100 < 10^-15, so the engine must give what brute force gives. Seeds are fixed.
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
import sys
from typing import Any

import numpy as np
import pytest
from generated import corpus
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import clustering, gf2, shingling
from ndcore.reference import dedup as reference
from ndcore.reference import resemblance as exact
from ndcore.text.inputs import Extracted

EVERYTHING = nd.FilterDesign.of(100, 1, 1, threshold=0.5)
COMPLETE: dict[str, Any] = {"filter": EVERYTHING, "num_perm": 100}
TEN = "one two three four five six seven eight nine ten"
WORDS = nd.Shingling(width=1)


@pytest.fixture(autouse=True, scope="module")
def remembered():
    """The reference forms the same shingle sets again for every threshold: each is worth forming once."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fingerprints", "symbol"):
            patch.setattr(shingling, name, functools.cache(getattr(shingling, name)))
        yield


def listed(pairs):
    """Pairs as tuples that are equal where they say the same: None for nan."""
    rows = zip(*(column.tolist() for column in pairs), strict=True) if isinstance(pairs, tuple) else pairs
    return [(a, b, None if np.isnan(r) else r) for a, b, r in rows]


def agrees(ours: nd.NearDuplicates, theirs: reference.Result) -> None:
    assert ours.labels.tolist() == theirs.labels
    assert ours.classes.tolist() == theirs.classes
    np.testing.assert_array_equal(ours.resemblance, np.array(theirs.resemblance, np.float64))
    assert listed(ours.pairs) == listed(theirs.pairs)
    assert ours.valid.tolist() == theirs.valid
    assert ours.kept.tolist() == theirs.kept
    assert ours.duplicates.tolist() == theirs.duplicates
    assert ours.representatives.tolist() == theirs.representatives
    assert not ours.estimated.any() and len(ours.estimated) == len(theirs.pairs)


def equal(a: nd.NearDuplicates, b: nd.NearDuplicates) -> None:
    for name in ("labels", "classes", "resemblance", "kept", "duplicates", "representatives", "estimated", "valid"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for ours, theirs in zip(a.pairs, b.pairs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(a.sketches.values, b.sketches.values)
    assert (a.filter, a.common, a.threshold, a.invalid_bytes) == (b.filter, b.common, b.threshold, b.invalid_bytes)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """(documents, parameters of both, how the engine goes about it)."""
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
    ours = nd.near_duplicates(given_texts, shingling=nd.Shingling(**shingles), **COMPLETE, **both, **how)
    return ours, reference.near_duplicates(documents, **both, **shingles)


# ---------------------------------------------------------------------------------------------- literals


def test_verdicts_strongest_first():
    """Width 1: TEN and 'one … nine eleven' share 9 of 11 words."""
    texts = [TEN, TEN, TEN.upper() + "!", TEN + " ten", "one two three four five six seven eight nine eleven", "else"]
    result = nd.near_duplicates(texts, shingling=WORDS)
    assert result.labels.tolist() == [0, 0, 0, 0, 0, 5]
    assert result.classes.tolist() == ["kept", "identical", "lexical", "shingle", "near", "kept"]
    assert result.resemblance.tolist() == [1.0, 1.0, 1.0, 1.0, 9 / 11, 1.0]
    assert [column.tolist() for column in result.pairs] == [[0, 0, 0, 0, 3], [1, 2, 3, 4, 4], [1.0] * 3 + [9 / 11] * 2]
    assert result.kept.tolist() == [0, 5] and result.duplicates.tolist() == [1, 2, 3, 4]
    assert result.representatives.tolist() == [0]
    assert repr(result).endswith("2 kept, 1 identical, 1 lexical, 1 shingle, 1 near>")
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.82).labels.tolist() == [0, 0, 0, 0, 4, 5]
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=9 / 11).labels.tolist() == [0, 0, 0, 0, 0, 5]


def test_one_document_of_every_label():
    """The newest capture of every page, whatever its text; what it duplicates stands for its older ones too."""
    texts = [TEN, "old words", TEN + " and", "new words", "new words"]
    pages = ["a", "b", "a", "b", "c"]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=pages, keep=lambda: [-4, -1, -5, -2, -3])
    assert result.labels.tolist() == [2, 4, 2, 4, 4]
    assert result.classes.tolist() == ["version", "version", "kept", "identical", "kept"]
    assert np.isnan(result.resemblance[:2]).all()
    assert repr(result).endswith("2 kept, 1 identical, 0 lexical, 0 shingle, 0 near, 2 version>")
    assert result.rethreshold(0.9).labels.tolist() == [2, 4, 2, 4, 4]
    assert result.explain(0, 2).verdict == "version"
    with pytest.raises(ValueError, match=r"one_per has shape \(2,\); there are 5 documents"):
        nd.near_duplicates(texts, one_per=["a", "b"])


def test_labels_are_equal_only_where_their_values_are():
    """NumPy would make 1 and "1" one string, cut zeros off the ends of strings, and take all of NaN for one label."""
    texts = ["some words", "other words", "more words", "last words"]
    result = nd.near_duplicates(texts, one_per=[1, "1", "a", "a\0"])
    assert result.labels.tolist() == [0, 1, 2, 3]
    assert nd.near_duplicates(["x y z"] * 4, by=[1, "1", "a", "a\0"]).labels.tolist() == [0, 1, 2, 3]
    for missing in (None, float("nan")):
        for labels in (["a", missing, "b", missing], np.array(["a", missing, "b", missing], object)):
            with pytest.raises(ValueError, match=f"one_per: the label of document 1 is {missing}, a missing value"):
                nd.near_duplicates(texts, one_per=labels)
    with pytest.raises(ValueError, match="by: the label of document 1 is nan"):
        nd.near_duplicates(texts, by=np.array([1.0, np.nan, 2.0, np.nan]))


def test_a_chain_is_merged_by_components_and_not_by_star():
    """A chain of ten-word documents, each with three words changed: neighbours share 7 of 13, the ends 4 of 16."""
    words = [f"w{i}" for i in range(16)]
    texts = [" ".join(words[start : start + 10]) for start in (0, 3, 6)]
    merged = nd.near_duplicates(texts, shingling=WORDS, threshold=0.5, cluster="components")
    assert merged.labels.tolist() == [0, 0, 0]
    assert merged.classes.tolist() == ["kept", "near", "near"]
    assert merged.resemblance.tolist() == [1.0, 7 / 13, 4 / 16]  # below the threshold, and said
    for cluster in ("star", "greedy"):
        apart = nd.near_duplicates(texts, shingling=WORDS, threshold=0.5, cluster=cluster)
        assert apart.labels.tolist() == [0, 0, 2]
        assert apart.resemblance.tolist() == [1.0, 7 / 13, 1.0]


def test_the_default_threshold_is_inclusive_and_exact():
    """4 of 5 words: float64(4) / float64(5) >= 0.8."""
    result = nd.near_duplicates(["a b c d", "a b c d e"], shingling=WORDS)
    assert result.labels.tolist() == [0, 0] and result.threshold == 0.8
    above = nd.near_duplicates(["a b c d", "a b c d e"], shingling=WORDS, threshold=np.nextafter(0.8, 1))
    assert above.labels.tolist() == [0, 1]


def test_documents_without_shingles_are_only_identical():
    texts = ["", "...", "...", "?!", b"...", "word", ""]
    result = nd.near_duplicates(texts)
    assert result.labels.tolist() == [0, 1, 1, 3, 1, 5, 0]
    assert result.classes.tolist() == ["kept", "kept", "identical", "kept", "identical", "kept", "identical"]
    assert np.isnan(result.resemblance[[2, 4, 6]]).all() and not result.valid[:5].any()
    skipping = nd.Shingling(short="skip")
    assert nd.near_duplicates(["One two", "one two", "one two"], shingling=skipping).labels.tolist() == [0, 1, 1]


def test_documents_without_shingles_are_identical_by_what_they_were_extracted_from():
    """Beside brute force; in one call, against another corpus, from sketches, and in clusters."""
    rng = random.Random(7)
    originals = [rng.choice(["<a>", "<b>", "<c>", ""]) for _ in range(60)]
    documents = [rng.choice(["", "...", "a few words", "A few words!"]) for _ in range(60)]
    texts = [Extracted.of(text, original) for text, original in zip(documents, originals, strict=True)]
    agrees(nd.near_duplicates(texts), reference.near_duplicates(documents, threshold=0.8, originals=originals))
    agrees(nd.near_duplicates(Whole(texts)), reference.near_duplicates(documents, threshold=0.8, originals=originals))
    agrees(nd.near_duplicates(texts[:30], against=texts[30:]),
           reference.near_duplicates(documents[:30], threshold=0.8, against=documents[30:], originals=originals))
    sketches = nd.near_duplicates(texts).sketches
    assert nd.near_duplicates(sketches).kept.tolist() == nd.near_duplicates(texts).kept.tolist()
    found = nd.cluster(texts)
    assert found.labels.tolist() == nd.near_duplicates(texts).labels.tolist()


def test_what_is_there_already_is_not_dropped():
    near = "one two three four five six seven eight nine eleven"
    result = nd.near_duplicates([near, "new words", TEN], shingling=WORDS, against=[TEN, TEN + "."], keep="longest")
    assert result.labels.tolist() == [3, 1, 3]
    assert result.classes.tolist() == ["near", "kept", "identical"]
    assert result.representatives.tolist() == [3]
    assert len(result.sketches) == 3


def test_no_documents_at_all():
    for texts in ([], iter([]), np.array([], "U1")):
        result = nd.near_duplicates(texts)
        assert (len(result.labels), len(result.pairs.a), len(result.sketches)) == (0, 0, 0)
    assert nd.near_duplicates(["a"], against=[]).labels.tolist() == [0]
    assert nd.near_duplicates([], against=["a"]).kept.tolist() == []


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
    """Long runs: not every pair is looked at, yet every dropped document resembles the kept one that represents it, and
    kept ones do not resemble each other, as long as no run was cut."""
    rng = random.Random(seed)
    documents = corpus(rng, 50, 25)
    old = corpus(rng, 10, 25) if against and not by_group else []
    by = [rng.randrange(2) for _ in documents] if by_group else None
    result = nd.near_duplicates(documents, threshold=threshold, cluster=cluster, by=by, max_holders=max_holders,
                                against=old or None, shingling=WORDS, **COMPLETE)  # fmt: skip
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
    if any(run["cut"] for run in result.common):
        return
    kept = result.kept.tolist() + list(range(len(documents), len(everything)))
    for i in result.kept.tolist():
        for j in kept:
            if i != j and groups[i] == groups[j]:
                assert not exact.resemblance(sets[i], sets[j]) >= threshold, (i, j)


def test_a_giant_cluster_does_not_escape():
    """300 documents share every feature; runs hold at most 4, so none is expanded, and all join the first."""
    documents = [TEN + " " + "tail " * (i + 1) for i in range(300)] + ["apart from all of these"]
    result = nd.near_duplicates(documents, shingling=WORDS, max_holders=4, **COMPLETE)
    assert result.kept.tolist() == [0, 300]
    assert set(result.classes[1:300]) == {"shingle"}
    assert {(run["holders"], run["representatives"], run["cut"]) for run in result.common} == {(300, 1, 0)}
    assert {run["example"] for run in result.common} == {0} and len(result.common) == 100


def test_what_is_cut_is_counted():
    """40 documents share one word in two, so a feature now and then; they do not resemble each other."""
    documents = [f"same words in all of them {i} {i}a {i}b {i}c {i}d {i}e" for i in range(40)]
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.9, max_holders=3, **COMPLETE)
    assert result.kept.tolist() == list(range(40))
    cut = [run for run in result.common if run["cut"]]
    assert cut
    for run in cut:
        assert run["representatives"] == 3 and run["cut"] == run["holders"] - 3 > 0


@given(st.integers(0, 10**9))
@settings(max_examples=25)
def test_the_automatic_filter_misses_few_and_invents_none(seed):
    """auto: every pair is exact and among those of brute force; at most 1 in 1000 at the threshold is missed, and these
    corpora (fixed seeds) have fewer than 200 pairs."""
    documents = corpus(random.Random(seed), 40)
    result = nd.near_duplicates(documents)
    theirs = reference.near_duplicates(documents, threshold=0.8)
    pairs = listed(result.pairs)
    assert set(pairs) <= set(listed(theirs.pairs)) and len(pairs) == len(theirs.pairs) < 200
    assert result.labels.tolist() == theirs.labels
    assert result.filter.miss <= 1e-3 and result.filter.threshold == 0.8


# ---------------------------------------------------------------------------------------------- digests


class Whole:
    """A corpus of which nothing can be left out."""

    def __init__(self, documents: list[Any]) -> None:
        self.documents = documents

    def batches(self):
        return iter([self.documents[:7], self.documents[7:]])


@given(st.integers(0, 10**9), st.sampled_from(["first", "longest"]), st.sampled_from(["whole", "skip"]), st.booleans())
@settings(max_examples=15)
def test_digests_of_suspects_decide_as_digests_of_all_do(seed, keep, short, sketched):
    """Many documents of few words: most of them are identical or lexically equivalent to several others."""
    rng = random.Random(seed)
    documents, old = corpus(rng, 60, vocabulary=6), corpus(rng, 20, vocabulary=6)
    documents += rng.choices([*documents, *old], k=60)
    against = with_digests(old, nd.MinHasher(100)) if sketched and short == "whole" else old
    how = {"against": against, "keep": keep, "shingling": nd.Shingling(short=short), **COMPLETE}
    suspects, everything = nd.near_duplicates(documents, **how), nd.near_duplicates(Whole(documents), **how)
    equal(suspects, everything)
    np.testing.assert_array_equal(suspects.sketches.digests, everything.sketches.digests)


def test_digests_are_taken_where_they_decide():
    result = nd.near_duplicates([TEN, "other words", "...", TEN + "!", "yet other words"])
    assert result.sources.known.tolist() == [True, False, True, True, False]
    assert nd.near_duplicates([TEN, TEN + "!"], shingling=nd.Shingling(unit=str.split)).sources.known.all()


def test_equal_signatures_of_unequal_tokens():
    """Lines whose polynomials differ by a multiple of Q have one symbol, hence one signature; digests tell them apart."""
    line = b"a line of more than eight bytes"
    forged = (int.from_bytes(line, "big") ^ gf2.TOKEN_POLYNOMIAL << 64).to_bytes(len(line), "big")
    assert forged.split() and b"\n" not in forged and b"\r" not in forged and forged != line
    documents = [line, forged, line + b"\n", forged, b" " + forged]
    ours, theirs = both_ways(documents, {"threshold": 0.8}, {}, unit="line")
    agrees(ours, theirs)
    assert ours.classes.tolist() == ["kept", "shingle", "lexical", "shingle", "shingle"]
    ours, theirs = both_ways(documents, {"threshold": 0.8, "verify": "tokens"}, {}, unit="line")
    agrees(ours, theirs)
    assert ours.classes.tolist() == ["kept", "kept", "lexical", "identical", "lexical"]


# ---------------------------------------------------------------------------------------------- sketches for texts


def with_digests(documents, sketcher) -> nd.Sketches:
    return nd.near_duplicates(documents, num_perm=sketcher.num_perm, shingling=sketcher.shingling, filter=nd.FilterDesign.of(
        1, 1, 1, threshold=0.8)).sketches  # fmt: skip


def by_estimates(rows, leaders, valid, n, threshold, order) -> list[tuple[int, int, float]]:
    heads = [i for i in range(len(rows)) if leaders[i] == i and valid[i]]
    measured = [(a, b, float((rows[a] == rows[b]).sum()) / rows.shape[1]) for a in heads for b in heads if a < b and a < n]
    return [pair for pair in measured if pair[2] >= threshold]


@pytest.mark.parametrize("digests", [True, False])
@given(st.integers(0, 10**9), st.sampled_from([0.5, 0.8]))
@settings(max_examples=20)
def test_sketches_stand_for_texts(digests, seed, threshold):
    """Pairs are those of the estimates; identical and lexically equal documents are known only by digests."""
    documents = corpus(random.Random(seed), 40)
    sketcher = nd.MinHasher(100)
    sketches = with_digests(documents, sketcher) if digests else sketcher.sketch_many(documents)
    result = nd.near_duplicates(sketches, threshold=threshold, filter=EVERYTHING)
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
    assert "shingle" not in result.classes  # an estimate of 1 is no proof


def test_saved_sketches_with_digests_are_a_collection(tmp_path):
    old = [TEN, "something else entirely, of other words than these", "..."]
    with_digests(old, nd.MinHasher(100)).save(tmp_path / "old.nds")
    texts = [TEN.upper(), "new", "...", TEN, "Something else entirely, of other words than these!"]
    result = nd.near_duplicates(texts, against=nd.load(tmp_path / "old.nds"), filter=EVERYTHING)
    assert result.labels.tolist() == [5, 1, 7, 5, 6]
    assert result.classes.tolist() == ["lexical", "kept", "identical", "identical", "lexical"]
    mapped = nd.near_duplicates(texts, against=nd.load(tmp_path / "old.nds", mmap=True), filter=EVERYTHING)
    equal(result, mapped)
    near = nd.near_duplicates([TEN + " ten"], against=nd.load(tmp_path / "old.nds"), filter=EVERYTHING, threshold=0.5)
    assert near.classes.tolist() == ["near"] and near.estimated.tolist() == [True]
    assert near.resemblance[0] == (near.sketches[0] == nd.load(tmp_path / "old.nds")[0]).mean()
    both = nd.near_duplicates(near.sketches, against=nd.load(tmp_path / "old.nds"), filter=EVERYTHING, threshold=0.5)
    assert both.labels.tolist() == [1]


def test_expected_spurious_matches_of_sketches():
    """Pairs judged by signatures alone, times P(Binomial(groups, 2^-bits) >= need); "..." has no shingles."""
    texts, others = [TEN, "b", "c", "d", "..."], ["e", "f", "g"]
    three = nd.FilterDesign.of(3, 1, 2, threshold=0.5)
    chance = 3 * 2.0**-64  # two of three features of one minimum of 32 bits; the term of all three is 2^-32 of that
    sketches, old = (nd.MinHasher(3).sketch_many(documents) for documents in (texts, others))

    def expected(new: Any, against: Any = None, filter: nd.FilterDesign = three) -> float:
        return nd.near_duplicates(new, against=against, filter=filter, num_perm=3, threshold=0.5).expected_spurious

    assert expected(texts) == expected(texts, others) == expected(sketches[:1]) == 0.0
    assert expected(sketches) == pytest.approx(6 * chance)
    assert expected(sketches, old) == expected(sketches, others) == pytest.approx((6 + 12) * chance)
    assert expected(texts, old) == pytest.approx(12 * chance)
    assert expected(sketches, None, nd.FilterDesign.of(1, 3, 1, threshold=0.5)) == pytest.approx(6 * 2.0**-64)
    assert expected(sketches[:0]) == 0.0


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


# ---------------------------------------------------------------------------------------------- determinism

CORPUS = corpus(random.Random(20), 120)


@pytest.mark.parametrize(
    "how",
    [
        {"threads": 1}, {"threads": 2}, {"threads": 7}, {"memory_limit": 300}, {"memory_limit": 5000}, {"verify": "tokens"},
        {"memory_limit": 300, "threads": 3, "verify": "tokens"}, {"progress": lambda stage, done, total: None},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("max_holders", [1000, 6])
def test_how_it_is_done_does_not_matter(how, max_holders):
    common = {"threshold": 0.5, "max_holders": max_holders, "shingling": WORDS}
    equal(nd.near_duplicates(CORPUS, **common), nd.near_duplicates(CORPUS, **common, **how))


@pytest.mark.parametrize("given_as", [iter, tuple, lambda texts: (text for text in texts)])
def test_how_texts_are_given_does_not_matter(given_as):
    texts = list(dict.fromkeys(CORPUS))
    equal(nd.near_duplicates(texts, threshold=0.5), nd.near_duplicates(given_as(texts), threshold=0.5))


class Pages:
    """A corpus of the user's own: batches, again and again."""

    def __init__(self, texts, size):
        self.texts, self.size, self.passes = texts, size, 0

    def batches(self):
        self.passes += 1
        return (self.texts[i : i + self.size] for i in range(0, len(self.texts), self.size))


def test_a_corpus_is_read_in_batches():
    expected = nd.near_duplicates(CORPUS, threshold=0.5, against=CORPUS[:7])
    pages = Pages(CORPUS, 13)
    result = nd.near_duplicates(pages, threshold=0.5, against=Pages(CORPUS[:7], 2))
    equal(result, expected)
    assert pages.passes == 2
    assert str(result.explain(3, 125)) == str(expected.explain(3, 125))
    assert pages.passes == 3


def test_str_and_its_bytes_are_the_same_document():
    texts = [text if isinstance(text, str) else text.decode() for text in CORPUS]
    equal(nd.near_duplicates(texts, threshold=0.5), nd.near_duplicates([text.encode() for text in texts], threshold=0.5))


def test_what_is_kept_does_not_depend_on_input_order_by_priorities():
    texts = list(dict.fromkeys(text if isinstance(text, str) else text.decode() for text in CORPUS))
    rank = np.arange(len(texts))
    kept = {texts[i] for i in nd.near_duplicates(texts, threshold=0.5, **COMPLETE).kept}
    shuffled = np.array(random.Random(3).sample(range(len(texts)), len(texts)))
    result = nd.near_duplicates([texts[i] for i in shuffled], threshold=0.5, keep=rank[shuffled], **COMPLETE)
    assert {texts[shuffled[i]] for i in result.kept} == kept


def test_callables_are_asked_after_the_texts_were_read():
    seen: list[str] = []

    def reading():
        for text in (TEN, TEN, "other words than these"):
            seen.append(text)
            yield text

    def asked(answer):
        def call():
            assert len(seen) == 3
            return answer

        return call

    result = nd.near_duplicates(reading(), keep=asked([2, 1, 0]), by=asked(["x", "x", "y"]))
    assert result.labels.tolist() == [1, 1, 2]


def test_the_seed_is_used():
    one, two = (nd.near_duplicates([TEN], seed=seed).sketches for seed in (1, 2))
    assert (one.recipe["seed"], two.recipe["seed"]) == (1, 2) and (one.values != two.values).any()


# ---------------------------------------------------------------------------------------------- the result


def test_explain_says_why():
    texts = [TEN, TEN, TEN + "!", TEN + " ten", TEN + " eleven", "quite other words", "..."]
    result = nd.near_duplicates(texts, shingling=WORDS, ids=list("abcdefg"), against=[TEN.title()])
    verdicts = {(i, j): result.explain(i, j).verdict for i, j in [*((0, j) for j in range(1, 8)), (4, 0)]}
    assert verdicts == {(0, 1): "identical", (0, 2): "lexical", (0, 3): "shingle", (0, 4): "near", (0, 5): "different",
                        (0, 6): "different", (0, 7): "lexical", (4, 0): "near"}  # fmt: skip
    told = result.explain(0, 4)
    assert (told.exact.common, told.exact.size_a, told.exact.size_b, told.exact.union) == (10, 10, 11, 11)
    assert told.resemblance == 10 / 11 and told.threshold == 0.8
    assert told.estimate == result.sketches.resemblance(0, 4) and told.interval == result.sketches.interval(0, 4)
    rows = result.sketches.values.reshape(7, -1)
    size = result.filter.group_size
    shared = sum((rows[0, g * size : (g + 1) * size] == rows[4, g * size : (g + 1) * size]).all()
                 for g in range(result.filter.groups))  # fmt: skip
    assert told.shared_features == shared and told.proposed is bool(shared >= result.filter.need)
    assert str(told).splitlines()[:2] == [
        "documents 0 and 4: near", "  resemblance 0.909091 (threshold 0.8): 10 shingles in common, 11 in all",
    ]  # fmt: skip
    assert "containment of 0 in 4 1.000000 (10 shingles), of 4 in 0 0.909091 (11 shingles)" in str(told)
    assert "nan" in str(result.explain(0, 6))
    for i, j, missing in [(0, 8, 8), (-1, 0, -1), (99, 0, 99)]:
        with pytest.raises(IndexError, match=f"there is no document {missing}; positions are 0 to 7"):
            result.explain(i, j)


def test_explain_documents_of_an_iterator():
    result = nd.near_duplicates(iter([TEN, TEN + " ten", "other"]), shingling=WORDS)
    assert result.explain(1, 0).exact.resemblance == 1.0
    assert result.explain(0, 0).exact.resemblance == 1.0


def test_rethreshold_answers_only_what_was_looked_for():
    result = nd.near_duplicates(CORPUS, threshold=0.6, **COMPLETE)
    equal(result.rethreshold(0.6), result)
    assert result.rethreshold(0.9).threshold == 0.9
    for threshold in (0.59, 1.01, float("nan"), 0):
        with pytest.raises(ValueError, match=f"threshold is {threshold}; this result can answer 0.6 to 1"):
            result.rethreshold(threshold)


def test_to_arrow():
    pytest.importorskip("pyarrow")
    result = nd.near_duplicates([TEN, TEN, "...", "..."], ids=["a", "b", "c", "d"])
    table = result.to_arrow()
    assert table.column_names == ["id", "label", "representative", "class", "resemblance", "cluster_size"]
    assert table["id"].to_pylist() == ["a", "b", "c", "d"]
    assert table["label"].to_pylist() == [0, 0, 2, 2]
    assert table["class"].to_pylist() == ["kept", "identical", "kept", "identical"]
    assert table["representative"].to_pylist() == ["a", "a", "c", "c"] and table["cluster_size"].to_pylist() == [2] * 4
    assert nd.near_duplicates([TEN]).to_arrow().column_names == ["label", "class", "resemblance", "cluster_size"]
    mixed = nd.near_duplicates([TEN, "..."], ids=[1, "b"], against=[TEN]).to_arrow()
    assert mixed["id"].to_pylist() == ["1", "b"] and mixed["representative"].to_pylist() == [None, "b"]


def test_to_pandas():
    pandas = pytest.importorskip("pandas")
    result = nd.near_duplicates([TEN, TEN + "!", "other"], ids=[7, 8, 9])
    frame = result.to_pandas()
    assert frame["id"].tolist() == [7, 8, 9] and frame["representative"].tolist() == [7, 7, 9]
    assert isinstance(frame, pandas.DataFrame) and frame[result.mask]["cluster_size"].tolist() == [2, 1]
    assert nd.cluster([TEN, TEN + "!", "other"]).to_pandas()["class"].tolist() == ["kept", "lexical", "kept"]


@pytest.mark.parametrize(("method", "package", "advice"), [
    ("to_arrow", "pyarrow", "pip install 'ndcore[parquet]'"), ("to_pandas", "pandas", "pip install 'pandas'"),
])  # fmt: skip
def test_tables_without_their_package(monkeypatch, method, package, advice):
    monkeypatch.setitem(sys.modules, package, None)
    for result in (nd.near_duplicates([TEN]), nd.cluster([TEN])):
        with pytest.raises(ImportError, match=re.escape(f"{method} needs {package}: {advice}")):
            getattr(result, method)()


def test_masks_positions_and_sizes():
    documents = [TEN, "other", TEN, TEN + " eleven", "OTHER", "alone"]
    for result in (nd.near_duplicates(documents, shingling=WORDS, threshold=0.8), nd.cluster(
            documents, sketcher=nd.ModSketcher(1, shingling=WORDS), threshold=0.8)):  # fmt: skip
        assert result.labels.tolist() == [0, 1, 0, 0, 1, 5]
        assert result.mask.tolist() == [True, True, False, False, False, True] and result.mask.dtype == np.bool_
        assert result.keep_indices.tolist() == [0, 1, 5] and result.keep_indices.dtype == np.int64
        assert result.cluster_sizes.tolist() == [3, 2, 3, 3, 2, 1] and result.cluster_sizes.dtype == np.int64
    # a document of against counts where it stands for one, once
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.8, against=[TEN, "unlike"])
    assert result.cluster_sizes.tolist() == [4, 2, 4, 4, 2, 1]
    for nothing in (nd.near_duplicates([]), nd.cluster([])):
        assert len(nothing.mask) == len(nothing.keep_indices) == len(nothing.cluster_sizes) == 0
        assert "0 documents" in nothing._repr_html_()


def test_notebooks_get_a_table_of_escaped_names():
    ids = ["<script>alert(1)</script>", "b", "\u202eevil" + "x" * 100]
    result = nd.near_duplicates([TEN, TEN, "other"], ids=ids)
    shown = result._repr_html_()
    assert "<script" not in shown and "&lt;script&gt;" in shown and "<td>identical</td><td>1</td>" in shown
    assert "1 cluster<" in shown
    hidden = nd.near_duplicates([TEN, TEN], ids=ids[2:] * 2)._repr_html_()
    assert "\u202e" not in hidden and "U+202E" in hidden and "x" * 60 not in hidden
    against = nd.near_duplicates([TEN], against=["other", TEN])._repr_html_()
    assert "document 1 of against" in against
    many = nd.near_duplicates([f"{i} {i}" for i in range(7)] * 2)._repr_html_()
    assert "The largest of 7 clusters" in many and many.count("</td><td>1</td>") == 5


def test_every_dropped_document_is_among_the_pairs():
    """Identical and lexically equivalent ones with the first of their class, by 1.0, or nan where they have no shingles."""
    documents = [TEN, "...", TEN, TEN + " eleven", TEN.upper(), "...", "alone"]
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.8)
    assert listed(result.pairs) == [(0, 2, 1.0), (0, 3, 10 / 11), (0, 4, 1.0), (1, 5, None)]
    assert result.pair_classes.tolist() == ["identical", "near", "lexical", "identical"]
    assert result.verified.tolist() == [False, True, False, False] and not result.estimated.any()
    assert set(result.duplicates.tolist()) <= {*result.pairs.a.tolist(), *result.pairs.b.tolist()}
    higher = result.rethreshold(0.95)
    assert listed(higher.pairs) == [(0, 2, 1.0), (0, 4, 1.0), (1, 5, None)]
    # those of against are not paired with each other
    against = nd.near_duplicates(["...", TEN], against=[TEN, TEN, "..."])
    assert list(zip(against.pairs.a.tolist(), against.pairs.b.tolist(), strict=True)) == [(0, 4), (1, 2)]


def test_dtypes():
    result = nd.near_duplicates(CORPUS)
    assert result.labels.dtype == result.kept.dtype == result.duplicates.dtype == np.int64
    assert result.pairs.a.dtype == result.pairs.b.dtype == np.int64
    assert result.resemblance.dtype == result.pairs.resemblance.dtype == np.float64
    assert result.classes.dtype.kind == "U" and result.valid.dtype == result.estimated.dtype == np.bool_


def test_sketches_of_a_result_are_those_of_the_sketcher():
    result = nd.near_duplicates(CORPUS)
    expected = nd.MinHasher(result.filter.num_perm).sketch_many(CORPUS)
    assert result.sketches.recipe == expected.recipe
    np.testing.assert_array_equal(result.sketches.values, expected.values)
    documents = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in CORPUS]
    tokens = [b"".join(len(token.encode()).to_bytes(8, "big") + token.encode() for token in nd.Shingling().tokens(text))
              for text in CORPUS]
    assert result.sketches.digests is not None
    for row, *both in zip(result.sketches.digests, documents, tokens, strict=True):
        assert bytes(row) == b"".join(hashlib.blake2b(data, digest_size=16).digest() for data in both)


def test_progress_tells_every_stage():
    told: list[tuple[str, int, int | None]] = []
    nd.near_duplicates([*CORPUS, TEN, TEN], threshold=0.5, progress=lambda *state: told.append(state))
    assert {stage for stage, _, _ in told} == {
        "sketching", "comparing equal signatures", "pairing", "reading candidates", "verifying"}
    for stage in ("comparing equal signatures", "pairing", "reading candidates", "verifying"):
        last = [state for state in told if state[0] == stage][-1]
        assert last[1] == last[2]


# ---------------------------------------------------------------------------------------------- errors

SKETCHES = nd.MinHasher(84).sketch_many(["a", "b"])


@pytest.mark.parametrize(
    ("texts", "how", "error", "message"),
    [
        (["a"], {"threshold": 0}, ValueError, "threshold is a resemblance above 0 and at most 1, got 0"),
        (["a"], {"threshold": 1.01}, ValueError, "got 1.01"),
        (["a"], {"threshold": float("nan")}, ValueError, "got nan"),
        (["a"], {"threshold": "0.8"}, ValueError, "got '0.8'"),
        (["a"], {"cluster": "single"}, ValueError, "cluster must be one of star, components, greedy, got 'single'"),
        (["a"], {"verify": "no"}, ValueError, "verify must be 'fingerprints' or 'tokens', got 'no'"),
        (["a"], {"max_holders": 1}, ValueError, "max_holders must be an int of at least 2, got 1"),
        (["a"], {"max_holders": 2.0}, ValueError, "got 2.0"),
        (["a"], {"memory_limit": 0}, ValueError, "memory_limit is a number of bytes from 1 on, or a size as .2G., got 0"),
        (["a"], {"threads": 0}, ValueError, "threads must be None or an int of at least 1, got 0"),
        (["a"], {"num_perm": 0}, ValueError, "num_perm"),
        (["a"], {"seed": -1}, ValueError, "seed must be an int of 0 to 2.64 - 1, got -1"),
        (["a"], {"filter": "none"}, ValueError, "filter must be 'auto' or a FilterDesign, got 'none'"),
        (["a"], {"filter": (6, 14, 2)}, ValueError, r"got \(6, 14, 2\)"),
        (["a"], {"keep": "last"}, ValueError, "keep must be 'first', 'longest' or priorities, got 'last'"),
        (["a"], {"keep": [1, 2]}, ValueError, r"keep has shape \(2,\); there are 1 documents"),
        (["a", "b"], {"keep": [1.0, float("nan")]}, ValueError, "priority of document 1 is nan"),
        (["a"], {"keep": lambda: [1, 2, 3]}, ValueError, r"keep has shape \(3,\)"),
        (["a"], {"by": ["x", "y"]}, ValueError, r"by has shape \(2,\); there are 1 documents"),
        (["a"], {"by": ["x"], "against": ["b"]}, ValueError, "by=… cannot be combined with against=…"),
        (["a"], {"ids": ["x", "y"]}, ValueError, "there are 2 ids and 1 documents"),
        (["a"], {"progress": 3}, TypeError, "progress is True, False, None or a callable"),
        ("text", {}, TypeError, r"texts is one str; give a list of documents, \[text\] for a single one"),
        (b"text", {}, TypeError, "texts is one bytes"),
        (["a"], {"against": "no file"}, FileNotFoundError, "no file"),
        (None, {}, TypeError, "texts is None"),
        (["a", None], {}, TypeError, r"document 1 is None \(a missing value\); texts are str or bytes"),
        (iter(["a", 5]), {}, TypeError, "document 1 is 5 of type int; texts are str or bytes"),
        (["a"], {"against": iter(["a", "b", None])}, TypeError, "document 2 is None"),
        (SKETCHES, {"keep": "longest"}, ValueError, "keep='longest' needs the texts; sketches do not know"),
        (SKETCHES, {"filter": nd.FilterDesign.of(100, 1, 1, threshold=0.5)}, ValueError, "84"),
        (SKETCHES, {"threshold": 0.05}, ValueError, "num_perm"),
        (nd.BottomSketcher().sketch_many(["a"]), {}, ValueError, "signatures are needed, the sketches are 'bottom'"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else None,
)  # fmt: skip
def test_refusals(texts, how, error, message):
    with pytest.raises(error, match=message):
        nd.near_duplicates(texts, **how)


def test_an_iterator_of_late_errors_names_the_position_in_all():
    def texts():
        yield from ["x" * 5_000_000] * 4  # more than one batch
        yield 3.5

    with pytest.raises(TypeError, match=r"document 4 is 3\.5 of type float"):
        nd.near_duplicates(texts(), shingling=nd.Shingling("line"))
