"""``ndcore store stats``, ``check``, ``repair``, ``export``, ``compact``, ``expire`` and ``merge``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, refused, run, text
from store_commands import PAGES, made

from ndcore.store import log as log_module
from ndcore.store.store import Store


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = made(tmp_path / "s")
    capsys.readouterr()
    return path


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert run("store", *words) == 0
    return capsys.readouterr().out


def reasonjson(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    return json.loads(told(capsys, *words, "--json"))


def test_stats(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = reasonjson(capsys, "stats", store)
    assert (found["store"], found["documents"], found["clusters"]) == (store, 5, 3)
    out = told(capsys, "stats", store)
    assert out.startswith(f"{store}\n  documents ")
    assert re.search(r"^  shingles +of 5 tokens, unit word$", out, re.MULTILINE)
    assert "secret" not in out
    assert "secret" not in found["settings"]
    assert found["settings"]["shingling"]["width"] == "5"


def test_check(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "check", store) == "5 pages; everything is sound\n"
    assert reasonjson(capsys, "check", store)["problems"] == []
    (log,) = Path(store).rglob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert run("store", "check", store) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1].endswith("problems") or out.splitlines()[-1].endswith("1 problem")
    assert len(out.splitlines()) >= 2
    assert run("store", "check", store, "--json") == 1
    assert json.loads(capsys.readouterr().out)["problems"]
    reason = refused(capsys, 1, "store", "compact", store)
    assert re.search(r"it is damaged \(\d+ problems?\), and compaction would lose what cannot be read; ", reason)


def test_repair(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Save a store whose description and log are older than another log of it."""
    nothing = {"store": store, "repaired": False, "live": 5, "reason": None, "problems": [], "kept": [], "copies": None}
    assert reasonjson(capsys, "repair", store) == nothing
    assert "nothing was repaired" in told(capsys, "repair", store)
    shutil.copytree(store, tmp_path / "before")
    with Store.open(store) as found:
        found.compact()
        found.decide("later", text(8), "2024-06-01")
    shutil.copytree(tmp_path / "before", store, dirs_exist_ok=True)
    shutil.copytree(store, tmp_path / "again")
    old = {path: path.read_bytes() for path in Path(store).glob("log-*/*")}
    assert "ndcore store repair" in refused(capsys, 1, "store", "expire", store, "--before", "2024-05-03")
    done = reasonjson(capsys, "repair", store)
    assert (done["repaired"], done["live"], done["problems"], done["kept"]) == (True, 6, [], ["log-0", "log-1"])
    assert "the description is older" in done["reason"]
    assert {path.name for path in Path(store, done["copies"]).iterdir()} == {"store.json", "store.copy.json"}
    assert old.items() <= {path: path.read_bytes() for path in Path(store).glob("log-*/*")}.items()
    assert reasonjson(capsys, "repair", store) == {**nothing, "live": 6}
    with Store.open(store, read_only=True) as found:
        assert found.text("later") == text(8)
    out = told(capsys, "repair", tmp_path / "again")
    assert re.search(r"^Saved 6 pages, with 0 problems\. The old logs stay \(.*\): log-0, log-1; ", out, re.MULTILINE)


