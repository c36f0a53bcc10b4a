"""Cluster a collection by the four phases of Broder et al. 1997, §4.1.

Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, DOI 10.1016/S0169-7552(97)00031-7.

The way of a text: `Job` (what to do, checked) → `sketch_documents` (phase one) → `find_leaders` (equal documents) →
`sort_entries` (phase two) → `count_pairs` (phase three) → `cluster_pairs` (phase four, in `ndcore.collection.clustering`) →
`Clustering`. Each phase reads some slots of the shelf and puts others there; `ndcore.collection.shelf` lists them. What is
there already is not made again, so an interrupted job goes on after its last part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ndcore._entries as _entries
import ndcore._sets as _sets
from ndcore._minhash import Sink
from ndcore._types import Bools, Ints, UInts
from ndcore.checks import check_ids, check_numbered
from ndcore.collection import shelf as slots
from ndcore.collection.clustering import Clustering, PairedCollection, cluster_pairs
from ndcore.collection.segments import CountedPairs, Overlaps, Segments
from ndcore.collection.settings import (
    LEAST,
    ClusterBy,
    Job,
    Labels,
    Method,
    Policy,
    Settings,
    as_list,
    length,
    pack_labels,
    readable,
)
from ndcore.collection.shelf import MemoryShelf, Shelf, part_name
from ndcore.filters.design import FilterDesign
from ndcore.pairs.representatives import number_labels
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.sketch.features import features, super_features
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN, super_shingles
from ndcore.storage.file_shelf import consecutive
from ndcore.storage.packed_ids import unpack_ids
from ndcore.text.agreement import MustAgree
from ndcore.text.corpus import Corpus
from ndcore.text.digests import OF_BYTES, OF_TOKENS, first_equal, read_digests
from ndcore.text.inputs import pieces, take
from ndcore.text.shingling import Shingling

__all__ = [
    "PAIR_BYTES", "RANGE", "ROOM", "cluster", "count_pairs", "cut_into_parts", "pairing_sets", "run_phases", "sort_entries",
]

PARTS = 16  # of entries, or of pairs, where memory is not limited
SEGMENT = 1 << 28  # bytes of sketches in a part
LEAST_SEGMENT = 1 << 24  # the same, of a small limit
SEGMENT_DOCUMENTS = 1 << 20
DIGITS = 12  # leading bits of values by which they are cut into slabs
SLAB = 1 << 22  # entries that are sorted at a time, at least
ENTRY_BYTES = 60  # an entry, its scratch, key, document and run
FILE_BYTES = 18  # of an entry on disk, its part of the runs included
PAIR_BYTES = 24  # a place in a list, and what is made of it
RANGE = 1 << 24  # pairs, repeats counted, that are counted at a time, at least
ROOM = 1 << 20  # counted pairs that are judged at a time
JUDGED_BYTES = 100

_BYTES, _TOKENS = slice(16), slice(16, 32)  # of a row of digests
_OTHERS = ("sketches of {} documents are there, and {} documents are given: go on with the same, or build in another "
           "directory")

Measure = Callable[[Ints, Ints, Ints], tuple[Bools, Overlaps]]
"""Of pairs (a, b, common): which of them to look at, and what these have in common."""


def cluster(
    texts: Iterable[str | bytes] | Corpus | Sketches,
    ids: Sequence[Any] | None = None,
    *,
    threshold: float = 0.5,
    shingling: Shingling | None = None,
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
    by: Labels | None = None,
    one_per: Labels | None = None,
    must_agree: MustAgree = None,
    min_shingles: int = 0,
) -> Clustering:
    """Cluster a collection by the values that the sketches of its documents have in common.

    1. Sketch the documents; those with equal sketches count as one from here on. 2. Sort the entries (value, document): a
    value held by more than `max_holders` documents is common, and proposes no pairs. 3. Count the pairs of documents that
    hold another value in common. 4. Make clusters of the pairs that resemble each other enough. Texts are not compared:
    `near_duplicates` does that.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or Sketches
    ids : sequence, optional
        Names of the documents.
    threshold : float
        Jaccard similarity (resemblance), or containment by `policy`; above 0, at most 1.
    shingling : Shingling, optional
        Of the sketcher that is chosen where none is given; not with `sketcher`. None: words, 5 to a shingle; with sketches,
        the shingling of their recipe.
    sketcher : ModSketcher, BottomSketcher or MinHasher, optional
        None: ModSketcher("adaptive"); for super-shingles ModSketcher(25), for features a MinHasher as the filter needs it.
        Broder et al. had ModSketcher(25, shingling=Shingling(width=10)).
    method : "shingles", "super-shingles" or "features"
        What documents must have in common to be compared. shingles: any value of their samples but common ones, so no pair
        is missed. super-shingles (§5.3): `run` consecutive values of mod or bottom sketches of one modulus. Entries are far
        fewer, but they tell no containment, and less similar documents are missed: see `super_shingle_probability`. features
        (Broder 2000): as many features of signatures as `filter` needs; combinations of two of them where it needs two.
    policy : "resemblance" or "containment"
        The quantity that the threshold is for. containment: of one of the two documents in the other, so that an excerpt is
        in the cluster of its source.
    cluster : "star", "components", "greedy" or "popular"
        star: each document, in order, joins the representative that it resembles most, or becomes one. greedy: it joins the
        first representative that it resembles. components: documents connected by a chain of pairs (§4.1). popular: as
        `greedy_clusters` by the most popular values of each cluster (Broder 1997, §4.4), which needs no pairs, and 58 bytes
        a value in memory.
    guard : float, optional
        With components: a component is clustered as a star if a member resembles the representative less than this.
    least : int
        Members that a sample needs to tell a containment, unless samples are the whole sets: one member of a short page, at
        the modulus of a long document, tells nothing. With policy="containment", pairs with fewer are judged by resemblance.
        A containment is never below the resemblance, so a pair at or above the threshold of resemblance joins whatever
        `least` is. `Clustering.contained` takes the same.
    max_holders : int
        At least 1.
    run : int
        Members in a super-shingle.
    filter : FilterDesign, optional
        None: design_filter(threshold).
    tell_apart : bool
        Read documents with equal sketches again to tell identical, lexically equivalent and others apart. False: all are
        "shingle", and documents without a sample are alone.
    memory_limit : int or str, optional
        Bytes, or a size as "2G", plus 100 bytes a document. The rest goes to temporary files. The clusters are the same.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).
    by, one_per, must_agree
        As in `near_duplicates`, in the order of the documents: documents that `by` or `must_agree` keep apart are never a
        pair, nor collapsed where their sketches are equal; versions by `one_per` are not compared. `must_agree` needs texts,
        and cluster="popular" takes neither `by` nor `must_agree`.
    min_shingles : int
        Documents of fewer distinct shingles propose no pairs, and join others only if they are identical or lexically
        equivalent. The sketch tells the number: exactly where it knows it (`Sketches.sizes_exact`), else as an estimate.

    Returns
    -------
    Clustering

    Raises
    ------
    TypeError, ValueError
        A parameter, or a text, is not accepted; the method cannot use the sketches.

    Notes
    -----
    O(bytes) to sketch, O(entries) to sort, and O(h²) for each value held by h <= max_holders documents.

    References
    ----------
    Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, §4 and §5, DOI 10.1016/S0169-7552(97)00031-7.
    Broder 1997, On the resemblance and containment of documents, §4.4, DOI 10.1109/SEQUEN.1997.666900.

    >>> from ndcore import ModSketcher
    >>> found = cluster(["a rose is a rose is a rose", "a rose is a rose is a rose is it", "something else entirely"],
    ...                 sketcher=ModSketcher(1))
    >>> found.labels.tolist(), found.resemblance.tolist()
    ([0, 0, 2], [1.0, 0.75, 1.0])
    """
    given = readable(texts)
    if ids is not None:
        check_ids(ids, length(given))
    job = Job.of(
        given, threshold=threshold, shingling=shingling, sketcher=sketcher, method=method, policy=policy, cluster=cluster,
        guard=guard, least=least, max_holders=max_holders, run=run, filter=filter, tell_apart=tell_apart,
        memory_limit=memory_limit, threads=threads, by=by, one_per=one_per, must_agree=must_agree,
        min_shingles=min_shingles,
    )
    with reporting(progress) as report:
        found = run_phases(MemoryShelf(job.memory_limit), job, report)
    if ids is not None:
        check_ids(ids, len(found))
    return replace(found, ids=ids)


def run_phases(shelf: Shelf, job: Job, report: Progress, keep: bool = False) -> Clustering:
    """Run the four phases of a job with their outcomes on this shelf; keep sketches and entries there for queries too."""
    settings = job.settings
    segments = sketch_documents(shelf, job, report, keep)
    n = len(segments)
    apart = Apart.of(shelf, segments, job, keep)
    leaders, same = find_leaders(shelf, segments, apart, job, report)
    if not _is_paired(shelf, n, keep):
        sets = [pairing_sets(part, settings) for part in segments.parts]
        taken = (leaders == np.arange(n)) & ~apart.aside
        sort_entries(sets, taken, shelf, max_holders=settings.max_holders, keep=keep, memory_limit=job.memory_limit,
                     threads=job.threads, report=report)
        count_pairs(n, shelf, measure_of(settings, segments, shelf), floor=settings.floor,
                    group=apart.group, memory_limit=job.memory_limit, threads=job.threads, report=report)
    shelf.discard("until paired")
    report("clustering", 0, n)
    paired = PairedCollection.of(shelf, segments, leaders, same, settings)
    clustering = cluster_pairs(paired, job.grouping, job.threads)
    report("clustering", n, n)
    return clustering


def _is_paired(shelf: Shelf, n: int, keep: bool) -> bool:
    """Tell whether phases two and three of n documents are complete; without `keep`, entries may be missing."""
    if not all(shelf.has(name) for name in (slots.PAIRED, slots.SLABS, slots.RANGES)):
        return False
    slabs, ranges = (len(shelf.read(name, n)[name]) for name in (slots.SLABS, slots.RANGES))
    wanted = [part_name(slots.PAIRS, number) for number in range(ranges)]
    wanted += [part_name(slots.ENTRIES, number) for number in range(slabs) if keep]
    return all(shelf.has(name) for name in wanted)


def cut_into_parts(sizes: Ints, at_least: int, item_bytes: int, memory_limit: int | None, threads: int | None) -> Ints:
    """Cut consecutive groups of items into parts; return the first group of each part, and last the number of groups.

    A part has at most a sixteenth of all items, or `at_least` where that is more. With a `memory_limit` it also has at most
    as many as fit in a thread's share. A group is never cut: a part may be one larger group.
    """
    ends = np.cumsum(sizes)
    most = max(at_least, -(-int(sizes.sum()) // PARTS))
    if memory_limit is not None:
        most = max(1, min(most, memory_limit // (item_bytes * thread_count(threads))))
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + most, "right"))))
    return np.array(cuts)


# ---- phase one: a sketch of every document
#
# In: texts, or sketches. Out: the slots ``sketches/…`` and ``read``. Documents are read once, in order. Their sketches are
# put on the shelf in parts of bounded size, so an interrupted job reads and skips the documents whose sketches are there.


def sketch_documents(shelf: Shelf, job: Job, report: Progress, keep: bool) -> Segments:
    """Return the sketches of all documents of a job; a collection that is extended comes first.

    Sketches that are given go to the shelf with `keep` only. ValueError where the shelf has sketches of other documents.
    """
    given, sketcher = job.given, job.settings.sketcher
    parts = [] if job.earlier is None else list(job.earlier.segments.parts)
    if isinstance(given, (Sketches, Segments)):
        parts += given.parts if isinstance(given, Segments) else [given]
    first = 0
    for number, part in enumerate(parts):
        if keep:
            _put_given(shelf, part_name(slots.SKETCHES, number), part)
        if job.keys is not None and not shelf.has(part_name(slots.KEYS, number)):
            shelf.put(part_name(slots.KEYS, number), {}, {"keys": job.keys[first : first + len(part)]})
        first += len(part)
    if isinstance(given, (Sketches, Segments)):
        return Segments(parts)
    assert sketcher is not None
    names = consecutive(shelf, slots.SKETCHES)
    if job.agreement is not None:
        both = min(len(names), len(consecutive(shelf, slots.KEYS)))
        for name in (*names[both:], *shelf.names(slots.KEYS)[both:]):
            shelf.drop(name)  # its keys, or its sketches, were lost
        names = names[:both]
    done = sum(len(shelf.get_sketches(name)) for name in names[len(parts) :])
    whole = shelf.has(slots.SKETCHED) and shelf.opened(slots.SKETCHED, done)[0]["documents"] == done
    n = length(given)
    if n is not None and (n != done if whole else n < done):
        raise ValueError(_OTHERS.format(done, n))
    if not whole:
        _sketch_rest(shelf, given, job, len(names), done, report)
    return Segments(shelf.read_sketches(sketcher.recipe))


def _put_given(shelf: Shelf, name: str, part: Sketches) -> None:
    """Put sketches on the shelf; ValueError where an interrupted job put other ones there."""
    if not shelf.has(name):
        shelf.put_sketches(name, part)
        return
    there = shelf.get_sketches(name)
    columns = ("values", "offsets", "moduli", "valid")
    if not all(np.array_equal(getattr(there, column), getattr(part, column)) for column in columns):
        raise ValueError(f"the sketches in {name} are not those given: go on with the same, or build in another directory")


def _sketch_rest(shelf: Shelf, corpus: Corpus, job: Job, number: int, done: int, report: Progress) -> None:
    """Sketch the documents after the first `done`, in parts from this number on."""
    sketcher = job.settings.sketcher
    assert sketcher is not None
    agreement, waiting, keys = job.agreement, list[Sink](), list[NDArray[np.uint8]]()
    documents = nbytes = 0

    def work(piece: tuple[int, Sequence[Any]]) -> tuple[Sink, NDArray[np.uint8] | None]:
        return sketcher.sketch_piece(piece), None if agreement is None else agreement.digests(piece[1], piece[0])

    def put() -> None:
        if agreement is not None:
            shelf.put(part_name(slots.KEYS, number), {}, {"keys": np.concatenate([np.empty((0, 16), np.uint8), *keys])})
        shelf.put_sketches(part_name(slots.SKETCHES, number), sketcher.gather(waiting))
        waiting.clear()
        keys.clear()

    most = SEGMENT if job.memory_limit is None else min(SEGMENT, max(LEAST_SEGMENT, job.memory_limit // 2))  # and a copy
    for piece, of_piece in map_pieces(work, _pieces_from(corpus, done), job.threads):
        waiting.append(piece)
        if of_piece is not None:
            keys.append(of_piece)
        documents += len(piece)
        nbytes += piece.nbytes
        if nbytes >= most or documents >= SEGMENT_DOCUMENTS:
            put()
            number, done, documents, nbytes = number + 1, done + documents, 0, 0
        report("sketching", done + documents, None)
    if waiting or not number:
        put()
    shelf.put(slots.SKETCHED, {"documents": done + documents}, {})


def _pieces_from(corpus: Corpus, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield pieces of work, from this document on."""
    seen = 0
    for batch in corpus.batches():
        skipped = min(len(batch), max(0, first - seen))
        rest = batch if not skipped else take(batch, np.arange(skipped, len(batch)))
        yield from ((seen + skipped + inside, part) for inside, part in pieces(rest))
        seen += len(batch)
    if seen < first:
        raise ValueError(_OTHERS.format(first, seen))


