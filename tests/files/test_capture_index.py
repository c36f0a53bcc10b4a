"""CDX and CDXJ as input: which records they name, what is refused, and what is written back."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from webarchives import ARC_INFO, INFO, PACKED, REQUEST, arc, dedup, html, http, response, run, save, warc, words

from ndcore.cli.main import main
from ndcore.files.archive_records import _Window
from ndcore.files.capture_index import iterate_captures
from ndcore.files.discovery import find
from ndcore.files.document_fields import RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError

pytest.importorskip("resiliparse", reason="the extra web is not installed")


def sha1(payload: bytes) -> str:
    return base64.b32encode(hashlib.sha1(payload).digest()).decode()


REVISIT = warc("revisit", b"HTTP/1.1 200 OK\r\n\r\n", "http://example.org/1",
               Content_Type="application/http; msgtype=response", WARC_Payload_Digest=f"sha1:{sha1(html(words(1)))}")
ELEVEN = " CDX N b a m s k r M S V g"


def line_of(offset: int, length: int, filename: str = "a.warc.gz", number: int = 1, /, **more: Any) -> str:
    """Write a line of CDXJ as cdxj-indexer does."""
    fields = {"url": f"http://example.org/{number}", "mime": "text/html", "status": "200",
              "digest": sha1(html(words(number))), "length": str(length), "offset": str(offset), "filename": filename} | more
    kept = {name: value for name, value in fields.items() if value is not None}
    return f"org,example)/{number} 20240501100000 {json.dumps(kept)}\n"


def archive(folder: Path, records: list[bytes], name: str = "a.warc.gz") -> list[tuple[int, int]]:
    """Write an archive; return the offset and the length of each record."""
    compress = name.rpartition(".")[2] if name.endswith(("gz", "zst", "bz2", "xz")) else ""
    save(folder / name, records, compress)
    sizes = [len(PACKED[compress](record)) for record in records]
    return list(zip([0, *accumulate(sizes)][:-1], sizes, strict=True))


def read(path: Path, archives: str | None = None) -> FileDocuments:
    """Read the documents that an index names, twice, the broken ones skipped."""
    inputs = find([str(path)])
    inputs.find_archives_in(archives)
    with FileDocuments(inputs, on_error="skip") as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
    documents.found = first  # type: ignore[attr-defined]
    return documents


def refused(path: Path, archives: str | None = None) -> str:
    """Return the one reason for which a line is refused, and check that it names the line."""
    documents = read(path, archives)
    assert [(item.path, item.number) for item in documents.rejected] == [(str(path), 1)]
    assert len(documents) == 0
    return documents.rejected[0].reason


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.warc.zst", "a.warc.xz"])
@pytest.mark.parametrize("suffix", ["cdxj", "cdxj.gz", "cdx"])
def test_the_order_is_of_the_index_and_the_records_of_the_archive(tmp_path: Path, name: str, suffix: str) -> None:
    spans = archive(tmp_path, [INFO, response(1), REQUEST, response(2), REVISIT, response(3)], name)
    order = [(5, 3), (1, 1), (3, 2)]
    lines = "".join(line_of(*spans[place], name, number) for place, number in order)
    path = tmp_path / f"crawl.{suffix}"
    path.write_bytes(gzip.compress(lines.encode()) if suffix.endswith("gz") else lines.encode())
    documents = read(path)
    assert documents.found == [words(3), words(1), words(2)]  # type: ignore[attr-defined]
    assert list(documents.ids) == [f"http://example.org/{number}" for number in (3, 1, 2)]
    assert [documents.place(i).line for i in range(3)] == [1, 2, 3]
    assert {str(documents.place(i).date) for i in range(3)} == {"2024-05-01 10:00:00+00:00"}


@pytest.mark.parametrize("legend", [ELEVEN, " CDX N b a m s k r V g", " CDX g V b", "\tCDX\tN\tb\tS\tV\tg", ""])
def test_legends_of_cdx(tmp_path: Path, legend: str) -> None:
    """The fields are where the legend says; without one, eleven fields have their customary order."""
    spans = archive(tmp_path, [INFO, response(1), response(2)])
    letters = (legend or ELEVEN).split()[1:]
    lines = [f"{legend}\n"] if legend else []
    for number in (2, 1):
        offset, length = spans[number]
        known = {"N": f"org,example)/{number}", "b": "20240501100000", "a": f"http://example.org/{number}", "m": "text/html",
                 "s": "200", "k": sha1(html(words(number))), "S": str(length), "V": str(offset), "g": "a.warc.gz"}
        lines.append((legend[:1] or " ").join(known.get(letter, "-") for letter in letters) + "\n")
    (tmp_path / "a.cdx").write_text("".join(lines))
    assert read(tmp_path / "a.cdx").found == [words(2), words(1)]  # type: ignore[attr-defined]


def test_records_that_are_not_documents_are_counted_as_in_the_archive(tmp_path: Path) -> None:
    records = [INFO, REQUEST, REVISIT, warc("response", http(b"", status="301 Moved"), "http://example.org/1",
                                            Content_Type="application/http"), response(1)]
    spans = archive(tmp_path, records)
    lines = [line_of(*span, digest=None, url=None) for span in spans]
    (tmp_path / "a.cdxj").write_text("!OpenWayback-CDXJ 1.0\n" + "\n".join(lines))
    documents = read(tmp_path / "a.cdxj")
    assert documents.found == [words(1)]  # type: ignore[attr-defined]
    assert documents.kinds(0) == {"request": 1, "response, status 301": 1, "revisit": 1, "warcinfo": 1}
    assert documents.blank == 4


def test_offsets_of_decompressed_bytes(tmp_path: Path) -> None:
    """The field v of old indexes tells where a record is in a file that is not compressed, and only there."""
    plain = archive(tmp_path, [ARC_INFO, arc("http://example.org/1", http(html(words(1))))], "a.arc")
    packed = archive(tmp_path, [INFO, response(1)])
    legend = " CDX N b a v n g\n"
    (tmp_path / "a.cdx").write_text(f"{legend}k 20240501 http://example.org/1 {plain[1][0]} 99 a.arc\n")
    assert read(tmp_path / "a.cdx").found == [words(1)]  # type: ignore[attr-defined]
    (tmp_path / "b.cdx").write_text(f"{legend}k 20240501 http://example.org/1 {packed[1][0]} 99 a.warc.gz\n")
    assert "counts decompressed bytes" in read(tmp_path / "b.cdx").rejected[0].reason


@pytest.mark.parametrize(("change", "reason"), [
    ({"offset": None}, "it has no 'offset'"),
    ({"filename": None}, "it has no 'filename'"),
    ({"offset": "-1"}, "its offset is '-1', not a number of bytes"),
    ({"offset": "1e3"}, "its offset is '1e3', not a number of bytes"),
    ({"length": "9" * 19}, "not a number of bytes"),
    ({"offset": [1]}, "one of its values is an array, not a string or a whole number"),
    ({"offset": "99999999"}, "bytes, and by the index it ends at byte"),
    ({"length": "99999999"}, "bytes, and by the index it ends at byte"),
    ({"length": "0"}, "no WARC record begins here (the index says that it has 0 bytes)"),
    ({"length": "60"}, "the gzip data are truncated (the index says that it has 60 bytes)"),
    ({"offset": "3"}, "the gzip data are not valid"),
    ({"filename": "b.warc.gz"}, "its file is not in"),
    ({"filename": "a\0.warc.gz"}, "its file is not in"),
    ({"digest": sha1(b"another")}, f"it has another digest than the index says, '{sha1(b'another')}'"),
    ({"digest": "md5:" + hashlib.md5(b"another").hexdigest()}, "it has another digest than the index says"),
    ({"digest": "crc32:12345678"}, "its digest 'crc32:12345678' cannot be compared"),
    ({"digest": None, "url": "http://example.org/2"}, "it is of http://example.org/1, and the index says http://example.org/2"),
])
def test_lines_that_do_not_agree_with_the_archive(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    spans = archive(tmp_path, [INFO, response(1)])
    (tmp_path / "a.cdxj").write_text(line_of(*spans[1], **change))
    assert reason in refused(tmp_path / "a.cdxj")


@pytest.mark.parametrize(("line", "reason"), [
    (b"org,example)/ 20240501100000 {oops\n", "its third part is not an object of JSON"),
    (b"org,example)/ yesterday {\"filename\": \"a\", \"offset\": 1}\n", "its timestamp is 'yesterday'"),
    (b"org,example)/ 20240501 http://example.org/ text/html 200 AAAA 99\n", "a CDX server answers, and names no file"),
    (b"one two three\n", "neither CDX nor CDXJ: it has 3 fields, and without a legend there are 11, 10 or 9"),
    (b" CDX N b a\n", "the legend 'N b a' does not name the file and the offset of a record"),
    (b"a\xff b c\n", "not UTF-8"),
])
def test_lines_that_are_no_index(tmp_path: Path, line: bytes, reason: str) -> None:
    (tmp_path / "a.cdx").write_bytes(line)
    assert reason in refused(tmp_path / "a.cdx")


@pytest.mark.parametrize("how", ["sha1 of chunks", "sha1 without chunks", "sha256 in hex", "stated by the record"])
def test_digests_of_a_payload(tmp_path: Path, how: str) -> None:
    """Crawlers digest what they received, or the entity without chunks; a record may state its digest."""
    body = html(words(1))
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    digest = {"sha1 of chunks": sha1(chunked), "sha1 without chunks": f"sha1:{sha1(body)}",
              "stated by the record": "sha1:" + "A" * 32,
              "sha256 in hex": "sha256:" + hashlib.sha256(body).hexdigest()}[how]
    stated = {"WARC_Payload_Digest": "sha1:" + "A" * 32} if how == "stated by the record" else {}
    record = warc("response", http(chunked, Transfer_Encoding="chunked"), "http://example.org/1",
                  Content_Type="application/http", **stated)
    (tmp_path / "a.cdxj").write_text(line_of(*archive(tmp_path, [record])[0], digest=digest))
    assert read(tmp_path / "a.cdxj").found == [words(1)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["../a.warc.gz", "/etc/../{folder}/a.warc.gz", "{folder}/a.warc.gz", "in/../../a.warc.gz",
                                  "s3://bucket/a.warc.gz", "..\\a.warc.gz"])
def test_names_that_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """They are refused, although the file is there; with --archives the last part is looked up in the named folder."""
    spans = archive(tmp_path, [INFO, response(1)])
    (tmp_path / "in").mkdir()
    index = tmp_path / "in" / "a.cdxj"
    index.write_text(line_of(*spans[1], filename=name.format(folder=tmp_path)))
    assert "lies outside of the folder of the index" in refused(index)
    assert read(index, str(tmp_path)).found == [words(1)]  # type: ignore[attr-defined]


def test_files_are_looked_up_below_the_folder_and_in_it(tmp_path: Path) -> None:
    (tmp_path / "segments" / "warc").mkdir(parents=True)
    spans = archive(tmp_path / "segments" / "warc", [response(1)], "a.warc.gz")
    archive(tmp_path, [response(1)], "b.warc.gz")
    names = ["segments/warc/a.warc.gz", "crawl/segments/b.warc.gz"]
    (tmp_path / "a.cdxj").write_text("".join(line_of(*spans[0], filename=name) for name in names))
    assert read(tmp_path / "a.cdxj").found == [words(1)] * 2  # type: ignore[attr-defined]


def test_links_to_files_are_followed_and_links_to_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    spans = archive(tmp_path / "far", [response(1)])
    (tmp_path / "near" / "a.warc.gz").symlink_to("../far/a.warc.gz")
    (tmp_path / "near" / "b").symlink_to("../far")
    index = tmp_path / "near" / "a.cdxj"
    index.write_text(line_of(*spans[0]))
    assert read(index).found == [words(1)]  # type: ignore[attr-defined]
    index.write_text(line_of(*spans[0], filename="b/a.warc.gz"))
    (tmp_path / "near" / "a.warc.gz").unlink()
    assert "behind a link to a folder outside" in refused(index)


def test_many_files_are_open_one_after_another(tmp_path: Path) -> None:
    lines = []
    for number in range(40):
        spans = archive(tmp_path, [response(number)], f"{number}.warc.gz")
        lines.append(line_of(*spans[0], f"{number}.warc.gz", number))
    (tmp_path / "a.cdxj").write_text("".join(lines * 2))
    assert read(tmp_path / "a.cdxj").found == [words(number) for number in range(40)] * 2  # type: ignore[attr-defined]
    descriptors = Path("/proc/self/fd")
    if descriptors.exists():
        before = len(list(descriptors.iterdir()))
        entries = iterate_captures(find([str(tmp_path / "a.cdxj")]).sources[0])
        assert max(len(list(descriptors.iterdir())) for _ in entries) <= before + 18


def test_a_line_without_length_reads_its_record_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that claims the rest of the file is not read to its end, so that lines cannot multiply the work."""
    liar = warc("response", b"", "http://example.org/9", length=1 << 40)
    archive(tmp_path, [liar + b"\0" * (4 << 20)], "a.warc")
    (tmp_path / "a.cdx").write_text(" CDX b V g\n" + "20240501 0 a.warc\n" * 3 + "20240501 7 a.warc\n" * 3)
    read_bytes, original = 0, _Window.readinto

    def counting(self: _Window, target: Any) -> int:
        nonlocal read_bytes
        count = original(self, target)
        read_bytes += count
        return count

    monkeypatch.setattr(_Window, "readinto", counting)
    inputs = find([str(tmp_path / "a.cdx")])
    assert len(list(iterate_captures(inputs.sources[0]))) == 6
    assert read_bytes < 6 << 20 >> 2


