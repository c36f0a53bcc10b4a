"""Memory of a search in texts that repeat a few words all the time, and in many copies of a page."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOKENS = 2_000_000
EACH = 55  # bytes a token: 24 a run and 24 a unit, and what is made of them
READ = 26  # bytes a token of a document that is read

SEARCH = """
import re, sys, threading, time
import ndcore as nd

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10

def watch():  # memory that the system cannot take back by writing it to a file
    while True:
        anonymous[-1] = max(anonymous[-1], status("RssAnon"))
        time.sleep(0.001)

anonymous = [0]
threading.Thread(target=watch, daemon=True).start()
words, copies, documents = map(int, sys.argv[1:])
page = "".join(f"{word} " for word in range(words)) * copies
nd.repeats([page[:10_000]] * 2, 50, threads=1, memory_limit="1M")
before = status("VmHWM")
anonymous.append(status("RssAnon"))
start = anonymous[-1]
found = nd.repeats([page] * documents, 50, threads=1, memory_limit="1M")
print(status("VmHWM") - before, anonymous[-1] - start, found.total, found.tokens)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("words", "documents"), [(1, 1), (2, 1), (7, 1), (2000, 1000)])
def test_memory_stays_below_a_bound_for_each_token(words, documents):
    given = map(str, (words, TOKENS // words // documents, documents))
    run = subprocess.run([sys.executable, "-c", SEARCH, *given], capture_output=True, text=True, check=True, timeout=300)
    taken, anonymous, total, repeated = map(int, run.stdout.split())
    assert total == TOKENS - TOKENS % (words * documents)
    assert repeated > 0.99 * total
    assert taken < EACH * TOKENS + (40 << 20)
    assert anonymous < READ * TOKENS + (10 << 20)
