"""Clusters of a whole collection, from sketches (Broder et al. 1997, §4, §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.checks import check_ids, check_numbered, checked_memory_limit
from ndcore.collection import slots
from ndcore.collection.clustering import UNCHAINED, ClusterBy, Clustering, CommonValues, Policy, check_grouping, group
from ndcore.collection.phase3_pairs import (
    IDENTICAL,
    LEXICAL,
    CommonHeld,
    collapse,
    count_pairs,
    find_alike,
    is_paired,
    sort_entries,
    unmarked,
)
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.settings import Method, Settings, marks_of, needed
from ndcore.collection.shelf import MemoryShelf, Shelf, part_name
from ndcore.filters.design import FilterDesign
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.sketch.sketcher import SketchedPiece, Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN
from ndcore.text.corpus import Corpus, TextCorpus, as_corpus
from ndcore.text.digests import OF_BYTES, OF_TOKENS, read_digests
from ndcore.text.inputs import pieces, take
from ndcore.text.shingling import Shingling

__all__ = ["LEAST", "Before", "check_run", "cluster", "cluster_on_shelf", "common_values", "length", "readable"]

LEAST = 8  # members of a sample that tell a containment
SEGMENT = 1 << 28  # bytes of sketches in a part
SEGMENT_DOCUMENTS = 1 << 20


def cluster(
    texts: Iterable[str | bytes] | Corpus | Sketches,
    ids: Sequence[Any] | None = None,
    *,
    threshold: float = 0.5,
    sketcher: Sketcher | None = None,
    method: Method = "shingles",
    policy: Policy = "resemblance",
    cluster: ClusterBy = "star",
    guard: float | None = None,
    least: int = LEAST,
    max_holders: int = 1000,
    run: int = RUN,
    filter: FilterDesign | None = None,
    tell_apart: bool = True,
    memory_limit: int | str | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Clustering:
    """Cluster a collection by what the sketches of its documents have in common.

    1. Documents are sketched; those with equal sketches are one from here on. 2. Entries (value, document) are sorted: a
    value held by more than `max_holders` documents is common, and proposes no pairs. 3. Pairs of documents that hold
    another value in common are counted. 4. Pairs that resemble each other enough make clusters. Texts are not compared:
    `near_duplicates` does that.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or Sketches
    ids : sequence, optional
        Names of the documents.
    threshold : float
        In (0, 1].
    sketcher : ModSketcher, BottomSketcher or MinHasher, optional
        None: ModSketcher("adaptive"); for super-shingles ModSketcher(25), for features a MinHasher as the filter needs it.
        Broder et al. had ModSketcher(25, shingling=Shingling(width=10)).
    method : "shingles", "super-shingles" or "features"
        What documents must have in common to be compared. shingles: any value of their samples but common ones: none is
        missed. super-shingles (§5.3): `run` consecutive values of mod or bottom sketches of one modulus: much fewer entries,
        no containment, misses documents that resemble each other less; see `super_shingle_probability`. features (Broder
        2000): as many features of signatures as `filter` needs; combinations of two of them where it needs two.
    policy : "resemblance" or "containment"
        What the threshold is for; containment: of one of the two documents in the other, so that an excerpt is in the
        cluster of its source.
    cluster : "star", "components", "greedy" or "popular"
        star: in their order documents join the representative they resemble most, or become one. greedy: the first that
        they resemble. components: whatever is connected by a chain of pairs (§4.1). popular: as `greedy_clusters` by the
        most popular values of each cluster (Broder 1997, §4.4), which needs no pairs, and 58 bytes a value in memory.
    guard : float, optional
        With components: where a member resembles the representative less, the component is clustered as a star.
    least : int
        Containment is judged by samples of so many members at least, unless they are the whole sets: of a page whose sample
        has one member at the modulus of a long document, that one tells nothing. Below it, pairs are judged by resemblance:
        with policy="containment" too, a pair whose resemblance reaches the threshold is joined whatever `least` is. For
        `contained` too.
    max_holders : int
        At least 1.
    run : int
        Members in a super-shingle.
    filter : FilterDesign, optional
        None: design_filter(threshold).
    tell_apart : bool
        Read documents with equal sketches again to tell identical, lexically equivalent and others apart. False: all are
        "shingle", and those without a sample alone.
    memory_limit : int or str, optional
        Bytes, or a size as "2G"; about so much is used, plus 100 bytes a document. What is more goes to temporary files. The
        clusters are the same.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).

    Returns
    -------
    Clustering

    Raises
    ------
    TypeError, ValueError
        A parameter, or a text, is not what is accepted; sketches that the method cannot use.

    Notes
    -----
    O(bytes) to sketch, O(entries) to sort, and O(h²) for each value held by h <= max_holders documents.

    >>> from ndcore import ModSketcher
    >>> found = cluster(["a rose is a rose is a rose", "a rose is a rose is a rose is it", "something else entirely"],
    ...                 sketcher=ModSketcher(1))
    >>> found.labels.tolist(), found.resemblance.tolist()
    ([0, 0, 2], [1.0, 0.75, 1.0])
    """
    given = readable(texts)
    if ids is not None:
        check_ids(ids, length(given))
    settings = Settings.of(
        given, sketcher=sketcher, method=method, threshold=threshold, max_holders=max_holders, run=run, filter=filter
    )
    check_run(settings, policy, cluster, guard, least, memory_limit, threads)
    with reporting(progress) as report:
        found = cluster_on_shelf(
            MemoryShelf(_half(memory_limit)), given, settings, policy=policy, cluster=cluster, guard=guard, least=least,
            tell_apart=tell_apart, memory_limit=memory_limit, threads=threads, report=report, keep_entries=False,
        )
    if ids is not None:
        check_ids(ids, len(found))
    return replace(found, ids=ids)


def readable(texts: Any) -> Corpus | Sketches | Segments:
    """Return sketches as they are, and any texts as a corpus. TypeError as of `as_corpus`."""
    return texts if isinstance(texts, (Sketches, Segments)) else as_corpus(texts)


def length(given: Corpus | Sketches | Segments) -> int | None:
    """Return the number of documents, or None where they must be read for it."""
    if isinstance(given, TextCorpus):
        return len(given.texts)
    return len(given) if isinstance(given, (Sketches, Segments)) else None


def check_run(
    settings: Settings, policy: str, cluster: str, guard: float | None, least: int, memory_limit: int | str | None,
    threads: int | None,
) -> None:
    """Check what `cluster_on_shelf` is to do, before it begins: TypeError or ValueError as of `cluster`."""
    check_grouping(settings.method, settings.threshold, settings.floor, policy, cluster, guard, least)
    _half(memory_limit)
    thread_count(threads)


def cluster_on_shelf(
    shelf: Shelf, given: Corpus | Sketches | Segments, settings: Settings, *, policy: str, cluster: str,
    guard: float | None, least: int, tell_apart: bool, memory_limit: int | str | None, threads: int | None, report: Progress,
    keep_entries: bool, before: Before | None = None,
) -> Clustering:
    """Cluster as `cluster` does, after `check_run`, with intermediate results on this shelf: what is there already is not
    made again. The documents of `before` come first."""
    share = _half(memory_limit)
    segments = _sketched(shelf, given, before, settings.sketcher, keep_entries, threads, report)
    shingling = settings.sketcher.shingling if settings.sketcher is not None and tell_apart else None
    leaders, same = _collapsed(shelf, segments, given, before, shingling, threads, report)
    if not (shelf.has("paired") and is_paired(shelf, len(segments), keep_entries)):
        _pair(shelf, segments, leaders, settings, memory_limit=share, threads=threads, report=report,
              keep_entries=keep_entries)
    for name in shelf.names("runs"):
        shelf.drop(name)
    draft = Clustering(
        labels=leaders, codes=same, resemblance=np.empty(0), leaders=leaders, same=same, threshold=settings.threshold,
        policy=policy, cluster=cluster, guard=guard, least=least, floor=settings.floor,
        common=common_values(shelf, len(segments)), chains=UNCHAINED,
        without_sample=int(np.count_nonzero(unmarked(segments))), parameters=settings.shown(),
        ids=None, segments=segments, shelf=shelf,
    )
    report("clustering", 0, len(segments))
    how = {"policy": policy, "cluster": cluster, "guard": guard, "least": least}
    found = group(draft, threshold=settings.threshold, **how, threads=threads)  # type: ignore[arg-type]
    report("clustering", len(segments), len(segments))
    return found


def _half(memory_limit: int | str | None) -> int | None:
    """Half is for what is kept, half for what is worked with."""
    limit = checked_memory_limit(memory_limit)
    return None if limit is None else max(1, limit // 2)


# ---- phase one


def _sketched(
    shelf: Shelf, given: Corpus | Sketches | Segments, before: Before | None, sketcher: Sketcher | None, keep: bool,
    threads: int | None, report: Progress,
) -> Segments:
    """Return the sketches of all documents."""
    parts = [] if before is None else list(before.segments.parts)
    if isinstance(given, (Sketches, Segments)):
        parts += given.parts if isinstance(given, Segments) else [given]
    for number, part in enumerate(parts if keep else ()):
        _put_given(shelf, part_name("sketches", number), part)
    if isinstance(given, (Sketches, Segments)):
        return Segments(parts)
    assert sketcher is not None
    names = _consecutive(shelf)
    done = sum(len(shelf.get_sketches(name)) for name in names[len(parts) :])
    whole = shelf.has("read") and slots.read(shelf, "read", done)[0]["documents"] == done
    n = length(given)
    if n is not None and (n != done if whole else n < done):
        raise ValueError(_OTHERS.format(done, n))
    if not whole:
        _read(shelf, given, sketcher, names, done, threads, report)
    return Segments([slots.sketches(shelf, name, sketcher.recipe) for name in shelf.names("sketches")])


_OTHERS = ("sketches of {} documents are there, and {} documents are given: go on with the same, or build in another "
           "directory")


def _put_given(shelf: Shelf, name: str, part: Sketches) -> None:
    """Put sketches there; where an interrupted run put some, ValueError if those are others."""
    if not shelf.has(name):
        shelf.put_sketches(name, part)
        return
    there = shelf.get_sketches(name)
    columns = ("values", "offsets", "moduli", "valid")
    if not all(np.array_equal(getattr(there, column), getattr(part, column)) for column in columns):
        raise ValueError(f"the sketches in {name} are not those given: go on with the same, or build in another directory")


def _consecutive(shelf: Shelf) -> list[str]:
    """The parts from the first on without a gap; those past one are taken away."""
    names = shelf.names("sketches")
    whole = next((k for k, name in enumerate(names) if name != part_name("sketches", k)), len(names))
    for name in names[whole:]:
        shelf.drop(name)
    return names[:whole]


def _read(
    shelf: Shelf, corpus: Corpus, sketcher: Sketcher, names: list[str], done: int, threads: int | None, report: Progress
) -> None:
    waiting: list[SketchedPiece] = []
    documents = nbytes = 0
    for piece in map_pieces(sketcher.sketch_piece, _pieces_from(corpus, done), threads):
        waiting.append(piece)
        documents += len(piece.valid)
        nbytes += piece.nbytes
        if nbytes >= SEGMENT or documents >= SEGMENT_DOCUMENTS:
            shelf.put_sketches(part_name("sketches", len(names)), sketcher.gather(waiting))
            names.append("")
            done, documents, nbytes = done + documents, 0, 0
            waiting.clear()
        report("sketching", done + documents, None)
    if waiting or not names:
        shelf.put_sketches(part_name("sketches", len(names)), sketcher.gather(waiting))
    shelf.put("read", {"documents": done + documents}, {})


def _pieces_from(corpus: Corpus, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Pieces of work, from this document on."""
    at = 0
    for batch in corpus.batches():
        skipped = min(len(batch), max(0, first - at))
        rest = batch if not skipped else take(batch, np.arange(skipped, len(batch)))
        yield from ((at + skipped + inside, part) for inside, part in pieces(rest))
        at += len(batch)
    if at < first:
        raise ValueError(_OTHERS.format(first, at))


