"""One writer: the second is refused and told who writes, and a killed writer leaves no lock."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from ndcore.storage.lock import Lock


def test_a_second_writer_is_refused(tmp_path):
    lock = Lock(tmp_path, "wait")
    with pytest.raises(BlockingIOError, match="open for writing by this process; wait") as caught:
        Lock(tmp_path, "wait")
    assert caught.value.filename == str(tmp_path) and caught.value.errno == errno.EAGAIN
    lock.release()
    lock.release()
    Lock(tmp_path, "wait").release()


def test_another_process_is_named_and_its_lock_ends_with_it(tmp_path):
    program = f"from ndcore.storage.lock import Lock\nlock = Lock({str(tmp_path)!r}, '')\nprint('held', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(BlockingIOError, match=f"by process {child.pid};"):
            Lock(tmp_path, "wait")
        child.send_signal(signal.SIGKILL)
    Lock(tmp_path, "wait").release()


def test_a_hostile_lock_file(tmp_path):
    (tmp_path / "lock").write_bytes(b"\xff" * 1000)
    lock = Lock(tmp_path, "wait")
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    (tmp_path / "lock").write_bytes(b"\xff" * 1000)
    with pytest.raises(BlockingIOError):
        Lock(tmp_path, "wait")
    lock.release()


def test_no_directory(tmp_path):
    with pytest.raises(FileNotFoundError):
        Lock(tmp_path / "missing", "wait")


def test_a_process_without_standard_input(tmp_path):
    """Give descriptor 0 to the lock: it is released like any other, also where the lock is only forgotten."""
    program = (f"import os\nfrom ndcore.storage.lock import Lock\nos.close(0)\nlock = Lock({str(tmp_path)!r}, '')\n"
               f"os.fstat(0)\ndel lock\nLock({str(tmp_path)!r}, '').release()\nLock({str(tmp_path)!r}, '').remove()")
    subprocess.run([sys.executable, "-c", program], check=True)
    assert not any(tmp_path.iterdir())
