"""The guard before all routes: it refuses requests for other hosts or from other sites, and adds headers to every answer.

A page of any site can send requests to a server on the reader's computer. By DNS rebinding it can do so under a name of its
own, and then the browser lets it read the answers. Hence the Host of a request must name this computer, and the Origin and
Sec-Fetch-Site of browsers must name this server.
https://www.w3.org/TR/fetch-metadata/, https://owasp.org/www-community/attacks/csrf
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import partial
from typing import Any

from ndcore.serve.refusal import Refused

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOCAL = ("localhost", "127.0.0.1", "[::1]")
OWN = ("same-origin", "none")  # values of Sec-Fetch-Site; none: the reader typed the address
HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),  # with no-referrer, forms would come from the origin "null"
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"  # the policy of JSON


class Guard:
    """ASGI middleware: checks requests, and adds headers to answers.

    Parameters
    ----------
    app : ASGI application
    refuse : callable
        Makes, of a scope and a Refused, the ASGI application that answers with the refusal.
    hosts : iterable of str, or None
        Names of the computer that are accepted beside localhost. None: any name is accepted, but only from programs, not
        from browsers.
    """

    def __init__(self, app: App, refuse: Callable[[Any, Refused], App], hosts: Iterable[str] | None = ()) -> None:
        self.app, self.refuse = app, refuse
        self.check = check_program if hosts is None else partial(check_request, hosts=frozenset((*LOCAL, *hosts)))

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSocket
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _add_headers(message.get("headers", ()))
            await send(message)

        app = self.app
        try:
            self.check(scope["headers"])
        except Refused as error:
            app = self.refuse(scope, error)
        await app(scope, receive, with_headers)


def check_request(headers: Iterable[tuple[bytes, bytes]], hosts: Iterable[str]) -> None:
    """Raise Refused unless a request names this computer, and does not come from another site."""
    given_headers: dict[bytes, list[str]] = {}
    for name, value in headers:
        given_headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
    named = given_headers.get(b"host", [])
    if len(named) != 1 or read_host(named[0]) not in hosts:
        given = ", ".join(named) or "none"
        raise Refused(421, f"the request names the host {given!r:.100}; this server answers as localhost only: open it at "
                           "the address that it printed")
    for origin in given_headers.get(b"origin", []):
        if origin.lower() != f"http://{named[0]}".lower():
            raise Refused(403, f"the request comes from the site {origin!r:.100}; only pages of this server may ask it")
    for site in given_headers.get(b"sec-fetch-site", []):
        if site not in OWN:
            raise Refused(403, f"the request comes from another site ({site!r:.40}); only pages of this server may ask it: "
                               "type its address in the browser")


def check_program(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise Refused if a request comes from a browser, which shows by the header Origin."""
    if any(name.lower() in (b"origin", b"sec-fetch-site") for name, _ in headers):
        raise Refused(403, "the request comes from a browser; this server answers programs only, and ndcore serve without "
                           "--write has pages")


def read_host(host: str) -> str:
    """Return the host name of a Host header in lower case, without the port; empty if the header is not well-formed."""
    name, colon, port = host.rpartition(":")
    if host.endswith("]") or not colon:
        name, port = host, "0"
    return name.lower() if port.isascii() and port.isdigit() else ""


def _add_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add the headers of every answer; a page keeps its own Content-Security-Policy."""
    completed = list(headers)
    names = {name.lower() for name, _ in completed}
    for name, value in (*HEADERS, ("content-security-policy", NOTHING)):
        if name.encode() not in names:
            completed.append((name.encode(), value.encode()))
    return completed
