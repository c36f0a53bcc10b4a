"""One session of Spark for all tests, and comparisons with the local results. No test is here."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:ReservedCodeCacheSize=240m "  # Spark's compiled code does not fit in 48 MB, and was thrown away and compiled again
    "-XX:MetaspaceSize=512m -Xms1g -Xmn450m "  # no collection of all memory each time that classes have been loaded
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Djdk.lang.Process.launchMechanism=VFORK"  # Hadoop runs chmod for each file; by default a helper process starts it
)
SETTINGS = {
    "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g", "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.showConsoleProgress": "false", "spark.python.daemon.module": "sparkdaemon",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.buffer.pageSize": "1m",  # each sort and aggregation of each task takes a page: by default 16 MB
    "spark.scheduler.listenerbus.metrics.maxListenerClassesTimed": "0", "spark.sql.ui.explainMode": "simple",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # no look at Python's stack for each column
    "spark.sql.lightweightPlanChangeValidation": "false",  # no check of the plan after each rule that changes it
    "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0",  # any free port
}  # small queries: compiling them takes longer than running them


JAVA = 17  # the oldest that Spark 4 runs on


def java_version() -> int:
    """Return the major version of the Java that Spark would start; 0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin" if home else None)
    if program is None:
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?([0-9]+)', said)
    return int(found[1]) if found else 0


def start_session() -> Any:
    """Start Spark with two threads, which try a task up to four times; skip without Java or PySpark."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    version = java_version()
    if version < JAVA:
        pytest.skip(f"Spark needs Java {JAVA} or later, and there is {f'Java {version}' if version else 'no java'}")
    from py4j.java_gateway import JavaPackage, JVMView
    from pyspark.sql import SparkSession

    for kind in (JavaPackage, JVMView):
        remember_names(kind)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # of the workers
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)  # where they find sparkdaemon
    builder = SparkSession.builder.master("local[2,4]")
    for name, value in {**SETTINGS, "spark.driver.extraClassPath": os.pathsep.join(first_jars())}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    forget_defaults(session)
    forget_progress(session)
    files = session._jvm.org.apache.hadoop.fs.FileSystem.getLocal(session.sparkContext._jsc.hadoopConfiguration())
    files.setWriteChecksum(False)  # of each file another one would have the checksums
    return session


def first_jars() -> list[str]:
    """List the jars of Spark itself and of Scala, for Java to look into them before the 260 others."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    return [str(path) for name in ("spark-*.jar", "scala-library*.jar") for path in sorted(jars.glob(name))]


def remember_names(kind: Any) -> None:
    """Ask Java once for each name in a package or in the JVM: Java searches all jars for a class before it says package."""
    look_up = kind.__getattr__

    @functools.wraps(look_up)
    def find(self: Any, name: str) -> Any:
        value = vars(self)[name] = look_up(self, name)
        return value

    kind.__getattr__ = find


def forget_defaults(session: Any) -> None:
    """Remove the defaults of Hadoop, over a thousand: each job and each task gets a copy, and Hadoop's code has them too.

    The classes of file systems stay, because no code names them.
    """
    context = session.sparkContext
    context._jvm.java.lang.Class.forName("org.apache.hadoop.mapred.JobConf")  # which adds defaults when it is loaded
    configuration = context._jsc.hadoopConfiguration()
    classes = dict(configuration.getValByRegex(r"^fs\.\w+\.impl$"))
    configuration.clear()
    for name, value in classes.items():
        configuration.set(name, value)


def forget_progress(session: Any) -> None:
    """Remove what keeps the state of all tasks, stages and queries for Spark's user interface, which is off.

    The place in the program where a table is made is for the user interface, too; Spark looks for it in the stack.
    """
    context = session.sparkContext._jsc.sc()
    for store in (context.statusStore(), session._jsparkSession.sharedState().statusStore()):
        context.listenerBus().removeListener(store.listener().get())
    for form in ("callSite.short", "callSite.long"):
        session.sparkContext.setLocalProperty(form, "a test")


@contextlib.contextmanager
def settings(session: Any, values: dict[str, str]) -> Iterator[None]:
    """Change settings of a session for a while."""
    before = {name: session.conf.get(name, None) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)


def frame(spark: Any, rows: Sequence[tuple[Any, ...]], schema: str, partitions: int, seed: int | None = None) -> Any:
    """Return rows in this many partitions; with a seed in another order.

    Java has them in the form of Arrow. Rows of Python's own would go through a worker each time that they are read.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    rows = list(rows) if seed is None else random.Random(seed).sample(list(rows), len(rows))
    columns = StructType.fromDDL(schema)
    of_arrow = to_arrow_schema(columns)
    named = [dict(zip(columns.names, row, strict=True)) for row in rows]
    bounds = itertools.pairwise(len(rows) * i // partitions for i in range(partitions + 1))
    parts = [pa.RecordBatch.from_pylist(named[first:last], of_arrow) for first, last in bounds]
    with settings(spark, {"spark.sql.execution.arrow.localRelationThreshold": "0"}):  # each batch is a partition
        return spark.createDataFrame(pa.Table.from_batches(parts), columns)


def as_binary(texts: Sequence[str | bytes]) -> list[bytes]:
    """Return the bytes of texts; Spark's strings have no surrogates."""
    return [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts]


def check_verdicts(got: Any, expected: Any, ids: Sequence[Any], old: Sequence[Any] = ()) -> None:
    """Assert that verdicts of Spark are those of the local result on documents in the order of their ids."""
    n = len(ids)
    labels = [ids[label] if label < n else old[label - n] for label in expected.labels.tolist()]
    ordered = check_rows(got, expected, ids, labels)
    assert [row["against"] for row in ordered] == [label >= n for label in expected.labels.tolist()]
    assert ("score" in ordered[0], "lost" in ordered[0]) == (expected.rules.scored, expected.lost is not None)
    if expected.rules.scored:
        np.testing.assert_array_equal([row["score"] for row in ordered], expected.score)
    if expected.lost is not None:
        assert [row["lost"] for row in ordered] == expected.lost.tolist()


def check_rows(got: Any, expected: Any, ids: Sequence[Any], labels: Sequence[Any]) -> list[Any]:
    """Assert that representatives (labels are their ids), classes, resemblances and sizes are the local ones."""
    listed = got.verdicts.toArrow().to_pylist()
    rows = {row["id"]: row for row in listed}
    assert len(rows) == len(ids) == len(listed) and set(rows) == set(ids)
    ordered = [rows[id] for id in ids]
    assert [row["representative"]["id"] for row in ordered] == list(labels)
    assert [row["class"] for row in ordered] == expected.classes.tolist()
    np.testing.assert_array_equal([row["resemblance"] for row in ordered], expected.resemblance)
    sizes = np.bincount(expected.labels, minlength=len(ids))[expected.labels]
    sizes += expected.labels >= len(ids)  # a document of another collection
    assert [row["cluster_size"] for row in ordered] == sizes.tolist()
    return ordered


def check_common(got: Any, expected: Any, ids: Sequence[Any], *, example: bool = True) -> None:
    """Assert that the long runs of Spark are those of the local result, of documents in the order of their ids.

    The example is the first document in keep order, locally by position.
    """
    found = [{**row, "example": row["example"]["id"]} for row in got.common.toArrow().to_pylist()]
    wanted = [{**row, "example": ids[row["example"]]} for row in expected.common]
    for row in () if example else [*found, *wanted]:
        del row["example"]
    assert found and sorted(found, key=str) == sorted(({name: row[name] for name in found[0]} for row in wanted), key=str)
