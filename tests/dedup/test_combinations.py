"""All options of the main job together, beside brute force (`ndcore.reference.dedup`). Seeds are fixed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from combinations import MANY_BANDS, checked, drawn
from deduplicated import BANDS, TEN, WORDS, agrees
from generated import windows
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference.clustering import star


@given(st.integers(0, 10**9))
@settings(max_examples=120)
def test_every_combination_as_brute_force(seed):
    checked(drawn(seed))


@given(st.integers(0, 10**9), st.sampled_from([1, 2, 5]))
@settings(max_examples=25)
def test_weights_as_brute_force(seed, min_df):
    job = drawn(seed)
    if job.documents:
        options, how = job.options | {"verify": "fingerprints"}, job.how | {"filter": "complete"}
        checked(replace(job, options=options, how=how, min_df=min_df))


def test_long_runs_of_bands_as_brute_force():
    # These bands miss no pair of these corpora, so documents in long runs get the labels of brute force.
    whole = 0
    for seed in range(60):
        job = replace(drawn(seed), min_df=None)  # weights need the complete filter
        if job.options["drop"] == "contained" or job.refusals():
            continue
        how = {**job.how, "filter": MANY_BANDS, "num_perm": MANY_BANDS.groups, "max_holders": (2, 3, 5)[seed % 3]}
        ours = replace(job, how=how).run()
        agrees(ours, job.expected())
        whole += ours.common != []
    assert whole >= 12


# ---------------------------------------------------------------------------------------------- sketches for texts


@pytest.mark.parametrize("options", [
    {"filter": "complete"}, {"drop": "contained"}, {"must_agree": "numbers"}, {"must_agree": len}, {"min_shingles": 1},
    {"drop_common": 0.5}, {"lost": True},
])  # fmt: skip
def test_options_that_need_the_texts_refuse_sketches(options):
    sketches = nd.MinHasher(84).sketch_many([TEN])
    for texts, against in [(sketches, None), ([TEN], sketches), (sketches, [TEN]), (sketches, sketches)]:
        with pytest.raises(ValueError, match="needs the texts; sketches do not hold the shingles"):
            nd.near_duplicates(texts, against=against, **options)


@given(st.integers(0, 10**9))
@settings(max_examples=20)
def test_reassign_by_estimates(seed):
    # Sketches without digests: documents with equal sketches are a pair with an estimate of 1.
    sketches = nd.MinHasher(100).sketch_many(windows(random.Random(seed), 40))
    result = nd.near_duplicates(sketches, threshold=0.3, filter=BANDS, reassign=True)
    rows = np.array([sketches[i] for i in range(40)])
    estimates = [[float((a == b).mean()) for b in rows] for a in rows]
    labels = star(40, [(a, b, estimates[a][b]) for a in range(40) for b in range(a + 1, 40) if estimates[a][b] >= 0.3])
    kept = [i for i in range(40) if labels[i] == i]
    assert result.labels.tolist() == [i if labels[i] == i else max(kept, key=lambda k: (estimates[i][k], -k))
                                      for i in range(40)]  # fmt: skip
    assert result.score.tolist() == result.resemblance.tolist()


# ---------------------------------------------------------------------------------------------- shares


def test_a_share_is_exceeded():
    # The words menu and page are in 20 documents; by hand, as in tests/reference/test_dedup_reference.py.
    pages, others = [f"menu page own{i} only{i}" for i in range(20)], [f"x{i}" for i in range(20)]

    def common(texts, share=0.5, **options) -> int:
        return nd.near_duplicates(texts, drop_common=share, shingling=WORDS, **options).common_shingles

    assert common([*pages, *others]) == 0  # of 40: not more than half
    assert common([*pages, *others], 0.49) == 2
    assert common([*pages, *others[:19], "...", "!"]) == 2  # documents without shingles do not count: of 39
    assert common([*pages, *others], one_per=[*range(39), 38]) == 2  # nor do versions of others: of 39
    assert common([*pages, *others[:19]], against=["y", "z"]) == 0  # both sides count: of 41
    assert common([*pages, *others[:18]], against=["y"]) == 2  # of 39
    assert common([*pages[:19], *others[:5], *[pages[0]] * 9]) == 0  # 28 of 33, but 19 leaders
