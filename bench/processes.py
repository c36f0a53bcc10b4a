"""Processes that a benchmark starts: the memory of a tree of them, and their messages."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path


class Memory:
    """The most memory that each of some trees of processes had at a time, looked at every so many seconds.

    roots: the processes by name. A page that processes share is divided among them.
    """

    def __init__(self, roots: dict[str, int], every: float = 1.0) -> None:
        self.roots = roots
        self.every = every
        self.peak: Counter[str] = Counter()

    def __enter__(self) -> Memory:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(self.every):
            children = _children()
            for name, root in list(self.roots.items()):
                self.peak[name] = max(self.peak[name], sum(map(_share, _tree(root, children))))


def _children() -> dict[int, list[int]]:
    found = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found[int(path.read_text().rpartition(")")[2].split()[1])].append(int(path.parent.name))
    return found


def _tree(root: int, children: dict[int, list[int]]) -> Iterator[int]:
    yield root
    for child in children.get(root, ()):
        yield from _tree(child, children)


def _share(process: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


def without_paths(text: str) -> str:
    """A message without the places of this machine."""
    return re.sub(r"(?<![\w.])/[^\s'\"]+", "…", text)
