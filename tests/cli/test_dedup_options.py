"""``ndcore dedup`` with the options of the verdict: what is dropped, what is written and printed, what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, lines, printed, refused, run, text

import ndcore as nd

# 39 words and 35 shingles each; the first two words of "reprint" differ from "notice", so 2 of its shingles do.
LONG = f"{text(1)} {text(2)}"
ROWS: list[dict[str, Any]] = [
    {"id": "notice", "text": text(3)},
    {"id": "reprint", "text": "Two words " + text(3).split(" ", 2)[2]},
    {"id": "excerpt", "text": text(2)},
    {"id": "long", "text": LONG},
    {"id": "copy", "text": text(2).upper()},
    {"id": "other", "text": text(4)},
]
TEXTS = [row["text"] for row in ROWS]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl(ROWS))
    return path


def summary(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_bytes())
    return found


# ---- what is dropped


@pytest.mark.parametrize(("options", "parameters"), [
    ([], {}),
    (["--filter", "complete"], {"filter": "complete"}),
    (["--drop", "contained", "--keep", "longest"], {"drop": "contained", "keep": "longest"}),
    (["--drop", "contained", "--filter", "complete"], {"drop": "contained", "filter": "complete"}),
    (["--must-agree", "numbers"], {"must_agree": ["numbers"]}),
    (["--must-agree", "title", "--must-agree", "negations"], {"must_agree": ["title", "negations"]}),
    (["--min-shingles", "31"], {"min_shingles": 31}),
    (["--drop-common", "0.01"], {"drop_common": 0.01}),
    (["--lost"], {"lost": True}),
    (["--reassign"], {"reassign": True}),
    (["--clustering", "components", "--reassign", "--lost"], {"cluster": "components", "reassign": True, "lost": True}),
], ids=str)
def test_each_option_is_that_of_near_duplicates(
    corpus: Path, tmp_path: Path, options: list[str], parameters: dict[str, Any]
) -> None:
    expected = nd.near_duplicates(TEXTS, [row["id"] for row in ROWS], **parameters)
    assert run("dedup", corpus, "-o", tmp_path / "out", "--table", tmp_path / "t.jsonl", "-q", *options) == 0
    table = lines(tmp_path / "t.jsonl")
    assert [row["cluster"] for row in table] == expected.labels.tolist()
    assert [row["class"] for row in table] == expected.classes.tolist()
    assert [row["resemblance"] for row in table] == expected.resemblance.tolist()
    scored = "drop" in parameters or "drop_common" in parameters
    assert [row.get("score") for row in table] == (expected.score.tolist() if scored else [None] * len(ROWS))
    assert [row.get("lost") for row in table] == ([None] * len(ROWS) if expected.lost is None else expected.lost.tolist())
    assert ("score" in table[0], "lost" in table[0]) == (scored, "lost" in parameters)
    given = summary(tmp_path / "out")["parameters"]
    assert {name: given[name] for name in parameters} == parameters


def test_excerpts(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out, "--drop", "contained", "--keep", "longest", "--lost") == 0
    found = {line["id"]: line for line in lines(out / "clusters.jsonl")}
    assert list(found) == ["reprint", "excerpt", "copy"]  # the largest loss first, then as in the input
    assert {name: (line["class"], line["representative"], line["lost"]) for name, line in found.items()} == {
        "reprint": ("near", "notice", 2), "excerpt": ("contained", "long", 0), "copy": ("contained", "long", 0)}
    assert (found["reprint"]["score"], found["reprint"]["resemblance"]) == (33 / 35, 33 / 37)
    assert (found["excerpt"]["score"], found["excerpt"]["resemblance"]) == (1.0, 35 / 74)
    account = summary(out)
    assert account["counts"]["dropped_by_class"] == {"identical": 0, "lexical": 0, "shingle": 0, "near": 1, "contained": 2}
    assert account["filter"] == {"kind": "prefix", "threshold": 0.8, "drop": "contained", "weighted": False, "miss": 0.0,
                                 "choice": None}
    assert account["complete_filter"] is None
    assert (account["lost"]["shingles"], account["lost"]["documents"]) == (2, 1)
    assert account["lost"]["largest"] == [found["reprint"]]
    told = capsys.readouterr().out
    assert told.startswith("Documents contained in another at 0.8 or more (word shingles of 5, exact)\n")
    assert "contained  2  dropped: contained in its representative at or above the threshold; the resemblance" in told
    assert "The drops cost 2 shingles of 1 document that no kept document has" in told
    assert f"2 of {corpus}:2 (reprint), near: dropped for {corpus}:1 (notice)" in told
    assert "No pair at or above the threshold is missed: the filter is complete." in told
    assert told.endswith(f"Look at a pair with: ndcore compare {corpus}:1 {corpus}:2\n")  # the largest loss


def test_keep_order_decides_about_excerpts(corpus: Path, tmp_path: Path) -> None:
    """Expect both: an excerpt before the long document is kept, and the long one is contained in nothing."""
    assert run("dedup", corpus, "-o", tmp_path / "out", "--drop", "contained", "-q") == 0
    kept = [row["id"] for row in lines(tmp_path / "out" / "kept" / "corpus.jsonl")]
    assert kept == ["notice", "excerpt", "long", "other"]


def test_chained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": i, "text": text(1, changes)} for i, changes in enumerate((0, 1, 2))]
    assert nd.resemblance(rows[0]["text"], rows[2]["text"]) < 0.72 < nd.resemblance(rows[1]["text"], rows[2]["text"])
    (tmp_path / "c.jsonl").write_bytes(jsonl(rows))
    command = ("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "out", "--threshold", "0.72", "--clustering", "components")
    assert run(*command) == 0
    assert [line["class"] for line in lines(tmp_path / "out" / "clusters.jsonl")] == ["near", "chained"]
    assert "chained    1  dropped: below the threshold; other documents link it" in capsys.readouterr().out


def test_documents_that_must_stay_apart(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out, "--must-agree", "numbers", "--must-agree", "title", "--min-shingles", "5") == 0
    dropped = [(line["id"], line["class"]) for line in lines(out / "clusters.jsonl")]
    assert dropped == [("copy", "lexical")]  # all words of "notice" have a digit, and "reprint" lacks two of these
    told = capsys.readouterr().out
    assert "  rules: numbers and title must agree; documents of fewer than 5 shingles are left alone\n" in told


def test_common_shingles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expect 30 pages of a menu of 39 words to be one without the option, and apart with it."""
    (tmp_path / "c.jsonl").write_bytes(jsonl([{"text": f"{text(1)} one{i} two{i} three{i}"} for i in range(30)]))
    assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "a", "-q") == 0
    assert summary(tmp_path / "a")["counts"]["kept"] == 1
    capsys.readouterr()
    assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "b", "--drop-common", "0.5") == 0
    account = summary(tmp_path / "b")
    assert (account["counts"]["kept"], account["common_shingles"]) == (30, 35)
    assert "35 shingles in more than 50% of the documents, and in at least 20, count for nothing" in capsys.readouterr().out


