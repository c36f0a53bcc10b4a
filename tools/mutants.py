"""Mutation testing: change one operator or number of the sources at a time, and see whether a test fails.

    python tools/mutants.py FOLDER [--places 500] [--seed 1] [--room ROOM ...] [--seconds 60]

Draws places at random, as many in each room, the C core and the extensions being rooms too. For each it changes a copy of
the tree in FOLDER, builds what has changed, and runs tests until one fails. FOLDER gets mutants.jsonl, a line for each
place; a run with the same seed goes on behind the lines that are there. Then it prints the share that was killed, by room,
and the survivors.

Which tests: of a module, the tests of its room that run the changed line, by a map that coverage.py makes once per room
(FOLDER/tests-ROOM.json); of a line that runs with an import or in another process, all tests of the room. Of C, first
tests/c, then the tests of kernels and of the rooms that import the extension. Tests that are marked slow never run. The
quickest run first, one of each function before its other parameters, until they need more than --seconds of CPU.

A mutant is killed where a test fails, or the tests take four times the CPU that they should; it is invalid where it does not
compile. Invalid ones do not count. The tests must pass before anything is changed. Not drawn: strings, comments, imports,
decorators, types, `__all__`, assertions, messages of errors, and tables that `tools/unicode_tables.py` writes. A survivor is
a test that is missing, or a change that makes no difference, as of a size that is only a hint.

Needs what `pip install '.[test]' coverage` installs, and a C compiler.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import importlib.util
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis.strategies  # noqa: F401  # here, so that no child has to
import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/ndcore")
C_FLAGS = ["-std=c11", "-O1", "-w", "-pthread", "-DND_COUNT_STEPS"]
BUILD = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
TEST = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
MOST = 500  # tests for a mutant
SLACK, TIMES = 10, 4  # seconds of CPU for the start; what tests may cost, against the run without a change
LEFT_OUT = ("build", ".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
CHANGED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "//": "*", "%": "+",
    "<<": ">>", ">>": "<<", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "and": "or", "or": "and", "&&": "||", "||": "&&",
    "True": "False", "False": "True", "min": "max", "max": "min", "is not": "is", "is": "is not", "not in": "in",
    "break": "continue",
}  # fmt: skip
_PYTHON = (r'(?P<skipped>[rbf]{0,2}(?P<quotes>"""|\'\'\')(?s:.*?)(?P=quotes)|'
           r'[rbf]{0,2}"(?:\\.|[^"\\\n])*"|[rbf]{0,2}\'(?:\\.|[^\'\\\n])*\'|\#[^\n]*)')
_C = r'(?P<skipped>/\*(?s:.*?)\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*\#(?:\\\n|[^\n])*)'
_SPACED = "|".join(re.escape(token) for token in sorted(CHANGED, key=len, reverse=True) if not token[0].isalpha())
_NAMES = "|".join(token for token in sorted(CHANGED, key=len, reverse=True) if token[0].isalpha())
_PLACES = rf"(?<= )(?P<operator>{_SPACED})(?= )|\b(?P<name>{_NAMES})\b|(?<![\w.])(?P<number>\d+)(?![\w.])"
_UNTOUCHED = re.compile(r"\s*(?:import |from |@|raise |assert |cdef extern|ctypedef|class |def |cdef \w+ \w+\()")


class Mutant(NamedTuple):
    """A place in a file, and what is there afterwards."""

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


