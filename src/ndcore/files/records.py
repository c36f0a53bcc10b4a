"""Records with fields, in any format: select fields, look them up, and refuse invalid ones."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ndcore.files.errors import DocumentError
from ndcore.text.inputs import as_bytes

MISSING: Any = object()
ANNOTATION = "ndcore"  # the field of JSON that annotation adds
ANNOTATION_COLUMNS = (
    "ndcore_class", "ndcore_representative", "ndcore_representative_file", "ndcore_representative_line",
    "ndcore_resemblance", "ndcore_score", "ndcore_cluster_size", "ndcore_lost", "ndcore_against",
)


class Record(NamedTuple):
    """A document as read.

    Attributes
    ----------
    number : int or None
        Its line, row or record, counted from 1; None for a file that is one document.
    text : str or bytes
    id : str, int or None
    values : tuple
        The other requested fields.
    size : int
        About the bytes of the record; for HTML, of the page.
    offset : int or None
        The offset in the file, for a record of an archive.
    date : datetime or None
        The date of capture, for a record of an archive.
    """

    number: int | None
    text: str | bytes
    id: str | int | None
    values: tuple[Any, ...]
    size: int
    offset: int | None = None
    date: datetime.datetime | None = None


class RecordError(ValueError):
    """A record cannot be a document; the message is the reason alone."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of records that are read. `lookup` defines how a name is understood.

    Attributes
    ----------
    text : tuple of str
        Several fields make one text, each on a line of its own, in this order; a record must have all of them. No fields:
        the text of every record is empty, and only `others` are read.
    id : str
    require_id : bool
        A record without `id` is an error.
    others : tuple of str
        Other fields to return. A missing field is an error, unless it is `optional`: then its value is None.
    optional : frozenset of str
    as_written : frozenset of str
        Others whose CSV cells stay text even if they look like numbers.
    annotated : bool
        Refuse records that already have a field that annotation adds.
    named_by : (str, str)
        The options that name `text` and `id`, for messages.
    """

    text: tuple[str, ...] = ("text",)
    id: str = "id"
    require_id: bool = False
    others: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    as_written: frozenset[str] = frozenset()
    annotated: bool = False
    named_by: tuple[str, str] = ("--text-field", "--id-field")

    def __post_init__(self) -> None:
        if not (self.text or self.others) or len(set(self.text)) < len(self.text):
            raise ValueError(f"text_field is one field or several different ones, got {self.text!r}")


def check_id(value: Any, fields: Fields) -> str | int | None:
    """Return `value` if it can be an id, None if a record has no id and needs none.

    Raises
    ------
    RecordError
        A required id is missing, or it is neither a string nor an integer.
    """
    if value is MISSING:
        if fields.require_id:
            raise RecordError(f"no id field {fields.id!r}")
        return None
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RecordError(f"the id field {fields.id!r} is {describe(value)}; an id is a string or an integer")


def describe(value: Any) -> str:
    """Describe a JSON value in a few words, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 40 else shown[:37] + '...'}"


def check_columns(path: str, names: Sequence[str], columns: Mapping[str, str], fields: Fields) -> None:
    """Raise DocumentError if a table lacks a column, has one twice, or has one that annotation adds.

    Parameters
    ----------
    path : str
        The file, for messages.
    names : sequence of str
        The columns of the table.
    columns : mapping
        Maps each field that the table has to its column.
    fields : Fields
    """
    present = f"the file has: {', '.join(names)}"
    id_field = [fields.id] if fields.require_id or fields.id in columns else []
    required = [name for name in fields.others if name not in fields.optional]
    for name in dict.fromkeys([*fields.text, *id_field, *required]):
        if name not in columns:
            option = fields.named_by[0] if name in fields.text else fields.named_by[1] if name == fields.id else ""
            hint = f"; name the right one with {option}" if option else ""
            raise DocumentError(path, None, f"no column {name!r} ({present}){hint}")
        if names.count(columns[name]) > 1:
            raise DocumentError(path, None, f"{names.count(columns[name])} columns are called {columns[name]!r}")
    for name in ANNOTATION_COLUMNS if fields.annotated else ():
        if name in names:
            raise DocumentError(path, None, f"has a column {name!r} already; rename it, or leave out --annotate")


def lookup(record: Any, field: str) -> Any:
    """Look up the value of a field, or MISSING; ``a.b`` is the field of that name, or else ``b`` of an object ``a``.

    >>> lookup({"a": {"b": "inside"}}, "a.b"), lookup({"a": {"b": "inside"}, "a.b": "of that name"}, "a.b")
    ('inside', 'of that name')
    """
    if not isinstance(record, dict):
        return MISSING
    if field in record:
        return record[field]
    for first, rest in split_field(field):
        if first in record and (value := lookup(record[first], rest)) is not MISSING:
            return value
    return MISSING


def split_field(field: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to split a field at one of its dots, the longest first part first."""
    at = field.rfind(".")
    while at >= 0:
        yield field[:at], field[at + 1 :]
        at = field.rfind(".", 0, at)


def join_texts(texts: Sequence[str | bytes]) -> str | bytes:
    """Join the texts of several fields by newlines; the result is bytes if one of them is."""
    if len(texts) == 1:
        return texts[0]
    if all(isinstance(text, str) for text in texts):
        return "\n".join(texts)  # type: ignore[arg-type]
    return b"\n".join(map(as_bytes, texts))
