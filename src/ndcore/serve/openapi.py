"""Make the OpenAPI document from the table of routes and the fields of the answers.

OpenAPI Specification 3.1: https://spec.openapis.org/oas/v3.1.0
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from ndcore._version import __version__
from ndcore.serve import answers
from ndcore.serve.arrow_bodies import COLUMNS, REQUIRED
from ndcore.serve.bodies import ARROW, FORM, JSON, LINES, PLAIN
from ndcore.serve.routes import WRITTEN, Parameter, Route, paths_of

REFUSALS = {
    "400": "the request is at fault", "403": "the request comes from another site", "404": "there is nothing of this name",
    "413": "the text is too large", "415": "the body is of a kind that is not accepted",
    "421": "the request names another host", "503": "the server is busy, or the answer takes too long",
}
REFUSALS_OF_WRITES = {
    "401": "the server does not know the token", "403": "the token allows something else",
    "406": "a key does not fit in the answer in Arrow", "408": "a line or a message did not come in time",
    "422": "the idempotency key was used for another page", "429": "too many pages wait; Retry-After says when to ask again",
    "507": "the disk is full, and the page is not kept",
}
KEY = {"description": 'str, int, or {"bytes": "…"} in hexadecimal',
       "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object", "properties": {"bytes": {"type": "string"}},
                                                           "required": ["bytes"], "additionalProperties": False}]}
PROBLEM = {
    "type": "object", "description": "Why there is no answer (RFC 9457).", "required": ["title", "status", "detail"],
    "properties": {"type": {"type": "string", "description": "urn:ndcore:unknown-key: the store has no such page"},
                   "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"}},
}
BASE64 = {"type": "object", "properties": {"base64": {"type": "string"}}, "required": ["base64"],
          "additionalProperties": False}
COMPARED = {"type": "object", "description": "As ndcore compare --json prints it: verdict, figures, and the passages of "
            "both texts with their places.", "required": ["verdict", "resemblance", "containment", "a", "b"]}


def openapi(kind: str) -> dict[str, Any]:
    """Return the OpenAPI document of a server of a store or of a collection."""
    schemas: dict[str, Any] = {"Problem": PROBLEM, "Key": KEY, "Compared": COMPARED}
    written = kind == WRITTEN
    refusals = {**REFUSALS, **REFUSALS_OF_WRITES} if written else REFUSALS
    paths = {
        routes[0].api: {route.method.lower(): _describe_operation(route, schemas, refusals, written) for route in routes}
        for routes in paths_of(kind).values()
    }
    about = ("A crawler asks it about every page, and it keeps them." if written else "reads only, on this computer only.")
    tokens = {"token": {"type": "http", "scheme": "bearer", "description": "a token that ndcore token made"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"ndcore serve: a {kind}", "version": __version__,
                 "description": f"Near-duplicates of a crawl: {about}"},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items())), **({"securitySchemes": tokens} if written else {})},
    }


def _describe_operation(
    route: Route, schemas: dict[str, Any], refusals: dict[str, str], written: bool
) -> dict[str, Any]:
    """Describe one route. written: include the scope of its tokens."""
    described: dict[str, Any] = {"operationId": f"{route.method.lower()}_{route.name}", "summary": route.about}
    if written:
        described["security"] = [{"token": [route.scope]}]
    if route.posted:
        described["requestBody"] = {"required": True, "content": _describe_bodies(route)}
    else:
        described["parameters"] = [
            {"name": p.name, "in": "query", "required": p.required, "description": p.about,
             "schema": _describe_value(p, "query")}
            for p in route.parameters
        ]
    problem = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    answer = {LINES[0] if route.streamed else JSON: {"schema": make_schema(route.answer, schemas)}}
    if route.streamed:
        answer[ARROW] = _describe_arrow(f"The columns are the fields of {route.answer.__name__}, and error, a string: null "
                                        "but in the last row of answers that end early, which has the Problem as JSON")
    described["responses"] = {
        "200": {"description": "the answers, one a line or row; where they end early, the last line is {\"error\": Problem}"
                if route.streamed else "the answer", "content": answer},
        **{status: {"description": words, **problem} for status, words in sorted(refusals.items())},
    }
    return described


def _describe_bodies(route: Route) -> dict[str, Any]:
    """Describe the bodies that a route accepts."""
    required = [p.name for p in route.parameters if p.required]

    def form(where: str) -> dict[str, Any]:
        fields = {p.name: {**_describe_value(p, where), "description": p.about} for p in route.parameters}
        return {"schema": {"type": "object", "properties": fields, "additionalProperties": False,
                           **({"required": required} if required else {})}}

    if route.streamed:
        columns = "; ".join(f"{name}{'' if name in REQUIRED else ' (optional)'}: {', '.join(types)}"
                            for name, types in COLUMNS.items())
        return {**dict.fromkeys(LINES, form("json")), ARROW: _describe_arrow(f"The columns are {columns}")}
    bodies = {JSON: form("json"), FORM: form("query")}
    if any(p.name == "text" for p in route.parameters):
        bodies[PLAIN] = {"schema": {"type": "string", "description": "the text itself, byte for byte"}}
    return bodies


def _describe_arrow(columns: str) -> dict[str, Any]:
    """Describe a stream of Arrow."""
    return {"schema": {"contentMediaType": ARROW, "description": f"Arrow IPC streaming format. {columns}."}}


def _describe_value(p: Parameter, where: str) -> dict[str, Any]:
    """Describe the value of a parameter."""
    if p.kind == "integer":
        default = {} if p.default is None else {"default": p.default}
        return {"type": "integer", "minimum": p.least, "maximum": p.most, **default}
    if p.kind == "choice":
        return {"type": "string", "enum": list(p.choices)}
    if where == "json" and p.kind == "key":
        return {"$ref": "#/components/schemas/Key"}
    others = {"text": BASE64, "date": {"type": "number"}}
    return {"anyOf": [{"type": "string"}, others[p.kind]]} if where == "json" and p.kind in others else {"type": "string"}


def make_schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Make the JSON Schema of the type of a field; a dataclass is added to `schemas` and referred to."""
    if kind is answers.Compared:
        return {"$ref": "#/components/schemas/Compared"}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if kind.__name__ not in schemas:
            schemas[kind.__name__] = {}  # ends the recursion for a class that refers to itself
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
