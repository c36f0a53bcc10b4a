"""Ids, and fields that order or group documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recordfiles import dedup
from textfiles import ROWS, jsonl, read, refusal, texts, write, write_parquet

from ndcore.files import document_fields
from ndcore.files.document_fields import GroupingField, Ids, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError


def test_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","id":-5}\n{"text":"","id":"5"}\n{"text":""}\n{"text":"","id":""}')
    assert read(path)[1] == [-5, "5", "a.jsonl:3", ""]
    assert read(write(tmp_path / "b.jsonl", b'{"t":"","key":9}'), text_field="t", id_field="key")[1] == [9]


@pytest.mark.parametrize("value", ["1.0", "null", "true", "[1]", '{"a":1}', "1e400", "NaN"])
def test_ids_of_other_types(tmp_path: Path, value: str) -> None:
    error = refusal(write(tmp_path / "a.jsonl", b'{"text":"","id":1}\n{"text":"","id":%s}' % value.encode()))
    assert error.number == 2
    assert "an id is a string or an integer" in error.reason


def test_missing_id_matters_only_if_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a","url":"u"}')
    error = refusal(path, require_id=True)
    assert str(error) == f"{path}:1: no id field 'id' (the record has: text, url)"


def test_parquet_without_ids_and_with_others(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a"}, {"text": "b"}])
    assert read(path)[1] == ["a.parquet:1", "a.parquet:2"]
    assert "no column 'id'" in refusal(path, require_id=True).reason
    error = refusal(write_parquet(tmp_path / "b.parquet", [{"text": "a", "id": 1.5}]))
    assert (error.number, error.reason) == (1, "the id field 'id' is float 1.5; an id is a string or an integer")


def test_ids_column() -> None:
    values: list[str | int] = ["a", 1, "1", "", "\udc80é", 10**30, -7, "a", 1, "a"]
    ids = Ids()
    for value in values:
        ids.append(value)
    assert (list(ids), len(ids), ids.repeated()) == (values, 10, 3)
    with pytest.raises(IndexError):
        ids[10]
    ids.append(values[0])
    assert ids.repeated() == 4


def test_ids_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_fields, "ROWS_AT_ONCE", 3)
    values: list[str | int] = ["a", 1, "1", "", "\udc80é", 10**30, -7, "a", 1, "a", "1"]
    ids = Ids()
    assert (list(ids), ids.take(np.arange(0)), ids.repeated(), ids.are_numbers()) == ([], [], 0, True)
    for value in values:
        ids.append(value)
    assert (list(ids), ids.repeated()) == (values, 4)
    order = np.array([10, 0, 4, 4, 5, 3])
    assert ids.take(order) == [values[i] for i in order]
    ids.append("more")  # no view of the buffers is left
    assert not ids.are_numbers()


@pytest.mark.parametrize(("value", "small"), [
    (2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False), ("1", False),
])
def test_ids_that_are_integers_of_64_bits(value: str | int, small: bool) -> None:
    ids = Ids()
    for each in (5, value, -3):
        ids.append(each)
    assert ids.are_numbers() is small


def test_fields_are_collected(tmp_path: Path) -> None:
    ranking, grouping = RankingField("score", True), GroupingField("lang")
    with FileDocuments([write(tmp_path / "a.jsonl", jsonl(ROWS))], keep=ranking, by=grouping) as documents:
        documents.scan()
        documents.scan()
    assert ranking.priorities().tolist() == [2 - i % 3 for i in range(25)]
    assert grouping.codes().tolist() == [i % 2 for i in range(25)]
    assert len(grouping.values) == 2
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    ranking = RankingField("score", False)
    with FileDocuments([path], keep=ranking, by=GroupingField("lang")) as documents:
        documents.scan()
    assert ranking.priorities().tolist() == [i % 3 for i in range(25)]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (b'{"text":"","f":{}}', "the field 'f' is an object; --keep needs numbers, strings or dates"),
        (b'{"text":"","f":NaN}', "the field 'f' is float nan; --keep needs numbers, strings or dates"),
        (b'{"text":"","f":"x"}', "the field 'f' is str 'x', but a number in the records before; --keep needs one type"),
    ],
)
def test_fields_that_cannot_be_ordered(tmp_path: Path, second: bytes, reason: str) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","f":1}\n' + second + b'\n{"text":"z","f":2.5}')
    error = refusal(path, keep=RankingField("f", True))
    assert (error.number, error.reason.startswith(reason)) == (2, True)
    ranking = RankingField("f", True)
    with FileDocuments([path], keep=ranking, on_error="skip") as documents:
        assert texts(documents) == texts(documents) == ["", "z"]
        assert ranking.priorities().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("values", "order", "strings"),
    [
        (["10", "9", "-1.5e1", " +9.0 "], [2, 1, 0, 1], []),
        ([str(2**60 + 1), str(2**60)], [1, 0], []),
        (["2019-12-31", "Wed, 1 May 2024 10:00:00 +0200", "2024-05-01T08:00:00Z", "20200101", "1 May 2024 09:00 GMT (Zulu)"],
         [0, 2, 2, 1, 3], []),
        (["2024-05-01T00:30:00+02:00", "2024-04-30T23:00:00Z"], [0, 1], []),
        (["9", "", "10", None, " "], [0, 2, 1, 2, 2], []),
        (["31.12.2019", "2024-05-01", "9"], [1, 0, 2], ["31.12.2019", "2024-05-01"]),
        (["2024-05-01", "b", "10", "a"], [1, 3, 0, 2], ["b", "a"]),
        (["10", "2024-05-01", "9"], [0, 1, 2], ["10", "2024-05-01"]),
        (["1e99999", "x"], [0, 1], ["1e99999", "x"]),
        (["b", "b"], [0, 0], ["b"]),
        (["", 2, 1], [2, 1, 0], []),
    ],
)
def test_strings_are_ordered_as_what_all_of_them_are(values: list[object], order: list[int], strings: list[str]) -> None:
    for descending in (False, True):
        ranking = RankingField("f", descending)
        for value in values:
            ranking.check(value)
            ranking.append(value)
        missing = [value is None or not str(value).strip() for value in values]
        last = max((rank for rank, none in zip(order, missing, strict=True) if not none))
        turned = [rank if none or not descending else last - rank for rank, none in zip(order, missing, strict=True)]
        assert ranking.priorities().tolist() == turned
        assert sorted(ranking.strings) == sorted(strings)
        assert ranking.missing == sum(missing)


def test_fields_that_cannot_group(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","f":1}\n{"text":"","f":null}')
    assert "--by needs strings or integers" in refusal(path, by=GroupingField("f")).reason
    assert "text file has no field" in refusal(write(tmp_path / "a.txt", b""), by=GroupingField("f")).reason


def test_annotation_field_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a"}\n{"text":"b","ndcore":null}')
    error = refusal(path, annotate=True)
    assert (error.number, "has a field 'ndcore' already" in error.reason) == (2, True)
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a", "ndcore_class": "b"}])
    assert "has a column 'ndcore_class' already" in refusal(path, annotate=True).reason


def test_on_error_is_checked() -> None:
    with pytest.raises(ValueError, match="on_error must be"):
        FileDocuments([], on_error="ignore")


def test_ids_that_utf8_cannot_hold_are_spelt_in_columns(tmp_path: Path) -> None:
    """Write them as tables do: other documents have other ids."""
    pa = pytest.importorskip("pyarrow")
    text = "the same words in all of these records"
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "x\\udc80", "text": "%b"}\n' % text.encode())
    with pa.ipc.new_file(tmp_path / "b.arrow", pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": [text]}))
    dedup(tmp_path, tmp_path / "a.jsonl", tmp_path / "b.arrow", "--annotate")
    annotated = pa.ipc.open_file(str(tmp_path / "out" / "annotated" / "b.arrow")).read_all()
    assert annotated["ndcore_representative"].to_pylist() == ["x\\udc80"]


@pytest.mark.parametrize("option", ["--one-per", "--by"])
def test_a_file_without_fields_names_the_option_that_needs_one(tmp_path: Path, option: str) -> None:
    (tmp_path / "a.txt").write_text("some words")
    said = f"has no field 'url'; {option} needs records"
    documents = FileDocuments([str(tmp_path / "a.txt")], one_per=GroupingField("url", option))
    with documents, pytest.raises(DocumentError, match=said):
        documents.scan()
