"""Every block of code in README.md and docs/ runs as it is printed, in order, beside files like those that it names."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from webarchives import INFO, REQUEST, html, http, response, save, warc

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_BY_CI = {"<!-- command: try -->", "<!-- command: test -->"}  # .ci/run reads these two from the page
TALE = """the committee met on Tuesday to discuss the weather of the northern hills while seven wizards quietly boiled a
large pot of vegetable soup for a passing merchant who sold copper bells and woollen blankets"""


class Block(NamedTuple):
    """A fenced block: its language, its text, the line it begins on, and the line before the fence."""

    language: str
    text: str
    line: int
    before: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    language = before = last = ""
    begun, text = 0, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.strip().startswith("```"):
            if begun:
                yield Block(language, "\n".join(text) + "\n", begun, before)
                begun, text = 0, []
            else:
                begun, language, before = number + 1, line.strip()[3:], last
        elif begun:
            text.append(line)
        last = line
    assert not begun, f"{page.name}: the block of line {begun} has no end"


def prose(seed: int, changes: int = 0) -> str:
    """120 made-up words; of one seed, texts that differ in `changes` of them."""
    source = random.Random(seed)
    words = source.choices(TALE.split(), k=120)
    for place in range(changes):
        words[17 * (place + 1)] = f"changed{place}"
    return " ".join(words)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    zstandard = pytest.importorskip("zstandard", reason="the extra cli is not installed")
    arrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("readme")
    (folder / "crawl").mkdir()
    rows = [{"id": f"d{i}", "content": prose(i // 3, i % 3), "url": f"http://a.example/{i}"} for i in range(30)]
    lines = ["".join(json.dumps(row) + "\n" for row in part).encode() for part in (rows[:15], rows[15:])]
    for number, data in enumerate(lines):
        (folder / "crawl" / f"{number}.jsonl.zst").write_bytes(zstandard.compress(data))
    captures = [
        warc("response", http(html(prose(page, change))), f"http://a.example/{page}",
             WARC_Date=f"2024-0{change + 1}-01T00:00:00Z", Content_Type="application/http; msgtype=response")
        for page in range(3) for change in range(3)
    ]
    save(folder / "crawl" / "pages.warc.gz", [INFO, REQUEST, response(1, prose(50)), *captures], "gz")
    texts = [prose(i // 3, i % 3) for i in range(24)]
    for name, part in (("old", texts[:12]), ("new", texts[6:])):
        table = arrow.table({"id": [f"{name}{i}" for i in range(len(part))], "text": part})
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    old = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts[:12]))
    (folder / "old.jsonl.gz").write_bytes(gzip.compress(old.encode()))
    (folder / "new-pages").mkdir()
    (folder / "new-pages" / "one.html").write_bytes(html(prose(60)))
    (folder / "texts").mkdir()
    for i in range(6):
        (folder / "texts" / f"{i}.txt").write_text(prose(i // 2, i % 2))
    for name, text in (("page.txt", prose(1)), ("a.txt", prose(2)), ("b.txt", prose(2, 3))):
        (folder / name).write_text(text)
    draft = "The committee met on Tuesday to discuss the weather of the northern hills. Whoever copies this text copies its "
    (folder / "draft.txt").write_text(f"{draft}terms as well, and nobody may remove them.\n")
    final = "Whoever copies this text copies its terms as well -- and nobody may ever remove them. The committee met on "
    (folder / "final.txt").write_text(f"{final}Friday to discuss the weather of the northern hills.\n")
    return folder


def environment() -> dict[str, str]:
    """That of a shell where ndcore is installed: its command is first on the path."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}


RUNNER = """
import sys, json
names = {"__name__": "__main__"}
for place, text in json.load(sys.stdin):
    exec(compile(text, place, "exec"), names)
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_run_in_order(page: Path, files: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    pytest.importorskip("Stemmer", reason="the extra stem is not installed")
    parts = [(f"{page.name}:{block.line}", block.text) for block in blocks(page) if block.language == "python"]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps(parts), cwd=files, env=environment(), capture_output=True,
        text=True, check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_shell_blocks_run_in_order(page: Path, files: Path) -> None:
    if shutil.which("bash") is None or shutil.which("ndcore", path=environment()["PATH"]) is None:
        pytest.skip("no bash, or no command ndcore")
    for block in blocks(page):
        if block.language == "sh" and block.before not in RUN_BY_CI:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.text], cwd=files, env=environment(), capture_output=True, text=True,
                check=False, stdin=subprocess.DEVNULL,
            )
            assert done.returncode == 0, f"{page.name}:{block.line}: {done.stderr}"


def test_every_block_has_a_language_that_is_run_or_shown() -> None:
    """Blocks of pycon run as doctests; those of text show what a command prints."""
    assert {block.language for page in PAGES for block in blocks(page)} <= {"python", "pycon", "sh", "text"}


def test_what_compare_prints(files: Path) -> None:
    [shown] = [block for block in blocks(ROOT / "README.md") if "The committee met" in block.text]
    done = subprocess.run(
        [sys.executable, "-m", "ndcore", "compare", "draft.txt", "final.txt", "--width", "3"], cwd=files, env=environment(),
        capture_output=True, text=True, check=True,
    )
    assert done.stdout == shown.text
