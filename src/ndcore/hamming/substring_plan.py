"""How many substrings an index of wide fingerprints has (Norouzi, Punjani, Fleet 2012, §2).

Cut the bits into m disjoint substrings and give substring i a radius r_i, with (r_0 + 1) + … + (r_{m-1} + 1) = k + 1. If all
substrings of two fingerprints differ in more than their radii, the fingerprints differ in more than k bits. So a query looks
up, in a table of each substring, all values within the radius of its own, and compares the fingerprints it finds.

With k = m·a + b the first b + 1 substrings have radius a and the others a − 1. Substring i has the bits i, i + m, i + 2m, …:
neighbouring bits of perceptual hashes depend on each other, and constant bits come in runs. It has no more than 64 of them.

More substrings mean fewer lookups and more fingerprints to compare. How many more depends on the fingerprints: where they
are not random, substrings are shared by more. So the choice compares the substrings of a sample.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ndcore._types import UInts
from ndcore.hamming.table_plan import format_memory, format_time
from ndcore.human import counted

PROBE_NS = 20.0  # look a substring up
CANDIDATE_NS = 35.0  # compare a fingerprint that was found
SCAN_NS = 4.5  # compare a fingerprint in the order of memory
MAX_PROBES = 1 << 16  # of a query
SAMPLE = 512  # fingerprints that are compared for the choice
SMALL_SAMPLE = 128  # the same below SMALL fingerprints
SMALL = 1 << 16
MAX_WIDTH = 64  # bits of a substring
MAX_SUBSTRINGS = 64


@dataclass(frozen=True)
class SubstringPlan:
    """Substrings by which an index finds every fingerprint within `max_distance` bits of a query, and their cost.

    Attributes
    ----------
    bits, max_distance : int
    log2_count : float
        The collection has 2^log2_count fingerprints.
    substrings : int
        Number of substrings, each with a table; 0: a query is compared with all fingerprints.
    """

    bits: int
    max_distance: int
    log2_count: float
    substrings: int

    def __post_init__(self) -> None:
        if not 0 <= self.substrings <= min(MAX_SUBSTRINGS, self.max_distance + 1) or sum(self.probes) > MAX_PROBES:
            raise ValueError(f"{self.substrings} substrings do not find what is within {self.max_distance} of {self.bits} "
                             f"bits by {MAX_PROBES} lookups")

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of every substring."""
        return tuple(min(MAX_WIDTH, len(range(i, self.bits, self.substrings))) for i in range(self.substrings))

    @property
    def radii(self) -> tuple[int, ...]:
        """Greatest distance at which every substring is looked up."""
        if not self.substrings:
            return ()
        a, b = divmod(self.max_distance, self.substrings)
        return tuple(a if i <= b else a - 1 for i in range(self.substrings))

    @property
    def probes(self) -> tuple[int, ...]:
        """Values of every substring that a query looks up."""
        return tuple(sum(math.comb(width, d) for d in range(radius + 1))
                     for width, radius in zip(self.widths, self.radii, strict=True))

    @property
    def directory_bits(self) -> tuple[int, ...]:
        """Base-2 logarithm of the buckets of every table: 1 to 2 for each fingerprint, or all values of the substring."""
        return tuple(min(width, 32, math.floor(self.log2_count) + 1) for width in self.widths)

    @property
    def memory(self) -> float:
        """Bytes of fingerprints and tables, without ids."""
        return (self.bits // 8 + 4 * self.substrings) * math.exp2(self.log2_count) + math.fsum(
            4 * math.exp2(bits) for bits in self.directory_bits)

    @property
    def candidates(self) -> float:
        """Random fingerprints that a query finds in all tables, on average."""
        return self._count_candidates([0.0] * self.substrings)

    @property
    def nanoseconds(self) -> float:
        """Expected time of a query among random fingerprints: a model to compare plans by."""
        return self.estimate_time([0.0] * self.substrings)

    def _count_candidates(self, near: list[float]) -> float:
        """Count the fingerprints that a query finds where a share near[i] of them is within radius i in substring i."""
        rates = (max(share, probes / 2**width) + (probes / 2**bits if bits < width else 0.0) for share, probes, width, bits
                 in zip(near, self.probes, self.widths, self.directory_bits, strict=True))
        return math.fsum(rates) * math.exp2(self.log2_count)

    def estimate_time(self, near: list[float]) -> float:
        """Estimate the nanoseconds of a query; `near` as in `_count_candidates`."""
        scan = SCAN_NS * math.exp2(self.log2_count)
        if not self.substrings:
            return scan
        return PROBE_NS * sum(self.probes) + min(CANDIDATE_NS * self._count_candidates(near), scan)

    def __str__(self) -> str:
        count = f"2^{self.log2_count:g}"
        lines = [f"{counted(self.substrings, 'substring')} of {count} fingerprints of {self.bits} bits: "
                 f"exact within {self.max_distance}"]
        if self.substrings:
            shortest, longest = min(self.widths), max(self.widths)
            bits = f"{shortest} bits" if shortest == longest else f"{shortest} and {longest} bits"
            lines.append(f"  a substring has {bits}, and is looked up within {max(self.radii)}")
        return "\n".join([
            *lines,
            f"  a query         {sum(self.probes):,} lookups, about {format_time(self.nanoseconds)} among random ones",
            f"  memory          {format_memory(self.memory)}, {self.memory / math.exp2(self.log2_count):.1f} bytes a "
            "fingerprint, ids apart",
        ])


