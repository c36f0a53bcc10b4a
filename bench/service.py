"""A store that is written through HTTP: decisions a second in batches, the time of a single one meanwhile, and memory.

A process ``ndcore serve --write`` keeps the pages; two processes send pages of about 5 KB in batches, at a stated rate or as
fast as they can, and a third one sends single pages. Between two of them it asks for /health, which does no work: what that
takes is the least that any answer takes under this load. It also sums up how long it waited for a core itself. The two
processes stand for other computers, and run at nice 19: server and single pages get a core before them.
With --follow a follower (``ndcore serve``) is asked every second, and reads what was written meanwhile. With --templates all
pages are of one template, at a resemblance of about 0.6. With --apart single pages go to a second server with a store of its
own: this is the least that they would take if streams were decided in another process.

Required, else the exit code is 1: the verdicts of pages that come from several threads are those of a replay in the order
of the log, also where each page is sent twice; all pages are kept once.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import WORK, Option, Report, own_memory, program
from store import AT_ONCE, Page, Pages, pages, spool

import ndcore as nd

CHECKED, BATCH, SINGLES, PARTS = 3000, 256, 20, 10  # singles a second, and parts of the pages after which memory is read
RATE = 5000.0  # pages a second of both processes that send batches
FRAME, OWN = 180, 60  # words of a template, and of each of its pages beside it


def of_template(start: int, count: int) -> list[Page]:
    """Pages `start` … of one template."""
    made, frame = [], " ".join(f"frame{i}" for i in range(FRAME))
    for i in range(start, start + count):
        own = random.Random(i)
        made.append((f"https://shop.example/{i}", f"{frame} {' '.join(f'w{own.randrange(10**9)}' for _ in range(OWN))}"))
    return made


class Server:
    """A process that serves a store: its address and its memory."""

    def __init__(self, place: Path, *given: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "ndcore", "serve", str(place), "--port", str(port), "--json", *given]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url: str = json.loads(self.process.stdout.readline())["url"]

    def memory(self) -> int:
        """Bytes of memory of its own, mapped files not counted."""
        return own_memory(self.process.pid)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def send(url: str, token: str, files: list[Path], rate: float, told: Any) -> None:
    """Send pages in batches, `rate` a second, or as fast as can be where it is 0; tell how many, and the seconds."""
    os.nice(19)
    client, sent, seconds = nd.ServiceClient(url, token), 0, 0.0
    for file in files:
        some = pickle.loads(file.read_bytes())
        begin = time.perf_counter()
        for first in range(0, len(some), BATCH):
            early = begin + first / rate - time.perf_counter() if rate else 0.0
            time.sleep(max(0.0, early))
            sent += sum(1 for _ in client.decide_many(some[first : first + BATCH]))
        seconds += time.perf_counter() - begin
    told.put((sent, seconds))


def check(report: Report, url: str, token: str, make: Pages, folder: Path, count: int) -> None:
    """Let several threads send the same pages, each page twice, and compare the verdicts with a replay."""
    import httpx

    some, answers = make(10**9, count), list[dict[str, Any]]()

    def ask(part: list[Page], seed: int) -> None:
        with httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
            for first in range(0, len(part), 100):
                lines = [{"key": key, "text": text, "idempotency_key": key} for key, text in part[first : first + 100]]
                random.Random(seed).shuffle(lines)
                body = "".join(json.dumps(line) + "\n" for line in lines)
                got = http.post(f"{url}api/decide-many", content=body, headers={"content-type": "application/x-ndjson"})
                answers.extend(map(json.loads, got.text.splitlines()))

    threads = [threading.Thread(target=ask, args=(some[i % 2 :: 2], i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts, fresh = dict(some), [answer for answer in answers if not answer["repeated"]]
    report.require(len(answers) == 2 * count and len(fresh) == count, "a page was decided twice, or not at all")
    fresh.sort(key=lambda answer: answer["place"])
    with nd.Store.open(folder / "replay") as store:
        for answer, verdict in zip(fresh, store.decide_many([(a["key"], texts[a["key"]]) for a in fresh]), strict=True):
            said = answer["verdict"], answer["of"], answer["resemblance"]
            report.require(said == (verdict.verdict, verdict.of, verdict.resemblance), f"{said}, and a replay: {verdict}")
    by_key = {answer["key"]: answer for answer in fresh}
    same = all({**answer, "repeated": False} == by_key[answer["key"]] for answer in answers)
    report.require(same, "a page that was sent again got another answer")


def single(url: str, token: str, make: Pages, start: int, begun: Any, done: Any, told: Any) -> None:
    """Send single pages, and ask for /health, in turns until the others are done; tell the seconds of each, and of waits."""
    import httpx

    client, fresh, random_waits = nd.ServiceClient(url, token), iter_pages(make, start), random.Random(start)
    pages_took, health_took, waits = list[float](), list[float](), list[float]()
    page = next(fresh)
    with httpx.Client(timeout=60, limits=httpx.Limits(keepalive_expiry=4)) as http:
        begun.set()
        while not done.wait(random_waits.uniform(0, 1 / SINGLES)):
            before, begin = core_wait(), time.perf_counter()
            client.decide(*page)
            pages_took.append(time.perf_counter() - begin)
            waits.append(core_wait() - before)
            page = next(fresh)
            if done.wait(random_waits.uniform(0, 1 / SINGLES)):
                break
            begin = time.perf_counter()
            http.get(f"{url}health")
            health_took.append(time.perf_counter() - begin)
    told.put((pages_took, health_took, waits))


def core_wait() -> float:
    """Seconds for which this process was ready to run and had no core; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def iter_pages(make: Pages, start: int) -> Iterator[Page]:
    """Yield pages without end."""
    while True:
        yield from make(start, AT_ONCE)
        start += AT_ONCE


