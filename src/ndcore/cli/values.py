"""Values of options: text of the command line to numbers, or a message that says what is accepted."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from ndcore.checks import parsed_size
from ndcore.files.html_text import PARTS


def threshold(text: str) -> float:
    """A resemblance to ask for: above 0, at most 1."""
    with contextlib.suppress(ValueError):
        value = float(text)
        if 0 < value <= 1:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and at most 1")


def thresholds(text: str) -> tuple[float, ...]:
    """Resemblances with commas between them, ascending: 0.7,0.8,0.9."""
    found = [threshold(part) for part in text.split(",")]
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r} names a threshold twice")
    return tuple(sorted(found))


def probability(text: str) -> float:
    """Above 0 and below 1."""
    with contextlib.suppress(ValueError):
        value = float(text)
        if 0 < value < 1:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and below 1")


def resemblance_and_probability(text: str) -> tuple[float, float]:
    """R:P."""
    resemblance, colon, probability = text.partition(":")
    with contextlib.suppress(ValueError):
        if colon and 0 <= float(resemblance) < 1 and 0 < float(probability) < 1:
            return float(resemblance), float(probability)
    raise argparse.ArgumentTypeError(f"{text!r} is not RESEMBLANCE:PROBABILITY; write for instance 0.5:0.01")


def seconds(text: str) -> float:
    """A time to spend."""
    with contextlib.suppress(ValueError):
        value = float(text)
        if 0 <= value <= 3600:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 3600")


def positive(text: str) -> int:
    """A whole number above 0."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def seed(text: str) -> int:
    """A seed: 64 bits."""
    if text.isascii() and text.isdigit() and int(text) < 1 << 64:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^64 - 1")


class Lines(list[str]):
    """Lines of a file, and its path."""

    def __init__(self, lines: Iterable[str], path: str) -> None:
        super().__init__(lines)
        self.path = path


def lines(text: str) -> Lines:
    """The lines of a file of UTF-8 that are not blank."""
    try:
        found = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = isinstance(error, OSError) and error.strerror
        raise argparse.ArgumentTypeError(f"{text} cannot be read as UTF-8 text: {reason or error}") from error
    return Lines((line for line in found if line.strip()), text)


def memory(text: str) -> int:
    """Bytes: 512M, 2G."""
    try:
        return parsed_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def keep(text: str) -> tuple[str, str]:
    """(rule or field, order) of --keep."""
    if text in ("first", "longest"):
        return text, ""
    field, colon, order = text.rpartition(":")
    if colon and field and order in ("asc", "desc"):
        return field, order
    raise argparse.ArgumentTypeError(f"{text!r} is none of first, longest, FIELD:desc, FIELD:asc")


def part(text: str) -> str:
    """Which part of HTML is text."""
    if text in PARTS:
        return text
    page = f"; --report {text} writes a page for a browser" if text.lower().endswith((".html", ".htm")) else ""
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(PARTS)}, the parts of HTML that are text{page}")


def whole(text: str) -> int:
    """A whole number, 0 or more."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """A whole number from one to another, or from one on."""

    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text) and (most is None or int(text) <= most):
            return int(text)
        accepted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {accepted}")

    return number


def bounded(least: float, most: float) -> Callable[[str], float]:
    """A number between two others."""

    def number(text: str) -> float:
        with contextlib.suppress(ValueError):
            if least <= float(text) <= most:
                return float(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")

    return number


def block_counts(text: str) -> tuple[int, ...]:
    """Numbers with commas between them: 4,4."""
    parts = text.split(",")
    if all(part.isascii() and part.isdigit() for part in parts):
        return tuple(map(int, parts))
    raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers of blocks; write for instance 6 or 4,4")


def modulus(text: str) -> int | str:
    """Of a mod sketch: a number, or adaptive."""
    return text if text == "adaptive" else positive(text)