def list_untouched(source: str) -> list[tuple[int, int]]:
    """Return the first byte of types, errors that are raised, assertions and `__all__`, and the byte behind each."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = []
    for node in ast.walk(ast.parse(source)):
        untouched: ast.AST | None = None
        exports = isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0])
        strict = isinstance(node, ast.keyword) and node.arg == "strict"
        if isinstance(node, ast.Raise | ast.Assert) or exports or strict:
            untouched = node
        elif isinstance(node, ast.arg | ast.AnnAssign):
            untouched = node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            untouched = node.returns
        if untouched is not None:
            first, last = untouched.lineno, untouched.end_lineno  # type: ignore[attr-defined]
            spans.append((starts[first - 1] + untouched.col_offset, starts[last - 1] + untouched.end_col_offset))  # type: ignore[attr-defined]
    return spans


def find_places(room: str, path: Path) -> Iterator[Mutant]:
    """Yield every place of a file that can be changed."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    pattern = re.compile(f"{_C if path.suffix in ('.c', '.h') else _PYTHON}|{_PLACES}", re.MULTILINE)
    untouched = list_untouched(source) if path.suffix == ".py" else []
    for match in pattern.finditer(source):
        number = source.count("\n", 0, match.start())
        if match["skipped"] is not None or _UNTOUCHED.match(lines[number]):
            continue
        at = len(source[: match.start()].encode())
        if any(first <= at < last for first, last in untouched):
            continue
        old = match[0]
        if old == "|" and source[match.end() :].startswith(" None"):  # a type
            continue
        new = str(int(old) + 1) if match["number"] is not None else CHANGED[old]
        yield Mutant(room, str(path.relative_to(ROOT)), number + 1, match.start(), match.end(), new)


def draw(rooms: list[str], places: int, seed: int) -> list[Mutant]:
    """Draw places without repeats, the rooms in turn; the first ones do not depend on how many are drawn."""
    known, drawn = list_rooms(), list[Mutant]()
    orders = {}
    for room in rooms:
        orders[room] = [place for path in known[room] for place in find_places(room, path)]
        random.Random(f"{seed} {room}").shuffle(orders[room])
    while len(drawn) < places and any(orders.values()):
        drawn += [orders[room].pop() for room in rooms if orders[room]]
    return drawn[:places]


class Recorder:
    """A plugin of pytest: the CPU seconds of each test, and, with coverage, the lines of the package that it runs."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        before = sum(os.times()[:4])
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")
            self.seconds[item.nodeid] = round(sum(os.times()[:4]) - before, 3)


class Unshrunk:
    """A plugin of pytest: hypothesis stops at the first example that fails. To shrink it takes minutes."""

    def pytest_sessionstart(self) -> None:
        """Change the profile that tests/conftest.py has loaded."""
        settings.register_profile("unshrunk", phases=(Phase.explicit, Phase.generate))
        settings.load_profile("unshrunk")


def run_tests(names: list[str]) -> int:
    """Run tests until one fails; pytest's code."""
    return int(pytest.main([*TEST, *names], plugins=[Unshrunk()]))


def record(tree: Path, room: str, target: Path) -> int:
    """Run the tests of a room, and write which of them run each line of its modules, and what they cost; pytest's code."""
    import coverage

    measured = coverage.Coverage(data_file=None, source=[str(tree / PACKAGE / room)])
    recorder = Recorder(measured)
    measured.start()
    code = pytest.main([*TEST[1:], f"tests/{room}"], plugins=[recorder])
    measured.stop()
    data, lines = measured.get_data(), dict[str, dict[int, list[int]]]()
    numbers = {name: number for number, name in enumerate(recorder.seconds)}
    for file in data.measured_files():
        lines[str(Path(file).relative_to(tree))] = {
            line: [numbers[name] for name in names if name] for line, names in data.contexts_by_lineno(file).items()}
    target.write_text(json.dumps({"seconds": recorder.seconds, "lines": lines}))
    return int(code)


