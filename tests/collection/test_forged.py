"""Files that somebody forged, with right checksums: what they say is not believed, and nothing crashes."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import fuzz_files
import numpy as np
import pytest
from agreement import cut_small
from forging import with_array, with_header

import ndcore as nd
from ndcore import _candidates, _cluster, _entries, _hamming, _keys, _sets
from ndcore.storage import container

FAR = 0xFFFFFF00


def filled(value):
    return lambda array: np.full_like(array, value)


def put(at, value):
    def change(array):
        array.reshape(-1)[at] = value
        return array
    return change


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Build finished collections, and unfinished ones by the files they have."""
    folder = tmp_path_factory.mktemp("seeds")
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, slab=400, pairs=300, documents=30, piece=10**9)
        fuzz_files.build(folder / "mod", "mod")
        fuzz_files.build(folder / "adaptive", "adaptive")
        for left in range(100):
            place = folder / f"unfinished-{left}"
            with fuzz_files._interrupted(fuzz_files.Shelf, left) as stopped:
                fuzz_files.build(place, "mod")
            if not stopped:
                shutil.rmtree(place)
                break
    return folder


def copied(seeds, tmp_path, way, *wanted):
    """Copy a finished collection, or the first unfinished one that has these files."""
    if way == "unfinished":
        way = next(place.name for place in sorted(seeds.glob("unfinished-*"), key=lambda p: int(p.name.split("-")[1]))
                   if all((place / name).exists() for name in wanted))
    return Path(shutil.copytree(seeds / way, tmp_path / "c"))


COLLECTION = [
    ("pairs/00000000", "b", filled(FAR)),  # was a write outside of an array
    ("pairs/00000000", "a", filled(FAR)),
    ("pairs/00000000", "a", lambda a: a[:-1]),
    ("pairs/00000000", "common", filled(FAR)),
    ("pairs/00000000", "in_b", lambda a: a.astype(np.int64)),
    ("pairs/00000000", "b", lambda a: a[::-1]),
    ("entries/00000000", "documents", filled(FAR)),
    ("entries/00000000", "documents", lambda a: a[:3]),
    ("entries/00000000", "keys", lambda a: a[::-1]),
    ("entries/00000000", "keys", lambda a: a.reshape(1, -1)),
    ("slabs", "slabs", put(0, 5)),
    ("slabs", "slabs", lambda a: a[:, :2]),
    ("slabs", "slabs", lambda a: a[:0]),
    ("documents", "leader", put(0, FAR)),
    ("documents", "leader", put(3, 4)),
    ("documents", "same", put(0, 200)),
    ("documents", "leader", lambda a: a[1:]),
    ("clusters", "labels", put(0, FAR)),
    ("clusters", "codes", put(0, 200)),
    ("clusters", "resemblance", put(0, 7.0)),
    ("clusters", "member", put(0, FAR)),
    ("clusters", "group", put(0, FAR)),
    ("clusters", "member", lambda a: a[1:]),
    ("paired", "common", put(2, FAR)),
    ("paired", "common", lambda a: a[:, :2]),
    ("ids", "order", put(0, FAR)),
    ("ids", "order", put(0, 1)),
    ("sketches/00000000", "values", lambda a: a[::-1]),
    ("sketches/00000000", "offsets", put(1, -5)),
]  # fmt: skip


def named(cases):
    return [f"{i}-{case[0]}-{case[1]}" for i, case in enumerate(cases)]


@pytest.mark.parametrize(("slot", "name", "change"), COLLECTION, ids=named(COLLECTION))
def test_a_forged_collection_is_refused(seeds, tmp_path, slot, name, change):
    place = copied(seeds, tmp_path, "mod")
    with_array(place / f"{slot}.ndc", name, change)
    with pytest.raises(nd.CorruptFile, match=str(place / slot)):
        nd.Collection.open(place, verify=True)
    with contextlib.suppress(nd.CorruptFile, KeyError):  # or an answer: only what is looked at is checked without `verify`
        made = nd.Collection.open(place)
        made.rethreshold(0.5)
        made.collapse([made.names[i] for i in range(len(made))], "representative")
        for i in range(len(made)):
            made.members(7 * i - 50)
        for text in fuzz_files.collection_texts():
            made.query(text, 0.1)
        made.rethreshold(0.5, cluster="popular")


