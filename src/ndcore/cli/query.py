"""``ndcore query``: documents of a collection that resemble a text, and clusters by an id."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

from ndcore.cli.commands import QueryOptions
from ndcore.cli.named_document import load_document
from ndcore.collection.collection import Collection, Resembling
from ndcore.files.errors import UsageError
from ndcore.human import counted, printable

__all__ = ["run_query"]


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