def in_child(tree: Path, seconds: float, call: Callable[[], int]) -> int | None:
    """Call in a forked process, which imports the package of the tree; its exit code, or None where it took more CPU.

    A process of its own for each mutant, which has pytest and NumPy already.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        os.chdir(tree)
        os.environ["PYTHONPATH"] = str(tree / "src")
        sys.path.insert(0, str(tree / "src"))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        try:
            os._exit(call())
        finally:
            os._exit(1)
    ends = time.monotonic() + 60 * seconds
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < ends:
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if ended[0] == 0:
        os.waitpid(child, 0)
        return None
    code = os.waitstatus_to_exitcode(ended[1])
    return None if code == -signal.SIGXCPU else code


def run(command: list[str], tree: Path, seconds: float) -> int | None:
    """Run a command in a tree; what `in_child` returns."""
    return in_child(tree, seconds, lambda: os.execvp(command[0], command))


class Tests:
    """The tests of the rooms, by the lines that they run: maps in a folder, which are made when they are asked for."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.folder, self.tree = folder, tree
        self.maps: dict[str, Any] = {}

    def map_of(self, room: str) -> Any:
        """Return the map of a room; stop the program where its tests fail without a change."""
        target = self.folder / f"tests-{room}.json"
        if not target.exists():
            code = in_child(self.tree, 7200, lambda: record(self.tree, room, target))
            if code != 0:
                target.unlink(missing_ok=True)
                sys.exit(f"tests/{room}: the tests fail in {self.tree} without a change (pytest: {code})")
        if room not in self.maps:
            self.maps[room] = json.loads(target.read_text())
        return self.maps[room]

    def choose(self, mutant: Mutant, seconds: float) -> tuple[list[str], float]:
        """Return the tests that have to see a mutant, in the order to run them, and what they cost."""
        chosen, stem = dict[str, float](), Path(mutant.path).stem.lstrip("_")
        for room in rooms_of(mutant):
            known = self.map_of(room)
            names = list(known["seconds"])
            lines = known["lines"].get(mutant.path, {})
            line = next((line for line in range(mutant.line, 0, -1) if str(line) in lines), 0)  # where a statement begins
            candidates = [names[number] for number in lines.get(str(line), ())] or names
            earlier = collections.Counter[str]()
            ranks = {}
            for name in sorted(candidates, key=lambda name: known["seconds"][name]):
                function = name.partition("[")[0]
                ranks[name] = (f"test_{stem}" not in name, earlier[function])
                earlier[function] += 1
            chosen.update((name, known["seconds"][name]) for name in sorted(candidates, key=ranks.__getitem__))
        total, tests = 0.0, list[str]()
        for name, cost in chosen.items():
            if total + cost <= seconds and len(tests) < MOST:
                total += cost
                tests.append(name)
        return tests, total


def rooms_of(mutant: Mutant) -> list[str]:
    """Return the rooms whose tests have to see a mutant."""
    if mutant.room not in ("extensions", "core"):
        return [mutant.room]
    stem = Path(mutant.path).stem.lstrip("_")
    listed = ast.parse((ROOT / "setup.py").read_text("utf-8"))
    c_files = next(ast.literal_eval(node.value) for node in listed.body
                   if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "C_FILES")
    extension = next((name for name, stems in c_files.items() if stem in stems), f"_{stem}")
    return ["kernels", *(room for room, modules in list_rooms().items() if room not in ("kernels", "extensions", "core")
                         and any(re.search(rf"\b{extension}\b", module.read_text("utf-8")) for module in modules))]


def run_c_tests(folder: Path, tree: Path, changed: str) -> str:
    """Compile what reads a file of the core, and run tests/c: "killed", "late", "survived" or "invalid"."""
    core, sound = tree / PACKAGE / "core", folder / "objects"
    first = not sound.exists()
    objects = sound if first else folder / "changed"
    shutil.rmtree(objects, ignore_errors=True)
    objects.mkdir()
    for source in [*sorted(core.glob("*.c")), tree / "tests/c/test_core.c"]:
        read = subprocess.run(["cc", "-MM", f"-I{core}", str(source)], capture_output=True, text=True, check=True).stdout
        target = objects / f"{source.stem}.o"
        if not first and changed not in read:
            target.symlink_to(sound / target.name)
        elif run(["cc", *C_FLAGS, f"-I{core}", "-c", str(source), "-o", str(target)], tree, 600) != 0:
            return "invalid"
    program = objects / "tests"
    if run(["cc", "-pthread", *map(str, sorted(objects.glob("*.o"))), "-o", str(program)], tree, 600) != 0:
        return "invalid"
    code = run([str(program)], tree, 300)
    return "late" if code is None else "survived" if code == 0 else "killed"


