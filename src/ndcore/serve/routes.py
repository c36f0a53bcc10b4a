"""The table of routes: the pages, the JSON API and its OpenAPI document are made from it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ndcore._types import Text
from ndcore.serve import answers
from ndcore.serve.keys import KINDS
from ndcore.serve.refusal import Refused
from ndcore.store.verdict import microseconds

STORE, COLLECTION, WRITTEN = "store", "collection", "written store"  # written: a store that this server writes
READ, WRITE, ADMIN = "read", "write", "admin"  # scopes of tokens
SCOPES = (READ, WRITE, ADMIN)


@dataclass(frozen=True)
class Parameter:
    """A value of a request.

    Attributes
    ----------
    name : str
    about : str
    kind : "key", "text", "integer", "choice", "word" or "date"
        A key may be written as a word (`ndcore.serve.keys`). A text is only in the body of a request. A date is ISO 8601,
        or a JSON number of seconds since 1970.
    required : bool
    default : int, optional
    least, most : int
        Bounds of an integer.
    choices : tuple of str
    """

    name: str
    about: str
    kind: str
    required: bool = False
    default: int | None = None
    least: int = 1
    most: int = 1
    choices: tuple[str, ...] = ()

    def checked(self, value: Any) -> Any:
        """Check and convert a value of a request. Raises Refused if it is not accepted."""
        if self.kind == "integer":
            return self._integer(value)
        if self.kind == "choice" and value not in self.choices:
            raise Refused(400, f"{self.name} is one of {', '.join(self.choices)}, got {value!r:.80}")
        if self.kind == "text":
            return self._text(value)
        if self.kind == "word" and not isinstance(value, str):
            raise Refused(400, f"{self.name} is a string, got {value!r:.80}")
        if self.kind == "date":
            return self._date(value)
        return value

    def _text(self, value: Any) -> Text:
        if isinstance(value, dict) and list(value) == ["base64"]:
            try:
                return base64.b64decode(value["base64"], validate=True)
            except (TypeError, ValueError) as error:
                raise Refused(400, f"{self.name} is not base64: {error}") from None
        if not isinstance(value, (str, bytes)):
            raise Refused(400, f'{self.name} is a string, or bytes as {{"base64": "…"}}, got {value!r:.80}')
        return value

    def _date(self, value: Any) -> str | float:
        try:
            microseconds(value)
        except (TypeError, ValueError) as error:
            raise Refused(400, f"{self.name}: {error}") from None
        return value  # type: ignore[no-any-return]

    def _integer(self, value: Any) -> int:
        accepted = f"{self.name} is a whole number from {self.least} to {self.most}"
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            raise Refused(400, f"{accepted}, got {value!r:.80}")
        return value


@dataclass(frozen=True)
class Route:
    """A page, ``/name``, and ``/api/name``, which gives the same answer as JSON.

    Attributes
    ----------
    name : str
        Also the name of the source's method that answers. The page of "about" is ``/``.
    about : str
    answer : type
        A dataclass of `ndcore.serve.answers`.
    parameters : tuple of Parameter
        Parameters of the query; of the body if `posted`.
    posted : bool
        The method is POST, because a text does not fit in an address, or because the request changes something.
    kinds : tuple of str
        The kinds of sources that have this route.
    scope : "read", "write" or "admin"
        What a token must allow, if the server asks for tokens. Routes of the scope read change nothing.
    streamed : bool
        The body is a stream of `parameters` and the answer a stream of `answer`, as JSON lines or Arrow rows.
    """

    name: str
    about: str
    answer: type
    parameters: tuple[Parameter, ...] = ()
    posted: bool = False
    kinds: tuple[str, ...] = (STORE, COLLECTION, WRITTEN)
    scope: str = READ
    streamed: bool = False

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "POST" if self.posted else "GET"

    @property
    def page(self) -> str:
        """The path of the page."""
        return "/" if self.name == "about" else f"/{self.name}"

    @property
    def api(self) -> str:
        """The path of the JSON."""
        return f"/api/{self.name.replace('_', '-')}"

    def values(self, given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Check the values of a request, and add the defaults.

        Raises
        ------
        Refused
            A name is unknown or repeated, a value is not accepted, or one is missing.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        values: dict[str, Any] = {p.name: p.default for p in self.parameters if p.default is not None}
        seen: set[str] = set()
        for name, value in given:
            if name not in known:
                accepted = ", ".join(known) or "none"
                raise Refused(400, f"there is no parameter {name!r:.80} of {self.name}; accepted: {accepted}")
            if name in seen:
                raise Refused(400, f"the parameter {name} is given twice")
            seen.add(name)
            if value is None or (value == "" and known[name].kind != "text" and not known[name].required):
                continue  # a field of a form was left empty
            values[name] = known[name].checked(value)
        for parameter in self.parameters:
            if parameter.required and parameter.name not in values:
                raise Refused(400, f"the parameter {parameter.name} is missing: {parameter.about}")
        return values


def _kind_of_key(name: str, of: str) -> Parameter:
    return Parameter(name, f"what {of} is; without it a str, or else the int that it writes. Bytes are written in "
                     "hexadecimal", "choice", choices=KINDS)


LEAST = Parameter("least", "fewest documents of a cluster; 1 lists single documents, too", "integer", default=2,
                  most=1_000_000_000)
KEY = (Parameter("key", "key of a document", "key", required=True), _kind_of_key("kind", "key"))
PAGE = Parameter("page", "page of the list", "integer", default=1, most=100_000)
VERSIONS = Parameter("versions", "page of the list of versions", "integer", default=1, most=100_000)
SIZE = Parameter("size", "most entries of a list", "integer", default=50, most=500)
STORES = (STORE, WRITTEN)
TEXT = Parameter("text", "the text", "text", required=True)
PAGE_SEEN = (
    Parameter("key", "key of the page", "key", required=True),
    TEXT,
    Parameter("date", "when the page was fetched; without it, now", "date"),
    Parameter("idempotency_key", "1 to 256 printable characters of ASCII that no other page is sent with: a page that is "
              "sent again gets its first answer. Also the header Idempotency-Key", "word"),
)
SIDES = (Parameter("a", "key of text A", "key"), _kind_of_key("a_kind", "a"), Parameter("b", "key of text B", "key"),
         _kind_of_key("b_kind", "b"))
TEXTS = tuple(Parameter(f"text_{side}", f"text {side.upper()} itself, instead of its key", "text") for side in ("a", "b"))

ROUTES = (
    Route("about", "what is served, with its settings and statistics", answers.About),
    Route("peek", "the verdict on a text, which is not kept: its representative, cluster and differences",
          answers.Peeked, (
              TEXT,
              Parameter("key", 'URL of the text, for a store with scope="host"', "key"),
              Parameter("differences", "1: mark the differences to the representative", "integer", default=0, least=0),
              PAGE, SIZE,
          ), posted=True),
    Route("document", "a key: its cluster, where its content was seen last, its versions, its text, and what a run over "
                      "many stores said", answers.DocumentAnswer, (*KEY, PAGE, VERSIONS, SIZE)),
    Route("clusters", "clusters, with their first documents", answers.Clusters, (LEAST, PAGE, SIZE)),
    Route("history", "versions of a key: dates, resemblances, real changes and lexical ones", answers.History,
          (*KEY, VERSIONS, SIZE), kinds=STORES),
    Route("locate", "lost and found: the document of the cluster of a key that was seen last", answers.Located, KEY,
          kinds=STORES),
    Route("compare", "the marked differences of two stored texts", answers.Compared, SIDES, kinds=STORES),
    Route("compare", "the marked differences of two texts, stored or given", answers.Compared, (*SIDES, *TEXTS), posted=True,
          kinds=STORES),
    Route("text", "the text of the last version of a page", answers.StoredText, KEY, kinds=(WRITTEN,)),
    Route("decide", "the verdict on a page, which is kept and on disk when this answers", answers.PageDecision, PAGE_SEEN,
          posted=True, kinds=(WRITTEN,), scope=WRITE),
    Route("decide_many", "the verdicts on many pages, in their order, one a line or row; each is on disk when it is sent",
          answers.PageDecision, PAGE_SEEN, posted=True, kinds=(WRITTEN,), scope=WRITE, streamed=True),
    Route("seen", "a page is gone: its server answered 404 or 410, or redirected to another page", answers.Seen,
          (*KEY, Parameter("date", "when; without it, now", "date")), posted=True, kinds=(WRITTEN,), scope=WRITE),
    Route("remove", "forget a page with all its versions", answers.Removed, KEY, posted=True, kinds=(WRITTEN,), scope=ADMIN),
    Route("expire", "forget the pages whose last version is older than a date", answers.Removed,
          (Parameter("before", "the date", "date", required=True),), posted=True, kinds=(WRITTEN,), scope=ADMIN),
    Route("backup", "copy the store, as it is now, to the directory of backups of the server", answers.BackedUp,
          posted=True, kinds=(WRITTEN,), scope=ADMIN),
)


def routes_of(kind: str) -> list[Route]:
    """Return the routes of a store or of a collection."""
    return [route for route in ROUTES if kind in route.kinds]


def paths_of(kind: str) -> Mapping[str, list[Route]]:
    """Group the routes by name; the routes of a group have one path and different methods."""
    paths: dict[str, list[Route]] = {}
    for route in routes_of(kind):
        paths.setdefault(route.name, []).append(route)
    return paths