def test_a_pair_of_a_document_with_itself_is_refused(seeds, tmp_path):
    path = copied(seeds, tmp_path, "mod") / "pairs" / "00000000.ndc"
    with_array(path, "a", put(-1, container.read(path)[1]["b"][-1]))
    with pytest.raises(nd.CorruptFile, match="a pair is not of an earlier and a later one"):
        nd.Collection.open(path.parents[1], verify=True)


@pytest.mark.parametrize(("name", "value"), [
    ("threshold", "0.5"), ("threshold", None), ("policy", []), ("cluster", "?"), ("guard", "x"), ("least", 1.5),
    ("least", None),
])
def test_a_forged_header_is_refused(seeds, tmp_path, name, value):
    place = copied(seeds, tmp_path, "mod")
    with_header(place / "clusters.ndc", lambda header: header.update({name: value}))
    with pytest.raises(nd.CorruptFile):
        nd.Collection.open(place)


@pytest.mark.parametrize(("name", "value"), [("max_holders", 1.5), ("max_holders", 0), ("run", None), ("threshold", "x"),
                                             ("method", []), ("filter", 3)])
def test_forged_parameters_are_refused(seeds, tmp_path, name, value):
    import json

    place = copied(seeds, tmp_path, "mod")
    description = json.loads((place / "collection.json").read_text())
    description["parameters"][name] = value
    (place / "collection.json").write_text(json.dumps(description))
    with pytest.raises(nd.CorruptFile):
        nd.Collection.open(place)


def test_another_file_in_the_place_of_one_and_none(seeds, tmp_path):
    place = copied(seeds, tmp_path, "mod")
    (place / "entries" / "00000001.ndc").unlink()
    with pytest.raises(nd.CorruptFile, match="missing"):
        nd.Collection.open(place)
    shutil.copy(place / "slabs.ndc", place / "entries" / "00000000.ndc")
    with pytest.raises(nd.CorruptFile, match="holds 'collection/slabs'"):
        nd.Collection.open(place)


UNFINISHED = [
    ("runs/00000000", "holders", filled(FAR)),  # was a write outside of an array
    ("runs/00000000", "ends", filled(FAR)),  # was a read outside of an array
    ("runs/00000000", "ends", lambda a: a[::-1]),
    ("runs/00000000", "ends", lambda a: a[:-1]),
    ("runs/00000000", "holders", lambda a: a[::-1]),
    ("runs/00000000", "crowd", lambda a: np.append(a, a.dtype.type(0))),
    ("runs/00000000", "common", lambda a: np.array([[1, FAR, 0]], np.uint64)),
    ("ranges", "ranges", put(1, 10**6)),
    ("ranges", "ranges", lambda a: a[:0]),
    ("slabs", "slabs", put(2, 1 << 60)),
]  # fmt: skip


@pytest.mark.parametrize(("slot", "name", "change"), UNFINISHED, ids=named(UNFINISHED))
def test_a_build_that_goes_on_refuses_forged_files(seeds, tmp_path, slot, name, change):
    place = copied(seeds, tmp_path, "unfinished", f"{slot}.ndc")
    with_array(place / f"{slot}.ndc", name, change)
    with pytest.raises(nd.CorruptFile, match=str(place / slot)):
        fuzz_files.build(place, "mod")


def test_entries_of_unequal_length_do_not_crash_a_build_that_goes_on(seeds, tmp_path):
    place = copied(seeds, tmp_path, "unfinished", "runs/00000000.ndc")
    with_array(place / "entries" / "00000000.ndc", "documents", lambda a: a[:3])
    (place / "runs" / "00000000.ndc").unlink()
    with pytest.raises(nd.CorruptFile, match=r"entries/00000000\.ndc"):
        fuzz_files.build(place, "mod")


# ---- indexes


