"""The file of an index: mapped, changed, damaged, and forged with right checksums."""

import random

import numpy as np
import pytest
from hamming_samples import found, near_ones

import ndcore as nd
from ndcore.reference import hamming as reference
from ndcore.storage import container


@pytest.mark.parametrize("compress", [False, True])
def test_saved_indexes_are_mapped_and_may_be_changed(compress, tmp_path):
    values = near_ones(2000)
    nd.HammingIndex(values, compress=compress).save(tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    index = nd.HammingIndex.open(tmp_path / "index")
    assert index.compress == compress
    assert not index._levels[0].rows.flags.writeable
    assert found(index.query(values[7])) == reference.within(values, values[7], 3)
    index.add([values[7]])
    assert index.remove([7]) == 1
    assert [id for id, _ in found(index.query(values[7]))] == [
        id for id, _ in reference.within([*values, values[7]], values[7], 3) if id != 7]
    assert (tmp_path / "index").read_bytes() == before


def test_an_index_without_fingerprints_keeps_its_plan(tmp_path):
    plan = nd.plan_tables(log2_count=12, splits=(6,))
    index = nd.HammingIndex([1], plan=plan)
    index.remove([0])
    index.save(tmp_path / "index")
    opened = nd.HammingIndex.open(tmp_path / "index")
    opened.add(near_ones(5000))
    assert opened.tables.tables == plan.tables


@pytest.mark.parametrize("compress", [False, True])
def test_damaged_and_hostile_files_are_refused(compress, tmp_path):
    path = tmp_path / "index"
    nd.HammingIndex(near_ones(300), plan=nd.plan_tables(splits=(4,)), compress=compress).save(path)
    sound = path.read_bytes()
    rng = random.Random(8)
    for _ in range(60):
        damaged = bytearray(sound)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(nd.CorruptFile, match="index"):
            nd.HammingIndex.open(path)


@pytest.mark.parametrize("change", [
    {"tables": [[16, [[0, 65]]]]}, {"tables": []}, {"tables": [[16, [[0, 32], [0, 32]]]]}, {"tables": [[70, [[0, 64]]]]},
    {"tables": [[16, [[32, 32], [0, 32]]]]}, {"count": -5}, {"count": 3}, {"bits": 12}, {"following": "x"},
    {"tables": 7}, {"max_distance": 99}, {"compress": True}, {"count": 299}, {"count": 301}, {"tables": None},
    {"following": None}, {"following": 299}, {"following": 2**62}, {"tables": [[16, [[0, 64], [200, 0]]]]},
    {"tables": [[16, [[10**15, 64]]]]}, {"bits": 2**70}, {"tables": [[16, [[-64, 64]]]]}, {"following": 0},
])
def test_files_with_sound_checksums_but_senseless_content_are_refused(tmp_path, change):

    path = tmp_path / "index"
    nd.HammingIndex(near_ones(300), plan=nd.plan_tables(splits=(4,))).save(path)
    header, arrays = container.read(path)
    container.write(path, "hamming", header | change, arrays)
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(path)


@pytest.mark.parametrize(("name", "made"), [
    ("ids", lambda a: a[:-1]), ("ids", lambda a: a.astype(float)), ("ids", lambda a: a.reshape(-1, 1)),
    ("rows", lambda a: a + 1), ("rows", lambda a: a.astype(np.int64) - 1), ("rows", lambda a: a[:-1]),
])
def test_arrays_with_sound_checksums_but_senseless_content_are_refused(tmp_path, name, made):

    path = tmp_path / "index"
    nd.HammingIndex(near_ones(300), range(300)).save(path)
    header, arrays = container.read(path)
    container.write(path, "hamming", header, arrays | {name: made(arrays[name])})
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(path)


def test_directories_that_lie_do_no_harm(tmp_path):

    path = tmp_path / "index"
    values = near_ones(5000)
    nd.HammingIndex(values).save(path)
    header, arrays = container.read(path)
    lying = {name: np.full_like(a, 2**32 - 1) if name.startswith("directory") else a for name, a in arrays.items()}
    lying["directory0"] = arrays["directory0"][::-1].copy()
    container.write(path, "hamming", header, lying)
    with pytest.raises(nd.CorruptFile, match="the directory of table 0 does not fit its keys"):
        nd.HammingIndex.open(path)
    opened = nd.HammingIndex.open(path, verify=False)
    opened.query_many(values)
    with pytest.raises(nd.CorruptFile, match="directory"):
        opened.pairs()


def test_files_with_and_without_presence(tmp_path):
    """Keep presence bits in the file. Without them answers are the same; wrong ones damage only answers."""

    path = tmp_path / "index"
    values = near_ones(5000)
    index = nd.HammingIndex(values, plan=nd.plan_tables(log2_count=12, splits=(5,)))
    index.save(path)
    header, arrays = container.read(path)
    assert [len(arrays[f"presence{t}"]) for t in range(10)] == [2**(12 + 3) // 8] * 10
    without = {name: a for name, a in arrays.items() if not name.startswith("presence")}
    for kept in (arrays, without):
        container.write(path, "hamming", header, kept)
        opened = nd.HammingIndex.open(path).query_many(values)
        assert all((x == y).all() for x, y in zip(opened, index.query_many(values), strict=True))
    for lie in (0, 255):
        container.write(path, "hamming", header, arrays | {f"presence{t}": np.full(4096, lie, np.uint8) for t in range(10)})
        with pytest.raises(nd.CorruptFile, match="the presence of table 0 does not fit its keys"):
            nd.HammingIndex.open(path)
        found = nd.HammingIndex.open(path, verify=False).query_many(values)
        assert len(found.query) == (len(opened[0]) if lie else 0)
    for senseless in (np.zeros(4095, np.uint8), np.zeros(2**23, np.uint8), np.zeros(4096, np.uint16)):
        container.write(path, "hamming", header, arrays | {"presence3": senseless})
        with pytest.raises(nd.CorruptFile, match="no sound index"):
            nd.HammingIndex.open(path)
