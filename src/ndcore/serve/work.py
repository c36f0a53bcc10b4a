"""Work on threads, bounded in number and in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ndcore.serve.refusal import Refused

__all__ = ["WorkerThreads"]

T = TypeVar("T")

THREADS, WAITING = 4, 32


class WorkerThreads:
    """Threads that answer requests.

    Parameters
    ----------
    seconds : float
        A request that takes longer is refused. Its thread ends when its step does; as long as all threads are busy and the
        queue is full, further requests are refused at once.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ndcore-serve")
        self._running = 0

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function on a thread, and return its result. Raises Refused if that takes too long."""
        if self._running >= THREADS + WAITING:
            raise Refused(503, f"the server is busy with {self._running} requests; ask again in a few seconds")
        self._running += 1
        future = self._threads.submit(function, *arguments)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._finished))
        return await self.within(asyncio.wrap_future(future))

    async def within(self, work: Awaitable[T]) -> T:
        """Await something for the time that a request may take. Raises Refused if it takes longer."""
        try:
            return await asyncio.wait_for(work, self.seconds)
        except TimeoutError:
            raise Refused(503, f"the answer takes longer than {self.seconds:g} seconds; ask for less, or start the server "
                               "with a larger --timeout") from None

    def _finished(self) -> None:
        self._running -= 1
