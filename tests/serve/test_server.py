"""A server is bound to this computer only, and opens stores and collections."""

from __future__ import annotations

import gc
import socket
import sys
from pathlib import Path

import pytest
from commands import text

import ndcore as nd

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from ndcore.serve import server
from ndcore.serve.app import Limits
from ndcore.serve.server import bind, check_installed, opened, opened_for_writing, serve_writing, write_url
from ndcore.store.store import Store


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_this_computer(host: str) -> None:
    with bind(host, 0) as bound:
        address, port = bound.getsockname()[:2]
        assert address.startswith("127.") or address == "::1"
        assert write_url(bound) in (f"http://{address}:{port}/", f"http://[{address}]:{port}/")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "8.8.8.8"])
def test_other_addresses_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match=r"can be reached from other computers|not known"):
        bind(host, 0)


def test_a_host_that_is_not_known() -> None:
    with pytest.raises(ValueError, match="not known"):
        bind("no such host", 0)


def test_a_port_in_use() -> None:
    with bind("127.0.0.1", 0) as bound:
        bound.listen()
        with pytest.raises(OSError, match="--port 0"):
            bind("127.0.0.1", bound.getsockname()[1])


def test_ipv6() -> None:
    try:
        bound = bind("::1", 0)
    except (OSError, ValueError):
        pytest.skip("no IPv6 here")
    with bound:
        assert bound.family == socket.AF_INET6 and write_url(bound).startswith("http://[::1]:")


def test_what_is_opened(tmp_path: Path) -> None:
    nd.Collection.build(tmp_path / "made", [text(1), text(2)])
    assert (opened(tmp_path / "made", 1).kind, opened(tmp_path / "made", 1).name) == ("collection", "made")
    with Store.open(tmp_path / "crawl"):
        pass
    assert (opened(tmp_path / "crawl", 1).kind, opened(tmp_path / "crawl", 1).name) == ("store", "crawl")
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="neither a store nor a collection"):
            opened(place, 1)


def test_the_collector_leaves_out_what_is_there_before_the_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(tmp_path / "crawl").close()
    frozen: list[int] = []
    monkeypatch.setattr(server, "run", lambda *_, **__: frozen.append(gc.get_freeze_count()))
    try:
        with bind("127.0.0.1", 0) as bound:
            source = opened_for_writing(tmp_path / "crawl", 1, 60, None)
            serve_writing(source, None, bound, Limits(), lambda url: None)  # type: ignore[arg-type]
        assert frozen[0] > 10_000
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_the_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"ndcore serve needs {missing}: pip install 'ndcore\[serve\]'"):
        check_installed()
