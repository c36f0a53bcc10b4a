"""The options of ``ndcore dedup`` that no other command has, and the dataclass of all its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ndcore.cli.options import DocumentOptions, Group, add_json, add_overwrite, add_report
from ndcore.cli.values import integer, keep, probability, whole
from ndcore.cli.values import thresholds as ascending_thresholds
from ndcore.dedup.rules import FILTERS
from ndcore.filters.prefix import DROPS
from ndcore.text.agreement import NAMES

__all__ = ["DedupOptions", "add_duplicates", "add_outputs", "add_verdicts"]


@dataclass(frozen=True, kw_only=True)
class DedupOptions(DocumentOptions):
    """The options of ``ndcore dedup``."""

    output: str
    annotate: bool
    table: str | None
    pairs: str | None
    report: str | None
    thresholds: tuple[float, ...]
    filter: Any
    drop: Any
    must_agree: list[str]
    min_shingles: int
    drop_common: float | None
    lost: bool
    reassign: bool
    against: list[str]
    keep: tuple[str, str]
    by: str | None
    one_per: str | None
    cluster: Any
    max_holders: int
    num_perm: int | None
    memory_limit: int | None


def add_outputs(group: Group) -> None:
    """Add the options of the outputs."""
    group.add_argument(
        "-o", "--output", required=True, metavar="OUTDIR",
        help="directory to write; it must not exist. -: print the kept records",
    )
    add_overwrite(group, "OUTDIR and the page of --report if ndcore wrote them, and any file of --table and --pairs")
    group.add_argument(
        "--annotate", action="store_true", help="write all records, with their verdicts, to annotated/ instead of kept/"
    )
    group.add_argument(
        "--table", metavar="FILE",
        help="write every document, kept or not, with its cluster and the cluster size to a .parquet, .csv or .jsonl file",
    )
    group.add_argument("--pairs", metavar="FILE", help="write the accepted pairs to such a file")
    add_report(group, "charts, the largest clusters, texts side by side")
    add_json(group, "print summary.json instead of the report")


def add_duplicates(group: Group) -> None:
    """Add the options that say which documents are near-duplicates, and which of them to keep."""
    group.add_argument(
        "--threshold", dest="thresholds", type=ascending_thresholds, default=(0.8,), metavar="T[,T]",
        help="Jaccard similarity (resemblance) from which documents are near-duplicates; with --drop contained the "
        "containment (default 0.8). With several, as 0.7,0.8,0.9, the inputs are read once, and OUTDIR gets a folder for "
        "each",
    )
    group.add_argument(
        "--filter", choices=FILTERS, default="auto",
        help="how candidate pairs are found. lsh: by MinHash bands, which misses a pair at the threshold with a probability "
        "of at most 0.001. complete: prefix filtering over all shingles, which misses no pair, and takes 8 bytes of "
        "temporary disk for each shingle. auto: the cheaper one, by an estimate from the first documents; --drop contained "
        "always misses none (default auto)",
    )
    group.add_argument(
        "--against", action="append", default=[], metavar="IN",
        help="also drop near-duplicates of the documents in this file, directory, file of signatures or collection of "
        "signatures (ndcore cluster --method features); IN stays as it is. Repeatable",
    )
    group.add_argument(
        "--keep", type=keep, default=("first", ""), metavar="RULE",
        help="document to keep of a cluster: first, longest, FIELD:desc or FIELD:asc (default first). Strings that are "
        "all numbers, or all dates (ISO 8601, RFC 2822), are compared as such. Archives have the fields url, host and date",
    )
    group.add_argument("--by", metavar="FIELD", help="compare only documents with the same value in this field")
    group.add_argument(
        "--one-per", metavar="FIELD",
        help="of documents with the same value in this field keep at most one, the first by --keep, even if their texts "
        "differ: --one-per url --keep date:desc keeps the newest capture of every page",
    )
    group.add_argument(
        "--clustering", dest="cluster", choices=("star", "components", "greedy"), default="star",
        help="how pairs become clusters (default star)",
    )
    group.add_argument(
        "--max-holders", type=integer(2), default=1000, metavar="N",
        help="if more than N documents share a feature (an LSH band; of the complete filter a shingle), compare them only "
        "with representatives (default 1000)",
    )


def add_verdicts(group: Group) -> None:
    """Add the options that change which pairs count, and what becomes of the documents that are dropped."""
    group.add_argument(
        "--drop", choices=DROPS, default="resembling",
        help="documents to drop. resembling: those that resemble a kept document. contained: those that are contained in "
        "one, as an excerpt in a longer document: at least the share T of their shingles is in it. Add --keep longest, or "
        "an excerpt that comes first is kept as well (default resembling)",
    )
    group.add_argument(
        "--must-agree", action="append", choices=NAMES, default=[], metavar="NAME",
        help="never drop a document for one that differs from it in the sequence of its words with a digit (numbers), in "
        "its title or first line (title), or in its words of negation (negations). Repeatable",
    )
    group.add_argument(
        "--min-shingles", type=whole, default=0, metavar="N",
        help="leave documents of fewer shingles alone, unless their words equal another's (default 0)",
    )
    group.add_argument(
        "--drop-common", type=probability, metavar="SHARE",
        help="leave shingles out of the comparison that more than this share of the documents have, and at least 20: "
        "boilerplate, such as menus and legal notices. 0.05 is 5 percent (default: none)",
    )
    group.add_argument(
        "--reassign", action="store_true",
        help="at the end, move each dropped document to the kept one with the highest score (resemblance or containment), "
        "earlier or later; the same documents are kept",
    )
    group.add_argument(
        "--lost", action="store_true",
        help="count the shingles of each dropped document that no kept document has, and list the largest losses first",
    )
