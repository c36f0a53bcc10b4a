"""The OpenAPI document, from the table of routes and the fields of the answers.

OpenAPI Specification 3.1: https://spec.openapis.org/oas/v3.1.0
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from ndcore._version import __version__
from ndcore.serve import answers
from ndcore.serve.routes import Parameter, Route, paths_of

REFUSALS = {
    "400": "the request is at fault", "403": "the request comes from another site", "404": "there is nothing of this name",
    "413": "the text is too large", "415": "the body is of a kind that is not accepted",
    "421": "the request names another host", "503": "the server is busy, or the answer takes too long",
}
KEY = {"description": 'str, int, or {"bytes": "…"} in hexadecimal',
       "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object", "properties": {"bytes": {"type": "string"}},
                                                           "required": ["bytes"], "additionalProperties": False}]}
PROBLEM = {
    "type": "object", "description": "Why there is no answer (RFC 9457).", "required": ["title", "status", "detail"],
    "properties": {"title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}},
}
COMPARED = {"type": "object", "description": "As ndcore compare --json prints it: verdict, figures, and the passages of "
            "both texts with their places.", "required": ["verdict", "resemblance", "containment", "a", "b"]}


def openapi(kind: str) -> dict[str, Any]:
    """Return the OpenAPI document of a server of a store or of a collection."""
    schemas: dict[str, Any] = {"Problem": PROBLEM, "Key": KEY, "Compared": COMPARED}
    paths = {
        routes[0].api: {route.method.lower(): _describe_operation(route, schemas) for route in routes}
        for routes in paths_of(kind).values()
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"ndcore serve: a {kind}", "version": __version__,
                 "description": "Near-duplicates of a crawl: reads only, on this computer only."},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def _describe_operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    """Describe one route."""
    described: dict[str, Any] = {"operationId": f"{route.method.lower()}_{route.name}", "summary": route.about}
    if route.posted:
        described["requestBody"] = {"required": True, "content": _describe_bodies(route)}
    else:
        described["parameters"] = [
            {"name": p.name, "in": "query", "required": p.required, "description": p.about,
             "schema": _describe_value(p, "query")}
            for p in route.parameters
        ]
    problem = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    answer = {"application/json": {"schema": make_schema(route.answer, schemas)}}
    described["responses"] = {
        "200": {"description": "the answer", "content": answer},
        **{status: {"description": words, **problem} for status, words in REFUSALS.items()},
    }
    return described


def _describe_bodies(route: Route) -> dict[str, Any]:
    """Describe the bodies that a route accepts."""
    required = [p.name for p in route.parameters if p.required]

    def form(where: str) -> dict[str, Any]:
        fields = {p.name: {**_describe_value(p, where), "description": p.about} for p in route.parameters}
        return {"schema": {"type": "object", "properties": fields, "additionalProperties": False,
                           **({"required": required} if required else {})}}

    bodies = {"application/json": form("json"), "application/x-www-form-urlencoded": form("query")}
    if any(p.name == "text" for p in route.parameters):
        bodies["text/plain"] = {"schema": {"type": "string", "description": "the text itself, byte for byte"}}
    return bodies


def _describe_value(p: Parameter, where: str) -> dict[str, Any]:
    """Describe the value of a parameter."""
    if p.kind == "integer":
        default = {} if p.default is None else {"default": p.default}
        return {"type": "integer", "minimum": p.least, "maximum": p.most, **default}
    if p.kind == "choice":
        return {"type": "string", "enum": list(p.choices)}
    return {"$ref": "#/components/schemas/Key"} if p.kind == "key" and where == "json" else {"type": "string"}


def make_schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type of a field; a dataclass is added to `schemas`, and referred to."""
    if kind is answers.Compared:
        return {"$ref": "#/components/schemas/Compared"}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in schemas:
            schemas[kind.__name__] = {}  # a reference to itself ends here
            schemas[kind.__name__] = _describe_object(kind, schemas)
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if set(parts) >= {str, int, bytes}:
            key = {"$ref": "#/components/schemas/Key"}
            return {"anyOf": [key, {"type": "null"}]} if type(None) in parts else key
        return {"anyOf": [make_schema(part, schemas) for part in parts]}
    if origin is list:
        return {"type": "array", "items": make_schema(parts[0], schemas)}
    if origin is dict:
        return {"type": "object"}
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return {"type": names[kind]}


def _describe_object(kind: type, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = dataclasses.fields(kind)
    properties = {
        each.name: {**make_schema(hints[each.name].__origin__, schemas), "description": hints[each.name].__metadata__[0]}
        for each in fields
    }
    return {"type": "object", "description": (kind.__doc__ or "").partition("\n")[0], "properties": properties,
            "required": [each.name for each in fields], "additionalProperties": False}
