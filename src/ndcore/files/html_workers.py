"""Worker processes that extract the text of HTML, because extraction holds the GIL.

A page on which a worker crashes or spends more than SECONDS of CPU time is refused, and the others are read again.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from ndcore.files.bounded_process import BoundedProcess, ProcessEnded, serve_answers
from ndcore.files.errors import DocumentError
from ndcore.files.html_text import make_html_reader
from ndcore.files.records import Record, RecordError
from ndcore.parallel import thread_count
from ndcore.text.inputs import Extracted

BATCH = 1 << 20  # about as many bytes of HTML are given to a worker at a time
ITEMS = 4096  # most pages of a batch
ALONE = 32 << 20  # bytes of HTML that are read without workers: reading them takes about as long as starting one
SECONDS = 30  # CPU time for a page; the worst page that is parsed takes about one
_SERVE = "import sys; sys.path[:] = sys.argv[2:]; from ndcore.files.html_workers import serve; serve(sys.argv[1])"

Other = TypeVar("Other")
Page = tuple[str | bytes, str | None]  # HTML, and the charset that its sender named
Answer = tuple[str, bool, str, bool] | Exception  # the arguments of `Extracted.of`, or the reason why there is no text


class Html(NamedTuple):
    """A page whose text is to be extracted, the charset named by its sender, and a function that makes the document.

    `finish` gets the text, or a RecordError where extraction failed.
    """

    source: str | bytes
    charset: str | None
    finish: Callable[[Extracted | RecordError], Any]


def with_text(record: Record, text: str | bytes | RecordError) -> Record | tuple[int | None, str]:
    """Replace the HTML of a record by its text; return (number, reason) if extraction failed."""
    if isinstance(text, RecordError):
        return record.number, str(text)
    return record._replace(text=text, size=max(record.size, len(text)))


class HtmlWorkers:
    """A pool of `threads` processes (None: one for each CPU) that extract HTML; the first ALONE bytes stay in this process.

    Parameters
    ----------
    part : {"page", "main"}
        As for `make_html_reader`.
    threads : int or None
    """

    def __init__(self, part: str, threads: int | None = 1) -> None:
        count = thread_count(threads)
        self._part, self._count = part, count if sys.executable and not getattr(sys, "frozen", False) else 0
        self._alone = 0
        self._threads: ThreadPoolExecutor | None = None
        self._idle: queue.SimpleQueue[BoundedProcess | None] = queue.SimpleQueue()
        self._workers: list[BoundedProcess] = []
        self._lock, self._closing = threading.Lock(), False  # no worker starts after `close` has killed them

    def texts(self, path: str, items: Iterable[Html | Other]) -> Iterator[Any]:
        """Yield the items in order; for an Html, the result of its `finish`.

        An error raised by `items` is raised after the items before it. At most two batches for each worker are in flight.

        Raises
        ------
        DocumentError
            resiliparse is not installed, or no worker can be started; `path` is the file in messages.
        """
        html = make_html_reader(path, self._part)
        waiting: deque[tuple[list[Any], Future[list[Answer]] | None]] = deque()
        batch: list[Any] = []
        size, problem, remaining = 0, None, iter(items)
        while True:
            try:
                item: Any = next(remaining)
            except StopIteration:
                break
            except Exception as error:  # raised below, after the items before it
                problem = error
                break
            if not self._is_enough(item):
                yield item.finish(html(item.source, item.charset)) if isinstance(item, Html) else item
                continue
            batch.append(item)
            size += len(item.source) if isinstance(item, Html) else 0
            if size >= BATCH or len(batch) >= ITEMS:
                waiting.append((batch, self._submit(path, batch)))
                batch, size = [], 0
            while len(waiting) > 2 * self._count:
                yield from _finish_batch(*waiting.popleft())
        if batch:
            waiting.append((batch, self._submit(path, batch)))
        while waiting:
            yield from _finish_batch(*waiting.popleft())
        if problem is not None:
            raise problem

    def _is_enough(self, item: object) -> bool:
        """Tell whether there has been enough HTML, this item included, to start workers."""
        if isinstance(item, Html) and self._alone < ALONE:
            self._alone += len(item.source)
        return self._count > 0 and self._alone >= ALONE

    def _submit(self, path: str, batch: list[Any]) -> Future[list[Answer]] | None:
        """Give the HTML of a batch to the next free worker."""
        pages = [(item.source, item.charset) for item in batch if isinstance(item, Html)]
        if not pages:
            return None
        if self._threads is None:
            self._threads, self._closing = ThreadPoolExecutor(self._count), False
            for _ in range(self._count):
                self._idle.put(None)
        return self._threads.submit(self._get_answers, path, pages)

    def _get_answers(self, path: str, pages: list[Page]) -> list[Answer]:
        """Let a free worker answer for some pages.

        If the worker dies, its pages are tried again one by one; a page at which a worker dies again is refused.
        """
        answers: list[Answer] = []
        tries = [(pages, False)]
        worker = self._idle.get()
        try:
            while tries:
                attempted, again = tries.pop()
                worker = worker or self._start(path)
                try:
                    answers += worker.ask(attempted)
                except ProcessEnded as ended:
                    worker = None
                    if again:
                        answers.append(RecordError(_explain(ended)))
                    else:
                        tries += [([page], True) for page in reversed(attempted)]
        finally:
            self._idle.put(worker)
        return answers

    def _start(self, path: str) -> BoundedProcess:
        """Start a worker."""
        with self._lock:
            if self._closing:
                raise DocumentError(path, None, "reading was ended")
            try:
                worker = BoundedProcess(_SERVE, self._part)
            except OSError as error:
                raise DocumentError(path, None, f"no process can be started to extract the text of HTML: {error}") from error
            self._workers.append(worker)
        try:
            worker.ask([])
        except ProcessEnded as ended:
            raise DocumentError(path, None, f"{_explain(ended)}, before it had read any page") from ended
        return worker

    def close(self) -> None:
        """End the workers. They are started again when they are needed again."""
        if self._threads is None:
            return
        threads, self._threads = self._threads, None
        threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closing = True
            for worker in self._workers:
                worker.process.kill()
        threads.shutdown(wait=True)
        for worker in self._workers:
            worker.close()
        self._workers.clear()
        self._idle = queue.SimpleQueue()


def _explain(ended: ProcessEnded) -> str:
    """Return the reason why there is no text."""
    return f"the text of HTML could not be extracted: {ended.explain(SECONDS)}"


def _finish_batch(batch: list[Any], answers: Future[list[Answer]] | None) -> Iterator[Any]:
    """Wait for the texts of a batch, and yield its items."""
    texts = iter(() if answers is None else answers.result())
    for item in batch:
        if not isinstance(item, Html):
            yield item
            continue
        answer = next(texts)
        if isinstance(answer, RecordError):
            yield item.finish(answer)
        elif isinstance(answer, Exception):
            raise answer
        else:
            text, fell_back, title, by_tags = answer
            yield item.finish(Extracted.of(text, item.source, fell_back, title, by_tags))


def serve(part: str) -> None:
    """Extract texts, as a worker, until the standard input ends."""
    html = make_html_reader("standard input", part)

    def extract(page: Page) -> Answer:
        """Extract the text of a page."""
        text = html(*page)
        return str(text), text.fell_back, text.page_title, text.by_tags

    serve_answers(extract, SECONDS)
