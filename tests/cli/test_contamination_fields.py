"""``ndcore contamination --fields``: formats of items, verdicts with reasons, what is dropped, the page, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import jsonl, lines, refused, run

pytest.importorskip("msgspec")

BERN = "which river flows through the old town of Bern"
SPIDER = "how many legs has a spider in the garden of Eden"
ITEMS = [{"id": "q0", "question": BERN, "answers": ["the Aare", "Aare"]},
         {"id": "q1", "question": SPIDER, "answers": ["eight", 8]},
         {"id": "q2", "question": "nobody asks this", "answers": None}]
CORPUS = ["a page about the Aare", f"Quiz: {BERN.upper()}? The Aare.", f"{SPIDER}? {'So many words. ' * 30} Eight."]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl(ITEMS))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": f"d{i}", "text": text} for i, text in enumerate(CORPUS)]))


def found(*options: object, items: str = "items.jsonl") -> Path:
    assert run("contamination", items, "--in", "corpus.jsonl", "-o", "out", "-q", "--overwrite", "--fields",
               "question,answers", "--min-tokens", 8, *options) == 0
    return Path("out")


def test_fields_are_found_one_by_one():
    out = found()
    rows = lines(out / "fields.jsonl")
    assert rows[1] == {
        "benchmark": "items.jsonl", "id": "q0", "file": "items.jsonl", "line": 1, "field": "answers", "parts": 2,
        "parts_found": 2, "tokens": 3, "covered": 3, "percent": 100.0, "found": True, "near": None, "document": None,
        "document_file": None, "document_line": None, "first_start": None, "start": None}
    assert [(row["id"], row["field"], row["parts"], row["found"], row["percent"]) for row in rows[2:]] == [
        ("q1", "question", 1, True, 100.0), ("q1", "answers", 2, True, 50.0), ("q2", "question", 1, False, 0.0),
        ("q2", "answers", 0, False, None)]
    items = lines(out / "items.jsonl")
    assert [row["contaminated"] for row in items] == [True, True, False]
    assert items[2]["reason"] == "not contaminated; question: 0 of 3 tokens; answers: empty"
    assert [(row["item"], row["item_field"], row["item_part"]) for row in lines(out / "places.jsonl")] == [
        ("q0", "question", 0), ("q0", "answers", 0), ("q0", "answers", 1), ("q1", "question", 0), ("q1", "answers", 0)]


def test_required_fields_near_each_other(capsys):
    out = found("--near", 5)
    assert [row["contaminated"] for row in lines(out / "items.jsonl")] == [True, False, False]
    near = [(row["near"], row["document"], row["first_start"], row["start"]) for row in lines(out / "fields.jsonl")]
    assert near[1][:2] == (True, "d1") and near[1][2] in (1, 2) and near[1][3] in (10, 11)
    assert near[3] == (False, None, None, None)
    account = json.loads((out / "summary.json").read_bytes())
    assert account["require"] == ["question", "answers"] and account["near"] == 5
    assert account["fields"][1] == {"field": "answers", "items": 2, "near": 1, "tokens": 5, "covered": 4}
    assert [row["contaminated"] for row in lines(found("--require", "answers") / "items.jsonl")] == [True, True, False]
    assert run("contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "told", "--fields", "question,answers",
               "--near", 200, "--min-tokens", 8) == 0
    told = capsys.readouterr().out
    assert "\nFields, of which required: question, answers\n" in told
    assert "       2 items with answers; in 2 within 200 tokens of question\n" in told
    assert "parts with fewer tokens than a run: such a part counts wherever" in told


def test_short_answers_neither_drop_nor_cut():
    """The first page has an answer only, which occurs nearly everywhere."""
    assert [row["id"] for row in lines(found("--drop") / "kept" / "corpus.jsonl")] == ["d0"]
    trimmed = lines(found("--trim") / "cleaned" / "corpus.jsonl")
    assert [row["text"] for row in trimmed][:2] == [CORPUS[0], "Quiz: ? The Aare."]


def test_items_in_csv_keep_their_digits_and_in_parquet_their_lists(tmp_path):
    Path("items.csv").write_text(f"question,answers\n{BERN},1.50\n{SPIDER},007\nnobody,\n")
    Path("corpus.jsonl").write_bytes(jsonl([{"text": "it is 1.5 or 7"}, {"text": "it is 1.50 or 007"}]))
    assert [row["found"] for row in lines(found(items="items.csv") / "fields.jsonl")] == [False, True] * 2 + [False] * 2
    assert {row["id"] for row in lines(Path("out/places.jsonl"))} == {"corpus.jsonl:2"}
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pa.table({"question": [BERN, None], "answers": [["nowhere", "it is"], []]})
    pyarrow.parquet.write_table(table, tmp_path / "items.parquet")
    assert [row["parts_found"] for row in lines(found(items="items.parquet") / "fields.jsonl")] == [0, 1, 0, 0]


def test_fields_inside_objects_and_arrays_of_json():
    Path("squad.json").write_text(json.dumps([{"question": BERN, "answers": {"text": ["The Aare"]}}]))
    assert run("contamination", "squad.json", "--in", "corpus.jsonl", "-o", "out", "-q", "--fields", "question,answers.text",
               "--min-tokens", 8, "--require", "question,answers.text", "--near", 3) == 0
    assert [row["contaminated"] for row in lines(Path("out/items.jsonl"))] == [True]


def test_the_page_shows_each_field_with_its_marks():
    found("--report", "page.html", "--near", 5)
    page = Path("page.html").read_text(encoding="utf-8")
    assert "answers (required): 3 of 3 tokens (100 %), within 5 tokens of question" in page
    mark = '<mark class="source-0">'
    assert f"question: {mark}{BERN}</mark>\nanswers: " in page and page.count('<div class="standing source-0">') == 1
    assert '<mark class="source-1">' in page  # of the first page, which has the answer only


@pytest.mark.parametrize(("options", "code", "message"), [
    (["--fields", "question,"], 2, "'question,' has an empty name"), (["--fields", "a,a"], 2, "names 'a' twice"),
    (["--require", "question"], 2, "--require is about fields of items; name them with --fields"),
    (["--near", "5"], 2, "--near is about fields of items"), (["--near", "-1"], 2, "-1 is below 0"),
    (["--fields", "question", "--near", "5"], 2, "occur near the first one, question"),
    (["--fields", "question", "--item-field", "question"], 2, "leave one of them out"),
    (["--fields", "question,answers", "--require", "hint"], 2, "--require has 'hint', and --fields has question, answers"),
    (["--fields", "question,hint"], 1, "no item has a text in the field 'hint', of 3 in all"),
])
def test_refusals(capsys, options, code, message):
    arguments = ["contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", *options]
    assert message in refused(capsys, code, *arguments)
    assert not Path("out").exists()


@pytest.mark.parametrize(("value", "message"), [
    (1.5, "the field 'answers' is float 1.5; --fields needs strings, integers or arrays of them"),
    ({"text": "a"}, "the field 'answers' is an object"), (True, "the field 'answers' is true"),
    (["a", None], "the field 'answers' holds null in an array"), ([["a"]], "the field 'answers' holds an array in an array"),
])
def test_values_that_are_no_text(capsys, value, message):
    Path("items.jsonl").write_bytes(jsonl([{"question": BERN, "answers": "a"}, {"question": BERN, "answers": value}]))
    told = refused(capsys, 1, "contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "--fields",
                   "question,answers")
    assert "items.jsonl:2" in told and message in told


def test_a_text_file_has_no_fields(capsys):
    Path("one.txt").write_text(BERN)
    told = refused(capsys, 1, "contamination", "one.txt", "--in", "corpus.jsonl", "-o", "out", "--fields", "question")
    assert "a text file has no field 'question'; --fields needs records" in told


def test_folded_texts_are_cut_and_marked_where_they_stand(capsys):
    """Places are those of the documents as they are, in characters and in bytes."""
    disguised = BERN.replace("e", "&eacute;").replace("o", "о")
    Path("corpus.jsonl").write_bytes(jsonl([{"text": f"Quiz — {disguised}? The Aare."}, {"text": "nothing"}]))
    arguments = ["contamination", "items.jsonl", "--item-field", "question", "--in", "corpus.jsonl", "--min-tokens", 8, "-q"]
    assert run(*arguments, "-o", "plain") == 0
    assert run(*arguments, "-o", "out", "--fold", "all", "--trim", "--report", "page.html") == 0
    assert lines(Path("plain/places.jsonl")) == []
    (place,) = lines(Path("out/places.jsonl"))
    text = f"Quiz — {disguised}? The Aare."
    assert text[place["start_char"] : place["end_char"]] == disguised
    assert text.encode()[place["start_byte"] : place["end_byte"]] == disguised.encode()
    assert lines(Path("out/cleaned/corpus.jsonl"))[0]["text"] == "Quiz — ? The Aare."
    assert f"<mark>{disguised.replace('&', '&amp;')}</mark>" in Path("page.html").read_text(encoding="utf-8")
    assert json.loads(Path("out/summary.json").read_bytes())["fold"] == ["entities", "letters", "accents"]
    assert "'case' is none of entities, letters, accents, all" in refused(capsys, 2, *arguments, "-o", "x", "--fold", "case")
    assert "--fold is for words, and --unit is char" in refused(
        capsys, 2, *arguments, "-o", "x", "--fold", "all", "--unit", "char")
