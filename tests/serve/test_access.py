"""Who may ask a server that writes: tokens, and the proxy that speaks TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ndcore.serve.access import TokenAccess
from ndcore.serve.refusal import Refused
from ndcore.serve.tokens import TokenFile, add_token


def scope(client: Any, **headers: str) -> dict[str, Any]:
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"client": client, "headers": given}


def test_behind_a_proxy(tmp_path: Path) -> None:
    token = add_token(tmp_path / "tokens", "a", ["read"])
    tokens, bearer = TokenFile(tmp_path / "tokens"), f"Bearer {token}"
    TokenAccess(tokens).check(scope(("192.0.2.9", 1), authorization=bearer), "read")
    access = TokenAccess(tokens, ["192.0.2.1"])
    access.check(scope(("192.0.2.1", 1), authorization=bearer, x_forwarded_proto="https"), "read")
    for client, proto, words in ((("192.0.2.2", 1), "https", "192.0.2.2"), (None, "https", "unknown"),
                                 (("192.0.2.1", 1), "http", "TLS")):  # fmt: skip
        with pytest.raises(Refused, match=words) as refused:
            access.check(scope(client, authorization=bearer, x_forwarded_proto=proto), "read")
        assert refused.value.status == 403
    with pytest.raises(Refused, match="TLS"):
        access.check(scope(("192.0.2.1", 1), authorization=bearer), "read")
    with pytest.raises(Refused) as refused:
        access.check(scope(("192.0.2.1", 1), x_forwarded_proto="https"), "read")
    assert refused.value.status == 401
