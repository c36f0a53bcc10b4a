"""SECURITY.md and docs/proof.md: every promise names tests, and every test that they name exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"SECURITY.md": 12, "docs/proof.md": 15}  # each with the least number of its promises
if not all((ROOT / page).exists() for page in PAGES):
    pytest.skip("SECURITY.md and docs are not beside the tests", allow_module_level=True)


def promises(page):
    """Return the rows of the table of promises, as (line, promise, tests)."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    begin = lines.index("| promise | tests |")
    rows = []
    for number, line in enumerate(lines[begin + 2 :], begin + 3):
        if not line.startswith("| "):
            return rows
        promise, tests = line.strip("| ").split(" | ")
        rows.append((number, promise, tests))
    return rows


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_has_tests_that_exist(page):
    missing, functions = [], {}
    for number, promise, tests in promises(page):
        named = re.findall(r"`(tests/[^`]+)`", tests)
        if not named:
            missing.append(f"{page}:{number}: {promise[:40]!r} names no test")
        for name in named:
            path, _, function = name.partition("::")
            if path not in functions and (ROOT / path).is_file():
                body = ast.parse((ROOT / path).read_text("utf-8")).body
                functions[path] = {node.name for node in body if isinstance(node, ast.FunctionDef)}
            if path not in functions or (function and function not in functions[path]):
                missing.append(f"{page}:{number}: there is no {name}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_the_table_is_read(page, least):
    assert len(promises(page)) >= least


def test_every_kind_and_target_of_fuzzing_is_listed():
    """The page lists what fuzzes each parser; a target that it does not list, or that is gone, is an error."""
    page = (ROOT / "docs" / "proof.md").read_text("utf-8")
    targets = {path.name for path in (ROOT / "tests" / "fuzz").glob("fuzz_*.c")}
    listed = set(re.findall(r"`(fuzz_\w+\.c)`", page))
    assert listed == targets - {"fuzz_rabin.c", "fuzz_pairs.c"}  # they parse nothing
    fuzz_files = pytest.importorskip("fuzz_files")
    cells = " ".join(line for line in page.splitlines() if re.search(r"\| .*kinds? `", line))
    assert {kind for kind in fuzz_files.KINDS if f"`{kind}`" not in cells} == set()
