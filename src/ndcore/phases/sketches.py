"""Phase 1, sketches: texts to digests and features. Texts and signatures stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._candidates import Bitmaps, FeatureTables, Judge
from ndcore._types import AnyArray, Ints, UInts
from ndcore.dedup.documents import FirstPass
from ndcore.filters.design import FilterDesign
from ndcore.phases.columns import Batches, as_batch, binary_column, cut_binary, drop_empty, lists_of, read_column
from ndcore.phases.labelled_shingles import LabelledShingles, mixes_of
from ndcore.phases.probes import Probes
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.inputs import pieces
from ndcore.text.shingling import FEATURE_POLYNOMIAL


def sketch_documents(
    batches: Batches, *, text: str, sketcher: MinHasher, design: FilterDesign | Probes | None, must_agree: MustAgree = None,
    left_out: LabelledShingles | None = None,
    bitmap_key: bytes | None = None,
) -> Iterator[Any]:
    """Sketch and digest texts; yield all other columns unchanged, with new columns for each text.

    New columns: ``length`` (bytes), ``valid`` (has shingles), ``bytes`` (digest of the bytes), ``deciding`` (the digest by
    which documents are collapsed: of the tokens, or without shingles of the bytes), ``features`` (8 bytes for each group);
    with `must_agree` ``agrees``, the digest of its keys. With `Probes` features are shingles, as many as `Probes.features`
    has, ``whole`` of them whole, and ``size`` is the number of all shingles. Without a design there are no features, but
    ``size``. left_out: common shingles, which do not count; ``size`` is without them for any design. With bitmap_key, the
    key of `Bitmaps`, ``size`` is made too, and ``bitmap``, the words of the set's bitmap (uint64, little-endian).
    """
    tables = FeatureTables(FEATURE_POLYNOMIAL)
    form_sets = not isinstance(design, FilterDesign) or left_out is not None or bitmap_key is not None
    first_pass = FirstPass(sketcher, Agreement.of(must_agree), form_sets=form_sets)
    for batch in drop_empty(batches):
        others = [name for name in batch.schema.names if name != text]
        mixes, groups = mixes_of(batch), None if left_out is None else left_out.groups(batch)
        for first, piece in pieces(read_column(batch, text)):
            n, here = len(piece), slice(first, first + len(piece))
            reading = first_pass((first, piece))
            rows, columns = reading.rows, dict[str, Any]()
            if reading.sets is not None:
                _, values, offsets = reading.sets
                if left_out is not None and groups is not None:
                    values, offsets = left_out.common.remove(values, offsets, groups[here])
            if isinstance(design, Probes):
                features, ends, whole = design.features(values, offsets, None if mixes is None else mixes[here])
                columns = {"features": cut_binary(features.astype("<u8").view(np.uint8), 8 * ends), "whole": whole}
            elif design is not None:
                if rows is None:
                    rows = sketcher.sketch_hashes(values, offsets).values
                judge = Judge(rows, design.groups, design.group_size, design.need, 0, n)
                entries = judge.entries(tables, 0, design.groups, np.arange(n))
                features = np.ascontiguousarray(entries[:, 0].reshape(design.groups, n).T)
                columns = {"features": binary_column(features.view(np.uint8))}
            if reading.sets is not None:
                columns["size"] = np.diff(offsets)
                if bitmap_key is not None:
                    columns["bitmap"] = _make_bitmaps(values, offsets, bitmap_key)
            deciding = np.where(reading.valid[:, None], reading.digests[:, 16:], reading.digests[:, :16])
            kept = {name: batch.column(name).slice(first, n) for name in others}
            agrees = {} if reading.keys is None else {"agrees": binary_column(reading.keys)}
            yield as_batch(
                **kept, length=reading.lengths, valid=reading.valid,
                bytes=binary_column(reading.digests[:, :16]), deciding=binary_column(deciding), **columns, **agrees,
            )


def _make_bitmaps(values: UInts, offsets: Ints, key: bytes) -> Any:
    """Make the column ``bitmap`` of sets."""
    bitmaps = Bitmaps(np.diff(offsets).astype(np.uint32), False, key)
    bitmaps.add(np.arange(len(offsets) - 1, dtype=np.uint32), values, offsets)
    words, bounds = bitmaps.stored()
    return cut_binary(words.astype("<u8").view(np.uint8), 8 * bounds)


def list_sketches(batches: Batches, *, text: str, sketcher: Sketcher) -> Iterator[Any]:
    """Sketch texts; yield all other columns unchanged, with the columns of `Sketches.to_arrow`.

    ``sketch`` (int64, or a list of it), ``size``, ``size_exact``, ``valid`` and, if the sketcher makes them, ``modulus``
    and ``positions``. Unsigned values are int64 of the same bits.
    """
    for batch in drop_empty(batches):
        others = [name for name in batch.schema.names if name != text]
        for first, piece in pieces(read_column(batch, text)):
            kept = {name: batch.column(name).slice(first, len(piece)) for name in others}
            yield as_batch(**kept, **_columns(sketcher.sketch_many(piece, threads=1)))


def _columns(sketches: Sketches) -> dict[str, Any]:
    """Return the columns of sketches."""
    values, offsets = signed(sketches.values), sketches.offsets
    if offsets is None and values.ndim == 2:
        offsets = np.arange(len(values) + 1) * values.shape[1]
    columns: dict[str, Any] = {
        "sketch": values if offsets is None else lists_of(values.reshape(-1), offsets),
        "size": sketches.sizes, "size_exact": sketches.sizes_exact, "valid": sketches.valid,
    }
    if sketches.moduli is not None:
        columns["modulus"] = signed(sketches.moduli)
    if sketches.positions is not None:
        columns["positions"] = lists_of(signed(sketches.positions), offsets)
    return columns


def signed(values: AnyArray) -> Ints:
    """Convert integers to int64, with the same bits if they are uint64."""
    return values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64)