@contextlib.contextmanager
def changed(mutant: Mutant, tree: Path) -> Iterator[None]:
    """Change the place of a mutant, and change it back at the end."""
    path = tree / mutant.path
    before, times = path.read_bytes(), path.stat()
    source = before.decode()
    bytecode = Path(importlib.util.cache_from_source(str(path)))  # may be of the same second and size as another text
    bytecode.unlink(missing_ok=True)
    path.write_bytes((source[: mutant.start] + mutant.text + source[mutant.end :]).encode())
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        bytecode.unlink(missing_ok=True)


def judge(mutant: Mutant, tree: Path, tests: Tests, seconds: float) -> str:
    """Change the tree, build and test it, and change it back: "killed", "late", "survived" or "invalid"."""
    if mutant.room == "core":
        if not (tests.folder / "objects").exists() and run_c_tests(tests.folder, tree, "") != "survived":
            sys.exit(f"tests/c fails in {tree} without a change")
        with changed(mutant, tree):
            outcome = run_c_tests(tests.folder, tree, mutant.path)
        if outcome != "survived":
            return outcome
    chosen, cost = tests.choose(mutant, seconds)
    with changed(mutant, tree):
        if mutant.path.endswith(".py"):
            try:
                compile((tree / mutant.path).read_bytes(), mutant.path, "exec")
            except SyntaxError:
                return "invalid"
        elif run(BUILD, tree, 3600) != 0:
            put_back(tests.folder, tree)
            return "invalid"
        code = in_child(tree, SLACK + TIMES * cost, lambda: run_tests(chosen))
        if code == pytest.ExitCode.USAGE_ERROR:  # a test has another name in each run
            files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
            code = in_child(tree, SLACK + TIMES * seconds, lambda: run_tests(files))
    put_back(tests.folder, tree)
    return "late" if code is None else "survived" if code == 0 else "killed"


def make_tree(folder: Path) -> Path:
    """Copy the project, with what is built of it; a copy that is there is used again."""
    tree, built = folder / "tree", folder / "built"
    if not tree.exists():
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
    if run(BUILD, tree, 3600) != 0:
        sys.exit(f"{tree}: the extensions cannot be built")
    built.mkdir(exist_ok=True)
    for path in [*(tree / PACKAGE).glob("*.so"), *(tree / PACKAGE).glob("*.c")]:
        if not (built / path.name).exists():
            shutil.copy2(path, built)
    return tree


def put_back(folder: Path, tree: Path) -> None:
    """Put the extensions, and the C files that Cython wrote, back to how they are without a mutant.

    Also in build/lib*: the next build copies the extensions from there, those of earlier mutants too.
    """
    for path in (folder / "built").glob("*"):
        for target in (tree / PACKAGE / path.name, *tree.glob(f"build/lib*/ndcore/{path.name}")):
            if not target.exists() or path.stat().st_mtime_ns != target.stat().st_mtime_ns:
                shutil.copy2(path, target)


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
    parser.add_argument("--seconds", type=float, default=60, help="of CPU, for the tests of a mutant")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / "mutants.jsonl"
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    known = {(line["path"], line["start"], line["after"]) for line in lines}
    tree = make_tree(options.folder)
    tests = Tests(options.folder, tree)
    with results.open("a", buffering=1) as file:
        for mutant in draw(options.room or list(list_rooms()), options.places, options.seed):
            if (mutant.path, mutant.start, mutant.text) in known:
                continue
            before = (ROOT / mutant.path).read_text("utf-8")[mutant.start : mutant.end]
            line = {"room": mutant.room, "path": mutant.path, "line": mutant.line, "start": mutant.start, "before": before,
                    "after": mutant.text, "outcome": judge(mutant, tree, tests, options.seconds)}
            file.write(json.dumps(line) + "\n")
            lines.append(line)
    print(summarise(lines))


if __name__ == "__main__":
    main()
