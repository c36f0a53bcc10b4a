"""Processes that extract the text of HTML, which holds the GIL; they talk through pipes and end with them.

They are started by a command of their own, not by ``multiprocessing``, so nobody's main module is imported again. A worker
ends when its standard input does: also where its parent was killed.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, NamedTuple, TypeVar

from ndcore.files.errors import DocumentError
from ndcore.files.html_text import html_reader
from ndcore.parallel import thread_count
from ndcore.text.inputs import Extracted

BATCH = 1 << 20  # bytes of HTML that a worker gets at a time, about
ITEMS = 4096  # in a batch, at most
ALONE = 32 << 20  # bytes of HTML that are read without workers, about what one takes to start
_SERVE = "import sys; sys.path[:] = sys.argv[2:]; from ndcore.files.html_workers import serve; serve(sys.argv[1])"

Other = TypeVar("Other")
Reader = Callable[[str | bytes, str | None], Extracted]


class Html(NamedTuple):
    """HTML whose text is wanted, the charset that its sender named, and what makes a document of the text."""

    source: str | bytes
    charset: str | None
    finish: Callable[[Extracted], Any]


class HtmlWorkers:
    """Extract the texts of much HTML in `threads` processes (None: one for each CPU), of little HTML or for one thread here.

    Parameters
    ----------
    part : {"page", "main"}
        As in `html_reader`.
    threads : int or None
    """

    def __init__(self, part: str, threads: int | None = 1) -> None:
        count = thread_count(threads)
        self._part, self._count = part, count if sys.executable and not getattr(sys, "frozen", False) else 1
        self._alone = 0
        self._threads: ThreadPoolExecutor | None = None
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._workers: list[subprocess.Popen[bytes]] = []

    def texts(self, path: str, items: Iterable[Html | Other]) -> Iterator[Any]:
        """Yield the items in their order, each Html as what its `finish` makes of its text.

        An error of `items` comes after the items before it. At most two batches for each worker are in flight.

        Raises
        ------
        DocumentError
            resiliparse is not installed, or a worker was killed; `path` is the file in messages.
        """
        html = html_reader(path, self._part)
        waiting: deque[tuple[list[Any], Future[list[tuple[str, bool, str, bool]]] | None]] = deque()
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
            if not self._many(item):
                yield item.finish(html(item.source, item.charset)) if isinstance(item, Html) else item
                continue
            batch.append(item)
            size += len(item.source) if isinstance(item, Html) else 0
            if size >= BATCH or len(batch) >= ITEMS:
                waiting.append((batch, self._ask(path, batch)))
                batch, size = [], 0
            while len(waiting) > 2 * self._count:
                yield from _finished(*waiting.popleft())
        if batch:
            waiting.append((batch, self._ask(path, batch)))
        while waiting:
            yield from _finished(*waiting.popleft())
        if problem is not None:
            raise problem

    def _many(self, item: object) -> bool:
        """Tell whether there is enough HTML for workers, this item included."""
        if isinstance(item, Html) and self._alone < ALONE:
            self._alone += len(item.source)
        return self._count > 1 and self._alone >= ALONE

    def _ask(self, path: str, batch: list[Any]) -> Future[list[tuple[str, bool, str, bool]]] | None:
        """Hand the HTML of a batch to the next free worker."""
        pages = [(item.source, item.charset) for item in batch if isinstance(item, Html)]
        if not pages:
            return None
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._count)
            for _ in range(self._count):
                command = [sys.executable, "-c", _SERVE, self._part, *sys.path]
                worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self._workers.append(worker)
                self._idle.put(worker)
        return self._threads.submit(self._asked, path, pages)

    def _asked(self, path: str, pages: list[tuple[str | bytes, str | None]]) -> list[tuple[str, bool, str, bool]]:
        """Send pages to a free worker, and return its answer."""
        worker = self._idle.get()
        try:
            assert worker.stdin is not None
            assert worker.stdout is not None
            try:
                pickle.dump(pages, worker.stdin, pickle.HIGHEST_PROTOCOL)
                worker.stdin.flush()
                answer = pickle.load(worker.stdout)  # of our own process
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                code = worker.poll()
                reason = f"a process that extracts the text of HTML ended (exit code {code}); use --threads 1"
                raise DocumentError(path, None, reason) from error
        finally:
            self._idle.put(worker)
        if isinstance(answer, BaseException):
            raise answer
        found: list[tuple[str, bool, str, bool]] = answer
        return found

    def close(self) -> None:
        """End the workers. They are started again when they are needed again."""
        if self._threads is None:
            return
        threads, self._threads = self._threads, None
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.kill()
        threads.shutdown(wait=True)
        for worker in self._workers:
            worker.wait()
            for stream in (worker.stdin, worker.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
        self._workers.clear()
        self._idle = queue.SimpleQueue()


def _finished(batch: list[Any], answer: Future[list[tuple[str, bool, str, bool]]] | None) -> Iterator[Any]:
    """Yield the items of a batch when its texts are there."""
    texts = iter(() if answer is None else answer.result())
    for item in batch:
        if isinstance(item, Html):
            text, fell_back, title, by_tags = next(texts)
            yield item.finish(Extracted.of(text, item.source, fell_back, title, by_tags))
        else:
            yield item


def serve(part: str) -> None:
    """Extract texts, as a worker, until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    html = html_reader("standard input", part)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            pages = pickle.load(given)  # of the parent
            _answer(answers, html, pages)


def _answer(answers: IO[bytes], html: Reader, pages: list[tuple[str | bytes, str | None]]) -> None:
    """Write the texts of pages, or the error of one of them."""
    answer: Any
    try:
        found = [html(source, charset) for source, charset in pages]
        answer = [(str(text), text.fell_back, text.page_title, text.by_tags) for text in found]
    except Exception as error:  # raised again by the parent
        answer = error
    pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()
