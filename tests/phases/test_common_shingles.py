"""Shingles that may be common are counted exactly, whatever the counters say, and however documents are cut."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from generated import mixture
from record_batches import cut_batches, pa, rows_of

import ndcore as nd
from ndcore._candidates import Counts
from ndcore.pairs.common_shingles import COMMON_CLASSES
from ndcore.phases import common_shingles
from ndcore.phases.common_shingles import LABEL_CELLS, count_candidates
from ndcore.phases.labelled_shingles import mixes_of
from ndcore.phases.probes import fill_table
from ndcore.text.inputs import digest

KEY = pa.struct([("id", pa.int64())])


def documents(rng, labels):
    """Return (text, label) with copies, and words that most documents have."""
    texts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in mixture(rng, 80)]
    texts += rng.choices(texts, k=40)
    return [(b"menu of all " + text if rng.random() < 0.7 else text, rng.choice(labels)) for text in texts]


@pytest.mark.parametrize("seed", range(10))
def test_counts_as_by_hand(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(common_shingles, "ROWS", rng.choice([1, 300, 1 << 18]))
    monkeypatch.setattr(common_shingles, "HELD", rng.choice([1, 300, 1 << 18]))
    labelled, share = rng.random() < 0.5, rng.choice([0.05, 0.3])
    rows = documents(rng, [b"x" * 16, b"xy" * 8, b"y" * 16] if labelled else [b""])
    shingling = nd.Shingling(width=rng.choice([1, 2]))
    apart = {i for i in range(len(rows)) if rng.random() < 0.3} if rng.random() < 0.6 else None  # may be versions
    schema = {"key": KEY, "against": pa.bool_(), "text": pa.binary(), "hash": pa.int64()}
    given = [({"id": i}, i % 2 == 0, text, i if apart is None or i in apart else -1) for i, (text, _) in enumerate(rows)]
    if labelled:
        schema["scope"] = pa.binary()
        given = [(*row, label) for row, (_, label) in zip(given, rows, strict=True)]
    monkeypatch.setattr(common_shingles, "may_have", lambda words, hashes: hashes >= 0)
    counts = Counts(rng.choice([8, 1 << 16]))
    list(fill_table(cut_batches(rng, schema, given), text="text", shingling=shingling, table=counts))
    sizes = {label: sum(name == label for _, name in rows) for label in {name for _, name in rows}}
    fewest = np.full(LABEL_CELLS, 1 << 40, np.uint64)  # of labels that no document has
    for label in sizes:
        cell = label[0] << 8 | label[1] if label else 0
        fewest[cell] = min(n for other, n in sizes.items() if other[:2] == label[:2])

    holders, classes = defaultdict(int), defaultdict(set)
    documents_of = {label: [] for label in sizes}
    for i, (text, label) in enumerate(rows):
        documents_of[label].append(i)
        for value in set(shingling.fingerprints(text).tolist()):
            holders[value, label] += 1
            classes[value, label].add(tuple(shingling.tokens(text)))

    told, found, found_classes, read = np.zeros(2, np.int64), defaultdict(int), defaultdict(set), 0
    for part in (given[::2], given[1::2]):
        for batch in rows_of(count_candidates(
                cut_batches(rng, schema, part), text="text", sketcher=nd.MinHasher(shingling=shingling), must_agree=None,
                counts=counts, documents=fewest, share=share, versions=None if apart is None else np.zeros(1, np.uint64))):
            key, against, value, label, number, some, *more = batch
            told += more
            if value is None:
                read += 1
                continue
            assert (key is None) == (apart is None or key is None) and (key is None or key["id"] in apart)
            assert key is None or (against == (key["id"] % 2 == 0) and number == 1)
            assert len(set(some)) == len(some) <= COMMON_CLASSES
            found[value % 2**64, label] += number
            found_classes[value % 2**64, label] |= set(some)
    assert read == 2
    assert told.tolist() == [len(rows), sum(int.from_bytes(digest(text)[:4], "big") for text, _ in rows)]
    assert all(holders[pair] == number for pair, number in found.items())
    for pair, number in holders.items():
        if number > max(share * sizes[pair[1]], COMMON_CLASSES - 1):
            assert min(COMMON_CLASSES, len(found_classes[pair])) == min(COMMON_CLASSES, len(classes[pair])) and pair in found


def test_labels_are_told_apart():
    assert mixes_of(pa.record_batch({"text": pa.array([b"a"])})) is None
    mixes = mixes_of(pa.record_batch({"scope": pa.array([b"a" * 16, b"b" * 16, b"a" * 16])}))
    assert mixes.tolist() == [int.from_bytes(name * 8, "little") for name in (b"a", b"b", b"a")]


def test_classes_are_of_tokens_and_of_what_must_agree():
    texts = [f"menu page {i} of all".encode() for i in range(30)]
    schema = {"key": KEY, "against": pa.bool_(), "text": pa.binary()}
    rows = [({"id": i}, False, text) for i, text in enumerate([*texts, *texts, b"MENU page 0 of ALL!"])]
    shingling, counts = nd.Shingling(width=1), Counts(1 << 16)
    rng = random.Random(1)
    list(fill_table(cut_batches(rng, schema, rows), text="text", shingling=shingling, table=counts))
    menu = int(shingling.fingerprints("menu")[0].astype(np.int64))
    for must_agree, wanted in ((None, 1), (len, 2)):
        found = rows_of(count_candidates(
            iter([pa.record_batch([pa.array(column, kind) for column, kind in zip(
                zip(*[rows[0], rows[30], rows[60]] * 20, strict=True), schema.values(), strict=True)], names=list(schema))]),
            text="text", sketcher=nd.MinHasher(shingling=shingling), must_agree=must_agree, counts=counts,
            documents=np.zeros(LABEL_CELLS, np.uint64), share=0.5, versions=None))
        assert [(row[4], len(row[5])) for row in found if row[2] == menu] == [(60, wanted)]
