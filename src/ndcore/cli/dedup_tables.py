"""The results of ``ndcore dedup`` as tables: every document with its cluster, and the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli.dedup_findings import Findings
from ndcore.cli.outputs import ASSIGNED, place_columns
from ndcore.files.document_fields import Ids
from ndcore.files.json_values import finite_all
from ndcore.files.table_files import BATCH, Blocks, Column, Table

__all__ = ["documents_of", "pairs_of"]

FLAGS = ("against", "estimated")  # True, or left out


def documents_of(findings: Findings) -> Table:
    """Make a row for each document of a deduplication, kept ones too."""
    run, places = findings.run, _Places(findings)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *ASSIGNED]
    more = [] if findings.verdicts.score is None else [Column("score", "number")]
    more += [] if findings.verdicts.lost is None else [Column("lost", "integer")]
    more += [Column("against", "truth")] if run.known is not None else []
    more += [Column("estimated", "truth")] if run.estimated else []
    rows = Blocks(_documents(findings, places, [column.name for column in more]))
    return Table([*columns, *more], rows, _are_numbers(findings))


def pairs_of(findings: Findings) -> Table:
    """Make a row for each pair of `NearDuplicates.pairs`."""
    places = _Places(findings)
    columns = [
        Column("a", "integer"), Column("a_id", "id"), *places.columns("a_"),
        Column("b", "integer"), Column("b_id", "id"), *places.columns("b_"),
        Column("class", "string"), Column("resemblance", "number"), Column("estimated", "truth"),
        *([Column("score", "number")] if findings.result.rules.scored else []),
    ]
    return Table(columns, Blocks(_pairs(findings, places)), _are_numbers(findings))


class _Places:
    """The columns that say where documents stand: all that the inputs or the documents of --against have."""

    def __init__(self, findings: Findings) -> None:
        self.verdicts = findings.verdicts
        documents = [side for side in findings.run.sides if not side.sketched]
        archives = any(source.kind == "archive" for side in documents for source in side.sources)
        self.kinds = place_columns(archives) if documents else []

    def columns(self, prefix: str) -> list[Column]:
        """Return the columns, with a prefix to their names."""
        return [Column(prefix + column.name, column.kind) for column in self.kinds]

    def of(self, positions: Ints) -> list[list[Any]]:
        """Return the values of the columns for documents."""
        return self.verdicts.places(positions)[: len(self.kinds)] if self.kinds else []


def _documents(findings: Findings, places: _Places, more: list[str]) -> Iterator[list[list[Any]]]:
    verdicts = findings.verdicts
    for start in range(0, len(verdicts), BATCH):
        positions = np.arange(start, min(start + BATCH, len(verdicts)))
        labels, said = verdicts.labels[positions], verdicts.columns(positions)
        yield [
            verdicts.names(positions), *places.of(positions), labels.tolist(), said["representative"], *places.of(labels),
            said["class"], said["resemblance"], said["cluster_size"],
            *([value is not None for value in said[name]] if name in FLAGS else said[name] for name in more),
        ]


def _pairs(findings: Findings, places: _Places) -> Iterator[list[list[Any]]]:
    result, names = findings.result, findings.verdicts.names
    for start in range(0, len(result.estimated), BATCH):
        part = slice(start, start + BATCH)
        a, b, resemblance = (column[part] for column in result.pairs)
        scores = [finite_all(result.pair_scores[part])] if result.rules.scored else []
        yield [
            a.tolist(), names(a), *places.of(a), b.tolist(), names(b), *places.of(b), result.pair_classes[part].tolist(),
            finite_all(resemblance), result.estimated[part].tolist(), *scores,
        ]


def _are_numbers(findings: Findings) -> bool:
    """Tell whether all ids are integers of 64 bits."""
    return all(
        ids.are_numbers() if isinstance(ids, Ids)
        else all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in ids)
        for ids in (findings.verdicts.ids, findings.verdicts.against)
    )
