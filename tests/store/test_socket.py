"""A store over its socket: private, without pickle, and alive whatever clients send."""

from __future__ import annotations

import os
import socket
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.store.client import ClientSession
from ndcore.store.session import StoreSession
from ndcore.store.socket import CALLS, address, check_private
from ndcore.store.wire import receive, send


@pytest.fixture
def store(tmp_path):
    with opened(tmp_path, **settings()) as made:
        made.listen()
        yield made


def connected(store):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with address(store.path / "socket") as found:
        connection.connect(found)
    return connection


def test_the_directory_is_private(store):
    assert stat.S_IMODE((store.path / "socket").stat().st_mode) == 0o700
    (store.path / "socket").chmod(0o755)
    with pytest.raises(PermissionError, match="mode 0700"):
        nd.StoreClient(store.path)
    store.listen().close()
    with pytest.raises(PermissionError, match="mode 0700"):
        store.listen()
    (store.path / "socket").chmod(0o700)
    with store.listen() as listener:
        assert store.listen() is listener
        nd.StoreClient(store.path).close()
    assert listener.closed and not (store.path / "socket" / "s").exists()


def test_a_link_in_place_of_the_directory(tmp_path):
    with opened(tmp_path, **settings()) as made:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        (made.path / "socket").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(PermissionError):
            made.listen()
    check_private(tmp_path / "elsewhere")


def test_the_store_ends_the_listener(tmp_path):
    with opened(tmp_path, **settings()) as made:
        listener = made.listen()
        client = nd.StoreClient(made.path)
        assert client.decide("a", TEXT).kept
    assert listener.closed
    with pytest.raises(ConnectionError, match="decide it again"):
        client.decide("b", TEXT)
    with pytest.raises(ConnectionError, match=r"no process listens for this store; call listen\(\)"):
        client.decide("b", TEXT)
    with opened(tmp_path) as made, made.listen():
        assert client.decide("b", TEXT).of == "a"  # a new connection
        client.close()


def test_a_socket_of_a_process_that_was_killed(tmp_path):
    program = ("import sys, os, signal, ndcore as nd\ns = nd.Store.open(sys.argv[1])\ns.listen()\n"
               "os.kill(os.getpid(), signal.SIGKILL)")
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=False, timeout=60)
    assert (tmp_path / "store" / "socket" / "s").exists()
    with pytest.raises(ConnectionError, match="no process listens"):
        nd.StoreClient(tmp_path / "store")
    with opened(tmp_path) as made, made.listen(), nd.StoreClient(made.path) as client:
        assert len(client) == 0


def test_a_long_path(tmp_path):
    place = tmp_path.joinpath(*["directory of a long name"] * 6)
    place.mkdir(parents=True)
    with opened(place, **settings()) as made, made.listen(), nd.StoreClient(made.path) as client:
        assert len(os.fsencode(made.path)) > 108 and client.decide("a", TEXT).kept


def test_other_processes_write(store):
    program = """
import sys, ndcore as nd
with nd.StoreClient(sys.argv[1]) as client:
    for i in range(20):
        client.decide(f"{sys.argv[2]} {i}", f"page {i} of everyone, with words {i * 7} that {i * 13} differ {i * 31}")
"""
    children = [subprocess.Popen([sys.executable, "-c", program, str(store.path), str(name)]) for name in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert len(store) == 60 and len(list(store.clusters())) == 20 and store.check() == []


def test_hostile_calls_end_in_errors_and_the_store_goes_on(store):
    hostile = [
        {}, {"call": 7}, {"call": "__init__"}, {"call": "close"}, {"call": "decide"}, {"call": "decide", "arguments": "ab"},
        *({"call": call, "arguments": arguments} for call, arguments in (
            ("decide", {"fields": {"key": "a"}}), ("decide", ["a"]), ("decide", [[1], "x"]), ("decide", ["a", 7]),
            ("decide", ["a", {"str": 0}, {"date": 1 << 200}]), ("decide", ["a", {"str": 1}]), ("decide", ["a", {"raw": -1}]),
            ("decide", ["a", "x", {"date": "x"}]), ("decide", ["a", "x", None, None]), ("decide_many", []),
            ("decide_many", [7]), ("decide_many", [[1]]), ("decide_many", [[["a", True]]]), ("decide_many", [[], 1 << 40]),
            ("remove", ["missing"]), ("expire", []), ("expire", ["x"]), ("cluster", [{"bytes": "?"}]),
            ("cluster", [{"bytes": "", "more": 1}]), ("history", [1 << 70]), ("text", [None]), ("commit", []),
            ("discard", []), ("collapse", [7]), ("collapse", [["a"], 5]), ("collapse", [["a"], "rank", "b"]),
            ("collapse", [["a"], [None]]), ("collapse", [{"collapsed": [1]}]), ("peek", ["x", {"pickle": ""}]),
            ("clusters", ["two"]))),
        {"call": "decide", "session": 7, "arguments": ["a", "x"]},
    ]
    with connected(store) as connection:
        for content in hostile:
            send(connection, content, [b"\xff"])
            answer = receive(connection)
            assert answer is not None and "error" in answer.content, content
        send(connection, {"call": "__len__", "arguments": []})
        assert receive(connection).content == {"value": 0, "more": False}
        connection.sendall(struct.pack("<II", 5, 0) + b"junk!")
        assert "not JSON" in receive(connection).content["message"]
        assert receive(connection) is None
    with connected(store) as connection:
        connection.sendall(b"\x01")
    with connected(store) as connection:  # leaves before the answer
        send(connection, {"call": "clusters", "arguments": []})
    with nd.StoreClient(store.path) as client:
        assert client.decide("a", TEXT).kept
    assert "pickle" not in Path(nd.store.socket.__file__).read_text().replace("without pickle", "")


def test_all_calls_are_methods_of_a_client():
    local = {"adecide", "backup", "carry", "check", "checkpoint_problem", "classes", "compact", "decide_requests", "export",
             "failure", "listen", "merge", "pages", "path", "prepare_requests", "refresh", "repaired",
             "settings"}  # fmt: skip
    for here, there in ((nd.Store, nd.StoreClient), (StoreSession, ClientSession)):
        public = {name for name in dir(here) if not name.startswith("_")} - local - {"open"}
        assert public == {name for name in dir(there) if not name.startswith("_")}
        assert public - {"close", "session"} <= set(CALLS)


def test_closing_waits_for_the_call_that_is_answered(store):
    began, go = threading.Event(), threading.Event()
    decide = store.decide

    def slow(*arguments):
        began.set()
        assert go.wait(30)
        return decide(*arguments)

    store.decide = slow
    client, found = nd.StoreClient(store.path), []
    asking = threading.Thread(target=lambda: found.append(client.decide("a", TEXT)))
    asking.start()
    assert began.wait(30)
    closing = threading.Thread(target=store.listen().close)
    closing.start()
    go.set()
    closing.join(30)
    asking.join(30)
    assert found[0].kept
    del store.decide
