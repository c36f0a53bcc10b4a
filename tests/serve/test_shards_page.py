"""docs/shards.md: its Python and Java lines run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from writing import Fleet

from ndcore.store.shard_map import ShardMap

PAGE = Path(__file__).parents[2] / "docs" / "shards.md"
if not PAGE.exists():
    pytest.skip("docs are not beside the tests", allow_module_level=True)
BLOCKS = dict(re.findall(r"^```(java|python)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = Fleet(tmp_path, monkeypatch, ["east", "west"], "https://{}.example:8765")
    monkeypatch.setenv("NDCORE_TOKEN", "x")
    exec(BLOCKS["python"], {})
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert said == [[key, "kept", fleet.map.owner(key.split("/")[2])]
                    for key in ("https://forum.example/1", "https://wiki.example/1")]
    assert sum(len(shard.store) for shard in fleet.shards.values()) == 3
    fleet.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_java(tmp_path: Path) -> None:
    made = ShardMap(1, {name: f"https://{name}" for name in "abc"}, bytes(range(16)).hex())
    (tmp_path / "Shard.java").write_text(BLOCKS["java"])
    subprocess.run(["javac", "Shard.java"], cwd=tmp_path, check=True)
    for host in ("news.example", "www.example.org", "xn--bcher-kva.example", "h1.example", "h2.example", "h3.example"):
        told = subprocess.run(["java", "Shard", host], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert told.stdout.strip() == made.owner(host)
