"""Ranges of JSONL files: read in any cuts, the documents are those of the whole file."""

from __future__ import annotations

import pytest
from record_batches import pa
from sparks import settings

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.files.discovery import find
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.file_reader import LineRange, count_lines, read_lines
from ndcore.files.sources import Source
from ndcore.spark.dedup_job import reason
from ndcore.spark.file_ranges import (
    LONGEST,
    FileRange,
    _cut,
    _number,
    count_ranges,
    read_size,
    share_among_tasks,
    whole_files,
)
from ndcore.spark.inputs import open_input

LINES = ['{"text": "one"}', '{"text": "zwölf ℵ 𝔘"}\r', "",
         '{"text": "' + "long " * 30 + '"}', " \r", '{"text": "last", "id": 7}']
CONTENTS = {
    "no end": "\n".join(LINES), "an end": "\n".join(LINES) + "\n", "a mark": "\ufeff" + "\n".join(LINES),
    "one line": LINES[0], "blank": "\n\n\n",
}


def documents(work, place):
    rows = open_input(work, [str(place)], "documents", text="text", ident=None, parquet=False).rows
    return sorted((row.file, row.record, row.id, bytes(row.text), bytes(row.line)) for row in rows.collect())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), [("a mark", ""), ("no end", "file://")])
def test_documents_do_not_depend_on_ranges(spark, work, tmp_path, name, scheme):
    if scheme:
        pytest.importorskip("fsspec", reason="the extra remote is not installed")
    place = tmp_path / "in.jsonl"
    place.write_bytes(CONTENTS[name].encode())
    expected = documents(work, f"{scheme}{place}")
    assert len(expected) == sum(bool(line.strip()) for line in CONTENTS[name].split("\n"))
    with settings(spark, {LONGEST: "40"}):
        assert documents(work, f"{scheme}{place}") == expected


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_lines_do_not_depend_on_ranges(tmp_path, name, scheme):
    if scheme:
        pytest.importorskip("fsspec", reason="the extra remote is not installed")
    place = tmp_path / "in.jsonl"
    place.write_bytes(CONTENTS[name].encode())
    [file] = whole_files(find([f"{scheme}{place}"]).sources)
    expected = list(read_lines(find([str(place)]).sources[0]))
    for longest in (1, 2, 3, 7, 16, 100):
        cuts = _cut(file, longest)
        counted = [((_, start, stop), count_lines(file.source, start, stop)) for _, start, stop in cuts]
        ranges = list(_number(counted))
        assert [line for part in ranges for line in read_lines(file.source, part.lines)] == expected
        assert len(ranges) <= len(cuts) and all(part.lines.lines for part in ranges)


@pytest.mark.slow
def test_an_error_names_the_record(spark, work, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 20 + '{"words": "a"}\n')
    with settings(spark, {LONGEST: "30"}), pytest.raises(Exception) as caught:
        documents(work, tmp_path / "in.jsonl")
    assert reason(caught.value).startswith(f"{tmp_path}/in.jsonl:21: no text field 'text'")


def test_files_that_change_and_streams(tmp_path):
    place = tmp_path / "in.jsonl"
    place.write_text('{"text": "a"}\n{"text": "b"}\n')
    [file] = whole_files(find([str(place)]).sources)
    place.write_text('{"text": "a"}\n{"text": "bc"}\n')
    with pytest.raises(DocumentError, match=r"changed while ndcore was reading it \(from 28 to 29 bytes"):
        list(count_ranges([pa.record_batch([[0]], ["at"])], cuts=[(file, 0, 28)]))
    with pytest.raises(UsageError, match="is a stream, which tasks cannot read"):
        whole_files([Source("-", "stdin.jsonl", "stdin.jsonl", "jsonl", "", "", "")])


def test_shares_of_tasks(spark):
    """Small files go together, and large ranges do not; none is lost, and their order stays."""
    sizes = [100] * 3000 + [128 << 20] * 50
    parts = [FileRange(None, None, size, LineRange(0, i + 1, 1)) for i, size in enumerate(sizes)]
    with settings(spark, {LONGEST: "128m"}):
        tasks = share_among_tasks(spark, parts, 2)
    assert [part for task in tasks for part in task] == parts
    assert max(sum(part.size for part in task) for task in tasks) <= 256 << 20
    assert len(share_among_tasks(spark, parts[:5], 2)) == 5
    two = [part._replace(size=size) for part, size in zip(parts, (23 << 20, 24 << 20), strict=False)]
    assert [len(task) for task in share_among_tasks(spark, two, 2)] == [1, 1]


@pytest.mark.parametrize("size", ["1024", "1024b", "1k", "1KB"])
def test_sizes_as_spark_has_them(spark, size):
    with settings(spark, {LONGEST: size}):
        assert read_size(spark, LONGEST) == 1024
