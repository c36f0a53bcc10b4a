"""Records of archives read from their places."""

from __future__ import annotations

from pathlib import Path

import pytest
from webarchives import INFO, read_entries, response, save

from ndcore.files.archive_records import ArchiveRecords, RecordPlace
from ndcore.files.records import RecordError
from ndcore.files.web_archive import BrokenRecord


@pytest.mark.parametrize("compress", ["", "gz", "zst", "bz2", "xz"])
def test_records_are_read_in_any_order(tmp_path: Path, compress: str) -> None:
    path = save(tmp_path / f"a.warc{'.' if compress else ''}{compress}", [INFO, *map(response, range(9))], compress)
    entries = read_entries(path)
    records = ArchiveRecords()
    for entry in reversed(entries):
        assert entry.span is not None
        start, end = entry.span
        for length in (end - start, None):
            read = records.read(RecordPlace(path, start, length), 1 << 20)
            assert (read.head, read.content) == (entry.head, entry.content)
    records.close()


def test_a_dictionary_of_zstandard_is_used_for_each_record(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = [response(i) for i in range(200)]
    dictionary = zstandard.train_dictionary(2000, data)
    compressor = zstandard.ZstdCompressor(dict_data=dictionary)
    begin = b"\x5d\x2a\x4d\x18" + len(dictionary.as_bytes()).to_bytes(4, "little") + dictionary.as_bytes()
    path = tmp_path / "a.warc.zst"
    path.write_bytes(begin + b"".join(map(compressor.compress, data)))
    for number, entry in enumerate(read_entries(str(path))):
        assert entry.span is not None
        place = RecordPlace(str(path), entry.span[0], entry.span[1] - entry.span[0])
        if number % 50 == 0:
            assert ArchiveRecords().read(place, 1 << 20).content == entry.content


def test_places_that_are_not_there(tmp_path: Path) -> None:
    path, records = save(tmp_path / "a.warc", [response(1)]), ArchiveRecords()
    size = Path(path).stat().st_size
    for place, error, reason in (
        (RecordPlace(path, size, None), RecordError, f"the file has {size} bytes"),
        (RecordPlace(path, 0, size + 1), RecordError, f"it ends at byte {size + 1}"),
        (RecordPlace(path, 5, None), BrokenRecord, "no WARC record begins here"),
        (RecordPlace(f"{path}x", 0, None), RecordError, "the file cannot be read: No such file"),
    ):
        with pytest.raises(error, match=reason):
            records.read(place, 1 << 20)


def test_of_a_longer_record_the_beginning_is_read(tmp_path: Path) -> None:
    path = save(tmp_path / "a.warc", [response(1, "word " * 50_000)])
    entry = ArchiveRecords().read(RecordPlace(path, 0, None), 1000)
    assert entry.head is not None and len(entry.content) == 1000 < entry.head.length
