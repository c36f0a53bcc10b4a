"""Functions that the commands of ``ndcore store`` share: open a store, find a key, show keys and dates."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from ndcore.files.errors import DocumentError
from ndcore.files.records import RecordError
from ndcore.human import printable
from ndcore.recipe import Recipe
from ndcore.store.keys import encode_key, host_of, normalise_url
from ndcore.store.manifest import is_store
from ndcore.store.store import Store
from ndcore.store.verdict import Key
from ndcore.text.shingling import Shingling


@contextlib.contextmanager
def open_store(path: str, *, read_only: bool = True, **more: Any) -> Iterator[Store]:
    """Open an existing store for a ``with`` block; warn if its last changes have no checkpoint.

    Raises DocumentError if there is none.
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
    """Find the key for a word of the command line: a str, else an int, else bytes.

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
    """Raise RecordError if a page of a store cannot have this key."""
    settings = store.settings
    try:
        encode_key(normalise_url(key) if settings.keys == "url" else key)
        if settings.scope == "host":
            host_of(key)
    except (TypeError, ValueError) as error:
        raise RecordError(str(error)) from None


def describe_store(store: Store) -> dict[str, Any]:
    """Describe the counts and settings of a store: the shingling as an object, without the secret key of hashes."""
    stats = store.stats()
    settings = {name: value for name, value in stats["settings"].items() if name != "secret"}
    return {**stats, "settings": {**settings, "shingling": json.loads(settings["shingling"])}}


def unit_of(store: Store) -> str | None:
    """Return the unit of the shingles of a store; None for a callable."""
    unit = Shingling.from_recipe(Recipe.from_json(store.settings.shingling)).unit
    return unit if isinstance(unit, str) else None


def show_key(key: Key | None, limit: int | None = None) -> str:
    """Write a key for a terminal."""
    return printable(key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key), limit)


def show_date(date: datetime.datetime) -> str:
    """Write a date in UTC to the second."""
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