def plan_substrings(fingerprints: UInts, max_distance: int) -> SubstringPlan:
    """Choose the number of substrings of least expected time for queries like the fingerprints, uint64 (n, words).

    O(SAMPLE² · bits · max_distance).
    """
    n, words = fingerprints.shape
    size = SAMPLE if n >= SMALL else SMALL_SAMPLE
    sample = fingerprints[np.linspace(0, n - 1, min(n, size)).astype(np.int64)]
    bits = np.unpackbits(np.ascontiguousarray(sample.astype(">u8")).view(np.uint8), axis=1)
    plans = sorted(list_plans(64 * words, max_distance, n), key=lambda plan: plan.nanoseconds)
    best, least = plans[0], math.inf
    for plan in plans:
        if plan.nanoseconds >= least:  # which random fingerprints take, and no others take less
            break
        time = plan.estimate_time(_share_near(bits, plan))
        if time < least:
            best, least = plan, time
    return best


def list_plans(bits: int, max_distance: int, count: int) -> list[SubstringPlan]:
    """List the plans for `count` fingerprints: no substrings, and each number of them with at most MAX_PROBES lookups."""
    log2_count = math.log2(max(1, count))
    return [replace(plan, log2_count=log2_count) for plan in _list_numbers(bits, max_distance)]


@cache
def _list_numbers(bits: int, max_distance: int) -> list[SubstringPlan]:
    plans = []
    for substrings in range(min(MAX_SUBSTRINGS, max_distance + 1) + 1):
        with contextlib.suppress(ValueError):
            plans.append(SubstringPlan(bits, max_distance, 0.0, substrings))
    return plans


def _share_near(bits: NDArray[np.uint8], plan: SubstringPlan) -> list[float]:
    """Compute for each substring the share of pairs of a sample that differ in no more bits of it than its radius.

    bits: 0 or 1, shape (sample, bits).
    """
    signs = 1.0 - 2.0 * bits.astype(np.float32)
    pairs = max(1, len(bits) * (len(bits) - 1))
    shares = []
    for i, (width, radius) in enumerate(zip(plan.widths, plan.radii, strict=True)):
        part = signs[:, i::plan.substrings][:, :MAX_WIDTH]
        near = int(np.count_nonzero(part @ part.T >= width - 2 * radius))  # a product is width − 2 · distance, exactly
        shares.append((near - len(bits)) / pairs)
    return shares


@cache
def masks(width: int, radius: int) -> UInts:
    """List the values of `width` bits of which at most `radius` are set, the fewest first."""
    chosen = (combinations(range(width), d) for d in range(radius + 1))
    listed = np.array([sum(1 << bit for bit in bits) for choices in chosen for bits in choices], np.uint64)
    listed.setflags(write=False)
    return listed
