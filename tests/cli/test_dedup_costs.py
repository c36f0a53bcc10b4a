"""What a filter promises, and what a complete one would cost."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from deduplicated import WORDS

import ndcore as nd
from ndcore.cli import dedup_findings
from ndcore.cli.dedup_findings import cost_of_completeness, describe_filter
from ndcore.cli.dedup_output import promise
from ndcore.sketch.cardinality import BLOCK, signature_sizes

TEXTS = [" ".join(f"d{d}w{i}" for i in range(100)) for d in range(60)]


def test_filters_are_described_by_their_kind():
    lsh = nd.FilterDesign.of(6, 14, 2, threshold=0.9)
    described = describe_filter(nd.near_duplicates(["a"], threshold=0.9, filter=lsh))
    assert (described["kind"], described["groups"], described["need"], described["miss"]) == ("lsh", 6, 2, lsh.miss)
    prefix = {"kind": "prefix", "threshold": 0.8, "drop": "contained", "weighted": False, "miss": 0.0, "choice": None}
    assert describe_filter(nd.near_duplicates(["a"], drop="contained")) == prefix


def test_the_choice_of_a_filter_is_described_and_told():
    result = nd.near_duplicates([f"short document number {i} of a long list" for i in range(2048)])
    described = describe_filter(result)
    assert described["choice"] == {"complete": True, "ratio": result.filter_choice.ratio, "sampled": 1024, "fits": True}
    told = promise({"filter": described, "complete_filter": None})
    assert told.startswith("No pair at or above the threshold is missed: the filter is complete. It was chosen because the "
                           "complete filter takes about 0.")
    assert told.endswith(" of the time of LSH, by the first 1,024 documents.")


def test_the_cost_is_of_the_sets_of_compared_documents():
    # 60 documents of 100 words, one of them twice: 6,000 shingles, estimated by 84 minima each, so within 8 %.
    cost = cost_of_completeness(nd.near_duplicates([*TEXTS, TEXTS[0]], shingling=WORDS))
    assert cost["shingles"] == pytest.approx(6000, rel=0.08) and cost["shingle_bytes"] == 8 * cost["shingles"]
    assert cost["looked_up_of_100"] == pytest.approx(21, abs=0.6)


def test_the_cost_reads_a_sample_of_the_signatures_that_is_spread_over_all(monkeypatch):
    # 30 short documents of 50 shingles, then 30 of 300: 10,500 shingles. A sample of 20 takes 10 of either kind.
    texts = [" ".join(f"d{d}w{i}" for i in range(50 if d < 30 else 300)) for d in range(60)]
    result = nd.near_duplicates(texts, shingling=WORDS)
    monkeypatch.setattr(dedup_findings, "SAMPLED", 20)

    class Counted:  # the signatures, which count the rows that are read of them
        rows, read = result.sources.rows, 0

        def __getitem__(self, which):
            self.read += len(which)
            return self.rows[which]

        def __len__(self):
            return len(self.rows)

    counted = Counted()
    cost = cost_of_completeness(dataclasses.replace(result, sources=dataclasses.replace(result.sources, rows=counted)))
    assert counted.read == cost["sampled"] == 20
    assert cost["shingles"] == pytest.approx(10_500, rel=0.08)


@pytest.mark.parametrize(("n", "most"), [(0, 5), (5, 5), (6, 5), (1001, 1000), (10**6, 1000)])
def test_a_sample_has_one_position_of_each_part(n, most):
    chosen = dedup_findings._spread(n, most)
    assert len(chosen) == min(n, most) and (np.diff(chosen) > 0).all()
    assert not len(chosen) or (chosen[0] >= 0 and chosen[-1] < n and np.diff(chosen).max() <= 2 * -(-n // most))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_sizes_in_blocks_are_the_sizes_of_each_row(dtype):
    rows = np.random.default_rng(3).integers(0, np.iinfo(dtype).max, (2 * BLOCK // 84 + 5, 84), dtype) >> dtype(6)
    rows[7] = np.iinfo(dtype).max
    valid = np.arange(len(rows)) % 5 > 0
    whole = signature_sizes(rows, valid)
    assert whole.tolist() == [float(signature_sizes(rows[i : i + 1], valid[i : i + 1])[0]) for i in range(len(rows))]
    minima = (rows[1].astype(np.float64) + 0.5) / 2.0 ** (8 * rows.itemsize)
    assert whole[1] == pytest.approx(83 / np.sum(-np.log1p(-minima)))


def test_no_cost_where_there_is_nothing_to_say():
    assert cost_of_completeness(nd.near_duplicates(TEXTS, shingling=WORDS, filter="complete")) is None
    assert cost_of_completeness(nd.near_duplicates(nd.MinHasher(84).sketch_many(TEXTS))) is None
