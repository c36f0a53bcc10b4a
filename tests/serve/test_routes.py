"""The table of routes: its values are checked, and nothing in it can change a store."""

from __future__ import annotations

from typing import Any

import pytest

from ndcore.serve.collection_source import CollectionSource
from ndcore.serve.pages import SHOW
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import READ, ROUTES, WRITTEN, Parameter, paths_of, routes_of
from ndcore.serve.store_source import StoreSource
from ndcore.serve.written_source import WrittenSource

NAMED = {(route.name, route.method): route for route in ROUTES}


def test_every_route_has_an_answer_and_a_page() -> None:
    for kind, source in (("store", StoreSource), ("collection", CollectionSource)):
        for route in routes_of(kind):
            assert callable(getattr(source, route.name)) and route.name in SHOW
    assert {route.name for route in ROUTES if route.kinds != (WRITTEN,)} == set(SHOW)
    assert len(NAMED) == len(ROUTES) and len(paths_of("store")) == len(SHOW)
    for route in routes_of(WRITTEN):
        assert callable(getattr(WrittenSource, route.name))


def test_routes_read_only() -> None:
    """POST only carries texts; a store is never asked by a method that writes."""
    for kind in ("store", "collection"):
        assert {route.name for route in routes_of(kind) if route.posted} <= {"peek", "compare"}
        assert {route.scope for route in routes_of(kind)} == {READ}
    names = set(StoreSource._list_members.__code__.co_names) | set(StoreSource.peek.__code__.co_names)
    assert not names & {"decide", "decide_many", "remove", "expire", "compact", "merge", "session", "flush"}


def test_values() -> None:
    route = NAMED["document", "GET"]
    assert route.values([("key", "x")]) == {"key": "x", "page": 1, "versions": 1, "size": 50}
    assert route.values([("key", ""), ("kind", ""), ("page", "3")]) == {"key": "", "page": 3, "versions": 1, "size": 50}
    assert (route.page, route.api, NAMED["about", "GET"].page) == ("/document", "/api/document", "/")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "key is missing"),
        ([("key", "x"), ("kind", "x")], "one of str, int, bytes"),
        ([("y", "x")], "no parameter 'y'"),
        ([("key", "x"), ("page", True)], "whole number"),
        ([("key", "x"), ("page", 1.5)], "whole number"),
        ([("key", "x"), ("page", "9" * 50)], "whole number"),
        ([("key", "x"), ("key", "x")], "twice"),
    ],
)
def test_values_that_are_refused(given: Any, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        NAMED["document", "GET"].values(given)
    assert refused.value.status == 400


def test_a_text_is_text() -> None:
    text = Parameter("text", "", "text")
    assert text.checked(b"x") == b"x" and text.checked("") == ""
    with pytest.raises(Refused):
        text.checked(5)


@pytest.mark.parametrize("value", ["2026-03-01", "20260301", "2026-03-01T12:00:00+02:00", 1.5, 0])
def test_dates(value: Any) -> None:
    assert Parameter("date", "", "date").checked(value) == value


@pytest.mark.parametrize("value", ["2026", "1.5", "1700000000", "now", True, [], {}])
def test_dates_that_are_refused(value: Any) -> None:
    """A string is never taken for a number: 20260301 is a day, and 1700000000 might be one to somebody."""
    with pytest.raises(Refused, match=r"ISO 8601") as refused:
        Parameter("date", "", "date").checked(value)
    assert refused.value.status == 400
