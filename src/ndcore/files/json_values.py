"""Convert values to JSON, and to strings for columns of tables."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ndcore._types import Floats

_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)  # json.dumps would make one for each value


def to_json(value: Any, **options: Any) -> bytes:
    """Encode a value as JSON in UTF-8; if it has a lone surrogate, which UTF-8 lacks, as ASCII with escapes."""
    try:
        if options:
            return json.dumps(value, ensure_ascii=False, **{"allow_nan": False, **options}).encode()
        return _PLAIN.encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, **{"allow_nan": False, **options}).encode()


def to_json_each(values: Iterable[Any]) -> list[str]:
    """Encode values as JSON; lone surrogates stay in them."""
    listed = list(values)
    if listed and {*map(type, listed)} <= {int, float, bool, type(None)}:  # their JSON has no commas
        return _PLAIN.encode(listed)[1:-1].split(", ")
    return list(map(_PLAIN.encode, listed))


def to_string(value: str | int | None) -> str | None:
    """Convert a value for a column of strings; lone surrogates are escaped, as ``\\udc80``."""
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()


def write_time(moment: datetime.datetime) -> str:
    """Write a time in UTC as ISO 8601, with a final Z."""
    return moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def finite(value: Any) -> float | None:
    """Convert to a float for JSON; nan, the value of documents without shingles, becomes None."""
    number = float(value)
    return number if math.isfinite(number) else None


def finite_all(values: Floats) -> list[float | None]:
    """Convert floats for JSON, as `finite` does."""
    numbers: list[float | None] = values.tolist()
    for i in np.flatnonzero(~np.isfinite(values)).tolist():
        numbers[i] = None
    return numbers
