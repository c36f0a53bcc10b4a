"""Run a job: ``python -m ndcore.spark dedup …``, or ``spark-submit … $(python -m ndcore.spark --path) dedup …``.

Exit codes: 0 success, 1 a problem with an input, an output or an executor, 2 a wrong command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]  # modules here must not be top-level


def main(argv: Sequence[str]) -> int:
    """Run the job that the arguments name, and return its exit code."""
    from ndcore.spark.dedup_job import reason, run
    from ndcore.spark.forecast import forecast
    from ndcore.spark.options import parse
    from ndcore.spark.versions import import_spark

    options = parse(argv)
    if options is None:
        return 0
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for local workers; a cluster's own setting takes precedence
    try:
        import_spark()
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.appName("ndcore dedup").getOrCreate()
        try:
            if options.dry_run:
                print(*forecast(spark, options), sep="\n")
                return 0
            summary = run(spark, options)
        finally:
            spark.stop()
    except Exception as error:
        print(f"ndcore.spark: {reason(error)}", file=sys.stderr)
        return 1
    print(" ".join(f"{name} {value}" for name, value in summary.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
