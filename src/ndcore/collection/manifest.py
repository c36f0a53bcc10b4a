"""The description of a collection in its directory, and whether one may be built, or gone on with, there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ndcore.storage.job_description import COLLECTION

__all__ = ["DESCRIPTION", "FORMAT", "begin", "begins_collection", "describe", "described", "is_collection"]

DESCRIPTION, FORMAT = COLLECTION.file, COLLECTION.format


def is_collection(path: str | os.PathLike[str]) -> bool:
    """Tell whether a directory holds a collection, finished or not, and not another file named as its description."""
    return COLLECTION.is_in(path)


def begins_collection(head: bytes) -> bool:
    """Tell whether a file that begins with these bytes describes a collection."""
    return COLLECTION.begins(head)


def described(place: Path) -> dict[str, Any]:
    """Read the description of a collection, as `JobDescription.read` does."""
    return COLLECTION.read(place)


def describe(place: Path, parameters: dict[str, Any], source: Any, *, finished: bool) -> None:
    """Write the description of a collection, in place of an older one."""
    COLLECTION.write(place, parameters, source, finished=finished)


def begin(place: Path, parameters: dict[str, Any], source: Any) -> None:
    """Make a directory to build in, as `JobDescription.begin` does."""
    COLLECTION.begin(place, parameters, source)
