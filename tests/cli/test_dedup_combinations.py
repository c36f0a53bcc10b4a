"""``ndcore dedup`` with several options at once, beside brute force (`ndcore.reference.dedup`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from combinations import Job, drawn
from commands import jsonl, lines, run

import ndcore as nd

FIELDS = {"by": "group", "one_per": "page", "keep": "priority"}


def for_files(job: Job) -> Job | None:
    """Return the job as the command can do it; None for jobs that it refuses, and for keys that are functions."""
    one = isinstance(job.must_agree, str) or callable(job.must_agree)
    rules = [job.must_agree] if one else list(job.must_agree or ())
    if job.refusals() or any(callable(rule) for rule in rules) or not job.documents:
        return None
    shingles = {name: value for name, value in job.shingles.items() if name not in ("labelled", "short")}
    return replace(job, documents=texts(job.documents), must_agree=rules or None, shingles=shingles, options={
        **job.options, "verify": "fingerprints", "against": texts(job.options.get("against") or [])})  # fmt: skip


def texts(documents: list[str | bytes]) -> list[str | bytes]:
    return [document if isinstance(document, str) else document.decode() for document in documents]


def command(job: Job, folder: Path) -> list[object]:
    """Write the documents to files; return the arguments that stand for the options."""
    options, rows = job.options, [{"text": document} for document in job.documents]
    arguments: list[object] = [
        folder / "texts.jsonl", "--filter", "complete", "--max-holders", job.how["max_holders"], "--threads", 2,
        "--threshold", options["threshold"], "--clustering", options["cluster"], "--drop", options["drop"],
        "--min-shingles", options["min_shingles"],
    ]  # fmt: skip
    for name, field in FIELDS.items():
        if isinstance(values := options.get(name), list):
            rows = [{**row, field: value} for row, value in zip(rows, values, strict=True)]
            arguments += ["--" + name.replace("_", "-"), field + ":asc" * (name == "keep")]
    if isinstance(options["keep"], str):
        arguments += ["--keep", options["keep"]]
    for name, value in job.shingles.items():
        arguments += [f"--{name}", value]
    for rule in job.must_agree or ():
        arguments += ["--must-agree", rule]
    if options["drop_common"] is not None:
        arguments += ["--drop-common", options["drop_common"]]
    if job.min_df is not None:
        learned = nd.Idf.learn([*job.documents, *options["against"]], nd.Shingling(**job.shingles), job.min_df)
        learned.save(folder / "learned.ndw")
        arguments += ["--weights", folder / "learned.ndw"]
    if options["against"]:
        (folder / "old.jsonl").write_bytes(jsonl([{"text": document} for document in options["against"]]))
        arguments += ["--against", folder / "old.jsonl"]
    (folder / "texts.jsonl").write_bytes(jsonl(rows))
    return [*arguments, *("--" + name for name in ("lost", "reassign") if options[name])]


JOBS = [(seed, job) for seed in range(40) if (job := for_files(drawn(seed))) is not None]


@pytest.mark.parametrize("job", [job for _, job in JOBS], ids=[f"seed {seed}" for seed, _ in JOBS])
def test_verdicts_of_files_as_brute_force(job: Job, tmp_path: Path) -> None:
    expected = job.expected()
    assert run("dedup", *command(job, tmp_path), "-o", tmp_path / "out", "--table", tmp_path / "t.jsonl", "-q") == 0
    table = lines(tmp_path / "t.jsonl")
    assert [row["cluster"] for row in table] == expected.labels
    assert [row["class"] for row in table] == expected.classes
    np.testing.assert_array_equal(np.array([row["resemblance"] for row in table], np.float64), expected.resemblance)
    if "score" in table[0]:
        np.testing.assert_array_equal(np.array([row["score"] for row in table], np.float64), expected.score)
    assert expected.lost is None or [row["lost"] for row in table] == expected.lost
    kept = [row["text"] for row in lines(tmp_path / "out" / "kept" / "texts.jsonl")]
    assert kept == [job.documents[i] for i in expected.kept]
