"""Values of options: text of the command line to numbers, or a message that says what is accepted.

What takes time to import is imported where an option is given: help needs none of it.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
from collections.abc import Callable, Iterable
from pathlib import Path

from ndcore.choices import HTML_PARTS


def _number(text: str, accepts: Callable[[float], bool], what: str) -> float:
    with contextlib.suppress(ValueError):
        value = float(text)
        if accepts(value):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not {what}")


def _whole_number(text: str, least: int, most: float, what: str) -> int:
    if text.isascii() and text.isdigit() and least <= int(text) <= most:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not {what}")


def threshold(text: str) -> float:
    """Parse a resemblance to ask for: above 0, at most 1."""
    return _number(text, lambda value: 0 < value <= 1, "a number above 0 and at most 1")


def thresholds(text: str) -> tuple[float, ...]:
    """Parse resemblances with commas between them, as 0.7,0.8,0.9, and sort them."""
    found = [threshold(part) for part in text.split(",")]
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r} names a threshold twice")
    return tuple(sorted(found))


def probability(text: str) -> float:
    """Parse a probability above 0 and below 1."""
    return _number(text, lambda value: 0 < value < 1, "a number above 0 and below 1")


def resemblance_and_probability(text: str) -> tuple[float, float]:
    """Parse a resemblance and a probability, as 0.5:0.01."""
    resemblance, colon, probability = text.partition(":")
    with contextlib.suppress(ValueError):
        if colon and 0 <= float(resemblance) < 1 and 0 < float(probability) < 1:
            return float(resemblance), float(probability)
    raise argparse.ArgumentTypeError(f"{text!r} is not RESEMBLANCE:PROBABILITY; write for instance 0.5:0.01")


def seconds(text: str) -> float:
    """Parse a time of at most an hour."""
    return _number(text, lambda value: 0 <= value <= 3600, "a number of seconds from 0 to 3600")


def bounded(least: float, most: float) -> Callable[[str], float]:
    """Make a parser of numbers from `least` to `most`."""
    return lambda text: _number(text, lambda value: least <= value <= most, f"a number from {least} to {most}")


def positive(text: str) -> int:
    """Parse a whole number above 0."""
    return _whole_number(text, 1, float("inf"), "a whole number above 0")


def whole(text: str) -> int:
    """Parse a whole number, 0 or more."""
    return _whole_number(text, 0, float("inf"), "a whole number")


def seed(text: str) -> int:
    """Parse a seed of 64 bits."""
    return _whole_number(text, 0, (1 << 64) - 1, "a whole number from 0 to 2^64 - 1")


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """Make a parser of whole numbers from `least` on, up to `most` if it is given."""
    accepted = f"of at least {least}" if most is None else f"from {least} to {most}"
    highest = float("inf") if most is None else most
    return lambda text: _whole_number(text, least, highest, f"a whole number {accepted}")


def minima(text: str) -> int:
    """Parse the length of a sequence of minima."""
    from ndcore.checks import MAX_MINIMA

    return _whole_number(text, 1, MAX_MINIMA, f"a whole number from 1 to {MAX_MINIMA}")


def window(text: str) -> int:
    """Parse the length of a window of tokens."""
    from ndcore._grams import MAX_LENGTH

    return _whole_number(text, 1, MAX_LENGTH, f"a whole number from 1 to {MAX_LENGTH}")


def distance(text: str) -> int:
    """Parse a Hamming distance that the tables of an index can serve."""
    from ndcore.hamming.table_plan import MAX_DISTANCE

    return _whole_number(text, 0, MAX_DISTANCE, f"a whole number from 0 to {MAX_DISTANCE}")


def modulus(text: str) -> int | str:
    """Parse the modulus of a mod sketch: a number, or adaptive."""
    return text if text == "adaptive" else positive(text)


def block_counts(text: str) -> tuple[int, ...]:
    """Parse whole numbers with commas between them, as 4,4."""
    parts = text.split(",")
    if all(part.isascii() and part.isdigit() for part in parts):
        return tuple(map(int, parts))
    raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of blocks; write for instance 6 or 4,4")


def memory(text: str) -> int:
    """Parse a size in bytes, as 512M or 2G."""
    from ndcore.checks import parsed_size

    try:
        return parsed_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class FileLines(list[str]):
    """Lines of a file, and its path."""

    def __init__(self, lines: Iterable[str], path: str) -> None:
        super().__init__(lines)
        self.path = path


def lines(text: str) -> FileLines:
    """Read the lines of a UTF-8 file that are not blank."""
    try:
        found = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = isinstance(error, OSError) and error.strerror
        raise argparse.ArgumentTypeError(f"{text} cannot be read as UTF-8 text: {reason or error}") from error
    return FileLines((line for line in found if line.strip()), text)


def moment(text: str) -> datetime.datetime:
    """Parse a date, in UTC unless it names a zone."""
    from ndcore.files.field_values import ACCEPTED, parse_date
    from ndcore.files.records import RecordError

    try:
        return parse_date(text)
    except RecordError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; dates are {ACCEPTED}") from None


def keep(text: str) -> tuple[str, str]:
    """Parse the rule of --keep to (rule, "") or (field, order)."""
    if text in ("first", "longest"):
        return text, ""
    field, colon, order = text.rpartition(":")
    if colon and field and order in ("asc", "desc"):
        return field, order
    raise argparse.ArgumentTypeError(f"{text!r} is none of first, longest, FIELD:desc, FIELD:asc")


def part(text: str) -> str:
    """Parse the part of HTML that is text."""
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
