"""The command line of a job on Spark: the options of ``ndcore dedup`` by the same names, and two of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ndcore._version import __version__
from ndcore.choices import AGREEMENTS, DROPS, FILTERS, NORMALIZED, UNITS
from ndcore.dedup.rules import CALLERS
from ndcore.dedup.settings import settings_beside
from ndcore.human import enumerated
from ndcore.text.shingling import Shingling

FORMATS = {"auto": None, "parquet": True, "files": False}  # whether the inputs are Parquet
REFUSED = {name: reason for name, reason in CALLERS["spark dedup"].items() if reason}


@dataclass(frozen=True)
class JobOptions:
    """The options of ``dedup``; options of the shingling are None if they were not given."""

    input: list[str]
    output: str
    format: str
    against: list[str]
    text_field: str
    id_field: str | None
    html: str | None
    threshold: float
    filter: Any
    drop: Any
    lost: bool
    keep: tuple[str, str]
    by: str | None
    one_per: str | None
    must_agree: list[str]
    reassign: bool
    clustering: Any
    max_holders: int
    min_shingles: int
    drop_common: float | None
    num_perm: int
    seed: int
    width: int | None
    unit: Any
    normalize: Any
    stop_words: str | None
    settings: str | None
    directory: str | None
    task_pairs: int
    dry_run: bool

    @property
    def rules(self) -> dict[str, Any]:
        """The parameters of `near_duplicates` that determine its verdicts, by name."""
        names = ("threshold", "filter", "drop", "lost", "must_agree", "reassign", "max_holders", "min_shingles",
                 "drop_common", "num_perm", "seed")
        return {**{name: getattr(self, name) for name in names}, "cluster": self.clustering, "shingling": self.shingling}

    @property
    def shingling(self) -> Shingling:
        """The shingling of these options."""
        given = {"unit": self.unit, "width": self.width, "normalize": self.normalize}
        if self.stop_words is not None:
            given["stop_words"] = Path(self.stop_words).read_text(encoding="utf-8").splitlines()
        return Shingling(**{name: value for name, value in given.items() if value is not None})


class _Parser(argparse.ArgumentParser):
    """A parser that accepts only whole names, and says which options only the local command has."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        for word in args or ():
            name = str(word).partition("=")[0]
            if name in REFUSED:
                self.error(f"{name} is an option of ndcore dedup, and not available on Spark, because {REFUSED[name]}; "
                           "leave it out, or run it locally")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the message and a pointer to the help, and exit with 2."""
        self.exit(2, f"{self.prog}: {message}\nHelp: {self.prog} --help\n")


def parse(argv: Sequence[str]) -> JobOptions | None:
    """Parse the arguments of ``ndcore.spark``; None if they only ask for the path to submit, which is printed.

    Raises SystemExit(2) for errors, and SystemExit(0) after --help and --version.
    """
    parser = _Parser(prog="ndcore.spark", allow_abbrev=False, description="Jobs on Apache Spark; see docs/spark.md.")
    parser.add_argument("--version", action="version", version=f"ndcore {__version__}")
    parser.add_argument("--path", action="store_true", help="print the file to give to spark-submit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    dedup = commands.add_parser("dedup", allow_abbrev=False, help="remove near-duplicate documents")
    _add_dedup(dedup)
    given = vars(parser.parse_args(argv))
    path, command = given.pop("path"), given.pop("command")
    if path:
        print(Path(__file__).with_name("__main__.py"))
        return None
    if command is None:
        parser.error("name a command: dedup")
    if given["settings"] is not None:
        try:
            given |= _settings(given, dedup)
        except (ValueError, OSError) as error:
            dedup.error(str(error))
    return JobOptions(**given)


def _settings(given: Mapping[str, Any], parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the options of --settings. Raises ValueError if one of them was given too."""
    changed = {"cluster" if name == "clustering" else name: f"--{name.replace('_', '-')}"
               for name, value in given.items() if value != parser.get_default(name)}
    taken = settings_beside(given["settings"], changed, "spark dedup")
    return {"clustering" if name == "cluster" else name: value for name, value in taken.items()}


