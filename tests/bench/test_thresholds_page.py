"""docs/thresholds.md from its template: figures and tables of results are put in, and what is not there is an error."""

from __future__ import annotations

import json

import pytest
from benches import imported

(thresholds,) = imported("thresholds")

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
