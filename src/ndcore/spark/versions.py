"""Convert Arrow tables from and to Spark; PySpark 3.5 and 4 have different names for this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndcore.checks import imported
from ndcore.phases.columns import pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def import_spark() -> None:
    """Import the packages that Spark's tasks with Arrow need. Raises ImportError, which names the one to install."""
    for name in ("pyspark", "pandas", "pyarrow"):
        imported(name, "ndcore.spark")


def as_table(rows: DataFrame) -> Any:
    """Return the rows as a table of Arrow."""
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    older: Any = rows
    return pa.Table.from_batches(older._collect_as_arrow(), to_arrow_schema(older.schema))


def as_frame(spark: SparkSession, table: Any) -> DataFrame:
    """Return a table of Arrow as a DataFrame."""
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = table if hasattr(DataFrame, "toArrow") else [tuple(row.values()) for row in table.to_pylist()]
    return spark.createDataFrame(rows, from_arrow_schema(table.schema))  # Connect needs the schema if there are no rows
