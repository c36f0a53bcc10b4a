"""The results of ``ndcore dedup`` as tables: every document with its cluster, and the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ndcore.cli.dedup_findings import Findings
from ndcore.cli.outputs import ASSIGNED, place_columns
from ndcore.files.json_values import finite
from ndcore.files.table_files import Column, Table

__all__ = ["documents_of", "pairs_of"]


def documents_of(findings: Findings) -> Table:
    """Return a row for each document of a deduplication, kept ones too."""
    run, places = findings.run, _Places(findings)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *ASSIGNED]
    more = [] if findings.verdicts.score is None else [Column("score", "number")]
    more += [] if findings.verdicts.lost is None else [Column("lost", "integer")]
    more += [Column("against", "truth")] if run.known is not None else []
    more += [Column("estimated", "truth")] if run.estimated else []
    rows = _documents(findings, places, [column.name for column in more])
    return Table([*columns, *more], rows, _are_numbers(findings))


def pairs_of(findings: Findings) -> Table:
    """Return a row for each pair of `NearDuplicates.pairs`."""
    places = _Places(findings)
    columns = [
        Column("a", "integer"), Column("a_id", "id"), *places.columns("a_"),
        Column("b", "integer"), Column("b_id", "id"), *places.columns("b_"),
        Column("class", "string"), Column("resemblance", "number"), Column("estimated", "truth"),
        *([Column("score", "number")] if findings.result.rules.scored else []),
    ]
    return Table(columns, _pairs(findings, places), _are_numbers(findings))


class _Places:
    """The columns that say where documents stand: all that the inputs or the documents of --against have."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        documents = [side for side in findings.run.sides if not side.sketched]
        archives = any(source.kind == "archive" for side in documents for source in side.sources)
        self.kinds = place_columns(archives) if documents else []

    def columns(self, prefix: str) -> list[Column]:
        """Return the columns, with a prefix to their names."""
        return [Column(prefix + column.name, column.kind) for column in self.kinds]

    def of(self, position: int) -> tuple[Any, ...]:
        """Return the values of the columns for a document."""
        side, inside = self.findings.locate(position)
        place: tuple[Any, ...] = (None,) * 4 if side.documents is None else side.documents.place(inside)
        return place[: len(self.kinds)]


def _documents(findings: Findings, places: _Places, more: list[str]) -> Iterator[tuple[Any, ...]]:
    verdicts = findings.verdicts
    for position, label in enumerate(verdicts.labels.tolist()):
        said = verdicts.describe(position)
        yield (
            verdicts.name(position), *places.of(position), label, verdicts.name(label), *places.of(label), said["class"],
            said["resemblance"], said["cluster_size"], *(said.get(name, False) for name in more),
        )


def _pairs(findings: Findings, places: _Places) -> Iterator[tuple[Any, ...]]:
    result, name = findings.result, findings.verdicts.name
    columns = [*result.pairs, result.pair_classes, result.estimated]
    columns += [result.pair_scores] if result.rules.scored else []
    for start in range(0, len(result.estimated), 1 << 16):
        part = [column[start : start + (1 << 16)].tolist() for column in columns]
        for a, b, resemblance, verdict, estimated, *score in zip(*part, strict=True):
            yield (a, name(a), *places.of(a), b, name(b), *places.of(b), verdict, finite(resemblance), estimated,
                   *map(finite, score))


def _are_numbers(findings: Findings) -> bool:
    """Tell whether all ids are integers of 64 bits."""
    sides = (findings.verdicts.ids, findings.verdicts.against)
    return all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ids in sides for ident in ids)
