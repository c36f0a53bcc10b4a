"""What executors must have: ndcore, of the version of the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ndcore._version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_executors", "refuse_others"]

_checked: set[str] = set()  # applications, by id


def check_executors(spark: SparkSession) -> None:
    """Raise RuntimeError where an executor has no ndcore, or another version than the driver. Once for an application.

    Starts a small task for each core that Spark knows of. An executor that comes later is not asked.
    """
    application = spark.sparkContext.applicationId
    if application in _checked:
        return
    spark.sparkContext.setJobDescription("ndcore: versions of the executors")

    def ask(_: Iterable[int]) -> Iterator[tuple[str, str]]:  # sent as it is: it must not need ndcore to be read
        import platform

        try:
            from ndcore._version import __version__ as found
        except ImportError as error:
            found = f"none ({error})"
        yield platform.node(), found

    tasks = max(2, spark.sparkContext.defaultParallelism)
    refuse_others(spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(ask).collect())
    _checked.add(application)


def refuse_others(found: Iterable[tuple[str, str]]) -> None:
    """Raise RuntimeError where a host has another version than this one; `found` is pairs (host, version)."""
    others = sorted({(host, version) for host, version in found if version != __version__})
    if others:
        listed = "; ".join(f"{host}: {version}" for host, version in others[:5])
        raise RuntimeError(f"the driver has ndcore {__version__}, and {len(others)} of the executors' hosts do not "
                           f"({listed}); install ndcore=={__version__} there, or ship an environment with spark.archives")
