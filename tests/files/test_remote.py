"""Inputs named by URLs: read through fsspec, listed, matched by patterns, refused where something is missing."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ndcore.cli.main import main
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.remote import has_ranges, read_remote_chunks
from ndcore.files.selection import Selection

fsspec = pytest.importorskip("fsspec")

ROWS = [{"id": f"r{i}", "text": f"some words of the document of number {i // 2} and of no other"} for i in range(6)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
KEPT = "".join(json.dumps(row) + "\n" for row in ROWS[::2]).encode()


@pytest.fixture
def store() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def dedup(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    assert main(["dedup", *map(str, arguments), "-o", str(tmp_path / "out"), "-q"]) == 0
    summary: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    return summary


@pytest.mark.parametrize(("name", "pack"), [("a.jsonl", bytes), ("a.jsonl.gz", gzip.compress), ("a.jsonl", gzip.compress)])
def test_a_file(tmp_path: Path, store: Any, name: str, pack: Any) -> None:
    store.pipe(f"/bucket/{name}", pack(LINES))
    assert dedup(tmp_path, f"memory://bucket/{name}")["counts"]["kept"] == 3
    kept = (tmp_path / "out" / "kept" / name).read_bytes()
    assert (kept if pack is bytes else gzip.decompress(kept)) == KEPT


def test_a_directory_with_all_kinds_of_files(tmp_path: Path, store: Any) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "p")
    files = {
        "a.jsonl": LINES, "deep/b.json": json.dumps(ROWS).encode(), "deep/c.parquet": (tmp_path / "p").read_bytes(),
        "d.txt": b"a text", "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0", ".hidden": b"x", "old/e.txt": b"old",
    }
    store.pipe({f"/data/{name}": data for name, data in files.items()})
    summary = dedup(tmp_path, "memory://data", "--exclude", "old/")
    assert (summary["counts"]["read"], summary["counts"]["kept"]) == (19, 4)
    assert {(item["path"], item["kind"]) for item in summary["ignored"]} == {
        ("memory:///data/picture.png", "PNG image"), ("memory:///data/.hidden", "hidden file")
    }
    assert summary["excluded"] == 1
    kept = tmp_path / "out" / "kept"
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*.*")) == [
        "data/a.jsonl", "data/d.txt", "data/deep/b.json", "data/deep/c.parquet"
    ]
    assert (kept / "data" / "a.jsonl").read_bytes() == KEPT


def test_patterns_and_names(tmp_path: Path, store: Any) -> None:
    for year in (2024, 2025):
        store.pipe(f"/crawl/{year}/a.jsonl", LINES)
        store.pipe(f"/crawl/{year}/b.csv", b"id,text\n1,x\n")
    found = find(["memory://crawl/*/a.jsonl"])
    assert [source.name for source in found.sources] == ["2024/a.jsonl", "2025/a.jsonl"]
    with FileDocuments(found) as documents:
        assert sum(map(len, documents.batches())) == sum(map(len, documents.batches())) == 12
    assert [source.name for source in find(["memory://crawl"], (), Selection(["*.csv"])).sources] == [
        "crawl/2024/b.csv", "crawl/2025/b.csv"
    ]


def test_files_of_the_file_protocol_and_sketches_and_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    (tmp_path / "a.txt").write_text(ROWS[0]["text"])
    url = f"file://{tmp_path}/a.jsonl"
    assert dedup(tmp_path, url)["counts"]["kept"] == 3
    assert main(["sketch", url, "-o", str(tmp_path / "s.nds"), "-q"]) == 0
    assert main(["cluster", url, "-o", str(tmp_path / "c.ndc"), "-q"]) == 0
    assert main(["query", str(tmp_path / "c.ndc"), f"file://{tmp_path}/a.txt"]) == 0
    assert "r0" in capsys.readouterr().out
    assert main(["dedup", url, "--against", url, "-o", str(tmp_path / "no")]) == 2
    assert "given twice" in capsys.readouterr().err


def test_refusals(tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store.pipe("/bucket/a.png", b"\x89PNG\r\n\x1a\n\0\0\0")
    for url, reason in (
        ("memory://bucket/none.jsonl", "no such file or directory"),
        ("memory://bucket/*.jsonl", "no file matches"),
        ("nothing://bucket/a.jsonl", "fsspec knows no protocol nothing"),
    ):
        with pytest.raises(DocumentError) as caught:
            find([url])
        assert caught.value.reason.startswith(reason), caught.value.reason
        assert caught.value.path == url
    with FileDocuments(["memory://bucket/a.png"]) as documents, pytest.raises(DocumentError, match="PNG image"):
        documents.scan()
    store.pipe("/bucket/x/../../escape.txt", b"x")
    if any(".." in name for name in store.find("/bucket")):
        with pytest.raises(UsageError, match="is not one of a file below"):
            find(["memory://bucket"])
    assert main(["dedup", "memory://bucket/a.png", "-o", "memory://bucket/out"]) == 2
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(DocumentError, match=r"needs fsspec: pip install 'ndcore\[remote\]'"):
        find(["memory://bucket/a.jsonl"])


@pytest.mark.parametrize("against", ["memory://q/a.jsonl", "memory:///q/a.jsonl", "memory://q", "memory://q/a.*"])
def test_inputs_of_two_groups_that_overlap_where_a_pattern_is_expanded(
    against: str, tmp_path: Path, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refuse them: every document would be dropped for itself."""
    store.pipe({"/q/a.jsonl": LINES, "/q/b.jsonl": LINES})
    assert main(["dedup", "memory://q/*.jsonl", "--against", against, "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "is given twice" in said or "lies inside the input" in said


def test_a_file_and_its_url_are_one_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    for url in (f"file://{tmp_path}/a.jsonl", f"file://{tmp_path}/*.jsonl", f"file://{tmp_path}"):
        assert main(["dedup", url, "--against", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert "is given twice" in said or "lies inside the input" in said


@pytest.mark.parametrize("error", [OSError(5, "the connection is gone"), OSError(28, "no room there"), KeyError("etag")])
@pytest.mark.parametrize("part", ["the file", "what describes it"])
def test_a_url_that_breaks_while_it_is_read(
    error: Exception, part: str, tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pa = pytest.importorskip("pyarrow")
    with pa.ipc.new_stream(tmp_path / "a", pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": [row["text"] for row in ROWS]}))
    store.pipe({"/b/data.arrow": (tmp_path / "a").read_bytes(), "/b/state.json": b"{}"})
    name, opened = "data.arrow" if part == "the file" else "state.json", type(store).open

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise error

    def breaking(self: Any, path: str, *how: Any, **options: Any) -> Any:
        return Broken() if path.endswith(name) else opened(self, path, *how, **options)

    monkeypatch.setattr(type(store), "open", breaking)
    before = sorted(tmp_path.iterdir())
    assert main(["dedup", "memory://b", "-o", str(tmp_path / "out"), "-q"]) == 1
    said = capsys.readouterr().err
    assert f"memory:///b/{name}: cannot be read: " in said
    assert str(error.args[-1]) in said
    assert "TMPDIR" not in said
    assert sorted(tmp_path.iterdir()) == before


def test_what_ndcore_wrote_is_no_input(tmp_path: Path, store: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    for command, place in (("dedup", "out"), ("cluster", "c.ndc")):
        assert main([command, str(tmp_path / "a.jsonl"), "-o", str(tmp_path / place), "-q"]) == 0
    store.put(f"{tmp_path}/", "/all/deep/", recursive=True)
    store.pipe({"/all/summary.json": json.dumps(ROWS).encode(), "/all/deep/out/kept/out2/summary.json": b'{"ndcore": 1}'})
    found = find(["memory://all"])
    assert [source.label for source in found.sources] == ["deep/a.jsonl", "summary.json"]
    assert [(item.path, item.kind) for item in found.ignored] == [
        ("memory:///all/deep/c.ndc", "collection of ndcore"), ("memory:///all/deep/out", "output of ndcore")]
    assert [item.path for item in find(["memory://all"], (), Selection(exclude=["out/"])).ignored] == [
        "memory:///all/deep/c.ndc"]
    capsys.readouterr()
    for place, said in (("out", "an output of ndcore, and no folder of documents; its documents are below kept/"),
                        ("c.ndc", "a collection of ndcore, and no folder of documents")):
        assert main(["dedup", f"memory://all/deep/{place}", "-o", str(tmp_path / "new")]) == 2
        assert said in capsys.readouterr().err
    assert [source.label for source in find(["memory://all/deep/out/kept"]).sources] == ["a.jsonl"]


def test_a_protocol_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(DocumentError, match=r"the protocol s3 needs a package that is not installed: .*s3fs"):
        find(["s3://bucket/a.jsonl"])


def test_what_is_printed_of_urls_can_be_compared(
    tmp_path: Path, store: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    store.pipe({"/bucket/a.jsonl": LINES, "/bucket/b.txt": ROWS[0]["text"].encode()})
    assert main(["dedup", "memory://bucket/a.jsonl", "memory://bucket/b.txt", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "2 dropped for memory://bucket/a.jsonl:1 (r0)" in said
    [line] = [line for line in said.splitlines() if line.startswith("Look at a pair with: ndcore compare ")]
    assert line.split()[-2:] == ["memory://bucket/a.jsonl:1", "memory://bucket/a.jsonl:2"]
    for pair in (line.split()[-2:], ["memory://bucket/a.jsonl#r0", "memory://bucket/b.txt"]):
        assert main(["compare", *pair, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == "identical"
    assert main(["compare", "memory://bucket/a.jsonl:99", "memory://bucket/b.txt"]) == 1
    assert "no document is at line, row or record 99" in capsys.readouterr().err
    assert main(["compare", "memory://bucket/none.jsonl:1", "memory://bucket/b.txt"]) == 1


def test_a_server_that_sends_no_parts_of_files() -> None:
    pytest.importorskip("aiohttp")
    content = bytes(range(256)) * (48 << 10)  # 12 MiB: fsspec asks for 6 at first

    class Whole(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Whole) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.jsonl"
        assert b"".join(read_remote_chunks(url, 1 << 20)) == content
        assert not has_ranges(url, len(content))
        server.shutdown()
