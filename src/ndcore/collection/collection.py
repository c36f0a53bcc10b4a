"""A clustered collection on disk: built in steps that can be interrupted, and queried for its documents or any text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._types import AnyPath, Arrays
from ndcore.collection import slots
from ndcore.collection.build import build_collection, ids_to_pack, packed_ids
from ndcore.collection.clustering import Clustering
from ndcore.collection.ids import Names
from ndcore.collection.job import EarlierDocuments, Given, Job, readable
from ndcore.collection.phase3_pairs import CommonValues
from ndcore.collection.query import Resembling, Search
from ndcore.collection.settings import LEAST, ClusterBy, Method, Policy
from ndcore.collection.stored import StoredCollection, check_samples, open_stored, save_clusters
from ndcore.filters.design import FilterDesign
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.from_recipe import sketcher_of
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN
from ndcore.storage.job_description import COLLECTION
from ndcore.text.corpus import Corpus
from ndcore.text.shingling import Shingling

__all__ = ["Collection", "Resembling"]


class Collection:
    """A clustered collection in a directory, made by `build` or `open`.

    Attributes
    ----------
    path : Path
    clustering : Clustering
        Mapped from the files.
    names : Names
        The ids.
    parameters : dict
        What it was built with: the settings of the phases.

    Notes
    -----
    A query sketches its text and looks up each member of the sketch in the sorted entries, O(1) each, plus the documents
    found. Of files that are not in memory it reads about two pages a member, more where a run of one value crosses a
    page, then the sketches and ids of the documents found. Pages of members are asked for together.
    1 million documents: 0.3 ms; 30 million, cold: 1.5 ms (Intel Xeon, 2 vCPU, 2026-11-22).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Collection.build(folder + "/c", ["a rose is a rose is a rose", "a rose is a rose is a rose indeed"],
    ...                             ["x", "y"])
    ...     made.members("y"), made.query("is a rose is a rose is a rose is", threshold=0.3)[0].id
    (['x', 'y'], 'x')
    """

    def __init__(self, stored: StoredCollection) -> None:
        self.path: Path = stored.shelf.path
        self.clustering: Clustering = stored.clustering
        self.names: Names = stored.names
        self.parameters: dict[str, Any] = stored.parameters
        self._stored, self._shelf, self._search = stored, stored.shelf, Search(stored)

    # ---- making

    @classmethod
    def build(
        cls,
        path: AnyPath,
        texts: Iterable[str | bytes] | Corpus | Sketches | Collection,
        ids: Sequence[Any] | Iterable[Any] | None = None,
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
        source: Mapping[str, Any] | None = None,
        text_bytes: int = 0,
    ) -> Collection:
        """Cluster documents as `cluster` does, and keep everything in a directory.

        A part of a step is written once it is complete. A call with the same parameters and the same `source` as an
        interrupted one goes on after the last complete part in the directory.

        Parameters
        ----------
        path : path
            A directory that does not exist, is empty, or holds an unfinished collection.
        texts : as in `cluster`, or Collection
            Of another collection, sketches, ids and the classes of documents with equal sketches are taken; nothing is
            read.
        ids : iterable of str or of int, optional
            One for each document; an iterator is read after the documents. None: the ids of the sketches if they have some,
            else positions. Repeated ids stand for several documents. When a call goes on, its own ids count.
        source : mapping that JSON can hold, optional
            A description of the texts, as names, sizes and dates of files. A call with another source does not go on.
        text_bytes : int
            An estimate of the text, if there is one. The call begins only if the disk has room for its sketches and sorted
            entries. (It asks for room again before it sorts entries, when their number is known.)

        The other parameters are as in `cluster`.

        Raises
        ------
        FileExistsError
            The directory holds a finished collection, or something else.
        ValueError, TypeError
            As in `cluster`, before anything is written; an unfinished collection of other parameters or another source; ids
            of an iterator that do not fit, after which a call with the right ones goes on.
        OSError
            The disk is full, or will be. What is finished stays: make room, and build again. BlockingIOError: another job
            works in the directory.
        """
        given: Given
        documents = None
        if isinstance(texts, Collection):
            if ids is not None:
                raise ValueError("a collection has ids of its own: leave ids out")
            given = texts.clustering.segments
            id_arrays = packed_ids(slots.read(texts._shelf, slots.IDS, len(texts))[1])
            documents = slots.read(texts._shelf, slots.DOCUMENTS, len(texts))[1]
        else:
            given = readable(texts)
            id_arrays = ids_to_pack(given, ids)
        job = Job.of(
            given, threshold=threshold, shingling=shingling, sketcher=sketcher, method=method, policy=policy,
            cluster=cluster, guard=guard, least=least, max_holders=max_holders, run=run, filter=filter,
            tell_apart=tell_apart, memory_limit=memory_limit, threads=threads,
        )
        build_collection(path, job, id_arrays, documents, source, text_bytes, progress)
        return cls.open(path)

    def extend(
        self,
        path: AnyPath,
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

        Clusters follow from sketches, so they are the same as if all documents were clustered together. Texts of this
        collection are gone, so a new document with the sketch of an old one is "shingle", never "identical" or "lexical".
        New documents without a sample are compared with new ones only.

        Parameters
        ----------
        path : path
            The directory of the new collection. This one stays as it is.
        texts : as in `cluster`
            New documents, or Sketches with the recipe of this collection.
        ids : iterable of str or of int, optional
            Ids of the new documents. None: the ids of the sketches, or positions if this collection has positions. If old
            and new ids are not all integers, all become str.
        sketcher : Sketcher, optional
            With the recipe of this collection. None: made from the recipe (unless that has a callable).
        threshold, policy, cluster, guard, least, max_holders, run
            As in `cluster`. None: as in this collection.

        The other parameters are as in `build`.

        Raises
        ------
        RecipeMismatch
            The sketches, or the sketcher, have another recipe.
        FileExistsError, ValueError, TypeError, OSError
            As in `build`.
        """
        given, found, old = readable(texts), self.clustering, self._stored.settings
        id_arrays = ids_to_pack(given, ids, self.names)
        if not isinstance(given, Sketches):
            sketcher = sketcher_of(self.recipe) if sketcher is None else sketcher
        if sketcher is not None:
            self.recipe.check(sketcher.recipe)
        job = Job.of(
            given, EarlierDocuments(found.segments, found.leaders, found.same), sketcher=sketcher, method=old.method,
            threshold=found.threshold if threshold is None else threshold, policy=found.policy if policy is None else policy,
            cluster=found.cluster if cluster is None else cluster, guard=found.guard if guard is None else guard,
            least=found.least if least is None else least, run=old.run if run is None else run,
            max_holders=old.max_holders if max_holders is None else max_holders,
            filter=old.filter if threshold is None else None,
            tell_apart=tell_apart, memory_limit=memory_limit, threads=threads,
        )
        self.recipe.check(job.settings.recipe)
        build_collection(path, job, id_arrays, None, source, text_bytes, progress)
        return type(self).open(path)

    @classmethod
    def open(cls, path: AnyPath, verify: bool = False) -> Collection:
        """Open a finished collection. Its files are mapped, not read.

        Parameters
        ----------
        path : path
        verify : bool
            Read all files, compare their checksums, and check that they fit together.

        Raises
        ------
        CorruptFile
            A file is damaged, or files do not fit together.
        ValueError
            The collection was never finished, or has a newer format.
        OSError
            The path holds none.

        Notes
        -----
        Nobody may truncate a file while the collection is open: reading a page that is gone ends the process (SIGBUS).
        """
        return cls(open_stored(Path(path), verify))

    def rethreshold(
        self, threshold: float | None = None, policy: Policy | None = None,
        cluster: ClusterBy | None = None, guard: float | None = None, least: int | None = None,
        threads: int | None = None,
    ) -> Collection:
        """Cluster the counted pairs again, and keep these clusters instead.

        Parameters and errors are as in `Clustering.rethreshold`.

        Returns
        -------
        Collection
            The same directory with the new clusters; this object keeps the old ones.
        """
        if cluster == "popular":
            check_samples(self._stored)
        found = self.clustering.rethreshold(threshold, policy, cluster, guard, least, threads)
        with COLLECTION.alone(self.path):
            groups = save_clusters(self._shelf, found)
            self._shelf.sync()
        return type(self)(self._stored._replace(clustering=found, clusters=groups))

    # ---- asking

    @property
    def places(self) -> tuple[dict[str, Any], Arrays] | None:
        """Header and arrays that `keep_places` put there; None without."""
        return self._shelf.get(slots.PLACES) if self._shelf.has(slots.PLACES) else None

    def keep_places(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Keep where the documents stand in the files that they were read from."""
        with COLLECTION.alone(self.path):
            self._shelf.sweep()  # files of a call that was killed here
            self._shelf.put(slots.PLACES, header, arrays)
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
        copy: Sketches = joined[:]
        copy.ids = [self.names[position] for position in range(len(self.names))]
        return copy

    @property
    def recipe(self) -> Recipe:
        """The recipe of the sketches."""
        return self.clustering.segments.recipe

    @cached_property
    def _sketcher(self) -> Sketcher:
        return sketcher_of(self.recipe)

    @property
    def common(self) -> CommonValues:
        """Values that more than max_holders documents hold."""
        return self.clustering.common

    def cluster_of(self, ident: Any) -> Any:
        """Return the id of the document that stands for the cluster of this one (of several with the id, the first).

        KeyError for an unknown id.
        """
        return self.names[int(self.clustering.labels[self.names.positions(ident)[0]])]

    def members(self, ident: Any) -> list[Any]:
        """Return the ids of the documents in the cluster of this one, in their order, its own among them."""
        label = int(self.clustering.labels[self.names.positions(ident)[0]])
        return [self.names[position] for position in self._stored.clusters.members(label)]

    def query(
        self, text: str | bytes, threshold: float | None = None, policy: Policy = "resemblance", limit: int | None = None
    ) -> list[Resembling]:
        """Find the documents that resemble a text, most similar first. The text need not be in the collection.

        Parameters
        ----------
        text : str or bytes
        threshold : float, optional
            Above 0. None: the threshold of the clusters.
        policy : "resemblance" or "containment"
            The quantity that the threshold is for; containment: of the text in the document or the other way.
        limit : int, optional
            Most documents to return.

        Raises
        ------
        ValueError
            A threshold, policy or limit out of range.

        Notes
        -----
        Compared are the documents that share a value of the text's sketch which at most max_holders documents hold, as in
        phase three of `cluster`.
        """
        return self._search.find(self._sketcher.sketch(text), threshold, policy, limit)

    def resembling(
        self, ident: Any, threshold: float | None = None, policy: Policy = "resemblance", limit: int | None = None
    ) -> list[Resembling]:
        """Find the documents that resemble one of the collection, itself among them: `query` by its sketch."""
        position = int(self.names.positions(ident)[0])
        segments = self.clustering.segments
        part = int(np.searchsorted(segments.starts, position, "right")) - 1
        inside = int(position - segments.starts[part])
        sketch: Sketches = segments.parts[part][inside : inside + 1]
        return self._search.find(sketch, threshold, policy, limit)
