"""The arguments of ``ndcore cluster``."""

from __future__ import annotations

import argparse
from typing import Any

from ndcore.cli.options import (
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_report,
    add_running,
    add_tokens,
)
from ndcore.cli.values import integer, modulus, positive, seed, threshold

__all__ = ["add_cluster"]


def _cluster(args: argparse.Namespace) -> int:
    from ndcore.cli.cluster_build import cluster

    return cluster(args)


def add_cluster(commands: Any) -> None:
    """``ndcore cluster``."""
    p = commands.add_parser(
        "cluster",
        help="cluster a whole collection, and keep it to be asked",
        description="Cluster a collection by the sketches of its documents (Broder et al. 1997), and keep sketches, sorted "
        "entries, pairs and clusters in a directory for ndcore query. Texts are not compared: ndcore dedup does that. "
        + INPUTS,
        epilog="What is interrupted goes on where it was when the same command is given again. With a collection as the "
        "only input, and without -o, other clusters are made of it, from the pairs that were counted; with -o, another "
        "collection of its sketches. With a collection and documents, -o is a collection of both: the documents come last, "
        "and are sketched and clustered as those of the collection were, but for the options that are given.",
    )
    p.set_defaults(run=_cluster, actions=p._actions)
    p.add_argument("inputs", nargs="+", metavar="IN", help="what to cluster; a collection; or both")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", metavar="COLLECTION", help="directory to make, or to go on with")
    add_overwrite(output, "COLLECTION if it is one, and the page of --report")
    add_report(output, "charts and the largest clusters")
    add_json(output)
    last = p.add_argument_group("clusters")
    last.add_argument("--threshold", type=threshold, metavar="T", help="from which documents go together (default 0.5)")
    last.add_argument(
        "--policy", choices=("resemblance", "containment"), help="what the threshold is for; containment: of one of two "
        "documents in the other (default resemblance)",
    )
    last.add_argument(
        "--clustering", dest="cluster", choices=("star", "components", "greedy", "popular"),
        help="how pairs become clusters (default star)",
    )
    last.add_argument(
        "--guard", type=threshold, metavar="G",
        help="with components: make stars where a member resembles its representative less than G",
    )
    first = p.add_argument_group(SHINGLES)
    add_tokens(first)
    first.add_argument(
        "--modulus", type=modulus, metavar="M",
        help="sketch 1 shingle in M, or adaptive: 50 to 100 of each document (default)",
    )
    first.add_argument("--seed", type=seed, metavar="N", help="of the permutation (default 1)")
    first.add_argument(
        "--method", choices=("shingles", "super-shingles", "features"),
        help="what documents must share to be compared (default shingles: nothing is missed)",
    )
    first.add_argument(
        "--run-length", type=integer(1, 1 << 16), metavar="N", help="shingles in a super-shingle (default 14)"
    )
    first.add_argument(
        "--max-holders", type=positive, metavar="N",
        help="shingles that more documents hold propose no pairs (default 1000)",
    )
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "use about so much at a time, for instance 2G"))
