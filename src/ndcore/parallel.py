"""Run work on several threads: results come in order, and Ctrl-C stops it soon."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ndcore._signals import Stop, stoppable
from ndcore._types import Ints
from ndcore.checks import is_int

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS = 1 << 16  # far more than any machine has CPUs
_AHEAD = 2  # groups of items that `read_ahead` makes in advance
_GROUP = 4096  # items of a group


def thread_count(threads: int | None) -> int:
    """Return the number of threads; None means one per CPU that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not is_int(threads) or threads < 1:
        raise ValueError(f"threads must be None or an int of at least 1, got {threads!r}")
    if threads > MAX_THREADS:
        raise ValueError(f"threads must be at most {MAX_THREADS}, got {threads}; None gives one per CPU")
    return int(threads)


def cut(weights: Ints, limit: int) -> Iterator[slice]:
    """Cut items into consecutive slices that weigh at most `limit`; a heavier item is a slice of its own."""
    ends = weights.cumsum()
    del weights  # frees 8 bytes per document if the caller holds no reference
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(ends.searchsorted(before + limit, "right")))
        yield slice(start, end)
        start = end


def map_pieces(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None) -> Iterator[Result]:
    """Yield work(item) for every item, in order, on several threads; at most two items per thread are in flight.

    A single item is done on the calling thread: starting others takes longer than sketching hundreds of short documents.
    If the caller leaves early, by Ctrl-C or another exception, the kernels in the threads stop within milliseconds
    (`_signals.check_signals`) and waiting items are not begun. Work that calls functions of the user for each document takes
    its documents from `_signals.stoppable`.
    """
    count, remaining = thread_count(threads), iter(items)
    first = list(itertools.islice(remaining, min(count, 2)))
    if len(first) < 2:
        yield from map(work, itertools.chain(first, remaining))
        return
    stop = Stop()
    flight: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            waiting = itertools.chain(first, itertools.islice(remaining, 2 * count - 2))
            flight.extend(pool.submit(stop.run, work, item) for item in waiting)
            while flight:
                yield flight.popleft().result()
                flight.extend(pool.submit(stop.run, work, item) for item in itertools.islice(remaining, 1))
        finally:
            stop.set()
            for future in flight:
                future.cancel()


def read_ahead(items: Iterable[Item], ends_group: Callable[[Item], bool], threads: int | None) -> Iterator[Item]:
    """Yield items in order, while a second thread makes the next ones; an error is raised after the items before it.

    Items are handed over in groups. A group ends with the first item for which `ends_group` is true, or with 4,096 items.
    With ``threads=1`` the calling thread makes the items. If the caller leaves early, the other thread stops as in
    `map_pieces`.
    """
    if thread_count(threads) == 1:
        yield from items
        return
    stop, groups = Stop(), _group(items, ends_group)
    flight: deque[Future[list[Item]]] = deque()
    with ThreadPoolExecutor(1) as pool:
        try:
            flight.extend(pool.submit(stop.run, next, groups) for _ in range(_AHEAD))
            while group := flight.popleft().result():
                flight.append(pool.submit(stop.run, next, groups))
                yield from group
        finally:
            stop.set()
            for future in flight:
                future.cancel()


def _group(items: Iterable[Item], ends_group: Callable[[Item], bool]) -> Iterator[list[Item]]:
    """Yield the groups of `read_ahead`, then empty groups without end."""
    group: list[Item] = []
    try:
        for item in stoppable(items):
            group.append(item)
            if ends_group(item) or len(group) == _GROUP:
                yield group
                group = []
    except Exception:
        if group:
            yield group
        raise
    if group:
        yield group
    while True:
        yield []


@contextlib.contextmanager
def beside(work: Callable[[], object], threads: int | None) -> Iterator[None]:
    """Call `work` on a second thread during the ``with`` block, and wait for it at the end; its errors are raised there.

    If the block fails, `work` stops at its next check for signals. With ``threads=1`` it is called after the block.
    """
    if thread_count(threads) == 1:
        yield
        work()
        return
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(stop.run, lambda _: work(), None)
        try:
            yield
            done.result()
        finally:
            stop.set()


@contextlib.contextmanager
def behind(threads: int | None) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Yield a function that calls work on a second thread, and returns at once unless the work before is not done.

    An error of work is raised by the next call, or at the end of the ``with`` block, which waits. With ``threads=1`` work is
    called where it is given.
    """
    if thread_count(threads) == 1:
        yield _call
        return
    flight: deque[Future[object]] = deque()

    def call(work: Callable[[], object]) -> None:
        while flight:
            flight.popleft().result()
        flight.append(pool.submit(work))

    with ThreadPoolExecutor(1) as pool:
        yield call
        while flight:
            flight.popleft().result()


def _call(work: Callable[[], object]) -> None:
    """Call work."""
    work()
