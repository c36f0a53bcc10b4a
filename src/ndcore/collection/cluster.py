"""Cluster a collection by the four phases of Broder et al. 1997, §4.1.

Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, DOI 10.1016/S0169-7552(97)00031-7.

The path of a text: `Job` (checked settings) → `sketch_documents` (phase one) → `find_leaders` (equal documents) →
`sort_entries` (phase two) → `count_pairs` (phase three) → `cluster_pairs` (phase four, in `ndcore.collection.clustering`) →
`Clustering`. Each phase reads some slots of the shelf and writes others; `ndcore.collection.shelf` lists them. Slots that
exist are not made again, so an interrupted job resumes after its last part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import ndcore._entries as _entries
import ndcore._sets as _sets
from ndcore._minhash import Sink
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.checks import check_ids, check_numbered
from ndcore.collection import shelf as slots
from ndcore.collection.clustering import Clustering, cluster_pairs, unjoined
from ndcore.collection.segments import CountedPairs, Overlaps, Segments
from ndcore.collection.settings import LEAST, ClusterBy, Job, Labels, Method, Policy, Settings, as_list, pack_labels
from ndcore.collection.shelf import MemoryShelf, Shelf
from ndcore.filters.design import FilterDesign
from ndcore.pairs.keep_order import number_labels
from ndcore.parallel import cut, map_pieces
from ndcore.progress import Progress, reporting
from ndcore.sketch.features import features, super_features
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN, super_shingles
from ndcore.storage.file_shelf import part_name
from ndcore.storage.packed_ids import unpack_ids
from ndcore.text.agreement import MustAgree
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.digests import OF_BYTES, OF_TOKENS, first_equal, read_digests
from ndcore.text.inputs import take
from ndcore.text.shingling import Shingling

PARTS = 16  # parts of entries, or of pairs, if memory is not limited
SEGMENT = 1 << 28  # bytes of sketches in a part
LEAST_SEGMENT = 1 << 24  # least bytes of sketches in a part, if memory is limited
SEGMENT_DOCUMENTS = 1 << 20
DIGITS = 12  # leading bits of values by which they are split into slabs
SLAB = 1 << 22  # least number of entries that are sorted at a time
ENTRY_BYTES = 60  # bytes of an entry with its scratch space, key, document and run
FILE_BYTES = 18  # bytes of an entry on disk, its share of the runs included
PAIR_BYTES = 24  # bytes of a place in a list and of the pair made from it
RANGE = 1 << 24  # least number of pairs, with repeats, that are counted at a time
ROOM = 1 << 20  # counted pairs that are judged at a time
JUDGED_BYTES = 100

_BYTES, _TOKENS = slice(16), slice(16, 32)  # parts of a row of digests
_OTHERS = ("sketches of {} documents are there, and {} documents are given: go on with the same, or build in another "
           "directory")

Made = TypeVar("Made")

Measure = Callable[[Ints, Ints, Ints], tuple[Bools, Overlaps]]
"""Selects among pairs (a, b, common): returns which of them to consider, and their overlaps."""


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

    1. Sketch the documents; documents with equal sketches then count as one.
    2. Sort the entries (value, document). A value that more than `max_holders` documents hold is common: it proposes no
       pairs.
    3. Count the pairs of documents that hold another value in common.
    4. Make clusters of the pairs that resemble each other enough.

    Texts are not compared: `near_duplicates` does that. docs/clustering.md explains why its other options are missing here.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or Sketches
    ids : sequence, optional
        Names of the documents.
    threshold : float
        Jaccard similarity (resemblance), or containment by `policy`; above 0, at most 1.
    shingling : Shingling, optional
        The shingling of the default sketcher; not with `sketcher`. None: words, 5 to a shingle; with sketches,
        the shingling of their recipe.
    sketcher : ModSketcher, BottomSketcher or MinHasher, optional
        None: ModSketcher("adaptive"); for super-shingles ModSketcher(25), for features a MinHasher that fits the filter.
        Broder et al. had ModSketcher(25, shingling=Shingling(width=10)).
    method : "shingles", "super-shingles" or "features"
        The values that documents must share to be compared. shingles: any value of their samples except common ones, so no
        pair is missed. super-shingles (§5.3): `run` consecutive values of mod or bottom sketches of one modulus. Entries
        are far fewer, but they do not show containment, and less similar documents are missed: see
        `super_shingle_probability`. features (Broder 2000): as many features of signatures as `filter` needs; combinations
        of two of them where it needs two.
    policy : "resemblance" or "containment"
        The quantity that is compared with the threshold. containment: of either document in the other, so that an excerpt
        joins the cluster of its source.
    cluster : "star", "components", "greedy" or "popular"
        star: each document, in order, joins the representative that it resembles most, or becomes one. greedy: it joins the
        first representative that it resembles. components: documents connected by a chain of pairs (§4.1). popular: like
        `greedy_clusters` by the most popular values of each cluster (Broder 1997, §4.4), which needs no pairs, but 58 bytes
        of memory for each value.
    guard : float, optional
        With components: a component is clustered as a star if a member resembles the representative less than this.
    least : int
        Members that a sample needs for a containment, unless samples are the whole sets: a single member of a short page,
        at the modulus of a long document, proves nothing. With policy="containment", pairs with fewer are judged by
        resemblance.
        A containment is never below the resemblance, so a pair whose resemblance reaches the threshold joins for any
        `least`. `Clustering.contained` has the same parameter.
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
        Bytes, or a size such as "2G", plus 100 bytes for each document. The rest goes to temporary files. The clusters do
        not depend on it.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).
    by, one_per, must_agree
        As for `near_duplicates`, in the order of the documents: documents that `by` or `must_agree` keep apart are never a
        pair, and are not collapsed even if their sketches are equal; versions by `one_per` are not compared. `must_agree`
        needs texts, and cluster="popular" takes neither `by` nor `must_agree`.
    min_shingles : int
        Documents of fewer distinct shingles propose no pairs, and join others only if they are identical or lexically
        equivalent. The number is taken from the sketch: exact if the sketch has it (`Sketches.sizes_exact`), else estimated.

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
    >>> clustering = cluster(["a rose is a rose is a rose", "a rose is a rose is a rose is it", "something else entirely"],
    ...                 sketcher=ModSketcher(1))
    >>> clustering.labels.tolist(), clustering.resemblance.tolist()
    ([0, 0, 2], [1.0, 0.75, 1.0])
    """
    job = Job.of(
        texts, threshold=threshold, shingling=shingling, sketcher=sketcher, method=method, policy=policy, cluster=cluster,
        guard=guard, least=least, max_holders=max_holders, run=run, filter=filter, tell_apart=tell_apart,
        memory_limit=memory_limit, threads=threads, by=by, one_per=one_per, must_agree=must_agree,
        min_shingles=min_shingles, ids=ids,
    )
    with reporting(progress) as report:
        clustering = run_phases(MemoryShelf(job.memory_limit), job, report)
    if ids is not None:
        check_ids(ids, len(clustering))
    return replace(clustering, ids=ids)


