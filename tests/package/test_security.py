"""SECURITY.md: every promise names tests, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if not (ROOT / "SECURITY.md").exists():
    pytest.skip("SECURITY.md is not beside the tests", allow_module_level=True)
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| ")][1:]


def test_every_promise_has_tests_that_exist():
    missing, functions = [], {}
    for number, line in enumerate(TEXT.splitlines(), 1):
        if line.startswith("| ") and not line.startswith("| promise "):
            promise, tests = line.strip("| ").split(" | ")
            named = re.findall(r"`(tests/[^`]+)`", tests)
            if not named:
                missing.append(f"SECURITY.md:{number}: {promise[:40]!r} names no test")
            for name in named:
                path, _, function = name.partition("::")
                if path not in functions and (ROOT / path).is_file():
                    body = ast.parse((ROOT / path).read_text("utf-8")).body
                    functions[path] = {node.name for node in body if isinstance(node, ast.FunctionDef)}
                if path not in functions or (function and function not in functions[path]):
                    missing.append(f"SECURITY.md:{number}: there is no {name}")
    assert not missing, "\n".join(missing)


def test_the_table_is_read():
    assert len(ROWS) >= 12 and not [row for row in ROWS if len(row) != 2]
