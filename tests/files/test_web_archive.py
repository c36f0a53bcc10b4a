"""Web archives: framing, payloads, what is no document, what is broken, and what ndcore dedup writes of them."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import shutil
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webarchives import INFO, PACKED, REQUEST, _zstd, arc, gz, html, http, response, save, warc, words

from ndcore.cli.main import main
from ndcore.files.discovery import find
from ndcore.files.document_fields import Grouping, Ranking
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError
from ndcore.files.formats import of_name
from ndcore.files.web_archive import Entry, entries

pytest.importorskip("fastwarc", reason="the extra web is not installed")


ARC_INFO = arc("filedesc://t.arc", b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n", "text/plain")


def everything(path: str, **options: Any) -> Documents:
    """The documents of a file, read twice: the same each time."""
    with Documents([path], on_error="skip", **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
    documents.found = first  # type: ignore[attr-defined]
    return documents


def texts(path: str, **options: Any) -> list[str | bytes]:
    found: list[str | bytes] = everything(path, **options).found  # type: ignore[attr-defined]
    return found


def read_entries(path: str, **options: Any) -> list[Entry]:
    return list(entries(find([path]).sources[0], **options))


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


# ---- formats


@pytest.mark.parametrize("compress", ["", "gz", "zst", "bz2", "xz"])
def test_warc_in_every_compression(tmp_path: Path, compress: str) -> None:
    records = [INFO, REQUEST, *map(response, range(200)), response(1)]
    path = save(tmp_path / f"a.warc{'.' if compress else ''}{compress}", records, compress)
    found = everything(path)
    assert found.found == [*map(words, range(200)), words(1)]  # type: ignore[attr-defined]
    assert list(found.ids) == [f"http://example.org/{i}" for i in [*range(200), 1]]
    assert found.kinds(0) == {"request": 1, "warcinfo": 1}
    spans = [entry.span for entry in read_entries(path)]
    assert [Path(path).read_bytes()[span[0] : span[1]] for span in spans if span] == [
        PACKED[compress](record) for record in records
    ]


@pytest.mark.parametrize("suffix", ["warc", "wet", "arc", "WARC", "warc.gz", "wet.gz", "arc.gz", "warc.zst"])
def test_suffixes(suffix: str) -> None:
    assert of_name(f"a.{suffix}") == ("archive", suffix.partition(".")[2])


def test_one_member_for_all_records(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gz(INFO + response(1) + response(2)))
    assert texts(str(path)) == [words(1), words(2)]
    assert [entry.span for entry in read_entries(str(path))] == [None] * 3
    data = INFO + response(1) + response(2)
    path.write_bytes(gz(data[:1000]) + gz(data[1000:]))
    assert texts(str(path)) == [words(1), words(2)]


def test_zstd_with_a_dictionary(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    dictionary = zstandard.train_dictionary(4096, [response(i) for i in range(500)])
    compressor = zstandard.ZstdCompressor(dict_data=dictionary)
    for stored in (dictionary.as_bytes(), zstandard.ZstdCompressor().compress(dictionary.as_bytes())):
        skippable = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
        path = tmp_path / "a.warc.zst"
        path.write_bytes(skippable + b"".join(map(compressor.compress, [INFO, response(1), response(2), response(1)])))
        assert texts(str(path)) == [words(1), words(2), words(1)]
        assert run("dedup", path, "-o", tmp_path / "out", "-q", "--overwrite") == 0
        kept = tmp_path / "out" / "kept" / "a.warc.zst"
        assert kept.read_bytes() == path.read_bytes()[: -len(compressor.compress(response(1)))]
        assert texts(str(kept)) == [words(1), words(2)]


def test_wet(tmp_path: Path) -> None:
    record = warc("conversion", "déjà vu\n".encode(), "http://example.org/a", Content_Type="text/plain")
    assert texts(save(tmp_path / "a.warc.wet.gz", [INFO, record], "gz")) == ["déjà vu\n".encode()]


@pytest.mark.parametrize("compress", ["", "gz"])
def test_arc(tmp_path: Path, compress: str) -> None:
    first, dns = arc("http://example.org/1", http(html("first"))), arc("dns:example.org", b"1.2.3.4", "text/dns")
    second = b"http://example.org/a b 127.0.0.1 20010203040506 text/plain 200 checksum - 900 file.arc 6\nsecond\n"
    records = [ARC_INFO, first, second, dns]
    path = save(tmp_path / f"a.arc{'.gz' if compress else ''}", records, compress)
    keep = Ranking("date", True)
    found = everything(path, keep=keep)
    assert found.found == ["first", b"second"]  # type: ignore[attr-defined]
    assert list(found.ids) == ["http://example.org/1", "http://example.org/a b"]
    assert found.kinds(0) == {"dns": 1, "warcinfo": 1}
    assert keep._values[0] == datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)


def test_line_feeds_alone_and_folded_headers(tmp_path: Path) -> None:
    content = http(html("a b c")).replace(b"\r\n", b"\n").replace(b"; charset", b";\n charset")
    record = warc("RESPONSE", content, "http://example.org/", end=b"\n", Content_Type="application/http")
    assert texts(save(tmp_path / "a.warc", [record, record])) == ["a b c", "a b c"]


def test_an_empty_file_has_no_documents(tmp_path: Path) -> None:
    for name in ("a.warc", "a.arc", "a.warc.gz"):
        (tmp_path / name).write_bytes(b"")
        found = everything(str(tmp_path / name))
        assert (found.read, found.rejected) == (0, [])


def test_ids_of_wget_and_records_without_url(tmp_path: Path) -> None:
    one = warc("resource", b"one", "<http://example.org/>", Content_Type="text/plain")
    two = warc("resource", b"two", Content_Type="text/plain")
    three = warc("resource", b"log", "metadata://gnu.org/software/wget/warc/wget.log", Content_Type="text/plain")
    found = everything(save(tmp_path / "a.warc", [one, two, three]))
    assert list(found.ids) == ["http://example.org/", "a.warc:2"]
    assert found.kinds(0) == {"resource of the crawler": 1}


# ---- payloads


def chunked(body: bytes) -> bytes:
    return b"5\r\n" + body[:5] + b"\r\n" + f"{len(body) - 5:x};x=y\r\n".encode() + body[5:] + b"\r\n0\r\n\r\n"


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


CODINGS: dict[str, Any] = {
    "gzip": gz,
    "x-gzip": gz,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": lambda data: pytest.importorskip("brotli").compress(data),
    "zstd": _zstd,
    "identity": bytes,
    "gzip, deflate": lambda data: zlib.compress(gz(data)),
}


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("coding", CODINGS)
def test_codings(tmp_path: Path, coding: str, transfer: bool) -> None:
    body = CODINGS[coding](html(words(1)))
    headers = {"Content-Encoding": coding} | ({"Transfer-Encoding": "chunked"} if transfer else {})
    content = http(chunked(body) if transfer else body, **headers)
    path = save(tmp_path / "a.warc", [warc("response", content, "http://example.org/", Content_Type="application/http")])
    found = everything(path)
    assert found.found == [words(1)]  # type: ignore[attr-defined]
    assert found.decoded_already == 0


@pytest.mark.parametrize("headers", [{"Content-Encoding": name} for name in ("gzip", "br", "deflate", "zstd")]
                         + [{"Transfer-Encoding": "chunked"}])
def test_payloads_that_were_decoded_already(tmp_path: Path, headers: dict[str, str]) -> None:
    found = everything(save(tmp_path / "a.warc", [response(1, **headers), response(2)]))
    assert found.found == [words(1), words(2)]  # type: ignore[attr-defined]
    assert found.decoded_already == 1


DAMAGED_PAYLOADS: dict[str, tuple[bytes, dict[str, str]]] = {
    "its gzip coding is damaged": (gz(html(words(1)))[:-12], {"Content-Encoding": "gzip"}),
    "its zstd coding is damaged": (b"\x28\xb5\x2f\xfd12345", {"Content-Encoding": "zstd"}),
    "its br coding is damaged": (b"\xff\xff\xff\xff", {"Content-Encoding": "br"}),
    "its deflate coding is damaged": (zlib.compress(html(words(1)))[:-12], {"Content-Encoding": "deflate"}),
    "its chunked coding is damaged": (chunked(html(words(1)))[:-20], {"Transfer-Encoding": "chunked"}),
    "its coding 'compress' is not one of chunked, gzip": (b"abc", {"Content-Encoding": "compress"}),
}


@pytest.mark.parametrize("reason", DAMAGED_PAYLOADS)
def test_payloads_that_cannot_be_decoded(tmp_path: Path, reason: str) -> None:
    if "zstd" in reason:
        pytest.importorskip("zstandard")
    body, headers = DAMAGED_PAYLOADS[reason]
    broken = warc("response", http(body, **headers), "http://example.org/", Content_Type="application/http")
    found = everything(save(tmp_path / "a.warc", [INFO, broken, response(2)]))
    assert found.found == [words(2)]  # type: ignore[attr-defined]
    [rejected] = found.rejected
    assert rejected.number == 2
    assert rejected.reason.startswith(f"the record at byte {len(INFO):,}: {reason}")


def test_a_payload_that_the_crawler_cut_short(tmp_path: Path) -> None:
    body = gz(html(" ".join(map(words, range(3000)))))
    content = http(body[: len(body) // 2], **{"Content-Encoding": "gzip"})
    for cut in (True, False):
        headers = {"WARC-Truncated": "length"} if cut else {}
        record = warc("response", content, "http://example.org/", Content_Type="application/http", **headers)
        found = texts(save(tmp_path / "a.warc", [record]))
        assert [str(text)[: len(words(0))] for text in found] == [words(0)] * cut


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (response(1, status="301 Moved"), "response, status 301"),
        (response(1, status="404 Not Found"), "response, status 404"),
        (response(1, media="image/png"), "response, image/png"),
        (response(1, media="text/css"), "response, text/css"),
        (response(1, media="\x07"), "response, no media type"),
        (warc("resource", b"%PDF", "http://x.org/", Content_Type="application/pdf"), "resource, application/pdf"),
        (warc("resource", b"x", "dns:x.org", Content_Type="text/dns"), "dns"),
        (warc("revisit", b"", "http://x.org/"), "revisit"),
        (warc("metadata", b"", "http://x.org/"), "metadata"),
        (warc("continuation", b"", "http://x.org/"), "continuation"),
        (warc("\x07", b""), "of an unknown type"),
    ],
)
def test_records_that_are_no_documents(tmp_path: Path, record: bytes, kind: str) -> None:
    found = everything(save(tmp_path / "a.warc", [record]))
    assert (found.found, found.rejected, found.kinds(0)) == ([], [], {kind: 1})  # type: ignore[attr-defined]


def test_media_type_that_the_crawler_identified(tmp_path: Path) -> None:
    content = b"HTTP/1.1 200 OK\r\n\r\n" + html("text")
    headers = {"WARC-Identified-Payload-Type": "text/html"}
    record = warc("response", content, "http://x.org/", Content_Type="application/http", **headers)
    assert texts(save(tmp_path / "a.warc", [record])) == ["text"]


def test_charsets(tmp_path: Path) -> None:
    def record(media: str, body: bytes) -> bytes:
        return warc("response", http(body, media), "http://x.org/", Content_Type="application/http")

    records = [
        record("text/html; charset=windows-1251", "<p>привет".encode("cp1251")),
        record("text/html", '<meta charset="shift_jis"><p>日本'.encode("cp932")),
        record('text/plain; charset="iso-8859-1"', "naïve".encode("latin-1")),
        record("text/plain", "naïve".encode()),
        record("text/html; charset=latin1", b"\xef\xbb\xbf" + "<p>naïve".encode()),
        record("text/html; charset=nonsense", "<p>naïve".encode()),
    ]
    found = texts(save(tmp_path / "a.warc", records))
    assert found == ["привет", "日本", "naïve", "naïve".encode(), "naïve", "naïve"]


def test_main_content(tmp_path: Path) -> None:
    page = "<body><nav><ul><li><a href='/'>menu</a></ul></nav><main><p>" + words(1) + "</p></main></body>"
    path = save(tmp_path / "a.warc", [response(1, page)])
    assert "menu" in str(texts(path)[0])
    assert texts(path, html="main") == [words(1)]


# ---- what is broken


def rejections(path: str) -> list[tuple[int | None, str]]:
    return [(item.number, item.reason) for item in everything(path).rejected]


@pytest.mark.parametrize("compress", ["", "gz"])
@pytest.mark.parametrize(("length", "reason"), [
    (10, "its length is 10 bytes, but no record begins there"),
    (700, "its length is 700 bytes, but no record begins there"),
    (10**6, "its length is 1,000,000 bytes, but the file ends after"),
])
def test_wrong_lengths_cost_one_record(tmp_path: Path, length: int, reason: str, compress: str) -> None:
    wrong = warc("response", http(html(words(1))), "http://x.org/", length, Content_Type="application/http")
    path = save(tmp_path / f"a.warc{'.gz' if compress else ''}", [INFO, wrong, response(2), response(3)], compress)
    assert texts(path) == [words(2), words(3)]
    [(number, said)] = rejections(path)
    offset = len(gz(INFO) if compress else INFO)
    assert number == 2
    assert said.startswith(f"the record at byte {offset:,}: {reason}")


@pytest.mark.parametrize("length", ["", "-1", "abc", "1e3", "9" * 30])
def test_lengths_that_are_no_numbers(tmp_path: Path, length: str) -> None:
    broken = response(1).replace(b"Content-Length: ", f"Content-Length: {length}\r\nX: ".encode(), 1)
    path = save(tmp_path / "a.warc", [broken, response(2)])
    assert texts(path) == [words(2)]
    assert rejections(path)[0][1].startswith("the record at byte 0: its Content-Length is ")
    broken = arc("http://x.org/", b"x", length=length or "-")
    path = save(tmp_path / "a.arc", [ARC_INFO, broken, arc("http://x.org/", http(html("b")))])
    assert texts(path) == ["b"]
    assert rejections(path)[0][1].startswith(f"the record at byte {len(ARC_INFO):,}: its length is ")


def test_every_truncation_of_a_file(tmp_path: Path) -> None:
    """What is whole is read; what is cut is one rejected record; a cut between records cannot be seen."""
    records = [INFO, response(1), response(2)]
    for name, packed in (("a.warc", bytes), ("a.warc.gz", gz)):
        parts = [packed(record) for record in records]
        data = b"".join(parts)
        ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts))]
        for cut in range(1, len(data)):
            (tmp_path / name).write_bytes(data[:cut])
            with Documents([str(tmp_path / name)], on_error="skip") as documents:
                found = [text for batch in documents.batches() for text in batch]
                whole = [words(i) for i in (1, 2) if cut >= ends[i] - 4 * (packed is bytes)]
                slack = packed is gz and any(0 < end - cut < 16 for end in ends)  # only the trailer is missing
                assert found == whole or slack
                assert len(documents.rejected) <= 1
                if cut not in ends and not slack and not any(0 < end - cut <= 4 for end in ends):
                    assert len(documents.rejected) == 1


def test_damaged_members_cost_their_records(tmp_path: Path) -> None:
    members = [gz(record) for record in [INFO, *map(response, range(6))]]
    broken = bytearray(members[3])
    broken[40:60] = b"\xff" * 20
    members[3] = bytes(broken)
    members[5] = members[5][:50]  # a crawler that crashed, and went on in the same file
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(members))
    assert texts(str(path)) == [words(i) for i in (0, 1, 3, 5)]
    offsets = [sum(map(len, members[:i])) for i in (3, 5)]
    for (_, reason), offset in zip(rejections(str(path)), offsets, strict=True):
        assert reason.startswith(f"the record at byte {offset:,}: the gzip data are not valid")


def test_damage_in_a_single_member_ends_the_file(tmp_path: Path) -> None:
    expected = {words(i) for i in range(2000)}
    data = bytearray(gz(b"".join(map(response, range(2000)))))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    found = everything(str(path))
    sound = [text for text in found.found if text in expected]  # type: ignore[attr-defined]
    assert 500 < len(sound) < 1500
    assert "the gzip data are" in found.rejected[-1].reason


def test_checksums_of_members_count(tmp_path: Path) -> None:
    members = [gz(record) for record in [INFO, response(1), response(2)]]
    members[1] = members[1][:-8] + b"\1\2\3\4" + members[1][-4:]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"".join(members))
    assert texts(str(path)) == [words(2)]
    [(number, reason)] = rejections(str(path))
    assert number == 2
    assert "incorrect data check" in reason


@pytest.mark.parametrize("name", ["a.warc", "a.arc", "a.warc.gz", "a.arc.gz", "a.warc.zst"])
@pytest.mark.parametrize("data", [b"no archive", b"\0" * 5000, b"<html>" * 30000, b"\x1f\x8b\x08broken", b"\r\n\r\n!"])
def test_files_that_are_no_archives(tmp_path: Path, name: str, data: bytes) -> None:
    if name.endswith("zst"):
        pytest.importorskip("zstandard")
    (tmp_path / name).write_bytes(data)
    found = everything(str(tmp_path / name))
    assert found.found == []  # type: ignore[attr-defined]
    assert len(found.rejected) == 1
    assert main(["dedup", str(tmp_path / name), "-o", str(tmp_path / "out"), "--on-error", "skip"]) == 1
    with Documents([str(tmp_path / name)]) as documents, pytest.raises(DocumentError):
        documents.scan()


def test_records_longer_than_what_is_held(tmp_path: Path) -> None:
    big = warc("response", http(b"\0" * 300_000, "video/mp4"), "http://x.org/", Content_Type="application/http")
    for name, packed in (("a.warc", bytes), ("a.warc.gz", gz)):
        path = save(tmp_path / name, [INFO, big, response(2)], "gz" * (packed is gz))
        found = read_entries(path, longest=100_000)
        assert [len(entry.content) for entry in found] == [17, 100_000, len(found[2].content)]
        assert [entry.problem for entry in found] == [None] * 3
        span = found[1].span
        assert span is not None
        assert Path(path).read_bytes()[slice(*span)] == packed(big)
        (tmp_path / name).write_bytes(packed(INFO) + packed(big)[:-200])
        assert [entry.problem is None for entry in read_entries(path, longest=100_000)] == [True, False]


@settings(max_examples=100)
@given(data=st.data(), compressed=st.booleans(), as_arc=st.booleans())
def test_any_damage_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, data: Any, compressed: bool, as_arc: bool
) -> None:
    """Never an exception, and every record is read, rejected or counted, or lies behind something rejected."""
    if as_arc:
        records = [ARC_INFO, *(arc(f"http://x.org/{i}", http(html(words(i)))) for i in range(5))]
    else:
        records = [INFO, *map(response, range(5))]
    whole = bytearray(b"".join(map(gz if compressed else bytes, records)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        junk = data.draw(st.binary(max_size=20))
        whole[at : at + data.draw(st.integers(0, 30))] = junk
    path = tmp_path_factory.mktemp("any") / f"a.{'arc' if as_arc else 'warc'}{'.gz' if compressed else ''}"
    path.write_bytes(whole)
    found = everything(str(path))
    others = sum(found.kinds(0).values())
    assert len(found.ids) + others >= 6 or found.rejected
    out = path.parent / "out"
    if len(found.ids):
        assert run("dedup", path, "-o", out, "-q", "--on-error", "skip") == 0
        summary = json.loads((out / "summary.json").read_text())
        again = everything(str(out / "kept" / path.name))
        assert len(again.ids) == summary["counts"]["kept"]
        assert again.rejected == []


# ---- what is written


def dedup(tmp_path: Path, path: str, *options: str) -> tuple[bytes, dict[str, Any]]:
    out = tmp_path / "out"
    assert run("dedup", path, "-o", out, "-q", "--overwrite", *options) == 0
    return (out / "kept" / Path(path).name).read_bytes(), json.loads((out / "summary.json").read_text())


RECORDS = [INFO, REQUEST, response(1), response(2), REQUEST, response(3, words(1)), response(4, status="404 Not Found")]
RECORDS.append(response(5, words(2).upper()))
KEPT = [0, 1, 2, 3, 4, 6]


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
    found = everything(save(tmp_path / "b.warc", [no_date]), keep=Ranking("date", True))
    assert [item.reason for item in found.rejected] == ["the record at byte 0: it has no date"]
    found = everything(save(tmp_path / "c.warc", [response(1).replace(b"http://example", b"nowhere:")]), by=Grouping("host"))
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
    monkeypatch.setitem(sys.modules, "fastwarc", None)
    assert run("dedup", path, "-o", tmp_path / "out") == 1
    assert "reading web archives needs fastwarc: pip install 'ndcore[web]'" in capsys.readouterr().err


# ---- files of others


BROKEN = {"warcio__bad.arc": 3, "warcio__example-space-in-url.arc": 1, "warcio__example-trunc.warc": 1}


def test_samples_of_other_projects(tmp_path: Path) -> None:
    """Every file of warc_samples: record types as its list has them (which warcio counted), and the broken ones by name."""
    folder = Path(os.environ.get("NDCORE_DATA", ""), "warc_samples")
    if not os.environ.get("NDCORE_DATA") or not folder.is_dir():
        pytest.skip("NDCORE_DATA is not set, or has no warc_samples")
    listed = json.loads((folder / "files.json").read_text())
    assert len(listed) >= 33
    for item in listed:
        path = tmp_path / item["file"].removesuffix(".bad")
        shutil.copyfile(folder / item["file"], path)
        found = read_entries(str(path))
        broken = sum(entry.problem is not None for entry in found)
        assert broken == BROKEN.get(item["file"], 0), item["file"]
        if ".arc" not in item["file"]:
            kinds = Counter(entry.head.kind for entry in found if entry.head is not None)
            assert kinds.total() + broken == item["warc_records"]
            assert not Counter(item["types"]) - kinds or broken
        read = everything(str(path))
        assert read.read + sum(read.kinds(0).values()) == len(found)
        assert len(read.rejected) == broken
        if len(read.ids):
            kept, summary = dedup(tmp_path, str(path), "--on-error", "skip")
            assert summary["counts"]["read"] == read.read
            assert kept
        path.unlink()


def test_cluster_and_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "a.warc.gz", RECORDS, "gz")
    assert run("cluster", path, "-o", tmp_path / "collection", "-q") == 0
    capsys.readouterr()
    (tmp_path / "new.html").write_bytes(html(words(1)))
    assert run("query", tmp_path / "collection", tmp_path / "new.html", "--json") == 0
    found = {match["id"] for match in json.loads(capsys.readouterr().out)}
    assert found == {"http://example.org/1", "http://example.org/3"}


def test_one_capture_of_every_page(tmp_path: Path) -> None:
    """Captures with other texts are versions too; where the newest is dropped, so are they, for what represents it."""
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
