"""``ndcore query``: questions to a collection."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, TextIO

from ndcore.cli.comparison import load
from ndcore.cli.inputs import text_field
from ndcore.cli.summary import printable
from ndcore.collection.collection import Collection, Resembling
from ndcore.files.errors import UsageError
from ndcore.human import counted

__all__ = ["query"]


def query(args: Any) -> int:
    """``ndcore query``."""
    if (args.file is None) == (args.id is None):
        raise UsageError("ask for a FILE (or - for standard input), or for a document of the collection with --id")
    if args.members and args.id is None:
        raise UsageError("--members lists the cluster of a document of the collection: name it with --id")
    made = Collection.open(args.collection, verify=args.verify)
    if args.id is None:
        unit = made.recipe["shingling"]["unit"]
        text = load(args.file, text_field(args), args.id_field, unit, args.html_part)
        found = made.query(text, args.threshold, args.policy, args.limit)
    else:
        ident = _ident(made, args.id)
        if args.members:
            return _members(made, ident, args.json)
        found = made.resembling(ident, args.threshold, args.policy, args.limit)
    if args.json:
        print(json.dumps([match._asdict() for match in found], indent=2))
    else:
        _show(found, made, args, sys.stdout)
    return 0


def _members(made: Collection, ident: Any, as_json: bool) -> int:
    """The cluster of a document."""
    label, members = made.cluster_of(ident), made.members(ident)
    if as_json:
        print(json.dumps({"cluster": label, "members": members}, indent=2))
        return 0
    print(f"{counted(len(members), 'document')} in the cluster of {printable(str(label))}")
    for member in members:
        print(printable(str(member)))
    return 0


def _ident(made: Collection, text: str) -> Any:
    """The id that a word of the command line stands for."""
    for ident in (text, int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() else None):
        try:
            if ident is not None:
                made.names.positions(ident)
                return ident
        except (KeyError, TypeError):
            continue
    example = printable(str(made.names[0]), 60) if len(made.names) else "none"
    raise UsageError(f"no document of the collection has the id {text!r}; ids are like {example}")


def _show(found: list[Resembling], made: Collection, args: argparse.Namespace, stream: TextIO) -> None:
    threshold = made.clustering.threshold if args.threshold is None else args.threshold
    word = "resembles it" if args.policy == "resemblance" else "contains it, or is contained in it,"
    if not found:
        print(f"None of {len(made):,} documents {word} at {threshold:g} or more", file=stream)
        return
    print("resemblance  of text in document  of document in text  id  [cluster]", file=stream)
    for match in found:
        print(f"{match.resemblance:11.3f}  {match.text_in_document:19.3f}  {match.document_in_text:19.3f}  "
              f"{printable(str(match.id))}  [{printable(str(match.cluster))}]", file=stream)
