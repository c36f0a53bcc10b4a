"""Connections that send nothing, or trickle, are closed in time, and hold up no other."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from writing import Serving, make_store, make_tokens

import ndcore as nd

pytest.importorskip("uvicorn")

SECONDS = 1.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, dict[str, str]]]:
    place: Path = tmp_path_factory.mktemp("served")
    tokens = make_tokens(place / "tokens")
    serving = Serving(make_store(place / "store"), place / "tokens", "--timeout", str(SECONDS))
    yield serving, tokens
    serving.end()


def connect(serving: Serving) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", serving.port), timeout=30)
    return made


def trickle(connection: socket.socket, content: bytes, step: float = 0.1) -> float:
    """Send a byte from time to time until the server closes; return the seconds until then."""
    begun = time.monotonic()
    for i in range(len(content)):
        try:
            connection.sendall(content[i : i + 1])
        except OSError:
            break
        connection.settimeout(step)
        try:
            if connection.recv(1 << 16) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 100])
def test_a_head_that_does_not_come_ends_the_connection(served: tuple[Serving, dict[str, str]], head: bytes) -> None:
    serving, _ = served
    with connect(serving) as connection:
        if head:
            assert trickle(connection, head) < 10 * SECONDS
        else:
            begun = time.monotonic()
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b""
            assert time.monotonic() - begun < 10 * SECONDS


def test_a_second_request_that_trickles_ends_the_connection(served: tuple[Serving, dict[str, str]]) -> None:
    serving, _ = served
    with connect(serving) as connection:
        connection.sendall(b"GET /api/about HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"401" in connection.recv(1 << 16)
        assert trickle(connection, b"GET /api/about HTTP/1.1\r\n" + b"x: y\r\n" * 100) < 10 * SECONDS


def test_a_body_after_a_refusal_ends_the_connection(served: tuple[Serving, dict[str, str]]) -> None:
    serving, _ = served
    with connect(serving) as connection:
        connection.sendall(b"POST /api/decide HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n")
        assert trickle(connection, b"x" * 1000) < 10 * SECONDS


def test_a_body_that_trickles_is_refused(served: tuple[Serving, dict[str, str]]) -> None:
    serving, tokens = served
    for route, kind in (("decide", "application/json"), ("decide-many", "application/x-ndjson")):
        with connect(serving) as connection:
            connection.sendall(f"POST /api/{route} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {tokens['write']}\r\n"
                               f"content-type: {kind}\r\ncontent-length: 100000\r\n\r\n".encode())
            assert trickle(connection, b'{"key": "' + b"x" * 1000) < 10 * SECONDS


def test_connections_that_send_nothing_make_room(tmp_path: Path) -> None:
    tokens = make_tokens(tmp_path / "tokens")
    serving = Serving(make_store(tmp_path / "store"), tmp_path / "tokens")
    idle = [connect(serving) for _ in range(600)]
    try:
        with nd.ServiceClient(serving.url, tokens["all"], tries=1) as client:
            assert client.decide("a", "one two three").key == "a"
    finally:
        serving.end()
        for connection in idle:
            connection.close()


def test_who_does_not_read_is_left(served: tuple[Serving, dict[str, str]]) -> None:
    """Answers fill the connection of a client that sends requests and reads nothing; it is closed."""
    serving, _ = served
    with connect(serving) as connection:
        connection.settimeout(10 * SECONDS)
        begun = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - begun < 10 * SECONDS:
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 20)
                time.sleep(0.1)
        assert time.monotonic() - begun < 10 * SECONDS


def test_a_server_stops_whoever_does_not_read(tmp_path: Path) -> None:
    make_tokens(tmp_path / "tokens")
    serving = Serving(make_store(tmp_path / "store"), tmp_path / "tokens", "--timeout", "3")
    with connect(serving) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n" * 100)
        time.sleep(0.5)
        begun = time.monotonic()
        assert "Traceback" not in serving.end()
        assert time.monotonic() - begun < 25
