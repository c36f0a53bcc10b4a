"""The index of a store against a dict of sets, in memory, on disk, merged, and opened by a reader."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import shutil
import tempfile
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.storage import container
from ndcore.storage.container import CorruptFile
from ndcore.store import segments as files
from ndcore.store.index import GrowingIndex


class Naive:
    """The documents of each (group, value), in a dict of sets."""

    def __init__(self) -> None:
        self.holders: dict[tuple[int, int], set[int]] = defaultdict(set)

    def add(self, documents, values) -> None:
        for document, row in zip(documents.tolist(), values.tolist(), strict=True):
            for item in enumerate(row):
                self.holders[item].add(document)

    def search(self, row, need, wanted=None) -> list[int]:
        counts = Counter(document for item in enumerate(row.tolist()) for document in self.holders.get(item, ()))
        return sorted(d for d, n in counts.items() if n >= need and (wanted is None or wanted[d]))


def made_up(rng, n, groups):
    """Values of which documents share some with earlier ones; one value in group 0 is common."""
    values = rng.integers(0, 2**64, (n, groups), dtype=np.uint64)
    for i in range(1, n):
        if rng.random() < 0.5:
            same = rng.random(groups) < rng.random()
            values[i, same] = values[rng.integers(0, i), same]
    values[rng.random(n) < 0.3, 0] = 7
    return values


TOO_MANY = 12


def compare(index, naive, rows, rng, need=2):
    """An index has the answers of the dict of sets, and few more: values are compared by 20 or 32 bits of a keyed hash.

    With 19 values and a need of 2, a document too many has one equal value and another that agrees by chance. The 65 rows
    and 4000 documents below have 23,000 pairs with one equal value: 23,000 · 18 / 2^20 = 0.4 answers too many are expected,
    and 13 have a probability of 10^-15. In the other tests fewer are.
    """
    wanted = rng.random(int(rng.integers(1, 4000))) < 0.5
    bitmap, wanted = np.packbits(wanted, bitorder="little"), np.concatenate([wanted, np.zeros(10**5, bool)])
    offsets, documents = index.search_many(rows, need)
    more = 0
    for i, row in enumerate(rows):
        expected, found = naive.search(row, need), index.search(row, need).tolist()
        assert documents[offsets[i] : offsets[i + 1]].tolist() == found == sorted({*found, *expected})
        assert index.search(row, need, bitmap).tolist() == [document for document in found if wanted[document]]
        more += len(found) - len(expected)
    assert more <= TOO_MANY
    assert {*naive.search(rows[0], 1)} <= {*index.search(rows[0], 1).tolist()}


@pytest.mark.parametrize("groups", [1, 2, 19])
def test_an_index_finds_what_a_dict_of_sets_finds(tmp_path, groups):
    rng, naive, n, need = np.random.default_rng(groups), Naive(), 4000, min(groups, 2)
    documents, values = np.cumsum(rng.integers(1, 3, n)), made_up(rng, n, groups)
    with GrowingIndex.create(tmp_path, groups, need=need, recent=700) as index:
        at = 0
        while at < n:
            end = at + int(rng.integers(0, 500))
            index.add(documents[at:end], values[at:end])
            naive.add(documents[at:end], values[at:end])
            at = end
        rows = np.concatenate([values[rng.integers(0, n, 60)], made_up(rng, 5, groups)])
        compare(index, naive, rows, rng, need)
        index.flush()
        assert index.covered == documents[-1] + 1 and index.stats()["recent"] == 0
        compare(index, naive, rows, rng, need)
        with GrowingIndex.open(tmp_path, read_only=True) as reader:
            compare(reader, naive, rows, rng, need)
            index._levels.wait()
            compare(index, naive, rows, rng, need)
            compare(reader, naive, rows, rng, need)  # it has the files that were merged open
        with GrowingIndex.open(tmp_path, read_only=True) as reader:
            compare(reader, naive, rows, rng, need)
            assert reader.check() == [] and sum(reader.stats()["segments"]) == n
            assert reader.stats()["bytes"] < 9 * n * groups


SMALL = st.integers(0, 3)
STEPS = st.lists(st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(st.integers(1, 9), SMALL, SMALL, SMALL), max_size=12)),
    st.tuples(st.just("far"), st.integers(1, 4)),
    st.tuples(st.sampled_from(["flush", "merge", "reopen", "lose"]), st.none()),
), max_size=14)


@settings(max_examples=30, deadline=None)
@given(STEPS, st.integers(1, 3), st.integers(3, 9))
def test_any_order_of_steps_gives_what_a_dict_of_sets_gives(steps, need, recent):
    with tempfile.TemporaryDirectory() as place:
        index, naive, added, saved = GrowingIndex.create(place, 3, recent=recent), Naive(), {}, {}
        number = 0
        for step, given_ in steps:
            if step == "add":
                rows = {(number := number + ahead): row for ahead, *row in given_}
                index.add(np.array(list(rows), np.int64), np.array(list(rows.values()), np.uint64).reshape(-1, 3))
                added |= rows
            elif step == "far":
                number += given_ << 26
            elif step == "lose":  # what a crash leaves
                index.close()
                index = GrowingIndex.open(place, recent=recent)
                added = {d: row for d, row in added.items() if d < index.covered}
                assert saved.keys() <= added.keys()
            else:
                index.flush()
                if step == "merge":
                    index._levels.wait()
                saved = dict(added)
                if step == "reopen":
                    index.close()
                    index = GrowingIndex.open(place, recent=recent)
            assert index.stats()["documents"] == len(added)
        naive.add(np.array(list(added), np.int64), np.array(list(added.values()), np.uint64).reshape(-1, 3))
        for row in itertools.islice(itertools.product(range(4), repeat=3), 0, 64, 5):
            assert index.search(np.array(row, np.uint64), need).tolist() == naive.search(np.array(row), need)
        assert index.check() == []
        index.close()


def test_documents_in_any_order_and_far_apart(tmp_path):
    documents = np.array([5, 2**59, 0, 3 * 2**27, 3 * 2**27 - 1, 2**27, 2**27 - 1, 1])
    values = np.array([[7, d] for d in range(8)], np.uint64)
    with GrowingIndex.create(tmp_path, 2, recent=3) as index:
        index.add(documents, values, covered=77)
        assert index.search(values[2], 1).tolist() == sorted(documents.tolist())
        index.flush()
        index._levels.wait()
        assert index.search(values[2], 1).tolist() == sorted(documents.tolist())
        assert index.search(values[2], 2).tolist() == [0] and index.covered == 77
        assert len(index.stats()["segments"]) >= 3
        with pytest.raises(ValueError, match="from 0 to 2"):
            index.add(np.array([2**60]), values[:1])


def test_all_documents_share_all_values(tmp_path):
    n = 150_000  # a block with ends of 32 bits; entries are counted, not sorted
    with GrowingIndex.create(tmp_path, 2, need=2, recent=1 << 15) as index:
        index.add(np.arange(n), np.zeros((n, 2), np.uint64))
        for _ in range(2):
            assert index.search(np.zeros(2, np.uint64), 2).tolist() == list(range(n))
            assert index.search(np.array([0, 1], np.uint64), 2).tolist() == []
            wanted = np.zeros(n // 8, np.uint8)
            wanted[n // 16] = 0b100
            assert index.search(np.zeros(2, np.uint64), 2, wanted).tolist() == [n // 16 * 8 + 2]
            index.flush()
            index._levels.wait()


@pytest.mark.parametrize("stage", ["flush", "merge"])
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch, stage):
    rng, naive = np.random.default_rng(3), Naive()
    values = made_up(rng, 900, 3)
    naive.add(np.arange(900), values)
    write, left = container.write, [0]

    def failing(*given_, **named):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*given_, **named)

    for room in range(4):
        for path in tmp_path.iterdir():
            path.unlink()
        with GrowingIndex.create(tmp_path, 3, recent=1000) as index:
            index.add(np.arange(400), values[:400])
            index.flush()
            index.add(np.arange(400, 900), values[400:])
            left[0] = room if stage == "flush" else room + 2  # a segment and a generation are written before
            with monkeypatch.context() as patch:
                patch.setattr(container, "write", failing)
                with contextlib.suppress(OSError):
                    index.flush()
                index._levels.wait()
            compare(index, naive, values[::50], rng)
            index.flush()
            index.close()
        with GrowingIndex.open(tmp_path) as index:
            assert index.covered == 900
            compare(index, naive, values[::50], rng)
            used = {path for opened in index._levels.opened for path in opened.file.paths(tmp_path, "index")}
            assert set(tmp_path.iterdir()) == used | {tmp_path / "index.index"}


def test_what_a_crash_leaves_is_removed(tmp_path):
    with GrowingIndex.create(tmp_path, 1) as index:
        index.add(np.array([3]), np.array([[4]], np.uint64))
        index.flush()
    before = sorted(tmp_path.iterdir())
    for name in ("index.9.0.postings", ".index.index.0123.tmp", ".index.7.0.postings.0123.tmp"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / "other.9.0.postings").write_bytes(b"of another index")
    GrowingIndex.open(tmp_path, read_only=True).close()
    assert len(list(tmp_path.iterdir())) == 6
    GrowingIndex.open(tmp_path).close()
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "other.9.0.postings"])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """An index of two segments, its values, and the answers."""
    place, rng, naive = tmp_path_factory.mktemp("small"), np.random.default_rng(5), Naive()
    values = made_up(rng, 130, 2)
    naive.add(np.arange(130), values)
    with GrowingIndex.create(place, 2) as index:
        for start, end in ((0, 90), (90, 130)):
            index.add(np.arange(start, end), values[start:end])
            index.flush()
    return place, values[::4], [naive.search(row, 1) for row in values[::4]]


def answers(place, values, expected):
    """Return whether all answers are right; CorruptFile may be raised."""
    with GrowingIndex.open(place, read_only=True) as index:
        assert [index.search(row, 1).tolist() for row in values] == expected
        return index.check()


@pytest.mark.parametrize("part", range(2))
def test_a_flipped_byte_gives_right_answers_or_an_error(small, tmp_path, part):
    place, values, expected = small
    refused = total = 0
    for path in sorted(place.iterdir()):
        content = path.read_bytes()
        shutil.copytree(place, tmp_path, dirs_exist_ok=True)
        for at in range(part, len(content), 8 if len(content) < 1000 else 50):
            damaged = bytearray(content)
            damaged[at] ^= 1 + at % 255
            (tmp_path / path.name).write_bytes(damaged)
            total += 1
            try:
                assert answers(tmp_path, values, expected) != []
            except CorruptFile:
                refused += 1
        (tmp_path / path.name).write_bytes(content)
    assert total > 150 and refused > total / 2


def test_a_file_that_is_cut_short_is_an_error(small, tmp_path):
    place, values, expected = small
    for path in sorted(place.iterdir()):
        content = path.read_bytes()
        shutil.copytree(place, tmp_path, dirs_exist_ok=True)
        for size in (0, 1, 63, 64, 500, len(content) // 2, len(content) - 8, len(content) - 1):
            if size < len(content):
                (tmp_path / path.name).write_bytes(content[:size])
                with pytest.raises(CorruptFile):
                    answers(tmp_path, values, expected)
        (tmp_path / path.name).unlink()
        with pytest.raises(FileNotFoundError if path.suffix == ".index" else CorruptFile):
            answers(tmp_path, values, expected)


def test_forged_lists_are_read_without_harm(small, tmp_path):
    """Right checksums of files, wrong contents: an answer, or an error."""
    place, values, _ = small
    rng, refused = np.random.default_rng(9), 0
    path = sorted(place.glob("*.postings"))[0]
    header, arrays = container.read(path)
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    for _turn in range(80):
        changed = {name: array.copy() for name, array in arrays.items()}
        for _ in range(int(rng.integers(1, 4))):
            array = changed[str(rng.choice(list(changed)))]
            array[rng.integers(0, len(array))] = rng.choice([0, 1, 20, 255, 65535, 2**31, 2**32 - 1, array[0]])
        header["directories"] = [hashlib.blake2b(changed[f"directory{g}"].data, digest_size=16).hexdigest() for g in (0, 1)]
        container.write(tmp_path / path.name, files.SEGMENT_KIND, header, changed, on_page=True)
        with GrowingIndex.open(tmp_path) as index:
            for row in values[::11]:
                try:
                    index.search(row, 1)
                except CorruptFile:
                    refused += 1
            with contextlib.suppress(CorruptFile):
                index.check()
        shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    assert refused


@pytest.mark.parametrize(("change", "value"), [
    ("base", 2**61), ("span", 0), ("span", 2**28), ("block_bits", 31), ("block_bits", 2), ("documents", 1), ("number", 8),
    ("parts", [0, 1]), ("parts", [1, 2]), ("parts", []), ("parts", [0, 1, 1, 2]), ("parts", [0, 1.5, 2]), ("span", "7"),
])
def test_forged_generations_are_refused(small, tmp_path, change, value):
    place, values, expected = small
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    header, _ = container.read(tmp_path / "index.index")
    header["segments"][0][change] = value
    container.write(tmp_path / "index.index", files.KIND, header, {})
    with pytest.raises(CorruptFile):
        answers(tmp_path, values, expected)


@pytest.mark.parametrize(("change", "value"), [
    ("groups", 3), ("groups", 0), ("value_bits", 64), ("value_bits", 30), ("key", "00"), ("key", 7),
    ("covered", -1), ("segments", None), ("segments", [None]), ("next_segment", 2**62),
])
def test_forged_settings_are_refused(small, tmp_path, change, value):
    place, values, expected = small
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    header, _ = container.read(tmp_path / "index.index")
    header[change] = value
    container.write(tmp_path / "index.index", files.KIND, header, {})
    with pytest.raises(CorruptFile):
        answers(tmp_path, values, expected)


def test_wrong_arguments(tmp_path):
    row = np.zeros(2, np.uint64)
    with GrowingIndex.create(tmp_path, 2) as index:
        with pytest.raises(ValueError, match="need is 0"):
            index.search(row, 0)
        with pytest.raises(ValueError, match="3 values"):
            index.search(np.zeros(3, np.uint64))
        with pytest.raises(ValueError, match="1 documents of 2 groups"):
            index.add(np.array([1]), row)
        with pytest.raises(ValueError, match="from 0"):
            index.add(np.array([-1]), row[None])
        assert index.search_many(np.zeros((0, 2), np.uint64))[0].tolist() == [0]
    with pytest.raises(FileNotFoundError):
        GrowingIndex.open(tmp_path, name="other")
    for groups in (0, 5000):
        with pytest.raises(ValueError, match="groups"):
            GrowingIndex.create(tmp_path, groups)
    with pytest.raises(ValueError, match="recent"):
        GrowingIndex.create(tmp_path, 1, recent=0)


def test_documents_of_both_are_found(tmp_path):
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 5, (60, 4)).astype(np.uint64)
    index = GrowingIndex.create(tmp_path, 4, need=2, name="features")
    index.add(np.arange(40), rows[:40])
    index.flush()
    index.close()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    reader = GrowingIndex.open(tmp_path, name="features", read_only=True)
    for both, first in ((GrowingIndex.in_memory(4, 2), 0), (reader.fork(), 40), (reader, 40)):
        both.add(np.arange(first, 60), rows[first:])
        wanted = np.packbits(rng.random(64) < 0.7, bitorder="little")
        bits = np.unpackbits(wanted, bitorder="little")[:60].astype(bool)
        for need in (1, 2):
            for row in rows[:20]:
                sharing = (rows == row).sum(axis=1) >= need
                assert both.search(row, need).tolist() == np.flatnonzero(sharing).tolist()
                assert both.search(row, need, wanted).tolist() == np.flatnonzero(sharing & bits).tolist()
        ends, found = both.search_many(rows[:5], 2)
        assert [found[a:b].tolist() for a, b in itertools.pairwise(ends)] == [
            both.search(row, 2).tolist() for row in rows[:5]]
        both.flush()
    reader.close()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
