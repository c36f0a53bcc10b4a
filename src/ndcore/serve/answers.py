"""The answers of the server: one dataclass for each route, sent as JSON or rendered as a page.

The annotation of a field holds its description, from which `ndcore.serve.openapi` makes the OpenAPI document.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from json.encoder import encode_basestring
from typing import Annotated, Any, Protocol, TypeVar

from ndcore._types import Text
from ndcore.files.json_values import to_json
from ndcore.report.comparison import DocumentComparison, as_json, as_text
from ndcore.report.model import truncate
from ndcore.report.plain_values import plain
from ndcore.serve.keys import Key
from ndcore.store.keys import key_as_json

_EPOCH = dt.datetime(1970, 1, 1)  # in UTC


@dataclass(frozen=True)
class ListPage:
    """One page of a long list."""

    number: Annotated[int, "number of the page, from 1"]
    size: Annotated[int, "most entries of a page"]
    total: Annotated[int | None, "entries of the whole list; null where they are not counted"]
    more: Annotated[bool, "whether another page follows"]


@dataclass(frozen=True)
class About:
    """The store or collection that is served."""

    kind: Annotated[str, "store or collection"]
    name: Annotated[str, "name of its directory"]
    documents: Annotated[int, "live documents"]
    settings: Annotated[dict[str, Any], "what decides its verdicts"]
    figures: Annotated[dict[str, Any], "its statistics"]


@dataclass(frozen=True)
class ClusterMember:
    """A document of a cluster."""

    key: Annotated[Key, "key of the document"]
    versions: Annotated[int | None, "versions of the key; null in a collection"]
    date: Annotated[str | None, "date of its last version; null in a collection"]
    verdict: Annotated[str | None, "class of the document and its representative; null in a store"]
    resemblance: Annotated[float | None, "Jaccard similarity to the representative, estimated; null in a store"]


@dataclass(frozen=True)
class Cluster:
    """The cluster of a document, the representative first."""

    representative: Annotated[Key, "key of the document that stands for the cluster"]
    documents: Annotated[int, "documents in the cluster"]
    members: Annotated[list[ClusterMember], "one page of its documents"]
    page: Annotated[ListPage, "which page"]


@dataclass(frozen=True)
class ListedCluster:
    """A cluster in a list."""

    representative: Annotated[Key, "key of the document that stands for the cluster"]
    documents: Annotated[int, "documents in the cluster"]
    members: Annotated[list[Key], "keys of its first documents, the representative first"]


@dataclass(frozen=True)
class Clusters:
    """A list of clusters."""

    clusters: Annotated[list[ListedCluster], "one page: of a store in its order, of a collection the largest first"]
    page: Annotated[ListPage, "which page"]


@dataclass(frozen=True)
class ComparedVersion:
    """A version of a page, compared with the one before."""

    number: Annotated[int, "from 1, in the order of acknowledgement"]
    date: Annotated[str | None, "when the version was seen, ISO 8601"]
    change: Annotated[str | None, "unchanged, lexical, near or other; null for the first version"]
    real: Annotated[bool | None, "false: no change, or one of markup, case or punctuation only; null for the first version"]
    resemblance: Annotated[float | None, "Jaccard similarity to the version before; null for the first, or without shingles"]


@dataclass(frozen=True)
class History:
    """Versions of a key, the latest first."""

    key: Annotated[Key, "key of the document"]
    versions: Annotated[list[ComparedVersion], "one page of the versions"]
    page: Annotated[ListPage, "which page"]


@dataclass(frozen=True)
class Located:
    """Where the content of a key was seen last, under this key or another one."""

    key: Annotated[Key, "key that was asked for"]
    located: Annotated[Key, "of the documents of its cluster, the one whose last version has the latest date"]
    date: Annotated[str | None, "that date, ISO 8601"]


@dataclass(frozen=True)
class OverallAnswer:
    """What the last run over many stores said of a document."""

    verdict: Annotated[str, "kept, identical, lexical, shingle, near, contained or chained"]
    of: Annotated[Key | None, "key of the representative over all stores; null where the document represents itself"]
    store: Annotated[str | None, "name of the store of the representative; null where it was not named"]
    resemblance: Annotated[float | None, "Jaccard similarity to it; null where there is none"]
    run: Annotated[str, "name of the run"]
    date: Annotated[str | None, "when it ran, ISO 8601"]
    here: Annotated[bool, "whether the representative was in the same store"]


@dataclass(frozen=True)
class TextExcerpt:
    """The beginning of a text."""

    text: Annotated[str, "the beginning; bytes that are not UTF-8 as \\xNN"]
    length: Annotated[int, "length of the whole text"]
    unit: Annotated[str, "of the length: character or byte"]
    cut: Annotated[bool, "whether the text goes on"]


@dataclass(frozen=True)
class Match:
    """A document of a collection that resembles a text; estimates from sketches."""

    key: Annotated[Key, "id of the document"]
    resemblance: Annotated[float, "Jaccard similarity to the text"]
    text_in_document: Annotated[float, "containment of the text in the document"]
    document_in_text: Annotated[float, "containment of the document in the text"]
    cluster: Annotated[Key, "id of the document that stands for its cluster"]


@dataclass(frozen=True)
class DocumentAnswer:
    """A document: its cluster, versions and text, or the documents that resemble it."""

    key: Annotated[Key, "key of the document"]
    cluster: Annotated[Cluster, "the first page of its cluster"]
    located: Annotated[Located | None, "lost and found; null in a collection"]
    history: Annotated[History | None, "the first page of its versions; null in a collection"]
    overall: Annotated[OverallAnswer | None, "what the last run over many stores said of it; null where none did"]
    text: Annotated[TextExcerpt | None, "its text; null where none is stored"]
    resembling: Annotated[list[Match] | None, "documents that resemble it; null in a store"]


@dataclass(frozen=True)
class TextJudgement:
    """The verdict on a text that is not kept."""

    verdict: Annotated[str, "kept (new), identical, lexical, shingle or near"]
    of: Annotated[Key | None, "key of the representative; null where the text is new"]
    equal: Annotated[Key | None, "key of the first document with the same text"]
    resemblance: Annotated[float | None, "Jaccard similarity to the representative"]
    contained: Annotated[float | None, "containment of the text in the representative"]
    containing: Annotated[float | None, "containment of the representative in the text"]
    exact: Annotated[bool, "false: estimated from sketches"]


@dataclass(frozen=True)
class PageDecision:
    """The verdict on a page, which is kept and on disk."""

    key: Annotated[Key, "key of the page, in its normal form"]
    verdict: Annotated[str, "kept (new), identical, lexical, shingle or near"]
    of: Annotated[Key | None, "key of the representative; null where the page is kept"]
    equal: Annotated[Key | None, "key of the first page with the same text"]
    resemblance: Annotated[float | None, "Jaccard similarity to the representative"]
    contained: Annotated[float | None, "containment of the page in the representative"]
    containing: Annotated[float | None, "containment of the representative in the page"]
    version: Annotated[str | None, "unchanged, lexical, near or other, against the last version; null for a new key"]
    date: Annotated[str | None, "when the page was seen, ISO 8601"]
    exact: Annotated[bool, "false: resemblance and containments are estimated"]
    place: Annotated[int, "position of its record in the log; decisions are ordered by it"]
    repeated: Annotated[bool, "whether the idempotency key had this answer before, and nothing was written"]


@dataclass(frozen=True)
class Seen:
    """What became of a page that is gone."""

    known: Annotated[bool, "whether the store has the page"]


@dataclass(frozen=True)
class Removed:
    """The number of pages that were removed."""

    pages: Annotated[int, "how many"]


@dataclass(frozen=True)
class StoredText:
    """The text of the last version of a page."""

    text: Annotated[Key, "the text; bytes in hexadecimal"]


@dataclass(frozen=True)
class BackedUp:
    """A copy of the store."""

    name: Annotated[str, "name of its directory, in the directory of backups"]


@dataclass(frozen=True)
class Compared:
    """Two texts with their marked differences, as `ndcore compare --json` prints them."""

    found: Annotated[DocumentComparison, "the comparison"]


@dataclass(frozen=True)
class Peeked:
    """The verdict on a text that is not kept, or the documents of a collection that resemble it."""

    judgement: Annotated[TextJudgement | None, "its verdict; null in a collection"]
    cluster: Annotated[Cluster | None, "the first page of the cluster that it belongs to; null where it is new"]
    located: Annotated[Located | None, "where this content was seen last; null where it is new"]
    resembling: Annotated[list[Match] | None, "documents that resemble it, most similar first; null in a store"]
    differences: Annotated[Compared | None, "marked differences to the representative, if asked for and its text is stored"]


def encode(answer: Any) -> bytes:
    """Encode an answer as JSON. The verdict on a page takes half the time of `_JSON`, which must ask what a dataclass is."""
    kind: type = type(answer)
    names, template = _layout(kind)
    try:
        if template is not None:
            return (template % tuple([_SCALARS[type(value)](value) for value in [getattr(answer, name) for name in names]])
                    ).encode()
    except (KeyError, UnicodeEncodeError):  # a nested value, or a surrogate
        pass
    try:
        return _JSON.encode(answer).encode()
    except UnicodeEncodeError:
        return to_json(answer, default=_plain)


def _write_float(value: float) -> str:
    """Write a float as JSON, nan as null."""
    if value != value:
        return "null"
    return repr(value) if math.isfinite(value) else _JSON.encode(value)


_SCALARS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring, int: repr, float: _write_float, bool: {False: "false", True: "true"}.__getitem__,
    type(None): lambda _: "null",
}


def _plain(value: Any) -> Any:
    """Convert one level of a value to JSON types; the encoder calls this again for nested values."""
    if isinstance(value, Compared):
        return as_json(value.found)
    if isinstance(value, bytes):
        return key_as_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _finite(getattr(value, name)) for name in _layout(type(value))[0]}
    return plain(value)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)  # slow to make


@functools.cache
def _layout(kind: type) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the fields of a dataclass, and the template of its JSON; no names and None for other types."""
    if not is_dataclass(kind):
        return (), None
    names = tuple(each.name for each in fields(kind))
    return names, "{" + ", ".join(f'"{name}": %s' for name in names) + "}"


