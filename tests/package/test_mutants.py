"""tools/mutants.py: which places are drawn, and what becomes of a place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
if not (TOOLS / "mutants.py").exists() or sys.platform == "win32":
    pytest.skip("tools/mutants.py is not beside the tests, or limits of CPU are not there", allow_module_level=True)
sys.path.insert(0, str(TOOLS))
import mutants  # noqa: E402

sys.path.pop(0)

PYTHON = '''"""A docstring: 1 < 2 and 3."""
r"""Raw: "one" and 2."""
\'\'\'With quotes: "one" and 2.\'\'\'
import os1
def most(a: int | None, b: int = 4) -> bool:
    raise ValueError(f"{a} < 5")
    return a < b and a is not None  # 6 > 7
    x = a[8] + 0x9
    zip(a, strict=True)
__all__ = ["a" * 2]
def least(
    a: Literal[1] = 3,
) -> Sequence[
    A | B
]:
    raise ValueError(
        a + 1
    )
'''
C = """/* 1 < 2 */
#define SIZE 3
static int most(const char *s, int a) { return s->at == 'x' && a << 4 > 5; } // 6
"""


@pytest.mark.parametrize(("name", "source", "expected"), [
    ("most.py", PYTHON, [(7, "<", "<="), (7, "and", "or"), (7, "is not", "is"), (8, "8", "9"), (8, "+", "-"),
                         (12, "3", "4")]),
    ("most.c", C, [(3, "==", "!="), (3, "&&", "||"), (3, "<<", ">>"), (3, "4", "5"), (3, ">", ">="), (3, "5", "6")]),
])
def test_operators_and_numbers_of_code_are_drawn(tmp_path, monkeypatch, name, source, expected):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / name).write_text(source)
    found = list(mutants.find_places("room", tmp_path / name))
    assert [(place.line, source[place.start : place.end], place.text) for place in found] == expected


def test_rooms_are_drawn_in_turn_and_a_larger_draw_begins_as_a_smaller_one():
    rooms = ["filters", "core", "extensions"]
    drawn = mutants.draw(rooms, 30, 7)
    assert [place.room for place in drawn] == rooms * 10
    assert mutants.draw(rooms, 12, 7) == drawn[:12] and mutants.draw(rooms, 12, 8) != drawn[:12]
    assert len({(place.path, place.start) for place in drawn}) == 30


MODULE = """START = 1


def plus(a):
    return a + 1


def minus(a):
    return a - 1


def wait(a):
    while a > 5:
        pass
"""
TESTS = """from ndcore.room.code import START, minus, plus, wait

def test_start():
    assert START

def test_plus():
    assert plus(1) == 2

def test_minus():
    assert minus(2)

def test_wait():
    wait(5)
"""
JUDGE = """
mutants.SLACK = 1
tree = mutants.Path.cwd()
tests = mutants.Tests(tree, tree)
source = (tree / "src/ndcore/room/code.py").read_text()
for line, old, text in ((1, "1", "2"), (5, "+", "-"), (9, "-", "+"), (13, ">", ">="), (13, ">", "=>")):
    start = source.index(old)
    mutant = mutants.Mutant("room", "src/ndcore/room/code.py", line, start, start + 1, text)
    print(mutants.judge(mutant, tree, tests, 60), *tests.choose(mutant, 60)[0])
"""


def test_a_mutant_is_judged_by_the_tests_that_run_its_line_and_taken_back(tmp_path):
    pytest.importorskip("coverage")
    room, tests = tmp_path / "src/ndcore/room", tmp_path / "tests/room"
    for folder in (room, tests):
        folder.mkdir(parents=True)
    for path, text in ((room / "code.py", MODULE), (room.parent / "__init__.py", ""), (tests / "test_code.py", TESTS)):
        path.write_text(text)
    run = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(TOOLS)!r}); import mutants{JUDGE}"],
                         cwd=tmp_path, capture_output=True, text=True, check=True)
    names = {f"tests/room/test_code.py::test_{name}" for name in ("start", "plus", "minus", "wait")}
    outcomes = [(words[0], set(words[1:])) for words in map(str.split, run.stdout.splitlines())]
    assert outcomes == [
        ("survived", names), ("killed", {"tests/room/test_code.py::test_plus"}),
        ("survived", {"tests/room/test_code.py::test_minus"}), ("late", {"tests/room/test_code.py::test_wait"}),
        ("invalid", {"tests/room/test_code.py::test_wait"}),
    ]
    assert (room / "code.py").read_text() == MODULE


def test_the_summary_has_shares_and_survivors():
    lines = [{"room": "a", "path": "x.py", "line": i, "before": "<", "after": "<=", "outcome": outcome}
             for i, outcome in enumerate(["killed", "late", "survived", "invalid"])]
    told = mutants.summarise(lines).splitlines()
    assert told[0].split() == ["a", "67", "%", "of", "3", "killed,", "1", "of", "them", "late;", "1", "invalid"]
    assert told[1].startswith("all") and told[2:] == ["survived: x.py:2: < -> <="]


def test_extensions_are_put_back_where_the_next_build_finds_them(tmp_path):
    places = [tmp_path / "tree" / folder / "_a.so" for folder in ("src/ndcore", "build/lib.linux/ndcore")]
    sound = tmp_path / "built" / "_a.so"
    for path in (sound, *places):
        path.parent.mkdir(parents=True)
        path.write_text("sound" if path == sound else "mutant")
    os.utime(sound, (1, 1))
    mutants.put_back(tmp_path, tmp_path / "tree")
    assert [path.read_text() for path in places] == ["sound", "sound"]
