'''The layer between commands and argparse: a dataclass defines the options of a command, its help and its completion.

How to add a command, in ten lines. In `ndcore.cli.commands`, with `run_judge(options: JudgeOptions) -> int` in
`ndcore.cli.judge` (imported only when the command runs, so that help needs no NumPy)::

    @command("judge", "say which of two verdicts is right", run="judge.run_judge", reads=INPUTS)
    class JudgeOptions(DocumentOptions):  # its bases bring shared options
        """Judge the verdicts of a run by a sample of its pairs."""  # the description in the help

        inputs: list[str] = argument("IN", "input to judge", nargs="+")
        output: str = option(OUTPUT, "directory to write", "-o", metavar="OUTDIR", required=True)
        sample: int = option("pairs", "pairs to look at (default 100)", metavar="N", parse=positive, default=100)

An option is named after its field (``--sample``) unless a name is given; a bool is a flag, a list may be given repeatedly.
tools/command_line.py writes the tables of options in docs/command-line.md.
'''

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

from ndcore.files.errors import UsageError

# Titles of groups: the help of every command shows these options under the same title.
INPUT, OUTPUT, DUPLICATES, SHINGLES, RUNNING = "input", "output", "near-duplicates", "shingles and sketches", "running"
LAST = (SHINGLES, INPUT, RUNNING)  # groups below the options of the command itself


Class = TypeVar("Class", bound=type)


@dataclass
class Outcome:
    """The output that a command has written so far; `main` reports it if the command ends early."""

    written: bool = False  # the output is complete
    printed: bool = False  # standard output has a part of the result
    message: str = ""  # what the next run can resume; it replaces the message from the other two
    begun: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        if self.message:
            return self.message
        if self.written:
            return "the output is complete"
        return "the output ends early" if self.printed else "nothing was written"


def as_dataclass(options: type[Any]) -> None:
    """Turn a class of options and its bases into dataclasses, unless they are already."""
    for each in reversed(options.__mro__[:-1]):
        if "__dataclass_fields__" not in each.__dict__:
            dataclass(frozen=True, kw_only=True)(each)


@contextlib.contextmanager
def blame_command(options: Options | None = None) -> Iterator[None]:
    """Turn each ValueError of the block into a UsageError with its message: the command is at fault, not an input.

    With `options`, the parameters in a message of the library are written as options: lost=True as --lost.
    """
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error) if options is None else _name_options(str(error), type(options))) from error


def _name_options(message: str, options: type[Options]) -> str:
    """Write parameters in a message, such as ``cluster='star'`` or ``must_agree=['title']``, as options."""
    names = {each.name: option_names(each, spec)[-1] for each, spec in specs(options) if spec.group}

    def as_option(parameter: re.Match[str]) -> str:
        name, value = parameter.groups()
        words = re.sub(r"[\[\]',]", "", value)
        return parameter[0] if name not in names else f"{names[name]} {words}" if words not in ("True", "…") else names[name]

    return re.sub(r"\b(\w+)=(\[[^\]]*\]|'[^']*'|[\w.]*\w|…)", as_option, message)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """The options of a command, and the two values that `main` adds.

    Type checkers treat a subclass as a dataclass; `as_dataclass` makes it one only when its command is run, because that
    takes time.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    command_line: str
    outcome: Outcome

    @classmethod
    def parse(cls, args: argparse.Namespace) -> Self:
        """Take the parsed arguments that have the names of the fields."""
        as_dataclass(cls)
        return cls(**{each.name: getattr(args, each.name) for each in fields(cls)})

    def take(self, *names: str) -> dict[str, Any]:
        """Return the values of some options by their names, to be passed on as keywords of the same names."""
        return {name: getattr(self, name) for name in names}

    def list_given(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the options that were given: the name of the field, and the names of the option."""
        for each, spec in specs(type(self)):
            if spec.group and getattr(self, each.name) != default_of(each):
                yield each.name, option_names(each, spec)


class Spec(NamedTuple):
    """The command-line form of a field."""

    group: str  # title of its group in the help; "" for an argument without a name
    help: str
    names: tuple[str, ...] = ()  # of the option; empty: two dashes and the name of the field
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None  # converts text, or raises ArgumentTypeError that says what is accepted
    choices: Sequence[str] | None = None
    nargs: str | int | None = None  # as for argparse
    required: bool = False
    excludes: str = ""  # options of a group with the same word here exclude each other


def option(group: str, help: str, *names: str, default: Any = None, many: bool = False, **spec: Any) -> Any:
    """Make the field of an option, which may be repeated if there are `many`; `spec` has other attributes of `Spec`."""
    metadata = {"spec": Spec(group, help, names, **spec)}
    return field(default_factory=list, metadata=metadata) if many else field(default=default, metadata=metadata)