# ---- documents with equal sketches: only the first of them, their leader, goes on
#
# In: the sketches of phase one, and the texts once more. Out: the slot ``documents``: the leader of every document, and how
# it is the same: identical (bytes), lexically equivalent (canonical tokens), or with an equal sketch.


class Apart(NamedTuple):
    """What keeps documents apart, by the options.

    Attributes
    ----------
    version : int64 (n,)
        The first document with the same label of `one_per`. Only documents that are their own version are compared.
    by, keys : int64 (n,) or None
        Numbers: equal for equal labels of `by`, and for what agrees in `must_agree`.
    aside : bool (n,)
        Documents that propose no pairs, and equal others by digests only: without a sample, or of too few shingles.
    """

    version: Ints
    by: Ints | None
    keys: Ints | None
    aside: Bools

    @classmethod
    def of(cls, shelf: Shelf, segments: Segments, job: Job, keep: bool) -> Apart:
        """Read labels and keys, once all documents were sketched. ValueError, TypeError for labels that are not accepted."""
        n, keys = len(segments), None
        by, codes = (_number_labels(shelf, job, name, n, keep) for name in (slots.BY, slots.ONE_PER))
        version = np.arange(n)
        if codes is not None:
            _, first, number = np.unique(codes, return_index=True, return_inverse=True)
            version = first[number]
        if job.settings.must_agree:
            keys = first_equal(shelf.read_keys(n))
        return cls(version, by, keys, segments.aside(job.settings.min_shingles))

    @property
    def group(self) -> Ints | None:
        """Numbers, equal for documents that may be a pair; None where any may."""
        columns = [column for column in (self.by, self.keys) if column is not None]
        if len(columns) < 2:
            return columns[0] if columns else None
        return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _number_labels(shelf: Shelf, job: Job, name: str, n: int, keep: bool) -> Ints | None:
    """Number the labels of an option, of earlier documents first; `keep` them on the shelf."""
    given = job.labels.get(name)
    if given is None:
        return None
    labels = given() if callable(given) else given
    number_labels(name, labels, n - job.first)
    column = [*(() if job.earlier is None else job.earlier.labels[name]), *as_list(labels)]
    if keep and not shelf.has(name):
        shelf.put(name, {}, pack_labels(name, column))
    elif keep and unpack_ids(shelf.read(name, n)) != column:
        raise ValueError(f"the labels in {shelf.where(name)} are not those given: go on with the same, or build in another "
                         "directory")
    return number_labels(name, column, n)