class Before(NamedTuple):
    """Documents of a collection, which come before those given: their sketches, leaders, and how they equal their leaders.

    Their texts are gone, and digests were not kept.
    """

    segments: Segments
    leaders: Ints
    same: NDArray[np.uint8]

    def digests(self, new: NDArray[np.uint8] | None, n: int) -> NDArray[np.uint8]:
        """Return rows of digests of `n` documents: stand-ins for those before, and the `new` ones (None: stand-ins too).

        A stand-in equals that of another document where the digests did, as far as is known, and no real digest but by
        an accident of 2^-128.
        """
        rows = np.full((n, 4), 0x6E64636F7265, np.uint64)
        rows[:, 1] = rows[:, 3] = np.arange(n)
        for column, same in ((1, self.same == IDENTICAL), (3, (self.same == IDENTICAL) | (self.same == LEXICAL))):
            rows[np.flatnonzero(same), column] = self.leaders[same]
        digests = rows.view(np.uint8)
        if new is not None:
            digests[len(self.segments) :] = new
        return digests


def _collapsed(
    shelf: Shelf, segments: Segments, source: Corpus | Sketches | Segments, before: Before | None,
    shingling: Shingling | None, threads: int | None, report: Progress,
) -> tuple[Ints, NDArray[np.uint8]]:
    check_numbered(len(segments), "documents", "cluster them in parts")
    if not shelf.has("documents"):
        alike = find_alike(segments, threads)
        first = 0 if before is None else len(before.segments)
        digests: NDArray[np.uint8] | None = None
        if isinstance(source, Sketches):
            digests = source.digests
        elif shingling is not None and not isinstance(source, Segments):
            digests = _digests(segments, source, first, shingling, alike, threads, report)
        if before is not None:
            digests = before.digests(digests, len(segments))
        leader, how = collapse(segments, alike, digests)
        shelf.put("documents", {}, {"leader": leader.astype(np.uint32), "same": how})
    documents = slots.read(shelf, "documents", len(segments))[1]
    return documents["leader"].astype(np.int64), documents["same"]


