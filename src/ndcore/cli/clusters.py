"""``ndcore clusters``: the clusters of a collection as a table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._version import __version__ as version
from ndcore.cli.cluster import places_of
from ndcore.cli.dedup_tables import ASSIGNED
from ndcore.cli.options import OUTPUT, RUNNING, Commands, add_json, add_overwrite
from ndcore.cli.outputs import binary
from ndcore.cli.summary import printable
from ndcore.collection.clustering import CLASSES
from ndcore.collection.collection import Collection
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import STDOUT
from ndcore.files.provenance import SavedPlaces
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.files.verdicts import finite
from ndcore.human import counted

__all__ = ["add_clusters"]


def add_clusters(commands: Commands) -> None:
    """``ndcore clusters``."""
    p = commands.add_parser(
        "clusters",
        help="the clusters of a collection as a table",
        description="Write a row for each document of a collection: id, cluster (the position of the document that stands "
        "for it), representative (the id of that one), class, resemblance to it, and cluster_size; and where document and "
        "representative stand: file and line (row, or record), of archives the offset and the date.",
    )
    p.set_defaults(run=run_clusters)
    p.add_argument("collection", metavar="COLLECTION", help="the directory that ndcore cluster made")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", metavar="FILE", default="-",
                        help="a .parquet, .csv or .jsonl file; it must not exist (default -: print JSON lines)")
    add_overwrite(output, "any file called FILE")
    add_json(output, "with -o FILE: print the number of its rows as a JSON object")
    running = p.add_argument_group(RUNNING)
    running.add_argument("-q", "--quiet", action="store_true", help="do not say how many rows there are")


def run_clusters(args: argparse.Namespace) -> int:
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


def _collection(made: Collection) -> Table:
    """A row for each document of a collection."""
    places = places_of(made)
    kinds: list[tuple[str, Any]] = [] if places is None else [("file", "string"), ("line", "integer")]
    kinds += [("offset", "integer"), ("date", "time")] if places is not None and places.of_archives else []
    own, others = ([Column(prefix + name, kind) for name, kind in kinds] for prefix in ("", "representative_"))
    columns = [Column("id", "id"), *own, Column("cluster", "integer"), Column("representative", "id"), *others, *ASSIGNED]
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
