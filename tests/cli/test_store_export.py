"""``ndcore store export``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import refused, run
from store_commands import PAGES, made

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from ndcore.spark import Collection


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = made(tmp_path / "s", PAGES[:4])
    Collection.create(tmp_path / "all", id="url")
    Collection.create(tmp_path / "named", id=["store", "url"])
    capsys.readouterr()
    assert run("store", "export", store, tmp_path / "all", tmp_path / "export", "-q") == 0
    assert capsys.readouterr() == ("", "")
    assert run("store", "export", store, tmp_path / "named", tmp_path / "more", "--name", "east", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == 4 and told["bytes"] > 0 and told["export"] == str(tmp_path / "more")
    again = refused(capsys, 2, "store", "export", store, tmp_path / "all", tmp_path / "export", "-q")
    assert again.endswith("export exists already; name another directory")
    assert "no collection of ndcore.spark" in refused(capsys, 1, "store", "export", store, tmp_path, tmp_path / "new", "-q")
    assert "with name=None a page has 1" in refused(
        capsys, 1, "store", "export", store, tmp_path / "named", tmp_path / "new", "-q")


def test_a_store_that_cannot_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Collection.create(tmp_path / "all", id="url")
    mixed, none = made(tmp_path / "mixed"), made(tmp_path / "none", None, "--evidence", "shingles")
    capsys.readouterr()
    for store, message in ((mixed, "the key 7 is of type int"), (none, "so it keeps no texts")):
        assert message in refused(capsys, 1, "store", "export", store, tmp_path / "all", tmp_path / "export", "-q")
    assert not (tmp_path / "export").exists()
