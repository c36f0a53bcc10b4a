"""Jobs that failed or were killed go on from their finished steps, with the result of one run."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from generated import corpus
from sparks import as_binary, check_rows, check_verdicts, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import cluster, near_duplicates
from ndcore.spark.dedup_job import run
from ndcore.spark.options import parse
from ndcore.spark.work import Work

SCHEMA = "id bigint, text binary, host int"


class Ended(Exception):
    """A job was ended by a test."""


@pytest.fixture
def end_after(monkeypatch):
    """Let jobs end after so many steps of their own, None: never; returns the names of these steps."""
    keep, own, most = Work.keep, [], [None]

    def counting(self, rows, step):
        kept = keep(self, rows, step)
        if not self.taken:
            own.append(step)
            if len(own) == most[0]:
                raise Ended
        return kept

    monkeypatch.setattr(Work, "keep", counting)

    def end(number):
        del own[:]
        most[0] = number
        return own

    return end


def rows_of(seed, n):
    return [(i, text, i % 2) for i, text in enumerate(as_binary(corpus(random.Random(seed), n)))]


@pytest.mark.slow
def test_a_job_that_failed_goes_on(spark, tmp_path, end_after):
    """It fails after its counters and its marks, which have the keys of the run that filled them."""
    rows, options = rows_of(3, 40), {"threshold": 0.6, "shingling": nd.Shingling(width=2), "drop": "contained"}
    df = frame(spark, rows, SCHEMA, 2, 1)
    own = end_after(2)
    with pytest.raises(Ended):
        near_duplicates(df, id="id", directory=tmp_path, **options)
    steps = [*own]
    assert steps == ["counts of shingles", "marks of shingles"]
    own = end_after(None)
    got = near_duplicates(df, id="id", directory=tmp_path, **options)
    check_verdicts(got, nd.near_duplicates([text for _, text, _ in rows], **options), range(len(rows)))
    named = [path.name.partition("-after")[0][4:].replace("-", " ") for path in tmp_path.glob("run-*/*")]
    assert sorted(named) == sorted([*steps, *own])  # none was done twice


@pytest.mark.slow
def test_what_a_job_does_not_go_on_from(spark, tmp_path, end_after):
    rows = rows_of(4, 12)
    end_after(2)
    options = {"id": "id", "by": "host", "directory": tmp_path}
    with pytest.raises(Ended):
        near_duplicates(spark.createDataFrame(rows, SCHEMA), **options)
    end_after(None)
    number, text, host = rows[5]
    for changed, message in (
        ([*rows[:5], (number, text + b"!", host), *rows[6:]], "the document {'id': 5} has another text, label or priority"),
        ([*rows[:5], (number, text, 7), *rows[6:]], "the document {'id': 5} has another text, label or priority"),
        (rows[:-1], "the document {'id': 11} is not there any more"),
        ([*rows, (12, b"a", 0)], "the document {'id': 12} is new"),
    ):
        with pytest.raises(ValueError, match="the steps in the directory are of another input: ") as caught:
            near_duplicates(spark.createDataFrame(changed, SCHEMA), **options)
        assert message in str(caught.value)
    df = spark.createDataFrame(rows, SCHEMA)
    for given, message in (
        ({"shingling": nd.Shingling(width=3)}, 'sketches shingling width is "3", and was "5"'),
        ({"keep": "longest"}, 'keep is "longest", and was "first"'),
        ({"by": None}, "columns is"),
    ):
        with pytest.raises(ValueError, match=message):
            near_duplicates(df, **{**options, **given})
    with pytest.raises(ValueError, match='job is "cluster", and was "near_duplicates"'):
        cluster(df, id="id", directory=tmp_path)


@pytest.mark.slow
def test_clusters_go_on(spark, tmp_path, end_after):
    rows = rows_of(5, 20)
    df = frame(spark, rows, SCHEMA, 2)
    options = {"sketcher": nd.ModSketcher(2, shingling=nd.Shingling(width=2)), "tell_apart": False}
    expected, own = nd.cluster([text for _, text, _ in rows], **options), end_after(5)
    with pytest.raises(Ended):
        cluster(df, id="id", directory=tmp_path, **options)
    for done in (False, True):
        steps, own = [*own], end_after(None)
        got = cluster(df, id="id", directory=tmp_path, **options)
        check_rows(got, expected, range(len(rows)), expected.labels.tolist())
        assert not {*steps} & {*own} and (own == []) == done
    with pytest.raises(ValueError, match="has another text"):
        cluster(df.selectExpr("id", "concat(text, binary('x')) as text"), id="id", directory=tmp_path, **options)


KILLED = """
import os, signal, sys, time
from ndcore.spark.__main__ import main
from ndcore.spark.work import Work
import sparks

def kill(_):
    os.kill(driver, signal.SIGKILL)
    time.sleep(10)  # Java ends when it notices; what it finishes before is finished
    yield from _

def keep(self, rows, step, keep=Work.keep):
    return keep(self, rows.mapInArrow(kill, rows.schema) if step == "sketches" else rows, step)

driver, Work.keep = os.getpid(), keep
sparks.start_session()
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_job_that_was_killed_goes_on(spark, tmp_path, end_after, capsys):
    lines = [json.dumps({"text": text.decode("utf-8", "replace")}) for _, text, _ in rows_of(6, 15)]
    given, out, scratch = (tmp_path / name for name in ("in.jsonl", "out", "scratch"))
    given.write_text("\n".join(lines))
    words = ["dedup", "--input", str(given), "--output", str(out), "--directory", str(scratch), "--width", "2"]
    quiet = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)  # pipes stay open as long as Java lives
    ended = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, **quiet)
    assert ended.returncode == -9 and [*scratch.glob("*/near-duplicates/run-*/*sketches")]
    (out / "kept").mkdir(parents=True)  # as of one that was killed later
    own = end_after(1)
    with pytest.raises(Ended):
        run(spark, parse(words))
    assert own == ["sketches"] and not out.exists()
    assert f"what is done stays in {scratch}/_ndcore-" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"has steps of another job: threshold is 0.7, and was 0.8"):
        run(spark, parse([*words, "--threshold", "0.7"]))
    end_after(None)
    summary = run(spark, parse(words))
    expected = nd.near_duplicates([json.loads(line)["text"] for line in lines], shingling=nd.Shingling(width=2))
    assert summary["kept"] == len(expected.kept) < summary["read"] == len(lines)
    assert sorted(path.name for path in out.iterdir()) == ["kept", "summary", "verdicts"] and not [*scratch.iterdir()]


@pytest.mark.slow
def test_a_job_without_a_finished_step_leaves_nothing(spark, tmp_path, capsys):
    (tmp_path / "in.jsonl").write_text('{"words": "a"}\n')
    with pytest.raises(Exception, match="no text field 'text'"):
        run(spark, parse(["dedup", "--input", str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out"),
                          "--directory", str(tmp_path / "scratch")]))
    assert not [*(tmp_path / "scratch").iterdir()] and not (tmp_path / "out").exists()
    assert "stays" not in capsys.readouterr().err
