"""Micro-batches for asyncio: waiting requests are processed together, on one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ndcore.store.verdict import Item, Verdict

MOST = 256  # most requests that are processed together


class MicroBatches:
    """A queue of requests from event loops. work: decides on items in order, all or none."""

    def __init__(self, work: Callable[[Sequence[Item]], list[Verdict]]) -> None:
        self._work = work
        self._waiting: deque[tuple[Item, Future[Verdict]]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ndcore store")

    async def put(self, item: Item) -> Verdict:
        """Queue an item, and await its verdict."""
        import asyncio  # takes 10 ms, and is loaded already in any process that awaits this

        future: Future[Verdict] = Future()
        self._waiting.append((item, future))
        try:
            self._thread.submit(self._run)
        except RuntimeError:
            raise ValueError("the store is closed; open it again") from None
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Process the waiting requests, then end the thread."""
        self._thread.shutdown()

    def _run(self) -> None:
        """Process the waiting requests, except those that were cancelled meanwhile."""
        taken = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        if requests := [request for request in taken if request[1].set_running_or_notify_cancel()]:
            self._do(requests)

    def _do(self, requests: list[tuple[Item, Future[Verdict]]]) -> None:
        """Process requests as one batch. If that fails, process each alone, so that only the faulty one fails."""
        try:
            results: list[Any] = list(self._work([item for item, _ in requests]))
        except Exception as error:  # raised where the request is awaited
            if len(requests) > 1 and not isinstance(error, OSError):
                for request in requests:
                    self._do([request])
                return
            for _, future in requests:
                future.set_exception(error)
            return
        for (_, future), result in zip(requests, results, strict=True):
            future.set_result(result)
