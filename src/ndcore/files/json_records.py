"""One line of JSON to one record: its text, its id, the fields that were asked for.

``msgspec`` makes this up to four times faster on short records where it is installed. What it refuses is decided by the
standard ``json`` module, and what it does not look at (UTF-8 in fields that nobody asked for) is checked here, so both
installations accept the same lines. The one exception is nesting deeper than about a thousand levels.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcore.files.errors import DocumentError

BOM = b"\xef\xbb\xbf"
MISSING: Any = object()
_BLANK = b" \t\r\n"


class Record(NamedTuple):
    """A document as read: `number` is its line or row (None for a text file), `size` its bytes or so, of HTML the page's."""

    number: int | None
    text: str | bytes
    id: str | int | None
    values: tuple[Any, ...]
    size: int
    offset: int | None = None  # of archives: of the record in the file
    date: datetime.datetime | None = None


class RecordError(ValueError):
    """A record that is not what was asked for; the message is the reason alone."""


def is_blank(line: bytes) -> bool:
    """Whether `line` holds white space only; such lines are not records."""
    return not line.strip(_BLANK)


def without_bom(number: int, line: bytes) -> bytes:
    """`line`, without the byte order mark that some programs put before the first line."""
    return line[3:] if number == 1 and line.startswith(BOM) else line


def check_id(value: Any, field: str, required: bool) -> str | int | None:
    """`value` if it can be an id, None where there is none and that is allowed.

    Raises
    ------
    RecordError
        It is missing and `required`, or neither a string nor an integer.
    """
    if value is MISSING:
        if required:
            raise RecordError(f"no id field {field!r}")
        return None
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RecordError(f"the id field {field!r} is {describe(value)}; an id is a string or an integer")


def describe(value: Any) -> str:
    """A JSON value in a few words, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def check_columns(
    path: str,
    names: Sequence[str],
    tops: Mapping[str, str],
    text_fields: Sequence[str],
    id_field: str,
    require_id: bool,
    fields: Sequence[str],
    forbidden: Sequence[str],
) -> None:
    """Raise DocumentError where a table called `path` lacks a column, has one twice, or has a forbidden one.

    `tops` has the column that each field is in, where there is one.
    """
    present = f"the file has: {', '.join(names)}"
    for name in dict.fromkeys([*text_fields, *([id_field] if require_id or id_field in tops else []), *fields]):
        if name not in tops:
            option = "--text-field " if name in text_fields else "--id-field " if name == id_field else ""
            hint = f"; name the right one with {option.strip()}" if option else ""
            raise DocumentError(path, None, f"no column {name!r} ({present}){hint}")
        if names.count(tops[name]) > 1:
            raise DocumentError(path, None, f"{names.count(tops[name])} columns are called {tops[name]!r}")
    for name in forbidden:
        if name in names:
            raise DocumentError(path, None, f"has a column {name!r} already; rename it, or leave out --annotate")


def lookup(record: Any, field: str) -> Any:
    """Return the value of a field, or MISSING; ``a.b`` is the field of that name, or else ``b`` of an object ``a``.

    >>> lookup({"a": {"b": "inside"}}, "a.b"), lookup({"a": {"b": "inside"}, "a.b": "of that name"}, "a.b")
    ('inside', 'of that name')
    """
    if not isinstance(record, dict):
        return MISSING
    if field in record:
        return record[field]
    for first, rest in splits(field):
        if first in record and (found := lookup(record[first], rest)) is not MISSING:
            return found
    return MISSING


def splits(field: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to cut a field at one of its dots, the longest first part first."""
    at = field.rfind(".")
    while at >= 0:
        yield field[:at], field[at + 1 :]
        at = field.rfind(".", 0, at)


def joined(texts: Sequence[str | bytes]) -> str | bytes:
    """Return the texts of several fields as one: each on a line of its own; bytes where one of them is."""
    if len(texts) == 1:
        return texts[0]
    if all(isinstance(text, str) for text in texts):
        return "\n".join(texts)  # type: ignore[arg-type]
    return b"\n".join([text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts])