def _add_dedup(p: argparse.ArgumentParser) -> None:
    """Add the options of ``dedup``."""
    p.add_argument("--input", action="extend", nargs="+", required=True, metavar="IN",
                   help="Parquet files or directories of them; or text, JSONL, JSON, CSV, HTML, web archives, or "
                   "directories of them. All executors must reach them")
    p.add_argument("--output", required=True, metavar="OUTDIR", help="directory or URI to write; kept/, verdicts/, summary/")
    p.add_argument("--format", choices=tuple(FORMATS), default="auto",
                   help="whether the inputs are Parquet, read by Spark, or other files, each read by a task (default: as "
                   "their first bytes say, of URLs their names)")
    p.add_argument("--against", action="extend", nargs="+", default=[], metavar="IN",
                   help="also drop near-duplicates of the documents in IN")
    p.add_argument("--text-field", default="text", metavar="FIELD", help="column or field of the text (default text)")
    p.add_argument("--id-field", metavar="FIELD", help="column or field that is the key (default: file and row or record)")
    p.add_argument("--html", choices=("page", "main"), help="text of HTML, and of text fields")
    p.add_argument("--threshold", type=float, default=0.8, metavar="T", help="Jaccard similarity (default 0.8)")
    p.add_argument("--filter", choices=FILTERS, default="auto",
                   help="lsh: by MinHash bands, which misses a pair at the threshold with a probability of at most 0.001. "
                   "complete: by rare shingles, which misses none. auto: lsh, with --drop contained complete (default auto)")
    p.add_argument("--drop", choices=DROPS, default="resembling", help="as of ndcore dedup (default resembling)")
    p.add_argument("--lost", action="store_true",
                   help="count the shingles of each dropped document that no kept document has")
    p.add_argument("--keep", type=_keep, default=("first", ""), metavar="RULE",
                   help="first, longest, FIELD:desc or FIELD:asc (default first: by key). Strings that are all numbers, or "
                   "all dates (ISO 8601, RFC 2822), are compared as such")
    p.add_argument("--by", metavar="FIELD", help="compare only documents with the same value in this field")
    p.add_argument("--one-per", metavar="FIELD", help="of documents with the same value in this field keep at most one")
    p.add_argument("--must-agree", action="append", choices=AGREEMENTS, default=[], metavar="NAME",
                   help=f"never drop a document for one that differs from it in its {enumerated(AGREEMENTS)}; repeatable")
    p.add_argument("--reassign", action="store_true", help="drop each document for the kept one that it resembles most")
    p.add_argument("--clustering", choices=("star", "components", "greedy"), default="star")
    for name, default in (("--max-holders", 1000), ("--min-shingles", 0), ("--num-perm", 84), ("--seed", 1)):
        p.add_argument(name, type=int, default=default, metavar="N", help=f"as of ndcore dedup (default {default})")
    p.add_argument("--drop-common", type=float, metavar="SHARE",
                   help="leave shingles out of the comparison that more than this share of the documents have, and at least "
                   "20: boilerplate. 0.05 is 5 percent (default: none)")
    p.add_argument("--width", type=int, metavar="W", help="tokens per shingle (default 5)")
    p.add_argument("--unit", choices=UNITS, help="kind of token (default word)")
    p.add_argument("--normalize", choices=tuple(NORMALIZED),
                   help="NFKC; scan, of characters alone; or words, of lines and sentences (default none)")
    p.add_argument("--stop-words", metavar="FILE", help="words to leave out (default none)")
    p.add_argument("--settings", metavar="FILE.toml",
                   help="take threshold, shingles and rules from this file of the driver, or the name noisy")
    p.add_argument("--directory", metavar="DIR",
                   help="directory or URI where a folder holds intermediate results until the end (default OUTDIR)")
    p.add_argument("--task-pairs", type=int, default=1 << 22, metavar="N",
                   help="accepted pairs that one task holds at most (default 4194304)")
    p.add_argument("--dry-run", action="store_true",
                   help="read a sample, estimate tasks, hours, shuffle and disk of the job, and write nothing")


def _keep(text: str) -> tuple[str, str]:
    """Parse the rule of --keep to (rule, "") or (field, order)."""
    field, colon, order = text.rpartition(":")
    if text not in ("first", "longest") and not (colon and field and order in ("asc", "desc")):
        raise argparse.ArgumentTypeError(f"{text!r} is none of first, longest, FIELD:desc, FIELD:asc")
    return (field, order) if colon else (text, "")
