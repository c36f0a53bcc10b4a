"""A stricter argparse: whole option names only, suggestions for mistyped ones, help text as it is written."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

__all__ = ["Parser", "commands_of", "nearest"]

EXIT_CODES = (
    "Exit codes: 0 done; 1 an input or an output is at fault; 2 the command line is at fault; 128 + N ended by signal N "
    "(130: Ctrl-C)."
)

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
        return super().parse_known_args(args, namespace)

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
        return nearest(name, [option for option in self._option_string_actions if option.startswith("--")])

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}{nearest(value, choices)} (commands: {', '.join(choices)})"
            )
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(choices)}{nearest(str(value), choices)}")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message; argparse would pass over an error of writing."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Write the message and where help is, and exit with 2."""
        self.exit(2, f"{self.prog}: {message}\nHelp: {self.prog} --help\n")


def nearest(name: str, among: Iterable[str]) -> str:
    """Return "; did you mean …?" for the most similar of some names, and "" where none is similar.

    A name that begins with `name` comes first; `difflib.get_close_matches` judges the others.
    """
    bare = {other.lstrip("-"): other for other in sorted(among)}
    word = name.lstrip("-").lower()
    begun = [other for other in bare if len(word) > 1 and other.startswith(word)]
    found = begun or difflib.get_close_matches(word, bare, 1)
    return f"; did you mean {bare[found[0]]}?" if found else ""


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands of a parser by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
