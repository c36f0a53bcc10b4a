"""The options of ``ndcore dedup``: the arguments of its own, and what they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ndcore.cli.options import DocumentOptions, Group, add_json, add_overwrite, add_report
from ndcore.cli.values import integer, keep
from ndcore.cli.values import thresholds as ascending_thresholds

__all__ = ["DedupOptions", "add_duplicates", "add_outputs"]


@dataclass(frozen=True, kw_only=True)
class DedupOptions(DocumentOptions):
    """The options of ``ndcore dedup``."""

    output: str
    annotate: bool
    table: str | None
    pairs: str | None
    report: str | None
    thresholds: tuple[float, ...]
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
        help="Jaccard similarity (resemblance) from which documents are near-duplicates (default 0.8). With several, as "
        "0.7,0.8,0.9, the inputs are read once, and OUTDIR gets a folder for each",
    )
    group.add_argument(
        "--against", action="append", default=[], metavar="IN",
        help="also drop near-duplicates of the documents in this file, directory, file of signatures or collection of "
        "signatures (ndcore cluster --method features); IN stays as it is. Repeatable",
    )
    group.add_argument(
        "--keep", type=keep, default=("first", ""), metavar="RULE",
        help="document to keep of a cluster: first, longest, FIELD:desc or FIELD:asc (default first). Archives have the "
        "fields url, host and date",
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
        help="if N or more documents share a feature (an LSH band), compare only with representatives (default 1000)",
    )
