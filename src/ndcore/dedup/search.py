"""Find candidate pairs by the filter of the rules, and prepare to compare them."""

from __future__ import annotations

import numpy as np

from ndcore._types import AnyArray
from ndcore.dedup.candidates import Search, find_candidates
from ndcore.dedup.common_shingles import find_common, without_common
from ndcore.dedup.documents import Documents
from ndcore.dedup.leaders import Leaders
from ndcore.dedup.prefix_candidates import find_prefix_candidates
from ndcore.dedup.rules import Rules
from ndcore.dedup.shingle_sets import ShingleSets
from ndcore.dedup.verify import Verifier, read_sets
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.progress import Progress
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledArray

__all__ = ["find_pairs"]


def find_pairs(
    documents: Documents, leaders: Leaders, rules: Rules, sketcher: MinHasher, filter: FilterDesign | PrefixFilter, *,
    threads: int | None, memory_limit: int | None, report: Progress,
) -> tuple[Search, Verifier]:
    """Return the candidates among the compared documents, and the verifier that has read their shingle sets."""
    tokens = rules.verify == "tokens"
    compared = documents.valid & leaders.compared
    sets = counted = None
    common_shingles = 0
    rows = documents.rows
    if rules.needs_all_sets:
        wanted = documents.valid & (leaders.leader == np.arange(len(compared))) if rules.lost else compared
        sets = read_sets(documents, wanted, tokens=tokens, threads=threads, report=report)
    if sets is not None and rules.drop_common is not None:
        common = find_common(sets, leaders, documents.valid, rules.drop_common)
        counted, common_shingles = without_common(sets, common, leaders), len(common)
        compared[compared] = counted.sizes(np.flatnonzero(compared)) > 0
    if isinstance(filter, PrefixFilter):
        assert sets is not None
        search: Search = find_prefix_candidates(
            counted or sets, np.flatnonzero(compared), filter, max_holders=rules.max_holders, first_fixed=documents.n,
            by=leaders.group, memory_limit=memory_limit, threads=threads, report=report,
        )
        return search, Verifier(documents, sets, rules, counted, common_shingles, leaders.rank)
    if counted is not None:
        rows = _sketch_counted(counted, documents.rows, sketcher, memory_limit)
    search = find_candidates(
        rows, np.flatnonzero(compared), filter, equal_minima=least_equal_minima(sketcher.num_perm, rules.threshold),
        max_holders=rules.max_holders, first_fixed=documents.n, by=leaders.group, memory_limit=memory_limit, threads=threads,
        report=report,
    )
    if sets is None:
        wanted = np.zeros(len(documents), np.bool_)
        for positions in (search.a, search.b, search.runs.documents):
            wanted[positions] = True
        sets = read_sets(documents, wanted, tokens=tokens, threads=threads, report=report)
    return search, Verifier(documents, sets, rules, counted, common_shingles, leaders.rank)


def _sketch_counted(
    counted: ShingleSets, rows: AnyArray, sketcher: MinHasher, memory_limit: int | None
) -> AnyArray:
    """Return signatures of the sets without common shingles, 0 for documents that have no such set."""
    made, at = SpooledArray(rows.dtype, memory_limit), 0
    for positions, values, offsets in counted.chunks():  # in the order of positions
        part = np.zeros((int(positions[-1]) + 1 - at, rows.shape[1]), rows.dtype)
        part[positions - at] = sketcher.sketch_hashes(values, offsets).values
        made.append(part)
        at += len(part)
    made.append(np.zeros((len(rows) - at, rows.shape[1]), rows.dtype))
    return made.array()
