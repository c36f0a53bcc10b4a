"""The base of results that assign documents to representatives: masks, positions and tables of the assignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._types import AnyArray, Bools, Floats, Ints
from ndcore.checks import imported
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.readonly import Frozen
from ndcore.sketch.arrow_table import as_column


class Assignments(Frozen):
    """A result with labels, classes, resemblance and ids of n documents, and the values that follow from the labels."""

    labels: Ints
    resemblance: Floats
    ids: Any
    classes: Any  # str (n,)

    @property
    def mask(self) -> Bools:
        """Documents that represent themselves, bool (n,): True is kept."""
        kept: Bools = self.labels == np.arange(len(self.labels))
        return kept

    @property
    def keep_indices(self) -> Ints:
        """Positions of the documents that represent themselves, int64, ascending."""
        return np.flatnonzero(self.mask)

    @property
    def duplicates(self) -> Ints:
        """Positions of the documents that another represents, int64, ascending."""
        return np.flatnonzero(~self.mask)

    @property
    def representatives(self) -> Ints:
        """Positions of the documents that represent others, ascending; some may be of `against`."""
        return np.unique(self.labels[self.duplicates])

    @property
    def cluster_sizes(self) -> Ints:
        """Number of documents in the cluster of document i, int64 (n,), including a representative of `against`.

        To upsample by duplicates, weight each kept document by ``cluster_sizes[keep_indices]``.
        """
        return sizes_of(self.labels)

    def clusters(self) -> Iterator[Ints]:
        """Yield the clusters of two documents and more, the largest first, then by representative.

        Each is an array of positions: the representative, which may be of `against`, then the others, ascending.
        """
        for label, others in largest_clusters(self.labels, None):
            yield np.concatenate([[label], others])

    def to_arrow(self) -> Any:
        """Return a pyarrow Table with a row for each document.

        Columns: id (if given), label, representative (its id, if given; null for a document of `against`), class,
        resemblance, cluster_size; for near-duplicates also score and lost, with the options that compute them. Raises
        ImportError without pyarrow.
        """
        arrow = imported("pyarrow", "to_arrow")
        return arrow.table({name: as_column(arrow, column) for name, column in self._columns().items()})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with the columns of `to_arrow`. Raises ImportError without pandas."""
        return imported("pandas", "to_pandas").DataFrame(self._columns())

    def _columns(self) -> dict[str, Sequence[Any] | AnyArray]:
        """Return the columns of the tables."""
        columns: dict[str, Sequence[Any] | AnyArray] = {
            "label": np.asarray(self.labels), "class": self.classes.tolist(), "resemblance": np.asarray(self.resemblance),
            "cluster_size": self.cluster_sizes,
        }
        if self.ids is None:
            return columns
        ids = list(self.ids)
        named = [ids[label] if label < len(ids) else None for label in self.labels.tolist()]
        return {"id": ids, "label": columns.pop("label"), "representative": named, **columns}

    def _repr_html_(self) -> str:
        """Render for a notebook the documents by class, and the largest clusters."""
        names, numbers = np.unique(self.classes, return_counts=True)
        classes = sorted(zip(names.tolist(), numbers.tolist(), strict=True), key=lambda row: (-row[1], row[0]))
        clusters = ((self._name(label), len(others)) for label, others in largest_clusters(self.labels, ROWS))
        return show_result(
            repr(self), NotebookTable("Documents", ("class", "documents"), classes),
            NotebookTable("Largest clusters", ("representative", "duplicates"), clusters, len(self.representatives)))

    def _name(self, position: int) -> Any:
        """Return the name of a document: its id if there is one, else its position."""
        if position >= len(self.labels):
            return f"document {position - len(self.labels)} of against"
        return position if self.ids is None else self.ids[position]


def sizes_of(labels: Ints) -> Ints:
    """Count the documents with each document's label, int64 (n,); for a label from n on, the representative is one more."""
    sizes: Ints = np.bincount(labels, minlength=1)[labels].astype(np.int64) + (labels >= len(labels))
    return sizes


def largest_clusters(labels: Ints, limit: int | None) -> list[tuple[int, Ints]]:
    """List (label, number of other documents with it) of the largest clusters, the largest first, then by label.

    limit None: all clusters of several documents. O(n log n).
    """
    duplicates = np.flatnonzero(labels != np.arange(len(labels)))
    by_label = duplicates[np.argsort(labels[duplicates], kind="stable")]
    found, starts, counts = np.unique(labels[by_label], return_index=True, return_counts=True)
    return [(int(found[i]), by_label[starts[i] : starts[i] + counts[i]])
            for i in np.lexsort((found, -counts))[:limit].tolist()]
