"""A clustered collection on disk: built in steps that can be interrupted, and asked about its documents, or any text."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.checks import check_ids, checked_threshold
from ndcore.clusters.chains import Chains
from ndcore.collection import slots
from ndcore.collection.cluster import LEAST, Before, check_run, cluster_on_shelf, common_values, length, readable
from ndcore.collection.clustering import ClusterBy, Clustering, CommonValues, Policy, check_grouping, check_policy
from ndcore.collection.ids import Names
from ndcore.collection.manifest import begin, describe, described
from ndcore.collection.phase3_pairs import counted_pairs, unmarked
from ndcore.collection.segments import Segments
from ndcore.collection.settings import Method, Settings, marks_of, needed
from ndcore.collection.shelf import DirectoryShelf, part_name
from ndcore.filters.design import FilterDesign
from ndcore.progress import Progress, reporting
from ndcore.recipe import Recipe
from ndcore.sketch.from_recipe import sketcher_of
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN
from ndcore.storage.container import CorruptFile
from ndcore.text.corpus import Corpus

__all__ = ["Collection", "Resembling"]

Arrays = dict[str, NDArray[Any]]


class Resembling(NamedTuple):
    """A document that resembles a text: estimates from the sketches, and the id that stands for its cluster.

    `text_in_document` and `document_in_text` are containments.
    """

    id: Any
    resemblance: float
    text_in_document: float
    document_in_text: float
    cluster: Any


class Collection:
    """A clustered collection in a directory. `build` and `open` make one.

    Attributes
    ----------
    path : Path
    clustering : Clustering
        Mapped from the files.
    names : Names
        The ids.
    parameters : dict
        What it was built with.

    Notes
    -----
    A query sketches its text and looks up each member of the sketch in the sorted entries: O(members · log entries), plus
    the documents found.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Collection.build(folder + "/c", ["a rose is a rose is a rose", "a rose is a rose is a rose indeed"],
    ...                             ["x", "y"])
    ...     made.members("y"), made.query("is a rose is a rose is a rose is", threshold=0.3)[0].id
    (['x', 'y'], 'x')
    """

    def __init__(self, path: Path, shelf: DirectoryShelf, clustering: Clustering, names: Names, parameters: dict[str, Any],
                 settings: Settings) -> None:
        self.path, self.clustering, self.names, self.parameters = path, clustering, names, parameters
        self._shelf, self._settings = shelf, settings
        self._slabs: NDArray[np.uint64] = slots.read(shelf, "slabs", len(clustering))[1]["slabs"]
        self._groups = slots.read(shelf, "clusters", len(clustering))[1]
        self._copies = _grouped(clustering.leaders)
        self._opened_slabs: dict[int, tuple[NDArray[np.uint64], NDArray[np.uint32]]] = {}

    # ---- making

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        texts: Iterable[str | bytes] | Corpus | Sketches | Collection,
        ids: Sequence[Any] | Iterable[Any] | None = None,
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
        source: Mapping[str, Any] | None = None,
        text_bytes: int = 0,
    ) -> Collection:
        """Cluster documents as `cluster` does, and keep everything in a directory.

        Each step is done in parts, each written once it is whole. Where the directory holds what an interrupted call left,
        of the same parameters and the same `source`, the call goes on from there.

        Parameters
        ----------
        path : path
            A directory that does not exist, is empty, or holds an unfinished collection.
        texts : as of `cluster`, or Collection
            Another collection: its sketches, ids and classes of equal documents are taken, and nothing is read.
        ids : iterable of str or of int, optional
            An iterator is read when the documents have been. None: the ids of the sketches, where they have some, or
            positions. Repeated ids stand for several documents. Those of the last call count, where a call goes on.
        source : mapping that JSON can hold, optional
            What the texts are, as names, sizes and dates of files; to refuse to go on with other ones.
        text_bytes : int
            About how much text there is, if that is known: to begin only where the disk has room for its sketches and
            sorted entries. (Room is asked for again before entries are sorted, when their number is known.)

        Others as of `cluster`.

        Raises
        ------
        FileExistsError
            The directory holds a finished collection, or something else.
        ValueError, TypeError
            As of `cluster`, before anything is written; an unfinished collection of other parameters, or of another source;
            ids of an iterator that do not fit, which leaves what is done to go on with.
        OSError
            The disk is full, or will be. What is finished stays: make room, and build again.
        """
        given = texts.clustering.segments if isinstance(texts, Collection) else readable(texts)
        packed = _packing(texts, ids, length(given), None)
        settings = Settings.of(
            given, sketcher=sketcher, method=method, threshold=threshold, max_holders=max_holders, run=run, filter=filter
        )
        documents = slots.read(texts._shelf, "documents", len(texts)) if isinstance(texts, Collection) else None
        return cls._made(
            path, given, None, settings, packed, documents, source, text_bytes, progress, policy=policy, cluster=cluster,
            guard=guard, least=least, tell_apart=tell_apart, memory_limit=memory_limit, threads=threads,
        )

    def extend(
        self,
        path: str | os.PathLike[str],
        texts: Iterable[str | bytes] | Corpus | Sketches,
        ids: Sequence[Any] | Iterable[Any] | None = None,
        *,
        sketcher: Sketcher | None = None,
        threshold: float | None = None,
        policy: Policy | None = None,
        cluster: ClusterBy | None = None,
        guard: float | None = None,
        least: int | None = None,
        max_holders: int | None = None,
        run: int | None = None,
        tell_apart: bool = True,
        memory_limit: int | str | None = None,
        threads: int | None = None,
        progress: bool | Progress | None = None,
        source: Mapping[str, Any] | None = None,
        text_bytes: int = 0,
    ) -> Collection:
        """Cluster the documents of this collection and new ones after them, in another directory.

        The clusters are those of all documents together, for sketches are all that clusters are made of. Only how equal a
        new document is to one of this collection is not known any more: it is "shingle" where their sketches are equal, and
        documents without a sample are compared with new ones only.

        Parameters
        ----------
        path : path
            The directory of the new collection. This one stays as it is.
        texts : as of `cluster`
            New documents; or Sketches of the recipe of this collection.
        ids : iterable of str or of int, optional
            Of the new documents. None: those of the sketches, or positions where this collection has positions. Where
            these ids and those of the collection are not all integers, all become str.
        sketcher : Sketcher, optional
            One of the recipe of this collection. None: it is made of the recipe (unless that has a callable).
        threshold, policy, cluster, guard, least, max_holders, run : as of `build`
            None: as in this collection.

        Others as of `build`, which raises the same; RecipeMismatch for sketches, or a sketcher, of another recipe.
        """
        given, found, old = readable(texts), self.clustering, self._settings
        packed = _packing(texts, ids, length(given), self.names)
        if not isinstance(given, Sketches):
            sketcher = sketcher_of(self.recipe) if sketcher is None else sketcher
        if sketcher is not None:
            self.recipe.check(sketcher.recipe)
        settings = Settings.of(
            given, sketcher=sketcher, method=old.method,
            threshold=found.threshold if threshold is None else threshold,
            max_holders=old.max_holders if max_holders is None else max_holders, run=old.run if run is None else run,
            filter=old.filter if threshold is None else None,
        )
        self.recipe.check(settings.recipe)
        return self._made(
            path, given, Before(found.segments, found.leaders, found.same), settings, packed, None, source, text_bytes,
            progress, policy=found.policy if policy is None else policy,
            cluster=found.cluster if cluster is None else cluster,
            guard=found.guard if guard is None else guard, least=found.least if least is None else least,
            tell_apart=tell_apart, memory_limit=memory_limit, threads=threads,
        )

    @classmethod
    def _made(
        cls, path: str | os.PathLike[str], given: Corpus | Sketches | Segments, before: Before | None, settings: Settings,
        packed: Callable[[int], Arrays], documents: tuple[dict[str, Any], Arrays] | None, source: Mapping[str, Any] | None,
        text_bytes: int, progress: bool | Progress | None, *, policy: str, cluster: str, guard: float | None, least: int,
        tell_apart: bool, memory_limit: int | str | None, threads: int | None,
    ) -> Collection:
        """Build or go on with a collection; `documents`: leaders that are known, `packed`: ids of so many documents."""
        check_run(settings, policy, cluster, guard, least, memory_limit, threads)
        place = Path(path)
        parameters = {**settings.plain(), "tell_apart": bool(tell_apart)}
        shelf = DirectoryShelf(place)
        begin(place, parameters, json.loads(json.dumps(source)))
        shelf.mend()
        shelf.reserve(settings.expected_bytes(text_bytes) - shelf.nbytes, "sketches and sorted entries of so much text")
        if documents is not None:
            shelf.put("documents", *documents)
        with reporting(progress) as report:
            found = cluster_on_shelf(
                shelf, given, settings, policy=policy, cluster=cluster, guard=guard, least=least, tell_apart=tell_apart,
                memory_limit=memory_limit, threads=threads, report=report, keep_entries=True, before=before,
            )
            names = packed(len(found))
        if not (shelf.has("ids") and _equal(slots.opened(shelf, "ids", len(found))[1], names)):
            shelf.put("ids", {}, names)
        _save(shelf, found)
        for name in ("read", "ranges"):
            shelf.drop(name)
        shelf.sync()
        describe(place, parameters, source, finished=True)
        return cls.open(place)

    @classmethod
    def open(cls, path: str | os.PathLike[str], verify: bool = False) -> Collection:
        """A collection that `build` finished. Its files are mapped, not read; verify: read them all, compare their
        checksums, and see that they hold together.

        Nobody may truncate a file meanwhile: reading what is gone ends the process (SIGBUS).

        Raises
        ------
        CorruptFile
            A file is damaged, or files do not fit together.
        ValueError
            The collection was never finished, or is of a newer format.
        OSError
            There is none.
        """
        place = Path(path)
        description = described(place)
        if not description["finished"]:
            raise ValueError(f"{place}: the collection was not finished; build it again with the same arguments to go on")
        shelf = DirectoryShelf(place)
        if verify:
            shelf.verify()
        try:
            made = cls._opened(place, shelf, description["parameters"])
            if verify:
                made._read_all()
            return made
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, CorruptFile):
                raise
            raise CorruptFile(f"{place}: the files of the collection do not fit together: {error}") from error
        except FileNotFoundError as error:
            raise CorruptFile(f"{place}: the file {error.filename} is missing") from error

    @classmethod
    def _opened(cls, place: Path, shelf: DirectoryShelf, parameters: dict[str, Any]) -> Collection:
        segments = Segments([shelf.get_sketches(name) for name in shelf.names("sketches")])
        settings = Settings.from_plain(parameters, segments.recipe)
        n = len(segments)
        header, groups = slots.read(shelf, "clusters", n)
        documents = slots.read(shelf, "documents", n)[1]
        leaders, labels = documents["leader"].astype(np.int64), groups["labels"].astype(np.int64)
        grouping = (header[name] for name in ("policy", "cluster", "guard", "least"))
        check_grouping(settings.method, header["threshold"], settings.floor, *grouping)
        names = Names(slots.opened(shelf, "ids", n)[1], n, shelf.where("ids"))
        clustering = Clustering(
            labels=labels, codes=groups["codes"], resemblance=groups["resemblance"], leaders=leaders, same=documents["same"],
            threshold=header["threshold"], policy=header["policy"], cluster=header["cluster"], guard=header["guard"],
            least=header["least"],
            floor=settings.floor, common=common_values(shelf, n),
            chains=Chains(*(groups[f"chains_{name}"] for name in Chains._fields)),
            without_sample=int(np.count_nonzero(unmarked(segments))), parameters=settings.shown(), ids=names,
            segments=segments, shelf=shelf,
        )
        return cls(place, shelf, clustering, names, parameters, settings)

    def _read_all(self) -> None:
        """CorruptFile where what is mapped, and not read when a collection is opened, does not hold together."""
        n = len(self)
        self._check_samples()
        slots.read(self._shelf, "ids", n)
        for number in range(len(self._slabs)):
            entries = slots.read(self._shelf, part_name("entries", number), n)[1]["keys"]
            low, high, size = self._slabs[number]
            if len(entries) != size or (size and not low <= entries[0] <= entries[-1] <= high):
                fault = f"its entries are not {size} from {low} to {high}"
                raise slots.corrupt(self._shelf, part_name("entries", number), fault)
        for _ in counted_pairs(self._shelf, n):
            pass

    def _check_samples(self) -> None:
        for name in self._shelf.names("sketches"):
            slots.sketches(self._shelf, name, self.recipe)

    def rethreshold(
        self, threshold: float | None = None, policy: Policy | None = None,
        cluster: ClusterBy | None = None, guard: float | None = None, least: int | None = None,
        threads: int | None = None,
    ) -> Collection:
        """Make other clusters of the pairs that were counted, and keep them instead: see `Clustering.rethreshold`."""
        if cluster == "popular":
            self._check_samples()
        found = self.clustering.rethreshold(threshold, policy, cluster, guard, least, threads)
        _save(self._shelf, found)
        self._shelf.sync()
        return type(self)(self.path, self._shelf, found, self.names, self.parameters, self._settings)

    # ---- asking

    @property
    def places(self) -> tuple[dict[str, Any], Arrays] | None:
        """Header and arrays that `keep_places` was given; None without."""
        return self._shelf.get("places") if self._shelf.has("places") else None

    def keep_places(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Keep where the documents stand in files of theirs, beside what the collection is made of."""
        self._shelf.sweep()  # of a run that was killed here
        self._shelf.put("places", header, arrays)
        self._shelf.sync()

    def __len__(self) -> int:
        return len(self.clustering)

    def __repr__(self) -> str:
        return f"<Collection of {len(self)} documents in {self.path}>"

    @property
    def sketches(self) -> Sketches:
        """The sketches of all documents, with their ids, in memory."""
        first, *others = self.clustering.segments.parts
        joined = first
        for part in others:
            joined = joined.concat(part)
        made: Sketches = joined[:]
        made.ids = [self.names[position] for position in range(len(self.names))]
        return made

    @property
    def recipe(self) -> Recipe:
        """That of the sketches."""
        return self.clustering.segments.recipe

    @cached_property
    def _sketcher(self) -> Sketcher:
        return sketcher_of(self.recipe)

    @property
    def common(self) -> CommonValues:
        """Values that too many documents hold."""
        return self.clustering.common

    def cluster_of(self, ident: Any) -> Any:
        """The id of the document that stands for the cluster of this one (of several with the id, the first).

        KeyError where there is no such id.
        """
        return self.names[int(self.clustering.labels[self.names.positions(ident)[0]])]

    def members(self, ident: Any) -> list[Any]:
        """The ids of the documents in the cluster of this one, in their order, its own among them."""
        label = int(self.clustering.labels[self.names.positions(ident)[0]])
        return [self.names[position] for position in _group(self._groups["group"], self._groups["member"], label)]

    def query(
        self, text: str | bytes, threshold: float | None = None, policy: Policy = "resemblance", limit: int | None = None
    ) -> list[Resembling]:
        """Documents that resemble a text, in or out of the collection; those that resemble it most first.

        Parameters
        ----------
        text : str or bytes
        threshold : float, optional
            None: that of the clusters. Any above 0 can be asked for.
        policy : "resemblance" or "containment"
            What the threshold is for; containment: of the text in the document or the other way.
        limit : int, optional
            At most so many.

        Notes
        -----
        Documents are those that hold a value of the text's sketch which at most max_holders documents hold, as in
        clustering.
        """
        return self._resembling(self._sketcher.sketch_many([text], threads=1), threshold, policy, limit)

    def resembling(
        self, ident: Any, threshold: float | None = None, policy: Policy = "resemblance", limit: int | None = None
    ) -> list[Resembling]:
        """Documents that resemble one of the collection, itself among them: `query` by its sketch."""
        position = int(self.names.positions(ident)[0])
        segments = self.clustering.segments
        part = int(np.searchsorted(segments.starts, position, "right")) - 1
        inside = int(position - segments.starts[part])
        sketch: Sketches = segments.parts[part][inside : inside + 1]
        return self._resembling(sketch, threshold, policy, limit)

    def _resembling(
        self, sketch: Sketches, threshold: float | None, policy: Policy, limit: int | None
    ) -> list[Resembling]:
        threshold = self.clustering.threshold if threshold is None else checked_threshold(threshold)
        if limit is not None and limit < 1:
            raise ValueError(f"limit is at least 1, got {limit!r}")
        check_policy(policy)
        documents, common = self._holders(marks_of(sketch, self._settings).values)
        enough = common >= needed(self._settings)
        documents = documents[enough]
        overlaps = self.clustering.segments.against(sketch, documents)
        weight = overlaps.resemblance
        if policy == "containment":
            fine = sketch.moduli is None or sketch.moduli[0] == 1
            whole = self.clustering.segments.whole(documents, documents) & fine
            told = whole | (np.minimum(overlaps.in_a, overlaps.in_b) >= self.clustering.least)
            weight = np.where(told, overlaps.contained, overlaps.resemblance)
        found = np.flatnonzero(weight >= threshold)
        found = found[np.lexsort((documents[found], -overlaps.resemblance[found]))]
        out: list[Resembling] = []
        columns = (overlaps.resemblance, overlaps.a_in_b, overlaps.b_in_a)
        for i in found.tolist():
            values = [float(column[i]) for column in columns]
            for position in _group(*self._copies, int(documents[i])):
                label = int(self.clustering.labels[position])
                out.append(Resembling(self.names[position], values[0], values[1], values[2], self.names[label]))
                if len(out) == limit:
                    return out
        return out

    def _holders(self, values: NDArray[np.uint64]) -> tuple[Ints, Ints]:
        """(documents, how many of these values each holds), common values left out."""
        most = self._settings.max_holders
        held = [np.empty(0, np.int64)]
        slabs = np.searchsorted(self._slabs[:, 1], values)
        for slab in np.unique(slabs).tolist():
            if slab == len(self._slabs):
                continue
            keys, documents = self._entries(slab)
            low, high = (int(bound) for bound in self._slabs[slab, :2])
            for value in values[slabs == slab]:
                a, b = _span(keys, value, low, high)
                if 0 < b - a <= most:
                    held.append(documents[a:b].astype(np.int64))
        found, counts = np.unique(np.concatenate(held), return_counts=True)
        if len(found) and found[-1] >= len(self):
            raise CorruptFile(f"{self.path}: an entry names document {found[-1]} of {len(self)}; build the collection again")
        return found, counts.astype(np.int64)


    def _entries(self, slab: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """The sorted entries of a slab, mapped when they are first asked for."""
        if slab not in self._opened_slabs:
            arrays = slots.opened(self._shelf, part_name("entries", slab), len(self))[1]
            self._opened_slabs[slab] = arrays["keys"], arrays["documents"]
        return self._opened_slabs[slab]


def _span(keys: NDArray[np.uint64], value: np.uint64, low: int, high: int) -> tuple[int, int]:
    """Where a value stands among ascending ones from low to high: looked for where an even spread has it, in neighbouring
    pages of the file, and else everywhere."""
    n = len(keys)
    at, reach = (int(value) - low) * n // (high - low + 1), 4 * math.isqrt(n) + 64
    first, last = max(0, at - reach), min(n, at + reach)
    if (first and keys[first - 1] >= value) or (last < n and keys[last] <= value):
        first, last = 0, n
    part = keys[first:last]
    return first + int(np.searchsorted(part, value, "left")), first + int(np.searchsorted(part, value, "right"))


# ---- files


def _packing(texts: Any, ids: Iterable[Any] | None, n: int | None, before: Names | None) -> Callable[[int], Arrays]:
    """Return what makes the arrays of the ids of all documents, those `before` first, once their number is known.

    Whatever of the ids of `n` documents (None: not known yet) is not accepted is refused here, if it can be, for nothing
    has been written yet.
    """
    if isinstance(texts, Collection):
        if ids is not None:
            raise ValueError("a collection has ids of its own: leave ids out")
        there = slots.read(texts._shelf, "ids", len(texts))[1]
        return lambda total: there
    if ids is None and isinstance(texts, Sketches):
        ids = texts.ids
    if ids is None:
        if before is not None and before.given:
            raise ValueError(f"the documents of the collection have ids, as {before[0]!r:.80}; give some for the new ones")
        return lambda total: {}
    check_ids(ids, n)
    known = list(ids) if isinstance(ids, Sized) else None
    ready = None if known is None else Names.packed(known)

    def packed(total: int) -> Arrays:
        if ready is not None and before is None:
            return ready
        listed = list(ids) if known is None else known
        old = [] if before is None else [before[position] for position in range(len(before))]
        check_ids(listed, total - len(old))
        both = [*old, *listed]
        if old and isinstance(old[0], str) != all(isinstance(ident, str) for ident in listed):
            both = [str(ident) for ident in both]
        return Names.packed(both)

    return packed


def _equal(there: Arrays, given: Arrays) -> bool:
    return there.keys() == given.keys() and all(np.array_equal(there[name], given[name]) for name in there)


def _save(shelf: DirectoryShelf, found: Clustering) -> None:
    group, member = _grouped(found.labels)
    header = {
        "threshold": float(found.threshold), "policy": found.policy, "cluster": found.cluster, "guard": found.guard,
        "least": found.least,
    }
    shelf.put("clusters", header, {
        "labels": found.labels.astype(np.uint32), "codes": found.codes, "resemblance": found.resemblance, "group": group,
        "member": member, **{f"chains_{name}": column for name, column in found.chains._asdict().items()},
    })


def _grouped(labels: Ints) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """(label, member) of all members of groups of more than one, by label, then member."""
    alone = np.bincount(labels, minlength=len(labels)) == 1
    members = np.flatnonzero(~alone[labels])
    order = members[np.argsort(labels[members], kind="stable")]
    return labels[order].astype(np.uint32), order.astype(np.uint32)


def _group(group: NDArray[np.uint32], member: NDArray[np.uint32], label: int) -> list[int]:
    first, last = np.searchsorted(group, label, "left"), np.searchsorted(group, label, "right")
    members: list[int] = member[first:last].tolist()
    return members or [label]
