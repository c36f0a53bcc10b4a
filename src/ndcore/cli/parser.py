"""The parser of all commands: a stricter argparse, with whole option names, suggestions and plain help text."""

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

# A word that is not a command -> the option that is meant.
OPTIONS_FOR_COMMANDS = {"version": "--version"}

# The name of an option in earlier versions or other tools -> its name here.
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
    """A formatter that keeps help text as written: `%` is literal, options stay whole, a blank line begins a paragraph."""

    def add_argument(self, action: argparse.Action) -> None:
        """Include the indentation in the width of command names, which argparse forgets."""
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
    """An ArgumentParser that accepts only whole option names, and suggests an option for a mistyped one."""

    def __init__(self, epilog: str | None = None, **options: Any) -> None:
        options["epilog"] = "\n\n".join(filter(None, (epilog, EXIT_CODES)))
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse like argparse, after checking that every option is known; the message names the first unknown one."""
        if args is not None:
            self._refuse_unknown(args)
            self._spare_output(args)
        parsed, others = super().parse_known_args(args, namespace)
        if others:  # the parser above would name the whole program in its message
            self.error(f"too many arguments, from {shlex.quote(others[0])} on")
        return parsed, others

    def _spare_output(self, args: Sequence[str]) -> None:
        """Allow --dry-run without --output: nothing is written, so any free name will do."""
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
                    return  # the command's own parser checks the rest
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
        """Print a message; argparse would ignore an error of writing."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Print the message and a pointer to the help, and exit with 2."""
        self.exit(2, f"{self.prog}: {printable(message)}\nHelp: {self.prog} --help\n")


def nearest(name: str, among: Iterable[str]) -> str:
    """Return "; did you mean …?" for the most similar of some names, or "" if none is similar.

    A name that begins with `name` is preferred; others are compared by `difflib.get_close_matches`.
    """
    bare = {other.lstrip("-"): other for other in sorted(among)}
    word = name.lstrip("-").lower()
    begun = [other for other in bare if len(word) > 1 and other.startswith(word)]
    near = begun or difflib.get_close_matches(word, bare, 1)
    return f"; did you mean {bare[near[0]]}?" if near else ""


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Map the names of a parser's subcommands to their parsers."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


# ---- all commands

VERSION = ("-V", "--version")


def as_option(given: Sequence[str]) -> Sequence[str]:
    """Turn ``help COMMAND`` into ``COMMAND --help``; return other words unchanged."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def parser(given: Sequence[str] | None = None) -> Parser:
    """Build the parser; ``chosen`` of its result is the `Command` to begin.

    Parameters
    ----------
    given : sequence of str, optional
        The words to be parsed: then only the command among them gets its options, and for --version there are no commands.
        None: every command gets its options.
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
