"""Results as tables: every document with its cluster, and the pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ndcore.cli.dedup_run import Run
from ndcore.files.documents import Documents
from ndcore.files.table_files import Column, Table
from ndcore.files.verdicts import finite

__all__ = ["ASSIGNED", "documents_of", "pairs_of"]

Columns = list[Column]


def documents_of(run: Run) -> Table:
    """Return a row for each document of a deduplication, kept ones too."""
    places = _Places(run)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *ASSIGNED]
    more = [Column("against", "truth")] if run.known is not None else []
    more += [Column("estimated", "truth")] if run.sketched or run.against_sketched else []
    return Table([*columns, *more], _documents(run, places, [column.name for column in more]), _are_numbers(run))


def pairs_of(run: Run) -> Table:
    """Return a row for each pair of `NearDuplicates.pairs`."""
    places = _Places(run)
    columns = [
        Column("a", "integer"), Column("a_id", "id"), *places.columns("a_"),
        Column("b", "integer"), Column("b_id", "id"), *places.columns("b_"),
        Column("class", "string"), Column("resemblance", "number"), Column("estimated", "truth"),
    ]
    return Table(columns, _pairs(run, places), _are_numbers(run))


ASSIGNED = [Column("class", "string"), Column("resemblance", "number"), Column("cluster_size", "integer")]


class _Places:
    """The columns that tell where documents stand: those that the inputs, or those of --against, have."""

    def __init__(self, run: Run) -> None:
        self.run, self.n = run, len(run.verdicts)
        sides = [side for side in (run.texts, run.known) if isinstance(side, Documents)]
        self.kinds: list[tuple[str, Any]] = [("file", "string"), ("line", "integer")] if sides else []
        if any(source.kind == "archive" for side in sides for source in side.sources):
            self.kinds += [("offset", "integer"), ("date", "time")]

    def columns(self, prefix: str) -> Columns:
        return [Column(prefix + name, kind) for name, kind in self.kinds]

    def of(self, position: int) -> tuple[Any, ...]:
        """The values of these columns; positions as of `Verdicts.name`."""
        run, n = self.run, self.n
        side, inside = (run.texts, position) if position < n else (run.known, position - n)
        place: tuple[Any, ...] = side.place(inside) if isinstance(side, Documents) else (None,) * 4
        return place[: len(self.kinds)]


def _documents(run: Run, places: _Places, more: list[str]) -> Iterator[tuple[Any, ...]]:
    verdicts = run.verdicts
    for position, label in enumerate(verdicts.labels.tolist()):
        said = verdicts.describe(position)
        yield (
            verdicts.name(position), *places.of(position), label, verdicts.name(label), *places.of(label), said["class"],
            said["resemblance"], said["cluster_size"], *(said.get(name, False) for name in more),
        )


def _pairs(run: Run, places: _Places) -> Iterator[tuple[Any, ...]]:
    result, name = run.result, run.verdicts.name
    columns = [*result.pairs, result.pair_classes, result.estimated]
    for start in range(0, len(result.estimated), 1 << 16):
        part = [column[start : start + (1 << 16)].tolist() for column in columns]
        for a, b, resemblance, verdict, estimated in zip(*part, strict=True):
            yield a, name(a), *places.of(a), b, name(b), *places.of(b), verdict, finite(resemblance), estimated


def _are_numbers(run: Run) -> bool:
    return all(_all_numbers(side) for side in (run.verdicts.ids, run.verdicts.against))


def _all_numbers(ids: Iterable[Any]) -> bool:
    return all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in ids)
