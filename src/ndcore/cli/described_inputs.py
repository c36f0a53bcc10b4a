"""The inputs of a long run, described so that an interrupted one is recognised: by size and date, or by a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ndcore.cli.inputs import text_field
from ndcore.cli.options import FieldOptions
from ndcore.files.sources import Inputs

__all__ = ["reading_of", "stamp", "stamps_of"]


def stamps_of(found: Inputs) -> list[list[Any]]:
    """Describe each source: a file by size and date; a stream, which has been copied, by a digest."""
    stamps: list[list[Any]] = []
    for source in found.sources:
        if not source.location:  # a stream that is not a document
            continue
        if source.location == source.path:
            stamps.append([source.path, *stamp(Path(source.location))])
        else:
            with Path(source.location).open("rb") as file:
                stamps.append([source.path, hashlib.file_digest(file, "blake2b").hexdigest()[:32]])
    return stamps


def stamp(file: Path) -> list[int]:
    """Return size and modification time of a file."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def reading_of(options: FieldOptions) -> dict[str, Any]:
    """Describe how records are read."""
    form = {name: value for name, value in (("encoding", options.encoding), ("delimiter", options.delimiter)) if value}
    return {"text_field": text_field(options), "id_field": options.id_field, "html": options.html_part, **form}
