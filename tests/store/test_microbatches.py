"""Micro-batches: each request gets its own answer or error."""

from __future__ import annotations

import asyncio

import pytest

from ndcore.store.microbatches import MicroBatches


def test_one_bad_request_harms_no_other():
    sizes = []

    def work(items):
        sizes.append(len(items))
        if any(item == "bad" for item in items):
            raise ValueError("bad")
        return [item.upper() for item in items]

    async def ask(batches):
        return await asyncio.gather(*(batches.put(item) for item in ["a", "bad", "b", "c"]), return_exceptions=True)

    batches = MicroBatches(work)
    a, bad, b, c = asyncio.run(ask(batches))
    assert (a, b, c) == ("A", "B", "C") and isinstance(bad, ValueError)
    batches.close()
    with pytest.raises(ValueError, match="closed"):
        asyncio.run(batches.put("d"))


def test_a_full_disk_is_told_to_all():
    def work(items):
        raise OSError(28, "full")

    async def ask():
        batches = MicroBatches(work)
        found = await asyncio.gather(batches.put("a"), batches.put("b"), return_exceptions=True)
        batches.close()
        return found

    assert [type(error) for error in asyncio.run(ask())] == [OSError, OSError]


def test_a_cancelled_request_is_forgotten():
    async def ask():
        batches = MicroBatches(list)
        task = asyncio.ensure_future(batches.put("a"))
        await asyncio.sleep(0)
        task.cancel()
        found = await batches.put("b")
        batches.close()
        return found

    assert asyncio.run(ask()) == "b"