def test_a_file_that_has_no_weights(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    makes = "ndcore sketch IN -o FILE.nds --kind simhash --learn FILE.ndw makes one"
    for weights, fault in ((corpus, "is not a file of weights"), (tmp_path / "none.ndw", "does not exist")):
        for command in (["dedup", corpus, "-o", tmp_path / "o"], ["dedup", corpus, "-o", tmp_path / "o", "--dry-run"],
                        ["sketch", corpus, "-o", tmp_path / "k.nds", "--kind", "simhash"]):
            assert f"{weights} {fault}; {makes}" in refused(capsys, 2, *command, "--weights", weights)


def test_weights(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learned = tmp_path / "w.ndw"
    assert run("sketch", corpus, "-o", tmp_path / "s.nds", "--kind", "simhash", "--learn", learned, "--width", 3, "-q") == 0
    expected = nd.near_duplicates(TEXTS, weights=nd.Idf.load(learned), threshold=0.5)
    capsys.readouterr()
    page, table = tmp_path / "page.html", tmp_path / "t.jsonl"
    options = ["--weights", learned, "--threshold", "0.5"]
    assert run("dedup", corpus, "-o", tmp_path / "out", "--table", table, "--report", page, *options) == 0
    assert [row["score"] for row in lines(table)] == expected.score.tolist()
    told = capsys.readouterr().out
    assert told.startswith("Near-duplicates at weighted resemblance 0.5 or more (word shingles of 3, exact)")
    assert f"rare shingles count more, by the weights of {learned}" in told
    parameters = summary(tmp_path / "out")["parameters"]
    assert (parameters["weights"], parameters["width"]) == (str(learned), 3)
    assert "weighted resemblance 0.5 or more" in page.read_text("utf-8")
    assert run("dedup", corpus, "-o", tmp_path / "dry", "--dry-run", *options) == 0
    capsys.readouterr()
    for more, message in [(["--filter", "lsh"], "weights need --filter auto"), (["--width", "5"], "leave the option out")]:
        assert message in refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "no", *options, *more)


# ---- what is written


def test_nothing_new_without_options(corpus: Path, tmp_path: Path) -> None:
    assert run("dedup", corpus, "-o", tmp_path / "out", "--pairs", tmp_path / "p.csv", "-q") == 0
    assert not {"score", "lost"} & set(lines(tmp_path / "out" / "clusters.jsonl")[0])
    assert "score" not in next(csv.reader((tmp_path / "p.csv").open()))
    account = summary(tmp_path / "out")
    assert set(account["counts"]["dropped_by_class"]) == {"identical", "lexical", "shingle", "near"}
    assert (account["lost"], account["common_shingles"], account["filter"]["kind"]) == (None, 0, "lsh")


def test_what_a_complete_filter_would_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": " ".join(f"w{i}x{j}" for j in range(1004))} for i in range(20)]
    (tmp_path / "c.jsonl").write_bytes(jsonl(rows))
    assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "out") == 0
    cost = summary(tmp_path / "out")["complete_filter"]
    assert cost["shingles"] == pytest.approx(20 * 1000, rel=0.1)  # estimated from signatures of 84 minima
    assert cost["shingle_bytes"] == 8 * cost["shingles"]
    assert cost["looked_up_of_100"] == pytest.approx(20.1, abs=0.05)  # 1000 - 800 + 1
    assert "KB of shingles, and looks up 20 of 100." in capsys.readouterr().out
    assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "out", "--overwrite", "--filter", "complete") == 0
    assert summary(tmp_path / "out")["complete_filter"] is None
    complete = {"kind": "prefix", "threshold": 0.8, "drop": "resembling", "weighted": False, "miss": 0.0, "choice": None}
    assert summary(tmp_path / "out")["filter"] == complete
    assert "No pair at or above the threshold is missed: the filter is complete." in capsys.readouterr().out


