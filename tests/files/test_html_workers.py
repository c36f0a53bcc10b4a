"""Processes that extract HTML: the same documents in the same order, errors in their place, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndcore.cli.main import main
from ndcore.files import html_workers
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.html_workers import Html, HtmlWorkers

pytest.importorskip("resiliparse", reason="the extra html is not installed")


def page(i: int) -> str:
    """Return a page with a title, and with main content if i is even."""
    body = f"<main><p>Words of page {i}, é, and more of them.</p></main>" if i % 2 else f"<nav>page {i}</nav>"
    return f"<html><head><title>Title {i}</title></head><body>{body}{'<p>more</p>' * (i % 50)}</body></html>"


def archive(path: Path, count: int) -> str:
    """Write a WARC file with `count` pages, plain texts and records that are not documents."""
    parts = []
    for i in range(count):
        media, text = ("text/html; charset=latin-1", page(i)) if i % 5 else ("text/plain", f"plain text {i}")
        content = f"HTTP/1.1 {404 if i % 17 == 3 else 200} OK\r\nContent-Type: {media}\r\n\r\n{text}".encode("latin-1")
        head = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{i}\r\n"
                "WARC-Date: 2026-01-01T00:00:00Z\r\n"
                f"Content-Type: application/http\r\nContent-Length: {len(content)}\r\n\r\n")
        parts.append(head.encode() + content + b"\r\n\r\n" + (b"garbage\r\n" if i % 40 == 7 else b""))
    path.write_bytes(b"".join(parts))
    return str(path)


def pages_file(path: Path, count: int) -> str:
    """Write a JSONL file with HTML, and lines that are no documents."""
    lines = (json.dumps({"text": page(i), "id": i}) + "\n" + "\n[]\n" * (i % 31 == 5) for i in range(count))
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use workers for the first page already, and many small batches."""
    monkeypatch.setattr(html_workers, "ALONE", 0)
    monkeypatch.setattr(html_workers, "BATCH", 5000)


def facts(path: str, **options: Any) -> list[Any]:
    """Return all that is known of the documents of a file, after three passes."""
    with FileDocuments([path], on_error="skip", **options) as documents:
        texts = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == texts
        wanted = [i % 3 == 0 for i in range(len(texts))]
        some = [pair for at, part in documents.selected(np.array(wanted)) for pair in zip(list(at), part, strict=True)]
        assert some == [(i, text) for i, text in enumerate(texts) if wanted[i]]
        extras = [[getattr(text, name, None) for name in ("original", "fell_back", "page_title")] for text in texts]
        places = [documents.place(i) for i in range(len(texts))]
        return [texts, extras, list(documents.ids), places, documents.rejected, documents.kinds(0), documents.without_main]


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("part", ["page", "main"])
def test_workers_give_what_one_process_gives(tmp_path: Path, part: str) -> None:
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    for path in (archive(tmp_path / "a.warc", 300), pages_file(tmp_path / "b.jsonl", 200)):
        found = facts(path, html=part, threads=2)
        assert found == facts(path, html=part, threads=1)
        assert len(found[0]) > 150
        assert found[4]


@pytest.mark.usefixtures("at_once")
def test_errors_come_in_their_place() -> None:
    def items() -> Iterator[Any]:
        for i in range(100):
            yield Html(page(i), None, str) if i % 7 else (i, "broken")
        raise DocumentError("a.warc", 101, "damaged")

    workers, found = HtmlWorkers("page", 2), []
    with pytest.raises(DocumentError, match=r"a\.warc:101: damaged"):
        found.extend(workers.texts("a.warc", items()))
    workers.close()
    assert len(found) == 100
    assert [item for item in found if isinstance(item, tuple)] == [(i, "broken") for i in range(0, 100, 7)]
    assert all("page" in item for item in found if isinstance(item, str))


@pytest.mark.usefixtures("at_once")
def test_workers_that_are_killed_lose_nothing() -> None:
    workers = HtmlWorkers("page", 1)
    found = workers.texts("a.warc", (Html(page(i), None, str) for i in range(2000)))
    texts = [next(found)]
    workers._workers[0].process.kill()
    texts += found
    workers.close()
    assert len(texts) == 2000
    assert all(f"age {i}" in text for i, text in enumerate(texts))
    again = list(workers.texts("a.warc", [Html(page(1), None, str)]))
    assert again
    assert "page 1" in again[0]
    workers.close()


def test_little_html_starts_no_process() -> None:
    workers = HtmlWorkers("page", 2)
    assert len(list(workers.texts("a", (Html(page(i), None, str) for i in range(50))))) == 50
    assert workers._workers == []


HOSTILE_PARSER = """
import collections, itertools, os
from ndcore.files import html_workers as h
def html_reader(path, part, make=h.make_html_reader):
    read = make(path, part)
    def text(page, charset):
        page = page if isinstance(page, bytes) else page.encode()
        if b"ENDLESS" in page:
            collections.deque(itertools.repeat(0), maxlen=0)  # in C, deaf to signals that Python handles
        if b"CRASH" in page:
            os.abort()
        return read(page, charset)
    return text
h.SECONDS, h.make_html_reader = 0.1, html_reader
"""


