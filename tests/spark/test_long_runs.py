"""Long runs on Spark: representatives compared with what follows them, with a limit for each run."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.phases.verification import Judgement
from ndcore.spark import long_runs
from ndcore.spark.long_runs import LongRuns
from ndcore.spark.stars import choose_representatives


@pytest.mark.slow
def test_three_clusters_in_one_run(spark, work, monkeypatch):
    monkeypatch.setattr(long_runs, "WAVE", 1)  # so that waves are cut, and what was compared is kept
    limit, joined, counted = 2, {1: 0, 3: 2}, 4  # the third and the fourth representative are cut
    base = np.arange(1, 41, dtype=np.uint64)
    members = {rank: np.sort(np.append(base + np.uint64(1000 * (rank // 2)), np.uint64(7 + rank % 2))) for rank in range(6)}
    sets = spark.createDataFrame([(rank, 0, bytearray(values.tobytes())) for rank, values in members.items()],
                                 "rank bigint, part bigint, members binary")
    how = Judgement(nd.MinHasher(num_perm=8), nd.FilterDesign.of(8, 1, threshold=0.5), 0, 0.5, 0, 0)
    rows = [how.sketcher.sketch_hashes(values, [0, len(values)]).values[0] for values in members.values()]
    group = next(g for g in range(8) if all(rows[i][g] == rows[i + 1][g] for i in (0, 2, 4)))
    run = group.to_bytes(2, "big") + b"run"
    entries = spark.createDataFrame([(bytearray(run), rank) for rank in members], "run binary, rank bigint")
    runs = LongRuns(work, entries, sets, how, limit)
    none = spark.createDataFrame([], "a bigint, b bigint, resemblance double")
    pairs, labels = runs.settle(none, lambda found: choose_representatives(
        work, found, "star", first_new=0, bound=1000))
    assert {row.rank: row.label for row in labels.collect()} == joined
    assert {row.b: row.a for row in pairs.collect()} == joined
    assert [(bytes(row.run), row.rank) for row in runs.compared.sort("rank").collect()] == [(run, 0), (run, 2)]
    keys = spark.createDataFrame([(rank, (9 - rank,), rank == 5) for rank in members],
                                 "rank bigint, key struct<id:int>, against boolean")
    assert runs.account(labels, keys).collect() == [(group, 6, (5,), counted, 2)]
