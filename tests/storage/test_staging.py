"""One job at a time writes an output; the next one clears what a killed one left, and nothing that is held or foreign."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ndcore.storage import staging
from ndcore.storage.container import replacing
from ndcore.storage.job_description import REPEATS
from ndcore.storage.lock import Lock
from ndcore.storage.staging import Staging, sweep

pytest.importorskip("fcntl")


def killed(program: str) -> None:
    """Run a program that kills itself."""
    begin = "import os, signal\nfrom pathlib import Path\nfrom ndcore.storage import staging\n"
    done = subprocess.run([sys.executable, "-c", begin + program], check=False)
    assert done.returncode == -signal.SIGKILL


def make(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / "a").write_text(content)


def test_the_second_job_on_an_output_is_refused_and_told_which(tmp_path: Path) -> None:
    with Staging(tmp_path / "out"), Staging(tmp_path / "other"):
        with pytest.raises(BlockingIOError, match="by this process; another job writes this output: wait") as caught:
            Staging(tmp_path / "out").__enter__()
        assert caught.value.filename == str(tmp_path / "out")
        with pytest.raises(BlockingIOError):
            Staging(tmp_path / "out").recover()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_job_left_is_cleared_by_the_next_job_in_the_directory(tmp_path: Path) -> None:
    killed(f"job = staging.Staging({str(tmp_path / 'out')!r}).__enter__()\njob.new.mkdir()\n(job.new / 'a').touch()\n"
           "os.kill(os.getpid(), signal.SIGKILL)")
    killed(f"from ndcore.storage.container import replacing\nwith replacing({str(tmp_path / 'file')!r}, False) as file:\n"
           "    os.kill(os.getpid(), signal.SIGKILL)")
    assert len(list(tmp_path.iterdir())) == 2
    with Staging(tmp_path / "another") as job:
        assert [path.name for path in tmp_path.iterdir()] == [".another.ndcore.tmp"]
        job.new.write_text("x")
        job.commit()
    assert [path.name for path in tmp_path.iterdir()] == ["another"]


def test_what_is_held_or_foreign_stays(tmp_path: Path) -> None:
    make(tmp_path / ".theirs.ndcore.tmp", "precious")
    (tmp_path / ".out.0123456789abcdef.tmp").write_text("of an earlier version, which holds nothing")
    (tmp_path / ".link.ndcore.tmp").symlink_to(tmp_path / ".theirs.ndcore.tmp")
    before = sorted(tmp_path.rglob("*"))
    with Staging(tmp_path / "out") as job, replacing(tmp_path / "file", durable=False) as file:
        job.new.write_text("x")
        sweep(tmp_path)
        file.write(b"y")
        job.commit()
    assert (tmp_path / "out").read_text() == "x" and (tmp_path / "file").read_text() == "y"
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "out", tmp_path / "file"])


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_directory_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool) -> None:
    if not exchanges:
        monkeypatch.setattr(staging, "exchange", lambda a, b: False)
    make(tmp_path / "out", "old")
    with Staging(tmp_path / "out") as job:
        make(job.new, "new")
        job.commit()
        assert (tmp_path / "out" / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["out", "é" * 120])
def test_a_kill_between_two_renames_leaves_the_old_output_to_be_put_back(tmp_path: Path, name: str) -> None:
    make(tmp_path / name, "old")
    killed("staging.exchange = lambda a, b: False\nrename = Path.rename\n"
           "def once(a, b):\n    rename(a, b)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
           f"job = staging.Staging({str(tmp_path / name)!r}).__enter__()\njob.new.mkdir()\nPath.rename = once\njob.commit()")
    assert not (tmp_path / name).exists()
    Staging(tmp_path / name).recover()
    assert (tmp_path / name / "a").read_text() == "old" and [path.name for path in tmp_path.iterdir()] == [name]


def test_a_lock_that_was_removed_while_another_waited_to_take_it_is_no_lock(tmp_path: Path, monkeypatch) -> None:
    first, opened, seen = Lock(tmp_path, ""), os.open, []

    def late(path, *flags):
        descriptor = opened(path, *flags)
        if not seen:  # the first job ends between the opening and the locking of the second
            seen.append(first.remove())
        return descriptor

    monkeypatch.setattr(os, "open", late)
    second = Lock(tmp_path, "")
    with pytest.raises(BlockingIOError):
        Lock(tmp_path, "")
    second.remove()


def test_a_work_directory_that_another_job_removes_meanwhile_is_made_again_and_locked(tmp_path: Path, monkeypatch) -> None:
    place, made = tmp_path / "out.unfinished", type(REPEATS).make
    calls = []

    def then_removed(self, where):
        made(self, where)
        calls.append(where)
        if len(calls) == 1:
            where.rmdir()

    monkeypatch.setattr(type(REPEATS), "make", then_removed)
    with REPEATS.alone(place), pytest.raises(BlockingIOError), REPEATS.alone(place):
        pass
    assert len(calls) == 3 and not place.exists()
