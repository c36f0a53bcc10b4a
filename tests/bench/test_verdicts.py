"""The benchmark of thresholds and options in small: what it counts is right, and wrong verdicts are failures."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from benches import BENCH, imported

import ndcore as nd

pytest.importorskip("scipy")
overlap, labelled, joining, measure, corpus, generating, thresholds = imported(
    "overlaps", "labelled", "joining", "measure", "corpus", "generating", "thresholds")
cases, checks, effects, speed = imported("verdict_cases", "verdict_checks", "verdict_options", "verdict_speed")

WORDS = [f"w{i}" for i in range(60)]


def text(*parts: slice) -> str:
    """Join words of WORDS."""
    return " ".join(word for part in parts for word in WORDS[part])


def versions(families: int):
    """Make up documents and their versions, of made-up words."""
    return labelled.generated_versions(3, families, generating.zipf_words(np.random.default_rng(1), 20_000, 2000))


def case_of(*texts: str, codes=None) -> object:
    """Make a case of these texts; every one has its own label by default."""
    made = corpus.Corpus("by hand", [str(i) for i in range(len(texts))], list(texts))
    return cases.Case(made, np.arange(len(texts)) if codes is None else np.array(codes))


@pytest.fixture
def report(monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    return measure.Report("verdicts", argparse.Namespace(results="."))


@pytest.mark.parametrize("unit, width", [("word", 1), ("word", 5), ("char", 5), ("line", 1)])
def test_products_of_matrices_count_every_pair(unit, width):
    texts = versions(4).corpus.texts
    shingling = nd.Shingling(unit=unit, width=width)
    sets = [set(shingling.shingles(document)) for document in texts]
    expected = {}
    for b in range(len(sets)):
        for a in range(b):
            shared = len(sets[a] & sets[b])
            if shared >= 0.3 * len(sets[a] | sets[b]) or shared >= 0.8 * min(len(sets[a]), len(sets[b])):
                expected[a, b] = (shared, len(sets[a]), len(sets[b]))
    found = overlap.overlaps(joining.shingle_sets(texts, shingling), 0.3, 0.8)
    assert {(a, b): rest for a, b, *rest in zip(*(column.tolist() for column in found), strict=True)} \
        == {pair: list(counts) for pair, counts in expected.items()}
    assert (np.diff(found.a) >= 0).all()


def test_precision_and_recall_by_hand():
    """Count pairs among documents 0 to 4: labels 0 0 0 1 1, document 5 has none."""
    codes = np.array([0, 0, 0, 1, 1, -1])
    pairs = {(0, 1): 9, (0, 2): 5, (0, 3): 6, (3, 4): 2, (1, 5): 10}  # of 10 in the union: resemblances 0.9, 0.5, ...
    shared = np.array(list(pairs.values()))
    a, b = np.array(list(pairs)).T
    size_b = 10 - shared
    counted = overlap.Overlaps(a, b, shared, 2 * shared, size_b)
    assert counted.resemblance.tolist() == [0.9, 0.5, 0.6, 0.2, 1.0]
    found = labelled.curve(counted, labelled.Labelled(None, codes), codes >= 0, [0.2, 0.5, 0.6, 0.95])
    assert (found.found, found.right, found.same) == ([4, 3, 2, 0], [3, 2, 1, 0], 4)
    assert found.precision == [3 / 4, 2 / 3, 1 / 2, None]
    assert found.recall == [3 / 4, 2 / 4, 1 / 4, 0]


def test_copies_and_documents_without_a_label_are_not_judged():
    made = corpus.Corpus("x", list("abcde"), ["One two", "one, TWO", "one two", "three", "four"])
    assert labelled.Labelled(made, np.array([0, 0, 1, 1, -1])).first.tolist() == [True, False, True, True, False]


def test_labels_by_brute_force():
    """Documents 0, 1 and 2 are a chain: 1 resembles both, 2 does not resemble 0; 3 has the words of 1."""
    texts = [text(slice(0, 40)), text(slice(5, 45)), text(slice(10, 50)), text(slice(5, 45)).upper(), "something else"]
    case = case_of(*texts)
    assert case.leaders.tolist() == [0, 1, 2, 1, 4]
    # 36 shingles each; neighbours share 31 of 41, the ends 26 of 46
    assert case.pairs.resemblance.tolist() == [31 / 41, 26 / 46, 31 / 41]
    assert case.labels(0.7, "star").tolist() == [0, 0, 2, 0, 4]
    assert case.labels(0.7, "components").tolist() == [0, 0, 0, 0, 4]
    assert case.labels(0.5, "star").tolist() == [0, 0, 0, 0, 4]
    assert case.containment(np.array([2, 0]), np.array([0, 0])).tolist() == [26 / 36, 1.0]


def test_grades_of_copying():
    source = text(slice(0, 40))
    texts = [source, text(slice(0, 20)), text(slice(50, 60)), text(slice(40, 60))]
    made = corpus.Corpus("x", ["orig_a", "g0_a", "g1_a", "orig_b"], texts, ["orig", "cut", "non", "orig"])
    rows = labelled.grade_rows(made, nd.Shingling(), (0.4, 0.9))
    by_name = {(row[0], row[1]): row[2:] for row in rows}
    assert by_name["resemblance", "cut"] == [1, 100, 0]  # 16 of 36 shingles
    assert by_name["containment in the source", "cut"] == [1, 100, 100]
    assert by_name["containment in the source", "non"] == [1, 0, 0]
    assert by_name["containment in the source", "of another task"] == [2, 50, 50]  # g1 copies from the other task


def test_made_up_versions_grow_apart():
    made = versions(3)
    assert Counter(made.codes.tolist()) == {0: 8, 1: 8, 2: 8}
    measured = [nd.resemblance(made.corpus.texts[0], version) for version in made.corpus.texts[:8]]
    assert measured[0] == 1 and measured[-1] < 0.3


# ---- checks and effects


@pytest.fixture
def small():
    """Return a case of made-up versions."""
    return cases.Case(*versions(6))


def test_complete_verdicts_pass_their_checks(report, small):
    table = report.table("t", "t", checks.COMPLETE)
    checks.check_complete(report, table, small, (0.5, 0.8))
    assert report.failures == []
    pairs = {row[1]: row[2] for row in table.rows}
    assert pairs[0.5] > pairs[0.8] > 0
    contained = report.table("t", "t", checks.CONTAINMENTS)
    checks.check_contained(report, contained, small)
    assert report.failures == []


def with_pairs(result, pairs):
    """The change of a result that gives it other verified pairs."""
    return {"found": result.found._replace(pairs=pairs)}


@pytest.mark.parametrize("damage, failure", [
    (lambda result: {"labels": np.arange(len(result.labels))}, "labels of complete differ"),
    (lambda result: with_pairs(result, result.found.pairs.where(np.arange(len(result.found.pairs.a)) > 0)),
     "complete lists"),
    (lambda result: with_pairs(result, result.found.pairs._replace(resemblance=result.found.pairs.resemblance - 1e-9)),
     "complete lists"),
])
def test_wrong_verdicts_are_failures(report, small, monkeypatch, damage, failure):
    def damaged(texts, threshold, **options):
        found = cases.judge(texts, threshold, **options)
        return dataclasses.replace(found, result=dataclasses.replace(found.result, **damage(found.result)))

    monkeypatch.setattr(checks, "judge", damaged)
    checks.check_complete(report, report.table("t", "t", checks.COMPLETE), small, (0.5,))
    assert any(failure in message for message in report.failures)


def test_unjust_drops_are_failures(report, small, monkeypatch):
    def damaged(texts, threshold, **options):
        found = cases.judge(texts, threshold, **options)
        labels = np.where(np.arange(len(texts)) == len(texts) - 1, 0, found.result.labels)  # of another family
        return dataclasses.replace(found, result=dataclasses.replace(found.result, labels=labels))

    monkeypatch.setattr(checks, "judge", damaged)
    checks.check_contained(report, report.table("t", "t", checks.CONTAINMENTS), small)
    assert any("are not contained in" in message for message in report.failures)


def test_contained_pairs_follow_the_order_of_the_longest():
    """Find document 1 in 3, which stands for its shorter copy 0; document 2 is in none."""
    case = case_of(text(slice(0, 30)), text(slice(5, 25)), text(slice(40, 60)), text(slice(0, 30)) + "!!")
    first, second = checks.contained_pairs(case)
    assert (first.tolist(), second.tolist()) == ([1], [3])


def test_options_that_keep_documents_apart():
    """Documents 0 and 1 differ in a number at the end, 2 in its title as well; all have one label but 2."""
    body = text(slice(0, 50))
    case = case_of(f"title one\n{body} 7", f"title one\n{body} 8", f"title two\n{body} 8", codes=[0, 0, 1])
    table = measure.Table("t", "t", effects.AGREE)
    effects.show_agreement(table, case)
    rows = {row[1]: row[2:] for row in table.rows}
    assert rows["numbers"] == [2, 1, 1, 1, 1, 1]  # 1 is kept, and 2 joins it
    assert rows["title"] == [2, 1, 1, 0, 1, 0]
    assert rows["negations"] == [2, 1, 2, 1, 0, 0]


def test_planted_excerpts(report):
    texts, changed = effects.books_with_excerpts(versions(3).corpus.texts, 4, 5, 300)
    assert len(texts) == 4 + len(changed) == 24
    assert all((text in texts[i // 5]) != changes for i, (text, changes) in enumerate(zip(texts[4:], changed, strict=True)))
    assert all(len(text.split()) == effects.EXCERPT_WORDS for text in texts[4:])


def test_lost_shingles_are_counted_again(report, small):
    table = report.table("t", "t", effects.LOST)
    effects.show_lost(report, table, small)
    assert report.failures == [] and table.rows[0][1] > 0


def test_the_speed_of_options_is_of_the_same_verdicts(report, tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": document}) + "\n" for document in versions(3).corpus.texts))
    found = {case: [speed.run(path, case) for _ in range(2)] for case in (speed.AUTO, speed.COMPLETE)}
    report.inputs.append({"documents": 24, "bytes": 1})
    speed.tabulate(report, found)
    assert report.failures == [] and [row[0] for row in report.tables[0].rows] == [speed.AUTO, speed.COMPLETE]
    found[speed.COMPLETE][1]["labels"] = "others"
    speed.tabulate(report, found)
    assert report.failures == ["complete: the labels differ from run to run"]


# ---- the page

TABLES = {
    "verdict-a": {"name": "verdict-a", "columns": ["corpus", "of pairs", "0.5", "0.8"], "rows": [
        ["x", "recall", 0.25, 0.125], ["x", "precision", 0.5, None], ["y", "recall", 0.75, 0.5]]},
    "verdict-c": {"name": "verdict-c", "columns": ["n"], "rows": [[1]], "title": "Some", "note": "A note."},
}


def markdown(table) -> str:
    """Show a table in one line."""
    return json.dumps(table)


@pytest.mark.parametrize("template, expected", [
    ("at 0.5 {{verdict-a: x, recall: 0.5}}", "at 0.5 0.25"),
    ("{{verdict-a: x, recall: 0.5 %}} are found", "25 % are found"),
    ("{{sum verdict-a: *, recall: 0.5}}, {{max verdict-a: *, recall: 0.8}}", "1, 0.5"),
    ("{{min verdict-a: *, *: 0.8 %}}", "12 %"),
    ("{{table verdict-a: corpus, 0.5}}", '{"columns": ["corpus", "0.5"], "rows": [["x", 0.25], ["x", 0.5], ["y", 0.75]]}'),
    ("{{table verdict-a: 0.5: y}}", '{"columns": ["0.5"], "rows": [[0.75]]}'),
    ("{{table verdict-c}}", '{"columns": ["n"], "rows": [[1]]} *Some. A note.*'),  # in one line, as prose
    ("first\n\n{{table verdict-b}} and more\n\nlast", "first\n\nlast"),
    ("- a\n  {{verdict-a: x, recall: 0.8 %}}\n- b", "- a 12 %\n- b"),
])
def test_places_of_the_page(template, expected):
    assert thresholds.page(template, TABLES, markdown) == expected


def test_percentages_are_all_or_nothing_only_if_they_are():
    assert list(map(thresholds.percentage, (0, 0.002, 0.996, 1, 0.464))) == ["0 %", "0.2 %", "99.6 %", "100 %", "46 %"]


@pytest.mark.parametrize("template", [
    "{{verdict-a: z, recall: 0.5}}", "{{verdict-a: x, recall: 0.6}}", "{{verdict-a: x: 0.5}}", "{{table verdict-a: *: z}}"])
def test_places_without_one_value_are_errors(template):
    with pytest.raises(KeyError):
        thresholds.page(template, TABLES, markdown)


@pytest.mark.slow
def test_the_benchmark_in_small(tmp_path):
    """Run on made-up versions; every table that the page asks for is made, but for corpora that are not there and speed."""
    script = [sys.executable, str(BENCH / "verdicts.py")]
    command = [*script, "--quick", "--only", "labels", "options", "--results", str(tmp_path)]
    outside = {name: value for name, value in os.environ.items() if name not in ("NDCORE_DATA", "NDCORE_VARIANT")}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=outside)
    assert done.returncode == 0, done.stdout + done.stderr
    results = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert {result["name"] for result in results} == set(thresholds.RESULTS[:2])
    assert not any(result["failures"] for result in results)
    made = {table["name"] for result in results for table in result["tables"]}
    missing = thresholds.named_tables(thresholds.TEMPLATE.read_text()) - made
    assert missing == {"verdict-grades", "verdict-speed", "verdict-large"}
    assert not thresholds.complete(results)
