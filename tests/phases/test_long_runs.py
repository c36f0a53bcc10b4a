"""Long runs: who of a block represents itself, and which documents of a task a block is compared with."""

from __future__ import annotations

import random

import numpy as np
import pytest
from judged import THRESHOLD, Judged, collection
from record_batches import cut_batches, pa, rows_of

import ndcore as nd
from ndcore.filters.design import least_equal_minima
from ndcore.phases import long_runs
from ndcore.phases.long_runs import compare_holders, find_representatives
from ndcore.phases.verification import Judgement

SCHEMA = {"rank": pa.int64(), "runs": pa.binary(), "members": pa.list_(pa.binary())}


def rows(rng: random.Random, sets: list[set[int]], runs: list[list[int]]) -> list[tuple]:
    """Rows of documents in any order, with sets in two parts."""
    made = []
    for rank, members in enumerate(sets):
        values = np.sort(np.array(list(members), np.uint64)).astype("<u8")
        cut = rng.randrange(len(values) + 1)
        features = np.array(runs[rank], "<u8").tobytes()
        made.append((rank, features, [values[:cut].tobytes(), values[cut:].tobytes()]))
    return rng.sample(made, len(made))


def table(made: list[tuple], schema=SCHEMA):
    columns = zip(*made, strict=True) if made else [()] * len(schema)
    return pa.table([pa.array(list(column), kind) for column, kind in zip(columns, schema.values(), strict=True)],
                    names=list(schema))


@pytest.mark.parametrize("seed", range(20))
def test_a_block_and_the_documents_of_a_task(seed, monkeypatch):
    rng = random.Random(seed)
    for name, value in (("IN_MEMORY", rng.choice([1, 2000, 1 << 25])), ("STEP", rng.choice([1, 4, 512])),
                        ("PART", rng.choice([1, 4, 512]))):
        monkeypatch.setattr(long_runs, name, value)
    sets, first_new = collection(rng, 40), rng.choice([0, 10])
    how = Judgement(nd.MinHasher(num_perm=24), nd.FilterDesign.of(24, 1, threshold=THRESHOLD),
                    least_equal_minima(24, THRESHOLD), THRESHOLD, rng.choice([0, 12]), first_new)
    judged, runs = Judged(sets, how), [sorted(rng.sample(range(6), rng.choice([1, 2]))) for _ in sets]
    made = rows(rng, sets, runs)

    def near(a: int, b: int) -> bool:
        return b >= first_new and set(runs[a]) & set(runs[b]) != set() and judged.accepted(a, b)

    asked = sorted(rng.sample(range(40), 15))
    block = find_representatives(table([row for row in made if row[0] in asked]), judgement=how)
    ranks = set(block["rank"].to_pylist())
    for b in asked:  # a pair of documents without a run in common may meet, where runs are merged
        assert b not in ranks or not any(near(a, b) for a in ranks if a < b)
        assert b in ranks or any(judged.accepted(a, b) for a in ranks if a < b)
    others = [row for row in made if rng.random() < 0.8]
    here = {row[0] for row in others}
    for either in (False, True):
        found = rows_of(compare_holders(cut_batches(rng, SCHEMA, others), block=block, judgement=how, either=either))
        assert sorted(a for a, b, *_ in found if a == b) == sorted(ranks & here)
        pairs = {(a, b): resemblance for a, b, resemblance, *_ in found if a != b}
        wanted = {(a, b) for a in range(40) for b in range(a + 1, 40) if near(a, b)
                  and ((a in ranks and b in here) or (either and b in ranks and a in here))}
        assert wanted <= set(pairs) <= {(a, b) for a in range(40) for b in range(a + 1, 40) if judged.accepted(a, b)}
        assert all(a in ranks or (either and b in ranks) for a, b in pairs)
        assert all(resemblance == judged.resemblance(a, b) for (a, b), resemblance in pairs.items())


def test_documents_of_a_component_are_not_compared():
    rng = random.Random(1)
    sets = [{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}]
    how = Judgement(nd.MinHasher(num_perm=8), nd.FilterDesign.of(8, 1, threshold=0.5), 0, 0.5, 0, 0)
    schema = {**SCHEMA, "root": pa.int64()}
    made = [(*row, 0 if row[0] < 2 else row[0]) for row in rows(rng, sets, [[7]] * 4)]
    block = table([row for row in made if row[0] in (1, 2)], schema)
    found = rows_of(compare_holders(cut_batches(rng, schema, made), block=block, judgement=how, either=True))
    assert {(a, b) for a, b, *_ in found} == {(1, 1), (2, 2), (0, 2), (1, 2), (1, 3), (2, 3)}
