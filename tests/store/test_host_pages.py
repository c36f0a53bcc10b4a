"""The pages of a host: found, copied with all that a store knows of them, forgotten, and archives that strangers make."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import clock_with
from stores import settings

import ndcore as nd
from ndcore.store import host_pages as module
from ndcore.store.host_pages import HostPages, pack, take_host, unpack
from ndcore.store.labels import Plan

HOST, OTHER = "a.example", "b.example"


@pytest.fixture(params=["text", "shingles", "sketch"])
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[nd.Store]:
    monkeypatch.setattr(module, "READ", 5)
    with nd.Store.open(tmp_path / "store", **settings(scope="host", evidence=request.param)) as made:
        fill(made, 40)
        yield made


def fill(store: nd.Store, count: int, first: int = 0) -> None:
    for i in range(first, first + count):
        store.decide(f"http://{(HOST, OTHER)[i % 2]}:80/{i % 30}", f"one two three four {i % 5} {i // 20}", float(i))
        if i % 7 == 0:
            store.mark_gone(f"http://{(HOST, OTHER)[i % 2]}:80/{i % 30}", i + 0.5)


def content(store: nd.Store, host: str) -> list[Any]:
    keys = [key for members in store.clusters() for key in members if f"/{host}:" in str(key)]
    return [(key, store.history(key), store.cluster(key)) for key in keys]


def test_the_pages_of_a_host_are_found_and_later_ones_added(store: nd.Store) -> None:
    pages = HostPages(store, HOST)
    first = pages.find()
    assert len(first) == 15 and first == sorted(first)
    fill(store, 10, first=40)
    store.remove("http://a.example:80/12")
    again = pages.find()
    assert sorted(store._directory.state.document(n).name for n in again) == sorted(
        f"shttp://a.example:80/{i}".encode() for i in range(0, 30, 2) if i != 12)
    store.compact()  # numbers are others now
    assert len(pages.find()) == len(again) and pages.find() == HostPages(store, HOST).find()
    assert HostPages(store, "none.example").find() == []


def test_a_copy_has_all_that_the_store_knows_of_them(store: nd.Store, tmp_path: Path) -> None:
    before, other = content(store, HOST), content(store, OTHER)
    assert any([v.change for v in history].count("gone") for _, history, _ in before)
    assert any(len(members) > 1 for *_, members in before)
    assert HostPages(store, HOST).copy(tmp_path / "copy") == 15
    pack(tmp_path / "copy", tmp_path / "archive")
    with nd.Store.open(tmp_path / "target", **settings(scope="host", evidence=store.settings.evidence)) as target:
        fill(target, 9)  # pages of both hosts
        kept = content(target, OTHER)
        assert take_host(HostPages(target, HOST), tmp_path / "archive", tmp_path / "unpacked") == 15
        assert content(target, HOST) == before and content(target, OTHER) == kept
        assert target.check() == []
    assert HostPages(store, HOST).forget() == 15
    assert content(store, HOST) == [] and content(store, OTHER) == other and store.check() == []


def test_no_page_gets_another_representative_while_a_host_is_forgotten(
    store: nd.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: list[Any] = []

    def planned(state: Any, numbers: list[int]) -> Plan:
        made = Plan(state, numbers)
        changed.extend(made.changes.changed)
        return made

    monkeypatch.setattr("ndcore.store.directory.Plan", planned)
    HostPages(store, HOST).forget()
    assert changed == []


def test_decisions_go_on_while_a_host_is_forgotten(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two parts, the thread lets another one have the lock."""
    rests: list[float] = []
    clock = clock_with(sleep=lambda seconds: rests.append(seconds) or store.decide(OTHER, "one two"))
    monkeypatch.setattr(module, "time", clock)
    pages = HostPages(store, HOST)
    pages.find()
    rests.clear()
    pages.forget()
    assert len(rests) >= 3


def _archive(place: Path, *members: tuple[str, bytes, Any]) -> Path:
    with tarfile.open(place, "w") as made:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
            else:
                info.linkname = content
                made.addfile(info)
    return place


@pytest.mark.parametrize("member", [
    ("../escaped", tarfile.REGTYPE, b"x"), ("/tmp/escaped-from-an-archive", tarfile.REGTYPE, b"x"),
    ("a/../../escaped", tarfile.REGTYPE, b"x"), ("link", tarfile.SYMTYPE, "/etc/passwd"),
    ("hard", tarfile.LNKTYPE, "store.json"), ("pipe", tarfile.FIFOTYPE, ""), ("folder", tarfile.DIRTYPE, ""),
])  # fmt: skip
def test_archives_have_plain_files_only(tmp_path: Path, member: Any) -> None:
    archive = _archive(tmp_path / "archive", ("store.json", tarfile.REGTYPE, b"{}"), member)
    with pytest.raises(ValueError, match="which is not a file of a store"):
        unpack(archive, tmp_path / "place")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "place"]
    assert [path.name for path in (tmp_path / "place").rglob("*") if path.name != "a"] == ["store.json"]


def test_files_with_holes_are_refused(tmp_path: Path) -> None:
    """A kilobyte of an archive would take a terabyte of disk."""
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.PAX_FORMAT) as made:
        info = tarfile.TarInfo("GNUSparseFile.0/store.json")
        info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "store.json",
                            "GNU.sparse.realsize": str(1 << 20)}
        table = b"0\n".ljust(512, b"\0")
        info.size = len(table)
        made.addfile(info, io.BytesIO(table))
    with pytest.raises(ValueError, match="which is not a file of a store"):
        unpack(tmp_path / "archive", tmp_path / "place")


def test_files_in_the_way_of_others_are_refused(tmp_path: Path) -> None:
    for name, second in enumerate(["a", "a/b", "./a"]):
        archive = _archive(tmp_path / "archive", ("a", tarfile.REGTYPE, b""), (second, tarfile.REGTYPE, b""))
        with pytest.raises(ValueError, match="is there twice, or in the way of another file"):
            unpack(archive, tmp_path / f"place {name}")


def test_archives_that_are_cut_or_none(tmp_path: Path, store: nd.Store) -> None:
    HostPages(store, HOST).copy(tmp_path / "copy")
    pack(tmp_path / "copy", tmp_path / "archive")
    whole, before = (tmp_path / "archive").read_bytes(), content(store, HOST)
    for number, cut in enumerate([b"", b"x" * 2000, whole[:1000], whole[: len(whole) // 2]]):
        (tmp_path / "cut").write_bytes(cut)
        with pytest.raises(ValueError):
            take_host(HostPages(store, HOST), tmp_path / "cut", tmp_path / f"unpacked {number}")
        assert content(store, HOST) == before
    with pytest.raises(ValueError, match=r"15 of the 15 pages in the archive are not of the host 'b.example'"):
        take_host(HostPages(store, OTHER), tmp_path / "archive", tmp_path / "unpacked")


def test_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    archive = _archive(tmp_path / "archive", *((str(i), tarfile.REGTYPE, b"") for i in range(4)))
    with pytest.raises(ValueError, match="'3'"):
        unpack(archive, tmp_path / "place")


def test_stores_of_other_settings_are_refused(tmp_path: Path, store: nd.Store) -> None:
    HostPages(store, HOST).copy(tmp_path / "copy")
    pack(tmp_path / "copy", tmp_path / "archive")
    with (
        nd.Store.open(tmp_path / "target", **settings(width=3, scope="host")) as target,
        pytest.raises(ValueError, match="merged where both have the same settings"),
    ):
        take_host(HostPages(target, HOST), tmp_path / "archive", tmp_path / "unpacked")