@pytest.fixture
def hostile_parser(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers have a parser that finds no end on some pages, and crashes on others."""
    command, _, call = html_workers._SERVE.rpartition("; ")
    monkeypatch.setattr(html_workers, "_SERVE", f"{command}{HOSTILE_PARSER}{call}")
    monkeypatch.setattr(html_workers, "SECONDS", 0.2)


SLOW = "the text of HTML could not be extracted: it takes more than 0.2 seconds of CPU"
CRASHED = "the text of HTML could not be extracted: its process ended (exit code -6)"
needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers of CPU time")


@needs_timer
@pytest.mark.usefixtures("hostile_parser")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_page_without_end_costs_only_itself(tmp_path: Path, threads: int) -> None:
    pages = [page(i) for i in range(40)]
    pages[7], pages[8], pages[30] = "<p>ENDLESS", "<p>CRASH", "<p>ENDLESS"
    lines = [json.dumps({"text": text, "id": i}) + "\n" for i, text in enumerate(pages)]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    options = ["--html", "page", "--threads", str(threads), "-q"]
    assert main(["dedup", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out"), *options]) == 1
    assert not (tmp_path / "out").exists()
    assert main(["dedup", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out"), *options, "--on-error", "skip"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [(row["line"], row["reason"]) for row in summary["rejected"]] == [(8, SLOW), (9, CRASHED), (31, SLOW)]
    assert (tmp_path / "out" / "rejected" / "a.jsonl").read_text() == lines[7] + lines[8] + lines[30]


@needs_timer
@pytest.mark.usefixtures("hostile_parser")
def test_a_page_without_end_in_other_formats(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    (tmp_path / "a.html").write_text(page(1))
    (tmp_path / "b.html").write_text("<p>ENDLESS")
    (tmp_path / "c.csv").write_text('text\n<p>ENDLESS\n<p>good\n')
    head = "From a 10:00 2026\nFrom: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n"
    mails = (f"{head}{text}\n--b\n\nplain\n--b--\n\n" for text in ("<p>ENDLESS", "<p>good"))
    (tmp_path / "d.mbox").write_text("".join(mails))
    warc = archive(tmp_path / "e.warc", 3)
    Path(warc).write_bytes(Path(warc).read_bytes().replace(b"Words of page 1,", b"ENDLESS ENDLESS,"))
    with FileDocuments([str(tmp_path)], html="page", on_error="skip") as documents:
        texts = [text for batch in documents.batches() for text in batch]
        assert len(texts) == 5
        places = [(Path(row.path).name, row.number, row.reason) for row in documents.rejected]
        assert places == [("b.html", None, SLOW), ("c.csv", 2, SLOW), ("d.mbox", 1, SLOW), ("e.warc", 2, SLOW)]
        assert [text for batch in documents.batches() for text in batch] == texts
    before, (slow, after) = Path(warc).read_bytes(), (Path(warc).read_bytes().find(mark) for mark in (b"/1\r\n", b"/2\r\n"))
    assert main(["dedup", warc, "-o", str(tmp_path / "out"), "--html", "page", "--on-error", "skip", "-q"]) == 0
    kept, rejected = (tmp_path / "out" / folder / "e.warc" for folder in ("kept", "rejected"))
    begin, end = (before.rfind(b"WARC/1.0", 0, at) for at in (slow, after))
    assert kept.read_bytes() == before[:begin] + before[end:]
    assert rejected.read_bytes() == before[begin:end]


@pytest.mark.usefixtures("at_once")
def test_a_worker_that_does_not_start_refuses_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_workers, "_SERVE", "raise SystemExit(3)")
    workers = HtmlWorkers("page", 1)
    with pytest.raises(DocumentError, match=r"^a: .*its process ended \(exit code 3\), before it had read any page"):
        list(workers.texts("a", [Html(page(1), None, str)]))
    workers.close()
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(DocumentError, match=r"no process can be started to extract the text of HTML: .*nowhere"):
        list(workers.texts("a", [Html(page(1), None, str)]))
    workers.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind(tmp_path: Path, how: signal.Signals) -> None:
    path = pages_file(tmp_path / "b.jsonl", 20_000)
    code = (
        "import sys\nfrom ndcore.files import html_workers\nhtml_workers.ALONE, html_workers.BATCH = 0, 5000\n"
        "from ndcore.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    )
    words = ["dedup", path, "-o", str(tmp_path / "out"), "--html", "page", "--threads", "2", "-q"]
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True)
    workers: list[int] = []
    deadline = time.monotonic() + 60
    while len(workers) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        workers = children(process.pid)
    assert len(workers) == 2
    process.send_signal(how)
    _, told = process.communicate(timeout=60)
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
    if how != signal.SIGKILL:
        assert process.returncode == 128 + how
        assert told == "ndcore: interrupted; nothing was written\n"


def children(parent: int) -> list[int]:
    """List the processes that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def alive(process: int) -> bool:
    """Tell whether a process runs."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
