"""Arguments that several commands of ``ndcore`` take."""

from __future__ import annotations

import argparse

from ndcore.commands.values import lines, positive, seed
from ndcore.files.webtext import PARTS

UNITS = ("word", "char", "grapheme", "byte", "line")

INPUTS = (
    "Inputs: directories, text files (any other suffix), .jsonl or .ndjson, .html, .htm or .xhtml, the web archives .warc, "
    ".wet and .arc (all of these also .gz, .zst), .parquet, - for JSONL on standard input, and files written by ndcore "
    "sketch."
)


def add_tokens(p: argparse.ArgumentParser) -> None:
    p.add_argument("--width", type=positive, metavar="W", help="tokens per shingle (default 5)")
    p.add_argument("--unit", choices=UNITS, help="what a token is (default word)")
    p.add_argument(
        "--normalize", choices=("NFKC",), help="Unicode normalisation of words and characters (default none)"
    )
    p.add_argument("--stop-words", type=lines, metavar="FILE", help="words to leave out, one on a line (default none)")


def add_shingling(p: argparse.ArgumentParser) -> None:
    add_tokens(p)
    p.add_argument(
        "--num-perm",
        type=positive,
        metavar="N",
        help="length of a signature (default 84, or more if the threshold needs it)",
    )
    p.add_argument("--seed", type=seed, metavar="N", help="of the permutations (default 1)")


def add_fields(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--text-field", default="text", metavar="FIELD", help="field or column that holds the text (default text)"
    )
    p.add_argument(
        "--id-field",
        metavar="FIELD",
        help="field or column that holds the id; records must have it (default id, or file:line where there is none); in "
        "archives the id is the URL",
    )
    add_html(p, "--html")
    p.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="at a document that cannot be read: stop, or list it and go on (default stop)",
    )


def add_html(p: argparse.ArgumentParser, option: str) -> None:
    """Which part of HTML is text; ``html_part`` of the arguments."""
    p.add_argument(
        option,
        dest="html_part",
        choices=PARTS,
        help="text of HTML: the whole page, or what looks like its main content (the whole page where nothing does); given, "
        "the text fields of .jsonl and .parquet are HTML too (default page, and text fields are plain text)",
    )


def add_running(p: argparse.ArgumentParser) -> None:
    p.add_argument("--threads", type=positive, metavar="N", help="default: all cores; results do not depend on it")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress and no report")
