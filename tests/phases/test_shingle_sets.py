"""Phase 4: shingle sets in rows of bounded size, of the documents that a filter may have."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict

import numpy as np
import pytest
from record_batches import cut_batches, pa, rows_of
from value_filters import filter_of, signed

import ndcore as nd
from ndcore.phases import shingle_sets
from ndcore.phases.shingle_sets import form_sets

SCHEMA = {"id": pa.int64(), "hash": pa.int64(), "text": pa.string()}


@pytest.mark.parametrize("members", [1, 3, 1 << 17])
def test_sets_in_parts(members, monkeypatch):
    monkeypatch.setattr(shingle_sets, "MEMBERS", members)
    rng = random.Random(members)
    texts = ["", "one two", *(" ".join(rng.choices("abcdef", k=rng.randrange(40))) for _ in range(30))]
    hashes = [signed(rng.getrandbits(64)) for _ in texts]
    wanted = set(range(0, len(texts), 2))
    shingling = nd.Shingling(width=2)
    batches = cut_batches(rng, SCHEMA, list(zip(range(len(texts)), hashes, texts, strict=True)))
    found, counts = defaultdict(list), {}
    for i, _, part, parts, values, of_bytes in rows_of(form_sets(
            batches, text="text", shingling=shingling, wanted=filter_of([hashes[i] for i in wanted], 64))):
        assert part == len(found[i]) and len(values) <= 8 * members
        assert of_bytes == hashlib.blake2b(texts[i].encode(), digest_size=16).digest()
        found[i].append(values)
        assert part < parts == counts.setdefault(i, parts)
    assert wanted <= set(found) and len(found) < len(texts)
    assert all(len(parts) == counts[i] for i, parts in found.items())
    for i, parts in found.items():
        got = np.frombuffer(b"".join(parts), "<u8").tolist()
        assert got == sorted(set(shingling.fingerprints(texts[i]).tolist()))
