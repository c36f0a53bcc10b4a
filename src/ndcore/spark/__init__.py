"""The same jobs on Apache Spark: the same recipes, the same bits, the same verdicts.

Imports `phases` and the rooms below it; PySpark is the extra `spark`.
"""

from __future__ import annotations

from ndcore.spark.cluster import ClusteringFrames, cluster
from ndcore.spark.collection import Change
from ndcore.spark.collection import GrowingCollection as Collection
from ndcore.spark.hamming_join import hamming_join
from ndcore.spark.manifest import Conflict
from ndcore.spark.near_duplicates import near_duplicates
from ndcore.spark.result import NearDuplicateFrames
from ndcore.spark.sketch import sketch

__all__ = [
    "Change", "ClusteringFrames", "Collection", "Conflict", "NearDuplicateFrames", "cluster", "hamming_join",
    "near_duplicates", "sketch",
]
