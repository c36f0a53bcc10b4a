"""Messages: what is sent arrives, and hostile bytes end in ValueError or ConnectionError, with little memory."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
import tracemalloc

import pytest

from ndcore.store.verdict import Verdict, Version
from ndcore.store.wire import (
    MOST_JSON,
    MOST_TEXTS,
    key_of,
    plain_key,
    plain_verdict,
    plain_version,
    receive,
    send,
    verdict_of,
    version_of,
)


def sent(data):
    """Receive bytes from a connection that then ends."""
    a, b = socket.socketpair()
    with a, b:
        thread = threading.Thread(target=lambda: (a.sendall(data), a.shutdown(socket.SHUT_WR)))
        thread.start()
        try:
            return receive(b)
        finally:
            thread.join()


def test_a_message_by_hand():
    text = b'{"call":"x"}'
    data = struct.pack("<IIII", len(text), 2, 3, 0) + text + b"one"
    assert sent(data) == ({"call": "x"}, [b"one", b""])
    assert sent(b"") is None


def test_what_is_sent_arrives():
    a, b = socket.socketpair()
    content, texts = {"key": "\ud800 é", "n": [1, None, 0.1]}, [b"", b"x" * 3_000_000, b"\xff\x00"]
    with a, b:
        thread = threading.Thread(target=send, args=(a, content, texts))
        thread.start()
        assert receive(b) == (content, texts)
        thread.join()
        with pytest.raises(ValueError, match="send fewer pages at once"):
            send(a, {}, [b""] * (MOST_TEXTS + 1))


def test_keys_verdicts_and_versions_come_back():
    for key in ("a", "\ud800", b"\x00\xff", b"", 7, -(1 << 63), None):
        assert key_of(json.loads(json.dumps(plain_key(key)))) == key
    verdict = Verdict(b"k", "near", 7, "x", 0.1, 1 / 3, 1.0, "other", -5, False)
    assert verdict_of(json.loads(json.dumps(plain_verdict(verdict)))) == verdict
    version = Version(5, None, 0.1)
    assert version_of(json.loads(json.dumps(plain_version(version)))) == version
    for hostile in (True, 1.5, [], {"bytes": "?"}, {"bytes": 7}, {"bytes": "", "more": 1}):
        with pytest.raises(ValueError, match="key"):
            key_of(hostile)


@pytest.mark.parametrize("data", [
    struct.pack("<II", MOST_JSON + 1, 0), struct.pack("<II", 2, MOST_TEXTS + 1),
    struct.pack("<IIII", 2, 2, 0xFFFFFFFF, 0xFFFFFFFF), struct.pack("<II", 4, 0) + b"\xff\xfe\x00{",
    struct.pack("<II", 2, 0) + b"[]", struct.pack("<II", 100_000, 0) + b"[" * 100_000,
])
def test_hostile_messages_are_refused(data):
    with pytest.raises(ValueError, match=r"message|texts"):
        sent(data)


@pytest.mark.parametrize("data", [b"\x01", struct.pack("<II", 2, 1), struct.pack("<II", 5, 0) + b"{}",
                                  struct.pack("<III", 2, 1, 7) + b"{}short"])
def test_connections_that_end(data):
    with pytest.raises(ConnectionError, match="ended within a message"):
        sent(data)


def test_memory_grows_with_what_arrives():
    tracemalloc.start()
    with pytest.raises(ConnectionError):
        sent(struct.pack("<III", 2, 1, 1 << 30) + b"{}" + b"x" * 100)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_random_bytes():
    chance = random.Random(1)
    for _ in range(300):
        data = struct.pack("<II", chance.randrange(40), chance.randrange(3)) + chance.randbytes(chance.randrange(60))
        with pytest.raises((ValueError, ConnectionError)):
            sent(data)
