"""Answer requests from a collection: similar documents, and clusters. A collection keeps no texts and no dates."""

from __future__ import annotations

import numpy as np

from ndcore.collection.collection import Collection, Resembling
from ndcore.collection.shelf import CLASSES
from ndcore.files.json_values import finite
from ndcore.report.plain_values import plain
from ndcore.serve.answers import (
    About,
    Cluster,
    ClusterMember,
    Clusters,
    DocumentAnswer,
    ListedCluster,
    Match,
    Peeked,
    Values,
    cut_page,
)
from ndcore.serve.keys import Key, read_keys
from ndcore.serve.refusal import Refused
from ndcore.serve.store_source import LISTED


class CollectionSource:
    """The answers of a collection.

    Parameters
    ----------
    collection : Collection
    name : str
        Its name on pages.
    """

    kind = "collection"

    def __init__(self, collection: Collection, name: str) -> None:
        self.name, self._collection = name, collection

    def about(self, values: Values) -> About:
        """Describe the collection."""
        made, clustering = self._collection, self._collection.clustering
        settings = {"threshold": clustering.threshold, "policy": clustering.policy, "clustering": clustering.cluster,
                    **plain(made.parameters), "recipe": made.recipe.to_json()}
        figures = {"clusters": len(clustering.representatives),
                   "documents in clusters besides their first": len(clustering.duplicates),
                   "documents without a sample": clustering.without_sample}
        return About(self.kind, self.name, len(made), settings, figures)

    def peek(self, values: Values) -> Peeked:
        """Find the documents that resemble a text."""
        try:
            resembling = self._collection.query(values["text"], limit=values["size"])
        except ValueError as error:
            raise Refused(400, str(error)) from error
        return Peeked(None, None, None, [_match(each) for each in resembling], None)

    def document(self, values: Values) -> DocumentAnswer:
        """Return the cluster of an id, and the documents that resemble it."""
        key, position = self._find(values)
        clustering, names = self._collection.clustering, self._collection.names
        label = int(clustering.labels[position])
        positions = np.flatnonzero(clustering.labels == label)
        places, page = cut_page(range(len(positions)), values)
        members = [ClusterMember(names[at], None, None, CLASSES[clustering.codes[at]], finite(clustering.resemblance[at]))
                   for at in positions[places].tolist()]
        resembling = [_match(each) for each in self._collection.resembling(key, limit=values["size"])]
        cluster = Cluster(names[label], len(positions), members, page)
        return DocumentAnswer(key, cluster, None, None, None, None, resembling)

    def clusters(self, values: Values) -> Clusters:
        """List the clusters of at least `least` documents, the largest first."""
        clustering, names = self._collection.clustering, self._collection.names
        kept = clustering.keep_indices
        sizes = clustering.cluster_sizes[kept]
        order = np.lexsort((kept, -sizes))
        places, page = cut_page(range(int((sizes >= values["least"]).sum())), values)
        members = [np.flatnonzero(clustering.labels == label) for label in kept[order[places]].tolist()]
        return Clusters([ListedCluster(names[int(own[0])], len(own), [names[at] for at in own[:LISTED].tolist()])
                         for own in members], page)

    def _find(self, values: Values) -> tuple[Key, int]:
        """Find the first document whose id a value of a request may denote. Raises Refused if there is none."""
        for key in read_keys(values["key"], values.get("kind")):
            try:
                return key, int(self._collection.names.positions(key)[0])
            except (KeyError, TypeError):
                continue
        raise Refused(404, f"the collection has no document with the id {values['key']!r:.200}")


def _match(document: Resembling) -> Match:
    return Match(document.id, document.resemblance, document.text_in_document, document.document_in_text, document.cluster)
