"""The architecture: which room may import which, and that no import makes a circle."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "ndcore"  # an installed package has no .pyx and no .c

# From the ground up: a room imports rooms of lower floors only. A new room gets its place here.
FLOORS = (
    ("ground",),  # the extensions, and modules that import nothing above them
    ("stats", "storage", "kernels"),
    ("filters", "hamming", "text"),
    ("sketch", "alignment", "plots", "stemming"),
    ("pairs",),
    ("dedup", "collection", "store"),
    ("files", "phases", "report", "spans"),
    ("ndcore", "chains", "clustering", "clusterreport", "nearreport", "reportpage",  # the public names
     "crawl", "judge", "serve", "spark"),
    ("cli",),
)
GROUND = {"_version", "checks", "choices", "human", "notebook", "parallel", "progress", "readonly", "recipe"}
REFERENCE = {"cli.bench"}  # modules that may import the reference: nothing else of the package depends on it


def modules() -> dict[str, Path]:
    """Return the path of every module by its dotted name below `ndcore`; the package itself is "ndcore"."""
    found = {}
    for path in [*ROOT.rglob("*.py"), *ROOT.rglob("*.pyx")]:
        parts = [*path.relative_to(ROOT).parts[:-1], path.stem]
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts) or "ndcore"] = path
    return found


MODULES = modules()


def room_of(module: str) -> str:
    top = module.partition(".")[0]
    if top == "__main__":
        return "cli"
    return "ground" if top in GROUND or top.startswith("_") else top


def resolved(package: str, name: str) -> str | None:
    """Return the module that ``from package import name`` loads, or None where it is not of ndcore."""
    if package.partition(".")[0] != "ndcore":
        return None
    inside = package.removeprefix("ndcore").lstrip(".")
    below = f"{inside}.{name}".lstrip(".")
    return below if below in MODULES else inside or "ndcore"


def imports_of(module: str, path: Path) -> Iterator[tuple[str, int]]:
    """Yield the modules of ndcore that a module imports, in functions too, each with its line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pyx":
        for match in re.finditer(r"^[ \t]*from (ndcore[\w.]*) import (.+)$", text, re.M):
            for name in match[2].split(","):
                yield resolved(match[1], name.split()[0]) or "", text.count("\n", 0, match.start()) + 1
        return
    package = "ndcore." + (module if path.stem == "__init__" else module.rpartition(".")[0])
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name.removeprefix("ndcore").lstrip(".") or "ndcore", node.lineno)
                        for alias in node.names if alias.name.partition(".")[0] == "ndcore")
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            origin = f"{base}.{node.module}" if node.level and node.module else base if node.level else node.module or ""
            for alias in node.names:
                name = resolved(origin.rstrip("."), alias.name)
                if name is not None:
                    yield name, node.lineno


@pytest.fixture(scope="module")
def imports() -> dict[str, dict[str, int]]:
    """Return for each module the modules that it imports, each with a line that does."""
    return {module: {other: line for other, line in imports_of(module, path) if other != module}
            for module, path in MODULES.items()}


def test_every_room_has_a_floor():
    floors = [room for floor in FLOORS for room in floor]
    assert len(floors) == len(set(floors))
    assert {room_of(module) for module in MODULES} - {"core", "reference"} == set(floors)
    assert len(FLOORS) <= 9


def test_no_arrow_goes_upwards(imports):
    height = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    wrong = []
    for module, path in sorted(MODULES.items()):
        room = room_of(module)
        where = path.relative_to(ROOT)
        for other, line in sorted(imports[module].items()):
            above = room_of(other)
            if other not in MODULES:
                wrong.append(f"{where}:{line}: {module} imports {other}, which does not exist")
            elif above == room:
                continue
            elif "reference" in (room, above):
                if module not in REFERENCE:
                    wrong.append(f"{where}:{line}: {module} and {other}: the reference stands alone")
            elif height[above] >= height[room]:
                wrong.append(f"{where}:{line}: {module} imports {other}: {above} does not lie below {room}")
    assert not wrong, "\n".join(wrong)


def test_no_circle(imports):
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " → ".join([*way[way.index(module):], module])
        if module not in done:
            for other in sorted(imports[module]):
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(MODULES):
        visit(module, ())


def test_every_room_says_what_it_is_for():
    for path in ROOT.rglob("__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), path
        if path.parent not in (ROOT, ROOT / "judge", ROOT / "spark"):  # which have public names
            assert len(tree.body) == 1, f"{path} holds more than its docstring"


def test_the_quick_choice_has_files_of_every_room():
    """The first line of tests/quick.txt leaves out slow tests; each other line names a file that exists."""
    tests = ROOT.parents[1] / "tests"
    option, *files = (tests / "quick.txt").read_text(encoding="utf-8").splitlines()
    assert option == "-mnot slow"
    assert [file for file in files if not (tests.parent / file).is_file()] == []
    rooms = {path.parent.name for path in tests.glob("*/test_*.py")}
    assert rooms - {Path(file).parent.name for file in files} == set(), "rooms without a file in tests/quick.txt"


def test_the_walk_sees_imports_of_every_kind(imports):
    """What the rules are checked on is there: imports at the top, in functions, of extensions, in extensions."""
    assert {"_pipeline", "_types", "recipe"} <= imports["text.shingling"].keys()
    assert "reference.sketches" in imports["cli.bench"]
    assert "_minhash" in imports["kernels"]
    assert "reference.rabin" in imports["reference.sketches"]


def test_the_rooms_and_modules_that_a_room_names_exist():
    rooms = {room for floor in FLOORS for room in floor} | {path.stem for path in ROOT.glob("*.py*")}
    for path in ROOT.glob("*/__init__.py"):
        opening = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        inside = {other.stem for other in path.parent.iterdir()}
        named = set(re.findall(r"`(?:ndcore\.)?([a-z_]+)`", opening))
        assert named <= rooms | inside | {"parquet"}, path


def test_every_room_is_installed():
    listed = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    rooms = {f"ndcore.{path.name}" for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms <= set(listed)
