"""Waves make the comparisons that count in the order of the definition, one representative after another."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest

from ndcore.phases import waves
from ndcore.phases.waves import decide_wave, plan_blocks


def one_after_another(runs, resembles, limit):
    """Compare representatives in keep order, each with what follows it in its runs that are not cut."""
    counts, covered, compared = Counter(), set(), []
    for document in sorted(set().union(*runs.values())):
        live = [run for run in runs if document in runs[run] and counts[run] < limit]
        if document in covered or not live:
            continue
        compared.append(document)
        for run in live:
            counts[run] += 1
            covered |= {other for other in runs[run] if other > document and (document, other) in resembles}
    return compared, counts


def in_waves(runs, resembles, limit):
    """Compare the same in waves, as engines do."""
    counts, covered, compared, width, rounds = Counter(), set(), set(), 1, 0
    while True:
        turns, in_all = [], defaultdict(list)
        for run, documents in runs.items():
            room = limit - counts[run]
            waiting = sorted(documents - covered - compared) if room > 0 else []
            for place, document in enumerate(waiting, 1):
                turns.append((document, run, place))
                in_all[document].append(place <= min(room, width))
        turns = [turn for turn in turns if all(in_all[turn[0]])]
        if not turns:
            return sorted(compared), counts, rounds
        ranks, found = {turn[0] for turn in turns}, set()
        for rank, run, _ in turns:
            found |= {(rank, other) for other in runs[run] if other > rank and (rank, other) in resembles}
        by = defaultdict(list)
        for a, b in found:
            if b in ranks:
                by[b].append(a)
        counting = decide_wave(turns, by)
        assert counting and not set(counting) & (compared | covered)
        compared |= set(counting)
        counts.update(run for rank, run, _ in turns if rank in counting)
        covered |= {b for a, b in found if a in counting}
        width, rounds = 2 * width, rounds + 1


@pytest.mark.parametrize("seed", range(150))
def test_the_same_comparisons_count(seed):
    rng = random.Random(seed)
    n, share = rng.choice([5, 30, 60]), rng.choice([0.2, 0.6, 1.0])
    runs = {bytes([i]): {d for d in range(n) if rng.random() < share} | {rng.randrange(n)}
            for i in range(rng.choice([1, 2, 6]))}
    density = rng.choice([0.0, 0.05, 0.3, 1.0])
    resembles = {(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < density}
    limit = rng.choice([2, 5, 1000])
    compared, counts = one_after_another(runs, resembles, limit)
    found, counted, rounds = in_waves(runs, resembles, limit)
    assert (found, counted) == (compared, counts)
    assert rounds <= 25


def test_blocks_have_bounded_sizes(monkeypatch):
    monkeypatch.setattr(waves, "MOST_IN_BLOCK", 2)
    turns = [(5, b"a", 1), (7, b"a", 2), (9, b"a", 3), (7, b"b", 1), (4, b"b", 2)]
    assert plan_blocks(turns) == {5: 0, 7: 0, 9: 1, 4: 2}
