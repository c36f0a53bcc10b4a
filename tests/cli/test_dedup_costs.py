"""What a filter promises, and what a complete one would cost."""

from __future__ import annotations

import pytest
from deduplicated import WORDS

import ndcore as nd
from ndcore.cli.dedup_costs import cost_of_completeness, describe_filter

TEXTS = [" ".join(f"d{d}w{i}" for i in range(100)) for d in range(60)]


def test_filters_are_described_by_their_kind():
    lsh, prefix = nd.FilterDesign.of(6, 14, 2, threshold=0.9), nd.near_duplicates(["a"], drop="contained").filter
    described = describe_filter(lsh)
    assert (described["kind"], described["groups"], described["need"], described["miss"]) == ("lsh", 6, 2, lsh.miss)
    assert describe_filter(prefix) == {"kind": "prefix", "threshold": 0.8, "drop": "contained", "miss": 0.0}


def test_the_cost_is_of_the_sets_of_compared_documents():
    # 60 documents of 100 words, one of them twice: 6,000 shingles, estimated by 84 minima each, so within 8 %.
    cost = cost_of_completeness(nd.near_duplicates([*TEXTS, TEXTS[0]], shingling=WORDS))
    assert cost["shingles"] == pytest.approx(6000, rel=0.08) and cost["shingle_bytes"] == 8 * cost["shingles"]
    assert cost["looked_up_of_100"] == pytest.approx(21, abs=0.6)


def test_no_cost_where_there_is_nothing_to_say():
    assert cost_of_completeness(nd.near_duplicates(TEXTS, shingling=WORDS, filter="complete")) is None
    assert cost_of_completeness(nd.near_duplicates(nd.MinHasher(84).sketch_many(TEXTS))) is None