def test_kept_lines_are_untouched(tmp_path: Path) -> None:
    """The kept index has the legend, lines that are not documents, and one line of two copies."""
    records = [response(1), REVISIT, response(1), response(2)]
    spans = archive(tmp_path, records)
    lines = [line_of(*spans[i], "a.warc.gz", number) for i, number in enumerate([1, 1, 1, 2])]
    (tmp_path / "a.cdxj").write_text("!meta\n" + "".join(lines))
    kept, summary = dedup(tmp_path, str(tmp_path / "a.cdxj"))
    assert kept.decode() == "!meta\n" + lines[0] + lines[1] + lines[3]
    assert summary["records_not_documents"] == {"revisit": 1}
    assert summary["inputs"][0]["records_not_documents"] == {"revisit": 1}


def test_rejected_lines_are_written_apart(tmp_path: Path) -> None:
    spans = archive(tmp_path, [response(1), response(2)])
    lines = [line_of(*spans[0]), line_of(*spans[1], "missing.warc.gz", 2)]
    (tmp_path / "a.cdxj").write_text("".join(lines))
    kept, summary = dedup(tmp_path, str(tmp_path / "a.cdxj"), "--on-error", "skip")
    assert kept.decode() == lines[0]
    assert (tmp_path / "out" / "rejected" / "a.cdxj").read_text() == lines[1]
    assert summary["rejected"][0]["line"] == 2