def run_phases(shelf: Shelf, job: Job, report: Progress, keep: bool = False) -> Clustering:
    """Run the four phases of a job with their results on this shelf; `keep`: keep sketches and entries there for queries."""
    settings = job.settings
    segments = sketch_documents(shelf, job, report, keep)
    n = len(segments)
    check_numbered(n, "documents", "cluster them in parts")
    apart = Apart.of(shelf, segments, job, keep)
    documents = shelf.made(slots.DOCUMENTS, n, lambda: find_leaders(segments, apart, job, report))
    leaders = documents["leader"].astype(np.int64)
    if not shelf.is_paired(n, keep):
        sets = [pairing_sets(part, settings) for part in segments.parts]
        sort_entries(sets, (leaders == np.arange(n)) & ~apart.aside, shelf, job, report, keep)
        count_pairs(segments, apart.group, shelf, job, report)
    shelf.discard("until paired")
    report("clustering", 0, n)
    paired = unjoined(shelf, segments, leaders, documents["same"], settings, job.grouping)
    clustering = cluster_pairs(paired, job.grouping, job.threads)
    report("clustering", n, n)
    return clustering


def cut_into_parts(sizes: Ints, at_least: int, item_bytes: int, share: int | None) -> Ints:
    """Split consecutive groups of items into parts; return the first group of each part, and finally the number of groups.

    A part has at most a sixteenth of all items, or `at_least` if that is more; and with a `share` of memory, at most as
    many items as fit in it. A group is never split, so a part may be one larger group.
    """
    most = max(at_least, -(-int(sizes.sum()) // PARTS))
    if share is not None:
        most = max(1, min(most, share // item_bytes))
    return np.array([*(part.start for part in cut(sizes, most)), len(sizes)])


def _make_parts(make: Callable[[int], Made], sizes: AnyArray, job: Job, stage: str, report: Progress) -> list[Made]:
    """Make the parts of a slot in turn, by their numbers, and report how many of their items are done."""
    parts, done, total = list[Made](), 0, int(sizes.sum())
    for made in map_pieces(make, range(len(sizes)), job.threads):
        done += int(sizes[len(parts)])
        parts.append(made)
        report(stage, done, total)
    return parts


# ---- phase one: a sketch of every document
#
# In: texts, or sketches. Out: the slots ``sketches/…`` and ``read``. Documents are read once, in order. Their sketches are
# stored on the shelf in parts of bounded size; an interrupted job reads, but skips, documents whose sketches are there.


def sketch_documents(shelf: Shelf, job: Job, report: Progress, keep: bool) -> Segments:
    """Return the sketches of all documents of a job, with an extended collection's documents first.

    Given sketches are stored on the shelf only with `keep`. Raises ValueError if the shelf has sketches of other documents.
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
    names = shelf.consecutive(slots.SKETCHES)
    if job.agreement is not None:
        both = min(len(names), len(shelf.consecutive(slots.KEYS)))
        for name in (*names[both:], *shelf.names(slots.KEYS)[both:]):
            shelf.drop(name)  # its keys or its sketches were lost
        names = names[:both]
    done = sum(len(shelf.get_sketches(name)) for name in names[len(parts) :])
    whole = shelf.has(slots.SKETCHED) and shelf.opened(slots.SKETCHED, done)[0]["documents"] == done
    n = job.length
    if n is not None and (n != done if whole else n < done):
        raise ValueError(_OTHERS.format(done, n))
    if not whole:
        for number, (sketches, keys) in enumerate(sketch_parts(given, done, job, report), len(names)):
            if keys is not None:
                shelf.put(part_name(slots.KEYS, number), {}, {"keys": keys})
            shelf.put_sketches(part_name(slots.SKETCHES, number), sketches)
            done += len(sketches)
        shelf.put(slots.SKETCHED, {"documents": done}, {})
    return Segments(shelf.read_sketches(sketcher.recipe))


def _put_given(shelf: Shelf, name: str, part: Sketches) -> None:
    """Store sketches on the shelf. Raises ValueError if an interrupted job stored other sketches there."""
    if not shelf.has(name):
        shelf.put_sketches(name, part)
        return
    there = shelf.get_sketches(name)
    columns = ("values", "offsets", "moduli", "valid")
    if not all(np.array_equal(getattr(there, column), getattr(part, column)) for column in columns):
        raise ValueError(f"the sketches in {name} are not those given: go on with the same, or build in another directory")


def sketch_parts(
    corpus: Corpus, done: int, job: Job, report: Progress
) -> Iterator[tuple[Sketches, NDArray[np.uint8] | None]]:
    """Sketch the documents after the first `done`; yield parts of bounded size, with the digests of what must agree."""
    sketcher, agreement = job.settings.sketcher, job.agreement
    assert sketcher is not None

    def work(piece: tuple[int, Sequence[Any]]) -> tuple[Sink, NDArray[np.uint8] | None]:
        return sketcher.sketch_piece(piece), None if agreement is None else agreement.digests(piece[1], piece[0])

    most = SEGMENT if job.memory_limit is None else min(SEGMENT, max(LEAST_SEGMENT, job.memory_limit // 2))  # and a copy
    nbytes, waiting, keys = 0, list[Sink](), [np.empty((0, 16), np.uint8)]

    def part() -> tuple[Sketches, NDArray[np.uint8] | None]:
        made = sketcher.gather(waiting), None if agreement is None else np.concatenate(keys)
        waiting.clear()
        del keys[1:]
        return made

    begin, rest = done, _pieces_from(corpus, done)
    for sink, of_piece in map_pieces(work, rest, job.threads):
        waiting.append(sink)
        if of_piece is not None:
            keys.append(of_piece)
        done, nbytes = done + len(sink), nbytes + sink.nbytes
        report("sketching", done, None)
        if nbytes >= most or done - begin >= SEGMENT_DOCUMENTS:
            yield part()
            begin, nbytes = done, 0
    if waiting or not done:  # a collection has at least one part
        yield part()


def _pieces_from(corpus: Corpus, first: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield pieces of work, from this document on."""
    seen = 0
    for start, texts in corpus_pieces(corpus):
        seen = start + len(texts)
        if seen > first:
            yield max(start, first), texts if start >= first else take(texts, np.arange(first - start, len(texts)))
    if seen < first:
        raise ValueError(_OTHERS.format(first, seen))


# ---- documents with equal sketches: only the first of them, their leader, goes on
#
# In: the sketches of phase one, and the texts once more. Out: the slot ``documents``: the leader of every document, and in
# what way it is the same: identical (bytes), lexically equivalent (canonical tokens), or with an equal sketch.


@dataclass(frozen=True)
class Apart:
    """The properties that keep documents apart, by the options.

    Attributes
    ----------
    version : int64 (n,)
        The first document with the same label of `one_per`. Only documents that are their own version are compared.
    by, keys : int64 (n,) or None
        Numbers that are equal for equal labels of `by`, and for documents that agree in `must_agree`.
    aside : bool (n,)
        Documents that propose no pairs and equal others only by digests: without a sample, or with too few shingles.
    """

    version: Ints
    by: Ints | None
    keys: Ints | None
    aside: Bools

    @classmethod
    def of(cls, shelf: Shelf, segments: Segments, job: Job, keep: bool) -> Apart:
        """Read labels and keys, once all documents are sketched. Raises ValueError or TypeError for other labels."""
        n, keys = len(segments), None
        by, codes = (_number_labels(shelf, job, name, n, keep) for name in (slots.BY, slots.ONE_PER))
        version = np.arange(n)
        if codes is not None:
            _, first, number = np.unique(codes, return_index=True, return_inverse=True)
            version = first[number]
        if job.settings.must_agree:
            keys = first_equal(shelf.read_keys(n))
        return cls(version, by, keys, segments.aside(job.settings.min_shingles))

    @cached_property
    def group(self) -> Ints | None:
        """Numbers that are equal for documents that may be a pair; None if any may."""
        columns = [column for column in (self.by, self.keys) if column is not None]
        if len(columns) < 2:
            return columns[0] if columns else None
        return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def _number_labels(shelf: Shelf, job: Job, name: str, n: int, keep: bool) -> Ints | None:
    """Number the labels of an option, starting with earlier documents; `keep`: store them on the shelf."""
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


def find_leaders(segments: Segments, apart: Apart, job: Job, report: Progress) -> dict[str, AnyArray]:
    """Find the leader of every document, and in what way it is the same: the arrays of the slot ``documents``."""
    alike = find_alike(segments, apart, job.threads)
    leader, how = collapse(segments, alike, _digests(segments, apart, job, alike, report), apart)
    return {"leader": leader.astype(np.uint32), "same": how}


def _digests(
    segments: Segments, apart: Apart, job: Job, alike: tuple[Ints, Ints], report: Progress
) -> NDArray[np.uint8] | None:
    """Compute digests of the documents of a job that are alike; None if there are none to compare.

    Texts are read again for digests of their bytes. If these differ, or sketches do not decide, texts are read once more
    for digests of their tokens.
    """
    given, first, (documents, firsts) = job.given, job.first, alike
    digests: NDArray[np.uint8] | None = None
    if isinstance(given, Sketches):
        digests = given.digests
    elif job.shingling is not None and not isinstance(given, Segments):
        every = np.zeros((len(segments), 32), np.uint8)
        undecided: Bools = np.ones(len(documents), np.bool_)
        for part in (OF_BYTES, OF_TOKENS):
            wanted = np.zeros(len(segments), np.bool_)
            wanted[documents[undecided]] = wanted[firsts[undecided]] = True
            wanted[:first] = False
            read_digests([given], [first], wanted, job.shingling, every, segments.valid, part=part, threads=job.threads,
                         report=report)
            undecided = (every[documents] != every[firsts]).any(axis=1) | apart.aside[documents]
            if apart.group is not None:  # then any two with equal sketches may be compared
                undecided = np.isin(firsts, firsts[undecided])
        digests = every[first:]
    return digests if job.earlier is None else job.earlier.digests(digests, len(segments))


def find_alike(segments: Segments, apart: Apart, threads: int | None) -> tuple[Ints, Ints]:
    """Find documents, except versions, whose sketch equals an earlier one's, empty ones included; return both."""
    n = len(segments)
    which = np.flatnonzero(apart.version == np.arange(n))
    entries = np.empty((len(which), 2), np.uint64)
    entries[:, 0], entries[:, 1] = np.where(segments.empty, np.uint64(0), segments.keys)[which], which
    _entries.sort_entries(entries)
    keys, documents = entries[:, 0], entries[:, 1].astype(np.int64)
    leader = np.arange(n)
    while len(documents):  # repeated only if different sketches have the same key, by chance
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
    """Return the leader of every document, and in what way it is the same, as a position in CLASSES.

    Digests of the documents that are alike, and of their leaders, decide the class; without them all are "shingle".
    Documents set aside have a leader only by digests of their tokens, or of their bytes if they have no shingles. Identical
    documents have the keys of the first of them.
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
# The pairing set of a document has the values that propose pairs: depending on the method, the members of its sketch, its
# super-shingles or its features. The list of entries does not fit in memory, so it is split by the leading bits of values
# into slabs of similar size, which are sorted independently. A run is the list of documents that hold one value, so it has
# all pairs that this value proposes. A value held by more than `max_holders` documents is common (§5.1): it proposes no
# pairs.


class PairingSets(NamedTuple):
    """The values that propose pairs: document i of a part has the ascending set values[offsets[i] : offsets[i + 1]]."""

    values: UInts
    offsets: Ints


def pairing_sets(part: Sketches, settings: Settings) -> PairingSets:
    """Return the pairing sets of the documents of a part, by the method of the settings."""
    if settings.method == "shingles":
        assert part.offsets is not None
        return PairingSets(part.values, part.offsets)
    if settings.method == "features":
        design = settings.filter
        assert design is not None
        shape = (design.groups, design.group_size)
        rows = super_features(part, *shape, design.need) if settings.combined else features(part, *shape)
        return PairingSets(*_sets.distinct(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]))
    sets = super_shingles(part, settings.run)
    return PairingSets(*_sets.distinct(sets.values.copy(), sets.offsets))


def sort_entries(
    sets: Sequence[PairingSets], taken: Bools, shelf: Shelf, job: Job, report: Progress, keep: bool
) -> None:
    """Sort the entries of the documents taken, slab by slab, and gather the runs of each slab.

    Parameters
    ----------
    sets : sequence of PairingSets
        The pairing sets of all documents, in parts.
    taken : bool (n,)
        Documents whose entries are sorted.
    shelf : Shelf
        Gets ``slabs``; with `keep`, ``entries/…`` (keys, documents) and ``directory``, every 512th key of each part; and
        ``runs/…``: the documents of each value held by 2 to max_holders of them (holders), where each run ends (ends), and
        the values held by more (common: value, holders, example), with their concatenated holders (crowd). Existing parts
        are not made again.
    """
    n, max_holders = len(taken), min(job.settings.max_holders, len(taken))

    def cut_slabs() -> dict[str, AnyArray]:
        slabs = cut_into_slabs(sets, taken, job.share)
        if keep:
            shelf.reserve(FILE_BYTES * int(slabs[:, 2].sum()), "the sorted entries")
        return {"slabs": slabs}

    def work(number: int) -> UInts:
        entries, runs = part_name(slots.ENTRIES, number), part_name(slots.RUNS, number)
        try:
            slab = partial(sort_slab, sets, taken, *slabs[number].tolist())
            made = shelf.made(entries, n, slab) if keep else None
            if not shelf.has(runs):
                shelf.put(runs, {}, gather_runs(**(made or slab()), max_holders=max_holders))
        except SlabError as error:
            raise shelf.corrupt(slots.SLABS, str(error)) from error
        return np.empty(0, np.uint64) if made is None else made["keys"][::_entries.BLOCK].copy()

    slabs = shelf.made(slots.SLABS, n, cut_slabs, instead_of=(slots.ENTRIES, slots.RUNS, slots.DIRECTORY))["slabs"]
    first = _make_parts(work, slabs[:, 2], job, "sorting entries", report)
    if keep:
        shelf.made(slots.DIRECTORY, n, lambda: {"first": np.concatenate(first)})


def _with_documents(sets: Sequence[PairingSets], taken: Bools) -> Iterator[tuple[UInts, Ints, NDArray[np.uint8], int]]:
    """Yield for each part its pairing sets, which of its documents are taken, and its first document."""
    first = 0
    for values, offsets in sets:
        last = first + len(offsets) - 1
        yield values, offsets, taken[first:last].view(np.uint8), first
        first = last


def cut_into_slabs(sets: Sequence[PairingSets], taken: Bools, share: int | None) -> UInts:
    """Compute (lowest value, highest value, entries) of each slab, ascending; at least one."""
    shift = 64 - DIGITS
    histogram = np.zeros(1 << DIGITS, np.int64)
    for values, offsets, wanted, _ in _with_documents(sets, taken):
        _entries.histogram(values, offsets, wanted, shift, histogram)
    cuts = cut_into_parts(histogram, SLAB, ENTRY_BYTES, share)
    slabs = np.empty((len(cuts) - 1, 3), np.uint64)
    slabs[:, 0] = cuts[:-1].astype(np.uint64) << np.uint64(shift)
    slabs[:, 1] = ((cuts[1:] - 1).astype(np.uint64) << np.uint64(shift)) | np.uint64((1 << shift) - 1)
    slabs[:, 2] = np.add.reduceat(histogram, cuts[:-1])
    check_numbered(int(slabs[:, 2].max()), "members of sketches in one part", "give a memory_limit, or a larger modulus")
    return slabs


class SlabError(ValueError):
    """A slab has another number of entries than counted."""


def sort_slab(sets: Sequence[PairingSets], taken: Bools, low: int, high: int, size: int) -> dict[str, AnyArray]:
    """Gather and sort the `size` entries (keys, documents) whose values are from low to high. Raises SlabError."""
    if size > (members := sum(len(part.values) for part in sets)):
        raise SlabError(f"its slabs have more entries than the sketches have members, {members}")
    entries, end = np.empty((size, 2), np.uint64), 0
    for values, offsets, wanted, first in _with_documents(sets, taken):
        end = _entries.gather(values, offsets, wanted, first, low, high, entries, end)
    if end != size:
        raise SlabError(f"there are {end} members from {low} to {high} where {size} were counted: sketches do not ascend")
    _entries.sort_entries(entries)
    return {"keys": entries[:, 0].copy(), "documents": entries[:, 1].astype(np.uint32)}


def gather_runs(keys: UInts, documents: NDArray[np.uint32], max_holders: int) -> dict[str, AnyArray]:
    """Gather the arrays of a part of ``runs/…``: the runs of a slab, and its common values with their holders."""
    holders, ends, common = _entries.runs(keys, documents, max_holders)
    starts = np.searchsorted(keys, common[:, 0])
    sizes = common[:, 1].astype(np.int64)
    of_common = [documents[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return {"holders": holders, "ends": ends, "common": common, "crowd": np.concatenate([documents[:0], *of_common])}


# ---- phase three: the pairs (document, document, common) that hold a value in common
#
# In: the slots ``slabs`` and ``runs/…``. Out: the slots ``ranges``, ``pairs/…`` and ``paired``.
# Every run proposes all its pairs, so a pair is proposed once for each value that both documents hold. The repeated pairs
# do not fit in memory, so documents are split into ranges with about the same number of pairs. The pairs (a, b), a < b,
# whose first document is in a range are counted together. A pair is kept if one document is contained in the other at or
# above the floor of the settings.


def count_pairs(segments: Segments, group: Ints | None, shelf: Shelf, job: Job, report: Progress) -> None:
    """Count the pairs that the runs propose, range by range; keep pairs contained at or above the floor of the settings.

    The shelf gets ``ranges``, ``pairs/…`` and, once all pairs are counted, ``paired`` with the common values of all runs.
    Existing parts are not made again. `group`, int64 (n,): documents with different numbers are never a pair.
    """
    n, settings, runs = len(segments), job.settings, shelf.read_parts(slots.RUNS, len(segments))
    measure, floor = measure_of(settings, segments, runs), settings.floor
    room = ROOM if job.share is None else max(1, min(ROOM, job.share // JUDGED_BYTES))
    lists = [(run["holders"], run["ends"]) for run in runs]
    volume = np.zeros(n, np.int64)  # number of pairs, with repeats, by their first document
    for holders, ends in lists:
        _entries.volume(holders, ends, volume)

    def cut_ranges() -> dict[str, AnyArray]:
        cuts = cut_into_parts(volume, RANGE, PAIR_BYTES, job.share)
        sizes = np.add.reduceat(volume, cuts[:-1]) if n else volume
        return {"ranges": np.column_stack([cuts[:-1], cuts[1:], sizes])}

    def work(number: int) -> None:
        first, last, _ = ranges[number].tolist()
        if not shelf.has(part_name(slots.PAIRS, number)):
            counts = _entries.Counts(lists, first, last, volume[first:last], n)
            a, b, overlaps = CountedPairs.joined(list(_select_kept_pairs(counts, measure, floor, room, group)))
            arrays = {name: column.astype(np.uint32) for name, column in {"a": a, "b": b, **overlaps._asdict()}.items()}
            shelf.reserve(sum(array.nbytes for array in arrays.values()), "the pairs of documents")
            shelf.put(part_name(slots.PAIRS, number), {}, arrays)

    ranges = shelf.made(slots.RANGES, n, cut_ranges, instead_of=(slots.PAIRS,))["ranges"]
    _make_parts(work, ranges[:, 2], job, "counting pairs", report)
    common = np.concatenate([np.empty((0, 3), np.uint64), *(run["common"] for run in runs)])
    shelf.put(slots.PAIRED, {}, {"common": common})


def measure_of(settings: Settings, segments: Segments, runs: Sequence[Mapping[str, AnyArray]]) -> Measure:
    """Choose how pairs are measured: method "shingles" counts values in the runs; other methods compare sketches.

    Common values propose no pairs, but count in pairs that other values propose.
    """
    if settings.method != "shingles":
        def compared(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
            which = common >= settings.needed
            return which, segments.compared(a[which], b[which], 1)

        return compared
    documents = np.concatenate([np.empty(0, np.uint32), *(run["crowd"] for run in runs)])
    holders = np.concatenate([np.empty(0, np.uint64), *(run["common"][:, 1] for run in runs)]).astype(np.int64)
    numbers = np.repeat(np.arange(len(holders), dtype=np.uint64), holders)
    values = numbers[np.argsort(documents, kind="stable")]  # numbers of common values, by document
    sizes = np.bincount(documents, minlength=len(segments))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def counted(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
        which = np.flatnonzero((sizes[a] > 0) & (sizes[b] > 0))
        common[which] += _sets.common(values, offsets, a[which], b[which])
        return np.ones(len(a), np.bool_), segments.overlaps(a, b, common)

    return counted


def _select_kept_pairs(
    counts: _entries.Counts, measure: Measure, floor: float, room: int, group: Ints | None
) -> Iterator[CountedPairs]:
    """Yield the kept pairs of a range, in batches of about `room` counted pairs."""
    while (counted := counts.next(room)) is not None:
        if group is not None:
            may = group[counted[0]] == group[counted[1]]
            counted = tuple(column[may] for column in counted)
        a, b, common = (column.astype(np.int64) for column in counted)
        which, overlaps = measure(a, b, common)
        pairs = CountedPairs(a[which], b[which], overlaps)
        yield pairs.where(overlaps.contained >= floor)
