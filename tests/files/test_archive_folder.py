"""Web archives that are written: whole responses, revisits, metadata, rotation, and what a crash or a full disk leaves."""

from __future__ import annotations

import base64
import datetime
import errno
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from webarchives import html, read_entries, words

from ndcore.files import archive_folder
from ndcore.files.archive_folder import IDENTICAL, INDEX, ArchiveFolder, FetchedResponse, make_key
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments

pytest.importorskip("fastwarc", reason="the extra web is not installed")

DAY = datetime.datetime(2026, 3, 1, 10, tzinfo=datetime.UTC)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def fetched(number: int, payload: bytes | None = None, day: int = 0, **more: Any) -> FetchedResponse:
    body = html(words(number)) if payload is None else payload
    return FetchedResponse(f"http://example.org/{number}", DAY + datetime.timedelta(days=day),
                           b"GET /%d HTTP/1.1\r\nHost: example.org\r\n\r\n" % number, HEAD, body, 200, "text/html", **more)


def records(folder: Path, name: str = "*.warc.gz") -> list[tuple[dict[str, str], bytes]]:
    """Read the fields and the block of every record with the reader of the package."""
    entries = [entry for path in sorted(folder.glob(name)) for entry in read_entries(str(path))]
    assert all(entry.head is not None for entry in entries), entries
    return [(entry.head.fields, entry.content) for entry in entries if entry.head]


def kinds(folder: Path) -> list[str]:
    return [fields["warc-type"] for fields, _ in records(folder)]


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def test_the_same_payload_is_a_revisit_and_another_is_whole(tmp_path: Path) -> None:
    """A URL that changes, and another URL with the same bytes: the digest of the payload alone decides (WARC 1.1, 6.7.2)."""
    same = html(words(1))
    with ArchiveFolder(tmp_path) as folder:
        written = [folder.write(fetched(1)), folder.write(fetched(2, same, 1)), folder.write(fetched(1, same + b" ", 2)),
                   folder.write(fetched(1, None, 3))]
    assert [each.referred for each in written] == [None, "http://example.org/1", None, "http://example.org/1"]
    assert kinds(tmp_path) == ["warcinfo", *["response", "request"], *["revisit", "request"], *["response", "request"],
                               *["revisit", "request"]]
    by_id = {fields["warc-record-id"]: (fields, block) for fields, block in records(tmp_path)}
    fields, block = by_id[written[1].id]
    assert block == HEAD
    assert fields["warc-profile"] == IDENTICAL
    assert fields["warc-payload-digest"] == sha1(same)
    assert fields["warc-refers-to-target-uri"] == "http://example.org/1"
    assert fields["warc-refers-to-date"] == "2026-03-01T10:00:00Z"
    assert (fields["warc-target-uri"], fields["warc-date"]) == ("http://example.org/2", "2026-03-02T10:00:00Z")
    fields, block = by_id[written[0].id]
    assert block == HEAD + same
    assert fields["warc-payload-digest"] == sha1(same)
    for fields, block in by_id.values():
        assert fields["warc-block-digest"] == sha1(block)
    requests = [fields for fields, _ in by_id.values() if fields["warc-type"] == "request"]
    assert [fields["warc-concurrent-to"] for fields in requests] == [each.id for each in written]


def test_each_record_is_a_member_of_its_own_and_the_file_says_1_1(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path, software="Tests/1") as folder:
        folder.write(fetched(1))
    [path] = tmp_path.glob("*.warc.gz")
    entries = read_entries(str(path))
    assert all(entry.span is not None for entry in entries)
    assert gzip.decompress(path.read_bytes()).startswith(b"WARC/1.1\r\n")
    assert entries[0].content.startswith(b"software: Tests/1 ndcore/")
    assert {entry.head.fields.get("warc-warcinfo-id") for entry in entries[1:] if entry.head} == {
        entries[0].head.fields["warc-record-id"] if entries[0].head else ""}


@pytest.mark.parametrize("more", [{"payload": b""}, {"truncated": "disconnect"}, {"request": b"POST / HTTP/1.1\r\n\r\n"}])
def test_captures_to_which_no_revisit_refers(tmp_path: Path, more: dict[str, Any]) -> None:
    for _ in range(2):  # in one crawl, and in the next
        with ArchiveFolder(tmp_path) as folder:
            assert folder.write(fetched(1)._replace(**more)).referred is None
            assert folder.write(fetched(2, html(words(1)))._replace(**more)).referred is None
            assert folder.payloads == 0
    if "truncated" in more:
        assert {fields.get("warc-truncated") for fields, _ in records(tmp_path) if fields["warc-type"] == "response"} == {
            "disconnect"}