def text_fields(fields: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the fields that hold the text, of one name or several; ValueError where there is none."""
    names = (fields,) if isinstance(fields, str) else tuple(fields)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"text_field is one field or several different ones, got {fields!r}")
    return names


class RecordParser:
    """Lines of JSON to records.

    A field is looked up as `lookup` does. One text field of a plain name is decoded fastest.

    Parameters
    ----------
    text_field : str or sequence of str
        Several make one text, each of them a line or more, in this order; a record must have all of them.
    id_field : str
    require_id : bool
        Whether a record without `id_field` is an error.
    fields : sequence of str
        Other fields to return; each must be there, unless it is among the `optional` ones: None stands for it then.
    forbidden : str or None
        A field that no record may have (the one that annotation adds).
    fast : bool
        Use ``msgspec`` where it is installed. Results do not depend on it.
    """

    def __init__(
        self,
        text_field: str | Sequence[str],
        id_field: str,
        require_id: bool = False,
        fields: Sequence[str] = (),
        forbidden: str | None = None,
        fast: bool = True,
        optional: Collection[str] = (),
    ) -> None:
        self.text_fields, self.id_field, self.require_id = text_fields(text_field), id_field, require_id
        self.fields, self.forbidden, self.optional = tuple(fields), forbidden, frozenset(optional)
        self._names = list(dict.fromkeys([id_field, *fields, *([forbidden] if forbidden else [])]))
        self._decode = self._fast_decoder() if fast else None

    def parse(self, number: int, line: bytes) -> Record:
        """The record of one line.

        Raises
        ------
        RecordError
            The line is no JSON object, is not UTF-8, or a field is missing or of another type.
        """
        body = without_bom(number, line)
        found = self._decode(body) if self._decode is not None else None
        text, others = found if found is not None else self._slow(body)
        if self.forbidden is not None and others[self.forbidden] is not MISSING:
            raise RecordError(f"the record has a field {self.forbidden!r} already; rename it, or leave out --annotate")
        try:
            ident = check_id(others[self.id_field], self.id_field, self.require_id)
            values = tuple([self._value(others, field) for field in self.fields])
        except RecordError as error:
            raise RecordError(f"{error}{self._hint(body)}") from None
        return Record(number, text, ident, values, len(line))

    def _value(self, others: dict[str, Any], field: str) -> Any:
        value = others[field]
        if value is MISSING:
            if field in self.optional:
                return None
            raise RecordError(f"no field {field!r}")
        return value

    def _hint(self, body: bytes) -> str:
        return f" ({_fields_of(_load(body))})"

    def _slow(self, body: bytes) -> tuple[str | bytes, dict[str, Any]]:
        record = _load(body)
        if not isinstance(record, dict):
            raise RecordError(f"{describe(record)}, not a JSON object; one object per line is expected")
        return self._chosen(record)

    def _chosen(self, record: dict[str, Any]) -> tuple[str | bytes, dict[str, Any]]:
        texts = []
        for field in self.text_fields:
            text = lookup(record, field)
            if text is MISSING:
                raise RecordError(f"no text field {field!r} ({_fields_of(record)}){_suggestion(record)}")
            if not isinstance(text, str):
                raise RecordError(f"the text field {field!r} is {describe(text)}, not a string")
            texts.append(text)
        return joined(texts), {name: lookup(record, name) for name in self._names}

    def _fast_decoder(self) -> Callable[[bytes], tuple[str | bytes, dict[str, Any]] | None] | None:
        try:
            import msgspec
        except ImportError:
            return None
        every = (*self.text_fields, *self._names)
        if any(character in name for name in every for character in ('"', "\\")):  # which msgspec does not rename to
            return None
        if len(self.text_fields) > 1 or any("." in name for name in every):
            return self._fast_lookup(msgspec)
        (text_field,) = self.text_fields
        names = [name for name in self._names if name != text_field]
        attributes = [f"f{i}" for i in range(len(names))]
        layout: list[Any] = [("text", str), *((name, Any, MISSING) for name in attributes)]
        rename = {"text": text_field, **dict(zip(attributes, names, strict=True))}
        struct = msgspec.defstruct("Line", layout, rename=rename, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        pairs = tuple(zip(names, attributes, strict=True))
        same = text_field if text_field in self._names else None

        def fast(body: bytes) -> tuple[str | bytes, dict[str, Any]] | None:
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

    def _fast_lookup(self, msgspec: Any) -> Callable[[bytes], tuple[str | bytes, dict[str, Any]] | None]:
        """Return a decoder of the fields that a record is looked into for, alone; what it refuses is for `_slow`."""
        wanted = (*self.text_fields, *self._names)
        names = list(dict.fromkeys([*wanted, *(first for name in wanted for first, _ in splits(name))]))
        attributes = {name: f"f{i}" for i, name in enumerate(names)}
        struct = msgspec.defstruct("Line", [(attribute, Any, MISSING) for attribute in attributes.values()],
                                   rename={attribute: name for name, attribute in attributes.items()}, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        ways = {name: (attributes[name], [(attributes[first], rest) for first, rest in splits(name)]) for name in wanted}
        texts, others = [ways[name] for name in self.text_fields], [(name, *ways[name]) for name in self._names]

        def get(line: Any, attribute: str, inner: list[tuple[str, str]]) -> Any:  # as `lookup`
            value = getattr(line, attribute)
            for top, rest in inner if value is MISSING else ():
                value = lookup(getattr(line, top), rest)
                if value is not MISSING:
                    break
            return value

        def fast(body: bytes) -> tuple[str | bytes, dict[str, Any]] | None:
            try:
                if not body.isascii():
                    body.decode()
                line: Any = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            found = [get(line, attribute, inner) for attribute, inner in texts]
            if not all(isinstance(text, str) for text in found):
                return None
            return joined(found), {name: get(line, attribute, inner) for name, attribute, inner in others}

        return fast


def _load(body: bytes) -> Any:
    """The verdict of the standard module on one line."""
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
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _whole_file(text: str) -> str:
    if text.strip() in ("{", "[", "[{"):
        return " (one JSON object per line is expected, not one document over many lines)"
    return ""


def _fields_of(record: Any) -> str:
    names = sorted(str(name) for name in record) if isinstance(record, dict) else []
    if not names:
        return "the record has no fields"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"the record has: {', '.join(names[:12])}{more}"


def _suggestion(record: dict[str, Any]) -> str:
    """Suggest the longest string of a record, which is most likely its text, if it is more than a word."""
    strings = [(len(value), name) for name, value in _strings(record, "", 3) if " " in value.strip()]
    return f"; use --text-field {max(strings)[1]}" if strings else ""


def _strings(record: dict[str, Any], before: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield (field, value) of the strings of a record, and of objects in it, so deep at most."""
    for name, value in record.items():
        if isinstance(value, str):
            yield f"{before}{name}", value
        elif isinstance(value, dict) and depth > 1:
            yield from _strings(value, f"{before}{name}.", depth - 1)
