"""Micro-batches of asyncio: requests that wait are done together, on one thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ndcore.store.verdict import Item, Verdict

__all__ = ["MicroBatches"]

MOST = 256  # requests that are done together


class MicroBatches:
    """Collects requests of event loops. work: decides on items, in their order, all or none."""

    def __init__(self, work: Callable[[Sequence[Item]], list[Verdict]]) -> None:
        self._work = work
        self._waiting: list[tuple[Item, asyncio.AbstractEventLoop, asyncio.Future[Verdict]]] = []
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="ndcore store", daemon=True)
        self._thread.start()

    async def put(self, item: Item) -> Verdict:
        """Wait for the verdict on an item."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()
        with self._wake:
            if self._closed:
                raise ValueError("the store is closed; open it again")
            self._waiting.append((item, loop, future))
            self._wake.notify()
        return await future

    def close(self) -> None:
        """Do what waits and end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closed)
                requests, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                if not requests:
                    return
            self._do(requests)

    def _do(self, requests: list[tuple[Item, asyncio.AbstractEventLoop, asyncio.Future[Verdict]]]) -> None:
        """Do requests together; where one of several is at fault, each alone."""
        try:
            found: list[Any] = list(self._work([item for item, _, _ in requests]))
        except Exception as error:  # it belongs to whoever waits
            if len(requests) > 1 and not isinstance(error, OSError):
                for request in requests:
                    self._do([request])
                return
            found = [error] * len(requests)
        for (_, loop, future), result in zip(requests, found, strict=True):
            try:
                loop.call_soon_threadsafe(_resolve, future, result)
            except RuntimeError:  # the loop was closed meanwhile
                continue


def _resolve(future: asyncio.Future[Verdict], result: Verdict | Exception) -> None:
    """Give a result to whoever waits for it still."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
