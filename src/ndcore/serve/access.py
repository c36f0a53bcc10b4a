"""Who may ask a server that writes: the holder of a token, over TLS, through a proxy that has it, or from this computer."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from ndcore.serve.refusal import Refused
from ndcore.serve.tokens import TokenFile


class TokenAccess:
    """Check the token of each request, and the proxy that it came through.

    Parameters
    ----------
    tokens : TokenFile
    proxies : iterable of str
        Addresses of trusted proxies, which speak TLS with clients and say so in the header X-Forwarded-Proto. If there are
        any, requests from other addresses are refused.
    """

    def __init__(self, tokens: TokenFile, proxies: Iterable[str] = ()) -> None:
        self._tokens, self._proxies = tokens, frozenset(proxies)

    def check(self, scope: MutableMapping[str, Any], needed: str) -> str:
        """Return the name of the token of a request. Raises Refused unless the token allows the scope `needed`."""
        given: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.lower(), []).append(value.decode("latin-1"))
        if self._proxies:
            client = scope.get("client") or ("an unknown address",)
            if client[0] not in self._proxies:
                raise Refused(403, f"the request comes from {client[0]}, and this server answers its proxy only")
            if given.get(b"x-forwarded-proto") != ["https"]:
                raise Refused(403, "the proxy does not say that the client spoke TLS with it (X-Forwarded-Proto: https)")
        return self._tokens.check(given.get(b"authorization", []), needed)