def _finite(value: Any) -> Any:
    """Replace nan by None."""
    return None if isinstance(value, float) and value != value else value


def write_iso(date: Any) -> str | None:
    """Format microseconds since 1970, or a datetime, as ISO 8601 in UTC; None for None or a date out of range."""
    if date is None:
        return None
    try:
        if isinstance(date, dt.datetime):
            moment = date.astimezone(dt.UTC).replace(tzinfo=None)
        else:
            moment = _EPOCH + dt.timedelta(microseconds=date)
        return moment.isoformat() + "Z"
    except (OverflowError, ValueError, TypeError):
        return None


Values = Mapping[str, Any]  # the values of a request by name, checked by the table of routes

EXCERPT = 5_000  # characters or bytes of a text beside its key

T = TypeVar("T")


class ServedSource(Protocol):
    """The interface of a served store or collection: each method answers the route of its name."""

    kind: str
    name: str


def cut_page(entries: Sequence[T], values: Values, number: str = "page") -> tuple[list[T], ListPage]:
    """Cut the requested page out of a list; return its entries, number and size."""
    page, size = values.get(number, 1), values["size"]
    part = list(entries[(page - 1) * size : page * size])
    return part, ListPage(page, size, len(entries), page * size < len(entries))


def cut_excerpt(text: Text | None) -> TextExcerpt | None:
    """Return the beginning of a text."""
    if text is None:
        return None
    part = truncate(text, EXCERPT)
    return TextExcerpt(as_text(part), len(text), "byte" if isinstance(text, bytes) else "character", len(part) < len(text))
