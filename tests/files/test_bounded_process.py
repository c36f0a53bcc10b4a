"""A process that answers over pipes: answers in order, errors as answers, how it ends, and that it ends with its parent."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from ndcore.files.bounded_process import BoundedProcess, ProcessEnded

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers of CPU time")

SERVE = """
import os, sys
sys.path[:] = sys.argv[2:]
from ndcore.files.bounded_process import serve_answers
def answer(item):
    if item == "crash":
        os.abort()
    while item == "endless":
        pass
    return f"{sys.argv[1]} {1 // item}"
serve_answers(answer, 0.3)
"""


@pytest.fixture
def process():
    made = BoundedProcess(SERVE, "of")
    yield made
    made.kill()


def test_answers_are_in_order_and_an_error_is_one(process):
    first, error, last = process.ask([1, 0, -1])
    assert (first, last) == ("of 1", "of -1") and isinstance(error, ZeroDivisionError)
    assert process.ask([]) == [] and process.ask([2]) == ["of 0"]


def test_a_process_that_crashes_says_so_and_answers_no_more(process):
    with pytest.raises(ProcessEnded, match=r"its process ended \(exit code -6\)") as ended:
        process.ask([1, "crash", 1])
    assert ended.value.explain(0.3) == str(ended.value) and process.process.returncode == -signal.SIGABRT
    with pytest.raises((ProcessEnded, ValueError)):
        process.ask([1])


def test_an_item_has_some_seconds_of_cpu(process):
    with pytest.raises(ProcessEnded) as ended:
        process.ask(["endless"])
    assert ended.value.explain(0.3) == "it takes more than 0.3 seconds of CPU"


def test_time_is_counted_for_each_item_anew():
    code = SERVE.replace("while item", "end = time.process_time() + 0.2\n    while time.process_time() < end or item")
    process = BoundedProcess(code.replace("import os", "import os, time"), "of")
    assert process.ask([1] * 4) == ["of 1"] * 4  # 0.8 seconds in all
    process.close()


def test_it_ends_when_it_is_closed_and_at_once_when_it_is_killed(process):
    process.close()
    assert process.process.returncode == 0
    busy = BoundedProcess(SERVE.replace("0.3)", "1e6)"), "of")
    busy.process.stdin.write(b"\x80\x05]\x94\x8c\x07endless\x94a.")  # a pickle of ["endless"]
    busy.process.stdin.flush()
    busy.kill()
    assert busy.process.returncode == -signal.SIGKILL


def test_it_ends_with_a_parent_that_is_killed():
    parent = subprocess.Popen(
        [sys.executable, "-c", f"""
import sys, time
sys.path[:] = {sys.path!r}
from ndcore.files.bounded_process import BoundedProcess
process = BoundedProcess({SERVE!r}, "of")
assert process.ask([1]) == ["of 1"]
print(process.process.pid, flush=True)
time.sleep(60)
"""], stdout=subprocess.PIPE)  # fmt: skip
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    end = time.monotonic() + 30
    while time.monotonic() < end and _runs(child):
        time.sleep(0.01)
    assert not _runs(child)


def _runs(child: int) -> bool:
    """Tell whether a process is there, and more than an entry that nobody has collected."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True, check=False).stdout
    return bool(found.strip()) and not found.startswith("Z")