def test_a_verdict_is_a_metadata_record(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        written = folder.write(fetched(1))
        fields = [("near-duplicate-of", "http://a/\r\nWARC-Type: x"), ("verdict", "near")]
        folder.annotate(written, "http://example.org/1", fields)
    head, block = records(tmp_path)[-1]
    assert (head["warc-type"], head["warc-refers-to"], head["content-type"]) == (
        "metadata", written.id, "application/warc-fields")
    assert block == b"near-duplicate-of: http://a/%0D%0AWARC-Type: x\r\nverdict: near\r\n"


def test_the_next_crawl_knows_the_digests_of_the_first(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path) as folder:
        folder.write(fetched(1))
    with ArchiveFolder(tmp_path) as folder:
        assert folder.payloads == 1
        assert folder.write(fetched(1, None, 7)).referred == "http://example.org/1"
    [first, second] = [json.loads(line.split(" ", 2)[2]) for line in (tmp_path / INDEX).read_text().splitlines()]
    assert (first["mime"], second["mime"], first["digest"]) == ("text/html", "warc/revisit", second["digest"])


def test_the_index_reads_the_captures(tmp_path: Path) -> None:
    """The index is CDXJ that this package reads; offsets, lengths and digests are right."""
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    with ArchiveFolder(tmp_path, size=1) as folder:
        for number in (1, 2, 1):
            folder.write(fetched(number))
    assert len(list(tmp_path.glob("*.warc.gz"))) == 3
    with FileDocuments(find([str(tmp_path / INDEX)])) as documents:
        assert [text for batch in documents.batches() for text in batch] == [words(1), words(2)]
        assert documents.kinds(0) == {"revisit": 1}


def test_a_line_whose_record_is_missing_is_not_referred_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A power failure may keep the index and lose the records: what the files do not hold is written again."""
    with ArchiveFolder(tmp_path, size=1) as folder:
        for number in (1, 2, 3):
            folder.write(fetched(number))
    first, second, _ = sorted(tmp_path.glob("*.warc.gz"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:600])
    with (tmp_path / INDEX).open("ab") as index:
        index.write(b"org,example)/9 20260301100000 {\"url\": \"http://exa")  # cut off
    with ArchiveFolder(tmp_path) as folder:
        assert folder.payloads == 1
        assert [folder.write(fetched(number)).referred is None for number in (1, 2, 3)] == [True, True, False]
    assert "2 lines of" in caplog.text
    assert all(json.loads(line.split(" ", 2)[2]) for line in (tmp_path / INDEX).read_text().splitlines())


@pytest.mark.parametrize("line", [
    b"garbage\n", b"a 20260301100000 {}\n", b"a 20260301100000 []\n", b"\xff\xfe\n", b"a 20269901100000 {\"offset\": 1}\n",
    b"k 20260301100000 {\"url\": \"u\", \"mime\": \"m\", \"digest\": \"sha1:AA\", \"length\": \"1\", \"offset\": \"0\", "
    b"\"filename\": \"../x\"}\n",
    b"k 20260301100000 {\"url\": 1, \"mime\": \"m\", \"digest\": 2, \"length\": \"1\", \"offset\": \"0\", "
    b"\"filename\": 3}\n",
])
def test_a_foreign_index_refers_to_nothing(tmp_path: Path, line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / INDEX).write_bytes(line)
    with ArchiveFolder(tmp_path) as folder:
        assert folder.payloads == 0
        assert folder.write(fetched(1)).referred is None
    assert "1 lines of" in caplog.text


def test_files_rotate_at_a_size_and_are_named_when_complete(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path, size=3000) as folder:
        for number in range(8):
            folder.write(fetched(number, os.urandom(1000)))
        opened = list(tmp_path.glob("*.open"))
        assert len(opened) == 1
    assert not list(tmp_path.glob("*.open"))
    files = sorted(tmp_path.glob("*.warc.gz"))
    assert len(files) > 2 and all(3000 <= file.stat().st_size < 6000 for file in files[:-1])
    assert [fields["warc-type"] for file in files for fields, _ in records(tmp_path, file.name)][:3] == [
        "warcinfo", "response", "request"]


def test_a_folder_without_responses_has_no_archive(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path):
        pass
    assert not list(tmp_path.glob("*.warc.gz*"))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with ArchiveFolder(tmp_path), pytest.raises(BlockingIOError, match="give each crawl a folder of its own"):
        ArchiveFolder(tmp_path)
    with ArchiveFolder(tmp_path):
        pass


KILLED = """
import os, signal, sys
sys.path[:0] = {path!r}
from test_archive_folder import fetched
from ndcore.files.archive_folder import ArchiveFolder
folder = ArchiveFolder(sys.argv[1])
for number in range(3):
    folder.write(fetched(number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_crawl_leaves_a_readable_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = KILLED.format(path=[str(Path(__file__).parent), str(Path(__file__).parents[1])])
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=False, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    [left] = tmp_path.glob("*.open")
    assert [fields["warc-type"] for fields, _ in records(tmp_path, "*.open")] == ["warcinfo", *["response", "request"] * 3]
    with left.open("ab") as file:
        file.write(gzip.compress(b"WARC/1.1\r\n" + os.urandom(500))[:400])
    with ArchiveFolder(tmp_path) as folder:
        assert folder.payloads == 3
        assert folder.write(fetched(1)).referred == "http://example.org/1"
    assert kinds(tmp_path) == ["warcinfo", *["response", "request"] * 3, "warcinfo", "revisit", "request"]
    assert "its last 400 bytes were an unfinished record and are cut off" in caplog.text


@pytest.mark.parametrize("end", [b"", b"\x1f\x8b"])
def test_a_file_without_a_whole_record_is_removed(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "crawl-1.warc.gz.open").write_bytes(end)
    with ArchiveFolder(tmp_path):
        assert not list(tmp_path.glob("crawl-1*"))


def test_a_file_that_would_replace_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz.open").write_bytes(gzip.compress(b"x"))
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(b"y"))
    with pytest.raises(FileExistsError, match="both there"):
        ArchiveFolder(tmp_path)
    (tmp_path / "a.warc.gz.open").unlink()
    with ArchiveFolder(tmp_path):  # the lock is free
        pass


def test_a_full_disk_leaves_whole_records_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a record fits: the file is as before, and writing goes on when there is room."""
    class Full:
        """A file on a disk with room for 100 bytes."""

        def __init__(self, file: Any) -> None:
            self._file, self._room = file, 100

        def write(self, data: Any) -> int:
            if not self._room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            part, self._room = self._room, 0
            return int(self._file.write(data[:part]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    with ArchiveFolder(tmp_path) as folder:
        folder.write(fetched(1))
        whole = folder._file
        monkeypatch.setattr(folder, "_file", Full(whole))
        with pytest.raises(OSError, match="No space left on device") as error:
            folder.write(fetched(2))
        assert str(tmp_path) in str(error.value.filename)
        monkeypatch.setattr(folder, "_file", whole)
        folder.write(fetched(3))
    assert kinds(tmp_path) == ["warcinfo", *["response", "request"] * 2]
    assert len((tmp_path / INDEX).read_text().splitlines()) == 2


def test_errors_of_closing_are_raised_and_the_folder_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ArchiveFolder(tmp_path)
    folder.write(fetched(1))

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(archive_folder.os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            folder.close()
    with ArchiveFolder(tmp_path) as again:
        assert again.payloads == 1


@pytest.mark.parametrize(("url", "key"), [
    ("http://www.Example.org/", "org,example,www)/"),
    ("https://example.org:443/A/b?x=1&a=2", "org,example)/A/b?x=1&a=2"),
    ("http://example.org:8080", "org,example:8080)/"),
])
def test_keys(url: str, key: str) -> None:
    assert make_key(url) == key


# ---- read by the tools of others; an environment of its own has them: warcio and cdxj-indexer


def tool(name: str) -> str:
    """Return the path of a command; the variable NDCORE_WARC_TOOLS may name the folder that has it."""
    found = shutil.which(name, path=os.environ.get("NDCORE_WARC_TOOLS")) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed, here or in the folder NDCORE_WARC_TOOLS")
    return found


def write_sample(folder: Path) -> None:
    with ArchiveFolder(folder) as written:
        for number in range(3):
            first = written.write(fetched(number))
        written.annotate(first, "http://example.org/2", [("verdict", "near")])
        written.write(fetched(7, html(words(1)), 9))


def test_warcio_checks_the_digests(tmp_path: Path) -> None:
    write_sample(tmp_path)
    [path] = tmp_path.glob("*.warc.gz")
    done = subprocess.run([tool("warcio"), "check", "-v", path], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("digest pass") == 9 and "fail" not in done.stdout  # warcio leaves out revisits


def test_an_indexer_finds_the_same_captures(tmp_path: Path) -> None:
    """cdxj-indexer has the offsets, lengths and digests of the index that the folder keeps."""
    write_sample(tmp_path)
    [path] = tmp_path.glob("*.warc.gz")
    done = subprocess.run([tool("cdxj-indexer"), path], check=True, capture_output=True, text=True)

    def parsed(text: str) -> list[tuple[str, dict[str, Any]]]:
        lines = [line.split(" ", 2) for line in text.splitlines()]
        return sorted(((stamp, json.loads(fields)) for _, stamp, fields in lines), key=lambda pair: int(pair[1]["offset"]))

    theirs, ours = parsed(done.stdout), parsed((tmp_path / INDEX).read_text())
    for (stamp, their), (own_stamp, own) in zip(theirs, ours, strict=True):
        assert stamp == own_stamp
        assert {name: re.sub("^sha1:", "", str(their[name])) for name in own if name != "status"} == {
            name: re.sub("^sha1:", "", value) for name, value in own.items() if name != "status"}
    [revisit] = [fields for _, fields in theirs if fields["mime"] == "warc/revisit"]
    assert revisit["url"] == "http://example.org/7"
    [referred] = [fields for _, fields in theirs if fields["digest"] == revisit["digest"] and fields is not revisit]
    assert referred["url"] == "http://example.org/1"
