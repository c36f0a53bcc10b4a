"""The inputs of a command, as its arguments name them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence

from ndcore.cli.summary import printable
from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.selection import Selection
from ndcore.files.sources import STDIN, Inputs, find, refuse_overlaps

__all__ = ["COLLECTION", "SKETCHES", "find_inputs", "refuse_stdin_twice", "text_field"]


def text_field(args: argparse.Namespace) -> str | list[str]:
    """Return the field that holds the text, or all of several."""
    named: list[str] = args.text_field or ["text"]
    return named[0] if len(named) == 1 else named


def find_inputs(args: argparse.Namespace, *groups: tuple[Sequence[str], Collection[str]]) -> list[Inputs]:
    """Find the sources of each group of inputs; with it, what of ndcore's own is accepted there.

    Raises as `find` does; UsageError too where standard input is named twice, inputs of two groups overlap, or a pattern
    includes nothing. A pattern that excludes nothing is told on standard error.
    """
    every = [path for paths, _ in groups for path in paths]
    refuse_stdin_twice(every)
    selection = Selection(args.include, args.exclude, args.hidden)
    found = [find(paths, accept, selection, args.unit == "byte") for paths, accept in groups]
    refuse_overlaps([path for inputs in found for path in inputs.paths])
    for pattern in selection.checked(every):
        print(f"ndcore: --exclude {printable(pattern)} left nothing out", file=sys.stderr)
    return found


def refuse_stdin_twice(paths: Sequence[str]) -> None:
    """UsageError where standard input is named twice."""
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input (-) can be read once; name it once")
