"""Fold a ranked list by clusters: one place of each cluster is shown, the others are folded under it."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ndcore.checks import check_choice, is_missing
from ndcore.notebook import NotebookTable, show_result

EARLIER = -1  # the label of a place whose cluster an earlier page showed


class FoldedList:
    """Base of ranked lists that are folded; positions count from 0, in rank order.

    Attributes
    ----------
    labels : list of int
        Position of the place that is shown for place i: i if it is shown itself; -1 if an earlier page showed its cluster.
    """

    labels: list[int]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def kept(self) -> list[int]:
        """Positions of the places that are shown, in the order in which the list first has their clusters."""
        return list(group_positions(self.labels))

    @property
    def folded(self) -> dict[int, list[int]]:
        """The positions that are folded under each shown one, in rank order; an empty list where there are none."""
        return group_positions(self.labels)

    @property
    def repeated(self) -> list[int]:
        """Positions that are not shown because an earlier page showed their clusters."""
        return [position for position, label in enumerate(self.labels) if label == EARLIER]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.kept)} of {len(self)} shown>"

    def _repr_html_(self) -> str:
        """Render for a notebook the first positions that are shown, each with the number of those under it."""
        rows = ((position, len(under)) for position, under in self.folded.items())
        return show_result(repr(self), NotebookTable("Shown", ("position", "folded"), rows, len(self.kept)))


@dataclass(frozen=True, repr=False)
class CollapsedKeys(FoldedList):
    """A ranked list of keys, folded by the clusters of a collection or a store.

    Attributes
    ----------
    keys : list
        The keys as given, best first.
    labels : list of int
        Position of the key that is shown for key i: i if it is shown itself; -1 if an earlier page showed its cluster.
    clusters : list
        Key of the representative of the cluster of key i, which need not be in the list; None for an unknown key.
    """

    keys: list[Any]
    labels: list[int]
    clusters: list[Any]

    @property
    def shown(self) -> list[Any]:
        """The keys that are shown, in order; give them as `earlier` for the next page."""
        return [self.keys[position] for position in self.kept]

    @property
    def unknown(self) -> list[Any]:
        """The keys that the collection or store does not know, in rank order. Each is a cluster of its own."""
        return [key for key, cluster in zip(self.keys, self.clusters, strict=True) if cluster is None]


def fold(
    clusters: Sequence[Hashable], earlier: Container[Hashable] = (), values: Sequence[Any] | None = None
) -> list[int]:
    """Return the label of each place of a ranked list, as for `FoldedList`.

    Parameters
    ----------
    clusters : sequence of hashable (n,)
        The cluster of each place.
    earlier : container
        Clusters that earlier pages showed.
    values : sequence (n,), optional
        The place with the greatest value is shown for its cluster; on a tie, the first. None: the first place.

    Notes
    -----
    O(n).

    >>> fold("abacb", earlier="c", values=[1, 5, 2, 0, 5])
    [2, 1, 2, -1, 1]
    """
    members: dict[Hashable, list[int]] = {}
    for position, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(position)
    labels = [EARLIER] * len(clusters)
    for cluster, positions in members.items():
        if cluster not in earlier:
            shown = positions[0] if values is None else max(positions, key=values.__getitem__)
            for position in positions:
                labels[position] = shown
    return labels


def group_positions(labels: Iterable[int]) -> dict[int, list[int]]:
    """List the positions under each shown one, without itself, in the order in which `labels` first has them."""
    under: dict[int, list[int]] = {}
    for position, label in enumerate(labels):
        if label != EARLIER:
            others = under.setdefault(label, [])
            if position != label:
                others.append(position)
    return under


def list_keys(name: str, keys: Any) -> list[Any]:
    """Return the values of an argument as a list.

    Raises TypeError for a single str or bytes, a mapping, a set, which has no order, and for what is not iterable.
    """
    if isinstance(keys, (str, bytes, bytearray, Mapping, AbstractSet)) or not isinstance(keys, Iterable):
        raise TypeError(f"{name} is a list, or another iterable in order, best first; got {keys!r:.80} of type "
                        f"{type(keys).__name__}")
    return list(keys)


def check_best(best: Any, n: int, choices: Sequence[str]) -> list[Any] | None:
    """Return the values of `best` for `fold`; None if it is one of the names.

    Raises ValueError for another name, unless there are n values, and for None or nan among them; TypeError for values that
    cannot be compared, and for a `best` that has none.
    """
    if isinstance(best, str):
        check_choice("best", best, choices)
        return None
    if not isinstance(best, Iterable):
        raise TypeError(f"best is one of {', '.join(map(repr, choices))}, or a list of a value for each place, of which the "
                        f"greatest is shown; got {best!r:.80}")
    values = list(best)
    if len(values) != n:
        raise ValueError(f"best has {len(values)} values for a list of {n}; give one for each")
    for position, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"value {position} of best is {value!r}; give values that can be compared, such as scores or "
                             "dates")
    try:
        max(values, default=None)
    except TypeError as error:
        raise TypeError(f"the values of best cannot be compared: {error}") from None
    return values
