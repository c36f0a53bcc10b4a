"""``ndcore serve``: a real process is started, asked, and ended; what cannot be served is refused."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import RUN, refused, run, text, tree

import ndcore as nd
from ndcore.serve.tokens import TokenFile
from ndcore.store.store import Store

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "collection"
    nd.Collection.build(path, [text(1), text(1), text(2)], ["a", "b", "c"])
    return path


class Served:
    """A process that serves, and its address."""

    def __init__(self, *arguments: object) -> None:
        command = [*RUN, "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"http://([0-9.]+):(\d+)/", self.said)
        assert found, self.process.communicate()
        self.host, self.port = found[1], int(found[2])

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        asked = http.client.HTTPConnection(self.host, self.port, timeout=30)
        asked.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = asked.getresponse()
        return answer.status, answer.read()

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


@pytest.fixture
def served(made: Path) -> Iterator[Served]:
    process = Served(made)
    yield process
    process.process.kill()
    process.process.communicate()


def test_a_process_is_asked_and_ended(served: Served) -> None:
    assert served.said == f"collection is at http://127.0.0.1:{served.port}/ (Ctrl-C ends it)\n"
    status, page = served.ask("/")
    assert status == 200 and b"Paste a text" in page
    status, told = served.ask("/api/document?key=b")
    assert status == 200 and [member["key"] for member in json.loads(told)["cluster"]["members"]] == ["a", "b"]
    status, told = served.ask("/api/peek", "POST", text(1).encode(), Content_Type="text/plain")
    assert status == 200 and [each["key"] for each in json.loads(told)["resembling"]] == ["a", "b"]
    assert served.ask("/", Host="evil.example")[0] == 421
    assert served.ask("/", Origin="http://evil.example")[0] == 403
    assert served.ask("/../../etc/passwd")[0] == 404
    assert served.ask("/document?key=" + "x" * 100_000)[0] == 404
    code, said = served.end(signal.SIGINT)
    assert (code, said) == (130, "ndcore: interrupted; the server has stopped\n")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no /proc here")
def test_it_listens_on_this_computer_only(served: Served) -> None:
    lines = [
        line.split()[1]
        for name in ("tcp", "tcp6")
        if Path(f"/proc/net/{name}").exists()
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    assert {line.partition(":")[0] for line in lines if line.endswith(f":{served.port:04X}")} == {"0100007F"}
    assert served.end(signal.SIGTERM)[0] == 128 + signal.SIGTERM


def test_a_client_that_sends_nonsense(served: Served) -> None:
    for sent in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /peek HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        b"x" * 400_000,
    ):
        with socket.create_connection((served.host, served.port), timeout=10) as raw:
            try:
                raw.sendall(sent)
                assert b" 200 " not in raw.recv(100)
            except ConnectionError:
                pass
    assert served.ask("/")[0] == 200


def test_a_store_that_is_written_meanwhile(tmp_path: Path) -> None:
    with Store.open(tmp_path / "crawl", threshold=0.5) as store:
        store.decide("a", text(1), "2026-01-02")
        process = Served(tmp_path / "crawl")
        try:
            assert json.loads(process.ask("/api/about")[1])["documents"] == 1
            store.decide("b", text(1), "2026-01-03")
            store.flush()
            told = json.loads(process.ask("/api/locate?key=a")[1])
            assert told == {"key": "a", "located": "b", "date": "2026-01-03T00:00:00Z"}
            before = tree(tmp_path)
            for path in ("/", "/document?key=a", "/clusters", "/compare?a=a&b=b"):
                assert process.ask(path)[0] == 200
            assert process.ask("/api/peek", "POST", text(1).encode(), Content_Type="text/plain")[0] == 200
            assert tree(tmp_path) == before  # nothing was written
        finally:
            process.end(signal.SIGTERM)


def test_the_address_as_json(made: Path) -> None:
    process = Served(made, "--json")
    try:
        assert json.loads(process.said) == {
            "url": f"http://127.0.0.1:{process.port}/",
            "kind": "collection",
            "name": "collection",
        }
    finally:
        process.end(signal.SIGTERM)


def test_what_is_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "neither a store nor a collection" in refused(capsys, 1, "serve", tmp_path)
    assert "other computers" in refused(capsys, 2, "serve", made, "--host", "0.0.0.0")
    assert "--port" in refused(capsys, 2, "serve", made, "--port", "70000")
    assert "is not a size" in refused(capsys, 2, "serve", made, "--max-text", "x")
    assert "--timeout" in refused(capsys, 2, "serve", made, "--timeout", "0")
    with socket.create_server(("127.0.0.1", 0)) as used:
        assert "--port 0" in refused(capsys, 1, "serve", made, "--port", used.getsockname()[1])


def test_the_extra_is_named(made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert refused(capsys, 1, "serve", made) == "ndcore serve needs uvicorn: pip install 'ndcore[serve]'"


def test_help_does_not_need_the_extra(made: Path) -> None:
    code = (
        "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None; "
        "from ndcore.cli.main import main; main(['serve', '-h'])"
    )
    done: Any = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), timeout=60
    )
    assert done.returncode == 0 and "STORE|COLLECTION" in done.stdout


def test_a_token_is_printed_once_and_its_file_is_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "tokens"
    assert run("token", place, "crawler", "--scope", "write", "--scope", "read") == 0
    token = capsys.readouterr().out.strip()
    assert token not in place.read_text() and TokenFile(place).check([f"Bearer {token}"], "read") == "crawler"
    assert run("token", place, "other", "--scope", "admin", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == {"name", "token"}
    for arguments, words in ((("crawler", "--scope", "read"), "already"), (("a b", "--scope", "read"), "not accepted"),
                             (("x",), "--scope"), (("x", "--scope", "root"), "none of read, write, admin")):  # fmt: skip
        assert words in refused(capsys, 2, "token", place, *arguments)


def test_options_of_the_server_that_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.open(tmp_path / "crawl").close()
    assert run("token", tmp_path / "tokens", "crawler", "--scope", "write") == 0
    capsys.readouterr()
    for option in ("--tokens", "--tls-certificate", "--tls-key", "--proxy", "--backups", "--log"):
        assert f"{option} needs --write" in refused(capsys, 2, "serve", tmp_path / "crawl", option, "x")
    assert "ndcore token" in refused(capsys, 2, "serve", "--write", tmp_path / "crawl")
    words = refused(capsys, 1, "serve", "--write", tmp_path / "none", "--tokens", tmp_path / "tokens")
    assert "ndcore store create" in words
