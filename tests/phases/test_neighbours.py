"""Documents on disk that may share a value with others, and pairs that bitmaps reject."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from record_batches import pa, rows_of
from value_filters import filter_of

from ndcore._candidates import Bitmaps
from ndcore.phases import neighbours
from ndcore.phases.neighbours import read_sharing, reject_pairs, select_sharing

parquet = pytest.importorskip("pyarrow.parquet")
COLUMNS = ["rank", "key", "file", "valid", "deciding", "features"]
DECIDED = {"how": "string", "leader": "int64"}  # the files have no leaders


@pytest.mark.parametrize("words", [1, 64])
def test_rows_that_share_a_value(words):
    """All that do are there, with all columns, in order; of 2,000 that do not, few. Rows without a value are not."""
    rng = np.random.default_rng(4)
    wanted = rng.integers(0, 1 << 64, 4 if words == 1 else 200, np.uint64)
    rows = [rng.integers(0, 1 << 64, rng.integers(0, 4), np.uint64) for _ in range(2_000)]
    sharing = rng.choice(2_000, 100, replace=False)
    for i in sharing:
        rows[i] = np.append(rows[i], rng.choice(wanted))
    column = pa.array([row.astype("<u8").tobytes() for row in rows], pa.binary())
    batch = pa.RecordBatch.from_pydict({"rank": np.arange(2_000), "values": column})
    batches = [batch.slice(0, 0), batch.slice(0, 700), batch.slice(700)]
    got = rows_of(select_sharing(batches, column="values", wanted=filter_of(wanted.tolist(), words)))
    ranks = [rank for rank, _ in got]
    assert ranks == sorted(ranks) and set(sharing.tolist()) <= set(ranks) and len(ranks) < 300
    assert got == [(rank, column[rank].as_py()) for rank in ranks]
    assert not any(len(rows[rank]) == 0 for rank in ranks)


def stored(place, name, rows):
    """Write documents (rank, valid, deciding, features) as a file of a table; return its path below `place`."""
    ranks, valid, deciding, features = zip(*rows, strict=True)
    table = pa.table({
        "rank": ranks, "key": [{"url": f"ü{rank}", "row": rank} for rank in ranks], "valid": valid,
        "deciding": pa.array([value.to_bytes(8, "little") + bytes(8) for value in deciding], pa.binary()),
        "features": pa.array([np.array(row, "<u8").tobytes() for row in features], pa.binary()),
        "how": pa.array(["identical" if rank % 2 else None for rank in ranks]), "file": ["file:/a"] * len(ranks),
        "row": ranks})
    (place / "tables" / name).mkdir(parents=True)
    parquet.write_table(table, place / "tables" / name / "part.parquet", row_group_size=50)
    return f"tables/{name}/part.parquet"


def test_stored_documents_that_share_a_value(tmp_path, monkeypatch):
    """By the digest or by any feature, of several files; features of documents without shingles do not count."""
    monkeypatch.setattr(neighbours, "ROWS", 16)
    rng = np.random.default_rng(6)

    def draw(count):
        return rng.integers(0, 1 << 64, count, np.uint64).tolist()

    wanted = draw(40)
    rows = [(rank, True, *draw(1), draw(3)) for rank in range(400)]
    sharing = {}
    for i, rank in enumerate(rng.choice(400, 60, replace=False).tolist()):
        _, _, digest, features = rows[rank]
        sharing[rank] = by = ("digest", "feature", "feature of no shingles")[i % 3]
        value = wanted[i % len(wanted)]
        rows[rank] = (rank, by != "feature of no shingles", value if by == "digest" else digest,
                      features if by == "digest" else [features[0], value, features[2]])
    files = [stored(tmp_path, name, rows[start::2]) for start, name in enumerate(("one", "two"))]
    at = [pa.RecordBatch.from_pydict({"at": pa.array([], pa.int64())}), pa.RecordBatch.from_pydict({"at": [0, 1]})]
    got = [row for batch in read_sharing(at, shares=[files[:1], files[1:]], root=str(tmp_path), columns=COLUMNS,
                                         decided=DECIDED, wanted=filter_of(wanted, 64)) for row in batch.to_pylist()]
    ranks = {row["rank"] for row in got}
    assert {rank for rank, by in sharing.items() if by != "feature of no shingles"} <= ranks and len(got) == len(ranks) < 60
    assert not ranks & {rank for rank, by in sharing.items() if by == "feature of no shingles"}
    assert all(list(row) == [*COLUMNS, *DECIDED] and row["leader"] is None for row in got)
    assert all(row["key"] == f'{{"url":"ü{row["rank"]}","row":{row["rank"]}}}'
               and row["file"] == "file:/a" and row["how"] == ("identical" if row["rank"] % 2 else None) for row in got)


@pytest.mark.parametrize(("path", "columns", "message"), [
    ("tables/t/gone.parquet", COLUMNS, "gone.parquet cannot be read: .*; a table of a collection never changes"),
    ("tables/t/part.parquet", [*COLUMNS, "bitmap"], "part.parquet cannot be read: .*bitmap"),
    ("tables/t/no.parquet", COLUMNS, "no.parquet cannot be read: "),
    ("tables/../../part.parquet", COLUMNS, "this is not a file of the collection"),
])
def test_stored_documents_that_cannot_be_read(tmp_path, path, columns, message):
    stored(tmp_path, "t", [(0, True, 1, [2])])
    (tmp_path / "tables" / "t" / "no.parquet").write_bytes(b"PAR1 of no use PAR1")
    at = [pa.RecordBatch.from_pydict({"at": [0]})]
    with pytest.raises(ValueError, match=message):
        list(read_sharing(at, shares=[[path]], root=str(tmp_path), columns=columns, decided={},
                          wanted=filter_of([1], 1)))


def test_pairs_that_bitmaps_reject():
    """Pairs that reach the threshold stay; the others go as `Bitmaps.near` says, in batches of any size."""
    rng = np.random.default_rng(5)
    sets = [np.unique(rng.integers(0, 400, n, np.uint64)) for n in (3, 60, 65, 300, 5000)]
    sets += [members[: len(members) * 9 // 10] for members in sets]
    sizes, key = np.array([len(members) for members in sets], np.uint32), bytes(range(Bitmaps.KEY_BYTES))
    bitmaps = Bitmaps(sizes, False, key)
    bitmaps.add(np.arange(len(sets), dtype=np.uint32), np.concatenate(sets), np.append(0, np.cumsum(sizes)).astype(np.int64))
    words, bounds = bitmaps.stored()
    stored = [words[start:end].astype("<u8").tobytes() for start, end in pairwise(bounds)]
    a, b = (ends.ravel() for ends in np.meshgrid(*[np.arange(len(sets))] * 2))
    fields = {"a": a, "b": b, "block": a + 100}
    for side, ends in (("a", a), ("b", b)):
        fields |= {f"size_{side}": sizes[ends].astype(np.int64), f"bitmap_{side}": pa.array([stored[i] for i in ends])}
    batch = pa.RecordBatch.from_pydict(fields)
    got = rows_of(reject_pairs([batch.slice(0, 33), batch.slice(33)], key=key, threshold=0.8))
    near = bitmaps.near(a.astype(np.uint32), b.astype(np.uint32), 0.8).astype(bool)
    assert 0 < near.sum() < len(near)
    assert got == [(x, y, x + 100) for x, y in zip(a[near].tolist(), b[near].tolist(), strict=True)]
