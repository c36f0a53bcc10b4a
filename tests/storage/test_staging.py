"""One job at a time writes an output; the next one clears what a killed one left, and nothing that is held or foreign."""

from __future__ import annotations

import contextlib
import ctypes
import errno
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
from ndcore.storage.staging import Staging, commit_together, sweep

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


@pytest.mark.parametrize("library", [object(), OSError("there is no such library")])
def test_a_system_that_cannot_exchange_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: object) -> None:
    def open_library(name: None) -> object:
        if isinstance(library, OSError):
            raise library
        return library

    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    monkeypatch.setattr(staging.ctypes, "CDLL", open_library)
    assert not staging.exchange(tmp_path / "a", tmp_path / "b")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("1", "2")


@pytest.mark.parametrize(("code", "exchanged"), [(0, True), (-1, False)])
def test_macos_has_a_function_of_its_own(monkeypatch: pytest.MonkeyPatch, code: int, exchanged: bool) -> None:
    """Call renamex_np with RENAME_SWAP, which is 2 in <sys/stdio.h>; it returns 0, or -1 for a failure."""
    calls = []

    class Library:
        def renamex_np(self, a: bytes, b: bytes, flags: ctypes.c_uint) -> int:
            calls.append((a, b, flags.value))
            return code

    monkeypatch.setattr(staging.sys, "platform", "darwin")
    monkeypatch.setattr(staging.ctypes, "CDLL", lambda name: Library())
    assert staging.exchange(Path("a"), Path("b")) is exchanged
    assert calls == [(b"a", b"b", 2)]


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


OUTPUTS = ("table", "page", "out")  # the main one last


def outputs(folder: Path, stack: contextlib.ExitStack, content: str) -> list[Staging]:
    """Make outputs that have no names yet."""
    jobs = [stack.enter_context(Staging(folder / name)) for name in OUTPUTS]
    for job in jobs[:2]:
        job.new.write_text(content)
    make(jobs[2].new, content)
    return jobs


def contents(folder: Path) -> list[str]:
    places = [*(folder / name for name in OUTPUTS[:2]), folder / "out" / "a"]
    return [place.read_text() if place.exists() else "" for place in places]


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("there", [(), ("page",), OUTPUTS])
@pytest.mark.parametrize("failing", range(3))
def test_outputs_get_their_names_together_or_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool, there: tuple[str, ...], failing: int
) -> None:
    if not exchanges:
        monkeypatch.setattr(staging, "exchange", lambda a, b: False)
    with contextlib.ExitStack() as stack:
        jobs = outputs(tmp_path, stack, "old")
        commit_together([job for job, name in zip(jobs, OUTPUTS, strict=True) if name in there])
    before = contents(tmp_path)
    take = Staging._take_name

    def fail(job: Staging) -> None:
        take(job)
        if job.target.name == OUTPUTS[failing]:
            raise KeyboardInterrupt

    with contextlib.ExitStack() as stack:
        jobs = outputs(tmp_path, stack, "new")
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Staging, "_take_name", fail)
            commit_together(jobs)
        assert contents(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(there) and contents(tmp_path) == before


def test_no_output_gets_its_name_where_one_may_not_or_the_disk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.ExitStack() as stack:
        jobs = outputs(tmp_path, stack, "new")
        jobs[2].check = lambda: (_ for _ in ()).throw(FileExistsError("of another job"))
        with pytest.raises(FileExistsError, match="of another job"):
            commit_together(jobs)
        jobs[2].check = lambda: None
        full = OSError(errno.ENOSPC, "No space left on device")
        monkeypatch.setattr(staging, "sync_tree", lambda place: (_ for _ in ()).throw(full))
        with pytest.raises(OSError, match=r"No space left on device .*free there") as caught:
            commit_together(jobs)
        assert caught.value.filename == str(tmp_path / "out") and contents(tmp_path) == ["", "", ""]


@pytest.mark.parametrize("after", range(1, 4))
def test_where_the_main_output_is_new_after_a_kill_the_others_are(tmp_path: Path, after: int) -> None:
    with contextlib.ExitStack() as stack:
        commit_together(outputs(tmp_path, stack, "old"))
    killed(f"import contextlib, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nimport test_staging as tests\n"
           "take, done = staging.Staging._take_name, []\n"
           "def then_killed(job):\n    take(job)\n    done.append(job)\n"
           f"    if len(done) == {after}:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
           "staging.Staging._take_name = then_killed\n"
           "with contextlib.ExitStack() as stack:\n"
           f"    staging.commit_together(tests.outputs(Path({str(tmp_path)!r}), stack, 'new'))")
    sweep(tmp_path)
    assert contents(tmp_path) == ["new"] * after + ["old"] * (3 - after)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(OUTPUTS)


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
