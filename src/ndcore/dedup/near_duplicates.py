"""The main job: which documents of a collection are near-duplicates of which (Broder 2000; Broder et al. 1997)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore.checks import check_documents, check_ids, check_numbered, checked_memory_limit, checked_threshold, is_int
from ndcore.clusters.assign import CLUSTERINGS, represent
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.candidates import Candidates, find_candidates
from ndcore.dedup.first_pass import Reading, alike, read_corpus
from ndcore.dedup.long_runs import settle_runs
from ndcore.dedup.result import NearDuplicates, Sources, conclude
from ndcore.dedup.shingle_sets import ShingleSets
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.search import design_filter
from ndcore.progress import Progress, reporting
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches, load
from ndcore.text.corpus import Corpus, as_corpus, indexed_pieces
from ndcore.text.digests import read_digests
from ndcore.text.shingling import Shingling

__all__ = ["near_duplicates"]

Priorities = ArrayLike | Callable[[], ArrayLike]


def near_duplicates(
    texts: Iterable[str | bytes] | Corpus | Sketches,
    ids: Sequence[Any] | None = None,
    *,
    threshold: float = 0.8,
    shingling: Shingling | None = None,
    num_perm: int = 84,
    seed: int = 1,
    filter: Literal["auto"] | FilterDesign = "auto",
    against: Iterable[str | bytes] | Corpus | Sketches | str | os.PathLike[str] | None = None,
    keep: Literal["first", "longest"] | Priorities = "first",
    cluster: Literal["star", "greedy", "components"] = "star",
    max_holders: int = 1000,
    verify: Literal["fingerprints", "tokens"] = "fingerprints",
    memory_limit: int | str | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    by: ArrayLike | Callable[[], ArrayLike] | None = None,
    one_per: ArrayLike | Callable[[], ArrayLike] | None = None,
) -> NearDuplicates:
    """Find the documents that are roughly the same, and choose which of them to keep.

    Documents that are identical, or lexically equivalent (the same canonical tokens), are collapsed first. Of the rest,
    pairs that share features of their signatures are candidates; a pair is accepted by its exact resemblance only. Then,
    in keep order, a document joins the representative it resembles most, or becomes one. So every document dropped
    resembles a kept one at or above the threshold, and two kept ones do so only where the filter missed the pair.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or Sketches
        An iterator is written compressed to a temporary file, for it is read twice. Sketches (of a MinHasher) stand for
        texts that are gone: resemblances are estimates then, and identical documents are known only by stored digests.
    ids : sequence, optional
        Names of the documents, for the result.
    threshold : float
        Resemblance in (0, 1] from which two documents are near-duplicates.
    shingling : Shingling, optional
        None: words, 5 to a shingle; with sketches, that of their recipe.
    num_perm, seed : int
        Of the signatures. filter="auto" raises num_perm where it must. Where sketches are given, theirs count.
    filter : "auto" or FilterDesign
        "auto": design_filter(threshold) with a miss of at most 0.001 at the threshold.
    against : as texts, or path of saved sketches, optional
        An existing collection: its documents come first in keep order and are never dropped.
    keep : "first", "longest" (in bytes), or priorities
        Keep order: of near-duplicates the first is kept. Priorities: one per document, smallest first, ties by position;
        an array, or a callable that returns it after the texts were read.
    cluster : "star", "greedy" or "components"
        See `ndcore.clusters.assign.represent`. Components may join documents through chains of others.
    max_holders : int
        A feature that more documents share is not expanded to pairs; see `NearDuplicates.common`.
    verify : "fingerprints" or "tokens"
        Compare shingles as fingerprints, or as tuples of tokens (for documents by an adversary).
    memory_limit : int or str, optional
        Bytes, or a size as "2G", for signatures and sort entries; beyond it they go to temporary files and are sorted in
        parts. The result is the same.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).
    by : array, optional
        A label per document, or a callable that returns them after the texts were read: documents of different labels
        are never compared. Not with `against`. None and NaN are refused, here and in `one_per`.
    one_per : array, optional
        A label per document, as the URL of a capture, or a callable that returns them after the texts were read: of
        documents of one label, only the first in keep order is compared with others. The rest are dropped as its
        versions, whatever their texts; see `NearDuplicates.classes`.

    Returns
    -------
    NearDuplicates

    Raises
    ------
    TypeError, ValueError
        A parameter, or a text, is not what is accepted.
    RecipeMismatch
        Sketches were made by another recipe than the other sketches, or by another shingling than the one given.

    Notes
    -----
    O(bytes) to read twice, O(groups · n) to sort, and one exact comparison per candidate. Memory: signatures, digests and
    entries (below 1 KB per document), 8 bytes per candidate, and batches of texts and shingle sets of bounded size.

    >>> res = near_duplicates(["a rose is a rose is a rose", "A rose is a rose, is a rose!", "something else entirely"])
    >>> res.labels.tolist(), res.classes.tolist()
    ([0, 0, 2], ['kept', 'lexical', 'kept'])
    """
    _check(threshold, cluster, max_holders, verify, ids)
    share = _share(memory_limit)
    if by is not None and against is not None:
        raise ValueError("by=… cannot be combined with against=…: the documents of `against` have no labels")
    new, old = _Side(texts), None if against is None else _Side(_loaded(against), "against")
    sketcher, design = _plan([new] if old is None else [new, old], threshold, shingling, num_perm, seed, filter)
    with reporting(progress) as report:
        readings = [
            side.read(sketcher, threads=threads, memory_limit=share, report=report)
            for side in (new, old) if side is not None
        ]
        job = _Job(new, old, readings, sketcher, design, keep, by, one_per, cluster, threads, report)
        if ids is not None and len(ids) != job.n:
            raise ValueError(f"there are {len(ids)} ids and {job.n} documents")
        return job.run(threshold, ids, max_holders, verify == "tokens", share, threads, report)


def _check(threshold: float, cluster: str, max_holders: int, verify: str, ids: Any) -> None:
    checked_threshold(threshold)
    if cluster not in CLUSTERINGS:
        raise ValueError(f"cluster must be one of {', '.join(CLUSTERINGS)}, got {cluster!r}")
    if verify not in ("fingerprints", "tokens"):
        raise ValueError(f"verify must be 'fingerprints' or 'tokens', got {verify!r}")
    if not is_int(max_holders) or max_holders < 2:
        raise ValueError(f"max_holders must be an int of at least 2, got {max_holders!r}")
    if ids is not None:
        check_ids(ids, None)


def _share(memory_limit: int | str | None) -> int | None:
    """Half of the limit is for signatures, half for what is sorted."""
    limit = checked_memory_limit(memory_limit)
    return None if limit is None else max(1, limit // 2)


def _loaded(against: Any) -> Any:
    """Sketches that `against` is the path of; ValueError or OSError as of `load`."""
    return load(against) if isinstance(against, (str, os.PathLike)) else against


class _Side:
    """The documents, or those of `against`: texts that can be read again, or sketches."""

    def __init__(self, given: Any, name: str = "texts") -> None:
        check_documents(given, name)
        self.sketches = given if isinstance(given, Sketches) else None
        self.corpus = None if self.sketches is not None else as_corpus(given)

    def read(self, sketcher: MinHasher, **how: Any) -> Reading:
        if self.corpus is not None:
            return read_corpus(self.corpus, sketcher, **how)
        assert self.sketches is not None
        sketcher.recipe.check(self.sketches.recipe)
        rows, digests = np.ascontiguousarray(self.sketches.values), self.sketches.digests
        known = np.full(len(rows), digests is not None)
        digests = np.zeros((len(rows), 32), np.uint8) if digests is None else digests
        return Reading(rows, digests, known, None, self.sketches.valid, 0)


def _plan(
    sides: list[_Side], threshold: float, shingling: Shingling | None, num_perm: int, seed: int,
    filter: Literal["auto"] | FilterDesign,
) -> tuple[MinHasher, FilterDesign]:
    """The sketcher, that of the sketches where there are any, and the filter."""
    given = next((side.sketches for side in sides if side.sketches is not None), None)
    if isinstance(filter, FilterDesign):
        num_perm = max(num_perm, filter.groups * filter.group_size)
    elif filter != "auto":
        raise ValueError(f"filter must be 'auto' or a FilterDesign, got {filter!r}")
    elif given is None:
        num_perm = design_filter(threshold, num_perm=num_perm).num_perm
    sketcher = MinHasher(num_perm, 32, seed, shingling) if given is None else MinHasher.from_recipe(given.recipe, shingling)
    if filter == "auto":
        return sketcher, design_filter(threshold, num_perm=sketcher.num_perm, max_num_perm=sketcher.num_perm)
    design = FilterDesign.of(
        filter.groups, filter.group_size, filter.need, threshold=threshold, num_perm=sketcher.num_perm
    )
    return sketcher, design


class _Read(NamedTuple):
    """Readings of both sides, end to end."""

    rows: NDArray[Any]
    digests: NDArray[np.uint8]
    known: NDArray[np.bool_]
    has_text: NDArray[np.bool_]
    valid: NDArray[np.bool_]


def _joined(readings: list[Reading], sides: list[_Side]) -> _Read:
    rows = [reading.rows for reading in readings]
    texts = [np.full(len(reading.rows), side.corpus is not None) for reading, side in zip(readings, sides, strict=True)]
    return _Read(
        rows[0] if len(rows) == 1 else np.concatenate(rows),
        np.concatenate([reading.digests for reading in readings]), np.concatenate([reading.known for reading in readings]),
        np.concatenate(texts), np.concatenate([reading.valid for reading in readings]),
    )


class _Job:
    """The steps after the first reading. Positions: the documents, then those of `against`."""

    def __init__(
        self, new: _Side, old: _Side | None, readings: list[Reading], sketcher: MinHasher, design: FilterDesign,
        keep: Any, by: Any, one_per: Any, cluster: str, threads: int | None, report: Progress,
    ) -> None:
        sides = [new] if old is None else [new, old]
        self.corpora = (new.corpus, old.corpus if old else None)
        self.given = new.sketches
        self.n = len(readings[0].rows)
        self.read = _joined(readings, sides)
        self.total = len(self.read.rows)
        self.invalid_bytes = readings[0].invalid_bytes
        self.sketcher, self.design, self.cluster = sketcher, design, cluster
        check_numbered(self.total, "documents", "remove near-duplicates in parts, each --against those before it")
        self.order = np.concatenate([np.arange(self.n, self.total), _keep_order(keep, readings[0], self.n)])
        self.by = None if by is None else _codes("by", by, self.n)
        self.version = _versions(None if one_per is None else _codes("one_per", one_per, self.n), self.order)
        self.live = self.version == np.arange(self.total)
        self._compare_alike(threads, report)
        self.leader = _leaders(self.read, self.live, self.order, self.by)

    def _compare_alike(self, threads: int | None, report: Progress) -> None:
        """Take the digests of documents of equal signatures, which lexically equivalent documents have."""
        read = self.read
        wanted = alike(read.rows, self.live & read.valid & (read.known | read.has_text)) & ~read.known
        where = self.corpora, (0, self.n), wanted
        read_digests(*where, self.sketcher.shingling, read.digests, read.valid, threads=threads, report=report)
        read.known[wanted] = True

    def run(
        self, threshold: float, ids: Sequence[Any] | None, max_holders: int, tokens: bool, memory_limit: int | None,
        threads: int | None, report: Progress,
    ) -> NearDuplicates:
        least = least_equal_minima(self.sketcher.num_perm, threshold)
        active = np.flatnonzero(self.read.valid & self.live & (self.leader == np.arange(self.total)))
        found = find_candidates(
            self.read.rows, active, self.design, least=least, max_holders=max_holders, first_fixed=self.n, by=self.by,
            memory_limit=memory_limit, report=report,
        )
        measure = _Measure(self.read, self._sets(found, tokens, threads, report))
        judged = Pairs(found.a, found.b, measure(found.a, found.b, report)[0])
        pairs = judged.where(judged.resemblance >= threshold)
        fixed = np.arange(self.total) >= self.n

        def label(pairs: Pairs) -> NDArray[np.int64]:
            return represent(self.total, *pairs, self.order, fixed, self.cluster)

        pairs, labels, common = settle_runs(
            found, pairs, label, measure=lambda a, b: measure(a, b)[0], order=self.order, fixed=fixed,
            threshold=threshold, max_holders=max_holders, by=self.by,
        )
        estimated = ~(self.read.has_text[pairs.a] & self.read.has_text[pairs.b])
        sources = Sources(
            self.corpora, self.n, self.read.rows, self.read.digests, self.read.known, self.read.valid, self.version,
            self.leader, self.order, self.sketcher.shingling, self.cluster,
            measure if self.cluster == "components" else None, self.sketcher.recipe, self.given,
        )
        return conclude(sources, pairs, estimated, self._draft(threshold, ids, common), labels)

    def _sets(self, found: Candidates, tokens: bool, threads: int | None, report: Progress) -> ShingleSets:
        """The shingle sets of all documents that may have to be compared."""
        wanted = np.zeros(self.total, np.bool_)
        for documents in (found.a, found.b, *(run.documents for run in found.runs)):
            wanted[documents] = True
        wanted &= self.read.has_text
        sets = ShingleSets(self.sketcher.shingling, self.total, tokens=tokens, threads=threads)
        if wanted.any():
            texts = indexed_pieces(self.corpora, (0, self.n), wanted)
            sets.read(texts, int(np.count_nonzero(wanted)), report)
        return sets

    def _draft(self, threshold: float, ids: Sequence[Any] | None, common: list[dict[str, int]]) -> NearDuplicates:
        nothing = np.empty(0, np.int64)
        return NearDuplicates(
            nothing, np.empty(0, np.str_), np.empty(0), Pairs(nothing, nothing, np.empty(0)), np.empty(0, np.bool_),
            threshold, self.design, common, self.invalid_bytes, ids, None,  # type: ignore[arg-type]
        )


class _Measure:
    """Resemblances of pairs: exact where both texts are at hand, else estimated from the signatures."""

    def __init__(self, read: _Read, sets: ShingleSets) -> None:
        self.read, self.sets = read, sets

    def __call__(
        self, a: NDArray[np.int64], b: NDArray[np.int64], report: Progress | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        exact = self.read.has_text[a] & self.read.has_text[b]
        out = np.empty(len(a), np.float64)
        out[exact] = self.sets.resemblance(a[exact], b[exact], report)
        rest = np.flatnonzero(~exact)
        for start in range(0, len(rest), 4096):
            part = rest[start : start + 4096]
            out[part] = (self.read.rows[a[part]] == self.read.rows[b[part]]).mean(axis=1)
        return out, exact


def _keep_order(keep: Any, reading: Reading, n: int) -> NDArray[np.int64]:
    """Positions in keep order, ties by position."""
    if isinstance(keep, str):
        if keep == "first":
            return np.arange(n)
        if keep != "longest":
            raise ValueError(f"keep must be 'first', 'longest' or priorities, got {keep!r}")
        if reading.lengths is None:
            raise ValueError("keep='longest' needs the texts; sketches do not know how long they were")
        return np.argsort(-reading.lengths, kind="stable")
    priorities = np.asarray(keep() if callable(keep) else keep)
    if priorities.shape != (n,):
        raise ValueError(f"keep has shape {priorities.shape}; there are {n} documents")
    if priorities.dtype.kind == "f" and np.isnan(priorities).any():
        raise ValueError(f"the priority of document {int(np.argmax(np.isnan(priorities)))} is nan")
    return np.argsort(priorities, kind="stable")


def _codes(name: str, labels: ArrayLike | Callable[[], ArrayLike], n: int) -> NDArray[np.int64]:
    """Numbers instead of labels: equal where these are."""
    found = labels() if callable(labels) else labels
    array = np.asarray(found, object if isinstance(found, (list, tuple)) else None)  # 1 and "1", "a" and "a\0" stay apart
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; there are {n} documents")
    for i, label in enumerate(array.tolist() if array.dtype.kind in "Of" else ()):
        if label is None or label != label:  # NaN is not equal to itself
            raise ValueError(f"{name}: the label of document {i} is {label!r}, a missing value; give it one of its own")
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    codes: dict[Any, int] = {}
    return np.fromiter((codes.setdefault(label, len(codes)) for label in array.tolist()), np.int64, n)


def _versions(codes: NDArray[np.int64] | None, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first document in keep order of each one's code; itself for all past the codes."""
    version = np.arange(len(order))
    if codes is not None:
        ours = order[order < len(codes)]
        found, first = np.unique(codes[ours], return_index=True)
        version[: len(codes)] = ours[first][np.searchsorted(found, codes)]
    return version


def _leaders(
    read: _Read, live: NDArray[np.bool_], order: NDArray[np.int64], by: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """The first live document in keep order that is lexically equivalent (without shingles: identical) to each."""
    total = len(order)
    rank = np.empty(total, np.int64)
    rank[order] = np.arange(total)
    digest = np.where(read.valid[:, None], read.digests[:, 16:], read.digests[:, :16])
    halves = np.ascontiguousarray(digest).view(np.uint64)
    keys = [halves[:, 0], halves[:, 1], read.valid, by if by is not None else np.zeros(total, np.int64)]
    keys.append(np.where(read.known & live, -1, np.arange(total)))  # documents of unknown digests, and versions, stay apart
    sequence = np.lexsort([rank, *keys])
    begins = np.zeros(total, np.bool_)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[sequence[1:]] != key[sequence[:-1]]
    leader = np.empty(total, np.int64)
    leader[sequence] = sequence[begins][np.cumsum(begins) - 1]
    return leader
