"""Decide the pages of all requests, one job after another, on one thread; another thread syncs them to disk in groups.

Single pages go before the pages of streams, which are decided `SLICE` at a time, so a single page waits for one slice at
most. Until its answer has left, no stream is parsed or prepared (`Decider.give_way`), and no further slice is decided. While
pages of streams are synced to disk, the next ones are decided. Two parts of streams are synced together if more of them
wait. While a single page is queued, parts alone are not synced: they wait for this page, and are synced with it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from ndcore.serve.bodies import PART
from ndcore.serve.counts import ServerCounts
from ndcore.serve.refusal import Refused
from ndcore.store.pages import Pages
from ndcore.store.receipts import RequestAnswer
from ndcore.store.store import Store

MOST_WAITING = 8192  # pages: parts of 64 streams
GIVEN = 0.02  # seconds for which a part or a slice of a stream gives way to single pages: about the time of an answer
SLICE = 64  # pages of a stream that are decided together: in about 4 ms; a smaller slice takes longer for each page


@dataclass(slots=True, eq=False)
class WaitingJob:
    """A job in the queue: a single page, or a part of a stream.

    Attributes
    ----------
    prepare : callable
        Returns the pages.
    pages : int
        Their number.
    streamed : bool
    came : float
        The time of `time.perf_counter` when they were queued.
    decided : Future
        The number of answers, done when the pages are decided, so that the next part of the stream may be queued. If
        deciding fails, it raises the error.
    answered : Future
        The answers, done when the pages are on disk. If deciding fails, the slices before have their answers; if there are
        none, it raises the error, too.
    slices : deque of Pages, or None
        The pages that are not decided yet; None before they are prepared.
    answers : list of RequestAnswer
        The answers so far.
    """

    prepare: Callable[[], Pages]
    pages: int
    streamed: bool
    came: float
    decided: Future[int] = field(default_factory=Future)
    answered: Future[list[RequestAnswer]] = field(default_factory=Future)
    slices: deque[Pages] | None = None
    answers: list[RequestAnswer] = field(default_factory=list)

    def decide_slice(self, decide: Callable[[Pages], list[RequestAnswer]]) -> bool:
        """Decide the next slice, and tell whether the job is done; it ends early if a page has no answer."""
        if self.slices is None:
            self.slices = deque(self.prepare().slices(SLICE))
        pages = self.slices.popleft()
        answers = decide(pages)
        self.answers += answers
        return not self.slices or len(answers) < len(pages)


class Decider:
    """The queue of jobs and its two threads.

    Parameters
    ----------
    store : Store
        Open for writing.
    decide : callable
        Returns the answers to pages, like `Store.decide_requests`.

    Attributes
    ----------
    counts : ServerCounts
        Counts each answer before it is given.
    """

    def __init__(self, store: Store, decide: Callable[[Pages], list[RequestAnswer]]) -> None:
        self._store, self._decide_pages, self.counts = store, decide, ServerCounts()
        lock = threading.Lock()
        # Two conditions of one lock, so that each notification wakes one thread only.
        self._coming, self._leaving = threading.Condition(lock), threading.Condition(lock)
        self._calm = threading.Condition(lock)  # the answers to all single pages have left
        self._single: deque[WaitingJob] = deque()
        self._streamed: deque[WaitingJob] = deque()
        self._written: deque[WaitingJob] = deque()
        self._closed = self._deciding = self._decided = False
        self.waiting = 0  # pages
        self._unanswered = 0  # single pages whose answers have not left
        self._threads = [threading.Thread(target=target, name=f"ndcore {name}", daemon=True)
                         for target, name in ((self._decide, "decides"), (self._sync, "writes"))]
        for thread in self._threads:
            thread.start()

    def put(self, prepare: Callable[[], Pages], count: int, *, streamed: bool) -> WaitingJob:
        """Queue pages to be decided, and return the job, whose futures get their answers.

        Whoever puts a single page calls `leave` when its answer has left.

        Parameters
        ----------
        prepare : callable
            Returns the pages. Pages of streams have been prepared before, on other threads.
        count : int
            The number of pages.
        streamed : bool

        Raises
        ------
        Refused
            Too many pages wait, or the server stops.
        """
        job = WaitingJob(prepare, count, streamed, time.perf_counter())
        for future in (job.decided, job.answered):
            future.set_running_or_notify_cancel()  # not cancellable: the pages are decided even if the client disconnects
        with self._coming:
            if self._closed:
                raise Refused(503, "the server stops; ask the one that follows it", {"retry-after": "5"})
            if self.waiting + count > MOST_WAITING:
                raise Refused(429, f"{self.waiting} pages wait to be decided on; send these again in a second",
                              {"retry-after": "1"})
            self.waiting += count
            self._unanswered += not streamed
            (self._streamed if streamed else self._single).append(job)
            self._coming.notify()
        return job

    @property
    def crowded(self) -> bool:
        """Whether too many pages wait, so that a part of a stream may be refused now."""
        return self.waiting + PART > MOST_WAITING

    def give_way(self, until: float) -> None:
        """Wait until the answers to all single pages have left, at most until a time of `time.perf_counter`.

        Threads that prepare streams call this often: while they hold Python's lock or a core, a single page waits for them
        at each of its steps.
        """
        if self._unanswered and time.perf_counter() < until:
            with self._calm:
                self._calm.wait_for(lambda: not self._unanswered, until - time.perf_counter())

    def leave(self) -> None:
        """Note that the answer to a single page has left, or that nobody waits for it any more."""
        with self._calm:
            self._unanswered -= 1
            if not self._unanswered:
                self._calm.notify_all()
                self._coming.notify()

    def close(self) -> None:
        """Answer all queued jobs, then stop the threads."""
        with self._coming:
            self._closed = True
            self._coming.notify()
        for thread in self._threads:
            thread.join()

    def _decide(self) -> None:
        """Decide the pages of one job after another; single pages go between two slices of a stream."""
        turn: float | None = None  # since when a slice of a stream has been the next, but for single pages
        while True:
            with self._coming:
                self._coming.wait_for(lambda: self._single or self._streamed or self._closed)
                if self._unanswered and self._streamed and not self._single:
                    turn = turn or time.perf_counter()
                    self._coming.wait_for(lambda: self._single or not self._unanswered, turn + GIVEN - time.perf_counter())
                if not self._single and not self._streamed:
                    self._decided = True
                    self._leaving.notify()
                    return
                queue = self._single or self._streamed
                job = queue[0]
                turn = None if job.streamed else turn
                self._deciding = True
            failure: BaseException | None = None
            try:
                done = job.decide_slice(self._decide_pages)
            except BaseException as error:  # raised where the job is awaited
                failure, done = error, True
            with self._leaving:
                self._deciding = False
                if done:
                    queue.popleft()
                    self.waiting -= job.pages
                    if job.answers or failure is None:
                        self._written.append(job)
                self._leaving.notify()
            if failure is not None:
                job.decided.set_exception(failure)
                if not job.answers:
                    job.answered.set_exception(failure)
            elif done:
                job.decided.set_result(len(job.answers))

    def _is_due(self) -> bool:
        """Tell whether the decided pages shall be synced now.

        Parts of streams wait for a single page that is queued, which is synced with them; one part alone waits for any next
        job. Fewer syncs leave the disk free for single pages.
        """
        if self._decided or any(not job.streamed for job in self._written):
            return True
        follows = self._deciding or self._single or self._streamed
        return (len(self._written) > 1 and not self._single) or (bool(self._written) and not follows)

    def _sync(self) -> None:
        """Sync the decided pages to disk, then give their answers."""
        while True:
            with self._leaving:
                self._leaving.wait_for(self._is_due)
                if not self._written:
                    return
                jobs, self._written = self._written, deque()
            try:
                self._store.flush()
            except BaseException as error:
                for job in jobs:
                    job.answered.set_exception(error)
                continue
            now = time.perf_counter()
            for job in jobs:
                self.counts.count_decisions(job.answers, now - job.came, streamed=job.streamed)
                job.answered.set_result(job.answers)
