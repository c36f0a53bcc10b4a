"""``ndcore rank``: disguised programs lead, rings are groups, templates and languages, pages, refusals."""

from __future__ import annotations

import csv
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from browser import ATTACK, Tree, opened
from commands import jsonl, refused, run
from programs import SUFFIXES, Program, disguise, invent, write

import ndcore as nd
from ndcore.cli.rank import write_pages as write_all_pages

pytest.importorskip("msgspec")
pytest.importorskip("pygments", reason="the extra code is not installed")

WORDS = [f"word{i}" for i in range(300)]


def essay(seed: int, size: int = 80) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(size))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def account(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run("rank", *arguments, "-o", "out", "--json", "--overwrite") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rows(name: str) -> list[dict[str, str]]:
    with Path("out", name).open(newline="") as file:
        return list(csv.DictReader(file))


def names(found: dict[str, Any], first: int | None = None) -> list[tuple[str, str]]:
    return [(pair["a"], pair["b"]) for pair in found["pairs"][:first]]


@pytest.mark.parametrize("language", SUFFIXES)
def test_disguised_programs_lead_and_a_ring_is_a_group(language, capsys):
    """New names, literals, comments, order of functions, dead code: ten of thirty programs, and twelve equal ones."""
    suffix = SUFFIXES[language]
    programs = {f"in/s{i:02}.{suffix}": write(invent(i), language) for i in range(30)}
    copies = {f"in/t{i:02}.{suffix}": write(disguise(invent(i), i), language) for i in range(10)}
    ring = {f"in/ring{i:02}.{suffix}": write(Program(invent(99).functions, 500 + i), language) for i in range(12)}
    put({**programs, **copies, **ring})
    found = account(capsys, "in")
    expected = {(f"s{i:02}.{suffix}", f"t{i:02}.{suffix}") for i in range(10)}
    assert set(names(found, 10)) == expected
    assert found["pairs"][9]["mean"] > 2 * found["pairs"][10]["mean"]
    assert [group["submissions"] for group in found["groups"]] == [sorted(Path(name).name for name in ring)]
    assert found["languages"] == [language] and found["pygments"]
    if language != "python":
        return  # what follows is the same for tokens of any language
    assert set(names(account(capsys, "in", "--by", "larger", "--views", 0), 10)) == expected
    words = account(capsys, "in", "--language", "text", "--views", 0)  # words are what the disguise changes
    assert words["groups"] == [] and len(set(names(words, 10)) & expected) <= 2


def test_essays_with_a_ring_and_a_part(capsys):
    ring = {f"in/r{i:02}.txt": essay(1) for i in range(12)}
    put({**ring, "in/part.txt": essay(2) + " " + essay(1)[:200], "in/other.md": essay(3)})
    found = account(capsys, "in")
    assert names(found) == [("part.txt", "r00.txt")]
    assert found["counts"] == {
        "read": 14, "rejected": 0, "submissions": 14, "groups": 1, "grouped": 12, "pairs": 1, "listed": 1,
        "common_fingerprints": 0, "left_out": 0}
    assert found["pygments"] is None and found["guaranteed_tokens"] == 8
    assert [row["submission"] for row in rows("groups.csv")] == [f"r{i:02}.txt" for i in range(12)]
    assert {(row["first"], row["resemblance"], row["page"]) for row in rows("groups.csv")} == {
        ("r00.txt", "1.0", "views/group-1.html")}
    [pair] = rows("pairs.csv")
    assert pair["page"] == "views/pair-1.html" and float(pair["larger"]) == max(float(pair["a_in_b"]), float(pair["b_in_a"]))
    assert float(pair["mean"]) == (float(pair["a_in_b"]) + float(pair["b_in_a"])) / 2
    assert float(pair["a_in_b"]) == int(pair["common"]) / int(pair["in_a"])
    assert json.loads(Path("out/summary.json").read_text()) == found
    assert run("rank", "in", "-o", "out", "--overwrite") == 0
    told = capsys.readouterr().out
    assert "14 submissions of essays, by words: 1 pair with fingerprints in common, 1 group" in told
    assert "12 submissions of 14 are one group: if this text was given to them, name it with --template" in told


def test_the_library_gives_the_same(capsys):
    texts = [essay(i) + " " + essay(5) for i in range(4)]
    put({f"in/{i}.txt": text + "\n" for i, text in enumerate(texts)})
    found = account(capsys, "in", "--by", "larger", "--max-holders", 5)
    expected = nd.rank_pairs(texts, nd.Winnower(4), max_holders=5, group_threshold=0.9, by="larger")
    assert names(found) == [(f"{a}.txt", f"{b}.txt") for a, b in zip(*expected.pairs[:2], strict=True)]
    assert [pair["common"] for pair in found["pairs"]] == expected.pairs.overlaps.common.tolist()
    assert names(account(capsys, "in", "--max-holders", 3)) == []
    assert found["recipe"]["id"] == expected.sketches.recipe.id


def test_what_was_given_does_not_count(capsys):
    given = write(invent(50, 3), "python")
    put({f"in/{i}.py": given + write(invent(i, 2), "python") for i in range(4)})
    put({"given/template.py": given, "in/copy.py": given + write(disguise(invent(2, 2), 9, 6), "python")})
    without = account(capsys, "in")
    assert len(without["pairs"]) == 10
    found = account(capsys, "in", "--template", "given/template.py")
    assert names(found, 1) == [("2.py", "copy.py")] and found["pairs"][0]["mean"] > 0.5
    assert all(pair["mean"] < 0.2 for pair in found["pairs"][1:])
    assert found["template"][0]["read"] == 1
    page = Tree(Path("out/views/pair-1.html").read_text("utf-8"))
    marked = [at for at, (tag, _) in enumerate(page.elements) if tag == "mark"]
    lines = [int(attributes["data-line"]) for tag, attributes in page.elements[: marked[0]] if "data-line" in attributes]
    assert lines[-1] > given.count("\n") - 3  # blocks begin where the template ends


def test_a_folder_is_a_submission(capsys):
    parts = [write(invent(i, 2), "c") for i in range(3)]
    put({"in/ann/a.c": parts[0], "in/ann/deep/b.c": parts[1], "in/bob/all.c": parts[1] + parts[0], "in/eve.c": parts[2]})
    found = account(capsys, "in")
    assert found["counts"]["submissions"] == 3
    assert names(found, 1) == [("ann", "bob")] or [group["submissions"] for group in found["groups"]] == [["ann", "bob"]]
    several = account(capsys, "in/ann", "in/bob", "in/eve.c")
    assert several["pairs"][:1] == found["pairs"][:1] and several["groups"] == found["groups"]
    page = next(Path("out/views").iterdir()).read_text("utf-8")
    assert page.count('<p class="file">') == 2 and "in/ann/deep/b.c" in page


def test_records_are_submissions(capsys):
    put({"in.jsonl": jsonl([{"id": f"e{i}", "text": essay(i % 3)} for i in range(4)]).decode()})
    assert [group["submissions"] for group in account(capsys, "in.jsonl")["groups"]] == [["e0", "e3"]]
    code = [{"id": i, "text": write(disguise(invent(i % 2), i), "java")} for i in range(3)]
    put({"code.jsonl": jsonl(code).decode()})
    assert names(account(capsys, "code.jsonl", "--language", "java"), 1) == [("0", "2")]


def test_lists_are_bounded(capsys):
    put({f"in/{i}.txt": f"{essay(7)} {essay(i)}" for i in range(6)})
    found = account(capsys, "in", "--pairs", 4, "--views", 2)
    assert found["counts"]["pairs"] == 15 and len(found["pairs"]) == len(rows("pairs.csv")) == 4
    assert sorted(path.name for path in Path("out/views").iterdir()) == ["pair-1.html", "pair-2.html"]
    assert "11 pairs left out of the list; --pairs lists more" in Path("out/index.html").read_text("utf-8")
    assert account(capsys, "in", "--views", 0)["pairs"][0]["page"] is None
    assert not Path("out/views").exists()


def test_what_cannot_be_read_is_named(capsys, monkeypatch):
    good = {f"in/{i}.py": write(disguise(invent(0), i), "python") for i in range(2)}
    put({**good, "in/what.xyz": "a b c"})
    assert run("rank", "in", "-o", "out") == 1
    told = capsys.readouterr().err
    assert "in/what.xyz: its name does not tell its language; known are .txt" in told and "--language" in told
    assert not Path("out").exists()
    Path("in/what.xyz").unlink()
    put({"in/long.py": "x = 1\n" * 2000})
    assert run("rank", "in", "-o", "out", "--max-program", "10K") == 1
    told = capsys.readouterr().err
    assert "in/long.py: has 12,000 bytes, and a program may have 10,240 bytes; raise --max-program" in told
    put({"in/what.xyz": "a b c"})
    found = account(capsys, "in", "--max-program", "10K", "--on-error", "skip")
    assert [(row["path"], row["reason"][:9]) for row in found["rejected"]] == [
        ("in/long.py", "has 12,00"), ("in/what.xyz", "its name ")]
    assert found["counts"]["submissions"] == 2 and names(found) == [("0.py", "1.py")]
    monkeypatch.setattr("ndcore.files.lexer_processes._SERVE", "raise SystemExit(3)")
    assert run("rank", "in/0.py", "in/1.py", "-o", "new") == 1
    assert "in/0.py: could not be read as python: its process ended (exit code 3)" in capsys.readouterr().err


def test_a_file_that_changes_before_it_is_shown(capsys, monkeypatch):
    """Its size and date tell that; here they are as before."""
    put({f"in/{i}.py": write(disguise(invent(0), i), "python") for i in range(2)})

    def write_pages(*arguments):
        before = Path("in/0.py").stat()
        put({"in/0.py": "#" * before.st_size})
        os.utime("in/0.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        write_all_pages(*arguments)

    monkeypatch.setattr("ndcore.cli.rank.write_pages", write_pages)
    assert "in/0.py: changed while ndcore was reading '0.py'" in refused(capsys, 1, "rank", "in", "-o", "out")
    assert not Path("out").exists()


def test_other_encodings_are_told(capsys):
    put({"in/a.txt": essay(1)})
    Path("in/b.txt").write_bytes(("Écoutez à la fenêtre. " * 20 + essay(1)).encode("cp1252"))
    assert "in/b.txt: not UTF-8, and its encoding cannot be told; name it with --encoding" in refused(
        capsys, 1, "rank", "in", "-o", "out")
    Path("in/a.txt").write_bytes(("Noël " + essay(1)).encode("cp1252"))
    found = account(capsys, "in", "--encoding", "cp1252")
    assert found["read_otherwise"] == {"as cp1252": ["in/a.txt", "in/b.txt"]} and len(found["pairs"]) == 1


def test_refusals(capsys):
    put({"in/a.txt": essay(1), "in/b.py": "x = 1", "in/c.py": "x = 1"})
    assert "in/a.txt is text, and in/b.py is a program (python): they are not compared" in refused(
        capsys, 2, "rank", "in", "-o", "out")
    told = refused(capsys, 2, "rank", "in", "-o", "out", "--language", "text", "--window", 6)
    assert told.startswith("--window 6 is more than the 5 tokens of a fingerprint (--width)")
    assert "lies inside the input" in refused(capsys, 2, "rank", "in", "-o", "out", "--template", "in/b.py")
    assert "klingon" in refused(capsys, 2, "rank", "in", "-o", "out", "--language", "klingon")
    assert not Path("out").exists()


def test_a_hostile_submission(tmp_path, capsys):
    """Names and texts are shown and do nothing."""
    name = ATTACK.replace("/", "|").replace("\x00", "").encode("utf-8", "replace").decode()[:200]
    text = f"{essay(1)}\n{ATTACK} {essay(2)}".replace("\ud800", "").replace("\x00", "")
    put({f"in/{name}.txt": text, "in/b.txt": f"{text} {essay(3)}"})
    found = account(capsys, "in")
    assert len(found["pairs"]) + len(found["groups"]) == 1
    for page in [Path("out/index.html"), *Path("out/views").iterdir()]:
        source = page.read_text("utf-8")
        Tree(source)
        assert "<img" not in source and "alert(1)</script>" not in source
        [title], messages = opened(source, tmp_path)
        assert title != "ran" and messages == []
