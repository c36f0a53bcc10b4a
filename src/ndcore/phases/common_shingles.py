"""The phase of `drop_common`: from texts to the shingles that may be common, counted exactly.

Counters of all texts (see `fill_table`) give upper bounds that few shingles pass. Tasks count the documents that have these
shingles, and remember different documents for each until there are enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import Counts
from ndcore._types import AnyArray, Ints, UInts
from ndcore.dedup.documents import FirstPass
from ndcore.pairs.common_shingles import COMMON_CLASSES, CommonShingles
from ndcore.phases.columns import (
    Batches,
    as_batch,
    binary_column,
    byte_rows,
    drop_empty,
    numbers,
    pa,
    read_column,
    row_changes,
)
from ndcore.phases.labelled_shingles import mixes_of
from ndcore.phases.probes import MOST, sum_digests
from ndcore.phases.value_filter import may_have
from ndcore.sketch.minhash import MinHasher
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.inputs import pieces

LABEL_CELLS = 1 << 16  # cells of the table of limits, by the first two bytes of a label
ROWS = 1 << 18  # rows of a tally before it is summed up
HELD = 1 << 20  # rows of a summed tally that is held; larger ones are yielded


def count_candidates(
    batches: Batches, *, text: str, sketcher: MinHasher, must_agree: MustAgree, counts: Counts, documents: UInts,
    share: float, versions: UInts | None
) -> Iterator[Any]:
    """Count for each shingle that may be common the documents that have it.

    Parameters
    ----------
    batches : record batches with ``key``, ``against``, the text, perhaps ``scope``, and with versions ``hash``
    counts : Counts
        Of the shingles of all documents, as `fill_table` fills it.
    documents : uint64 (LABEL_CELLS,)
        The number of documents of the label that has fewest, by the first two bytes of labels.
    share : float
        The share of these from which a shingle is common.
    versions : uint64 array, optional
        Words of a filter of the hashes of documents that do not count.

    Yields
    ------
    record batches with ``value``, ``label``, ``holders`` and ``classes``
        A shingle, int64 of the same bits, and how many documents of a label have it; `COMMON_CLASSES` digests, at most, of
        different ones among them. Several rows of one shingle add up. ``key`` and ``against`` are of a
        document that may be one of those that do not count; else null. ``documents`` and ``digests`` of all rows together
        are as in `fill_table`; one row has no value.
    """
    first_pass = FirstPass(sketcher, Agreement.of(must_agree), form_sets=True)
    tally, read, key_type, summed = _LabelledTally(), 0, None, 0
    for batch in drop_empty(batches):
        key_type, mixes = batch.schema.field("key").type, mixes_of(batch)
        labels = byte_rows(batch.column("scope")) if mixes is not None else np.empty((batch.num_rows, 0), np.uint8)
        cells = labels[:, 0].astype(np.int64) << 8 | labels[:, 1] if mixes is not None else np.zeros(len(labels), np.int64)
        bounds = np.clip(share * documents[cells].astype(np.float64), COMMON_CLASSES - 1, MOST - 1)
        for first, piece in pieces(read_column(batch, text)):
            here = slice(first, first + len(piece))
            reading = first_pass((first, piece))
            read, summed = read + len(piece), summed + sum_digests(reading.digests)
            assert reading.sets is not None
            _, values, offsets = reading.sets
            owners = np.repeat(np.arange(len(piece)), np.diff(offsets))
            mixed = values if mixes is None else values ^ mixes[here][owners]
            maybe = counts.at(mixed) > bounds[here][owners]
            values, owners = values[maybe], owners[maybe]
            classes = _classes(reading.digests[:, 16:], reading.keys)
            unsure = np.zeros(len(piece), np.bool_)
            if versions is not None:
                unsure = may_have(versions, numbers(batch, "hash")[here])
                rows = owners[unsure[owners]]
                yield _as_batch(values[unsure[owners]], labels[here][rows], np.ones(len(rows), np.int64), classes[rows],
                                np.arange(len(rows) + 1), batch.column("key").take(first + rows),
                                batch.column("against").take(first + rows))
            sure = ~unsure[owners]
            tally.add(values[sure], owners[sure], labels[here], classes, np.flatnonzero(~unsure))
            if len(tally) > HELD:
                yield tally.rows(key_type)
                tally = _LabelledTally()
    if key_type is not None:
        yield tally.rows(key_type)
        yield as_batch(key=pa.nulls(1, key_type), against=pa.nulls(1, "bool"), value=pa.nulls(1, "int64"),
                       label=pa.array([b""]), holders=np.zeros(1, np.int64), classes=pa.array([[]], pa.list_(pa.binary())),
                       documents=np.array([read]), digests=np.array([summed]))


def _classes(tokens: NDArray[np.uint8], keys: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    """Return 16 bytes for each document, the same for equal ones: digests of tokens, and of keys of `must_agree`."""
    if keys is None:
        return tokens
    both = (a.tobytes() + b.tobytes() for a, b in zip(tokens, keys, strict=True))
    joined = b"".join(hashlib.blake2b(row, digest_size=16).digest() for row in both)
    return np.frombuffer(joined, np.uint8).reshape(len(tokens), 16)


def _as_batch(
    values: UInts, labels: NDArray[np.uint8], holders: Ints, classes: NDArray[np.uint8], bounds: Ints, key: Any, against: Any
) -> Any:
    """Make the rows of shingles; row i has the classes from bounds[i] to bounds[i + 1]."""
    zeros = np.zeros(len(values), np.int64)
    lists = pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), binary_column(classes))
    return as_batch(key=key, against=against, value=values.view(np.int64), label=binary_column(labels), holders=holders,
                    classes=lists, documents=zeros, digests=zeros)


class _LabelledTally:
    """The numbers of documents that have a shingle, by label and value, and their first classes."""

    def __init__(self) -> None:
        self._labels: dict[bytes, int] = {}
        none = np.empty(0, np.int64)
        self._holders: list[tuple[Ints, UInts, Ints]] = [(none, none.astype(np.uint64), none)]
        self._classes: list[tuple[AnyArray, ...]] = [(none, *3 * (none.astype(np.uint64),))]
        self._complete = CommonShingles(none.astype(np.uint64), none)  # shingles that have enough classes
        self._rows = self._added_up = 0

    def __len__(self) -> int:
        return self._added_up

    def add(
        self, values: UInts, owners: Ints, labels: NDArray[np.uint8], classes: NDArray[np.uint8], counted: Ints
    ) -> None:
        """Add shingles of documents, the owners, of these labels and classes; only counted ones own any."""
        own = np.array([self._labels.setdefault(label.tobytes(), len(self._labels)) for label in labels], np.int64)
        ends = np.ascontiguousarray(classes).view(np.uint64)
        named = np.column_stack([own.view(np.uint64), ends])[counted]
        _, first, number, members = np.unique(named, axis=0, return_index=True, return_inverse=True, return_counts=True)
        is_first, weights = np.zeros(len(own), np.bool_), np.zeros(len(own), np.int64)
        is_first[counted[first]] = True  # of its class
        weights[counted] = members[number.reshape(-1)]
        once = is_first[owners]
        values, owners = values[once], owners[once]
        self._holders.append((own[owners], values, weights[owners]))
        lacking = ~self._complete.holds(values, own[owners])
        rows = owners[lacking]
        self._classes.append((own[rows], values[lacking], ends[rows, 0], ends[rows, 1]))
        self._rows += len(values) + len(rows)
        if self._rows > max(ROWS, self._added_up):
            self._add_up()

    def _add_up(self) -> None:
        """Join the rows of each shingle, sorted by label, then value."""
        groups, values, holders = (np.concatenate(column) for column in zip(*self._holders, strict=True))
        order = np.lexsort((values, groups))
        groups, values, holders = groups[order], values[order], holders[order]
        starts = np.flatnonzero(row_changes(groups, values))
        sums = np.add.reduceat(holders, starts) if len(starts) else holders
        self._holders = [(groups[starts], values[starts], sums)]
        columns = [np.concatenate(column) for column in zip(*self._classes, strict=True)]
        columns = [column[np.lexsort(columns[::-1])] for column in columns]
        fresh = row_changes(*columns)
        columns = [column[fresh] for column in columns]
        begins = row_changes(*columns[:2])
        starts = np.flatnonzero(begins)
        within = np.arange(len(begins)) - starts[np.cumsum(begins) - 1] if len(starts) else starts
        last = within == COMMON_CLASSES - 1
        self._complete = CommonShingles(columns[1][last], columns[0][last])
        columns = [column[within < COMMON_CLASSES] for column in columns]
        self._classes = [tuple(columns)]
        self._added_up, self._rows = len(self._holders[0][0]) + len(columns[0]), 0

    def rows(self, key_type: Any) -> Any:
        """Return the rows as a batch."""
        self._add_up()
        (groups, values, holders), (class_groups, class_values, *ends) = self._holders[0], self._classes[0]
        sizes = np.diff(np.append(np.flatnonzero(row_changes(class_groups, class_values)), len(class_groups)))
        names = np.frombuffer(b"".join(self._labels), np.uint8).reshape(max(1, len(self._labels)), -1)
        bounds = np.append(0, np.cumsum(sizes))
        return _as_batch(values, names[groups], holders, np.column_stack(ends).view(np.uint8), bounds,
                         pa.nulls(len(values), key_type), pa.nulls(len(values), "bool"))
