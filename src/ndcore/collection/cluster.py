"""Cluster a collection by the four phases of Broder et al. 1997, §4.1.

Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, DOI 10.1016/S0169-7552(97)00031-7.

The way of a text: `Job` (what to do, checked) → `sketch_documents` (phase one) → `find_leaders` (equal documents) →
`sort_entries` (phase two) → `count_pairs` (phase three) → `make_clusters` (phase four) → `Clustering`. Each phase reads some
slots of the shelf and puts others there; `ndcore.collection.slots` lists them. What is there already is not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.checks import check_ids
from ndcore.collection import slots
from ndcore.collection.clustering import Clustering
from ndcore.collection.equal_documents import find_leaders
from ndcore.collection.job import Job, length, readable
from ndcore.collection.phase1_sketches import sketch_documents
from ndcore.collection.phase2_entries import pairing_sets, sort_entries
from ndcore.collection.phase3_pairs import count_pairs, finish_pairs, is_paired, measure_of
from ndcore.collection.phase4_clusters import PairedCollection, make_clusters
from ndcore.collection.segments import Segments
from ndcore.collection.settings import LEAST, ClusterBy, Method, Policy
from ndcore.collection.shelf import MemoryShelf, Shelf
from ndcore.filters.design import FilterDesign
from ndcore.progress import Progress, reporting
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN
from ndcore.text.corpus import Corpus
from ndcore.text.shingling import Shingling

__all__ = ["cluster", "run_phases"]


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
        memory_limit=memory_limit, threads=threads,
    )
    with reporting(progress) as report:
        found = run_phases(MemoryShelf(job.memory_limit), job, report)
    if ids is not None:
        check_ids(ids, len(found))
    return replace(found, ids=ids)


def run_phases(shelf: Shelf, job: Job, report: Progress, keep: bool = False) -> Clustering:
    """Run the four phases of a job with their outcomes on this shelf; keep sketches and entries there for queries too."""
    segments = sketch_documents(shelf, job, report, keep)
    n = len(segments)
    leaders, same = find_leaders(shelf, segments, job, report)
    if not is_paired(shelf, n, keep):
        _pair(shelf, segments, leaders, job, report, keep)
    slots.discard(shelf, "until paired")
    report("clustering", 0, n)
    paired = PairedCollection.of(shelf, segments, leaders, same, job.settings)
    found = Clustering.of(paired, job.grouping, make_clusters(paired, job.grouping, job.threads))
    report("clustering", n, n)
    return found


def _pair(shelf: Shelf, segments: Segments, leaders: Ints, job: Job, report: Progress, keep: bool) -> None:
    """Run phases two and three."""
    n, settings = len(segments), job.settings
    taken = (leaders == np.arange(n)) & ~segments.empty
    sets = [pairing_sets(part, settings) for part in segments.parts]
    sort_entries(sets, taken, shelf, max_holders=settings.max_holders, keep=keep, memory_limit=job.memory_limit,
                 threads=job.threads, report=report)
    count_pairs(n, shelf, measure_of(settings, segments, shelf), floor=settings.floor, memory_limit=job.memory_limit,
                threads=job.threads, report=report)
    finish_pairs(shelf, n)