@pytest.mark.parametrize(("compress", "name", "change", "fault"), [
    (False, "keys0", put(-1, 2**64 - 1), "more than 20 bits"),  # was a write outside of an array, after `add`
    (False, "keys0", lambda a: a[::-1], "do not ascend"),
    (False, "keys1", put(0, 1), "same fingerprints"),
    (False, "directory0", put(1, 2**32 - 1), "directory"),
    (False, "rows", put(0, 1), "a row twice"),
    (False, "rows", put(0, 5000), "no id"),
    (False, "id_ends", put(1, 10**6), "before they begin"),
    (False, "id_bytes", filled(0xFF), "codec"),
    (True, "blocks0", lambda a: a ^ np.uint8(255), "do not ascend"),
    (True, "last1", put(0, 1), "table 1"),
])  # fmt: skip
def test_a_forged_index_is_refused(tmp_path, compress, name, change, fault):
    path = tmp_path / "i.ndh"
    values = np.unique(np.arange(5000, dtype=np.uint64) * np.uint64(7919) % np.uint64(1 << 20))
    nd.HammingIndex(values, [f"é{i}" for i in range(len(values))], bits=20, compress=compress).save(path)
    with_array(path, name, change)
    with pytest.raises(nd.CorruptFile, match=fault):
        nd.HammingIndex.open(path)
    index = nd.HammingIndex.open(path, verify=False)
    for ask in (lambda: index.query_many(values[:200]), lambda: index.query(int(values[0]))):
        try:
            ask()
        except nd.CorruptFile as error:
            assert str(path) in str(error)
    index.add([3], ["new"])
    for ask in (index.pairs, lambda: index.save(tmp_path / "again.ndh"), lambda: index.remove(["é3"])):
        with pytest.raises(nd.CorruptFile, match=str(path)):
            ask()


# ---- arrays of callers


OFFSETS = np.array([0, 2, 4])
SETS = np.array([1, 2, 2, 3], np.uint64)
ONE, NO, NOT = np.array([0]), np.array([], np.int64), np.zeros(1, np.uint8)
ROWS, COUNTS, TAKEN = SETS.reshape(2, 2), np.zeros((1, 3), np.int64), np.ones(2, np.uint8)
RUN = (np.array([0, 1], np.uint32), np.array([2], np.uint32))
TABLES = _candidates.FeatureTables(1 << 64 | 27)
JUDGE = _candidates.Judge(np.zeros((2, 4), np.uint64), 2, 2, 1, 1, 9)


