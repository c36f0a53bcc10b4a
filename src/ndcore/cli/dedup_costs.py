"""What a filter promises, what a complete one would cost, and what the drops cost: parts of ``summary.json``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.dedup.result import NearDuplicates
from ndcore.files.verdicts import NamedVerdicts
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.report.plain_values import plain
from ndcore.sketch.cardinality import sizes_of_rows

__all__ = ["cost_of_completeness", "describe_filter", "describe_losses"]

LARGEST = 20  # losses that are listed
SAMPLED = 10_000  # signatures that an estimate reads: one of all would take longer than the search


def describe_filter(result: NearDuplicates) -> dict[str, Any]:
    """Return the parameters of the filter, the probability that it misses a pair at the threshold, and why it was chosen."""
    found, choice = result.filter, result.filter_choice
    described: dict[str, Any] = plain(found)
    return {"kind": "lsh" if isinstance(found, FilterDesign) else "prefix", **described, "miss": found.miss,
            "choice": None if choice is None else plain(choice)}


def cost_of_completeness(result: NearDuplicates) -> dict[str, Any] | None:
    """Estimate what ``--filter complete`` would cost; None where the filter is complete, or texts are not at hand.

    Sizes of shingle sets come from at most `SAMPLED` documents, estimated where they have signatures, so no text is read
    again.
    """
    documents = result.sources
    if isinstance(result.filter, PrefixFilter) or not documents.has_text(np.arange(len(documents))).all():
        return None
    compared = np.flatnonzero(documents.valid & result.leaders.compared)
    sample = compared[_spread(len(compared), SAMPLED)]
    if documents.rows is not None:
        sizes = sizes_of_rows(documents.rows[sample], np.ones(len(sample), np.bool_), documents.recipe)
    else:
        assert result.found.verifier is not None  # of a rule for which the sets of all were formed
        sizes = result.found.verifier.sets.sizes(sample).astype(np.float64)
    shingles = float(sizes.sum())
    looked_up = result.filter.complete.probe_length(np.rint(sizes).astype(np.int64)).sum()
    whole = round(shingles * len(compared) / max(1, len(sample)))
    return {
        "shingles": whole, "looked_up_of_100": round(100 * float(looked_up) / max(shingles, 1.0), 1),
        "shingle_bytes": SHINGLE_BYTES * whole, "sampled": len(sample),
    }


def _spread(n: int, most: int) -> Ints:
    """Choose at most `most` of n positions: one, at random, of each of `most` parts of nearly equal length."""
    if n <= most:
        return np.arange(n)
    ends = np.arange(most + 1) * n // most
    return np.random.default_rng(n).integers(ends[:-1], ends[1:])


def describe_losses(verdicts: NamedVerdicts) -> dict[str, Any] | None:
    """Count the shingles that the drops cost, and list the largest losses; None where they were not counted."""
    lost = verdicts.lost
    if lost is None:
        return None
    first = verdicts.by_loss()[:LARGEST]
    return {
        "shingles": int(lost.sum()), "documents": int(np.count_nonzero(lost)),
        "largest": [verdicts.line(position) for position in first[lost[first] > 0].tolist()],
    }
