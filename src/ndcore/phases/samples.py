"""Phases one to three of clustering (Broder et al. 1997, §4.1): texts to samples and digests, samples to entries, and what
the samples of a pair have in common, counted by entries or by comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.collection.cluster import PairingSets, pairing_sets
from ndcore.collection.clustering import weigh
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.pairs.prefix_candidates import GOLDEN
from ndcore.phases.candidates import pack_entries
from ndcore.phases.columns import (
    Batches,
    as_batch,
    binary_column,
    byte_rows,
    cut_binary,
    drop_empty,
    numbers,
    pa,
    read_column,
    values_of,
)
from ndcore.phases.sketches import signed
from ndcore.phases.value_filter import may_have
from ndcore.recipe import Recipe
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.digests import OF_BYTES, OF_TOKENS, digest_piece
from ndcore.text.inputs import digest, pieces

LEVELS = 65  # number of moduli, powers of 2, for 64-bit values
OF_SAMPLE, OF_TEXT = b"s", b"t"  # marks the origin of a deciding digest


def sample_documents(batches: Batches, *, text: str, sketcher: Sketcher, tell_apart: bool) -> Iterator[Any]:
    """Sketch and digest texts; yield all other columns unchanged, with new columns for each text.

    New columns: ``valid`` (has shingles), ``sound`` (has a sample that is not empty), ``bytes`` and ``tokens`` (digests of
    them), ``deciding`` (the digest by which documents are collapsed: of the sample, or of the text if the sample is empty),
    ``sample`` (its values, little-endian), ``modulus`` and ``levels``: its numbers of members at the modulus, twice the
    modulus, and so on. Without `tell_apart`, digests of texts are null, and so is ``deciding`` without a sample.
    """
    for batch in drop_empty(batches):
        others = [name for name in batch.schema.names if name != text]
        for first, piece in pieces(read_column(batch, text)):
            n = len(piece)
            sketches = sketcher.gather([sketcher.sketch_piece((0, piece))])
            samples, bounds = _bytes_of_samples(sketches)
            sound = sketches.valid & (np.diff(bounds) > 0)
            moduli = np.ones(n, np.uint64) if sketches.moduli is None else sketches.moduli
            of_bytes = of_tokens = deciding = None
            if tell_apart:
                parts = (OF_BYTES, OF_TOKENS)
                _, (of_bytes, of_tokens) = digest_piece(sketcher.shingling, sketches.valid, parts, (np.arange(n), piece))
                deciding = np.where(sketches.valid[:, None], of_tokens, of_bytes)
            kept = {name: batch.column(name).slice(first, n) for name in others}
            yield as_batch(
                **kept, valid=sketches.valid, sound=sound, bytes=_rows_or_nulls(of_bytes, n),
                tokens=_rows_or_nulls(of_tokens, n), deciding=_deciding(samples, bounds, moduli, sound, deciding),
                sample=cut_binary(samples, bounds), modulus=signed(moduli), levels=_levels(sketches, np.diff(bounds)),
            )


def _bytes_of_samples(sketches: Sketches) -> tuple[NDArray[np.uint8], Ints]:
    """Return the bytes of all samples, and their bounds."""
    values = np.ascontiguousarray(sketches.values)
    size = values.dtype.itemsize
    ends = np.arange(len(values) + 1) * values.shape[1] if sketches.offsets is None else sketches.offsets
    return values.astype(values.dtype.newbyteorder("<")).reshape(-1).view(np.uint8), (ends * size).astype(np.int64)


def _rows_or_nulls(rows: NDArray[np.uint8] | None, n: int) -> Any:
    """Convert rows of bytes to a binary column; without rows, n nulls."""
    return pa.nulls(n, pa.binary()) if rows is None else binary_column(rows)


def _deciding(
    samples: NDArray[np.uint8], bounds: Ints, moduli: AnyArray, sound: AnyArray, otherwise: NDArray[np.uint8] | None
) -> Any:
    """Return the column of deciding digests."""
    found: list[bytes | None] = []
    for i, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        if sound[i]:
            found.append(OF_SAMPLE + digest(int(moduli[i]).to_bytes(8, "little") + samples[begin:end].tobytes()))
        else:
            found.append(None if otherwise is None else OF_TEXT + otherwise[i].tobytes())
    return pa.array(found, pa.binary())


def _levels(sketches: Sketches, sizes: Ints) -> Any:
    """Count the members of each sample at the modulus, at twice the modulus, and so on, up to the last member."""
    n = len(sketches)
    if sketches.moduli is None:
        members = sizes // sketches.values.dtype.itemsize
        return pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32)), pa.array(members.astype(np.int32)))
    lowest = sketches.values & (np.uint64(0) - sketches.values)  # the lowest set bit; 0 for 0
    zeros = np.where(lowest == 0, LEVELS - 1, np.frexp(lowest.astype(np.float64))[1] - 1)
    own = np.frexp(sketches.moduli.astype(np.float64))[1] - 1
    owners = np.repeat(np.arange(n), sizes // 8)
    counts = np.bincount(owners * LEVELS + zeros - own[owners], minlength=n * LEVELS).reshape(n, LEVELS)
    totals = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    wanted = np.maximum(1, np.count_nonzero(totals, axis=1))
    ends = np.append(0, np.cumsum(wanted)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(totals[np.arange(LEVELS) < wanted[:, None]].astype(np.int32)))


def sketches_of(samples: Any, moduli: Any, recipe: Recipe) -> Sketches:
    """Convert the samples of a column, with their moduli (int64), to Sketches that can only be compared."""
    n = len(samples)
    known: dict[str, Any] = {"sizes": np.zeros(n), "sizes_exact": np.zeros(n, np.bool_), "valid": np.ones(n, np.bool_)}
    if recipe["kind"] == "minhash":
        rows = byte_rows(samples).reshape(n, -1).copy().view(f"<u{recipe['bits'] // 8}")
        return Sketches(rows, recipe, **known)
    values, offsets = values_of(samples)
    if recipe["kind"] == "mod" and recipe["modulus"] == "adaptive":
        known["moduli"] = moduli.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    return Sketches(values, recipe, offsets=offsets, **known)


def list_members(batches: Batches, *, settings: Settings, shared: UInts | None = None) -> Iterator[Any]:
    """List the entries of documents, as `pack_entries`, given ``rank``, ``sample`` and ``modulus``.

    A run is named by its value, 8 bytes big-endian: a member, a super-shingle or a feature, depending on the method.
    shared: words of a filter of values from `list_values`; only values that may be in it are listed.
    """
    for batch in drop_empty(batches):
        sets = _pairing_sets(batch, settings)
        values, ranks = sets.values, np.repeat(numbers(batch, "rank"), np.diff(sets.offsets))
        if shared is not None:
            kept = np.flatnonzero(may_have(shared, _mix(values)))
            values, ranks = values[kept], ranks[kept]
        names = np.ascontiguousarray(values.astype(">u8")).view(np.uint8).reshape(-1, 8)
        yield pack_entries(names, ranks, np.ones(len(ranks), np.bool_))


def list_values(batches: Batches, *, settings: Settings) -> Iterator[Any]:
    """List ``value`` of the entries of documents, mixed for a filter, given ``sample`` and ``modulus``."""
    for batch in drop_empty(batches):
        yield as_batch(value=signed(_mix(_pairing_sets(batch, settings).values)))


def _pairing_sets(batch: Any, settings: Settings) -> PairingSets:
    """Return the values by which the documents of a batch make pairs."""
    return pairing_sets(sketches_of(batch.column("sample"), batch.column("modulus"), settings.recipe), settings)


def _mix(values: UInts) -> UInts:
    """Mix values, of which samples have those below a limit or the multiples of a modulus, so that all their bits vary."""
    mixed: UInts = values * GOLDEN
    mixed ^= mixed >> np.uint64(32)
    return mixed


def count_overlaps(batches: Batches, *, settings: Settings, grouping: Grouping) -> Iterator[Any]:
    """Measure pairs whose ``common`` members were counted, by the ``modulus`` and ``levels`` of both (``_a`` and ``_b``).

    Yields the columns of `compare_samples`.
    """
    for batch in drop_empty(batches):
        sides = [[numbers(batch, f"modulus_{side}").view(np.uint64), batch.column(f"levels_{side}")] for side in "ab"]
        larger = np.maximum(sides[0][0], sides[1][0])
        in_a, in_b = (_members(levels, larger // moduli) for moduli, levels in sides)
        whole = (sides[0][0] == 1) & (sides[1][0] == 1) & (settings.recipe["modulus"] in (1, "adaptive"))
        yield from _measure_pairs(batch, Overlaps(numbers(batch, "common"), in_a, in_b), whole, settings, grouping)


def _members(levels: Any, factors: Any) -> Ints:
    """Look up the members of samples at moduli larger by these factors, powers of 2."""
    which = np.frexp(factors.astype(np.float64))[1] - 1
    offsets = levels.offsets.to_numpy()
    begins = offsets[:-1] + which
    counts = levels.values.to_numpy().astype(np.int64)
    found = np.zeros(len(levels), np.int64)
    inside = np.flatnonzero(begins < offsets[1:])
    found[inside] = counts[begins[inside]]
    return found


def compare_samples(batches: Batches, *, settings: Settings, grouping: Grouping | None) -> Iterator[Any]:
    """Measure pairs ``a``, ``b`` by comparing their ``sample`` and ``modulus`` (``_a`` and ``_b``).

    Yields ``a``, ``b``, ``common``, ``in_a``, ``in_b``, ``resemblance`` and ``weight``, which is compared with the
    threshold. With `grouping`, only pairs whose containment reaches the floor of the settings; None: all pairs, with their
    resemblance as weight.
    """
    for batch in drop_empty(batches):
        sides = [(batch.column(f"sample_{side}"), batch.column(f"modulus_{side}")) for side in "ab"]
        parts = [sketches_of(*side, settings.recipe) for side in sides]
        segments, n = Segments(parts), batch.num_rows
        a, b = np.arange(n), np.arange(n, 2 * n)
        yield from _measure_pairs(batch, segments.compared(a, b, 1), segments.whole(a, b), settings, grouping)


def _measure_pairs(
    batch: Any, overlaps: Overlaps, whole: Bools, settings: Settings, grouping: Grouping | None
) -> Iterator[Any]:
    """Yield the pairs of a batch with their measures."""
    resemblance = overlaps.resemblance
    weight = resemblance if grouping is None else weigh(overlaps, whole, grouping)
    kept = np.arange(batch.num_rows) if grouping is None else np.flatnonzero(overlaps.contained >= settings.floor)
    if len(kept):
        columns = {"common": overlaps.common, "in_a": overlaps.in_a, "in_b": overlaps.in_b, "resemblance": resemblance,
                   "weight": weight}
        yield as_batch(**{name: batch.column(name).take(pa.array(kept)) for name in "ab"},
                       **{name: column[kept] for name, column in columns.items()})
