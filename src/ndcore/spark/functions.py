"""`F`, the functions of ``pyspark.sql``, for all modules of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndcore.checks import Late

__all__ = ["F"]

if TYPE_CHECKING:
    from pyspark.sql import functions as F
else:
    F = Late("pyspark.sql.functions", "ndcore.spark")
