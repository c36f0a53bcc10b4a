"""Blocks of an account, and where `present` prints an account."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import pytest

from ndcore.cli.account import (
    Account,
    Figures,
    Listing,
    Note,
    Notes,
    Properties,
    TextBlock,
    TextTable,
    files_written,
    present,
    recipe_data,
)
from ndcore.recipe import Recipe


@dataclass(frozen=True)
class Chosen:
    """Options of a command, as far as `present` reads them."""

    json: bool = False
    quiet: bool = False
    output: str | None = None


def lines_of(block: TextBlock) -> list[str]:
    return list(block.lines())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_figures_are_in_columns() -> None:
    rows = [("kept", 12345, "of all"), ("a long name here", 7, "")]
    assert lines_of(Figures(rows)) == ["  kept             12,345  of all", "  a long name here      7"]
    assert lines_of(Figures([("x", "1 of 2", "what")], 3, 8)) == ["  x     1 of 2  what"]
    assert lines_of(Figures([("a", 0, "")])) == ["  a          0"]  # a name has ten columns at least
    assert lines_of(Figures([])) == []


def test_notes_without_a_number_are_left_out() -> None:
    notes = [Note(0, "page", "passed over"), Note(1, "page", "passed over"), Note(1200, "page", "left out")]
    assert lines_of(Notes(notes)) == ["  note: 1 page passed over", "  note: 1,200 pages left out"]


def test_properties_are_in_two_columns() -> None:
    assert lines_of(Properties([("a", "1"), ("longer", "2")])) == ["  a       1", "  longer  2"]
    assert lines_of(Properties([("a", "1")], indent="")) == ["a  1"]
    assert lines_of(Properties([])) == []


@pytest.mark.parametrize(("more", "last"), [(0, []), (1, ["  and 1 pair more; --json lists all"]),
                                            (2000, ["  and 2,000 pairs more; --json lists all"])])
def test_a_listing_counts_what_it_leaves_out(more: int, last: list[str]) -> None:
    assert lines_of(Listing(["x", "y"], more, "pair")) == ["  x", "  y", *last]


def test_columns_are_as_wide_as_their_longest_cell_but_the_last() -> None:
    table = TextTable(("a", "b"), [("long", "x"), ("1", "a very long cell"), ("2", "")])
    assert lines_of(table) == ["a     b", "long  x", "1     a very long cell", "2"]
    assert lines_of(TextTable(("date", "key"), [])) == ["date  key"]


def test_a_terminal_gets_columns_by_rich_without_markup() -> None:
    pytest.importorskip("rich")
    stream = Terminal()
    Account(None, ["before", TextTable(("key", "date"), [("[red]k[/red]", "today")])]).print_text(stream)
    assert stream.getvalue().startswith("before\n") and "[red]k[/red]" in stream.getvalue()
    plain = io.StringIO()
    Account(None, [TextTable(("key", "date"), [("k", "today")])]).print_text(plain)
    assert plain.getvalue() == "key  date\nk    today\n"


def never() -> Any:
    raise AssertionError("words for people were put together, and nobody reads them")
    yield


def test_the_text_is_only_made_where_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    options: Any = Chosen(json=True)
    assert present(options, Account({"é": [1]}, never())) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"é": [1]} and not told.err
    options = Chosen(quiet=True)
    assert present(options, Account({}, never())) == 0
    assert capsys.readouterr() == ("", "")


def test_text_goes_beside_a_result_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    account = Account({}, ["one", Notes([Note(2, "page", "left out")])])
    options: Any = Chosen(output="out")
    present(options, account)
    assert capsys.readouterr() == ("one\n  note: 2 pages left out\n", "")
    options = Chosen(output="-")
    present(options, account)
    assert capsys.readouterr() == ("", "one\n  note: 2 pages left out\n")


def test_files_are_named_on_one_line_each() -> None:
    assert list(files_written(None)) == []
    assert list(files_written("a\nb.html", ["t.csv"])) == [
        "The report for a browser is a\\nb.html", "A table for other programs is t.csv"]


def test_the_data_of_a_recipe_has_its_id() -> None:
    recipe = Recipe({"kind": "x", "width": 3})
    assert recipe_data(recipe) == {"id": recipe.id, "parameters": json.loads(recipe.to_json())}
