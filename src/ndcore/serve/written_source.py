"""Answer requests to a store that is written through the server: decisions, pages gone or removed, and backups."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ndcore.serve.answers import BackedUp, PageDecision, Removed, Seen, StoredText, Values, write_iso
from ndcore.serve.decider import GIVEN, Decider, WaitingJob
from ndcore.serve.keys import read_keys
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import WRITTEN
from ndcore.serve.shard_member import ShardMember
from ndcore.serve.store_source import StoreSource, find_key
from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import FULL
from ndcore.store.pages import Pages
from ndcore.store.receipts import RequestAnswer
from ndcore.store.store import Store

THREADS = 2  # threads that prepare pages

# Parses pages up to the first invalid one, and calls its argument before each.
StreamPart: TypeAlias = Callable[[Callable[[], None]], tuple[Sequence[Values], Refused | None]]


class _PreparedPart(NamedTuple):
    """A part of a stream: the values sent, the pages made of them, and the refusal of the next page, if it is invalid."""

    requests: Sequence[Values]
    pages: Pages
    refusal: Refused | None


class WrittenSource(StoreSource):
    """The answers of a store that is open for writing.

    Parameters
    ----------
    store : Store
    name, seconds
        As for `StoreSource`.
    keep : float
        Seconds for which idempotency keys are remembered.
    backups : Path, optional
        The directory of backups.
    member : ShardMember, optional
        Set if the store is one of several shards.

    Attributes
    ----------
    store : Store
    counts : ServerCounts
        Counters of decisions and of requests.
    """

    kind = WRITTEN

    def __init__(self, store: Store, name: str, seconds: float = 30.0, *, keep: float = 86400.0,
                 backups: Path | None = None, member: ShardMember | None = None) -> None:
        super().__init__(store, name, seconds)
        self.store, self.member, self._keep = store, member, keep
        self._decider, self._backups = Decider(store, self._decide), backups
        self.counts = self._decider.counts
        self._preparing = ThreadPoolExecutor(THREADS, thread_name_prefix="ndcore prepares")
        self._stopping = False

    async def decide(self, values: Values) -> PageDecision:
        """Decide on a page, and keep it."""
        job = self._decider.put(lambda: self._prepare([values]), 1, streamed=False)
        try:
            answers = await _answers(job)
        finally:
            # Called when this task pauses next, which is after its answer was sent unless the client reads too slowly.
            asyncio.get_running_loop().call_soon(self._decider.leave)
        if not answers:
            raise reused(values)
        return answers[0]

    async def decide_many(self, parts: AsyncIterator[StreamPart]) -> AsyncIterator[list[PageDecision]]:
        """Decide the parts of a stream in order, and keep their pages.

        If pages cannot be decided, neither they nor later pages are kept; the pages before them are kept and answered.
        While a part is decided, the next one is prepared and the previous one is synced to disk.
        """
        unanswered: WaitingJob | None = None  # the previous part
        try:
            prepared = await self._next(anext(parts, None))
            while prepared is not None:
                job = self._decider.put(partial(_keep_unchanged, prepared.pages), len(prepared.requests), streamed=True)
                ahead = asyncio.ensure_future(self._next(anext(parts, None)))
                ahead.add_done_callback(lambda done: done.cancelled() or done.exception())  # raised where it is awaited
                try:
                    if unanswered is not None:
                        waiting, unanswered = unanswered, None
                        yield await _answers(waiting)
                    unanswered = job
                    with meaning_of_errors():
                        decided = await asyncio.wrap_future(job.decided)
                    self._check_further(prepared, decided)
                    prepared = await ahead
                finally:
                    ahead.cancel()
        except Exception:
            if unanswered is not None and (answers := await _answers(unanswered)):
                yield answers
            raise
        if unanswered is not None:
            yield await _answers(unanswered)

    def _check_further(self, part: _PreparedPart, decided: int) -> None:
        """Raise Refused if the stream ends with this part, of which `decided` pages are decided."""
        if decided < len(part.requests):
            raise reused(part.requests[decided])
        if part.refusal is not None:
            raise part.refusal
        if self._stopping:
            raise Refused(503, "the server stops; send the pages that are not answered to the one that follows it",
                          {"retry-after": "5"})

    def seen(self, values: Values) -> Seen:
        """Record that a page is gone."""
        with meaning_of_errors(), self._writing(values):
            keys = read_keys(values["key"], values.get("kind"))
            known = any(self._store.mark_gone(key, values.get("date")) for key in keys)
            self._store.flush()
        return Seen(known)

    def remove(self, values: Values) -> Removed:
        """Remove a page from the store."""
        with self._follow_writer() as store, meaning_of_errors(), self._writing(values):
            store.remove(find_key(store, values["key"], values.get("kind")))
            store.flush()
        return Removed(1)

    def expire(self, values: Values) -> Removed:
        """Remove the pages that are older than a date."""
        with meaning_of_errors(), contextlib.nullcontext() if self.member is None else self.member.resting():
            count = self._store.expire(values["before"])
            self._store.flush()
        return Removed(count)

    def text(self, values: Values) -> StoredText:
        """Return the text of a page."""
        with self._follow_writer() as store:
            try:
                return StoredText(store.text(find_key(store, values["key"], values.get("kind"))))
            except KeyError:
                raise
            except LookupError as error:
                raise Refused(409, str(error)) from error

    def backup(self, values: Values) -> BackedUp:
        """Copy the store to the directory of backups, under a name that the server chooses."""
        if self._backups is None:
            raise Refused(404, "this server has no directory of backups; start it with --backups DIR")
        name = f"{self.name}-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S.%fZ}"
        with meaning_of_errors():
            self._store.backup(self._backups / name)
        return BackedUp(name)

    @property
    def waiting(self) -> int:
        """The number of pages in the queue."""
        return self._decider.waiting

    @property
    def obstacle(self) -> str | None:
        """The reason why the server accepts no pages now; None if it does."""
        if self._stopping:
            return "the server stops"
        if self._store.failure is not None:
            return "the store takes nothing more until the server is started again"
        return "too many pages wait to be decided on" if self._decider.crowded else None

    def describe_store(self) -> dict[str, Any]:
        """Return the counts of `Store.stats`."""
        return self._store.stats()

    def stop(self) -> None:
        """End streams after their current part."""
        self._stopping = True

    def close(self) -> None:
        """Answer all queued pages, and close the store."""
        self._decider.close()
        self._preparing.shutdown()
        self._store.close()

    def _decide(self, pages: Pages) -> list[RequestAnswer]:
        """Decide pages. Raises Refused if a page belongs to another shard, or its host is being moved."""
        if self.member is None:
            return self._store.decide_requests(pages, self._keep)
        with self.member.deciding() as admit:
            return self._store.decide_requests(pages, self._keep, admit)

    def _writing(self, values: Values) -> contextlib.AbstractContextManager[None]:
        """Guard a change of a page. Raises Refused if it belongs to another shard, or its host is being moved."""
        return contextlib.nullcontext() if self.member is None else self.member.writing(values["key"])

    async def _next(self, coming: Awaitable[StreamPart | None]) -> _PreparedPart | None:
        """Parse and prepare the next part of a stream; None at its end. Raises Refused if its first page is invalid."""
        part = await coming
        if part is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._preparing, self._prepare_part, part)

    def _prepare_part(self, part: StreamPart) -> _PreparedPart:
        give_way = partial(self._decider.give_way, time.perf_counter() + GIVEN)
        requests, refusal = part(give_way)
        if not requests and refusal is not None:
            raise refusal
        give_way()
        return _PreparedPart(requests, self._prepare(requests), refusal)

    def _prepare(self, requests: Sequence[Values]) -> Pages:
        """Prepare pages."""
        items = [(_key_of(each), each["text"], each.get("date")) for each in requests]
        with meaning_of_errors():
            return self._store.prepare_requests(items, [each.get("idempotency_key") for each in requests])


@contextlib.contextmanager
def meaning_of_errors() -> Iterator[None]:
    """Turn errors of the store into refusals."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise Refused(507, f"nothing of this is kept: {error}; make room, and ask again",
                          {"retry-after": "60"}) from error
        raise
    except CorruptFile:  # not the client's fault
        raise
    except (TypeError, ValueError) as error:
        raise Refused(400, str(error)) from error


