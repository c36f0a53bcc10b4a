"""The daemon of Spark's Python workers, with ndcore imported: workers are forks of it. No test is here.

A worker imports pandas for its first task in any case, in 0.3 s of CPU.
"""

from __future__ import annotations

import gc

import pandas
import pyarrow.pandas_compat
import pyspark.worker
from pyspark.daemon import manager

import ndcore.spark.near_duplicates

__all__ = ["ndcore", "pandas", "pyarrow", "pyspark"]  # imported for the workers

if __name__ == "__main__":
    gc.freeze()  # a worker collects garbage after each task, and would look at all that was imported
    manager()
