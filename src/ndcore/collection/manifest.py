"""The description of a collection in its directory, and whether one may be built, or gone on with, there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import naming

__all__ = ["DESCRIPTION", "begin", "describe", "described", "is_collection"]

DESCRIPTION = "collection.json"
NEW = ".new"  # ends the name of a description that is being written
FORMAT = 1


def is_collection(path: str | os.PathLike[str]) -> bool:
    """Tell whether a directory holds a collection, finished or not, and not another file named as its description."""
    try:
        with (Path(path) / DESCRIPTION).open("rb") as file:
            return begins_collection(file.read(64))
    except OSError:
        return False


def begins_collection(head: bytes) -> bool:
    """Tell whether a file that begins with these bytes describes a collection."""
    return b'"ndcore.collection"' in head[:64]


def described(place: Path) -> dict[str, Any]:
    """Read the description of a collection: "finished", "parameters" and "source".

    FileNotFoundError without a description, CorruptFile where it is damaged, ValueError for a newer format.
    """
    try:
        description = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
        newer = description["ndcore.collection"] > FORMAT
        checked = {} if newer else {"finished": bool(description["finished"]), "parameters": dict(description["parameters"])}
    except FileNotFoundError:
        raise FileNotFoundError(2, "holds no collection: there is no " + DESCRIPTION, str(place)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptFile(f"{place / DESCRIPTION}: not the description of a collection: {error}") from error
    if newer:
        version = description["ndcore.collection"]
        raise ValueError(f"{place}: a collection of format {version!r:.40}; this ndcore reads {FORMAT}: upgrade ndcore")
    return {**checked, "source": description.get("source")}


def describe(place: Path, parameters: dict[str, Any], source: Any, *, finished: bool) -> None:
    """Write the description of a collection, in place of an older one."""
    text = json.dumps(
        {"ndcore.collection": FORMAT, "finished": finished, "parameters": parameters, "source": source}, indent=1
    )
    new = place / (DESCRIPTION + NEW)
    with naming(place / DESCRIPTION, inside=new):
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(place / DESCRIPTION)


def begin(place: Path, parameters: dict[str, Any], source: Any) -> None:
    """Make a directory to build in: a new one, or one with an unfinished collection of the same parameters and source.

    An unfinished collection that holds nothing but its description is begun anew, with any parameters.

    Raises
    ------
    FileExistsError
        Something else is there.
    ValueError
        The unfinished collection has other parameters, or another source.
    """
    place.mkdir(parents=True, exist_ok=True)
    if not is_collection(place):
        if any(entry.name != DESCRIPTION + NEW for entry in place.iterdir()):
            raise FileExistsError(17, "exists and holds something else than a collection", str(place))
        describe(place, parameters, source, finished=False)
        return
    description = described(place)
    if description["finished"]:
        raise FileExistsError(17, "holds a finished collection already", str(place))
    if not any(place.rglob("*.ndc")):
        describe(place, parameters, source, finished=False)
        return
    for what, before, now in (("parameters", description["parameters"], parameters),
                              ("source", description["source"], source)):
        if before != now:
            raise ValueError(f"{place} holds an unfinished collection of another {what}: {_difference(before, now)}; "
                             "go on with the same, build in another directory, or remove this one")


def _difference(before: Any, now: Any) -> str:
    """Describe the first difference between two descriptions."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                return f"{name} {_short(before.get(name))} there, {_short(now.get(name))} here"
    return f"{_short(before)} there, {_short(now)} here"


def _short(value: Any) -> str:
    """Write a value as JSON, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:60]}…"
