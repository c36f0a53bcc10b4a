"""tools/mutants.py: which places are drawn, and what becomes of a place."""

from __future__ import annotations

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
import os1
def most(a: int | None, b: int = 4) -> bool:
    raise ValueError(f"{a} < 5")
    return a < b and a is not None  # 6 > 7
    x = a[8] + 0x9
'''
C = """/* 1 < 2 */
#define SIZE 3
static int most(const char *s, int a) { return s->at == 'x' && a << 4 > 5; } // 6
"""


@pytest.mark.parametrize(("name", "source", "expected"), [
    ("most.py", PYTHON, [(5, "<", "<="), (5, "and", "or"), (5, "is not", "is"), (6, "8", "9"), (6, "+", "-")]),
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


@pytest.mark.parametrize(("body", "outcome"), [
    ("assert CODE == 1", "killed"), ("assert CODE", "survived"), ("while CODE == 2: pass", "late"),
])
def test_a_mutant_is_judged_and_taken_back(tmp_path, body, outcome):
    (tmp_path / "code_of_room.py").write_text("CODE = 1\n")
    (tmp_path / "tests" / "room").mkdir(parents=True)
    (tmp_path / "tests" / "room" / "test_code.py").write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom code_of_room import CODE\n\n"
        f"def test_code():\n    {body}\n")
    mutant = mutants.Mutant("room", "code_of_room.py", 1, 7, 8, "2")
    assert mutants.judge(mutant, tmp_path, 3 if outcome == "late" else 60) == outcome
    assert (tmp_path / "code_of_room.py").read_text() == "CODE = 1\n"


def test_the_summary_has_shares_and_survivors():
    lines = [{"room": "a", "path": "x.py", "line": i, "before": "<", "after": "<=", "outcome": outcome}
             for i, outcome in enumerate(["killed", "late", "survived", "invalid"])]
    told = mutants.summarise(lines).splitlines()
    assert told[0].split() == ["a", "67", "%", "of", "3", "killed,", "1", "of", "them", "late;", "1", "invalid"]
    assert told[1].startswith("all") and told[2:] == ["survived: x.py:2: < -> <="]