async def _answers(job: WaitingJob) -> list[PageDecision]:
    """Wait until pages are on disk, and return their answers."""
    with meaning_of_errors():
        return [describe(answer) for answer in await asyncio.wrap_future(job.answered)]


def _keep_unchanged(pages: Pages) -> Pages:
    """Return prepared pages unchanged: the `prepare` of a job."""
    return pages


def _key_of(values: Values) -> Any:
    """Return the key of a page to be decided; words stay str. Only Arrow bodies have bytes as keys."""
    key = values["key"]
    return key if isinstance(key, (str, bytes)) else read_keys(key)[0]


def reused(values: Values) -> Refused:
    """Make the refusal of a page whose idempotency key was used for another page."""
    return Refused(422, f"the idempotency key {values.get('idempotency_key')!r:.300} was used for another page, or for "
                        "another text or date of this one; give each page its own")


def describe(answer: RequestAnswer) -> PageDecision:
    """Describe an answer of the store with keys and dates for JSON."""
    verdict, place, repeated, _ = answer
    assert verdict.key is not None
    return PageDecision(verdict.key, verdict.verdict, verdict.of, verdict.equal, verdict.resemblance, verdict.contained,
                   verdict.containing, verdict.version, write_iso(verdict.date), verdict.exact, place, repeated)