def ask(report: Report, given: Namespace) -> None:
    """Start the servers, check their verdicts, and measure."""
    from ndcore.serve.tokens import add_token

    make, folder = of_template if given.templates else pages, given.folder
    kinds = {"templates": given.templates, "apart": given.apart, "followed": given.follow}
    report.name = "_".join(["service", *(kind for kind, chosen in kinds.items() if chosen)])
    token = add_token(folder / "tokens", "bench", ["read", "write"])
    writing = ("--write", "--tokens", str(folder / "tokens"))
    for name in ("store", "apart"):
        nd.Store.open(folder / name).close()
    with contextlib.ExitStack() as running:
        server = running.enter_context(Server(folder / "store", *writing))
        follower = running.enter_context(Server(folder / "store")) if given.follow else None
        apart = running.enter_context(Server(folder / "apart", *writing)) if given.apart else server
        check(report, server.url, token, make, folder, 400 if given.quick else CHECKED)
        halves = [spool(folder, make, half * 10**8, given.documents // 2, AT_ONCE) for half in (0, 1)]
        measure(report, server, follower, apart, token, make, halves, given.documents, given.rate)


def measure(
    report: Report, server: Server, follower: Server | None, asked: Server, token: str, make: Pages, files: list[list[Path]],
    documents: int, rate: float,
) -> None:
    """Send pages from two processes, and meanwhile single ones to the server `asked`."""
    import httpx

    context = multiprocessing.get_context("spawn")
    begun, done, told, told_single = context.Event(), context.Event(), context.Queue(), context.Queue()
    before = len(nd.ServiceClient(server.url, token))
    alone = context.Process(target=single, args=(asked.url, token, make, 2 * 10**9, begun, done, told_single))
    alone.start()
    begun.wait()  # it has made its first pages
    halves = [context.Process(target=send, args=(server.url, token, half, rate / 2, told)) for half in files]
    name, of = report.name.replace("_", "-"), " of one template" if make is of_template else ""
    meanwhile = "single ones meanwhile" + ("" if asked is server else " to a second server")
    for half in halves:
        half.start()
    part, seen = 1, list[tuple[int, float, float]]()
    while any(half.is_alive() for half in halves):
        time.sleep(1)
        if follower is not None:
            kept = httpx.get(f"{follower.url}api/about", timeout=60).json()["documents"] - before
            if kept >= part * documents / PARTS:
                seen.append((kept, server.memory() / 1e6, follower.memory() / 1e6))
                part = int(kept * PARTS / documents) + 1
    done.set()
    pages_took, health_took, waits = told_single.get()
    alone.join()
    results = [told.get() for _ in halves]
    count, expected = len(nd.ServiceClient(server.url, token)) - before, documents + len(pages_took) * (asked is server)
    report.require(count == expected, f"{count} pages are kept of {expected}")
    table = report.table(name, f"{documents:,} pages{of} through HTTP, from two processes at nice 19 in batches of "
                         f"{BATCH}, and {meanwhile}", ["what", "figure"])
    if seen:
        memory = report.table(f"{name}-memory", "Memory of their own of the processes, MB", ["pages", "server", "follower"])
        for row in seen:
            memory.add(*row)
    table.add("pages a second, of both", sum(sent / seconds for sent, seconds in results))
    table.add("single pages", len(pages_took))
    for what, took in (("a single page", pages_took), ("an answer without work, /health", health_took),
                       ("wait for a core, in the client of a single page", waits)):
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
            table.add(f"{what}, {name}, ms", float(np.quantile(took, share)) * 1e3)


if __name__ == "__main__":
    program("service", ask, __doc__, work=WORK, documents=Option(200_000, "pages", 4000),
            rate=Option(RATE, "pages a second of both; 0: all they can"),
            follow=Option(False, "ask a follower every second, and measure memory"),
            templates=Option(False, "all pages are of one template"),
            apart=Option(False, "send single pages to a second server"))
