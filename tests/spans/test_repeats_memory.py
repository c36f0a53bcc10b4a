"""Memory of a search in texts that repeat a few words all the time, and in many copies of a page."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

EACH = 55  # bytes a token: 24 a run and 24 a unit, and what is made of them
READ = 18  # bytes a token of a document that is read: 8 and its own 5 on a tape, and 4 for its number

SEARCH = """
import sys
import ndcore as nd

words, copies, documents = map(int, sys.argv[1:])
page = "".join(f"word{word} " for word in range(words)) * copies
nd.repeats([page[:10_000]] * 2, 50, threads=1, memory_limit="1M")
print(flush=True)
input()
found = nd.repeats([page] * documents, 50, threads=1, memory_limit="1M")
print(found.total, found.tokens, flush=True)
input()
"""


def status(pid: int, name: str) -> int:
    """Return a figure of /proc/PID/status in bytes."""
    with Path(f"/proc/{pid}/status").open() as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name + ":"))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("words", "documents", "tokens"), [
    (1, 1, 10_000_000), (2, 1, 2_000_000), (7, 1, 2_000_000), (2000, 1000, 2_000_000)])
def test_memory_stays_below_a_bound_for_each_token(words, documents, tokens):
    given = map(str, (words, tokens // words // documents, documents))
    with subprocess.Popen([sys.executable, "-c", SEARCH, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          bufsize=1) as run:
        said, done = run.stdout.readline(), []
        before, start = status(run.pid, "VmHWM"), status(run.pid, "RssAnon")
        reader = threading.Thread(target=lambda: done.append(run.stdout.readline()))
        reader.start()
        run.stdin.write("\n")
        anonymous = start
        while reader.is_alive():  # from outside, since some steps hold the GIL
            anonymous = max(anonymous, status(run.pid, "RssAnon"))
            reader.join(0.001)
        taken = status(run.pid, "VmHWM") - before
        run.stdin.write("\n")
    total, repeated = map(int, done[0].split())
    assert said == "\n" and total == tokens - tokens % (words * documents)
    assert repeated > 0.99 * total
    assert taken < EACH * tokens + (40 << 20)
    assert anonymous - start < READ * tokens + (60 << 20)  # the system can write the rest to files