@pytest.mark.parametrize(("call", "error"), [
    (lambda: _entries.sort_entries(np.zeros((2, 1), np.uint64)), ValueError),
    (lambda: _sets.distinct(SETS.copy(), np.array([0, 9])), ValueError),
    (lambda: _sets.distinct(SETS.copy(), NO), ValueError),
    (lambda: _sets.common(SETS, OFFSETS, np.array([2]), ONE), IndexError),
    (lambda: _sets.common(SETS, OFFSETS, np.array([-1]), ONE), IndexError),
    (lambda: _sets.common(SETS, np.array([0, 9]), ONE, ONE), IndexError),
    (lambda: _sets.common(SETS, OFFSETS, ONE, NO), ValueError),
    (lambda: _sets.overlaps(SETS, OFFSETS, ONE, SETS, OFFSETS, ONE + 2, 9, NOT, None, COUNTS), IndexError),
    (lambda: _sets.overlaps(SETS, OFFSETS, ONE, SETS, OFFSETS, ONE, 9, NOT, None, np.zeros((0, 3), np.int64)), ValueError),
    (lambda: _sets.overlaps(SETS, OFFSETS, ONE, SETS, OFFSETS, ONE, 9, NOT, None, np.zeros((1, 2), np.int64)), ValueError),
    (lambda: _sets.equal_items(ROWS, ONE + 2, ROWS, ONE, COUNTS), IndexError),
    (lambda: _cluster.star_ascending(ONE, ONE + 9, np.ones(1), True, np.ones(2), np.arange(2)), IndexError),
    (lambda: _cluster.star_ascending(ONE, ONE + 1, np.ones(1), True, np.ones(1), np.arange(2)), ValueError),
    (lambda: _cluster.components(ONE, ONE + 9, np.arange(2)), IndexError),
    (lambda: _cluster.components(ONE, ONE, np.arange(2), np.array([0, 9])), IndexError),
    (lambda: _cluster.star(np.array([0, 1, 1]), ONE + 9, np.ones(1), np.arange(2), np.zeros(2, np.uint8), True), IndexError),
    (lambda: _cluster.star(np.array([0, 5, 1]), ONE, np.ones(1), np.arange(2), np.zeros(2, np.uint8), True), ValueError),
    (lambda: _candidates.Judge(np.zeros((2, 4), np.uint64), 3, 2, 1, 1, 9), ValueError),
    (lambda: JUDGE.expand(np.full((2, 2), 7, np.uint64), 9), IndexError),
    (lambda: JUDGE.expand(np.full((2, 2), 2 << 32, np.uint64), 9), IndexError),
    (lambda: JUDGE.long_runs(np.zeros((2, 1), np.uint64), 9), ValueError),
    (lambda: JUDGE.entries(TABLES, 0, 3, ONE), IndexError),
    (lambda: JUDGE.entries(TABLES, 2, 1, ONE), IndexError),
    (lambda: JUDGE.entries(TABLES, 0, 2, ONE + 2), IndexError),
    (lambda: JUDGE.entries(TABLES, 0, 2, ONE, SETS), ValueError),
    (lambda: JUDGE.matches(np.array([0]), np.array([2])), IndexError),
    (lambda: JUDGE.matches(np.array([-1]), np.array([0])), IndexError),
    (lambda: _entries.histogram(SETS, OFFSETS, np.ones(3, np.uint8), 52, np.zeros(4096, np.int64)), ValueError),
    (lambda: _entries.histogram(SETS, OFFSETS, np.ones(2, np.uint8), 52, np.zeros(4095, np.int64)), ValueError),
    (lambda: _entries.gather(SETS, np.array([0, 2, 9]), TAKEN, 0, 0, 9, np.zeros((4, 2), np.uint64), 0), ValueError),
    (lambda: _entries.runs(SETS, np.zeros(3, np.uint32), 9), ValueError),
    (lambda: _entries.volume(np.array([0, 9], np.uint32), np.array([2], np.uint32), np.zeros(2, np.int64)), IndexError),
    (lambda: _entries.volume(np.array([0, 1], np.uint32), np.array([9], np.uint32), np.zeros(2, np.int64)), ValueError),
    (lambda: _entries.Counts([RUN], 0, 2, np.zeros(2, np.int64), 2), ValueError),
    (lambda: _entries.Counts([], 0, 2, np.ones(2, np.int64), 2), ValueError),
    (lambda: _entries.Counts([], 0, 3, np.ones(3, np.int64), 2), ValueError),
    (lambda: _entries.members_under(SETS, OFFSETS, ONE + 2, np.zeros(1, np.uint64)), IndexError),
    (lambda: _entries.sample_keys(SETS, np.array([0, 9]), None, 1), ValueError),
    (lambda: _cluster.Greedy(SETS, np.array([0, 2, 9]), np.zeros(2, np.uint64), 0.5, 9, True), ValueError),
    (lambda: _cluster.Greedy(SETS, OFFSETS, np.zeros(2, np.uint64), 0.5, 9, True).place(np.arange(2)), ValueError),
    (lambda: _keys.directory(np.array([2**20], np.uint64), 20, 4), ValueError),
    (lambda: _keys.presence(np.array([2**20], np.uint64), 20, 4), ValueError),
    (lambda: _keys.permuted(np.array([[60], [9]], np.uint8), SETS), ValueError),
    (lambda: _keys.histogram(np.array([[0], [8]], np.uint8), SETS, 0, np.zeros(255, np.uint64)), ValueError),
    (lambda: _hamming.distances(SETS, SETS[:1]), ValueError),
    (lambda: _hamming.Orders(64, 3, [(np.array([[0], [8]], np.uint8), 8, 255)]), ValueError),
    (lambda: _hamming.Searcher(8, 3, [(np.array([[0], [8]], np.uint8), 8, 255)],
                               [(SETS, np.zeros(4, np.uint32), np.empty(0, np.uint8))]), ValueError),
    (lambda: _hamming.Searcher(8, 3, [(np.array([[0], [8]], np.uint8), 8, 255)], []), ValueError),
    (lambda: _hamming.encoded(SETS, np.full(65, 200, np.uint8)), ValueError),
])  # fmt: skip
def test_kernels_refuse_positions_outside_of_their_arrays(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("kind", list(fuzz_files.KINDS))
def test_some_mutants_of_each_kind(kind, capfd):
    """Try a few; `tests/fuzz/fuzz_files.py` makes many more."""
    assert fuzz_files.run(kind, 12, 5, 0, 1), capfd.readouterr().out
