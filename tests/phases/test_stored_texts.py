"""Texts of candidates are read from where they lie, row group by row group, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from record_batches import pa

import ndcore as nd
from ndcore.phases.stored_texts import form_stored_sets
from ndcore.text.inputs import digest

parquet = pytest.importorskip("pyarrow.parquet")

WORDS = nd.Shingling(width=1)
TEXTS = [" ".join(f"w{j}" for j in range(i, i + 3)) for i in range(20)]


def asked(rows: list[tuple[str, int]], texts: list[str]) -> pa.RecordBatch:
    """Return rows that ask for the texts at these places."""
    files, places = zip(*rows, strict=True)
    digests = pa.array([digest(text.encode()) for text in texts], pa.binary())
    return pa.RecordBatch.from_pydict({"rank": np.arange(len(rows)), "name": [f"<{i}>" for i in range(len(rows))],
                                       "digest": digests, "file": list(files), "row": list(places)})


@pytest.fixture
def place(tmp_path):
    """Two files: one in row groups of four rows and a directory with a blank, one of the collection itself."""
    (tmp_path / "a b").mkdir()
    (tmp_path / "all" / "tables" / "t").mkdir(parents=True)
    table = pa.table({"url": range(20), "text": TEXTS})
    parquet.write_table(table, tmp_path / "a b" / "one.parquet", row_group_size=4)
    parquet.write_table(pa.table({"text": [text.encode() for text in TEXTS]}), tmp_path / "all" / "tables" / "t" / "two")
    return tmp_path


def test_sets_of_the_rows_that_are_asked_for(place, monkeypatch):
    """In any order of rows, of several batches; groups without such rows are not read."""
    groups, read = [], parquet.ParquetFile.read_row_group
    monkeypatch.setattr(parquet.ParquetFile, "read_row_group",
                        lambda file, group, columns: groups.append((group, columns)) or read(file, group, columns))
    uri = (place / "a b" / "one.parquet").as_uri()
    rows = [(uri, 19), (uri, 5), (uri, 4), ("tables/t/two", 3), ("tables/t/two", 0), (uri, 5)]
    batch = asked(rows, [TEXTS[row] for _, row in rows])
    made = [row for out in form_stored_sets([batch.slice(0, 0), batch.slice(0, 2), batch.slice(2)], root=str(place / "all"),
                                            text="text", shingling=WORDS) for row in out.to_pylist()]
    assert groups == [(1, ["text"]), (4, ["text"]), (1, ["text"]), (0, ["text"]), (1, ["text"])]
    assert [set(row) for row in made] == [{"rank", "part", "parts", "members"}] * 6
    assert {row["rank"]: row["members"] for row in made} == {
        i: np.unique(WORDS.fingerprints(TEXTS[row])).astype("<u8").tobytes() for i, (_, row) in enumerate(rows)}


@pytest.mark.parametrize(("row", "text", "message"), [
    (("one.parquet", 3), "another text", "the text of the document <0> is another one than when the document was added; "
                                         "what a collection refers to must stay as it was; with copy=True it keeps a copy"),
    (("one.parquet", 20), TEXTS[0], "the text of the document <0> cannot be read from file:.*: it has 20 rows, and row 20"),
    (("one.parquet", -1), TEXTS[0], "and row -1 is asked for"),
    (("gone.parquet", 3), TEXTS[0], "the text of the document <0> cannot be read from file:.*gone.parquet"),
    (("none.parquet", 0), TEXTS[0], "it has no column 'text': the DataFrame renamed it"),
    (("numbers.parquet", 0), TEXTS[0], "the column of texts is of type int64"),
    (("nulls.parquet", 1), TEXTS[0], "the text of the document <0> is another one"),
    (("damaged.parquet", 1), TEXTS[0], "the text of the document <0> cannot be read from"),
])
def test_texts_that_are_missing_or_changed(place, row, text, message):
    folder = place / "a b"
    parquet.write_table(pa.table({"body": TEXTS}), folder / "none.parquet")
    parquet.write_table(pa.table({"text": range(20)}), folder / "numbers.parquet")
    parquet.write_table(pa.table({"text": ["a", None]}), folder / "nulls.parquet")
    (folder / "damaged.parquet").write_bytes((folder / "one.parquet").read_bytes()[:-20])
    batch = asked([((folder / row[0]).as_uri(), row[1])], [text])
    with pytest.raises(ValueError, match=message):
        list(form_stored_sets([batch], root=str(place / "all"), text="text", shingling=WORDS))


@pytest.mark.parametrize("file", ["tables/../two", "tables/t/../../x", "../all/tables/t/two", "/etc/hostname", "two", "ftp://h/x"])
def test_places_outside_are_refused(place, file):
    with pytest.raises(ValueError, match=r"the text of the document <0> cannot be read from"):
        list(form_stored_sets([asked([(file, 0)], TEXTS[:1])], root=str(place / "all"), text="text", shingling=WORDS))
