"""Tables of verdicts of a run over many stores, without a run: from an export, or of one page. No test is here."""

from __future__ import annotations

import math
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


def row_of(
    key: Any, text: str, verdict: str | None = "kept", of: Any = None, store: str | None = "west", score: float | None = 0.9,
    name: str | None = "east",
) -> Row:
    """Return the row of a page with a text, as a run writes it beside the export of a store with a name."""
    alone = verdict == "kept"
    representative: Row | None = {"key": key if alone else of}
    if name is not None:
        representative = {"store": name if alone else store, **representative}
    return {
        **({} if name is None else {"store": name}), "key": key,
        "digest": blake2b(text.encode(), digest_size=16).digest(),
        "representative": None if verdict is None else representative, "class": verdict,
        "resemblance": 1.0 if alone else math.nan if score is None else score, "cluster_size": 1 if alone else 2,
    }


def table_of(*rows: Row) -> Any:
    """Return rows as a table of Arrow."""
    return pa.Table.from_pylist(list(rows))


def exported_rows(place: Path) -> list[Row]:
    """Return the rows of an export, without the texts, and with verdicts: each page represents itself."""
    rows = pq.read_table(place, partitioning=None).to_pylist()
    return [{**row_of(row["key"], "", name=row.get("store")), "digest": row["digest"]} for row in rows]
