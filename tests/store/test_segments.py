"""Files of an index: what is written is read, and a file of another segment or index is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ndcore._postings import KEY_BYTES, Recent, block_bits
from ndcore.storage.container import CorruptFile
from ndcore.store import segments
from ndcore.store.segments import Generation, SegmentFile

STATE = Generation(5, 3, 32, bytes(range(KEY_BYTES)), 9, 8, ())


def lists(table):
    return [table.packed(group, 0, 400) for group in range(3)]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A segment of three groups in two files."""
    table = Recent(3, 400, 32, STATE.key)
    table.add(np.arange(400), np.arange(1200, dtype=np.uint64).reshape(400, 3), 0)
    packed = lists(table)
    monkeypatch.setattr(segments, "PART_BYTES", packed[0][0].nbytes + packed[0][1].nbytes + 1)
    planned = SegmentFile(7, 0, 400, 400, block_bits(32, 400, 400), ())
    return segments.write_segment(tmp_path, "x", STATE, planned, packed), packed


def test_a_segment_is_read_as_it_was_written(tmp_path, written):
    file, packed = written
    assert file.parts == (0, 2, 3) and len(list(tmp_path.iterdir())) == 2
    opened = segments.open_segment(tmp_path, "x", STATE, file)
    assert opened.nbytes == sum(array.nbytes for of_group in packed for array in of_group)
    for group in range(3):
        values, documents = opened.entries(group)
        assert sorted(documents.tolist()) == list(range(400)) and (np.diff(values.astype(np.int64)) >= 0).all()
    assert segments.verify(tmp_path, "x", file) == []


@pytest.mark.parametrize("change", [{"number": 8}, {"base": 1}, {"span": 399}, {"documents": 7}, {"parts": (0, 1, 3)}])
def test_a_file_of_another_segment_is_refused(tmp_path, written, change):
    other = dataclasses.replace(written[0], **change)
    for old, new in zip(written[0].paths(tmp_path, "x"), other.paths(tmp_path, "x"), strict=True):
        old.rename(new)
    with pytest.raises(CorruptFile, match="not the file of segment"):
        segments.open_segment(tmp_path, "x", STATE, other)


def test_a_file_of_another_index_is_refused(tmp_path, written):
    with pytest.raises(CorruptFile, match="not the file"):
        segments.open_segment(tmp_path, "x", dataclasses.replace(STATE, key=bytes(KEY_BYTES)), written[0])
    with pytest.raises(CorruptFile, match="not the file"):
        segments.open_segment(tmp_path, "x", dataclasses.replace(STATE, value_bits=33), written[0])


def test_a_generation_is_read_as_it_was_written(tmp_path, written):
    state = dataclasses.replace(STATE, segments=(written[0],))
    segments.write_generation(tmp_path, "x", state)
    assert segments.read_generation(tmp_path, "x") == state
    assert segments.left_over(tmp_path, "x", state) == []
    assert len(segments.left_over(tmp_path, "x", None)) == 2


def test_nothing_stays_of_a_segment_that_could_not_be_written(tmp_path, written, monkeypatch):
    def failing(packed):
        yield from packed
        raise MemoryError

    file, packed = written
    with pytest.raises(MemoryError):
        segments.write_segment(tmp_path, "y", STATE, dataclasses.replace(file, parts=()), failing(packed))
    assert not list(tmp_path.glob("y*"))
