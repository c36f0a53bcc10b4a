"""Documents with equal sketches, between phases one and two: only the first of them, their leader, goes on.

In: the sketches of phase one, and the texts once more. Out: the slot ``documents``: the leader of every document, and how it
is the same: identical (bytes), lexically equivalent (canonical tokens), or with an equal sketch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._entries import sort_entries
from ndcore._types import Bools, Ints
from ndcore.checks import check_numbered
from ndcore.collection import slots
from ndcore.collection.classes import IDENTICAL, LEXICAL, SHINGLE
from ndcore.collection.job import Job
from ndcore.collection.segments import Segments
from ndcore.collection.shelf import Shelf
from ndcore.progress import Progress
from ndcore.sketch.sketches import Sketches
from ndcore.text.corpus import Corpus
from ndcore.text.digests import OF_BYTES, OF_TOKENS, read_digests
from ndcore.text.shingling import Shingling

__all__ = ["collapse", "find_alike", "find_leaders"]

BYTES, TOKENS = slice(16), slice(16, 32)  # of a row of digests


def find_leaders(shelf: Shelf, segments: Segments, job: Job, report: Progress) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the leader of every document and how it is the same, from the shelf if they are there."""
    check_numbered(len(segments), "documents", "cluster them in parts")
    if not shelf.has(slots.DOCUMENTS):
        alike = find_alike(segments, job.threads)
        leader, how = collapse(segments, alike, _digests(segments, job, alike, report))
        shelf.put(slots.DOCUMENTS, {}, {"leader": leader.astype(np.uint32), "same": how})
    documents = slots.read(shelf, slots.DOCUMENTS, len(segments))[1]
    return documents["leader"].astype(np.int64), documents["same"]


def _digests(segments: Segments, job: Job, alike: tuple[Ints, Ints], report: Progress) -> NDArray[np.uint8] | None:
    """Return digests of the documents of a job that are alike; None where there are none to compare."""
    digests: NDArray[np.uint8] | None = None
    if isinstance(job.given, Sketches):
        digests = job.given.digests
    elif job.shingling is not None and not isinstance(job.given, Segments):
        digests = _read_digests(segments, job.given, job.first, job.shingling, alike, job.threads, report)
    return digests if job.earlier is None else job.earlier.digests(digests, len(segments))


def _read_digests(
    segments: Segments, corpus: Corpus, first: int, shingling: Shingling, alike: tuple[Ints, Ints], threads: int | None,
    report: Progress,
) -> NDArray[np.uint8]:
    """Read the documents of a corpus that are alike again, for digests of their bytes.

    Where these differ, or sketches say nothing, read them once more for digests of their tokens. The corpus has the
    documents from the `first` on.
    """
    digests = np.zeros((len(segments), 32), np.uint8)
    documents, firsts = alike

    def read(which: Bools, part: int) -> None:
        wanted = np.zeros(len(segments), np.bool_)
        wanted[documents[which]] = wanted[firsts[which]] = True
        wanted[:first] = False
        read_digests([corpus], [first], wanted, shingling, digests, segments.valid, parts=(part,), threads=threads,
                     report=report)

    read(np.ones(len(documents), np.bool_), OF_BYTES)
    read((digests[documents] != digests[firsts]).any(axis=1) | segments.empty[documents], OF_TOKENS)
    return digests[first:]


def find_alike(segments: Segments, threads: int | None) -> tuple[Ints, Ints]:
    """Find documents with the sketch of an earlier one, or with an empty one too; return (documents, first such ones)."""
    n = len(segments)
    entries = np.empty((n, 2), np.uint64)
    entries[:, 0], entries[:, 1] = np.where(segments.empty, np.uint64(0), segments.keys), np.arange(n)
    sort_entries(entries)
    keys, documents = entries[:, 0], entries[:, 1].astype(np.int64)
    leader = np.arange(n)
    while len(documents):  # a second time only where different sketches have the same key, which is chance
        first = np.concatenate([[True], keys[1:] != keys[:-1]])
        leaders = documents[np.maximum.accumulate(np.where(first, np.arange(len(documents)), 0))]
        later, before = documents[~first], leaders[~first]
        alike = segments.compared(later, before, threads)
        equal = (alike.common == alike.in_a) & (alike.common == alike.in_b)
        leader[later[equal]] = before[equal]
        keys, documents = keys[~first][~equal], later[~equal]
    later = np.flatnonzero(leader != np.arange(n))
    return later, leader[later]


def collapse(
    segments: Segments, alike: tuple[Ints, Ints], digests: NDArray[np.uint8] | None
) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the leader of every document, and how it is the same, as a position in CLASSES.

    Digests of the documents that are alike, and of their leaders, tell how; without them all are "shingle". Documents
    without a sample have a leader only by digests, and those without shingles only an identical one.
    """
    n = len(segments)
    leader, how = np.arange(n), np.zeros(n, np.uint8)
    documents, firsts = alike
    empty = segments.empty[documents]
    leader[documents[~empty]], how[documents[~empty]] = firsts[~empty], SHINGLE
    if digests is None:
        return leader, how
    bare = np.unique(np.concatenate([documents[empty], firsts[empty]]))
    valid = segments.valid[bare]
    for part, among in ((BYTES, bare[~valid]), (TOKENS, bare[valid])):
        keys = np.ascontiguousarray(digests[among, part]).view(np.uint64)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True, axis=0)
        leader[among] = among[first[group.reshape(-1)]]
    same = np.flatnonzero(leader != np.arange(n))
    for part, kind in ((TOKENS, LEXICAL), (BYTES, IDENTICAL)):
        equal = (digests[same, part] == digests[leader[same], part]).all(axis=1)
        how[same[equal]] = kind
    return leader, how
