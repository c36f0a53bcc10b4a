"""What is asked of a store or a collection: the parts that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ndcore._types import Text
from ndcore.report.comparison import as_text
from ndcore.report.model import truncate
from ndcore.serve.answers import ListPage, TextExcerpt

__all__ = ["EXCERPT", "Asked", "ServedSource", "excerpt", "one_page"]

Asked = Mapping[str, Any]  # the values of a request by name, checked by the table of routes

EXCERPT = 5_000  # characters or bytes of a text beside its key

T = TypeVar("T")


class ServedSource(Protocol):
    """What is served. Each method answers the route of its name; a collection answers fewer routes."""

    kind: str
    name: str


def one_page(entries: Sequence[T], asked: Asked, number: str = "page") -> tuple[list[T], ListPage]:
    """Return the entries of the page that is asked for, and which page that is."""
    page, size = asked.get(number, 1), asked["size"]
    part = list(entries[(page - 1) * size : page * size])
    return part, ListPage(page, size, len(entries), page * size < len(entries))


def excerpt(text: Text | None) -> TextExcerpt | None:
    """Return the beginning of a text."""
    if text is None:
        return None
    part = truncate(text, EXCERPT)
    return TextExcerpt(as_text(part), len(text), "byte" if isinstance(text, bytes) else "character", len(part) < len(text))
