"""Work on threads is bounded in number and in time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ndcore.serve import work as module
from ndcore.serve.refusal import Refused
from ndcore.serve.work import WorkerThreads


def test_results_and_errors() -> None:
    work = WorkerThreads(5)
    assert asyncio.run(work.run(max, 1, 2)) == 2
    with pytest.raises(KeyError):
        asyncio.run(work.run({}.__getitem__, 1))


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "THREADS", 1)
    monkeypatch.setattr(module, "WAITING", 1)
    gate = threading.Event()

    async def ask() -> list[object]:
        work = WorkerThreads(0.2)
        try:
            found = await asyncio.gather(*(work.run(gate.wait, 10) for _ in range(3)), return_exceptions=True)
            gate.set()
            for _ in range(100):  # the thread ends, and there is room again
                await asyncio.sleep(0.01)
                if work._running == 0:
                    break
            return [*found, await work.run(max, 1, 2)]
        finally:
            gate.set()

    *refused, last = asyncio.run(ask())
    assert [type(each) for each in refused] == [Refused] * 3 and last == 2
    assert sorted("busy" in str(each) for each in refused) == [False, False, True]
    assert all(each.status == 503 for each in refused if isinstance(each, Refused))
