"""The OpenAPI document describes what the server answers: every route, every parameter, every field."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from commands import text
from served import answered, collection_client, store_client

from ndcore.serve.bodies import FORM, JSON
from ndcore.serve.openapi import openapi
from ndcore.serve.routes import routes_of

DOCUMENT = openapi("store")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return store_client(tmp_path_factory.mktemp("store"))


def check(value: Any, schema: dict[str, Any], document: dict[str, Any], place: str = "") -> None:
    """Check a value by the part of JSON Schema that the document uses."""
    if "$ref" in schema:
        check(value, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document, place)
        return
    if "anyOf" in schema:
        failed = []
        for each in schema["anyOf"]:
            try:
                check(value, each, document, place)
                return
            except AssertionError as error:
                failed.append(error)
        raise AssertionError(f"{place}: {failed}")
    kinds = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "object": dict,
        "array": list,
        "null": type(None),
    }
    assert isinstance(value, kinds[schema["type"]]), (place, schema)
    assert not (schema["type"] in ("integer", "number") and isinstance(value, bool)), place
    if schema["type"] == "object":
        assert set(schema.get("required", ())) <= set(value), place
        if schema.get("additionalProperties") is False:
            assert set(value) <= set(schema["properties"]), place
        for name, item in value.items():
            check(
                item,
                schema.get("properties", {}).get(name, {"anyOf": [{"type": kind} for kind in kinds]}),
                document,
                f"{place}.{name}",
            )
    if schema["type"] == "array":
        for item in value:
            check(item, schema.get("items", {"anyOf": [{"type": kind} for kind in kinds]}), document, f"{place}[]")


def schema_of_answer(document: dict[str, Any], path: str, method: str) -> Any:
    return document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]


def references(value: Any) -> set[str]:
    """All that is referred to."""
    if isinstance(value, dict):
        return set().union(
            *map(references, value.values()), {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        )
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_it_is_served(asked: Any, tmp_path: Any) -> None:
    assert answered(asked.get("/openapi.json")) == json.loads(json.dumps(DOCUMENT))
    other = answered(collection_client(tmp_path).get("/openapi.json"))
    assert set(other["paths"]) == {"/api/about", "/api/peek", "/api/document", "/api/clusters"}


@pytest.mark.parametrize("kind", ["store", "collection"])
def test_every_route_is_described(kind: str) -> None:
    document = openapi(kind)
    assert document["openapi"] == "3.1.0" and document["info"]["version"]
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.api, route.method.lower()) for route in routes_of(kind)}
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("method", "path", "request_"),
    [
        ("get", "/api/about", {}),
        ("get", "/api/clusters", {"params": {"size": 1}}),
        ("get", "/api/document", {"params": {"key": "a"}}),
        ("get", "/api/document", {"params": {"key": b"\xffkey".hex(), "kind": "bytes"}}),
        ("get", "/api/history", {"params": {"key": "7x"}}),
        ("get", "/api/locate", {"params": {"key": "a"}}),
        ("get", "/api/compare", {"params": {"a": "a", "b": "near"}}),
        ("post", "/api/compare", {"json": {"a": "a", "text_b": "x"}}),
        ("post", "/api/peek", {"json": {"text": text(1, 1), "differences": 1}}),
        ("post", "/api/peek", {"json": {"text": "new"}}),
    ],
)
def test_answers_are_as_described(asked: Any, method: str, path: str, request_: Any) -> None:
    check(answered(getattr(asked, method)(path, **request_)), schema_of_answer(DOCUMENT, path, method), DOCUMENT)


def test_answers_of_a_collection_are_as_described(tmp_path: Any) -> None:
    asked, document = collection_client(tmp_path), openapi("collection")
    for path in ("/api/about", "/api/clusters", "/api/document?key=a"):
        check(answered(asked.get(path)), schema_of_answer(document, path.partition("?")[0], "get"), document)
    check(
        answered(asked.post("/api/peek", json={"text": text(1)})), schema_of_answer(document, "/api/peek", "post"), document
    )


def test_values_of_bodies_are_described_by_their_kind() -> None:
    """JSON can say more than a query: a key that is an int or bytes, a text in Base64. The rest are strings in both."""
    compared = DOCUMENT["paths"]["/api/compare"]
    bodies = compared["post"]["requestBody"]["content"]
    fields = {kind: bodies[kind]["schema"]["properties"] for kind in (JSON, FORM)}
    assert fields[JSON]["a"]["$ref"] == "#/components/schemas/Key"
    assert fields[JSON]["text_b"]["anyOf"][0] == {"type": "string"}
    assert fields[JSON]["text_b"]["anyOf"][1]["required"] == ["base64"]
    assert fields[FORM]["a"]["type"] == fields[FORM]["text_b"]["type"] == "string"
    assert {p["name"]: p["schema"]["type"] for p in compared["get"]["parameters"]}["a"] == "string"


def test_problems_are_as_described(asked: Any) -> None:
    found = asked.get("/api/document")
    assert str(found.status_code) in DOCUMENT["paths"]["/api/document"]["get"]["responses"]
    check(found.json(), {"$ref": "#/components/schemas/Problem"}, DOCUMENT)


def test_every_field_has_words() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        assert schema["description"]
        for name, field in schema.get("properties", {}).items():
            assert name in ("bytes", "title", "status", "detail") or field["description"], name
