"""Phase one of Broder et al. 1997, §4.1: a sketch of every document.

In: texts, or sketches. Out: the slots ``sketches/…`` and ``read``.

Documents are read once, in order. Their sketches are put on the shelf in parts of bounded size, so an interrupted job reads
and skips the documents whose sketches are there, and goes on after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._minhash import Sink
from ndcore.collection import slots
from ndcore.collection.job import Job, length
from ndcore.collection.segments import Segments
from ndcore.collection.shelf import Shelf, part_name
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.sketches import Sketches
from ndcore.storage.file_shelf import consecutive
from ndcore.text.corpus import Corpus
from ndcore.text.inputs import pieces, take

__all__ = ["sketch_documents"]

SEGMENT = 1 << 28  # bytes of sketches in a part
LEAST_SEGMENT = 1 << 24  # the same, of a small limit
SEGMENT_DOCUMENTS = 1 << 20

_OTHERS = ("sketches of {} documents are there, and {} documents are given: go on with the same, or build in another "
           "directory")


def sketch_documents(shelf: Shelf, job: Job, report: Progress, keep: bool) -> Segments:
    """Return the sketches of all documents of a job; a collection that is extended comes first.

    Sketches that are given go to the shelf with `keep` only. ValueError where the shelf has sketches of other documents.
    """
    given, sketcher = job.given, job.settings.sketcher
    parts = [] if job.earlier is None else list(job.earlier.segments.parts)
    if isinstance(given, (Sketches, Segments)):
        parts += given.parts if isinstance(given, Segments) else [given]
    for number, part in enumerate(parts if keep else ()):
        _put_given(shelf, part_name(slots.SKETCHES, number), part)
    if isinstance(given, (Sketches, Segments)):
        return Segments(parts)
    assert sketcher is not None
    names = consecutive(shelf, slots.SKETCHES)
    done = sum(len(shelf.get_sketches(name)) for name in names[len(parts) :])
    whole = shelf.has(slots.SKETCHED) and slots.read(shelf, slots.SKETCHED, done)[0]["documents"] == done
    n = length(given)
    if n is not None and (n != done if whole else n < done):
        raise ValueError(_OTHERS.format(done, n))
    if not whole:
        _sketch_rest(shelf, given, job, len(names), done, report)
    return Segments([slots.read_sketches(shelf, name, sketcher.recipe) for name in shelf.names(slots.SKETCHES)])


def _put_given(shelf: Shelf, name: str, part: Sketches) -> None:
    """Put sketches on the shelf; ValueError where an interrupted job put other ones there."""
    if not shelf.has(name):
        shelf.put_sketches(name, part)
        return
    there = shelf.get_sketches(name)
    columns = ("values", "offsets", "moduli", "valid")
    if not all(np.array_equal(getattr(there, column), getattr(part, column)) for column in columns):
        raise ValueError(f"the sketches in {name} are not those given: go on with the same, or build in another directory")


def _sketch_rest(shelf: Shelf, corpus: Corpus, job: Job, number: int, done: int, report: Progress) -> None:
    """Sketch the documents after the first `done`, in parts from this number on."""
    sketcher = job.settings.sketcher
    assert sketcher is not None
    waiting: list[Sink] = []
    documents = nbytes = 0
    most = SEGMENT if job.memory_limit is None else min(SEGMENT, max(LEAST_SEGMENT, job.memory_limit // 2))  # and a copy
    for piece in map_pieces(sketcher.sketch_piece, _pieces_from(corpus, done), job.threads):
        waiting.append(piece)
        documents += len(piece)
        nbytes += piece.nbytes
        if nbytes >= most or documents >= SEGMENT_DOCUMENTS:
            shelf.put_sketches(part_name(slots.SKETCHES, number), sketcher.gather(waiting))
            number, done, documents, nbytes = number + 1, done + documents, 0, 0
            waiting.clear()
        report("sketching", done + documents, None)
    if waiting or not number:
        shelf.put_sketches(part_name(slots.SKETCHES, number), sketcher.gather(waiting))
    shelf.put(slots.SKETCHED, {"documents": done + documents}, {})


def _pieces_from(corpus: Corpus, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield pieces of work, from this document on."""
    seen = 0
    for batch in corpus.batches():
        skipped = min(len(batch), max(0, first - seen))
        rest = batch if not skipped else take(batch, np.arange(skipped, len(batch)))
        yield from ((seen + skipped + inside, part) for inside, part in pieces(rest))
        seen += len(batch)
    if seen < first:
        raise ValueError(_OTHERS.format(first, seen))
