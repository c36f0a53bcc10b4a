"""The complete filter in phases: every pair that may pass is expanded, or listed, whatever the counters say."""

from __future__ import annotations

import itertools
import pickle
import random

import numpy as np
import pytest
from generated import mixture
from record_batches import cut_batches, pa, rows_of, run_partitions

import ndcore as nd
from ndcore._candidates import Bitmaps, Counts, Marks
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases import probes
from ndcore.phases.candidates import expand_runs, list_entries
from ndcore.phases.probes import Probes, fill_table, join_tables, put_together
from ndcore.phases.sketches import sketch_documents
from ndcore.text.inputs import digest

TEXTS = {"text": pa.binary()}


def filled(rng, texts, shingling, table, given=None):
    """Fill a table by a few tasks, each with its own, and put it together."""
    kind = type(table)
    slices, told = [], np.zeros(2, np.int64)
    for part in (texts[::3], texts[1::3], texts[2::3]):
        own = pickle.loads(pickle.dumps(table))
        found = rows_of(fill_table(cut_batches(rng, TEXTS, [(text,) for text in part]), text="text", shingling=shingling,
                                   table=own, probes=given))
        slices += [row[:2] for row in found]
        told += np.sum([row[2:] for row in found], axis=0, dtype=np.int64) if found else 0
    expected = [int.from_bytes(digest(text)[:4], "big") for text in texts]
    assert told.tolist() == [len(texts), sum(expected)]
    joined = run_partitions(rng, join_tables, {"slice": pa.int64(), "cells": pa.binary()}, slices, 0, lambda row: row[0], 2,
                            marks=kind is Marks)
    put_together(table.cells, pa.table({"slice": [row[0] for row in joined], "cells": [row[1] for row in joined]}))


def texts_of(rng):
    return [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in mixture(rng, 40)]


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("seed", range(12))
def test_all_pairs_are_candidates(seed, drop, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(probes, "SLICE", rng.choice([64, 1 << 16]))
    texts, shingling = texts_of(rng), nd.Shingling(width=rng.choice([1, 2]))
    threshold, cells, most = rng.choice([0.1, 0.5, 0.8, 1.0]), rng.choice([1, 8, 1000]), rng.choice([2, 5, 1000])
    counts = Counts(cells)
    filled(rng, texts, shingling, counts)
    given = Probes(PrefixFilter(threshold, drop), counts)
    if drop == "contained":
        marks = Marks(cells)
        filled(rng, texts, shingling, marks, given)
        given = Probes(given.filter, counts, marks)
    documents = rows_of(sketch_documents(cut_batches(rng, TEXTS, [(text,) for text in texts]), text="text",
                                         sketcher=nd.MinHasher(shingling=shingling), design=given))
    rows = [(rank, *row[4:]) for rank, row in enumerate(documents)]
    schema = {"rank": pa.int64(), "features": pa.binary(), "whole": pa.int64(), "size": pa.int64()}
    first_new = rng.choice([0, 10])
    entries = rows_of(list_entries(cut_batches(rng, schema, rows), groups=0, first_new=first_new))
    schema = {"run": pa.binary(), "whole": pa.bool_(), "ranks": pa.list_(pa.int64()), "sizes": pa.list_(pa.int64())}
    found = run_partitions(rng, expand_runs, schema, entries, 0, lambda row: (row[0], not row[1]), 2, max_holders=most,
                           first_new=first_new, least_ratio=0.0 if drop == "contained" else threshold)
    together = {(a, b) for _, a, b in found if a is not None}
    for run in {run for run, a, _ in found if a is None}:
        of_run = itertools.chain.from_iterable(ranks for name, _, ranks, _ in entries if name == run)
        together |= set(itertools.combinations(sorted(of_run), 2))
    sets = [set(nd.Shingling.fingerprints(shingling, text).tolist()) for text in texts]
    assert [row[3] for row in rows] == list(map(len, sets))
    for a, b in itertools.combinations(range(len(sets)), 2):
        common = len(sets[a] & sets[b])
        least = min(len(sets[a]), len(sets[b])) if drop == "contained" else len(sets[a] | sets[b])
        if common and common / least >= threshold and b >= first_new:
            assert (a, b) in together
    assert all(b >= first_new for _, _, b in found if b is not None)


def test_tables_that_were_sent_keep_their_key():
    values, bounds = np.arange(100, dtype=np.uint64), np.array([0, 100])
    counts, marks = Counts(1000), Marks(1000)
    sent, other = (pickle.loads(pickle.dumps(table)) for table in (counts, marks))
    sent.add(values, bounds)
    other.add(np.stack([values, values], axis=1))
    assert not counts.cells.any() and sent.cells.sum() == 100 and other.cells.any()
    for table in (counts, pickle.loads(pickle.dumps(sent))):
        table.cells[:] = sent.cells
        assert np.array_equal(table.at(values), sent.at(values))
    assert np.array_equal(pickle.loads(pickle.dumps(other)).cells, other.cells)
    key = bytes(range(Bitmaps.KEY_BYTES))
    same, again = (Counts(1000, key) for _ in range(2))
    same.add(values, bounds)
    again.add(values, bounds)
    assert np.array_equal(same.cells, again.cells) and not np.array_equal(same.cells, sent.cells)
    for kind in (Counts, Marks):
        with pytest.raises(ValueError, match="the key and its bytes are of one length"):
            kind(1000, b"1234")


def test_counters_do_not_overflow():
    counts = Counts(4)
    counts.cells[:] = [65530, 3, 65535, 0]
    rows = [(0, counts.cells.tobytes())] * 2
    [(_, cells)] = rows_of(join_tables(cut_batches(random.Random(1), {"slice": pa.int64(), "cells": pa.binary()}, rows),
                                       marks=False))
    assert np.frombuffer(cells, np.uint16).tolist() == [65535, 6, 65535, 0]
