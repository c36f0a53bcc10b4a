"""``ndcore clusters``: the clusters of a collection as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._version import __version__ as version
from ndcore.cli.cluster_output import places_of
from ndcore.cli.door import Options
from ndcore.cli.options import OUTPUT, RUNNING, Commands, add_json, add_overwrite
from ndcore.cli.outputs import ASSIGNED, place_columns, standard_output
from ndcore.collection.collection import Collection
from ndcore.collection.shelf import CLASSES
from ndcore.files.json_values import finite
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import SavedPlaces
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.human import counted, printable

__all__ = ["add_clusters"]


def add_clusters(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "clusters",
        description="Write a row for each document of a collection: id, cluster (the position of its representative), "
        "representative (the id of that document), class, resemblance to it, and cluster_size; and the places of both: file "
        "and line (row, or record), in archives also offset and date.",
    )
    p.set_defaults(run=run_clusters, options=ClustersOptions)
    p.add_argument("collection", metavar="COLLECTION", help="directory that ndcore cluster wrote")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", metavar="FILE", default="-",
                        help="a .parquet, .csv or .jsonl file; it must not exist (default -: print JSON lines)")
    add_overwrite(output, "FILE, even if ndcore did not write it")
    add_json(output, "with -o FILE, print the number of rows as a JSON object")
    running = p.add_argument_group(RUNNING)
    running.add_argument("-q", "--quiet", action="store_true", help="do not print the number of rows")


@dataclass(frozen=True, kw_only=True)
class ClustersOptions(Options):
    """The options of ``ndcore clusters``."""

    collection: str
    output: str
    overwrite: bool
    json: bool
    quiet: bool


def run_clusters(options: ClustersOptions) -> int:
    """Run ``ndcore clusters``, and return the exit code."""
    if options.output == STDOUT:
        stream = standard_output(options.json, "name a file")
        options.outcome.printed = True
        write_json_lines(stream, _table(Collection.open(options.collection)))
        stream.flush()
        return 0
    with TableFile(options.output, options.overwrite, [options.collection]) as file:
        rows = file.write(_table(Collection.open(options.collection)))
        file.commit()
    options.outcome.written = True
    if options.json:
        print(json.dumps({"ndcore": version, "output": options.output, "documents": rows}, indent=2))
    elif not options.quiet:
        print(f"{counted(rows, 'document')} in {printable(options.output)}")
    return 0


def _table(made: Collection) -> Table:
    """Return a row for each document of a collection."""
    places = places_of(made)
    kinds = [] if places is None else place_columns(places.of_archives)
    others = [Column(f"representative_{column.name}", column.kind) for column in kinds]
    columns = [Column("id", "id"), *kinds, Column("cluster", "integer"), Column("representative", "id"), *others, *ASSIGNED]
    return Table(columns, _rows(made, places, len(kinds)), len(made) == 0 or isinstance(made.names[0], int))


def _rows(made: Collection, places: SavedPlaces | None, width: int) -> Iterator[tuple[Any, ...]]:
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
