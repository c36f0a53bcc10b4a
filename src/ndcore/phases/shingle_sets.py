"""Phase 4, shingle sets: the texts of candidates to ascending sets of fingerprints, in rows of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._batch import Batch
from ndcore._sets import distinct
from ndcore._types import Ints, UInts
from ndcore.parallel import cut
from ndcore.phases.columns import Batches, as_batch, binary_column, cut_binary, drop_empty, numbers, read_column, values_of
from ndcore.phases.value_filter import may_have
from ndcore.text.inputs import pieces
from ndcore.text.shingling import Shingling

MEMBERS = 1 << 17  # most members of a row: 1 MiB


def form_sets(
    batches: Batches, *, text: str, shingling: Shingling, wanted: UInts | None, among: UInts | None = None
) -> Iterator[Any]:
    """Form the shingle sets of the texts whose ``hash`` may be in a filter of these words; None: of all texts.

    Yields all columns but the text, with ``part`` of ``parts`` and ``members`` (uint64, little-endian): the concatenated
    parts of a set are its fingerprints, distinct and ascending. An empty set has one part. ``bytes`` is the digest of the
    text, as from `sketch_documents`. among: words of a filter; only fingerprints that may be in it are members.
    """
    for batch in drop_empty(batches):
        if wanted is not None:
            batch = batch.take(np.flatnonzero(may_have(wanted, numbers(batch, "hash"))))
        if not batch.num_rows:
            continue
        others = [name for name in batch.schema.names if name != text]
        for first, piece in pieces(read_column(batch, text)):
            values, offsets = distinct(*shingling.fingerprints_many(piece, threads=1))
            if among is not None:
                sought = may_have(among, values.view(np.int64))
                values, offsets = values[sought], np.append(0, np.cumsum(sought))[offsets]
            owners, parts, counts, bounds = _cut_sets(offsets)
            digests = Batch(piece).digests()
            for some in cut(np.diff(bounds), 8 * MEMBERS):
                rows = first + owners[some]
                columns = {name: batch.column(name).take(rows) for name in others}
                data = values[bounds[some.start] : bounds[some.stop]].astype("<u8").view(np.uint8)
                ends = 8 * (bounds[some.start : some.stop + 1] - bounds[some.start])
                yield as_batch(**columns, part=parts[some], parts=counts[some], members=cut_binary(data, ends),
                               bytes=binary_column(digests[owners[some]]))


def list_members(batches: Batches) -> Iterator[Any]:
    """List the ``members`` of sets: a ``value`` for each, int64 of the same bits."""
    for batch in drop_empty(batches):
        yield as_batch(value=values_of(batch.column("members"))[0].view(np.int64))


def _cut_sets(offsets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Split sets into rows of at most MEMBERS: (set, part and number of parts of each row, bounds of the rows)."""
    counts = np.maximum(1, -(-np.diff(offsets) // MEMBERS))
    owners = np.repeat(np.arange(len(counts)), counts)
    parts = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends = np.minimum(offsets[owners] + (parts + 1) * MEMBERS, offsets[owners + 1])
    return owners, parts, counts[owners], np.append(0, ends).astype(np.int64)