def test_the_first_error_ends_the_run_and_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = archive(tmp_path, [response(1)])
    path = tmp_path / "a.cdxj"
    path.write_text(line_of(*spans[0]) + line_of(*spans[0], "missing.warc.gz"))
    assert run("dedup", path, "-o", tmp_path / "out") == 1
    assert f"{path}:2: the record at byte 0 of missing.warc.gz: its file is not in {tmp_path}" in capsys.readouterr().err


def test_in_a_folder_the_archives_are_read_and_not_the_index(tmp_path: Path) -> None:
    spans = archive(tmp_path, [response(1)])
    (tmp_path / "a.cdxj").write_text(line_of(*spans[0]))
    (tmp_path / "index").write_text(line_of(*spans[0]))  # known by its first bytes
    documents = read(tmp_path)
    assert documents.found == [words(1)]  # type: ignore[attr-defined]
    assert [(Path(item.path).name, item.kind) for item in documents.ignored] == [
        ("a.cdxj", "index of web archives"), ("index", "index of web archives")]


def test_standard_input_needs_the_folder(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    spans = archive(tmp_path, [response(1)])
    line = line_of(*spans[0])
    for archives, code in (([], 1), (["--archives", str(tmp_path)], 0)):
        reader, writer = os.pipe()
        os.write(writer, line.encode())
        os.close(writer)
        with os.fdopen(reader, "r") as stream:
            monkeypatch.setattr("sys.stdin", stream)
            assert main(["dedup", "-", "-o", "-", "-q", *archives]) == code
        out, err = capsysbinary.readouterr()
        assert (words(1).encode() in out) == (code == 0)
        assert code == 0 or b"needs --archives DIR" in err


def test_one_capture_by_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = archive(tmp_path, [response(1), response(2)])
    (tmp_path / "in").mkdir()
    index = tmp_path / "in" / "a.cdxj"
    index.write_text(line_of(*spans[1], "a.warc.gz", 2) + line_of(*spans[0]))
    assert run("compare", f"{index}:1", f"{index}:2", "--json", "--archives", tmp_path) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "different"
    with pytest.raises(SystemExit):
        run("compare", f"{index}:1", f"{index}:2", "--archives", tmp_path / "nowhere")
    assert "is not a folder" in capsys.readouterr().err


def test_a_sweep_takes_the_dates_of_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = archive(tmp_path, [response(1), response(1)])
    (tmp_path / "a.cdxj").write_text("".join(line_of(*span) for span in spans))
    assert run("store", "create", tmp_path / "store", "-q") == 0
    assert run("store", "decide", tmp_path / "store", tmp_path / "a.cdxj", "-o", "-", "-q") == 0
    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["key"], each["version"], each["date"][:10]) for each in verdicts] == [
        ("http://example.org/1", None, "2024-05-01"), ("http://example.org/1", "unchanged", "2024-05-01")]


def test_an_index_that_cannot_be_annotated_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.cdxj").write_text(line_of(*archive(tmp_path, [response(1)])[0]))
    assert run("dedup", tmp_path / "a.cdxj", "-o", tmp_path / "out", "--annotate") == 2
    assert "has no place for an annotation" in capsys.readouterr().err


def test_fields_of_archives(tmp_path: Path) -> None:
    spans = archive(tmp_path, [response(1), response(1), response(2)])
    lines = [line_of(*spans[0]), line_of(*spans[1]), line_of(*spans[2], "a.warc.gz", 2)]
    (tmp_path / "a.cdxj").write_text("".join(lines))
    kept, _ = dedup(tmp_path, str(tmp_path / "a.cdxj"), "--one-per", "url", "--by", "host")
    assert kept.decode() == lines[0] + lines[2]
    inputs = find([str(tmp_path / "a.cdxj")])
    documents = FileDocuments(inputs, keep=RankingField("title", True))
    with documents, pytest.raises(DocumentError, match="no field 'title'"):
        documents.scan()
