"""Messages: what is sent arrives, and hostile bytes end in ValueError or ConnectionError, with little memory."""

from __future__ import annotations

import datetime as dt
import json
import random
import socket
import struct
import threading
import tracemalloc

import numpy as np
import pytest

import ndcore as nd
from ndcore.store.verdict import Verdict, Version
from ndcore.store.wire import INLINE, MOST_JSON, MOST_TEXTS, plain_of, receive, send, value_of


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


def test_values_come_back():
    long = "\ud800 é" * INLINE
    values = ["a", "\ud800", b"\x00\xff", b"", 7, -(1 << 63), None, True, 0.1, long, long.encode("utf-8", "surrogatepass"),
              Verdict(b"k", "near", 7, long, 0.1, 1 / 3, 1.0, "other", -5, False), Version(5, None, 0.1),
              dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC), {"a": {"bytes": b"x"}, "bytes": 1}, [["a", b"b"], []]]
    texts = []
    plain = json.loads(json.dumps(plain_of(values, texts)))
    assert value_of(plain, texts) == values and len(texts) == 3
    assert type(value_of(plain_of(np.int64(3), []), [])) is int
    for hostile in ({"bytes": "?"}, {"bytes": 7}, {"bytes": "", "more": 1}, {}, {"str": 0}, {"raw": -1}, {"raw": True},
                    {"date": 1.5}, {"verdict": [1]}, {"verdict": 7}, {"fields": []}, {"pickle": "x"}):
        with pytest.raises(ValueError, match="not a value of a message"):
            value_of([hostile], [])
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="not a value of a message"):
        value_of({"fields": {"a": deep}}, [])
    for other in (object(), {1}, nd):
        with pytest.raises(TypeError, match="keys are str, bytes or int"):
            plain_of([other], [])


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
