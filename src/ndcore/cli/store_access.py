"""What the commands of ``ndcore store`` share: opening a store, finding a key, and printing keys, dates and tables."""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

from ndcore.files.errors import DocumentError
from ndcore.files.json_values import to_json
from ndcore.files.records import RecordError
from ndcore.human import printable
from ndcore.recipe import Recipe
from ndcore.store.keys import encode_key, host_of, normalise_url
from ndcore.store.manifest import is_store
from ndcore.store.store import Store
from ndcore.store.verdict import Key
from ndcore.text.shingling import Shingling

__all__ = [
    "as_json", "check_key", "described", "find_key", "open_store", "print_json", "print_table", "shown_date", "shown_key",
    "unit_of",
]


@contextlib.contextmanager
def open_store(path: str, *, read_only: bool = True, **more: Any) -> Iterator[Store]:
    """Open a store that is there, and close it; say where it has no checkpoint of what was written.

    Raises DocumentError where there is none.
    """
    if not is_store(path):
        reason = "is not a store" if os.path.lexists(path) else "no such store"
        raise DocumentError(path, None, f"{reason}; ndcore store create makes one")
    with Store.open(path, read_only=read_only, **more) as store:
        yield store
    if store.checkpoint_problem is not None:
        print(f"ndcore: note: {printable(path)} has all pages, but no checkpoint could be written, so the next opening "
              f"reads its log again: {printable(store.checkpoint_problem)}", file=sys.stderr)


def find_key(store: Store, path: str, word: str) -> Key:
    """Find the key that a word of the command line stands for: a str, else an int, else bytes.

    Raises
    ------
    DocumentError
        The store has no page with this key.
    """
    digits = word.removeprefix("-")
    for key in (word, int(word) if digits.isascii() and digits.isdigit() else None, os.fsencode(word)):
        with contextlib.suppress(TypeError, ValueError):  # not a key of this store
            if key is not None and key in store:
                return key
    raise DocumentError(path, None, f"no page has the key {word!r:.200}")


def check_key(store: Store, key: Key) -> None:
    """Raise RecordError where a page of a store cannot have this key."""
    settings = store.settings
    try:
        encode_key(normalise_url(key) if settings.keys == "url" else key)
        if settings.scope == "host":
            host_of(key)
    except (TypeError, ValueError) as error:
        raise RecordError(str(error)) from None


def described(store: Store) -> dict[str, Any]:
    """Return the counts and settings of a store for its user: the shingling as an object, without the key of hashes."""
    found = store.stats()
    settings = {name: value for name, value in found["settings"].items() if name != "secret"}
    return {**found, "settings": {**settings, "shingling": json.loads(settings["shingling"])}}


def unit_of(store: Store) -> str | None:
    """Return the unit of the shingles of a store; None for a callable."""
    unit = Shingling.from_recipe(Recipe.from_json(store.settings.shingling)).unit
    return unit if isinstance(unit, str) else None


def shown_key(key: Key | None, limit: int | None = None) -> str:
    """Return a key for a terminal."""
    return printable(key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key), limit)


def shown_date(date: datetime.datetime) -> str:
    """Return a date in UTC to the second."""
    return date.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S") if date.year > 999 else date.isoformat()


def as_json(value: Any) -> Any:
    """Convert keys of bytes to str, with replacement characters, and dates to ISO 8601; leave the rest."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat()
    if isinstance(value, dict):
        return {str(as_json(name)): as_json(item) for name, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print(to_json(as_json(value), indent=2).decode())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], stream: TextIO | None = None) -> None:
    """Print a table whose last column may be long: on a terminal by rich if it is installed, otherwise in plain columns."""
    out, listed = sys.stdout if stream is None else stream, [[*row] for row in rows]
    if out.isatty() and importlib.util.find_spec("rich"):
        _print_rich(headings, listed, out)
        return
    widths = [max(len(row[i]) for row in [headings, *listed]) for i in range(len(headings) - 1)]
    for row in [[*headings], *listed]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[-1]]).rstrip(), file=out)


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO) -> None:
    """Print a table by rich."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(Text(heading, "bold"), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # Text: no markup in keys
    Console(file=out, highlight=False, markup=False, emoji=False).print(table)


