"""The directory of a long run: what is said of it, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ndcore.cli.command import Outcome
from ndcore.cli.job_output import JobOutput
from ndcore.cli.main import main
from ndcore.files.errors import DocumentError, UsageError
from ndcore.storage.job_description import REPEATS
from ndcore.storage.staging import Staging

MINE = {"inputs": [["a.jsonl", 3, 7]]}


def claimed(place: Path, overwrite: bool = False) -> JobOutput:
    output = JobOutput(str(place), overwrite, Outcome(), REPEATS)
    output.claim(MINE)
    return output


def begun(place: Path, source: object, steps: int) -> None:
    REPEATS.begin(place, {}, source)
    for step in range(steps):
        (place / f"{step}.ndc").write_bytes(b"")


@pytest.mark.parametrize(("error", "same"), [
    (KeyboardInterrupt(), "the same command"),
    (DocumentError("a.jsonl", 2, "no JSON"), "the same command with --on-error skip"),
])
def test_what_is_left_is_named_only_where_a_step_is_finished(tmp_path: Path, error: BaseException, same: str) -> None:
    for steps in (0, 1):
        output = claimed(tmp_path / "work")
        begun(output.path, MINE, steps)
        with pytest.raises(type(error)), output.say_what_is_left():
            raise error
        assert output.path.exists() == bool(steps)
        said = f"what was done so far is in {output.path}: {same} goes on from there"
        assert output.outcome.message == (said if steps else "")


def test_nothing_is_said_of_the_work_of_another_run(tmp_path: Path) -> None:
    output = claimed(tmp_path)
    begun(tmp_path, {"inputs": []}, 1)
    with pytest.raises(KeyboardInterrupt), output.say_what_is_left():
        raise KeyboardInterrupt
    assert output.outcome.message == "" and REPEATS.is_begun(tmp_path)


def test_overwrite_removes_the_work_of_another_run_and_keeps_its_own(tmp_path: Path) -> None:
    for place, source, there in ((tmp_path / "own", MINE, True), (tmp_path / "other", {"inputs": []}, False)):
        begun(place, source, 1)
        claimed(place)
        assert (place / "0.ndc").exists()
        claimed(place, overwrite=True)
        assert place.exists() == there


def test_something_else_there_is_a_fault_of_usage(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    output = claimed(tmp_path)
    with pytest.raises(UsageError, match=f"^{tmp_path} exists and holds something else"), output.refuse_others():
        REPEATS.begin(tmp_path, {}, MINE)
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize("command", ["dedup", "repeats", "cluster", "contamination", "sketch"])
def test_two_jobs_on_one_output_are_one_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    pytest.importorskip("fcntl")
    (tmp_path / "in.jsonl").write_text('{"text": "a b c d e f"}\n')
    (tmp_path / "items.jsonl").write_text('{"text": "u v w x y z"}\n')
    given = [str(tmp_path / ("items.jsonl" if command == "contamination" else "in.jsonl"))]
    given += ["--in", str(tmp_path / "in.jsonl"), "--min-tokens", "3"] if command == "contamination" else []
    given += ["-o", str(tmp_path / "out"), "-q"]
    with Staging(tmp_path / "out"):
        assert main([command, *given]) == 1
    assert capsys.readouterr().err == (f"ndcore: {tmp_path}/out: open for writing by this process; another job writes this "
                                       "output: wait until it has ended, or give another name\n")
    assert main([command, *given]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "items.jsonl", "out"]
