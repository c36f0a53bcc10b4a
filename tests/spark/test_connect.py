"""Spark Connect: all functions run without Spark's Java in the client, with the local results and the same refusals."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcore as nd

SOURCE = Path(nd.__file__).parent / "spark"
ALLOWED = {"documents.py": ["_jdf"], "dedup_job.py": ["sparkContext", "_jvm", "sparkContext", "_jsc"],
           "forecast.py": ["_jdf", "_jdf"]}  # classic mode only


def test_java_is_left_alone() -> None:
    used = {path.name: re.findall(r"\b(?:sparkContext|_jvm|_jsc|_jdf|rdd)\b", path.read_text("utf-8"))
            for path in SOURCE.glob("*.py")}
    assert {name: words for name, words in used.items() if words} == ALLOWED


@pytest.mark.slow
def test_functions_on_a_server_of_this_machine(spark: Any) -> None:
    """The server is in the Java of the other tests, and the client a process of its own."""
    pytest.importorskip("grpc", reason="pyspark[connect] is not installed")
    services = spark._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")  # an object of Scala
    service.start(spark.sparkContext._jsc.sc())
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
               "SPARK_LOCAL_REMOTE": "1"}  # as PySpark sets it for a server on this machine
    command = [sys.executable, "-W", "ignore", __file__, f"sc://127.0.0.1:{service.localPort()}"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@contextmanager
def refused(message: str, kind: type[Exception] = ValueError) -> Iterator[None]:
    with pytest.raises(kind) as caught:
        yield
    assert message in str(caught.value), str(caught.value)


def main(server: str, place: str) -> None:
    """Run all functions of `ndcore.spark` with a session of Spark Connect on this server."""
    from generated import corpus
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
    from sparks import as_binary, check_verdicts

    from ndcore.spark import cluster, hamming_join, near_duplicates, sketch
    from ndcore.spark.documents import refuse_unstable
    from ndcore.spark.work import is_classic

    spark: Any = SparkSession.builder.remote(server).getOrCreate()
    assert not is_classic(spark)
    texts = as_binary(corpus(random.Random(5), 90))
    texts = [b"menu of all pages " + text if i % 3 else text for i, text in enumerate(texts)]
    columns = "id bigint, body binary, host string"
    rows = [(i, text, "xy"[i % 2]) for i, text in enumerate(texts)]
    spark.createDataFrame(rows, columns).repartition(3).write.parquet(f"{place}/in")
    df = spark.read.parquet(f"{place}/in")
    options: dict[str, Any] = {"threshold": 0.5, "shingling": nd.Shingling(width=2), "max_holders": 4}
    by = [row[2] for row in rows]
    for number, (mine, theirs) in enumerate([
        ({"filter": "lsh"}, {}), ({"drop": "contained", "lost": True, "drop_common": 0.3}, {"by": "host"}),
    ]):
        expected = nd.near_duplicates(texts, **options, **mine, **({"by": by} if theirs else {}))
        got = near_duplicates(df, "body", "id", directory=f"{place}/job-{number}", **options, **mine, **theirs)
        check_verdicts(got, expected, range(len(texts)))
        assert got.common_shingles == expected.common_shingles and got.counts()["kept"] == len(expected.kept)
        assert sorted(row.id for row in got.kept(df).collect()) == sorted(expected.kept)
    given = nd.cluster(texts, threshold=0.5)
    got = cluster(df, "body", "id", threshold=0.5)
    assert got.verdicts.where("class = 'kept'").count() == (given.codes == 0).sum()
    values = sketch(df, "body", "id", sketcher=nd.SimHasher()).where("valid").sort("id").collect()
    assert np.array_equal(np.array([row.sketch for row in values]).view(np.uint64), nd.SimHasher().sketch_many(
        [texts[row.id] for row in values]).values)
    simhashes = sketch(df, "body", "id", sketcher=nd.SimHasher()).where("valid")
    assert hamming_join(simhashes, simhashes, max_distance=0, id="id").count() >= len(values)

    folders = [*Path(place).glob("job-0/run-*")]
    again = near_duplicates(df, "body", "id", directory=f"{place}/job-0", filter="lsh", **options)
    assert again.counts() and [*Path(place).glob("job-0/run-*")] == folders  # all steps were taken
    with refused("has steps of another job: threshold is 0.8, and was 0.5"):
        near_duplicates(df, "body", "id", directory=f"{place}/job-0")
    with refused("has another text, label or priority"):
        changed = df.withColumn("body", F.expr("if(id = 3, binary('x'), body)"))
        near_duplicates(changed, "body", "id", directory=f"{place}/job-0", filter="lsh", **options)
    (Path(place) / "file").touch()
    with refused("cannot be used"):
        near_duplicates(df, "body", "id", directory=f"{place}/file/job")
    with refused("id is None, and the rows are not read from Parquet files"):
        near_duplicates(spark.createDataFrame([("a",)], "text string"))
    unstable = {
        "monotonically_increasing_id": F.monotonically_increasing_id(), "rand": F.expr("rand()"),
        "of_chance": F.udf(of_chance, "bigint").asNondeterministic()("id"),
    }
    for name, column in unstable.items():
        changing = df.withColumn("name", column)
        for some in (changing, changing.where("name is not null").cache()):
            with refused("a second reading may give other values, because of "):
                near_duplicates(some, "body", "name")
        if name != "of_chance":  # a plan does not tell which UDFs are read
            refuse_unstable(changing.select("body", "id"), "what is not read")
    spark.stop()


def of_chance(number: int) -> int:
    return number


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], folder)