def find_leaders(
    shelf: Shelf, segments: Segments, apart: Apart, job: Job, report: Progress
) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the leader of every document and how it is the same, from the shelf if they are there."""
    check_numbered(len(segments), "documents", "cluster them in parts")
    if not shelf.has(slots.DOCUMENTS):
        alike = find_alike(segments, apart, job.threads)
        leader, how = collapse(segments, alike, _digests(segments, apart, job, alike, report), apart)
        shelf.put(slots.DOCUMENTS, {}, {"leader": leader.astype(np.uint32), "same": how})
    documents = shelf.read(slots.DOCUMENTS, len(segments))
    return documents["leader"].astype(np.int64), documents["same"]


def _digests(
    segments: Segments, apart: Apart, job: Job, alike: tuple[Ints, Ints], report: Progress
) -> NDArray[np.uint8] | None:
    """Return digests of the documents of a job that are alike; None where there are none to compare."""
    digests: NDArray[np.uint8] | None = None
    if isinstance(job.given, Sketches):
        digests = job.given.digests
    elif job.shingling is not None and not isinstance(job.given, Segments):
        digests = _read_digests(segments, apart, job.given, job.first, job.shingling, alike, job.threads, report)
    return digests if job.earlier is None else job.earlier.digests(digests, len(segments))


def _read_digests(
    segments: Segments, apart: Apart, corpus: Corpus, first: int, shingling: Shingling, alike: tuple[Ints, Ints],
    threads: int | None, report: Progress,
) -> NDArray[np.uint8]:
    """Read the documents of a corpus that are alike again, for digests of their bytes.

    Where these differ, or sketches do not decide, read them once more for digests of their tokens. The corpus has the
    documents from the `first` on.
    """
    digests = np.zeros((len(segments), 32), np.uint8)
    documents, firsts = alike

    def read(which: Bools, part: int) -> None:
        wanted = np.zeros(len(segments), np.bool_)
        wanted[documents[which]] = wanted[firsts[which]] = True
        wanted[:first] = False
        read_digests([corpus], [first], wanted, shingling, digests, segments.valid, parts=(part,), threads=threads,
                     report=report)

    read(np.ones(len(documents), np.bool_), OF_BYTES)
    undecided = (digests[documents] != digests[firsts]).any(axis=1) | apart.aside[documents]
    if apart.group is not None:  # then any two with an equal sketch may be compared
        undecided = np.isin(firsts, firsts[undecided])
    read(undecided, OF_TOKENS)
    return digests[first:]


def find_alike(segments: Segments, apart: Apart, threads: int | None) -> tuple[Ints, Ints]:
    """Find documents with the sketch of an earlier one, or with an empty one too, but no versions; return both."""
    n = len(segments)
    which = np.flatnonzero(apart.version == np.arange(n))
    entries = np.empty((len(which), 2), np.uint64)
    entries[:, 0], entries[:, 1] = np.where(segments.empty, np.uint64(0), segments.keys)[which], which
    _entries.sort_entries(entries)
    keys, documents = entries[:, 0], entries[:, 1].astype(np.int64)
    leader = np.arange(n)
    while len(documents):  # a second time only where different sketches have the same key, which is chance
        first = np.concatenate([[True], keys[1:] != keys[:-1]])
        leaders = documents[np.maximum.accumulate(np.where(first, np.arange(len(documents)), 0))]
        later, before = documents[~first], leaders[~first]
        alike = segments.compared(later, before, threads)
        equal = (alike.common == alike.in_a) & (alike.common == alike.in_b)
        leader[later[equal]] = before[equal]
        keys, documents = keys[~first][~equal], later[~equal]
    later = np.flatnonzero(leader != np.arange(n))
    return later, leader[later]


def collapse(
    segments: Segments, alike: tuple[Ints, Ints], digests: NDArray[np.uint8] | None, apart: Apart
) -> tuple[Ints, NDArray[np.uint8]]:
    """Return the leader of every document, and how it is the same, as a position in CLASSES.

    Digests of the documents that are alike, and of their leaders, tell how; without them all are "shingle". Documents set
    aside have a leader only by digests, of their tokens, or without shingles of their bytes. Identical documents have the
    keys of the first of them.
    """
    own = np.arange(len(segments))
    leader, how, sample = own.copy(), np.zeros(len(own), np.uint8), own.copy()
    sample[alike[0]] = alike[1]
    some = np.unique(np.concatenate(alike))
    aside, valid, keys = apart.aside[some], segments.valid[some], None if apart.keys is None else apart.keys[some]
    others = [aside, valid, *(() if apart.by is None else (apart.by[some],))]
    deciding = np.zeros((len(some), 16), np.uint8)
    deciding.view(np.uint64)[:, 0] = np.where(aside, some, sample[some])
    if digests is not None:
        of_tokens = (aside & valid)[:, None]
        deciding = np.where(of_tokens, digests[some, _TOKENS], np.where(valid[:, None], deciding, digests[some, _BYTES]))
        keys = None if keys is None else keys[first_equal(digests[some, _BYTES], others[1:])]
    if keys is not None:
        others.append(np.where(valid, keys, 0))
    leader[some] = some[first_equal(deciding, others)]
    same = np.flatnonzero(leader != own)
    how[same] = slots.SHINGLE
    if digests is not None:
        for part, kind in ((_TOKENS, slots.LEXICAL), (_BYTES, slots.IDENTICAL)):
            how[same[(digests[same, part] == digests[leader[same], part]).all(axis=1)]] = kind
    older = np.flatnonzero(apart.version != own)
    leader[older], how[older] = leader[apart.version[older]], slots.VERSION
    return leader, how


# ---- phase two: the sketches expanded into a list of entries (value, document), sorted by value
#
# In: the sketches of phase one, except of documents that equal an earlier one. Out: the slots ``slabs``, ``entries/…`` and
# ``directory`` (kept for queries only), and ``runs/…``.
#
# A document has a pairing set, of the values that propose pairs: by the method, the members of its sketch, its
# super-shingles or its features. The list of entries does not fit in memory, so it is cut by the leading bits of values into
# slabs of similar size, which are sorted independently. A run is the list of documents that hold one value, so it has all
# pairs that this value proposes. A value held by more than `max_holders` documents is common (§5.1): it proposes no pairs.


class PairingSets(NamedTuple):
    """The values that propose pairs: document i of a part has the ascending set values[offsets[i] : offsets[i + 1]]."""

    values: UInts
    offsets: Ints


def pairing_sets(part: Sketches, settings: Settings) -> PairingSets:
    """Return the pairing sets of the documents of a part, by the method of the settings."""
    if settings.method == "shingles":
        assert part.offsets is not None
        return PairingSets(part.values, part.offsets)
    if settings.method == "super-shingles":
        sets = super_shingles(part, settings.run)
        return PairingSets(*_sets.distinct(sets.values.copy(), sets.offsets))
    design = settings.filter
    assert design is not None
    shape = (design.groups, design.group_size)
    rows = super_features(part, *shape, design.need) if settings.combined else features(part, *shape)
    return PairingSets(*_sets.distinct(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]))


class _Part(NamedTuple):
    """Pairing sets of consecutive documents, the first document, and which documents are taken."""

    sets: PairingSets
    first: int
    taken: NDArray[np.uint8]


def sort_entries(
    sets: Sequence[PairingSets], taken: Bools, shelf: Shelf, *, max_holders: int, keep: bool,
    memory_limit: int | None, threads: int | None, report: Progress,
) -> None:
    """Sort the entries of the documents taken, slab by slab, and gather the runs of each slab.

    Parameters
    ----------
    sets : sequence of PairingSets
        Of all documents, in parts.
    taken : bool (n,)
        Documents whose entries are sorted.
    shelf : Shelf
        Gets ``slabs``; with `keep`, ``entries/…`` (keys, documents) and ``directory``, every 512th key of each part; and
        ``runs/…``: the documents of each value held by 2 to max_holders of them (holders), where each run ends (ends), and
        the values held by more (common: value, holders, example), with their holders one after another (crowd). Parts that
        are there already are not made again.
    """
    parts = list(_parts(sets, taken))
    resumed = shelf.has(slots.SLABS)
    if not resumed:
        cut = _cut_into_slabs(parts, memory_limit, threads)
        if keep:
            shelf.reserve(FILE_BYTES * int(cut[:, 2].sum()), "the sorted entries")
        shelf.drop_slots(slots.ENTRIES, slots.RUNS, slots.DIRECTORY)  # of other slabs
        shelf.put(slots.SLABS, {}, {"slabs": cut})
    slabs = shelf.read(slots.SLABS, len(taken))["slabs"]
    if sum(slabs[:, 2].tolist()) > sum(len(part.values) for part in sets):
        raise shelf.corrupt(slots.SLABS, "its slabs have more entries than the sketches have members")

    def sorted_slab(name: str, slab: list[int]) -> tuple[UInts, NDArray[np.uint32]]:
        if keep and shelf.has(name):
            arrays = shelf.read(name, len(taken))
            return arrays["keys"], arrays["documents"]
        try:
            keys, documents = _sorted(parts, *slab)
        except ValueError as error:
            if not resumed:
                raise
            raise shelf.corrupt(slots.SLABS, str(error)) from error
        if keep:
            shelf.put(name, {}, {"keys": keys, "documents": documents})
        return keys, documents

    def work(number: int) -> UInts:
        entries, runs = part_name(slots.ENTRIES, number), part_name(slots.RUNS, number)
        if not shelf.has(runs) or (keep and not shelf.has(entries)):
            keys, documents = sorted_slab(entries, slabs[number].tolist())
            shelf.put(runs, {}, _runs(keys, documents, min(max_holders, len(taken))))
        elif keep:
            keys = shelf.opened(entries, len(taken))[1]["keys"]
        return keys[::_entries.BLOCK].copy() if keep else np.empty(0, np.uint64)

    first: list[UInts] = []
    done, total = 0, int(slabs[:, 2].sum())
    for number, blocks in enumerate(map_pieces(work, range(len(slabs)), threads)):
        first.append(blocks)
        done += int(slabs[number, 2])
        report("sorting entries", done, total)
    if keep and not shelf.has(slots.DIRECTORY):
        shelf.put(slots.DIRECTORY, {}, {"first": np.concatenate(first)})


def _parts(sets: Sequence[PairingSets], taken: Bools) -> Iterator[_Part]:
    """Yield the pairing sets of each part with its documents."""
    first = 0
    for part in sets:
        last = first + len(part.offsets) - 1
        yield _Part(part, first, taken[first:last].astype(np.uint8))
        first = last


def _cut_into_slabs(parts: Sequence[_Part], memory_limit: int | None, threads: int | None) -> UInts:
    """Compute (lowest value, highest value, entries) of each slab, ascending; at least one."""
    shift = 64 - DIGITS
    histogram = np.zeros(1 << DIGITS, np.int64)
    for part in parts:
        _entries.histogram(part.sets.values, part.sets.offsets, part.taken, shift, histogram)
    cuts = cut_into_parts(histogram, SLAB, ENTRY_BYTES, memory_limit, threads)
    slabs = np.empty((len(cuts) - 1, 3), np.uint64)
    slabs[:, 0] = cuts[:-1].astype(np.uint64) << np.uint64(shift)
    slabs[:, 1] = ((cuts[1:] - 1).astype(np.uint64) << np.uint64(shift)) | np.uint64((1 << shift) - 1)
    slabs[:, 2] = np.add.reduceat(histogram, cuts[:-1])
    check_numbered(int(slabs[:, 2].max()), "members of sketches in one part", "give a memory_limit, or a larger modulus")
    return slabs


def _sorted(parts: Sequence[_Part], low: int, high: int, size: int) -> tuple[UInts, NDArray[np.uint32]]:
    """Gather and sort the `size` entries whose values are from low to high; return (values, documents)."""
    entries, end = np.empty((size, 2), np.uint64), 0
    for (values, offsets), first, taken in parts:
        end = _entries.gather(values, offsets, taken, first, low, high, entries, end)
    if end != size:
        raise ValueError(f"there are {end} members from {low} to {high} where {size} were counted: sketches do not ascend")
    _entries.sort_entries(entries)
    return entries[:, 0].copy(), entries[:, 1].astype(np.uint32)


def _runs(keys: UInts, documents: NDArray[np.uint32], max_holders: int) -> dict[str, NDArray[np.generic]]:
    """Gather the arrays of a part of ``runs/…``: the runs of a slab, and its common values with their holders."""
    holders, ends, common = _entries.runs(keys, documents, max_holders)
    starts = np.searchsorted(keys, common[:, 0])
    sizes = common[:, 1].astype(np.int64)
    of_common = [documents[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return {"holders": holders, "ends": ends, "common": common, "crowd": np.concatenate([documents[:0], *of_common])}


# ---- phase three: the pairs (document, document, common) that hold a value in common
#
# In: the slots ``slabs`` and ``runs/…``. Out: the slots ``ranges``, ``pairs/…`` and ``paired``.
#
# Every run proposes all its pairs, and a pair is proposed once for each value that both documents hold. The repeated pairs
# do not fit in memory, so documents are cut into ranges with about the same number of pairs. The pairs (a, b), a < b, whose
# first document is in a range are counted together. A pair is kept if one document is contained in the other at or above the
# floor of the settings.


def measure_of(settings: Settings, segments: Segments, shelf: Shelf) -> Measure:
    """Return how pairs are measured: shingles are counted by the runs; by other methods, sketches are compared."""
    if settings.method == "shingles":
        count_common = _common_counter(shelf, len(segments))

        def counted(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
            return np.ones(len(a), np.bool_), segments.overlaps(a, b, common + count_common(a, b))

        return counted

    def compared(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
        which = common >= settings.needed
        return which, segments.compared(a[which], b[which], 1)

    return compared


def _common_counter(shelf: Shelf, n: int) -> Callable[[Ints, Ints], Ints]:
    """Return a function that counts the common values that both documents of each pair hold.

    Common values propose no pairs, but they count in the pairs that other values propose.
    """
    runs = shelf.read_parts(slots.RUNS, n)
    documents = np.concatenate([np.empty(0, np.uint32), *(run["crowd"] for run in runs)])
    if not len(documents):
        return lambda a, b: np.zeros(len(a), np.int64)
    holders = np.concatenate([np.empty(0, np.uint64), *(run["common"][:, 1] for run in runs)]).astype(np.int64)
    numbers = np.repeat(np.arange(len(holders), dtype=np.uint64), holders)
    values = numbers[np.argsort(documents, kind="stable")]  # numbers of common values, by document
    sizes = np.bincount(documents, minlength=n)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def count(a: Ints, b: Ints) -> Ints:
        out = np.zeros(len(a), np.int64)
        which = np.flatnonzero((sizes[a] > 0) & (sizes[b] > 0))
        out[which] = _sets.common(values, offsets, a[which], b[which])
        return out

    return count


def count_pairs(
    n: int, shelf: Shelf, measure: Measure, *, floor: float, memory_limit: int | None, threads: int | None, report: Progress,
    group: Ints | None = None,
) -> None:
    """Count the pairs of n documents that the runs propose, range by range; keep those contained at or above `floor`.

    The shelf gets ``ranges``, ``pairs/…`` and, once all pairs are counted, ``paired`` with the common values of all runs.
    Parts that are there already are not made again. `group`, int64 (n,): documents of different numbers are never a pair.
    """
    runs = [(arrays["holders"], arrays["ends"]) for arrays in shelf.read_parts(slots.RUNS, n)]
    volume = np.zeros(n, np.int64)  # pairs, repeats counted, by their first document
    for holders, ends in runs:
        _entries.volume(holders, ends, volume)
    if not shelf.has(slots.RANGES):
        shelf.drop_slots(slots.PAIRS)  # of other ranges
        cuts = cut_into_parts(volume, RANGE, PAIR_BYTES, memory_limit, threads)
        sizes = np.add.reduceat(volume, cuts[:-1]) if n else volume
        shelf.put(slots.RANGES, {}, {"ranges": np.column_stack([cuts[:-1], cuts[1:], sizes])})
    ranges = shelf.read(slots.RANGES, n)["ranges"]
    room = ROOM if memory_limit is None else max(1, min(ROOM, memory_limit // (JUDGED_BYTES * thread_count(threads))))

    def work(number: int) -> int:
        first, last, size = ranges[number].tolist()
        if not shelf.has(part_name(slots.PAIRS, number)):
            counts = _entries.Counts(runs, first, last, volume[first:last], n)
            a, b, found = CountedPairs.joined(list(_kept(counts, measure, floor, room, group)))
            columns = {"a": a, "b": b, "common": found.common, "in_a": found.in_a, "in_b": found.in_b}
            arrays = {name: column.astype(np.uint32) for name, column in columns.items()}
            shelf.reserve(sum(array.nbytes for array in arrays.values()), "the pairs of documents")
            shelf.put(part_name(slots.PAIRS, number), {}, arrays)
        return int(size)

    done, total = 0, int(ranges[:, 2].sum())
    for size in map_pieces(work, range(len(ranges)), threads):
        done += size
        report("counting pairs", done, total)
    common = [shelf.opened(name, n)[1]["common"] for name in shelf.names(slots.RUNS)]
    shelf.put(slots.PAIRED, {}, {"common": np.concatenate([np.empty((0, 3), np.uint64), *common])})


def _kept(
    counts: _entries.Counts, measure: Measure, floor: float, room: int, group: Ints | None
) -> Iterator[CountedPairs]:
    """Yield the pairs of a range that are kept, in batches of about `room` counted pairs."""
    while (counted := counts.next(room)) is not None:
        if group is not None:
            may = group[counted[0]] == group[counted[1]]
            counted = tuple(column[may] for column in counted)
        a, b, common = (column.astype(np.int64) for column in counted)
        which, overlaps = measure(a, b, common)
        found = CountedPairs(a[which], b[which], overlaps)
        yield found.where(found.overlaps.contained >= floor)
