"""Find candidate pairs by the filter of the rules, and prepare to compare them."""

from __future__ import annotations

from functools import partial

import numpy as np

from ndcore._types import AnyArray
from ndcore.dedup.common_shingles import find_common, without_common
from ndcore.dedup.documents import Documents
from ndcore.dedup.leaders import Leaders
from ndcore.dedup.rules import Rules
from ndcore.dedup.verify import Verifier, read_sets
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.candidates import Search, find_candidates
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.progress import Progress
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledArray

__all__ = ["find_pairs"]


def find_pairs(
    documents: Documents, formed: ShingleSets | None, leaders: Leaders, rules: Rules, filter: FilterDesign | PrefixFilter, *,
    threads: int | None, memory_limit: int | None, report: Progress,
) -> tuple[Search, Verifier]:
    """Return the candidates among the compared documents, and the verifier that has their shingle sets.

    `formed` are the sets of the first pass; None: those that are needed are read now.
    """
    read = partial(read_sets, documents, tokens=rules.verify == "tokens", threads=threads, report=report)
    compared = documents.valid & leaders.compared
    sets, counted, common_shingles = formed, None, 0
    if sets is None and rules.needs_all_sets:
        sets = read(documents.valid & (leaders.leader == np.arange(len(compared))) if rules.lost else compared)
    if sets is not None and rules.drop_common is not None:
        common = find_common(sets, leaders, documents.valid, rules.drop_common)
        counted, common_shingles = without_common(sets, common, leaders), len(common)
        compared[compared] = counted.sizes(np.flatnonzero(compared)) > 0
    active = np.flatnonzero(compared)
    search: Search
    if isinstance(filter, PrefixFilter):
        assert sets is not None
        search = find_prefix_candidates(
            counted or sets, active, filter, max_holders=rules.max_holders, first_fixed=documents.n, by=leaders.group,
            memory_limit=memory_limit, threads=threads, report=report,
        )
        return search, Verifier(documents, sets, rules, counted, common_shingles, leaders.keep.rank)
    rows, sketched = documents.rows, counted or formed
    if sketched is not None:
        rows = _sketch_sets(sketched, len(documents), documents.sketcher, memory_limit)
    assert rows is not None
    search = find_candidates(
        rows, active, filter, equal_minima=least_equal_minima(documents.sketcher.num_perm, rules.threshold),
        max_holders=rules.max_holders, first_fixed=documents.n, by=leaders.group, memory_limit=memory_limit, threads=threads,
        report=report,
    )
    if sets is None:
        wanted = np.zeros(len(documents), np.bool_)
        for positions in (search.a, search.b, search.runs.documents):
            wanted[positions] = True
        sets = read(wanted)
    return search, Verifier(documents, sets, rules, counted, common_shingles, leaders.keep.rank)


def _sketch_sets(sets: ShingleSets, n: int, sketcher: MinHasher, memory_limit: int | None) -> AnyArray:
    """Return the signatures of the sets of n documents, 0 for documents that have none."""
    dtype, width = f"uint{sketcher.bits}", sketcher.num_perm
    made, at = SpooledArray(dtype, memory_limit, (width,)), 0
    for positions, values, offsets in sets.chunks():  # in the order of positions
        part = np.zeros((int(positions[-1]) + 1 - at, width), dtype)
        part[positions - at] = sketcher.sketch_hashes(values, offsets).values
        made.append(part)
        at += len(part)
    made.append(np.zeros((n - at, width), dtype))
    return made.array()
