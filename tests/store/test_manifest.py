"""The description of a store survives damage of either copy, and another format is refused by name."""

from __future__ import annotations

import json

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store import manifest
from ndcore.store.manifest import Manifest, is_store

SETTINGS = {"threshold": 0.8, "scope": None, "shingling": {"unit": "word", "width": 5}}


@pytest.fixture
def made(tmp_path):
    return Manifest.create(tmp_path, SETTINGS, {"log": "log-0"})


def test_it_comes_back(tmp_path, made):
    assert is_store(tmp_path) and len(made.tag) == 4
    assert Manifest.read(tmp_path) == made
    later = made.with_state(tmp_path, log="log-1", more=2)
    assert later.state == {"log": "log-1", "more": 2} and Manifest.read(tmp_path) == later
    assert later.tag == made.tag and later.settings == SETTINGS
    assert Manifest.create(tmp_path, {}, tag=b"1234").tag == b"1234"


def test_a_flipped_byte_anywhere_in_either_copy(tmp_path, made):
    for name in ("store.json", "store.copy.json"):
        content = (tmp_path / name).read_bytes()
        for i in range(len(content)):
            for flip in (0x01, 0x80):
                (tmp_path / name).write_bytes(content[:i] + bytes([content[i] ^ flip]) + content[i + 1 :])
                assert Manifest.read(tmp_path) == made, i
                assert is_store(tmp_path)
        for size in range(0, len(content), 7):
            (tmp_path / name).write_bytes(content[:size])
            assert Manifest.read(tmp_path) == made
        (tmp_path / name).unlink()
        assert Manifest.read(tmp_path) == made
        made.mend(tmp_path)
        assert (tmp_path / name).read_bytes() == content


def test_the_later_copy_is_true(tmp_path, made):
    before = (tmp_path / "store.copy.json").read_bytes()
    later = made.with_state(tmp_path, log="log-1")
    (tmp_path / "store.copy.json").write_bytes(before)  # as a crash between the two leaves them
    assert Manifest.read(tmp_path) == later
    later.mend(tmp_path)
    assert (tmp_path / "store.copy.json").read_bytes() == (tmp_path / "store.json").read_bytes()


def test_what_an_interrupted_creation_leaves(tmp_path):
    for name in ("lock", ".store.json.0123456789abcdef.tmp", ".store.copy.json.0123456789abcdef.tmp"):
        (tmp_path / name).touch()
    assert manifest.is_begun(tmp_path)
    made = Manifest.create(tmp_path, SETTINGS)
    assert not manifest.is_begun(tmp_path)
    made.mend(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["lock", "store.copy.json", "store.json"]


def test_both_damaged(tmp_path, made):
    (tmp_path / "store.json").write_text("{}")
    (tmp_path / "store.copy.json").write_text("[" * 100_000)
    with pytest.raises(CorruptFile, match="not the description of a store"):
        Manifest.read(tmp_path)


def test_no_store(tmp_path):
    assert not is_store(tmp_path) and not is_store(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"holds no store: there is no store\.json"):
        Manifest.read(tmp_path)


def test_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "FORMAT", 2)
    Manifest.create(tmp_path, SETTINGS)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"a store of format 2; this ndcore reads 1: upgrade ndcore"):
        Manifest.read(tmp_path)
    assert json.loads((tmp_path / "store.json").read_text())["ndcore.store"] == 2


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"7", b"\xff", b'{"checksum": 1}', b" " * (2 << 20)])
def test_hostile_descriptions(tmp_path, content):
    (tmp_path / "store.json").write_bytes(content)
    with pytest.raises(CorruptFile):
        Manifest.read(tmp_path)
