"""Mutation testing: change one operator or number of the sources at a time, and see whether the tests of its room fail.

    python tools/mutants.py FOLDER [--places 500] [--seed 1] [--room ROOM ...] [--seconds 300]

Draws places at random, as many in each room, the C core and the extensions being rooms too. For each it changes a copy of
the tree in FOLDER, builds what has changed, and runs the tests of the room until one fails. FOLDER gets mutants.jsonl, a
line for each place; a run with the same seed goes on behind the lines that are there. Then it prints the share that was
killed, by room, and the survivors.

A mutant is killed where a test fails, or the tests take more than --seconds of CPU; it is invalid where it does not compile.
Invalid ones do not count. The tests must pass before anything is changed. Not drawn: strings, comments, imports, decorators,
messages of errors, and tables that `tools/unicode_tables.py` writes. A survivor is a test that is missing, or a change that
makes no difference, as of a size that is only a hint.

Needs what `pip install '.[test]'` installs, and a C compiler.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/ndcore")
BUILD = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
TEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
LEFT_OUT = ("build", ".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
CHANGED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "//": "*", "%": "+",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "&&": "||", "||": "&&",
    "True": "False", "False": "True", "min": "max", "max": "min", "is not": "is", "is": "is not", "not in": "in",
    "break": "continue",
}  # fmt: skip
_PYTHON = r'(?P<skipped>"""(?s:.*?)"""|[rbf]{0,2}"(?:\\.|[^"\\\n])*"|[rbf]{0,2}\'(?:\\.|[^\'\\\n])*\'|\#[^\n]*)'
_C = r'(?P<skipped>/\*(?s:.*?)\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*\#(?:\\\n|[^\n])*)'
_SPACED = "|".join(re.escape(token) for token in sorted(CHANGED, key=len, reverse=True) if not token[0].isalpha())
_NAMES = "|".join(token for token in sorted(CHANGED, key=len, reverse=True) if token[0].isalpha())
_PLACES = rf"(?<= )(?P<operator>{_SPACED})(?= )|\b(?P<name>{_NAMES})\b|(?<![\w.])(?P<number>\d+)(?![\w.])"
_UNTOUCHED = re.compile(r"\s*(?:import |from |@|raise |assert |cdef extern|ctypedef|class |def |cdef \w+ \w+\()")


class Mutant(NamedTuple):
    """A place in a file, and what stands there afterwards."""

    room: str
    path: str
    line: int
    start: int
    end: int
    text: str


def list_rooms() -> dict[str, list[Path]]:
    """Return the source files of every room that has tests of its own, of the extensions, and of the C core."""
    rooms = {}
    for tests in sorted((ROOT / "tests").iterdir()):
        if (ROOT / PACKAGE / tests.name / "__init__.py").exists():
            rooms[tests.name] = sorted((ROOT / PACKAGE / tests.name).glob("*.py"))
    rooms["extensions"] = sorted((ROOT / PACKAGE).glob("*.pyx"))
    rooms["core"] = sorted(path for path in (ROOT / PACKAGE / "core").glob("*.[ch]") if not path.name.endswith("_tables.h"))
    return rooms


def find_places(room: str, path: Path) -> Iterator[Mutant]:
    """Yield every place of a file that can be changed."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    pattern = re.compile(f"{_C if path.suffix in ('.c', '.h') else _PYTHON}|{_PLACES}", re.MULTILINE)
    for match in pattern.finditer(source):
        number = source.count("\n", 0, match.start())
        if match["skipped"] is not None or _UNTOUCHED.match(lines[number]):
            continue
        old = match[0]
        if old == "|" and source[match.end() :].startswith(" None"):  # a type
            continue
        new = str(int(old) + 1) if match["number"] is not None else CHANGED[old]
        yield Mutant(room, str(path.relative_to(ROOT)), number + 1, match.start(), match.end(), new)