def argument(metavar: str, help: str, nargs: str | int | None = None, choices: Sequence[str] | None = None) -> Any:
    """Make the field of a positional argument."""
    return field(default=None, metadata={"spec": Spec("", help, (), metavar, None, choices, nargs)})


# ---- the commands


class Command(NamedTuple):
    """A command: its options, its line in the list of commands, and the function that does the work."""

    options: type[Options]
    line: str
    run: str  # module below ``ndcore.cli`` and function, such as "judge.run_judge"
    reads: str  # a sentence about the inputs, which ends the description
    epilog: str  # the text of the help below the options

    @property
    def description(self) -> str:
        """The text of the help above the options."""
        return f"{self.options.__doc__ or ''}\n\n{self.reads}".strip()

    def begin(self, arguments: argparse.Namespace) -> int:
        """Import the module that does the work, do it, and return the exit code."""
        module, _, function = self.run.partition(".")
        done: int = getattr(importlib.import_module(f"ndcore.cli.{module}"), function)(self.options.parse(arguments))
        return done


COMMANDS: dict[str, Command] = {}  # by their words, such as "dedup" and "store create", in the order of the help
FAMILIES: dict[str, tuple[str, str]] = {}  # word of a command with subcommands -> its line, its description


def family(word: str, line: str, description: str) -> None:
    """Name a command with subcommands, which are defined next."""
    FAMILIES[word] = line, description


def command(words: str, line: str, run: str, reads: str = "", epilog: str = "") -> Callable[[Class], Class]:
    """Register a class of options as a command; see `Command`."""
    def add(options: Class) -> Class:
        COMMANDS[words] = Command(options, line, run, reads, epilog)
        return options

    return add


# ---- from fields to argparse


def specs(options: type[Options]) -> list[tuple[Field[Any], Spec]]:
    """List the fields of the command line in the order of the help.

    The order of groups is: arguments and outputs, the command's own groups, then groups that most commands share. In a
    group, the fields of the most general class come first.
    """
    as_dataclass(options)
    order: dict[str, None] = {}
    for each in reversed(options.__mro__):
        declared: dict[str, Field[Any]] = each.__dict__.get("__dataclass_fields__", {})
        order.update((name, None) for name in inspect.get_annotations(each) if "spec" in declared[name].metadata)
    known = {each.name: each for each in fields(options)}
    shown = [(known[name], known[name].metadata["spec"]) for name in order]
    own = dict.fromkeys(spec.group for _, spec in shown)
    groups = [group for group in ("", OUTPUT, *own) if group not in LAST] + [*LAST]
    return sorted(shown, key=lambda pair: groups.index(pair[1].group))


def option_of(name: str) -> str:
    """Return the option of a field that has no name of its own."""
    return f"--{name.replace('_', '-')}"


def option_names(each: Field[Any], spec: Spec) -> tuple[str, ...]:
    """List the names of an option, a short one first."""
    return spec.names if any(name.startswith("--") for name in spec.names) else (*spec.names, option_of(each.name))


def default_of(each: Field[Any]) -> Any:
    """Return the value of an option that is not given."""
    if each.default_factory is not MISSING:
        return each.default_factory()
    return False if each.type == "bool" else each.default


def fill(parser: argparse.ArgumentParser, options: type[Options]) -> None:
    """Add the options of a command to its parser."""
    made: dict[str, Any] = {"": parser}
    for each, spec in specs(options):
        place = made.get(spec.group) or made.setdefault(spec.group, parser.add_argument_group(spec.group))
        if spec.excludes:
            key = f"{spec.group} {spec.excludes}"
            place = made.get(key) or made.setdefault(key, place.add_mutually_exclusive_group())
        names = option_names(each, spec) if spec.group else (each.name,)
        place.add_argument(*names, **dict(_describe(each, spec)))


def _describe(each: Field[Any], spec: Spec) -> Iterator[tuple[str, Any]]:
    """Yield the arguments for argparse of a field."""
    yield "help", spec.help
    if spec.group:
        yield "dest", each.name
        yield "required", spec.required
    if each.type == "bool":
        yield "action", "store_true"
        return
    if spec.group and str(each.type).startswith("list["):
        yield "action", "extend" if spec.nargs else "append"
    yield "default", default_of(each)
    for name, value in (("metavar", spec.metavar), ("type", spec.parse), ("choices", spec.choices), ("nargs", spec.nargs)):
        if value is not None:
            yield name, value
