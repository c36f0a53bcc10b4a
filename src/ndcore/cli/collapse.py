"""``ndcore collapse``: fold near-duplicates in the answer of a search engine."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from ndcore._version import __version__
from ndcore.choices import LONGEST_RECORD
from ndcore.cli.account import print_json
from ndcore.cli.commands import CollapseOptions
from ndcore.cli.inputs import TOKENS, make_shingling, refuse_stdin_twice
from ndcore.cli.store import open_store
from ndcore.collection.collection import Collection
from ndcore.dedup.search_results import CollapsedHits, collapse_hits
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.json_values import to_json
from ndcore.files.stream_copies import read_path
from ndcore.human import counted, printable
from ndcore.store.store import Store


def run_collapse(options: CollapseOptions) -> int:
    if [options.text_field, options.collection, options.store].count(None) != 2:
        raise UsageError("give one of --text-field, to compare texts, --collection and --store, to fold by known clusters")
    refuse_stdin_twice([*options.earlier, options.response])
    given_any = any(value is not None for value in options.take("width", *TOKENS).values())
    shingling = make_shingling(options) if given_any else None
    about_texts = {**options.take("threshold", "drop"), "shingling": shingling}
    if options.text_field is None and any(value is not None for value in about_texts.values()):
        raise UsageError("--threshold, --drop and the options of shingles are about texts; with --collection and --store "
                         "no text is read: leave them out")
    if options.text_field is not None and (options.id_field is not None or options.best != "rank"):
        raise UsageError("--id-field and --best are for --collection and --store")
    with contextlib.ExitStack() as opened:
        by: Collection | Store | None = None if options.collection is None else Collection.open(options.collection)
        if options.store is not None:
            by = opened.enter_context(open_store(options.store))
        given = {"text": options.text_field, "by": by, "id": options.id_field, "best": options.best, **about_texts}
        earlier = [shown for path in options.earlier for shown in _collapse(path, given, []).shown]
        collapsed = _collapse(options.response, given, earlier)
    if collapsed.unknown:
        place = options.collection or options.store or ""
        print(f"ndcore: note: {printable(place)} does not know {counted(len(collapsed.unknown), 'hit')} of "
              f"{len(collapsed):,}, such as {printable(str(collapsed.unknown[0]), 80)}", file=sys.stderr)
    if options.json:
        print_json({"ndcore": __version__, "hits": len(collapsed), "shown": [
            {"position": position, "folded": under} for position, under in collapsed.folded.items()
        ], "repeated": collapsed.repeated, "unknown": collapsed.unknown, "response": collapsed.response})
    else:
        print(to_json(collapsed.response).decode())
    return 0


def _collapse(path: str, given: dict[str, Any], earlier: list[Any]) -> CollapsedHits:
    """Read a response, and fold its hits. Raises DocumentError if it is not JSON, or has a form that is not accepted."""
    try:
        response = json.loads(read_path(path, LONGEST_RECORD))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError(path, None, f"is not JSON: {error}") from error
    try:
        return collapse_hits(response, earlier=earlier, **given)
    except (TypeError, ValueError) as error:
        raise DocumentError(path, None, str(error)) from error
