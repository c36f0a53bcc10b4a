"""The arguments of ``ndcore sketch``."""

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
    add_running,
    add_tokens,
)
from ndcore.cli.values import modulus, positive, seed, threshold

__all__ = ["OPTIONS", "add_sketch"]

# kind of sketch -> the options that are for it alone
OPTIONS = {"minhash": ("num_perm", "threshold"), "bottom": ("size",), "mod": ("modulus",), "simhash": ("weights", "learn")}


def _sketch(args: argparse.Namespace) -> int:
    from ndcore.cli.dedup import sketch

    return sketch(args)


def add_sketch(commands: Any) -> None:
    """``ndcore sketch``."""
    p = commands.add_parser(
        "sketch",
        help="sketch now, decide later",
        description="Save the sketches of documents, with their ids: signatures for ndcore dedup, bottom and mod sketches "
        "for ndcore cluster, simhashes for ndcore hamming. " + INPUTS,
    )
    p.set_defaults(run=_sketch)
    p.add_argument("inputs", nargs="+", metavar="IN", help="what to sketch")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", required=True, metavar="FILE.nds", help="file to write; it must not exist")
    add_overwrite(output, "the file, and the one of --learn")
    add_json(output)
    shingles = p.add_argument_group(SHINGLES)
    shingles.add_argument(
        "--kind", choices=tuple(OPTIONS), default="minhash", help="of sketch (default minhash: signatures)"
    )
    add_tokens(shingles)
    shingles.add_argument("--seed", type=seed, metavar="N", help="of the permutations (default 1)")
    kinds = p.add_argument_group("one kind of sketch")
    kinds.add_argument(
        "--threshold", type=threshold, metavar="T",
        help="minhash: lowest threshold that the sketches are for; without --num-perm it decides their length (default 0.8)",
    )
    kinds.add_argument(
        "--num-perm", type=positive, metavar="N",
        help="minhash: length of a signature (default 84, or more if the threshold needs it)",
    )
    kinds.add_argument(
        "--size", type=positive, metavar="S", help="bottom: the S smallest values of a document (default 200)"
    )
    kinds.add_argument(
        "--modulus", type=modulus, metavar="M",
        help="mod: 1 value in M, or adaptive: 50 to 100 of each document (default)",
    )
    kinds.add_argument(
        "--weights", metavar="WEIGHTS",
        help="simhash: distinct, each shingle once, which repetitive files need; or a file of weights (default: as often as "
             "it occurs)",
    )
    kinds.add_argument(
        "--learn", metavar="FILE.ndw",
        help="simhash: read the documents twice; rare shingles weigh more (idf), and FILE.ndw keeps the weights",
    )
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p))
