"""Several worker processes, one store: a page that one of them has seen is known to all.

The process that has the store open listens on a local socket, which only the same user can reach. Workers decide through it;
each page is decided atomically, so of copies that come at the same time exactly one is kept.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ndcore as nd

NEWS = [f"notice {i}: the bridge at the {i}th mile of the river is closed until the engineers have looked at its pillars, "
        f"and the ferry number {i} carries passengers in the meantime from six in the morning" for i in range(30)]


def work(path: str, number: int) -> None:
    """Decide on the pages that this worker fetched: the same notices as the others, from a host of its own."""
    with nd.StoreClient(path) as store:
        for i, text in enumerate(NEWS):
            verdict = store.decide(f"http://host{number}.example/{i}", text)
            print(number, verdict.verdict)
        store.flush()


def crawl(path: Path, workers: int) -> None:
    """Run workers, each a process, and count what became of their pages."""
    with nd.Store.open(path) as store, store.listen():
        commands = [[sys.executable, __file__, "--worker", str(path), str(number)] for number in range(workers)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        lines = [line for process in processes for line in process.communicate()[0].splitlines()]
        assert all(process.returncode == 0 for process in processes)
        print(f"{len(lines)} pages by {workers} workers: {dict(Counter(line.split()[1] for line in lines))}")
        print(f"kept, by worker: {dict(Counter(line.split()[0] for line in lines if line.endswith('kept')))}")
        assert sum(line.endswith("kept") for line in lines) == len(list(store.clusters()))
        print(store)


if sys.argv[1:2] == ["--worker"]:
    work(sys.argv[2], int(sys.argv[3]))
else:
    with tempfile.TemporaryDirectory() as folder:
        crawl(Path(folder) / "pages.store", 3)
