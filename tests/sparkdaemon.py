"""The daemon of Spark's Python workers, with ndcore imported: workers are forks of it. No test is here."""

from __future__ import annotations

import gc

import pyspark.worker
from pyspark.daemon import manager

import ndcore.spark.near_duplicates

__all__ = ["ndcore", "pyspark"]  # imported for the workers

if __name__ == "__main__":
    gc.freeze()  # a worker collects garbage after each task, and would look at all that was imported
    manager()
