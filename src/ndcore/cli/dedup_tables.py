"""Results as tables: every document with its cluster, and the pairs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ndcore._version import __version__ as version
from ndcore.cli.cluster import places_of
from ndcore.cli.dedup_run import Run, binary
from ndcore.cli.summary import printable
from ndcore.collection.clustering import CLASSES
from ndcore.collection.collection import Collection
from ndcore.files.documents import Documents
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import STDOUT
from ndcore.files.provenance import SavedPlaces
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.files.verdicts import finite
from ndcore.human import counted

__all__ = ["clusters", "documents_of", "pairs_of"]

Columns = list[Column]


def clusters(args: argparse.Namespace) -> int:
    """``ndcore clusters``."""
    if args.output == STDOUT and args.json:
        raise UsageError("--json and -o - both write to standard output; name a file, or leave --json out")
    if args.output == STDOUT:
        stream, args.outcome.printed = binary(sys.stdout), True
        write_json_lines(stream, _collection(Collection.open(args.collection)))
        stream.flush()
        return 0
    with TableFile(args.output, args.overwrite, [args.collection]) as file:
        rows = file.write(_collection(Collection.open(args.collection)))
        file.commit()
    args.outcome.written = True
    if args.json:
        print(json.dumps({"ndcore": version, "output": args.output, "documents": rows}, indent=2))
    elif not args.quiet:
        print(f"{counted(rows, 'document')} in {printable(args.output)}")
    return 0


def documents_of(run: Run) -> Table:
    """Return a row for each document of a deduplication, kept ones too."""
    places = _Places(run)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *_ASSIGNED]
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


_ASSIGNED = [Column("class", "string"), Column("resemblance", "number"), Column("cluster_size", "integer")]


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


def _collection(made: Collection) -> Table:
    """A row for each document of a collection."""
    places = places_of(made)
    kinds: list[tuple[str, Any]] = [] if places is None else [("file", "string"), ("line", "integer")]
    kinds += [("offset", "integer"), ("date", "time")] if places is not None and places.of_archives else []
    own, others = ([Column(prefix + name, kind) for name, kind in kinds] for prefix in ("", "representative_"))
    columns = [Column("id", "id"), *own, Column("cluster", "integer"), Column("representative", "id"), *others, *_ASSIGNED]
    return Table(columns, _members(made, places, len(kinds)), len(made) == 0 or isinstance(made.names[0], int))


def _members(made: Collection, places: SavedPlaces | None, width: int) -> Iterator[tuple[Any, ...]]:
    found, names = made.clustering, made.names
    sizes = found.cluster_sizes

    def standing(position: int) -> tuple[Any, ...]:
        place: tuple[Any, ...] | None = None if places is None else places.place(position)
        return ((None,) * 4 if place is None else place)[:width]

    for start in range(0, len(found), 1 << 16):
        part = slice(start, start + (1 << 16))
        labels, classes = found.labels[part].tolist(), np.array(CLASSES)[found.codes[part]].tolist()
        rest = zip(labels, classes, np.asarray(found.resemblance[part]).tolist(), sizes[part].tolist(), strict=True)
        for position, (label, verdict, resemblance, size) in enumerate(rest, start):
            own, others = standing(position), standing(label)
            yield names[position], *own, label, names[label], *others, verdict, finite(resemblance), size