def test_repair_names_what_is_lost(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Save a store whose log lacks a file."""
    monkeypatch.setattr(log_module, "ROTATE", 1)
    with Store.open(store) as found:
        for i in (8, 9):
            found.decide(i, text(i), i)
    Path(store, "log-0", "00000001.log").unlink()
    reason = refused(capsys, 1, "store", "compact", store)
    assert "00000001.log of the log are missing" in reason
    assert "ndcore store repair" in reason
    done = reasonjson(capsys, "repair", store)
    assert done["live"] == len(PAGES) + 1
    assert any("00000001.log" in problem for problem in done["problems"])
    assert done["kept"] == ["log-0"]
    with Store.open(store, read_only=True) as found:
        assert found.check() == []
        assert found.stats()["lost"] > 0


def test_expire_and_compact(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "expire", store, "--before", "2024-05-03") == "Removed 2 pages; the store has 3 pages\n"
    assert reasonjson(capsys, "expire", store, "--before", "2024-05-03") == {"store": store, "removed": 0, "live": 3}
    with Store.open(store, read_only=True) as found:
        assert [page["key"] in found for page in PAGES] == [False, False, True, True, True]
    sizes = reasonjson(capsys, "compact", store)
    assert sizes["live"] == 3
    assert sizes["bytes_after"] == sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())
    assert " became " in told(capsys, "compact", store)
    gone = str(PAGES[0]["key"]).encode()
    assert not any(gone in path.read_bytes() for path in Path(store).rglob("*") if path.is_file())
    assert "--before" in refused(capsys, 2, "store", "expire", store)


def test_merge(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Merge a store with a copy of a page, a new version of a page, and a new page."""
    pages = [{"key": "copy", "text": text(1), "date": "2024-06-01"},
             {"key": PAGES[2]["key"], "text": text(6), "date": "2024-06-02"},
             {"key": "new", "text": text(8), "date": "2024-06-03"}]
    other = made(tmp_path / "o", pages)
    capsys.readouterr()
    assert told(capsys, "merge", store, other) == "5 pages and 3 pages became 7 pages\n"
    with Store.open(store, read_only=True) as found:
        assert found.cluster("copy") == [PAGES[0]["key"], PAGES[1]["key"], "copy"]
        assert [one.change for one in found.history(PAGES[2]["key"])] == [None, "other"]
    assert reasonjson(capsys, "merge", store, other) == {"store": store, "before": 7, "other": 3, "live": 7}
    assert run("store", "create", tmp_path / "char", "-q", "--unit", "char") == 0
    assert "the same settings" in refused(capsys, 1, "store", "merge", store, tmp_path / "char")
    assert "is the same store" in refused(capsys, 2, "store", "merge", store, store)


def test_a_store_is_not_read_as_documents(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(text(1))
    Path(store).rename(tmp_path / "docs" / "s")
    assert run("dedup", tmp_path / "docs", "-o", tmp_path / "out", "-q") == 0
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert account["ignored"] == [{"path": str(tmp_path / "docs" / "s"), "kind": "store of ndcore"}]
    told = refused(capsys, 2, "dedup", tmp_path / "docs" / "s", "-o", tmp_path / "out2")
    assert "is a store of ndcore store" in told


def test_quiet(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = made(tmp_path / "o", [{"key": "x", "text": text(4), "date": "2024-06"}])
    capsys.readouterr()
    for words in (("compact", store), ("repair", store), ("expire", store, "--before", "2024-05"), ("merge", store, other)):
        assert told(capsys, *words, "-q") == ""
    (tmp_path / "p.jsonl").write_bytes(jsonl([{"id": "y", "text": text(5)}]))
    assert told(capsys, "decide", store, tmp_path / "p.jsonl", "-q") == ""


def test_export(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert "the key 7 is of type int" in refused(capsys, 1, "store", "export", store, tmp_path / "all")
    pages = made(tmp_path / "pages", PAGES[:4])
    capsys.readouterr()
    assert re.fullmatch(r"Exported 4 pages, [0-9.]+ KB, to .*all\n", told(capsys, "export", pages, tmp_path / "all"))
    assert "all exists already; name another directory" in refused(capsys, 2, "store", "export", pages, tmp_path / "all")
    told_more = reasonjson(capsys, "export", pages, tmp_path / "named", "--name", "east")
    assert (told_more["copy"], told_more["pages"]) == (str(tmp_path / "named"), 4)
    rows = pq.read_table(tmp_path / "named").to_pylist()
    assert [(row["store"], row["key"]) for row in rows] == [("east", page["key"]) for page in PAGES[:4]]
    none = made(tmp_path / "none", PAGES[:1], "--evidence", "sketch")
    capsys.readouterr()
    assert "so it keeps no texts" in refused(capsys, 1, "store", "export", none, tmp_path / "more")
