"""The table of routes, from which the pages, the JSON API and its OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ndcore.serve import answers
from ndcore.serve.keys import KINDS
from ndcore.serve.refusal import Refused

STORE, COLLECTION = "store", "collection"


@dataclass(frozen=True)
class Parameter:
    """A value of a request.

    Attributes
    ----------
    name : str
    about : str
    kind : "key", "text", "integer" or "choice"
        A key is also a word of a key; a text is only in the body of a request.
    required : bool
    default : int, optional
    least, most : int
        Of an integer.
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
        """Return the value of a request. Raises Refused if it is not accepted."""
        if self.kind == "integer":
            return self._integer(value)
        if self.kind == "choice" and value not in self.choices:
            raise Refused(400, f"{self.name} is one of {', '.join(self.choices)}, got {value!r:.80}")
        if self.kind == "text" and not isinstance(value, (str, bytes)):
            raise Refused(400, f"{self.name} is a text, got {value!r:.80}")
        return value

    def _integer(self, value: Any) -> int:
        accepted = f"{self.name} is a whole number from {self.least} to {self.most}"
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            raise Refused(400, f"{accepted}, got {value!r:.80}")
        return value


@dataclass(frozen=True)
class Route:
    """A page, ``/name``, and beside it ``/api/name``, which answers the same as JSON.

    Attributes
    ----------
    name : str
        The page of "about" is ``/``. The method of this name of a source answers.
    about : str
    answer : type
        A dataclass of `ndcore.serve.answers`.
    parameters : tuple of Parameter
        Of the query; of the body where `posted`.
    posted : bool
        The method is POST: a text does not fit in an address. No route changes anything.
    kinds : tuple of str
        The kinds of sources that have this route.
    """

    name: str
    about: str
    answer: type
    parameters: tuple[Parameter, ...] = ()
    posted: bool = False
    kinds: tuple[str, ...] = (STORE, COLLECTION)

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return "POST" if self.posted else "GET"

    @property
    def page(self) -> str:
        """Path of the page."""
        return "/" if self.name == "about" else f"/{self.name}"

    @property
    def api(self) -> str:
        """Path of the JSON."""
        return f"/api/{self.name}"

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
                continue  # an empty field of a form
            values[name] = known[name].checked(value)
        for parameter in self.parameters:
            if parameter.required and parameter.name not in values:
                raise Refused(400, f"the parameter {parameter.name} is missing: {parameter.about}")
        return values


def _kind_of_key(name: str, of: str) -> Parameter:
    return Parameter(name, f"what {of} is; without it a str, or else the int that it writes. Bytes are written in "
                     "hexadecimal", "choice", choices=KINDS)


LEAST = Parameter("least", "fewest documents of a cluster; 1 lists documents that stand alone, too", "integer", default=2,
                  most=1_000_000_000)
KEY = (Parameter("key", "key of a document", "key", required=True), _kind_of_key("kind", "key"))
PAGE = Parameter("page", "page of the list", "integer", default=1, most=100_000)
VERSIONS = Parameter("versions", "page of the list of versions", "integer", default=1, most=100_000)
SIZE = Parameter("size", "most entries of a list", "integer", default=50, most=500)
SIDES = (Parameter("a", "key of text A", "key"), _kind_of_key("a_kind", "a"), Parameter("b", "key of text B", "key"),
         _kind_of_key("b_kind", "b"))
TEXTS = tuple(Parameter(f"text_{side}", f"text {side.upper()} itself, instead of its key", "text") for side in ("a", "b"))

ROUTES = (
    Route("about", "what is served, with its settings and statistics", answers.About),
    Route("peek", "the verdict on a text, which is not kept: its representative, cluster and differences",
          answers.Peeked, (
              Parameter("text", "the text", "text", required=True),
              Parameter("key", 'URL of the text, for a store with scope="host"', "key"),
              Parameter("differences", "1: mark the differences to the representative", "integer", default=0, least=0),
              PAGE, SIZE,
          ), posted=True),
    Route("document", "a key: its cluster, where its content was seen last, its versions and its text",
          answers.DocumentAnswer, (*KEY, PAGE, VERSIONS, SIZE)),
    Route("clusters", "clusters, with their first documents", answers.Clusters, (LEAST, PAGE, SIZE)),
    Route("history", "versions of a key: dates, resemblances, real changes and lexical ones", answers.History,
          (*KEY, VERSIONS, SIZE), kinds=(STORE,)),
    Route("locate", "lost and found: the document of the cluster of a key that was seen last", answers.Located, KEY,
          kinds=(STORE,)),
    Route("compare", "the marked differences of two stored texts", answers.Compared, SIDES, kinds=(STORE,)),
    Route("compare", "the marked differences of two texts, stored or given", answers.Compared, (*SIDES, *TEXTS), posted=True,
          kinds=(STORE,)),
)


def routes_of(kind: str) -> list[Route]:
    """Return the routes of a store or of a collection."""
    return [route for route in ROUTES if kind in route.kinds]


def paths_of(kind: str) -> Mapping[str, list[Route]]:
    """Group the routes by name: the methods of a path."""
    paths: dict[str, list[Route]] = {}
    for route in routes_of(kind):
        paths.setdefault(route.name, []).append(route)
    return paths
