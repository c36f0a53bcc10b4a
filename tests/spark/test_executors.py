"""Versions of ndcore on the executors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import ndcore as nd
from ndcore.spark import work as executors
from ndcore.spark.work import check_executors, refuse_others


def test_other_versions_are_refused() -> None:
    refuse_others([("a", nd.__version__), ("b", nd.__version__)])
    none = "none (No module named 'ndcore')"
    with pytest.raises(RuntimeError) as caught:
        refuse_others([("a", nd.__version__), ("c", none), ("b", "0.1"), ("b", "0.1")])
    assert f"2 of the executors' hosts do not (b: 0.1; c: {none})" in str(caught.value)


def test_executors_are_asked_once(spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(executors, "_checked", set())
    check_executors(spark)
    monkeypatch.setattr(executors, "__version__", "0.0")  # of the driver
    check_executors(spark)
    monkeypatch.setattr(executors, "_checked", set())
    with pytest.raises(RuntimeError, match=r"the driver has ndcore 0.0, and 1 of the executors' hosts do not"):
        check_executors(spark)
