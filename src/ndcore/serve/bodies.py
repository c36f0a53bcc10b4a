"""The values of a request: from the query of its address, a form, JSON, or a plain text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable
from typing import Any
from urllib.parse import parse_qsl

from ndcore.serve.refusal import Refused
from ndcore.serve.routes import Route
from ndcore.text.inputs import as_bytes

FORM, JSON, PLAIN = "application/x-www-form-urlencoded", "application/json", "text/plain"
ESCAPED = 3  # bytes of a body for each byte of a text: %XX, and most escapes of JSON
OTHER = 1 << 20  # bytes of the other values
MOST_FIELDS = 32


async def read_body(chunks: AsyncIterable[bytes], declared: str | None, most: int) -> bytes:
    """Read the body of a request.

    Parameters
    ----------
    chunks : async iterable of bytes
    declared : str or None
        The header Content-Length.
    most : int
        Bytes of a text.

    Raises
    ------
    Refused
        It is longer than a text of `most` bytes with escapes can be, whatever length was declared.
    """
    limit = ESCAPED * most + OTHER
    too_large = Refused(413, f"a text has at most {most:,} bytes; send a smaller one, or start the server with a larger "
                             "--max-text")
    if declared is not None and declared.isascii() and declared.isdigit() and int(declared[:30]) > limit:
        raise too_large
    parts, size = [], 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise too_large
        parts.append(chunk)
    return b"".join(parts)


def parse_query(query: bytes) -> list[tuple[str, Any]]:
    """Parse a query or a form. Raises Refused where it is not UTF-8, or has too many values."""
    try:
        return list(parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="surrogatepass",
                              max_num_fields=MOST_FIELDS))
    except UnicodeDecodeError as error:
        raise Refused(400, f"the values of the request are not UTF-8 with %XX: {error}") from None
    except ValueError:
        raise Refused(400, f"a request has at most {MOST_FIELDS} values") from None


def parse_body(route: Route, content_type: str, body: bytes, from_page: bool) -> list[tuple[str, Any]]:
    """Parse the body of a request by its Content-Type.

    Forms of pages write ends of lines as CR LF: they become LF. Other bodies are taken to the byte.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        values = parse_query(body)
        return [(name, value.replace("\r\n", "\n")) for name, value in values] if from_page else values
    if kind == JSON:
        return _parse_json(body)
    if kind == PLAIN and any(p.name == "text" for p in route.parameters):
        return [("text", body)]
    accepted = f"{JSON}, {FORM}" + (f", {PLAIN}" if any(p.name == "text" for p in route.parameters) else "")
    raise Refused(415, f"the Content-Type is {content_type!r:.80}; accepted: {accepted}")


def _parse_json(body: bytes) -> list[tuple[str, Any]]:
    """Parse an object of JSON."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise Refused(400, f"the body is JSON of type {type(values).__name__}; it must be an object with the values")
    return list(values.items())


def check_texts(values: dict[str, Any], most: int) -> None:
    """Raise Refused where a text has more than `most` bytes."""
    for name, value in values.items():
        if name.startswith("text") and isinstance(value, (str, bytes)):
            size = len(as_bytes(value))
            if size > most:
                raise Refused(413, f"{name} has {size:,} bytes; at most {most:,} are accepted: send a smaller one, or start "
                                   "the server with a larger --max-text")
