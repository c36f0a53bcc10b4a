"""``ndcore clusters`` and ``ndcore query``: the clusters of a collection as a table; its documents that resemble a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._version import __version__
from ndcore.cli.account import Account, TextBlock, present
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


def run_clusters(options: ClustersOptions) -> int:
    if options.output == STDOUT:
        stream = standard_output(options.json, "name a file")
        options.outcome.printed = True
        write_json_lines(stream, _tabulate(Collection.open(options.collection)))
        stream.flush()
        return 0
    with TableFile(options.output, options.overwrite, [options.collection]) as file:
        rows = file.write(_tabulate(Collection.open(options.collection)))
        file.commit()
    options.outcome.written = True
    return present(options, Account({"ndcore": __version__, "output": options.output, "documents": rows},
                                    [f"{counted(rows, 'document')} in {printable(options.output)}"]))


def _tabulate(collection: Collection) -> Table:
    """Make a row for each document of a collection."""
    places = places_of(collection)
    kinds = [] if places is None else place_columns(places.of_archives)
    others = [Column(f"representative_{column.name}", column.kind) for column in kinds]
    columns = [Column("id", "id"), *kinds, Column("cluster", "integer"), Column("representative", "id"), *others, *ASSIGNED]
    numbers = len(collection) == 0 or isinstance(collection.names[0], int)
    return Table(columns, _iterate_rows(collection, places, len(kinds)), numbers)


def _iterate_rows(collection: Collection, places: SavedPlaces | None, width: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `_tabulate`; a place has `width` columns."""
    clustering, names = collection.clustering, collection.names
    sizes = clustering.cluster_sizes

    def place_of(position: int) -> tuple[Any, ...]:
        place: tuple[Any, ...] | None = None if places is None else places.place(position)
        return ((None,) * 4 if place is None else place)[:width]

    for start in range(0, len(clustering), 1 << 16):
        rows = slice(start, start + (1 << 16))
        labels, classes = clustering.labels[rows].tolist(), np.array(CLASSES)[clustering.codes[rows]].tolist()
        columns = zip(labels, classes, np.asarray(clustering.resemblance[rows]).tolist(), sizes[rows].tolist(), strict=True)
        for position, (label, verdict, resemblance, size) in enumerate(columns, start):
            own, others = place_of(position), place_of(label)
            yield names[position], *own, label, names[label], *others, verdict, finite(resemblance), size


def run_query(options: QueryOptions) -> int:
    if (options.file is None) == (options.id is None):
        raise UsageError("ask for a FILE (or - for standard input), or for a document of the collection with --id")
    if options.members and options.id is None:
        raise UsageError("--members lists the cluster of a document of the collection: name it with --id")
    collection = Collection.open(options.collection, verify=options.verify)
    how = options.take("threshold", "policy", "limit")
    if options.file is not None:
        text = load_document(options.file, options, collection.recipe["shingling"]["unit"])
        return present(options, _make_account(collection, options, collection.query(text, **how)))
    ident = _find_id(collection, options.id or "")
    if not options.members:
        return present(options, _make_account(collection, options, collection.resembling(ident, **how)))
    label, members = collection.cluster_of(ident), collection.members(ident)
    return present(options, Account({"cluster": label, "members": members}, [
        f"{counted(len(members), 'document')} in the cluster of {printable(str(label))}",
        *(printable(str(member)) for member in members)]))


def _find_id(collection: Collection, word: str) -> Any:
    """Find the id in the collection for a word of the command line: a str, or else an int."""
    for ident in (word, int(word) if word.lstrip("-").isascii() and word.lstrip("-").isdigit() else None):
        try:
            if ident is not None:
                collection.names.positions(ident)
                return ident
        except (KeyError, TypeError):
            continue
    example = printable(str(collection.names[0]), 60) if len(collection.names) else "none"
    raise UsageError(f"no document of the collection has the id {word!r}; ids are like {example}")


def _make_account(collection: Collection, options: QueryOptions, matches: Sequence[Resembling]) -> Account:
    """Make the account of the documents that resemble a text."""
    def tell() -> Iterator[str | TextBlock]:
        if not matches:
            lowest = collection.clustering.threshold if options.threshold is None else options.threshold
            word = "resembles it" if options.policy == "resemblance" else "contains it, or is contained in it,"
            yield f"None of {len(collection):,} documents {word} at {lowest:g} or more"
            return
        yield f"resemblance  {'text in document':>19}  {'document in text':>19}  id  [cluster]"
        for match in matches:
            yield (f"{match.resemblance:11.3f}  {match.text_in_document:19.3f}  {match.document_in_text:19.3f}  "
                   f"{printable(str(match.id))}  [{printable(str(match.cluster))}]")

    return Account([match._asdict() for match in matches], tell())