def _digests(
    segments: Segments, corpus: Corpus, first: int, shingling: Shingling, alike: tuple[Ints, Ints], threads: int | None,
    report: Progress,
) -> NDArray[np.uint8]:
    """Return digests of the documents of a corpus, from the `first` on, that are alike: of their bytes; where these differ,
    or sketches say nothing, of tokens."""
    digests = np.zeros((len(segments), 32), np.uint8)
    documents, firsts = alike

    def read(which: NDArray[np.bool_], part: int) -> None:
        wanted = np.zeros(len(segments), np.bool_)
        wanted[documents[which]] = wanted[firsts[which]] = True
        wanted[:first] = False
        read_digests([corpus], [first], wanted, shingling, digests, segments.valid, parts=(part,), threads=threads,
                     report=report)

    read(np.ones(len(documents), np.bool_), OF_BYTES)
    read((digests[documents] != digests[firsts]).any(axis=1) | unmarked(segments)[documents], OF_TOKENS)
    return digests[first:]


# ---- phases two and three


def _pair(
    shelf: Shelf, segments: Segments, leaders: Ints, settings: Settings, *, memory_limit: int | None, threads: int | None,
    report: Progress, keep_entries: bool,
) -> None:
    n = len(segments)
    if shelf.has("paired") and is_paired(shelf, n, keep_entries):
        return
    taken = (leaders == np.arange(n)) & ~unmarked(segments)
    marks = [marks_of(part, settings) for part in segments.parts]
    sort_entries(marks, taken, shelf, max_holders=settings.max_holders, keep=keep_entries, memory_limit=memory_limit,
                 threads=threads, report=report)
    need, held = needed(settings), CommonHeld(shelf, n)

    def shared(a: Ints, b: Ints, common: Ints) -> tuple[NDArray[np.bool_], Overlaps]:
        return np.ones(len(a), np.bool_), segments.overlaps(a, b, common + held.of_both(a, b))

    def compared(a: Ints, b: Ints, common: Ints) -> tuple[NDArray[np.bool_], Overlaps]:
        which = common >= need
        return which, segments.compared(a[which], b[which], 1)

    count_pairs(n, shelf, shared if settings.method == "shingles" else compared, floor=settings.floor,
                memory_limit=memory_limit, threads=threads, report=report)
    common = [slots.opened(shelf, name, n)[1]["common"] for name in shelf.names("runs")]
    shelf.put("paired", {}, {"common": np.concatenate([np.empty((0, 3), np.uint64), *common])})


def common_values(shelf: Shelf, n: int) -> CommonValues:
    """The values that are common to many of n documents, as met in phase two, most holders first."""
    common = slots.read(shelf, "paired", n)[1]["common"]
    order = np.lexsort((common[:, 0], -common[:, 1].astype(np.int64)))
    return CommonValues(common[order, 0], common[order, 1].astype(np.int64), common[order, 2].astype(np.int64))
