"""Convert the text of options to values, with messages that say what is accepted.

Modules that take long to import are imported only when an option is given; the help does not need them.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ndcore.choices import FOLDS, HTML_PARTS

WHOLE = "a whole number"


def numbers(
    least: float, most: float = math.inf, *, above: bool = False, below: bool = False, kind: str = "a number"
) -> Callable[[str], Any]:
    """Make a parser of the numbers from `least` to `most`; with `above` and `below`, the bound itself is refused.

    `kind` names such a number in messages; with `WHOLE` the parser returns an int.
    """
    top = "2^64 - 1" if most == (1 << 64) - 1 else f"{most}"
    first = f"above {least}" if above else f"from {least}"
    last = "" if most == math.inf else f" and below {top}" if below else f" and at most {top}" if above else f" to {top}"

    def parse(text: str) -> float:
        digits = text.removeprefix("-")
        value = math.nan
        if kind != WHOLE or (digits.isascii() and digits.isdigit()):
            with contextlib.suppress(ValueError):
                value = int(text) if kind == WHOLE else float(text)
        if math.isnan(value):
            fault = f"{text!r} is not {kind}"
        elif value < least or (above and value == least):
            fault = f"{text} is {'not above' if above else 'below'} {least}"
        elif value > most or (below and value == most):
            fault = f"{text} is {'not below' if below else 'above'} {top}"
        else:
            return value
        raise argparse.ArgumentTypeError(f"{fault}; give {kind} {first}{last}")

    return parse


def integer(least: int, most: float = math.inf) -> Callable[[str], Any]:
    """Make a parser of the whole numbers from `least` to `most`."""
    return numbers(least, most, kind=WHOLE)


threshold = numbers(0, 1, above=True)  # a resemblance threshold
probability = numbers(0, 1, above=True, below=True)
seconds = numbers(0, 3600, kind="a number of seconds")
positive, whole, seed = integer(1), integer(0), integer(0, (1 << 64) - 1)
near, gaps = integer(0, 1 << 16), integer(0, 32)  # tokens
bits = numbers(0, 1e6, kind="a number of bits")


def thresholds(text: str) -> tuple[float, ...]:
    """Parse resemblances separated by commas, such as 0.7,0.8,0.9, and sort them."""
    values = sorted(map(threshold, text.split(",")))
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"{text!r} names a threshold twice")
    return tuple(values)


def resemblance_and_probability(text: str) -> tuple[float, float]:
    """Parse a resemblance and a probability, such as 0.5:0.01."""
    resemblance, colon, probability = text.partition(":")
    with contextlib.suppress(ValueError):
        if colon and 0 <= float(resemblance) < 1 and 0 < float(probability) < 1:
            return float(resemblance), float(probability)
    raise argparse.ArgumentTypeError(f"{text!r} is not RESEMBLANCE:PROBABILITY; write for instance 0.5:0.01")


def integer_up_to(module: str, constant: str, least: int = 1) -> Callable[[str], Any]:
    """Make a parser of the whole numbers up to a constant of a module."""
    return lambda text: integer(least, getattr(importlib.import_module(module), constant))(text)


minima = integer_up_to("ndcore.checks", "MAX_MINIMA")  # minima or shingles
window = integer_up_to("ndcore._grams", "MAX_LENGTH")  # tokens in a window
distance = integer_up_to("ndcore.hamming.table_plan", "MAX_WIDE_DISTANCE", 0)  # for which an index can have tables


def fingerprint_bits(text: str) -> int:
    """Parse the bits of a fingerprint: 1 to 64, 128 or 256."""
    from ndcore.hamming.fingerprints import WIDE

    return int(text) if text in map(str, WIDE) else int(integer(1, 64)(text))


def modulus(text: str) -> int | str:
    """Parse the modulus of a mod sketch: a number, or adaptive."""
    return text if text == "adaptive" else int(positive(text))


def block_counts(text: str) -> tuple[int, ...]:
    """Parse whole numbers separated by commas, such as 4,4."""
    counts = text.split(",")
    if all(count.isascii() and count.isdigit() for count in counts):
        return tuple(map(int, counts))
    raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of blocks; write for instance 6 or 4,4")


def memory(text: str) -> int:
    """Parse a size in bytes, such as 512M or 2G."""
    from ndcore.checks import parsed_size

    try:
        return parsed_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class FileLines(list[str]):
    """The lines of a file, and its path."""

    def __init__(self, lines: Iterable[str], path: str) -> None:
        super().__init__(lines)
        self.path = path


def lines(text: str) -> FileLines:
    """Read the lines of a UTF-8 file that are not blank."""
    try:
        listed = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = isinstance(error, OSError) and error.strerror
        raise argparse.ArgumentTypeError(f"{text} cannot be read as UTF-8 text: {reason or error}") from error
    return FileLines((line for line in listed if line.strip()), text)


def folder(text: str) -> str:
    """Parse the path of an existing folder."""
    if Path(text).is_dir():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not a folder")


def moment(text: str) -> datetime.datetime:
    """Parse a date, in UTC unless it names a zone."""
    from ndcore.files.field_values import ACCEPTED, parse_date
    from ndcore.files.records import RecordError

    try:
        return parse_date(text)
    except RecordError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; dates are {ACCEPTED}") from None


def keep(text: str) -> tuple[str, str]:
    """Parse the rule of --keep: FIELD:ORDER becomes (field, order), another rule (rule, "")."""
    if text in ("first", "longest"):
        return text, ""
    field, colon, order = text.rpartition(":")
    if colon and field and order in ("asc", "desc"):
        return field, order
    raise argparse.ArgumentTypeError(f"{text!r} is none of first, longest, FIELD:desc, FIELD:asc")


def part(text: str) -> str:
    """Parse the name of the part of HTML that is read."""
    if text in HTML_PARTS:
        return text
    page = f"; --report {text} writes a page for a browser" if text.lower().endswith((".html", ".htm")) else ""
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(HTML_PARTS)}, the parts of HTML that are text{page}")


def encoding(text: str) -> str:
    """Parse the name of an encoding of text."""
    from ndcore.files.text_encoding import EncodingError, check_encoding

    try:
        return check_encoding(text)
    except EncodingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def delimiter(text: str) -> str:
    """Parse the character between the fields of a table."""
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
        raise argparse.ArgumentTypeError(f"{text!r} is not one ASCII character, not a quote; examples are ';', '|', tab")
    return character


def field_names(text: str) -> tuple[str, ...]:
    """Parse names of fields, separated by commas."""
    names = tuple(text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name; give names of fields separated by commas, such as "
                                         "question,answers")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise argparse.ArgumentTypeError(f"{text!r} names {twice!r} twice; give different fields")
    return names


def folds(text: str) -> tuple[str, ...]:
    """Parse the kinds to fold, separated by commas, or all."""
    kinds = tuple(FOLDS) if text == "all" else tuple(text.split(","))
    for kind in kinds:
        if kind not in FOLDS:
            raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(FOLDS)}, all; give some, separated by commas")
    return kinds
