"""``ndcore clusters`` and ``ndcore query``: what a collection tells, as a table and of one text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from ndcore._version import __version__ as version
from ndcore.cli.cluster_build import places_of
from ndcore.cli.commands import ClustersOptions, QueryOptions
from ndcore.cli.inputs import load_document
from ndcore.cli.outputs import ASSIGNED, place_columns, standard_output
from ndcore.collection.collection import Collection, Resembling
from ndcore.collection.shelf import CLASSES
from ndcore.files.errors import UsageError
from ndcore.files.json_values import finite
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import SavedPlaces
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.human import counted, printable

__all__ = ["run_clusters", "run_query"]


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
    """Make a row for each document of a collection."""
    places = places_of(made)
    kinds = [] if places is None else place_columns(places.of_archives)
    others = [Column(f"representative_{column.name}", column.kind) for column in kinds]
    columns = [Column("id", "id"), *kinds, Column("cluster", "integer"), Column("representative", "id"), *others, *ASSIGNED]
    return Table(columns, _rows(made, places, len(kinds)), len(made) == 0 or isinstance(made.names[0], int))


def _rows(made: Collection, places: SavedPlaces | None, width: int) -> Iterator[tuple[Any, ...]]:
    found, names = made.clustering, made.names
    sizes = found.cluster_sizes

    def place_of(position: int) -> tuple[Any, ...]:
        place: tuple[Any, ...] | None = None if places is None else places.place(position)
        return ((None,) * 4 if place is None else place)[:width]

    for start in range(0, len(found), 1 << 16):
        part = slice(start, start + (1 << 16))
        labels, classes = found.labels[part].tolist(), np.array(CLASSES)[found.codes[part]].tolist()
        rest = zip(labels, classes, np.asarray(found.resemblance[part]).tolist(), sizes[part].tolist(), strict=True)
        for position, (label, verdict, resemblance, size) in enumerate(rest, start):
            own, others = place_of(position), place_of(label)
            yield names[position], *own, label, names[label], *others, verdict, finite(resemblance), size


def run_query(options: QueryOptions) -> int:
    """Run ``ndcore query``."""
    if (options.file is None) == (options.id is None):
        raise UsageError("ask for a FILE (or - for standard input), or for a document of the collection with --id")
    if options.members and options.id is None:
        raise UsageError("--members lists the cluster of a document of the collection: name it with --id")
    collection = Collection.open(options.collection, verify=options.verify)
    if options.file is not None:
        text = load_document(options.file, options, collection.recipe["shingling"]["unit"])
        found = collection.query(text, options.threshold, options.policy, options.limit)
    else:
        ident = _find_id(collection, options.id or "")
        if options.members:
            _print_members(collection, ident, options.json)
            return 0
        found = collection.resembling(ident, options.threshold, options.policy, options.limit)
    if options.json:
        print(json.dumps([match._asdict() for match in found], indent=2))
    else:
        _print_matches(found, collection, options, sys.stdout)
    return 0


def _print_members(collection: Collection, ident: Any, as_json: bool) -> None:
    """Print the cluster of a document."""
    label, members = collection.cluster_of(ident), collection.members(ident)
    if as_json:
        print(json.dumps({"cluster": label, "members": members}, indent=2))
        return
    print(f"{counted(len(members), 'document')} in the cluster of {printable(str(label))}")
    for member in members:
        print(printable(str(member)))


def _find_id(collection: Collection, word: str) -> Any:
    """Find the id of the collection that a word of the command line stands for: a str, or else an int."""
    for ident in (word, int(word) if word.lstrip("-").isascii() and word.lstrip("-").isdigit() else None):
        try:
            if ident is not None:
                collection.names.positions(ident)
                return ident
        except (KeyError, TypeError):
            continue
    example = printable(str(collection.names[0]), 60) if len(collection.names) else "none"
    raise UsageError(f"no document of the collection has the id {word!r}; ids are like {example}")


def _print_matches(found: list[Resembling], collection: Collection, options: QueryOptions, stream: TextIO) -> None:
    """Print a table of the documents that were found, for people."""
    lowest = collection.clustering.threshold if options.threshold is None else options.threshold
    word = "resembles it" if options.policy == "resemblance" else "contains it, or is contained in it,"
    if not found:
        print(f"None of {len(collection):,} documents {word} at {lowest:g} or more", file=stream)
        return
    print(f"resemblance  {'text in document':>19}  {'document in text':>19}  id  [cluster]", file=stream)
    for match in found:
        print(f"{match.resemblance:11.3f}  {match.text_in_document:19.3f}  {match.document_in_text:19.3f}  "
              f"{printable(str(match.id))}  [{printable(str(match.cluster))}]", file=stream)
