"""The door of every command: parsed arguments become its options, and `main` learns what it has written so far."""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from typing import Self

__all__ = ["Options", "Outcome"]


@dataclass
class Outcome:
    """What a command has written so far: `main` says so when the command ends early.

    Attributes
    ----------
    written : bool
        The output is complete.
    printed : bool
        Standard output has a part of the result.
    message : str
        What there is to go on with, in words. It replaces what the other two say.
    """

    written: bool = False
    printed: bool = False
    message: str = ""

    def __str__(self) -> str:
        """Say what was written."""
        if self.message:
            return self.message
        if self.written:
            return "the output is complete"
        return "the output ends early" if self.printed else "nothing was written"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command. Every field has the name of an argument, except the two that `main` adds."""

    command_line: str
    outcome: Outcome

    @classmethod
    def parsed(cls, args: argparse.Namespace) -> Self:
        """Take the parsed arguments that have the names of the fields."""
        return cls(**{field.name: getattr(args, field.name) for field in dataclasses.fields(cls)})
