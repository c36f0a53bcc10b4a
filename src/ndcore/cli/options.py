"""Arguments that several commands share, and the options that they become."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TypeAlias

from ndcore.cli.door import Options
from ndcore.cli.strict_parser import Parser
from ndcore.cli.values import Lines, delimiter, encoding, lines, memory, part, positive, seed
from ndcore.files.html_text import PARTS
from ndcore.files.sources import LONGEST
from ndcore.text.units import NORMALIZED, UNITS

FORMATS = (
    "Files hold text, JSON lines (.jsonl, .ndjson, .jl), JSON (.json: an array, lines, or one object), CSV or TSV with a "
    "header, HTML (.html, .htm, .xhtml), mail (.eml, .mbox), web archives (.warc, .wet, .arc), all of these also "
    "compressed by gzip, zstd, bzip2 or xz, or Parquet, Arrow, Feather"
)
_FOUND = "Inputs are files, directories, URLs such as s3://BUCKET/FOLDER (extra remote), or - for standard input. "
_READ = (
    ". Their first bytes tell the format. Standard input is records of any format, or a web archive. A file that is not "
    "text is an error; in a directory it is passed over and listed."
)
DOCUMENTS = f"{_FOUND}{FORMATS}{_READ}"
INPUTS = f"{_FOUND}{FORMATS}, or the sketches of ndcore sketch{_READ}"
# Titles of groups: the help of every command shows such options under the same title.
INPUT, OUTPUT, DUPLICATES, SHINGLES, RUNNING = "input", "output", "near-duplicates", "shingles and sketches", "running"
VERDICTS = "which pairs count, and what a drop costs"

SIZES = "G is 1024^3 bytes"  # what --memory takes

Group: TypeAlias = argparse._ArgumentGroup
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


@dataclass(frozen=True, kw_only=True)
class TokenOptions(Options):
    """The options of `add_tokens`; None where one was not given."""

    width: int | None
    unit: str | None
    normalize: str | None
    stop_words: Lines | None


def add_tokens(group: Group, width: bool = True) -> None:
    """Add the options that say what a shingle is, or what a token is where nothing has a `width`."""
    if width:
        group.add_argument("--width", type=positive, metavar="W", help="tokens per shingle (default 5)")
    group.add_argument("--unit", choices=UNITS, help="kind of token (default word)")
    group.add_argument(
        "--normalize", choices=tuple(NORMALIZED),
        help="NFKC: Unicode normalization of words and characters; words: compare lines, paragraphs and sentences by their "
             "words (default none)",
    )
    group.add_argument("--stop-words", type=lines, metavar="FILE", help="words to leave out, one per line (default none)")


def add_num_perm(group: Group, what: str = "") -> None:
    """Add --num-perm; `what` begins its help."""
    group.add_argument(
        "--num-perm", type=positive, metavar="N",
        help=f"{what}length of a MinHash signature (default 84, or more if the threshold needs it)",
    )


def add_seed(group: Group) -> None:
    """Add --seed."""
    group.add_argument("--seed", type=seed, metavar="N", help="seed of the random permutations (default 1)")


@dataclass(frozen=True, kw_only=True)
class RecordOptions(Options):
    """The options of `add_record`; None where one was not given."""

    text_field: list[str] | None
    id_field: str | None
    html_part: str | None
    max_record: int
    encoding: str | None
    delimiter: str | None


@dataclass(frozen=True, kw_only=True)
class FieldOptions(RecordOptions):
    """The options of `add_fields`."""

    include: list[str]
    exclude: list[str]
    hidden: bool
    on_error: str


@dataclass(frozen=True, kw_only=True)
class DocumentOptions(TokenOptions, FieldOptions):
    """The options of every command that sketches documents: of `add_tokens`, `add_fields`, `add_running` and its outputs."""

    inputs: list[str]
    seed: int | None
    threads: int | None
    quiet: bool
    json: bool
    overwrite: bool
    dry_run: bool


def add_fields(group: Group) -> None:
    """Add the options of `add_record` and `add_selection`, and what happens to a document that cannot be read."""
    add_record(
        group,
        "field or column that holds the text (default text); data.text is the field text of the object data. Repeatable: "
        "the texts of all fields are joined, each on its own line",
        "field or column that holds the id; every record must have it (default id, or file:line if there is none). In "
        "archives the id is the URL",
    )
    add_selection(group)
    group.add_argument(
        "--on-error", choices=("stop", "skip"), default="stop",
        help="at a document that cannot be read: stop, or skip it and list it (default stop)",
    )


def add_selection(group: Group) -> None:
    """Add the options that select files of directories."""
    group.add_argument(
        "--include", action="append", default=[], metavar="GLOB",
        help="in directories, read only files that match, as '*.txt' or 'docs/**/*.md' (as in .gitignore; repeatable)",
    )
    group.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB",
        help="in directories, leave out files and folders that match (repeatable)",
    )
    group.add_argument(
        "--hidden", action="store_true", help="also read files and folders whose names begin with a dot, as .git"
    )


def add_record(
    group: Group,
    text: str = "field of a record that holds the text (default text). Repeatable: the texts of all fields are joined",
    ident: str = "field that holds the id (default id)",
) -> None:
    """Add the options that say where the text and the id of a record are."""
    group.add_argument("--text-field", action="append", metavar="FIELD", help=text)
    group.add_argument("--id-field", metavar="FIELD", help=ident)
    group.add_argument(
        "--html", dest="html_part", type=part, choices=PARTS,
        help="text of HTML: the whole page, or its main content (the whole page if none is recognized). With this option "
        "the text fields of records are HTML too (default: page, and text fields are plain text)",
    )
    group.add_argument(
        "--max-record", type=memory, default=LONGEST, metavar="SIZE",
        help=f"a longer line, row, record or text is an error, or with --on-error skip left out (default 256M; {SIZES})",
    )
    group.add_argument(
        "--encoding", type=encoding, metavar="NAME",
        help="encoding of text, CSV, and HTML files without a byte order mark, and of mail that names none, as cp1252 or "
        "shift_jis (default: detected). JSON is UTF-8",
    )
    group.add_argument(
        "--delimiter", type=delimiter, metavar="CHAR",
        help="character between the fields of CSV and TSV, or tab (default: in .csv detected among , ; tab |)",
    )


def add_overwrite(group: Group, what: str) -> None:
    """Add --overwrite, which replaces `what`."""
    group.add_argument("--overwrite", action="store_true", help=f"replace {what}")


def add_report(group: Group, what: str) -> None:
    """Add --report, a page for a browser that shows `what`."""
    group.add_argument("--report", metavar="FILE.html", help=f"write a page for a browser: {what}")


def add_dry_run(group: Group) -> None:
    """Add --dry-run."""
    group.add_argument(
        "--dry-run", action="store_true",
        help="read a sample for a few seconds, estimate the number of documents and the time, memory and disk space of the "
        "run, and write nothing",
    )


def add_json(group: Group, what: str = "print the account of the run as one JSON object") -> None:
    """Add --json, which prints `what` for programs."""
    group.add_argument("--json", action="store_true", help=what)


def add_running(p: argparse.ArgumentParser, limit: str | None = None) -> Group:
    """Add --threads, --quiet and, where `limit` says what it bounds, --memory; return their group."""
    group = p.add_argument_group(RUNNING)
    group.add_argument("--threads", type=positive, metavar="N",
                       help="number of threads (default: all cores); results do not depend on it")
    if limit is not None:
        group.add_argument("--memory", dest="memory_limit", type=memory, metavar="SIZE", help=f"{limit} ({SIZES})")
    group.add_argument("-q", "--quiet", action="store_true", help="print no progress and no report")
    return group
