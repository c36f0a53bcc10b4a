"""Inputs of jobs: what is Parquet, and columns in descending order."""

from __future__ import annotations

import datetime
import json
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.files.document_fields import RankingField
from ndcore.files.errors import UsageError
from ndcore.spark.inputs import descending, open_input


@pytest.mark.parametrize(("kind", "ascending"), [
    ("string", ["", "a", "ab", "b", "ü"]), ("bigint", [-2**63, -1, 0, 2**63 - 1]), ("double", [-1.5, 0.0, 2.5]),
    ("boolean", [False, True]), ("date", [datetime.date(1969, 1, 1), datetime.date(2026, 1, 1)]),
])
def test_a_descending_column(spark, kind, ascending):
    df = spark.createDataFrame([(value,) for value in ascending], f"x {kind}").coalesce(1)
    rows = df.select("x", descending(F.col("x"), df.schema["x"].dataType.typeName()).alias("y")).collect()
    assert [row.x for row in sorted(rows, key=lambda row: row.y)] == ascending[::-1]


def test_what_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a column of type array has no order"):
        descending(None, "array")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}')
    both = [str(tmp_path / "a.parquet"), str(tmp_path / "b.jsonl")]
    with pytest.raises(UsageError, match="some are Parquet, and some are not; give inputs of one kind"):
        open_input(SimpleNamespace(), both, "documents", text="text", ident=None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there are no documents"):
        open_input(SimpleNamespace(), [str(tmp_path / "empty")], "documents", text="text", ident=None)


VALUES = {
    "numbers": ["9", "10", "-3", "-20", "1e3", "0", "-0.0", "  7.50", "7.5", None, " ", "0.001", "1E-3"],
    "dates": ["2024-05-01", "Wed, 1 May 2024 10:00:00 GMT", "2024-05-01T12:00:00+02:00", "2023-12", "1999-01-01", ""],
    "mixed": ["31.12.2019", "2024-05-01", "10", "9", None, "\u00a0", "\ue000", "\U0001f600", "10"],
    "typed": [3, 2**53 + 1, 2**53, -1, None, 3, 2**62],
    "floats": [0.1, -2.5, 1e300, None, -1e-300, 0.0, float("inf"), float("-inf")],
}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", VALUES)
def test_keep_order_is_the_local_one(spark, work, tmp_path, name, form):
    values = VALUES[name]
    place = tmp_path / f"in.{form}"
    if form == "jsonl":
        place.write_text("".join(json.dumps({"id": f"{i:02}", "text": "a", "n": n}) + "\n" for i, n in enumerate(values)))
    else:
        kind = {"typed": "bigint", "floats": "double"}.get(name, "string")
        rows = [(f"{i:02}", "a", n) for i, n in enumerate(values)]
        spark.createDataFrame(rows, f"id string, text string, n {kind}").coalesce(1).write.parquet(str(place))
    for order in ("asc", "desc"):
        local = RankingField("n", order == "desc")
        for value in values:
            local.check(value)
            local.append(value)
        ranks = local.priorities().tolist()
        given = open_input(work, [str(place)], "documents", text="text", ident="id", order=("n", order))
        found = [int(row.id) for row in given.rows.sort(given.priority, "id").select("id").collect()]
        assert found == sorted(range(len(values)), key=lambda i: (ranks[i], i))
        assert bool(given.strings) == bool(local.strings) == (name == "mixed")


@pytest.mark.slow
def test_directories_of_partitions(spark, work, tmp_path):
    df = spark.createDataFrame([("a", 1, "x y"), ("b", 2, "ü:/=")], "text string, day int, `h ost` string")
    place = tmp_path / "of=all"
    df.write.partitionBy("day", "h ost").parquet(str(place))
    df.write.parquet(str(tmp_path / "plain"))
    for path, wanted in ((place, ("day", "h ost")), (place / "day=1", ("h ost",)), (tmp_path / "plain", ())):
        given = open_input(work, [str(path)], "documents", text="text", ident="text", parquet=True)
        assert given.partitions == wanted


def test_fields_without_an_order(spark, work, tmp_path):
    for name, values, said in (("mixed", ["1", 1], "a number in some records and a string in others"),
                               ("none", [None, " "], "no field 'n' to keep documents by: of 2 none has it")):
        place = tmp_path / f"{name}.jsonl"
        place.write_text("".join(json.dumps({"text": "a", "n": n}) + "\n" for n in values))
        with pytest.raises(ValueError, match=said):
            open_input(work, [str(place)], "documents", text="text", ident=None, order=("n", "asc"))
    spark.createDataFrame([("a", None)], "text string, n bigint").write.parquet(str(tmp_path / "p.parquet"))
    with pytest.raises(ValueError, match="no field 'n' to keep documents by: of 1 none has it"):
        open_input(work, [str(tmp_path / "p.parquet")], "documents", text="text", ident=None, order=("n", "asc"))
