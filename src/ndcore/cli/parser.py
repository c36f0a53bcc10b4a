"""The parser: a stricter argparse with whole option names, suggestions and plain help text, filled with every command."""

from __future__ import annotations

import argparse
import difflib
import itertools
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ndcore._version import __version__
from ndcore.cli.command import fill
from ndcore.human import printable

EXIT_CODES = (
    "Exit codes: 0 done; 1 an input or an output is at fault; 2 the command line is at fault; 128 + N ended by signal N "
    "(130: Ctrl-C)."
)

# What is not a command -> the option that is meant.
OPTIONS_FOR_COMMANDS = {"version": "--version"}

# What an option was called before, or is called in other tools -> its name here.
OTHER_NAMES = {
    "--bands": "--groups",
    "--rows": "--group-size",
    "--cluster": "--clustering",
    "--linkage": "--clustering",
    "--column": "--field",
    "--id-column": "--id-field",
    "--collection-column": "--collection-field",
    "--force": "--overwrite",
    "--html-text": "--html",
    "--jobs": "--threads",
    "--memory-limit": "--memory",
    "--ngram": "--width",
    "--num-hashes": "--num-perm",
    "--out": "--output",
    "--similarity": "--threshold",
    "--text-column": "--text-field",
    "--text-key": "--text-field",
    "--workers": "--threads",
    "-v": "--version",
}


class _Formatter(argparse.HelpFormatter):
    """Format help text as it is written: `%` is literal, options stay whole, and a blank line begins a paragraph."""

    def add_argument(self, action: argparse.Action) -> None:
        """Make room for the names of commands with their indentation, which argparse leaves out."""
        super().add_argument(action)
        for command in self._iter_indented_subactions(action):
            length = len(self._format_action_invocation(command)) + self._current_indent
            self._action_max_length = max(self._action_max_length, length)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return None if action.help is None else action.help.replace("%", "%%")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = (" ".join(part.split()) for part in text.split("\n\n"))
        how: dict[str, Any] = {"initial_indent": indent, "subsequent_indent": indent, "break_on_hyphens": False}
        return "\n\n".join(textwrap.fill(part, width, **how) for part in parts)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that takes whole option names only and says what a mistyped one may have meant."""

    def __init__(self, epilog: str | None = None, **options: Any) -> None:
        options["epilog"] = "\n\n".join(filter(None, (epilog, EXIT_CODES)))
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, after every option is known: the message names the first that is not."""
        if args is not None:
            self._refuse_unknown(args)
            self._spare_output(args)
        parsed, others = super().parse_known_args(args, namespace)
        if others:  # not left to the parser above, which would name the whole program in its message
            self.error(f"too many arguments, from {shlex.quote(others[0])} on")
        return parsed, others

    def _spare_output(self, args: Sequence[str]) -> None:
        """Let --output be absent where --dry-run is given: nothing is written, and a free name is enough."""
        output = self._option_string_actions.get("--output")
        if output is not None and "--dry-run" in self._option_string_actions and "--dry-run" in args:
            name = stem = str(output.metavar)
            for number in itertools.count(2):
                if not os.path.lexists(name):
                    break
                name = f"{stem}-{number}"
            output.required, output.default = False, name

    def _refuse_unknown(self, args: Sequence[str]) -> None:
        """Exit with a suggestion at the first option that this parser does not have."""
        known = self._option_string_actions
        for word in args:
            if word == "--":
                return
            if not word.startswith("-") or word == "-" or " " in word or self._negative_number_matcher.match(word):
                if commands_of(self) and not word.startswith("-"):
                    return  # the rest is for the command's own parser
                continue
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            if name not in known:
                self.error(f"there is no option {name}{self._maybe(name)}")

    def _maybe(self, name: str) -> str:
        other = OTHER_NAMES.get(name)
        if other in self._option_string_actions:
            return f"; did you mean {other}?"
        if name in ("-v", "--verbose") and "--quiet" in self._option_string_actions:
            return "; progress and report are shown unless -q is given"
        return nearest(name, [option for option in self._option_string_actions if option.startswith("--")])

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            option = OPTIONS_FOR_COMMANDS.get(value)
            maybe = nearest(value, choices)
            if option in self._option_string_actions:
                maybe = f"; did you mean {self.prog} {option}?"
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}{maybe} (commands: {', '.join(choices)})"
            )
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(choices)}{nearest(str(value), choices)}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message; argparse would pass over an error of writing."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Write the message and where help is, and exit with 2."""
        self.exit(2, f"{self.prog}: {printable(message)}\nHelp: {self.prog} --help\n")


def nearest(name: str, among: Iterable[str]) -> str:
    """Return "; did you mean …?" for the most similar of some names, and "" where none is similar.

    A name that begins with `name` comes first; `difflib.get_close_matches` judges the others.
    """
    bare = {other.lstrip("-"): other for other in sorted(among)}
    word = name.lstrip("-").lower()
    begun = [other for other in bare if len(word) > 1 and other.startswith(word)]
    near = begun or difflib.get_close_matches(word, bare, 1)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands of a parser by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


# ---- all commands

VERSION = ("-V", "--version")


def as_option(given: Sequence[str]) -> Sequence[str]:
    """Turn ``help COMMAND`` into ``COMMAND --help``; return other words as they are."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def parser(given: Sequence[str] | None = None) -> Parser:
    """Build the parser; ``chosen`` of its result is the `Command` to begin.

    Parameters
    ----------
    given : sequence of str, optional
        The words to be parsed. Only the command among them has its options, and for the version there are no commands.
        None: every command has its options.
    """
    top = Parser(prog="ndcore", description="Find, explain and remove near-duplicate documents.",
                 epilog="ndcore help COMMAND, or ndcore COMMAND --help, lists the options of a command.")
    top.add_argument(*VERSION, action=_Version, nargs=0, help="print the version and exit")
    if given is not None and given[:1] and given[0] in VERSION:
        return top
    from ndcore.cli.commands import COMMANDS, FAMILIES

    def below(place: argparse.ArgumentParser, **options: Any) -> Any:
        return place.add_subparsers(required=True, metavar="COMMAND", help="what to do", **options)

    listed = {"": below(top, title="commands")}
    words = [word for word in as_option(given or ()) if not word.startswith("-")]
    for name, command in COMMANDS.items():
        head, _, last = name.rpartition(" ")
        if head not in listed:
            line, description = FAMILIES[head]
            listed[head] = below(listed[""].add_parser(head, help=line, description=description))
        p = listed[head].add_parser(last, help=command.line, description=command.description, epilog=command.epilog)
        if given is None or name.split() == words[: name.count(" ") + 1]:
            fill(p, command.options)
            p.set_defaults(chosen=command)
    return top


class _Version(argparse.Action):
    """Print the version of ndcore and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ndcore {__version__}")
        parser.exit()
