"""``ndcore store decide STORE -``: a crawler writes pages and reads verdicts, through pipes of real processes."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import RUN, jsonl, refused, run, text
from store_commands import PAGES, VERDICTS, answers

from ndcore.cli.store_decide import lines_as_they_come
from ndcore.files.sources import TooLong
from ndcore.store.store import Store

PATIENCE = 60.0  # seconds: a machine may be busy


@pytest.fixture
def store(tmp_path: Path) -> Path:
    assert run("store", "create", tmp_path / "s", "-q", "--threshold", "0.5") == 0
    return tmp_path / "s"


def decide(store: Path, data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, "store", "decide", str(store), "-", *options], input=data, capture_output=True, check=False,
                          timeout=PATIENCE)


class Crawler:
    """A process that talks to the command."""

    def __init__(self, store: Path, *options: str) -> None:
        command = [*RUN, "store", "decide", str(store), "-", *options]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(command, bufsize=0, **pipes)
        self._read = b""

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def answer(self) -> Any:
        """Wait for one line, and parse it."""
        stream = self.process.stdout
        assert stream is not None
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._read:
            assert select.select([stream], [], [], max(0.0, end - time.monotonic()))[0], "no answer"
            more = os.read(stream.fileno(), 1 << 16)
            assert more, "the command ended"
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return json.loads(line)

    def finish(self) -> tuple[bytes, bytes]:
        """Close the pipe, and return what is left of both outputs."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self._read + out, err


