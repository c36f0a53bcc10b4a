"""Pairs of documents in runs that are too long to list all their pairs: compare each with representatives, block by block.

See DESIGN.md §5, "Long runs".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ndcore._candidates import AFTER, BEFORE, PROPOSED, RunPairs
from ndcore._cluster import star_ascending
from ndcore._types import AnyArray, Bools, Ints
from ndcore.pairs.candidates import Runs, Search
from ndcore.pairs.keep_order import KeepOrder
from ndcore.pairs.representatives import choose_representatives
from ndcore.pairs.scored import Scored
from ndcore.pairs.verification import Verifier
from ndcore.parallel import map_pieces
from ndcore.progress import Progress

BLOCK = 1024  # documents that are decided together
PART = 128  # documents of a block that a thread compares


def long_runs(search: Search) -> Runs:
    """Select the runs of which not all pairs are listed."""
    return search.runs.where(search.runs.sizes > search.most_listed)


def add_run_pairs(
    pairs: Scored, search: Search, verifier: Verifier, keep: KeepOrder, report: Progress, *, threshold: float,
    cluster: str, reassign: bool, again: bool = False,
) -> Scored:
    """Add the accepted pairs within runs that were not expanded, as far as labels depend on them.

    In runs of at most `search.most_listed` documents all pairs are compared; in longer ones, only pairs of a representative
    and a later document, with `reassign` an earlier one too, and for components pairs of different components. Other pairs
    cannot change a label. `again`: all pairs of the shorter runs are known.

    Notes
    -----
    A pair is compared once, even if it shares several runs, and most pairs are rejected by bitmaps in a few nanoseconds.
    Quadratic in the representatives of a run, and linear in its documents.
    """
    runs = long_runs(search) if again else search.runs
    if not len(runs.groups):
        return pairs
    meetings = _Meetings(runs, search, verifier, keep, threshold)
    further = list(_settle_stars(pairs, meetings, report))
    if reassign:
        further += meetings.compare(meetings.documents, AFTER)
    pairs = Scored.merged([pairs, *further], len(keep.order))
    if cluster != "components":
        return pairs
    roots = choose_representatives(pairs, keep, threshold, cluster)
    return Scored.merged([pairs, *meetings.connect(roots)], len(keep.order))


class _Meetings:
    """The documents of runs in keep order, and the pairs of them that meet in a run."""

    def __init__(self, runs: Runs, search: Search, verifier: Verifier, keep: KeepOrder, threshold: float) -> None:
        self.runs = runs = merge_runs(runs, search.most_listed, len(keep.order))
        self.search, self.verifier, self.keep, self.threshold = search, verifier, keep, threshold
        self.bitmaps = verifier.bitmaps(search)
        rows = self.bitmaps.row[runs.documents]
        self.documents = self.bitmaps.documents[np.unique(rows)]
        listed = (runs.sizes <= search.most_listed).astype(np.uint8)
        self.kernel = self._kernel(np.lexsort((rows, self._run_of_members())), listed, None)

    def _run_of_members(self) -> Ints:
        """Return the number of the run of each of the members."""
        return np.repeat(np.arange(len(self.runs.groups)), self.runs.sizes)

    def _kernel(self, order: Ints, listed: AnyArray, labels: Ints | None) -> RunPairs:
        """Make a kernel for the runs, with their members in this order."""
        rows = self.bitmaps.row[self.runs.documents[order]]
        return RunPairs(self.bitmaps.kernel, self.verifier.bound(self.threshold), self.runs.begins, rows, listed,
                        self.runs.whole[order], labels)

    def compare(self, documents: Ints, which: int, kernel: RunPairs | None = None) -> Iterator[Scored]:
        """Yield the accepted pairs of these documents and the documents that they meet: see RunPairs."""
        work, rows_of = kernel or self.kernel, self.bitmaps.row[documents]
        parts = [rows_of[start : start + PART] for start in range(0, len(documents), PART)]
        threads = self.verifier.sets.threads
        for others, rows in map_pieces(lambda part: work.meet(part, which), parts, threads if len(parts) > 1 else 1):
            a, b = np.sort([self.bitmaps.documents[others], self.bitmaps.documents[rows]], axis=0)
            allowed = self.search.allows(a, b)
            yield self.verifier.measure(a[allowed], b[allowed], self.threshold)

    def settle(self, documents: Ints, represent: Bools) -> None:
        """Settle which of the proposed documents represent themselves."""
        rows = self.bitmaps.row[documents]
        keep = np.zeros(len(self.bitmaps.kernel), np.uint8)
        keep[rows] = represent
        self.kernel.settle(rows, keep)

    def connect(self, roots: Ints) -> Iterator[Scored]:
        """Yield accepted pairs of different components, given the first document of each document's component.

        In each run the documents of its main component are first. Every other document meets all documents before it.
        """
        runs, members = self.runs, roots[self.runs.documents]
        run_of = self._run_of_members()
        by_root = np.lexsort((members, run_of))
        begins = np.flatnonzero(np.diff(members[by_root], prepend=-1) | np.diff(run_of[by_root], prepend=-1))
        sizes = np.diff(np.append(begins, len(members)))
        largest_first = np.lexsort((-sizes, run_of[by_root][begins]))
        firsts = np.searchsorted(run_of[by_root][begins][largest_first], np.arange(len(runs.groups)))
        main = members[by_root][begins][largest_first][firsts]
        others = members != main[run_of]
        main_first = np.lexsort((self.bitmaps.row[runs.documents], others, run_of))
        kernel = self._kernel(main_first, np.ones(len(runs.groups), np.uint8), np.append(roots[self.bitmaps.documents], -1))
        yield from self.compare(np.unique(runs.documents[others]), BEFORE, kernel)


def _settle_stars(pairs: Scored, meetings: _Meetings, report: Progress) -> Iterator[Scored]:
    """Yield the accepted pairs of representatives, and of listed runs, block by block of documents in keep order.

    When a block is compared, all earlier representatives are known. Documents of the block that join none of them are
    proposed as representatives, so they meet the others of the block, too.
    """
    rank = meetings.keep.rank
    stars = _Stars(pairs, meetings.keep, meetings.threshold)
    row, fixed = meetings.bitmaps.row, meetings.keep.fixed[meetings.documents]
    meetings.kernel.propose(row[meetings.documents[fixed]])
    meetings.settle(meetings.documents[fixed], fixed[fixed])
    documents = meetings.documents[~fixed]
    for start in range(0, len(documents), BLOCK):
        block = documents[start : start + BLOCK]
        stars.go_on(int(rank[block[-1]]))
        for accepted in meetings.compare(block, BEFORE):
            stars.add(accepted)
            yield accepted
        proposed = block[~stars.joins_certainly(block)]
        meetings.kernel.propose(row[proposed])
        among_proposed = Scored.merged(list(meetings.compare(block, PROPOSED)), len(rank))
        stars.add(among_proposed)
        stars.settle()
        meetings.settle(proposed, stars.represent(proposed))
        earlier = rank[among_proposed.a] < rank[among_proposed.b]
        first = np.where(earlier, among_proposed.a, among_proposed.b)
        yield among_proposed.where(stars.represent(first))
        report("comparing common features", start + len(block), len(documents))


class _Stars:
    """The representatives among the first documents in keep order, given the pairs found so far.

    Documents are numbered by their ranks here: `begin` … `end` − 1 are decided next.
    """

    def __init__(self, pairs: Scored, keep: KeepOrder, threshold: float) -> None:
        self.keep, self.threshold = keep, threshold
        self.labels, self.best = np.arange(len(keep.order)), np.full(len(keep.order), -1.0)
        self.begin = self.end = 0
        members, others = self._joins(pairs)
        order = np.argsort(members, kind="stable")
        self.members, self.others = members[order], others[order]
        self.joining: list[tuple[Ints, Ints]] = []

    def _joins(self, pairs: Scored) -> tuple[Ints, Ints]:
        """List the ranks of documents that may join an earlier one, and of the earlier ones."""
        members, others, _ = pairs.joins(self.threshold)
        free = ~self.keep.fixed[members]
        members, others = self.keep.rank[members[free]], self.keep.rank[others[free]]
        earlier = others < members
        return members[earlier], others[earlier]

    def go_on(self, last: int) -> None:
        """Begin deciding on the documents up to this rank."""
        first, self.begin, self.end = self.end, self.end, last + 1
        part = slice(*np.searchsorted(self.members, [first, self.end]))
        self.joining = [(self.members[part], self.others[part])]

    def add(self, pairs: Scored) -> None:
        """Add pairs whose later document is to be decided now."""
        self.joining.append(self._joins(pairs))

    def joins_certainly(self, documents: Ints) -> Bools:
        """Tell which of these documents join a representative that was decided before."""
        joined = np.zeros(len(self.labels), np.bool_)
        for members, others in self.joining:
            joined[members[(others < self.begin) & (self.labels[others] == others)]] = True
        return joined[self.keep.rank[documents]]

    def settle(self) -> None:
        """Decide on the current documents."""
        members, others = (np.concatenate(column) for column in zip(*self.joining, strict=True))
        order = np.argsort(others, kind="stable")
        star_ascending(others[order], members[order], np.ones(len(order)), False, self.best, self.labels)

    def represent(self, documents: Ints) -> Bools:
        """Tell which of these documents, if decided, represent themselves."""
        ranks = self.keep.rank[documents]
        own: Bools = self.labels[ranks] == ranks
        return own


def merge_runs(runs: Runs, most_listed: int, n: int) -> Runs:
    """Merge longer runs that share many of their n documents, if fewer pairs meet in the union than in the runs.

    Documents that meet in a union but share no run are not candidates, so this changes only the amount of work. A run joins
    the union that has most of its documents, by the last union of each document. O(documents of runs).
    """
    long = np.flatnonzero(runs.sizes > most_listed)
    unions: list[list[int]] = []  # the runs of each union
    size: list[int] = []
    last = np.full(n, -1, np.int64)
    for run in long[np.argsort(-runs.sizes[long], kind="stable")].tolist():
        documents = runs.documents[runs.begins[run] : runs.begins[run + 1]]
        of = last[documents]
        shared = np.bincount(of[of >= 0], minlength=1)
        best = int(np.argmax(shared))
        together = size[best] + len(documents) - int(shared[best]) if shared[best] else 0
        if together and together**2 < size[best] ** 2 + len(documents) ** 2:
            unions[best].append(run)
            size[best] = together
        else:
            best = len(unions)
            unions.append([run])
            size.append(len(documents))
        last[documents] = best
    if len(unions) == len(long):
        return runs
    parts, whole = [], np.zeros(n, np.uint8)
    for union in unions:
        members = np.concatenate([np.arange(runs.begins[run], runs.begins[run + 1]) for run in union])
        documents = np.unique(runs.documents[members])
        whole[documents] = 0
        np.maximum.at(whole, runs.documents[members], runs.whole[members])
        parts.append((int(runs.groups[union[0]]), documents, whole[documents]))
    listed, longer = runs.where(runs.sizes <= most_listed), Runs.of(parts)
    return Runs(
        np.concatenate([listed.groups, longer.groups]),
        np.concatenate([listed.begins[:-1], longer.begins + listed.begins[-1]]),
        np.concatenate([listed.documents, longer.documents]), np.concatenate([listed.whole, longer.whole]),
    )


def describe_runs(runs: Runs, labels: Ints) -> list[dict[str, int]]:
    """Make the entries of `NearDuplicates.common`."""
    own = (labels[runs.documents] == runs.documents).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(own)])[runs.begins]
    return [{"group": group, "holders": holders, "example": example, "representatives": representatives}
            for group, holders, example, representatives in zip(
                runs.groups.tolist(), runs.sizes.tolist(), runs.documents[runs.begins[:-1]].tolist(),
                np.diff(ends).tolist(), strict=True)]
