"""Phase 1: digests and features are those of the definitions, in batches of any size."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest
from record_batches import cut_batches, pa, rows_of

import ndcore as nd
from ndcore._candidates import Bitmaps
from ndcore.phases.sketches import list_sketches, sketch_documents
from ndcore.reference.sketches import features

TEXTS = ["", "one", "A rose is a rose", "a ROSE is a rose!", "words " * 40, "x\ufffdy and more words than five"]


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_digests_and_features(kind):
    sketcher = nd.MinHasher(num_perm=12)
    design = nd.FilterDesign.of(4, 3, threshold=0.8)
    rows = [(i, text if "string" in str(kind) else text.encode()) for i, text in enumerate(TEXTS)]
    batches = cut_batches(random.Random(3), {"id": pa.int64(), "text": kind}, rows)
    found = rows_of(sketch_documents(batches, text="text", sketcher=sketcher, design=design))
    signatures = sketcher.sketch_many(TEXTS)
    for (i, length, valid, of_bytes, deciding, made), text in zip(found, TEXTS, strict=True):
        assert (length, valid) == (len(text.encode()), bool(signatures.valid[i])) and of_bytes == digest(text.encode())
        if valid:
            tokens = nd.Shingling().tokens(text)
            assert deciding == digest(b"".join(len(token.encode()).to_bytes(8, "big") + token.encode() for token in tokens))
            expected = features(signatures.values[i].tolist(), 4, 3)
            assert made == b"".join(feature.to_bytes(8, "little") for feature in expected)
        else:
            assert deciding == of_bytes


def test_bitmaps_of_a_key_are_those_of_the_sets():
    """With the same digests and features as without them; in the order and size that `Bitmaps.put` takes."""
    sketcher, design = nd.MinHasher(num_perm=12), nd.FilterDesign.of(4, 3, threshold=0.8)
    rows = list(enumerate([*TEXTS, " ".join(f"w{i}" for i in range(300))]))
    key = bytes(range(Bitmaps.KEY_BYTES))
    plain, made = (rows_of(sketch_documents(cut_batches(random.Random(3), {"id": pa.int64(), "text": pa.string()}, rows),
                                            text="text", sketcher=sketcher, design=design, bitmap_key=given))
                   for given in (None, key))
    assert [row[:5] for row in made] == [row[:5] for row in plain]
    assert [row[5] for row in made if row[2]] == [row[5] for row in plain if row[2]]
    sets = [np.unique(nd.Shingling().fingerprints(text)) for _, text in rows]
    assert [row[6] for row in made] == [len(members) for members in sets]
    offsets = np.cumsum([0, *map(len, sets)])
    expected = Bitmaps(np.array([len(members) for members in sets], np.uint32), False, key)
    expected.add(np.arange(len(sets), dtype=np.uint32), np.concatenate(sets), offsets)
    words, bounds = expected.stored()
    assert b"".join(row[7] for row in made) == words.astype("<u8").tobytes()
    assert [len(row[7]) for row in made] == (8 * np.diff(bounds)).tolist()


def test_a_missing_text_is_named():
    batch = pa.RecordBatch.from_pydict({"id": ["a", "b"], "text": ["words", None]})
    with pytest.raises(ValueError, match=r"missing \(null\) in column 'text', in the row \{'id': 'b'\}"):
        list(sketch_documents([batch], text="text", sketcher=nd.MinHasher(), design=nd.FilterDesign.of(4, 3, threshold=0.8)))


@pytest.mark.parametrize("sketcher", [
    nd.MinHasher(8, bits=32), nd.MinHasher(8), nd.BottomSketcher(8, exact_sizes=True), nd.ModSketcher(1),
    nd.ModSketcher("adaptive"), nd.SimHasher(), nd.SimHasher(256), nd.Winnower(),
])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
def test_sketches_of_any_kind(sketcher, kind):
    texts = ["a rose is a rose is a rose", "", "one", "something else entirely, as it seems" * 40]
    table = pa.table({"id": range(4), "text": pa.array([text.encode() for text in texts], pa.binary()).cast(kind)})
    found = pa.Table.from_batches(list_sketches(table.to_batches(max_chunksize=3), text="text", sketcher=sketcher))
    expected = sketcher.sketch_many(texts).to_arrow()
    assert found.column_names == ["id", *expected.column_names]
    for name in expected.column_names:
        for got, wanted in zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True):
            if isinstance(got, list):
                assert [value % 2**64 for value in got] == wanted
            else:
                assert got == wanted or (got != got and wanted != wanted) or got % 2**64 == wanted
