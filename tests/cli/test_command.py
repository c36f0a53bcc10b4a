"""The layer between commands and argparse: a dataclass is the options, the help and the documentation of a command."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from ndcore.cli import values
from ndcore.cli.command import INPUT, OUTPUT, Options, Outcome, argument, fill, option, option_names, specs
from ndcore.cli.commands import COMMANDS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("command_line", reason="tools is not beside the tests")
sys.path.pop(0)


class Shared(Options):
    field: str | None = option(INPUT, "a column", metavar="C")
    json: bool


class Judged(Shared):
    path: str = argument("PATH", "what to judge")
    sample: int = option("pairs", "pairs to look at", "-n", metavar="N", parse=values.positive, default=100)
    by: list[str] = option("pairs", "a field", many=True)
    names: list[str] | None = option("pairs", "names", "--in", nargs="+", required=True)
    one: bool = option("pairs", "this", excludes="kind")
    other: bool = option("pairs", "or that", excludes="kind")
    json: bool = option(OUTPUT, "print JSON")


def parsed(*words: str) -> Judged:
    p = argparse.ArgumentParser()
    fill(p, Judged)
    return Judged.parse(p.parse_args(words, argparse.Namespace(command_line="", outcome=Outcome())))


def test_a_dataclass_is_parsed() -> None:
    options = parsed("x", "--in", "a", "b", "--in", "c", "-n", "7", "--by", "k", "--by", "l", "--one")
    assert (options.path, options.names, options.sample, options.by) == ("x", ["a", "b", "c"], 7, ["k", "l"])
    assert (options.one, options.other, options.json, options.field) == (True, False, False, None)
    assert [names for _, names in options.list_given()] == [("-n", "--sample"), ("--by",), ("--in",), ("--one",)]
    assert parsed("x", "--in", "a").by == []


@pytest.mark.parametrize("words", [
    ("x",), ("x", "--in", "a", "-n", "0"), ("x", "--in", "a", "--one", "--other"), ("--in", "a"),
])
def test_what_is_refused(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(*words)


def test_the_order_of_the_help() -> None:
    assert [each.name for each, _ in specs(Judged)] == ["path", "json", "sample", "by", "names", "one", "other", "field"]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_field_of_a_command_is_an_option(words: str) -> None:
    known = specs(COMMANDS[words].options)
    shown = {each.name for each, _ in known} | {"command_line", "outcome"}
    assert {each.name for each in fields(COMMANDS[words].options)} == shown
    names = [name for each, spec in known if spec.group for name in option_names(each, spec)]
    assert len(set(names)) == len(names)


def test_the_page_has_the_options_of_the_commands() -> None:
    """If it fails, run tools/command_line.py."""
    assert tool.page() == tool.PAGE.read_text("utf-8")
