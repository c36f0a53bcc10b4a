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


@pytest.mark.parametrize("promise, tests", ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_promise_has_tests_that_exist(promise, tests):
    named = re.findall(r"`(tests/[^`]+)`", tests)
    assert named, promise
    for name in named:
        path, _, function = name.partition("::")
        assert (ROOT / path).is_file(), name
        if function:
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_the_table_is_read():
    assert len(ROWS) >= 12 and not [row for row in ROWS if len(row) != 2]
