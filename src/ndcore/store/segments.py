"""Files of an index: immutable segments of postings, and the generation file that names the ones in use.

A segment has one or more containers, each with whole groups: small segments are one file, large ones are written group by
group, so that a merge needs memory for only a few groups. The generation file `NAME.index` is replaced by renaming, after
the files that it names are on disk. Other files are left over from a crash, and the next writer removes them.

Opening does not read files in full: a segment is mapped, its directories are verified, and a block of entries is verified
when it is first searched.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ndcore import _postings
from ndcore._types import AnyArray
from ndcore.checks import is_int
from ndcore.storage import container
from ndcore.storage.container import CorruptFile

KIND, SEGMENT_KIND = "store index", "store postings"
PART_BYTES = 64 << 20  # bytes of groups in one file, which has at least one group

Packed = tuple[AnyArray, AnyArray]  # directory and words of a group


@dataclass(frozen=True)
class SegmentFile:
    """A segment in the generation file. `parts`: the first group of each file, then the number of groups."""

    number: int
    base: int
    span: int
    documents: int
    block_bits: int
    parts: tuple[int, ...]

    def paths(self, directory: Path, name: str) -> list[Path]:
        """List the files."""
        return [directory / f"{name}.{self.number}.{part}.postings" for part in range(len(self.parts) - 1)]


@dataclass(frozen=True)
class Generation:
    """The state of an index on disk.

    Attributes
    ----------
    number : int
        Grows with every change.
    groups, value_bits : int
    key : bytes
        The key of the hash of values.
    covered : int
        See `GrowingIndex.covered`.
    next_segment : int
    segments : tuple of SegmentFile
    """

    number: int
    groups: int
    value_bits: int
    key: bytes
    covered: int
    next_segment: int
    segments: tuple[SegmentFile, ...]

    @property
    def hashing(self) -> list[int | str]:
        """The properties that identify segments of this index: the width of values and a digest of the key."""
        return [self.value_bits, hashlib.blake2b(self.key, digest_size=8).hexdigest()]


def write_generation(directory: Path, name: str, state: Generation) -> None:
    """Replace the generation file; its segments must be on disk."""
    segments = [{**asdict(segment), "parts": list(segment.parts)} for segment in state.segments]
    header = {**asdict(state), "key": state.key.hex(), "segments": segments}
    container.write(directory / f"{name}.index", KIND, header, {})


def read_generation(directory: Path, name: str) -> Generation:
    """Read the generation file. Raises FileNotFoundError, or CorruptFile if it is damaged or in another format."""
    path = directory / f"{name}.index"
    try:
        header, _ = container.read(path, KIND)
        number, groups, value_bits, covered, next_segment = (
            _number(header[field]) for field in ("number", "groups", "value_bits", "covered", "next_segment"))
        segments, key = tuple(map(_segment_file, header["segments"])), bytes.fromhex(header["key"])
        _postings.Recent(groups, 1, value_bits, key)  # raises ValueError for impossible groups, values or key
        state = Generation(number, groups, value_bits, key, covered, next_segment, segments)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CorruptFile):
            raise
        raise CorruptFile(f"{path}: not the generation file of an index: {error!r:.200}") from None
    for segment in state.segments:
        cuts = list(segment.parts)
        if cuts != sorted(set(cuts)) or cuts[:1] != [0] or cuts[-1] != state.groups:
            raise CorruptFile(f"{path}: files of segment {segment.number} do not cut {state.groups} groups")
    return state


def _segment_file(row: Any) -> SegmentFile:
    numbers = {field.name: _number(row[field.name]) for field in fields(SegmentFile)[:-1]}
    return SegmentFile(**numbers, parts=tuple(map(_number, row["parts"])))


def _number(value: Any) -> int:
    if not is_int(value) or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r:.40} is not a number from 0 to 2^62 - 1")
    return int(value)


def left_over(directory: Path, name: str, state: Generation | None) -> list[Path]:
    """List the files of segments that a generation does not name."""
    used = {path.name for segment in (state.segments if state else ()) for path in segment.paths(directory, name)}
    pattern = re.compile(re.escape(name) + r"\.[0-9]+\.[0-9]+\.postings|\." + re.escape(name) + r"\..*\.tmp")
    return [path for path in directory.iterdir() if pattern.fullmatch(path.name) and path.name not in used]


def write_segment(directory: Path, name: str, state: Generation, planned: SegmentFile, lists: Iterable[Packed]
                  ) -> SegmentFile:
    """Write and sync the lists of all groups, in order; `planned` has all fields but the parts."""
    parts, size = [0], 0
    waiting: list[Packed] = []
    try:
        for packed in lists:
            waiting.append(packed)
            size += packed[0].nbytes + packed[1].nbytes
            if size >= PART_BYTES:
                _write_part(directory, name, state, planned, parts, waiting)
                waiting, size = [], 0
        if waiting:
            _write_part(directory, name, state, planned, parts, waiting)
    except BaseException:
        for path in replace(planned, parts=tuple(parts)).paths(directory, name):
            with contextlib.suppress(OSError):
                path.unlink()
        raise
    return replace(planned, parts=tuple(parts))


def _write_part(directory: Path, name: str, state: Generation, planned: SegmentFile, parts: list[int], lists: list[Packed]
                ) -> None:
    first = parts[-1]
    parts.append(first + len(lists))
    arrays: dict[str, AnyArray] = {}
    for group, (places, words) in enumerate(lists, first):
        arrays |= {f"directory{group}": places, f"words{group}": words}
    header = {**_describe_part(state, planned, first), "directories": [_digest(places) for places, _ in lists]}
    path = replace(planned, parts=tuple(parts)).paths(directory, name)[-1]
    container.write(path, SEGMENT_KIND, header, arrays, on_page=True)


def _describe_part(state: Generation, segment: SegmentFile, first: int) -> dict[str, Any]:
    """Return the header that the file of a segment from a group on must have."""
    said = asdict(segment)
    del said["parts"]
    return {"hashing": state.hashing, **said, "first": first}


def _digest(places: AnyArray) -> str:
    return hashlib.blake2b(places.data, digest_size=16).hexdigest()


def open_segment(directory: Path, name: str, state: Generation, segment: SegmentFile) -> _postings.Segment:
    """Map a segment. Raises CorruptFile if a file is damaged or of another segment, FileNotFoundError if one is missing."""
    lists: list[Packed] = []
    for path, first, end in zip(segment.paths(directory, name), segment.parts[:-1], segment.parts[1:], strict=True):
        lists += _open_part(path, _describe_part(state, segment, first), end)
    try:
        return _postings.Segment(lists, segment.base, segment.span, state.value_bits, segment.block_bits)
    except (ValueError, OverflowError) as error:
        raise CorruptFile(f"{segment.paths(directory, name)[0]}: {error}") from None


def _open_part(path: Path, expected: dict[str, Any], end: int) -> Iterator[Packed]:
    try:
        header, arrays = container.read(path, SEGMENT_KIND, mmap=True, verify=False)
    except CorruptFile:
        raise
    except ValueError as error:
        raise CorruptFile(str(error)) from None
    digests = header.pop("directories", None)
    first = expected["first"]
    if header != expected or not isinstance(digests, list) or len(digests) != end - first:
        raise CorruptFile(f"{path}: not the file of segment {expected['number']} from group {first} to {end - 1}")
    for group, digest in enumerate(digests, first):
        places, words = arrays.get(f"directory{group}"), arrays.get(f"words{group}")
        if places is None or words is None or places.dtype != np.uint32 or words.dtype != np.uint64 or \
                places.ndim != 1 or words.ndim != 1:
            raise CorruptFile(f"{path}: group {group} is missing, or of another type")
        if _digest(places) != digest:
            raise CorruptFile(f"{path}: the directory of group {group} is damaged")
        read_at_random(words)
        yield places, words


def read_at_random(array: AnyArray) -> None:
    """Advise the system that a mapped array is read at random, so that it does not read ahead."""
    mapped = array.base
    while isinstance(mapped, np.ndarray):
        mapped = mapped.base
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        mapped.madvise(mmap.MADV_RANDOM)


def verify(directory: Path, name: str, segment: SegmentFile) -> list[str]:
    """Verify all checksums of a segment; return the problems found."""
    problems = []
    for path in segment.paths(directory, name):
        try:
            container.read(path, SEGMENT_KIND, mmap=True)
        except (OSError, ValueError) as error:
            problems.append(str(error))
    return problems