def test_annotations(corpus: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    options = ("--annotate", "--drop", "contained", "--keep", "longest", "--lost")
    assert run("dedup", corpus, "-o", tmp_path / "out", "-q", *options) == 0
    records = (tmp_path / "out" / "annotated" / "corpus.jsonl").read_bytes()
    verdicts = {row["id"]: row["ndcore"] for row in map(json.loads, records.splitlines())}
    assert {name: (one["score"], one["lost"]) for name, one in verdicts.items()} == {
        "notice": (1.0, 0), "reprint": (33 / 35, 2), "excerpt": (1.0, 0), "long": (1.0, 0), "copy": (1.0, 0),
        "other": (1.0, 0)}
    assert printed(capfdbinary, "dedup", corpus, "-o", "-", "-q", *options)[0] == records
    with (tmp_path / "c.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *([row["id"], row["text"]] for row in ROWS)])
    assert run("dedup", tmp_path / "c.csv", "-o", tmp_path / "csv", "-q", *options) == 0
    with (tmp_path / "csv" / "annotated" / "c.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [(float(row["ndcore_score"]), int(row["ndcore_lost"])) for row in table] == [
        (one["score"], one["lost"]) for one in verdicts.values()]


def test_columns_of_parquet(corpus: Path, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "c.parquet")
    options = ("--drop", "contained", "--keep", "longest", "--lost", "-q")
    assert run("dedup", tmp_path / "c.parquet", "-o", tmp_path / "out", "--annotate", *options) == 0
    found = pq.read_table(tmp_path / "out" / "annotated" / "c.parquet")
    assert (found.schema.field("ndcore_score").type, found.schema.field("ndcore_lost").type) == (pa.float64(), pa.int64())
    assert found["ndcore_lost"].to_pylist() == [0, 2, 0, 0, 0, 0]
    assert run("dedup", corpus, "-o", tmp_path / "o", "--pairs", tmp_path / "p.parquet", *options) == 0
    pairs = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert [(pair["a_id"], pair["b_id"], pair["class"], pair["resemblance"], pair["score"]) for pair in pairs] == [
        ("notice", "reprint", "near", 33 / 37, 33 / 35), ("excerpt", "long", "contained", 35 / 74, 1.0),
        ("excerpt", "copy", "lexical", 1.0, 1.0)]


def test_nothing_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.jsonl").write_bytes(jsonl([{"text": text(1)}, {"text": text(1)}]))
    assert run("dedup", tmp_path / "c.jsonl", "-o", tmp_path / "out", "--lost") == 0
    assert "The drops cost nothing: every shingle is in a kept document" in capsys.readouterr().out
    assert summary(tmp_path / "out")["lost"] == {"shingles": 0, "documents": 0, "largest": []}


@pytest.mark.parametrize(("command", "dates", "kept", "said"), [
    ("dedup", ["2024-05-01", "Tue, 31 Dec 2019 10:00:00 GMT"], 0, False), ("dedup", ["9", "10"], 1, False),
    ("dedup", ["2024-05-01", "31.12.2019"], 1, True), ("repeats", ["9", "10"], 1, False),
    ("repeats", ["2024-05-01", "31.12.2019"], 1, True),
])
def test_strings_that_are_compared_as_strings_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, dates: list[str], kept: int, said: bool
) -> None:
    records = [{"text": " ".join(f"w{i}" for i in range(80)), "id": str(i), "date": date} for i, date in enumerate(dates)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert run(command, tmp_path / "in.jsonl", "-o", tmp_path / "out", "--keep", "date:desc", "-q") == 0
    err = capsys.readouterr().err
    assert ("--keep compares the field 'date' as strings" in err) == said
    assert ('"2024-05-01" and "31.12.2019"' in err or '"31.12.2019" and "2024-05-01"' in err) == said
    if command == "dedup":
        assert json.loads((tmp_path / "out/kept/in.jsonl").read_text())["id"] == str(kept)


def test_names_in_the_advice_are_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a\x1b[31m.txt", "b c.txt"):
        (folder / name).write_text(text(1) + name)
    assert run("dedup", folder, "-o", tmp_path / "out", "--threshold", "0.5") == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert f"Look at a pair with: ndcore compare $'{folder}/a\\033[31m.txt' '{folder}/b c.txt'" in told


def test_links_in_a_circle_are_documents_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(text(1))
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    assert run("dedup", folder, "-o", tmp_path / "out", "--on-error", "skip", "-q") == 0
    rejected = json.loads((tmp_path / "out/summary.json").read_text())["rejected"]
    assert [Path(each["path"]).name for each in rejected] == ["one", "two"]
    assert run("dedup", folder / "one", "-o", tmp_path / "other") == 1
    assert "symbolic link to two, which leads back to itself" in capsys.readouterr().err


def test_a_field_may_have_any_character(tmp_path: Path) -> None:
    rows = [{"x\x1by": text(1), "i\nd": "one"}, {"x\x1by": text(1), "i\nd": "two"}]
    (tmp_path / "in.jsonl").write_bytes(jsonl(rows))
    fields = ("--text-field", "x\x1by", "--id-field", "i\nd")
    assert run("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out", *fields, "-q") == 0
    assert lines(tmp_path / "out/kept/in.jsonl") == rows[:1]


def test_the_size_of_files_tells_whether_shingle_sets_fit(tmp_path: Path) -> None:
    """Bands compare nearly all pairs of such pages; their many shingles fit where the files are known to be few."""
    frame = [f"frame{i}" for i in range(560)]
    lines = [{"text": " ".join([*frame, *(f"own{i}x{j}" for j in range(90))])} for i in range(1200)]
    (tmp_path / "pages.jsonl").write_bytes(jsonl(lines))
    assert run("dedup", tmp_path / "pages.jsonl", "-o", tmp_path / "out", "-q") == 0
    choice = summary(tmp_path / "out")["filter"]["choice"]
    assert choice["fits"] and choice["sampled"] < 300
