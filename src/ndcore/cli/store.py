"""``ndcore store``: its commands, and ``create``; the others stand in ``store_*.py``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ndcore.cli.inputs import checked_shingling
from ndcore.cli.options import (
    DUPLICATES,
    OUTPUT,
    RUNNING,
    SHINGLES,
    Commands,
    TokenOptions,
    add_json,
    add_num_perm,
    add_seed,
    add_tokens,
)
from ndcore.cli.store_access import described, print_json
from ndcore.cli.store_decide import add_decide
from ndcore.cli.store_lookup import add_history, add_locate, add_query
from ndcore.cli.store_upkeep import add_backup, add_check, add_compact, add_expire, add_merge, add_repair, add_stats
from ndcore.cli.values import threshold, whole
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.store.settings import EVIDENCE, KEYS, SCOPES
from ndcore.store.store import Store
from ndcore.text.agreement import NAMES

__all__ = ["add_store"]


def add_store(commands: Commands) -> None:
    """Add ``ndcore store`` with its own commands."""
    top = commands.add_parser(
        "store",
        description="Keep what a crawler has seen in a directory: a verdict for each page as it comes, clusters, versions "
        "of each page, and the latest page of a cluster (lost and found). ndcore store create makes a store, ndcore store "
        "decide adds pages.",
    )
    parts = top.add_subparsers(dest="part", required=True, metavar="COMMAND", help="what to do")
    _add_create(parts)
    add_decide(parts)
    add_query(parts)
    add_locate(parts)
    add_history(parts)
    add_stats(parts)
    add_check(parts)
    add_repair(parts)
    add_backup(parts)
    add_compact(parts)
    add_expire(parts)
    add_merge(parts)


@dataclass(frozen=True, kw_only=True)
class CreateOptions(TokenOptions):
    """Options of ``ndcore store create``; None: not given."""

    store: str
    threshold: float | None
    scope: Literal["all", "host"]
    keys: Literal["plain", "url"]
    evidence: Literal["text", "shingles", "sketch"]
    must_agree: list[str]
    min_shingles: int
    num_perm: int | None
    seed: int | None
    json: bool
    quiet: bool


def _add_create(parts: Any) -> None:
    """Add ``ndcore store create`` to the commands."""
    p = parts.add_parser(
        "create",
        help="make an empty store",
        description="Make an empty store. Its settings are fixed: another threshold needs another store.",
    )
    p.set_defaults(run=run_create, options=CreateOptions)
    p.add_argument("store", metavar="STORE", help="directory to make; it must not exist, or be empty")
    near = p.add_argument_group(DUPLICATES)
    near.add_argument("--threshold", type=threshold, metavar="T",
                      help="resemblance (Jaccard similarity) from which pages are near-duplicates (default 0.8)")
    near.add_argument("--scope", choices=SCOPES, default="all",
                      help="pages that are compared: all, or pages of one host, whose keys are URLs (default all)")
    near.add_argument(
        "--must-agree", action="append", choices=NAMES, default=[], metavar="NAME",
        help="never take a page for a near-duplicate of one that differs from it in the sequence of its words with a digit "
        "(numbers), in its first line (title), or in its words of negation (negations). Repeatable; needs --evidence text",
    )
    near.add_argument("--min-shingles", type=whole, default=0, metavar="N",
                      help="leave pages of fewer shingles alone, unless their words equal another's (default 0)")
    kept = p.add_argument_group("what is kept")
    kept.add_argument("--keys", choices=KEYS, default="plain",
                      help="keys of pages: plain, or url: normalised by w3lib, so parameters in another order make the same "
                      "page (default plain)")
    kept.add_argument("--evidence", choices=EVIDENCE, default="text",
                      help="what is kept of each page: its text, its shingles, or its sketch alone, with which verdicts are "
                      "estimates (default text)")
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    add_num_perm(shingles)
    add_seed(shingles)
    add_json(p.add_argument_group(OUTPUT), "print the settings as one JSON object")
    p.add_argument_group(RUNNING).add_argument("-q", "--quiet", action="store_true", help="print no report")


def run_create(options: CreateOptions) -> int:
    """Run ``ndcore store create``."""
    place = Path(options.store)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{options.store} exists already; name another directory, or add pages to a store with ndcore "
                         "store decide")
    if options.must_agree and options.evidence != "text":
        raise UsageError(f"--must-agree compares keys of the texts, and --evidence {options.evidence} keeps no texts")
    if options.min_shingles and options.evidence == "sketch":
        raise UsageError("--min-shingles counts shingles, and --evidence sketch keeps none")
    tokens = {field.name: getattr(options, field.name) for field in dataclasses.fields(TokenOptions)}
    shingling = checked_shingling(**{name: tokens[name] for name in ("width", "unit", "normalize", "stop_words")})
    with Store.open(
        options.store, threshold=options.threshold, shingling=shingling, num_perm=options.num_perm, seed=options.seed,
        evidence=options.evidence, scope=options.scope, keys=options.keys, min_shingles=options.min_shingles,
        must_agree=options.must_agree,
    ) as store:
        found = described(store)
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, **found})
    elif not options.quiet:
        print(f"Made the store {printable(options.store)}; ndcore store decide {printable(options.store)} IN adds pages")
    return 0
