"""JSON objects as records: JSON Lines (https://jsonlines.org) and JSON (RFC 8259), one object a document.

Refused are lines that are not one JSON object in UTF-8, and records whose text is not a string.

Lines of JSONL files with plain fields are read by `_jsonl`, without this module (see `JsonLines`). Here stand all other
records: JSON files, lines that `_jsonl` leaves, and fields within objects. ``msgspec`` makes these up to four times faster
on short records where it is installed. What it refuses is decided by the standard ``json`` module, and what it does not look
at (UTF-8 in fields that nobody asked for) is checked here, so both installations accept the same lines. The one exception is
nesting deeper than about a thousand levels: each follows as many as its stack allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from ndcore.files.byte_order_mark import without_mark
from ndcore.files.records import (
    ANNOTATION,
    MISSING,
    Fields,
    Record,
    RecordError,
    check_id,
    describe,
    join_texts,
    lookup,
    splits,
)

Decoded = tuple[str | bytes, dict[str, Any]]  # the text, and the other fields by their names
Decoder = Callable[[bytes], Decoded | None]


class RecordParser:
    """Turn lines of JSON into records. One text field with a plain name is decoded fastest.

    Parameters
    ----------
    fields : Fields
    fast : bool
        Use ``msgspec`` where it is installed. Results do not depend on it.
    """

    def __init__(self, fields: Fields, fast: bool = True) -> None:
        self._fields = fields
        self._names = list(dict.fromkeys([fields.id, *fields.others, *([ANNOTATION] if fields.annotated else [])]))
        self._decode = self._fast_decoder() if fast else None

    def parse(self, number: int, line: bytes) -> Record:
        """Parse one line, which may begin with a byte order mark if it is the first one.

        Raises
        ------
        RecordError
            The line is not a JSON object or not UTF-8, or a field is missing or has another type.
        """
        body = without_mark(line) if number == 1 else line
        found = self._decode(body) if self._decode is not None else None
        text, others = found if found is not None else self._slow(body)
        if self._fields.annotated and others[ANNOTATION] is not MISSING:
            raise RecordError(f"the record has a field {ANNOTATION!r} already; rename it, or leave out --annotate")
        try:
            ident = check_id(others[self._fields.id], self._fields)
            values = tuple([self._value(others, field) for field in self._fields.others])
        except RecordError as error:
            raise RecordError(f"{error} ({_fields_of(_load(body))})") from None
        return Record(number, text, ident, values, len(line))

    def _value(self, others: dict[str, Any], field: str) -> Any:
        """Look up a required or optional field."""
        value = others[field]
        if value is MISSING:
            if field in self._fields.optional:
                return None
            raise RecordError(f"no field {field!r}")
        return value

    def _slow(self, body: bytes) -> Decoded:
        """Decode a line with the standard module."""
        record = _load(body)
        if not isinstance(record, dict):
            raise RecordError(f"{describe(record)}, not a JSON object; one object per line is expected")
        texts = []
        for field in self._fields.text:
            text = lookup(record, field)
            if text is MISSING:
                raise RecordError(f"no text field {field!r} ({_fields_of(record)}){_suggestion(record, self._fields)}")
            if not isinstance(text, str):
                raise RecordError(f"the text field {field!r} is {describe(text)}, not a string")
            texts.append(text)
        return join_texts(texts), {name: lookup(record, name) for name in self._names}

    def _fast_decoder(self) -> Decoder | None:
        """Build a decoder with msgspec; None where it is missing or cannot name the fields."""
        try:
            import msgspec
        except ImportError:
            return None
        every = (*self._fields.text, *self._names)
        if any(character < " " or character in '"\\' for name in every for character in name):
            # msgspec does not rename to these
            return None
        if len(self._fields.text) > 1 or any("." in name for name in every):
            return self._fast_lookup(msgspec)
        (text_field,) = self._fields.text
        names = [name for name in self._names if name != text_field]
        attributes = [f"f{i}" for i in range(len(names))]
        layout: list[Any] = [("text", str), *((name, Any, MISSING) for name in attributes)]
        rename = {"text": text_field, **dict(zip(attributes, names, strict=True))}
        struct = msgspec.defstruct("Line", layout, rename=rename, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        pairs = tuple(zip(names, attributes, strict=True))
        same = text_field if text_field in self._names else None

        def fast(body: bytes) -> Decoded | None:
            try:
                if not body.isascii():
                    body.decode()
                line: Any = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            others = {name: getattr(line, attribute) for name, attribute in pairs}
            if same is not None:
                others[same] = line.text
            return line.text, others

        return fast

    def _fast_lookup(self, msgspec: Any) -> Decoder:
        """Return a decoder for several text fields and for names with dots, which `lookup` would look for in objects."""
        wanted = (*self._fields.text, *self._names)
        names = list(dict.fromkeys([*wanted, *(first for name in wanted for first, _ in splits(name))]))
        attributes = {name: f"f{i}" for i, name in enumerate(names)}
        struct = msgspec.defstruct("Line", [(attribute, Any, MISSING) for attribute in attributes.values()],
                                   rename={attribute: name for name, attribute in attributes.items()}, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        ways = {name: (attributes[name], [(attributes[first], rest) for first, rest in splits(name)]) for name in wanted}
        texts, others = [ways[name] for name in self._fields.text], [(name, *ways[name]) for name in self._names]

        def get(line: Any, attribute: str, inner: list[tuple[str, str]]) -> Any:  # as `lookup`
            value = getattr(line, attribute)
            for top, rest in inner if value is MISSING else ():
                value = lookup(getattr(line, top), rest)
                if value is not MISSING:
                    break
            return value

        def fast(body: bytes) -> Decoded | None:
            try:
                if not body.isascii():
                    body.decode()
                line: Any = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            found = [get(line, attribute, inner) for attribute, inner in texts]
            if not all(isinstance(text, str) for text in found):
                return None
            return join_texts(found), {name: get(line, attribute, inner) for name, attribute, inner in others}

        return fast


def _load(body: bytes) -> Any:
    """Decode one line with the standard module."""
    try:
        text = body.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise RecordError(f"invalid UTF-8 at byte {error.start + 1} of the line") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordError(f"invalid JSON at column {error.colno}: {error.msg}{_whole_file(text)}") from None
    except RecursionError:
        raise RecordError("invalid JSON: nested too deeply") from None
    except ValueError:  # more digits than int() takes; msgspec does not mind where nobody asked for the field
        return json.loads(text, parse_int=_lenient_int)


def _lenient_int(digits: str) -> int | float:
    """Convert digits to int, or to float where there are too many."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _whole_file(text: str) -> str:
    """Add a hint where a line looks like the beginning of a document over many lines."""
    if text.strip() in ("{", "[", "[{"):
        return " (one JSON object per line is expected, not one document over many lines)"
    return ""


def _fields_of(record: Any) -> str:
    """List the fields of a record, for messages."""
    names = sorted(str(name) for name in record) if isinstance(record, dict) else []
    if not names:
        return "the record has no fields"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"the record has: {', '.join(names[:12])}{more}"


def _suggestion(record: dict[str, Any], fields: Fields) -> str:
    """Propose the longest string of a record, which is most likely its text, if it is more than a word."""
    strings = [(len(value), name) for name, value in _strings(record, "", 3) if " " in value.strip()]
    return f"; use {fields.named_by[0]} {max(strings)[1]}" if strings else ""


def _strings(record: dict[str, Any], before: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield (field, value) of the strings of a record and of objects in it, `depth` levels at most."""
    for name, value in record.items():
        if isinstance(value, str):
            yield f"{before}{name}", value
        elif isinstance(value, dict) and depth > 1:
            yield from _strings(value, f"{before}{name}.", depth - 1)
