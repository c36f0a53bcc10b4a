"""Archives as ndcore dedup writes them: kept records untouched, captures chosen, fields and options."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import pytest
from webarchives import (
    INFO,
    PACKED,
    REQUEST,
    dedup,
    everything,
    gz,
    html,
    http,
    read_entries,
    response,
    run,
    save,
    warc,
    words,
)

from ndcore.cli.main import main
from ndcore.files import rewritten_inputs, source_reader
from ndcore.files.document_fields import GroupingField, RankingField
from ndcore.files.web_archive import iterate_entries

pytest.importorskip("resiliparse", reason="the extra web is not installed")

RECORDS = [INFO, REQUEST, response(1), response(2), REQUEST, response(3, words(1)), response(4, status="404 Not Found")]
RECORDS.append(response(5, words(2).upper()))
KEPT = [0, 1, 2, 3, 4, 6]


def test_an_archive_is_gone_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    for module in (source_reader, rewritten_inputs):
        monkeypatch.setattr(
            module, "iterate_entries", lambda source: passes.append(source) or iterate_entries(source))
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(gz(data, 1) for data in RECORDS))
    kept, _ = dedup(tmp_path, str(path))
    assert kept == b"".join(gz(RECORDS[i], 1) for i in KEPT)
    assert len(passes) == 1


@pytest.mark.parametrize("compress", ["", "gz", "zst", "bz2", "xz"])
def test_kept_records_untouched(tmp_path: Path, compress: str) -> None:
    packed = PACKED[compress] if compress != "gz" else lambda data: gz(data, 1)
    path = tmp_path / f"a.warc{'.' if compress else ''}{compress}"
    path.write_bytes(b"".join(map(packed, RECORDS)))
    kept, summary = dedup(tmp_path, str(path))
    assert kept == b"".join(packed(RECORDS[i]) for i in KEPT)
    assert summary["counts"] | {"dropped_by_class": 0} == {
        "read": 4, "kept": 2, "dropped": 2, "rejected": 0, "dropped_by_class": 0
    }
    assert summary["records_not_documents"] == {"request": 2, "response, status 404": 1, "warcinfo": 1}
    assert summary["inputs"] == [
        {"name": path.name, "read": 4, "rejected": 0, "kept": 2, "dropped": 2,
         "records_not_documents": summary["records_not_documents"]}
    ]
    clusters = [json.loads(line) for line in (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()]
    assert [(line["id"], line["class"], line["representative"]) for line in clusters] == [
        ("http://example.org/3", "identical", "http://example.org/1"),
        ("http://example.org/5", "lexical", "http://example.org/2"),
    ]


def test_kept_of_a_single_member_is_compressed_by_records(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gz(b"".join(RECORDS)))
    kept, _ = dedup(tmp_path, str(path))
    assert gzip.decompress(kept) == b"".join(RECORDS[i] for i in KEPT)
    path.write_bytes(kept)
    assert [entry.span is None for entry in read_entries(str(path))] == [False] * len(KEPT)
    assert dedup(tmp_path, str(path))[0] == kept


def test_a_file_with_nothing_dropped_is_copied(tmp_path: Path) -> None:
    path = save(tmp_path / "a.warc.gz", [INFO, response(1), response(2)], "gz")
    assert dedup(tmp_path, path)[0] == Path(path).read_bytes()


def test_broken_records_are_left_out(tmp_path: Path) -> None:
    broken = warc("response", http(b"x"), "http://x.org/", 3, Content_Type="application/http")
    path = save(tmp_path / "a.warc", [INFO, response(1), broken, response(2), response(3, words(2))])
    kept, summary = dedup(tmp_path, path, "--on-error", "skip")
    assert kept == INFO + response(1) + response(2)
    assert summary["counts"]["rejected"] == 1
    assert [item["line"] for item in summary["rejected"]] == [3]
    assert main(["dedup", path, "-o", str(tmp_path / "new"), "-q"]) == 1


def test_newest_capture_of_each_page_and_groups(tmp_path: Path) -> None:
    def capture(host: str, day: int, number: int) -> bytes:
        content = http(html(words(number)))
        date = {"WARC-Date": f"2024-05-0{day}T10:00:00Z"}
        return warc("response", content, f"http://{host}/", Content_Type="application/http", **date)

    records = [capture("a.org", 1, 1), capture("a.org", 3, 1), capture("b.org", 2, 1), capture("b.org", 1, 2)]
    path = save(tmp_path / "a.warc", records)
    kept, summary = dedup(tmp_path, path, "--keep", "date:desc")
    assert kept == records[1] + records[3]
    assert summary["repeated_ids"] == 2
    assert dedup(tmp_path, path, "--by", "host")[0] == records[0] + records[2] + records[3]
    assert dedup(tmp_path, path, "--by", "url", "--keep", "date:asc")[0] == records[0] + records[2] + records[3]


def test_fields_that_archives_do_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "a.warc", [response(1)])
    assert run("dedup", path, "-o", tmp_path / "out", "--by", "lang") == 1
    assert "no field 'lang'; records of archives have url, host, date" in capsys.readouterr().err
    no_date = response(1).replace(b"WARC-Date: 2024", b"WARC-Date: soon")
    found = everything(save(tmp_path / "b.warc", [no_date]), keep=RankingField("date", True))
    assert [item.reason for item in found.rejected] == ["the record at byte 0: it has no date"]
    no_host = save(tmp_path / "c.warc", [response(1).replace(b"http://example", b"nowhere:")])
    found = everything(no_host, by=GroupingField("host"))
    assert [item.reason for item in found.rejected] == ["the record at byte 0: it has no host"]


def test_annotate_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dedup", save(tmp_path / "a.warc", [response(1)]), "-o", tmp_path / "out", "--annotate") == 2
    assert "has no place for an annotation" in capsys.readouterr().err


def test_sketch_against_and_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "a.warc.gz", RECORDS, "gz")
    assert run("sketch", path, "-o", tmp_path / "a.nds", "-q") == 0
    new = save(tmp_path / "new.warc", [response(7, words(1)), response(8)])
    assert dedup(tmp_path, new, "--against", str(tmp_path / "a.nds"))[0] == response(8)
    assert dedup(tmp_path, new, "--against", path)[0] == response(8)
    assert run("compare", f"{path}#http://example.org/1", f"{path}#http://example.org/3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "identical"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_streams(tmp_path: Path) -> None:
    import threading

    for name, compress in (("a.warc", ""), ("b.warc.gz", "gz")):
        original = save(tmp_path / f"original-{name}", RECORDS, compress)
        expected = dedup(tmp_path, original)[0]
        fifo = tmp_path / name
        os.mkfifo(fifo)
        writer = threading.Thread(target=fifo.write_bytes, args=(Path(original).read_bytes(),))
        writer.start()
        kept = dedup(tmp_path, str(fifo))[0]
        writer.join()
        assert kept == expected


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "a.warc", [response(1)])
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    assert run("dedup", path, "-o", tmp_path / "out") == 1
    assert "reading HTML needs resiliparse: pip install 'ndcore[web]'" in capsys.readouterr().err


def test_cluster_and_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "a.warc.gz", RECORDS, "gz")
    assert run("cluster", path, "-o", tmp_path / "collection", "-q") == 0
    capsys.readouterr()
    (tmp_path / "new.html").write_bytes(html(words(1)))
    assert run("query", tmp_path / "collection", tmp_path / "new.html", "--json") == 0
    found = {match["id"] for match in json.loads(capsys.readouterr().out)}
    assert found == {"http://example.org/1", "http://example.org/3"}


def test_one_capture_of_every_page(tmp_path: Path) -> None:
    """Check that captures with other texts are versions too, and go to the representative of the newest if it is dropped."""
    def capture(page: str, date: str, number: int) -> bytes:
        body = http(html(words(number)))
        return warc("response", body, f"http://{page}/", WARC_Date=f"{date}T00:00:00Z", Content_Type="application/http")

    captures = [capture("a", "2024-01-01", 1), capture("b", "2024-01-01", 2), capture("a", "2024-03-01", 3),
                capture("b", "2024-02-01", 4), capture("c", "2024-04-01", 4)]  # fmt: skip
    path = save(tmp_path / "a.warc", captures)
    kept, summary = dedup(tmp_path, path, "--one-per", "url", "--keep", "date:desc", "--report", tmp_path / "r.html")
    assert kept == captures[2] + captures[4]
    assert summary["counts"]["dropped_by_class"] == {"identical": 1, "lexical": 0, "shingle": 0, "near": 0, "version": 2}
    assert summary["parameters"]["one_per"] == "url"
    lines = [json.loads(line) for line in (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()]
    assert [(line["id"], line["class"], line["representative"], line["resemblance"]) for line in lines] == [
        ("http://a/", "version", "http://a/", None), ("http://b/", "version", "http://c/", None),
        ("http://b/", "identical", "http://c/", 1.0),
    ]
    assert "another document of the same label comes first" in (tmp_path / "r.html").read_text()
