"""Requests of other hosts and other sites get no answer, and every answer has safe headers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from served import URL, problem, store_client

from ndcore.serve.guard import HEADERS, read_host


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return store_client(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765", "[::1]", "127.0.0.1:9"])
def test_this_computer(asked: Any, host: str) -> None:
    for path in ("/", "/api/about", "/openapi.json"):
        assert asked.get(path, headers={"host": host}).status_code == 200
        assert asked.get(path, headers={"host": host, "origin": f"http://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost:x",
        "192.168.0.1",
        "0.0.0.0:8765",
        "",
        "[::]:8765",
        "localhost@evil.example",
        "127.0.0.1:8765:1",
        "127.1",
        "[::1].evil",
    ],
)
def test_other_hosts(asked: Any, host: str) -> None:
    """By DNS rebinding, a name of another site leads to this server."""
    for path in ("/", "/document?key=a", "/unknown"):
        found = asked.get(path, headers={"host": host})
        assert found.status_code == 421 and "crawl" not in found.text
    problem(asked.get("/api/about", headers={"host": host}), 421)
    problem(asked.post("/api/peek", json={"text": "x"}, headers={"host": host}), 421)


def test_two_hosts_and_none(asked: Any) -> None:
    from ndcore.serve.guard import LOCAL, check_request
    from ndcore.serve.refusal import Refused

    for headers in (
        [],
        [(b"host", b"localhost"), (b"host", b"evil.example")],
        [(b"host", b"localhost"), (b"Host", b"localhost")],
    ):
        with pytest.raises(Refused) as refused:
            check_request(headers, LOCAL)
        assert refused.value.status == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:9999",
        "http://localhost:8765",
        "",
        "http://127.0.0.1:8765.evil.example",
        "file://",
    ],
)
def test_other_origins(asked: Any, origin: str) -> None:
    for found in (
        asked.get("/", headers={"origin": origin}),
        asked.post("/peek", data={"text": "x"}, headers={"origin": origin}),
    ):
        assert found.status_code == 403 and "crawl" not in found.text
    problem(asked.get("/api/about", headers={"origin": origin}), 403)


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("x", 403)]
)
def test_sites(asked: Any, site: str, status: int) -> None:
    """Another server of this computer is "same-site"."""
    assert asked.get("/", headers={"sec-fetch-site": site}).status_code == status
    assert asked.get("/api/about", headers={"sec-fetch-site": site}).status_code == status


def test_every_answer_has_safe_headers(asked: Any) -> None:
    answers = [
        asked.get("/"),
        asked.get("/api/about"),
        asked.get("/openapi.json"),
        asked.get("/unknown"),
        asked.get("/api/unknown"),
        asked.put("/"),
        asked.get("/", headers={"host": "evil.example"}),
        asked.get("/document?key=x"),
        asked.head("/"),
        asked.post("/peek", data={"text": "a b c"}),
        asked.post("/api/peek", content=b"x", headers={"content-type": "x"}),
    ]
    for found in answers:
        for name, value in HEADERS:
            assert found.headers[name] == value
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert ("script-src 'sha256-" in policy) == found.headers["content-type"].startswith("text/html")
        assert "server" not in found.headers and not any(name.startswith("access-control") for name in found.headers)


def test_names_of_hosts() -> None:
    assert [read_host(host) for host in ("A:1", "a", "[::1]", "[::1]:2", "a:", "a:b", ":1", "")] == [
        "a",
        "a",
        "[::1]",
        "[::1]",
        "",
        "",
        "",
        "",
    ]
    assert URL.endswith("8765")
