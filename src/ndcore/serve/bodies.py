"""Read the values of a request from the query of its address, a form, JSON, or a plain text."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

from ndcore.serve.refusal import Refused
from ndcore.serve.routes import Route
from ndcore.text.inputs import as_bytes

FORM, JSON, PLAIN = "application/x-www-form-urlencoded", "application/json", "text/plain"
LINES = ("application/x-ndjson", "application/jsonl")
ARROW = "application/vnd.apache.arrow.stream"
PART = 128  # most pages of a stream that are read and prepared together
PART_BYTES = 1 << 20  # as many bytes of lines are a part, even if they are fewer lines
ESCAPED = 3  # bytes of a body for each byte of a text: %XX, and most escapes of JSON
OTHER = 1 << 20  # bytes allowed for all other values of a body
MOST_FIELDS = 32


async def read_body(chunks: AsyncIterable[bytes], declared: str | None, most: int, seconds: float) -> bytes:
    """Read the body of a request.

    Parameters
    ----------
    chunks : async iterable of bytes
    declared : str or None
        The value of the header Content-Length.
    most : int
        The largest text, in bytes.
    seconds : float
        The time in which the body must arrive.

    Raises
    ------
    Refused
        The body is longer than an escaped text of `most` bytes can be, even if less was declared, or does not arrive in
        time.
    """
    limit, incoming = ESCAPED * most + OTHER, aiter(chunks)
    end, late = asyncio.get_running_loop().time() + seconds, f"the body did not come in {seconds:g} seconds"
    too_large = Refused(413, f"a text has at most {most:,} bytes; send a smaller one, or start the server with a larger "
                             "--max-text")
    if declared is not None and declared.isascii() and declared.isdigit() and int(declared[:30]) > limit:
        raise too_large
    parts, size = [], 0
    while (chunk := await next_chunk(incoming, end, late)) is not None:
        size += len(chunk)
        if size > limit:
            raise too_large
        parts.append(chunk)
    return b"".join(parts)


async def read_lines(
    chunks: AsyncIterable[bytes], most: int, seconds: float, *, sized: bool = False
) -> AsyncIterator[list[bytes]]:
    """Read the lines of a stream, in parts of at most `PART`.

    Parameters
    ----------
    chunks : async iterable of bytes
    most : int
        The largest text, in bytes.
    seconds : float
        The time in which each line must arrive completely. The time spent answering the previous part does not count.
    sized : bool
        The client has announced the size of the body, so it sends all lines before it reads answers: parts are full ones.
        Otherwise a part has the lines that have arrived.

    Raises
    ------
    Refused
        A line is longer than an escaped text of `most` bytes can be, or does not arrive in time.
    """
    limit, clock = ESCAPED * most + OTHER, asyncio.get_running_loop().time
    too_large = Refused(413, f"a line of the stream has more than {limit:,} bytes; a text has at most {most:,}: send a "
                             "smaller one, or start the server with a larger --max-text")
    incoming, begun = aiter(chunks), bytearray()
    end, late = clock() + seconds, f"a line of the stream did not come in {seconds:g} seconds; send whole lines"
    good: list[bytes] = []
    while True:
        try:
            chunk = await next_chunk(incoming, end, late)
        except Refused:
            if good:
                yield good
            raise
        first, *others = (b"" if chunk is None else chunk).split(b"\n")
        begun += first
        if chunk is not None and not others and len(begun) <= limit:
            continue
        lines = [line for line in (bytes(begun), *others[:-1]) if line.strip()]
        begun = bytearray(others[-1] if others else b"")
        short = list(itertools.takewhile(lambda line: len(line) <= limit, lines))
        good += short
        refused = len(short) < len(lines)
        while len(good) >= PART:
            yield good[:PART]
            good = good[PART:]
        if good and (not sized or chunk is None or refused or sum(map(len, good)) >= PART_BYTES):
            yield good
            good = []
        if refused:
            raise too_large
        if chunk is None:
            return
        end = clock() + seconds


async def next_chunk(chunks: AsyncIterator[bytes], end: float, late: str) -> bytes | None:
    """Await the next bytes of a body; None at its end.

    Raises
    ------
    Refused
        They have not arrived when the clock of the event loop reaches `end`; the message is `late`.
    """
    try:
        async with asyncio.timeout_at(end):
            return await anext(chunks, None)
    except TimeoutError:
        raise Refused(408, late) from None


def check_coding(coding: str | None) -> None:
    """Raise Refused if a body is compressed: its size would be unknown until it is decompressed."""
    if coding is not None and coding.strip().lower() not in ("", "identity"):
        raise Refused(415, f"the Content-Encoding is {coding!r:.80}; send bodies as they are")


def is_arrow(content_type: str) -> bool:
    """Tell whether a stream is Arrow rather than JSON lines. Raises Refused if it is neither."""
    kind = _bare(content_type)
    if kind not in (*LINES, ARROW):
        raise Refused(415, f"the Content-Type is {content_type!r:.80}; accepted: {', '.join((*LINES, ARROW))}")
    return kind == ARROW


def wants_arrow(accept: str, sent: bool) -> bool:
    """Tell whether the answer to a stream shall be Arrow. accept: the header Accept; sent: whether the stream is Arrow."""
    kinds = {_bare(kind) for kind in accept.split(",")} - {""}
    return ARROW in kinds or (sent and kinds <= {"*/*"})


def _bare(kind: str) -> str:
    """Strip the parameters from a media type."""
    return kind.partition(";")[0].strip().lower()


def parse_query(query: bytes) -> list[tuple[str, Any]]:
    """Parse a query or a form. Raises Refused if it is not UTF-8 or has too many values."""
    try:
        return list(parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="surrogatepass",
                              max_num_fields=MOST_FIELDS))
    except UnicodeDecodeError as error:
        raise Refused(400, f"the values of the request are not UTF-8 with %XX: {error}") from None
    except ValueError:
        raise Refused(400, f"a request has at most {MOST_FIELDS} values") from None


def parse_body(route: Route, content_type: str, body: bytes, from_page: bool) -> list[tuple[str, Any]]:
    """Parse the body of a request by its Content-Type.

    Browsers send line ends of forms as CR LF; they become LF. Other bodies are not changed.
    """
    kind = _bare(content_type)
    if kind == FORM:
        values = parse_query(body)
        return [(name, value.replace("\r\n", "\n")) for name, value in values] if from_page else values
    if kind == JSON:
        return parse_object(body, "the body")
    if kind == PLAIN and any(p.name == "text" for p in route.parameters):
        return [("text", body)]
    accepted = f"{JSON}, {FORM}" + (f", {PLAIN}" if any(p.name == "text" for p in route.parameters) else "")
    raise Refused(415, f"the Content-Type is {content_type!r:.80}; accepted: {accepted}")


def parse_object(content: bytes, what: str) -> list[tuple[str, Any]]:
    """Parse a JSON object. Raises Refused if the content is not one, or if a name is repeated."""
    try:
        values = _JSON.decode(content.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"{what} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise Refused(400, f"{what} is JSON of type {type(values).__name__}; it must be an object with the values")
    return list(values.items())


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of the members of a JSON object. Raises ValueError if a name is repeated."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        repeated = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {repeated!r:.80} is given twice")
    return made


_JSON = json.JSONDecoder(object_pairs_hook=_refuse_repeats)


def check_texts(values: dict[str, Any], most: int) -> None:
    """Raise Refused if a text has more than `most` bytes."""
    for name, value in values.items():
        if name.startswith("text") and isinstance(value, (str, bytes)) and len(value) > most // 4:  # of UTF-8
            size = len(as_bytes(value))
            if size > most:
                raise Refused(413, f"{name} has {size:,} bytes; at most {most:,} are accepted: send a smaller one, or start "
                                   "the server with a larger --max-text")