def draw(rooms: list[str], places: int, seed: int) -> list[Mutant]:
    """Draw places without repeats, the rooms in turn; the first ones do not depend on how many are drawn."""
    known, drawn = list_rooms(), []
    orders = {}
    for room in rooms:
        orders[room] = [place for path in known[room] for place in find_places(room, path)]
        random.Random(f"{seed} {room}").shuffle(orders[room])
    while len(drawn) < places and any(orders.values()):
        drawn += [orders[room].pop() for room in rooms if orders[room]]
    return drawn[:places]


def tests_of(mutant: Mutant) -> list[str]:
    """Return the tests that have to see a mutant."""
    return ["tests/kernels"] if mutant.room in ("extensions", "core") else [f"tests/{mutant.room}"]


def run(command: list[str], tree: Path, seconds: float) -> int | None:
    """Run a command in a tree; its exit code, or None where it took more CPU, or 30 times as long."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))

    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=limit)
    try:
        code = process.wait(30 * seconds)
        return None if code == -signal.SIGXCPU else code
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def judge(mutant: Mutant, tree: Path, seconds: float) -> str:
    """Change the tree, build and test it, and change it back: "killed", "late", "survived" or "invalid"."""
    path = tree / mutant.path
    before = path.read_text("utf-8")
    compiled = path.suffix != ".py"
    path.write_text(before[: mutant.start] + mutant.text + before[mutant.end :], "utf-8")
    try:
        if compiled and run(BUILD, tree, 3600) != 0:
            return "invalid"
        if not compiled:
            try:
                compile(path.read_text("utf-8"), mutant.path, "exec")
            except SyntaxError:
                return "invalid"
        code = run([*TEST, *tests_of(mutant)], tree, seconds)
        return "late" if code is None else "survived" if code == 0 else "killed"
    finally:
        path.write_text(before, "utf-8")


def make_tree(folder: Path) -> Path:
    """Copy the project, with what is built of it; a copy that is there is used again."""
    tree = folder / "tree"
    if not tree.exists():
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return tree


def summarise(lines: list[dict[str, str | int]]) -> str:
    """Return the share killed, by room and in all, and the survivors."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for line in lines:
        for room in (str(line["room"]), "all"):
            counts[room][str(line["outcome"])] += 1
    told = []
    for room, count in sorted(counts.items(), key=lambda item: item[0] == "all"):
        killed, survived = count["killed"] + count["late"], count["survived"]
        share = f"{100 * killed / (killed + survived):.0f} %" if killed + survived else "none"
        told.append(f"{room:12} {share:>6} of {killed + survived} killed, {count['late']} of them late; "
                    f"{count['invalid']} invalid")
    told += [f"survived: {line['path']}:{line['line']}: {line['before']!s} -> {line['after']!s}" for line in lines
             if line["outcome"] == "survived"]
    return "\n".join(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--places", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=list(list_rooms()), action="append", help="repeatable; default: all")
    parser.add_argument("--seconds", type=float, default=300, help="of CPU, for the tests of a mutant")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / "mutants.jsonl"
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    known = {(line["path"], line["start"], line["after"]) for line in lines}
    tree, sound = make_tree(options.folder), set[tuple[str, ...]]()
    with results.open("a", buffering=1) as file:
        for mutant in draw(options.room or list(list_rooms()), options.places, options.seed):
            if (mutant.path, mutant.start, mutant.text) in known:
                continue
            tests = tuple(tests_of(mutant))
            if tests not in sound and run([*TEST, *tests], tree, options.seconds) != 0:
                sys.exit(f"{' '.join(tests)}: the tests fail in {tree} without a change, or take more CPU than --seconds")
            sound.add(tests)
            before = (ROOT / mutant.path).read_text("utf-8")[mutant.start : mutant.end]
            line = {"room": mutant.room, "path": mutant.path, "line": mutant.line, "start": mutant.start, "before": before,
                    "after": mutant.text, "outcome": judge(mutant, tree, options.seconds)}
            file.write(json.dumps(line) + "\n")
            lines.append(line)
    print(summarise(lines))


if __name__ == "__main__":
    main()
