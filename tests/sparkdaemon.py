"""The daemon of Spark's Python workers, with ndcore imported: workers are forks of it. No test is here."""

from __future__ import annotations

import pyspark.worker
from pyspark.daemon import manager

import ndcore.spark.near_duplicates

__all__ = ["ndcore", "pyspark"]  # imported for the workers

if __name__ == "__main__":
    manager()