@pytest.fixture
def crawlers() -> Iterator[list[Crawler]]:
    started: list[Crawler] = []
    yield started
    for crawler in started:
        if crawler.process.poll() is None:
            crawler.process.kill()
        crawler.process.wait()
        for stream in (crawler.process.stdin, crawler.process.stdout, crawler.process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize("durability", ["each", "batch"])
def test_every_page_is_answered_before_the_next_is_sent(store: Path, durability: str, crawlers: list[Crawler]) -> None:
    crawler = Crawler(store, "--durability", durability)
    crawlers.append(crawler)
    for page, verdict in zip(PAGES, VERDICTS, strict=True):
        crawler.send(json.dumps(page).encode() + b"\n")
        found = crawler.answer()
        assert (found["key"], found["verdict"], found["date"][:10]) == (page["key"], verdict, page["date"])
    crawler.send(jsonl([PAGES[3]])[:40])  # a line in two parts
    crawler.send(jsonl([PAGES[3]])[40:])
    assert crawler.answer()["version"] == "unchanged"
    crawler.send(jsonl(PAGES))  # several lines at once
    assert [crawler.answer()["version"] for _ in PAGES] == ["unchanged"] * 5
    assert crawler.finish() == (b"", b"")
    assert crawler.process.returncode == 0


def test_answered_pages_survive_sigkill(store: Path, crawlers: list[Crawler]) -> None:
    crawler = Crawler(store, "--durability", "each")
    crawlers.append(crawler)
    for page in PAGES:
        crawler.send(json.dumps(page).encode() + b"\n")
        crawler.answer()
    crawler.process.kill()
    crawler.process.wait()
    with Store.open(store) as found:
        assert [page["key"] in found for page in PAGES] == [True] * 5
        assert found.check() == []


def test_a_signal_ends_it_with_everything_kept(store: Path, crawlers: list[Crawler]) -> None:
    crawler = Crawler(store)
    crawlers.append(crawler)
    crawler.send(jsonl(PAGES))
    for _ in PAGES:
        crawler.answer()
    crawler.process.send_signal(signal.SIGTERM)
    assert crawler.process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert crawler.process.stderr is not None
    assert crawler.process.stderr.read() == b"ndcore: interrupted; 5 pages decided and in the store\n"
    with Store.open(store) as found:
        assert len(found) == 5


def test_a_reader_that_goes_away(store: Path, crawlers: list[Crawler]) -> None:
    crawler = Crawler(store)
    crawlers.append(crawler)
    assert crawler.process.stdout is not None
    crawler.process.stdout.close()
    crawler.send(jsonl(PAGES))
    assert crawler.process.wait(PATIENCE) == 1
    assert crawler.process.stderr is not None
    assert crawler.process.stderr.read() == b""
    with Store.open(store) as found:
        assert len(found) == 5


# ---- lines


def test_a_bad_line_ends_it_after_the_answers_before(store: Path) -> None:
    done = decide(store, jsonl(PAGES[:2]) + b"\nbroken\n" + jsonl(PAGES[2:]))
    assert [found["verdict"] for found in answers(done.stdout)] == VERDICTS[:2]
    assert done.returncode == 1
    first, second = done.stderr.decode().splitlines()
    assert first.startswith("ndcore: standard input:4: invalid JSON at column 1")
    assert second.startswith("ndcore: in the store: 2 pages before it; with --on-error skip, such lines are answered")
    with Store.open(store) as found:
        assert [page["key"] in found for page in PAGES] == [True, True, False, False, False]


BAD_LINES = [
    (b"[]", "an array, not a JSON object"), (b'{"text": "x"}', "no id field 'key'"), (b'{"key": "x"}', "no text field"),
    (b'{"key": "x", "text": "x", "gone": true}', "a page that is gone has none"),
    (b'{"key": "x", "gone": 1}', "no text field"), (b'{"gone": true}', "no id field 'key'"),
    (b'{"key": "x", "gone": true, "date": "never"}', "the date field 'date': str 'never' is not a date"),
    (b'{"key": null, "text": "x"}', "the id field 'key' is null"), (b'{"key": "x", "text": 1}', "is int 1, not a string"),
    (b'{"key": 18446744073709551616, "text": "x"}', "does not fit in 64 bits"), (b"\xff", "invalid UTF-8 at byte 1"),
    (b'{"key": "x", "text": "x", "date": "never"}', "the date field 'date': str 'never' is not a date"),
]


def test_bad_lines_are_answered_with_skip(store: Path) -> None:
    """In one stream: each at its place, and the pages around them are decided."""
    lines = b"".join(line + b"\n" for line, _ in BAD_LINES)
    done = decide(store, jsonl(PAGES[:1]) + lines + jsonl(PAGES[1:2]), "--on-error", "skip")
    first, *bad, last = answers(done.stdout)
    assert (first["verdict"], last["verdict"]) == ("kept", "lexical")
    assert [answer["line"] for answer in bad] == [*range(2, 2 + len(BAD_LINES))]
    for answer, (line, reason) in zip(bad, BAD_LINES, strict=True):
        assert reason in answer["error"], line
    assert (done.returncode, done.stderr) == (0, b"")


def test_pages_that_are_gone(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the lines: a page that comes again after that is there."""
    page = {"key": "a", "text": text(1), "date": "2024-05-01"}
    lines = [page, {**page, "key": "b"}, {"key": "b", "gone": True, "date": "2024-06-01"}, {"key": "c", "gone": True}]
    done = decide(store, jsonl([*lines, {**page, "gone": False}]))
    assert done.stderr == b"" and done.returncode == 0
    first, second, gone, unknown, again = answers(done.stdout)
    assert (first["verdict"], second["of"], again["version"]) == ("kept", "a", "unchanged")
    assert (gone, unknown) == ({"key": "b", "gone": True}, {"key": "c", "gone": False})
    assert run("store", "locate", store, "b") == 0 and capsys.readouterr().out == "a\n"
    line = {"key": "a", "gone": True}
    assert answers(decide(store, b"\xef\xbb\xbf" + jsonl([line])).stdout) == [line]
    assert refused(capsys, 1, "store", "locate", store, "b") == f"{store}: all pages with the content of 'b' are gone"
    assert run("store", "history", store, "b") == 0 and "gone" in capsys.readouterr().out


def test_fields_dates_and_html(store: Path) -> None:
    pytest.importorskip("resiliparse")
    page = {"url": "http://a.example/", "page": {"html": f"<p>{text(1)}</p><p>{text(2)}"}, "fetched": 1714557600}
    options = "--id-field url --text-field page.html --date-field fetched --html page --date 2025-01"
    done = decide(store, jsonl([page, {**page, "url": "u", "fetched": None}]), *options.split())
    found = answers(done.stdout)
    assert [one["date"] for one in found] == ["2024-05-01T10:00:00+00:00", "2025-01-01T00:00:00+00:00"]
    with Store.open(store) as kept:
        assert "<p>" not in str(kept.text("http://a.example/"))
        assert text(2) in str(kept.text("http://a.example/"))


def test_awkward_lines(store: Path) -> None:
    """Read a byte order mark, line ends of Windows, blank lines, lone surrogates, and a last line without an end."""
    first, second = b'{"key": "a", "text": "one two"}', b'{"key": "\\ud800", "text": "\\udfff"}'
    data = b"\xef\xbb\xbf" + first + b"\r\n\r\n \n" + second + b'\n{"key": "z", "text": ""}'
    done = decide(store, data)
    assert done.stderr == b""
    assert [found["key"] for found in answers(done.stdout)] == ["a", "\ud800", "z"]
    done = decide(store, b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_refused(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("store", "decide", store, "-")
    assert "- stands alone" in refused(capsys, 2, *words, tmp_path)
    for more in (("-o", "x.jsonl"), ("--json",), ("--include", "*"), ("--exclude", "*"), ("--hidden",), ("--overwrite",)):
        assert f"{more[0]} does nothing with -" in refused(capsys, 2, *words, *more)


# ---- lines as they come


class Parts(io.BytesIO):
    """A stream that gives one part at each read."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__()
        self.parts = list(parts)

    def read1(self, size: int | None = -1) -> bytes:
        return self.parts.pop(0) if self.parts else b""


def test_lines_as_they_come() -> None:
    def cut(*parts: bytes) -> list[list[bytes]]:
        return list(lines_as_they_come(Parts(*parts), lambda source: None, 100))

    assert cut() == []
    assert cut(b"a\nb\nc") == [[b"a", b"b"], [b"c"]]
    assert cut(b"a", b"b", b"\n", b"c\n") == [[b"ab"], [b"c"]]
    assert cut(b"a\r\n\n") == [[b"a\r", b""]]


def test_a_line_that_is_too_long() -> None:
    """It is passed over, whether it comes at once or in parts; the lines after it are read."""
    parts = Parts(b"a\nb\n", b"c" * 8, b"c" * 8, b"\nd\n" + b"e" * 11 + b"\n", b"f" * 30)
    lines = lines_as_they_come(parts, lambda source: None, 10)
    shown = [[line.reason if isinstance(line, TooLong) else line for line in some] for some in lines]
    reason = "the line is longer than 10 bytes; a larger --max-record has it read"
    assert shown == [[b"a", b"b"], [reason, b"d", reason], [reason]]
