"""WARC and ARC files: framing, compression, and what is broken."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webarchives import (
    ARC_INFO,
    INFO,
    PACKED,
    REQUEST,
    arc,
    dedup,
    everything,
    gz,
    html,
    http,
    read_entries,
    response,
    run,
    save,
    texts,
    warc,
    words,
)

from ndcore.cli.main import main
from ndcore.files.document_fields import RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.formats import guess_from_name

pytest.importorskip("resiliparse", reason="the extra web is not installed")


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
    assert guess_from_name(f"a.{suffix}") == ("archive", suffix.partition(".")[2])


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
    keep = RankingField("date", True)
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
    """Check that whole records are read; a cut one is one rejected record; a cut between records cannot be seen."""
    records = [INFO, response(1), response(2)]
    for name, packed in (("a.warc", bytes), ("a.warc.gz", gz)):
        parts = [packed(record) for record in records]
        data = b"".join(parts)
        ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts))]
        for cut in range(1, len(data)):
            (tmp_path / name).write_bytes(data[:cut])
            with FileDocuments([str(tmp_path / name)], on_error="skip") as documents:
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
    assert "incorrect data check" in reason or "Incorrect checksum" in reason  # zlib, ISA-L


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
    with FileDocuments([str(tmp_path / name)]) as documents, pytest.raises(DocumentError):
        documents.scan()


def test_records_longer_than_what_is_held(tmp_path: Path) -> None:
    big = warc("response", http(b"\0" * 300_000, "video/mp4"), "http://x.org/", Content_Type="application/http")
    for name, packed in (("a.warc", bytes), ("a.warc.gz", gz)):
        path = save(tmp_path / name, [INFO, big, response(2)], "gz" * (packed is gz))
        found = read_entries(path, longest=100_000)
        assert [len(entry.content) for entry in found] == [17, 1 << 16, len(found[2].content)]
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
    """Raise no exception: every record is read, rejected or counted, or lies behind something rejected."""
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


BROKEN = {"warcio__bad.arc": 3, "warcio__example-space-in-url.arc": 1, "warcio__example-trunc.warc": 1}


def test_samples_of_other_projects(tmp_path: Path) -> None:
    """Read every file of warc_samples: record types as in its list (counted by warcio), and the broken ones by name."""
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
