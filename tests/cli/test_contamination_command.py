"""``ndcore contamination``: tables, rules, the corpus without passages or documents, the page, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser import HOSTILE, Tree
from commands import jsonl, lines, refused, run

import ndcore as nd

pytest.importorskip("msgspec")

BERN = "Which river flows through the old town of Bern"
SPIDER = "how many legs has a spider in the garden of Eden"
ITEMS = [{"id": "q0", "text": BERN + "?", "set": "towns"}, {"id": "q1", "text": SPIDER, "set": "animals"},
         {"id": "q2", "text": "nobody ever asked this question at all", "set": "animals"}]
CORPUS = ["a page about nothing", f"Quiz: {BERN.upper()}? The Aare.", BERN, f"One, {SPIDER} {BERN}. End."]
ROWS = [{"id": f"d{i}", "text": text, "n": i} for i, text in enumerate(CORPUS)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl(ITEMS))
    Path("corpus.jsonl").write_bytes(jsonl(ROWS))
    return tmp_path


def found(*options: object, items: str = "items.jsonl", corpus: str = "corpus.jsonl") -> Path:
    """Run the command, and return its output."""
    assert run("contamination", items, "--in", corpus, "-o", "out", "-q", "--overwrite", *options) == 0
    return Path("out")


def values(path: Path, *names: str) -> list[tuple]:
    return [tuple(row[name] for name in names) for row in lines(path)]


# ---------------------------------------------------------------------------------------------- tables


def test_tables_of_items_benchmarks_documents_places_and_passages(capsys):
    out = found("--min-tokens", 6)
    assert lines(out / "items.jsonl")[0] == {
        "benchmark": "items.jsonl", "id": "q0", "file": "items.jsonl", "line": 1, "tokens": 9, "covered": 9, "grams": 4,
        "found": 4, "longest": 9, "contaminated": True}
    assert values(out / "items.jsonl", "id", "contaminated") == [("q0", True), ("q1", True), ("q2", False)]
    assert lines(out / "benchmarks.jsonl") == [
        {"benchmark": "items.jsonl", "items": 3, "contaminated": 2, "tokens": 27, "covered": 20}]
    assert values(out / "documents.jsonl", "id", "line", "tokens", "covered", "longest") == [
        ("d1", 2, 12, 9, 9), ("d2", 3, 9, 9, 9), ("d3", 4, 22, 20, 20)]
    for row in lines(out / "places.jsonl"):
        text, item = CORPUS[row["line"] - 1], ITEMS[row["item_line"] - 1]["text"]
        there = item[row["item_start_char"] : row["item_end_char"]]
        assert text[row["start_char"] : row["end_char"]].lower() == there.lower()
        assert there.split() == item.rstrip("?").split()[row["item_start"] : row["item_end"]]
    assert values(out / "places.jsonl", "item", "id", "start", "end") == [("q0", "d1", 1, 10), ("q1", "d3", 1, 12)]
    assert values(out / "passages.jsonl", "id", "start", "end", "item", "item_start") == [
        ("d1", 1, 10, "q0", 0), ("d2", 0, 9, "q0", 0), ("d3", 1, 21, "q1", 0)]
    account = json.loads((out / "summary.json").read_bytes())
    assert account["counts"] == {
        "items": 3, "contaminated": 2, "shorter_than_a_run": 0, "read": 4, "documents": 4, "with_passages": 3, "passages": 3,
        "left_out": 0, "rejected": 0}
    assert account["tokens"] == {"items": 27, "covered": 20, "corpus": 47, "in_passages": 38}
    assert sorted(path.name for path in out.iterdir()) == [
        "benchmarks.jsonl", "documents.jsonl", "items.jsonl", "passages.jsonl", "places.jsonl", "summary.json"]
    assert capsys.readouterr().out == ""


def test_the_report_for_people_and_for_programs(capsys):
    arguments = ["contamination", "items.jsonl", "--in", "corpus.jsonl", "-o"]
    assert run(*arguments, "a", "--min-tokens", 9, "--benchmark-field", "set", "--drop") == 0
    told = capsys.readouterr().out
    assert told.startswith("2 of 3 items (66.7 %) are contaminated: rule any, runs of 9 tokens\n")
    assert "\n         1 of        1  towns\n         1 of        2  animals\n3 of 4 documents hold 3 passages" in told
    assert "\n3 documents left out of kept/\n  note: 1 item with fewer tokens than a run: such an item" in told
    assert "\nWritten: a\n" in told
    assert run(*arguments, "b", "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path("b/summary.json").read_bytes())
    assert run(*arguments, "c", "--min-tokens", 9, "--trim") == 0
    assert "The passages were cut; nothing is left of 1 document" in capsys.readouterr().out


def test_benchmarks_are_files_folders_of_texts_or_a_field():
    Path("bench").mkdir()
    for name in "ab":
        Path("bench", f"{name}.txt").write_text(BERN)
    out = Path("out")
    assert run("contamination", "items.jsonl", "bench", "--in", "corpus.jsonl", "-o", "out", "-q", "--min-tokens", 9) == 0
    assert values(out / "benchmarks.jsonl", "benchmark", "items", "contaminated") == [("items.jsonl", 3, 2), ("bench", 2, 2)]
    found("--min-tokens", 9, "--benchmark-field", "set")
    assert values(out / "benchmarks.jsonl", "benchmark", "contaminated") == [("towns", 1), ("animals", 1)]


def test_fields_of_items_and_of_the_corpus_and_inputs_of_other_kinds():
    Path("q.csv").write_text(f'task,question,hint\nt1,"{BERN}",x\nt2,other,"{SPIDER}"\n')
    Path("one").mkdir()
    Path("one/page.html").write_text(f"<p>{BERN}</p>")
    Path("two.json").write_text(json.dumps([{"url": "u", "content": f"{SPIDER}"}]))
    options = ["--item-field", "question", "--item-field", "hint", "--item-id-field", "task", "--min-tokens", 9]
    assert run("contamination", "q.csv", "--in", "one", "--in", "two.json", "--text-field", "content", "--id-field", "url",
               "-o", "out", "-q", *options) == 0
    out = Path("out")
    assert values(out / "items.jsonl", "id", "covered") == [("t1", 9), ("t2", 11)]
    assert values(out / "documents.jsonl", "id", "file") == [("one/page.html", "one/page.html"), ("u", "two.json")]


def test_units_and_an_item_shorter_than_a_run():
    Path("short.jsonl").write_bytes(jsonl([{"text": "old town"}, {"text": "town old"}]))
    assert values(found(items="short.jsonl") / "items.jsonl", "id", "found") == [("short.jsonl:1", 1), ("short.jsonl:2", 0)]
    found("--unit", "char", "--min-tokens", 20)
    assert values(Path("out/items.jsonl"), "contaminated") == [(True,), (True,), (False,)]


# ---------------------------------------------------------------------------------------------- rules


def test_rules_choose_the_length_and_what_is_dropped():
    """Of the first item most runs of 8 words occur, of the second one alone: the document that has it is kept."""
    most, one = [" ".join(f"{name}{i}" for i in range(14)) for name in "ab"]
    Path("items.jsonl").write_bytes(jsonl([{"text": most}, {"text": one}]))
    documents = [{"text": f"x {most}"}, {"text": " ".join(one.split()[:8]) + " y"},
                 {"text": " ".join(most.split()[:8] + one.split()[:8])}]
    Path("corpus.jsonl").write_bytes(jsonl(documents))
    out = found("--rule", "palm", "--drop")
    assert values(out / "items.jsonl", "found", "contaminated") == [(7, True), (1, False)]
    assert (out / "kept" / "corpus.jsonl").read_bytes() == jsonl(documents[1:2])
    assert values(out / "passages.jsonl", "line", "start", "end", "item") == [
        (1, 1, 15, "items.jsonl:1"), (3, 0, 8, "items.jsonl:1")]
    assert values(out / "places.jsonl", "item_line") == [(1,)]
    found("--rule", "palm", "--trim")
    assert values(out / "cleaned" / "corpus.jsonl", "text") == [
        ("x ",), (documents[1]["text"],), (" ".join(one.split()[:8]),)]
    assert values(found("--rule", "gpt-3") / "items.jsonl", "grams", "contaminated") == [(2, True), (2, False)]


# ---------------------------------------------------------------------------------------------- the corpus


def test_kept_records_are_unchanged_and_trimmed_ones_keep_their_fields():
    out = found("--min-tokens", 9, "--drop")
    assert (out / "kept" / "corpus.jsonl").read_bytes() == jsonl(ROWS[:1])
    out = found("--min-tokens", 9, "--trim")
    assert (out / "cleaned" / "corpus.jsonl").read_bytes().splitlines()[0] == jsonl(ROWS).splitlines()[0]
    assert lines(out / "cleaned" / "corpus.jsonl")[1:] == [
        {"id": "d1", "text": "Quiz: ? The Aare.", "n": 1}, {"id": "d3", "text": "One, . End.", "n": 3}]
    assert lines(out / "empty.jsonl") == [{"id": "d2", "file": "corpus.jsonl", "line": 3}]
    texts = [item["text"] for item in ITEMS]
    expected = [text for text in nd.contamination(texts, CORPUS, 9).cleaned(CORPUS) if text]
    assert values(out / "cleaned" / "corpus.jsonl", "text") == [(text,) for text in expected]


def test_texts_and_rows_of_tables_keep_their_form():
    Path("dir").mkdir()
    Path("dir/a.txt").write_text(f"{BERN} and {SPIDER}, too")
    Path("dir/b.csv").write_text(f'id,text,n\n7,"x, {BERN}",k\n8,none,l\n')
    out = found("--min-tokens", 9, "--trim", corpus="dir")
    assert (out / "cleaned" / "dir" / "a.txt").read_text() == "and , too"
    assert (out / "cleaned" / "dir" / "b.csv").read_text() == 'id,text,n\n7,"x, ",k\n8,none,l\n'
    out = found("--min-tokens", 9, "--drop", corpus="dir")
    assert [path.name for path in (out / "kept").rglob("*.*")] == ["b.csv"]
    assert (out / "kept" / "dir" / "b.csv").read_text() == "id,text,n\n8,none,l\n"


# ---------------------------------------------------------------------------------------------- the page


def test_the_page_marks_passages_and_escapes_everything():
    text = HOSTILE.replace("\ud800", "")
    for name, ident in (("items.jsonl", text[:40]), ("corpus.jsonl", text)):
        Path(name).write_bytes(jsonl([{"id": ident, "text": f"{text} {BERN} {text[::-1]}", "set": text}]))
    found("--min-tokens", 9, "--report", "page.html", "--benchmark-field", "set")
    page = Path("page.html").read_text(encoding="utf-8")
    tree = Tree(page)
    assert [name for name, _ in tree.elements].count("mark") == 2
    assert "<script>alert" not in page and "\u202e" not in page
    assert not [name for name, attributes in tree.elements if "src" in attributes or "style" in attributes]
    assert "Content-Security-Policy" in page


def test_a_page_without_contaminated_items():
    Path("clean.jsonl").write_bytes(jsonl([{"text": "nothing of this"}]))
    out = found("--report", "page.html", corpus="clean.jsonl")
    assert "There are none." in Path("page.html").read_text(encoding="utf-8")
    assert lines(out / "places.jsonl") == lines(out / "passages.jsonl") == lines(out / "documents.jsonl") == []


# ---------------------------------------------------------------------------------------------- refusals


def test_a_dry_run_writes_nothing(capsys):
    assert run("contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "--trim", "--dry-run") == 0
    assert "A dry run: nothing was written" in capsys.readouterr().out
    assert not Path("out").exists()


@pytest.mark.parametrize(("code", "arguments", "message"), [
    (2, "items.jsonl -o out", "--in"), (2, "items.jsonl --in corpus.jsonl", "-o/--output"),
    (2, "items.jsonl --in items.jsonl -o out", "the items items.jsonl lie in the corpus items.jsonl"),
    (2, "items.jsonl --in . -o out", "the items items.jsonl lie in the corpus ."),
    (2, ". --in corpus.jsonl -o out", "the items . lie in the corpus corpus.jsonl, or it in them"),
    (2, "- --in - -o out", "standard input (-) can be read once"),
    (2, "items.jsonl --in corpus.jsonl -o out --rule palm --min-tokens 9", "--rule palm has runs of 8 tokens, and"),
    (2, "items.jsonl --in corpus.jsonl -o out --trim --drop", "not allowed with"),
    (2, "items.jsonl --in corpus.jsonl -o out --trim --text-field a --text-field b", "take one field, or --drop"),
    (2, "items.jsonl --in corpus.jsonl -o out --min-tokens 1025", "a whole number from 1 to 1024"),
    (2, "items.jsonl --in corpus.jsonl -o out --report out/page.html", "lies in the output"),
    (2, "items.jsonl --in corpus.jsonl -o -", "cannot be written to standard output"),
    (1, "empty.jsonl --in corpus.jsonl -o out", "empty.jsonl: holds no items"),
    (1, "blank.jsonl --in corpus.jsonl -o out", "blank.jsonl: holds no items with a token, of 2 in all"),
    (1, "circle --in corpus.jsonl -o out", "circle: symbolic link to circle, which leads back to itself"),
    (1, "items.jsonl --in missing -o out", "missing"), (1, "items.jsonl --in corpus.jsonl -o out --item-field q", "'q'"),
    (1, "items.jsonl --in corpus.jsonl -o out --benchmark-field b", "'b'"),
    (1, "items.jsonl --in corpus.jsonl -o out --text-field content", "'content'"),
    (1, "items.jsonl --in corpus.jsonl -o out --item-field question", "use --item-field text"),
    (1, "items.jsonl --in corpus.jsonl -o out --text-field content", "use --text-field text"),
])
def test_refusals(capsys, code, arguments, message):
    Path("empty.jsonl").write_bytes(b"")
    Path("blank.jsonl").write_bytes(jsonl([{"text": " ... "}, {"text": ""}]))
    Path("circle").symlink_to("circle")
    assert message in refused(capsys, code, "contamination", *arguments.split())
    assert not Path("out").exists()


def test_no_name_is_no_folder(capsys):
    for arguments in (["", "--in", "corpus.jsonl"], ["items.jsonl", "--in", ""]):
        assert "no such file" in refused(capsys, 1, "contamination", *arguments, "-o", "out")


def test_outputs_are_no_inputs_and_are_replaced_as_a_whole(capsys):
    found()
    assert "out is an output of ndcore without documents" in refused(
        capsys, 2, "contamination", "items.jsonl", "--in", "out", "-o", "again")
    assert "out exists already" in refused(capsys, 2, "contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out")
    found("--trim")
    assert "its documents are out/cleaned: name that" in refused(
        capsys, 2, "contamination", "out", "--in", "corpus.jsonl", "-o", "again")
    Path("corpus.jsonl").write_bytes(b'{"text": "a"}\n{')
    before = (Path("out") / "summary.json").read_bytes()
    assert "with --on-error skip" in refused(
        capsys, 1, "contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "--overwrite")
    assert (Path("out") / "summary.json").read_bytes() == before
    out = found("--on-error", "skip")
    assert json.loads((out / "summary.json").read_bytes())["counts"]["rejected"] == 1
    assert [path.name for path in Path().iterdir() if path.name.endswith(".tmp")] == []
