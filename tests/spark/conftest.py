"""The session of Spark."""

from __future__ import annotations

from typing import Any

import pytest
from sparks import start_session


@pytest.fixture(scope="session")
def spark() -> Any:
    session = start_session()
    yield session
    session.stop()


@pytest.fixture
def work(spark: Any) -> Any:
    from ndcore.spark.work import Work

    return Work(spark, None)
