"""The modules of the benchmarks, for the tests of them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[1] / "bench"


def imported(*names: str) -> list[ModuleType]:
    """These modules; the test file that asks is skipped where the benchmarks are not."""
    if not BENCH.is_dir():
        pytest.skip("the benchmarks are not here", allow_module_level=True)
    sys.path.insert(0, str(BENCH))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(BENCH))
