"""Stores that are exported for a collection on Spark, and exports that are forged. No test is here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ndcore as nd
from ndcore.spark.manifest import digest_fields

RIVER = "the river rose two metres in a night and the old bridge was closed until the engineers had seen its pillars"


def exported(place: Path, collection: Any, pages: Iterable[tuple[Any, str | bytes]], name: str | None = None,
             **options: Any) -> Path:
    """Make a store of pages at `place`, and its export beside; return the path of the export."""
    with nd.Store.open(place, **options) as store:
        list(store.decide_many(pages))
        collection.export(store, place.with_name(f"{place.name}-export"), name=name)
    return place.with_name(f"{place.name}-export")


def rewritten(export: Path, digests: bool = True, **changes: Any) -> None:
    """Write the description of an export anew, with other fields; digests: of the files as they are now."""
    described = export / "export.json"
    fields = {**json.loads(described.read_bytes()), **changes}
    number = fields.pop("ndcore.spark.export")
    fields.pop("digest")
    for i, file in enumerate(fields["files"] if digests else ()):
        features, texts = (export / f"{kind}-{i:05}.parquet" for kind in ("features", "texts"))
        file["digest"] = hashlib.blake2b(features.read_bytes(), digest_size=16).hexdigest()
        file["features"], file["texts"] = features.stat().st_size, texts.stat().st_size
    described.write_text(json.dumps({"ndcore.spark.export": number, "digest": digest_fields(fields), **fields}))
