"""``ndcore sketch``: sketches of any kind, with ids, and digests by which equal documents are known."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.dry_run import of_sketch
from ndcore.cli.inputs import SKETCHES, find_inputs, open_documents, settings, uniform
from ndcore.cli.options import (
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    Commands,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_running,
    add_tokens,
)
from ndcore.cli.summary import nothing_found, printable
from ndcore.cli.values import modulus, positive, seed, threshold
from ndcore.dedup.first_pass import sketch_corpus
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.output_paths import check_output
from ndcore.files.sources import Inputs
from ndcore.filters.search import design_filter
from ndcore.human import counted
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, by_position, reporting
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import Idf
from ndcore.storage.container import kind_of
from ndcore.text.inputs import pieces

__all__ = ["OPTIONS", "add_sketch"]

THRESHOLD = 0.8
# kind of sketch -> the options that are for it alone
OPTIONS = {"minhash": ("num_perm", "threshold"), "bottom": ("size",), "mod": ("modulus",), "simhash": ("weights", "learn")}
_NEXT = {
    "minhash": "ndcore dedup {0} -o OUTDIR, or ndcore dedup IN -o OUTDIR --against {0}",
    "bottom": "ndcore cluster {0} -o COLLECTION",
    "mod": "ndcore cluster {0} -o COLLECTION",
    "simhash": "ndcore hamming pairs {0}, or ndcore hamming build {0} -o INDEX",
}


def add_sketch(commands: Commands) -> None:
    """``ndcore sketch``."""
    p = commands.add_parser(
        "sketch",
        help="sketch now, decide later",
        description="Save the sketches of documents, with their ids: signatures for ndcore dedup, bottom and mod sketches "
        "for ndcore cluster, simhashes for ndcore hamming. " + INPUTS,
    )
    p.set_defaults(run=run_sketch)
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


def run_sketch(args: argparse.Namespace) -> int:
    """``ndcore sketch``."""
    check_output(args.output, "file of sketches", overwrite=args.overwrite, ours=_is("sketches"), inputs=args.inputs)
    if args.learn is not None:
        _check_learned(args)
    (found,) = find_inputs(args, (args.inputs, {SKETCHES}))
    if args.dry_run:
        return of_sketch(args, found, planned_sketcher(args, found))
    documents, sketches = sketch_documents(args, found)
    args.outcome.written = True
    summary.print_rejected(documents.rejected, sys.stderr)  # no other file lists them
    if args.json:
        print(json.dumps(_account(args, documents, sketches), indent=2))
    elif not args.quiet:
        size = Path(args.output).stat().st_size
        empty = len(sketches) - int(sketches.valid.sum())
        without = f", {empty:,} of them without shingles," if empty else ""
        name = printable(args.output)
        print(f"Sketched {counted(len(sketches), 'document')}{without} to {name} ({size:,} bytes)")
        ignored = Counter(item.kind for item in documents.ignored)
        for number, noun, what in summary.left_out(documents.excluded, ignored, "--json lists"):
            if number:
                print(f"  note: {counted(number, noun)} {what}")
        if documents.without_main:
            print(f"  note: {counted(documents.without_main, 'page')} {summary.NO_MAIN}")
        print(f"Next: {_NEXT[args.kind].format(name)}")
    return 0


def _account(args: argparse.Namespace, documents: Documents, sketches: Sketches) -> dict[str, Any]:
    """The account of ``ndcore sketch``; equal runs, equal bytes."""
    return {
        "ndcore": __version__,
        "output": args.output,
        "file_bytes": Path(args.output).stat().st_size,
        "counts": {
            "read": documents.read,
            "sketched": len(sketches),
            "without_shingles": len(sketches) - int(sketches.valid.sum()),
            "rejected": len(documents.rejected),
        },
        "recipe": {"id": sketches.recipe.id, "parameters": json.loads(sketches.recipe.to_json())},
        "inputs": summary.input_counts(documents, None),
        "rejected": summary.rejected_list(documents.rejected),
        "ignored": summary.ignored_list(documents.ignored),
        "excluded": documents.excluded,
    }


def _check_learned(args: argparse.Namespace) -> None:
    """UsageError where ``--learn`` cannot write its weights, or should not."""
    if args.weights is None and Path(args.learn).is_file() and not args.overwrite:
        raise UsageError(f"{args.learn} exists already: take its weights with --weights {args.learn}, or --overwrite it")
    check_output(args.learn, "file of weights", overwrite=args.overwrite, ours=_is("idf"), inputs=args.inputs)


def _is(kind: str) -> Callable[[Path], bool]:
    return lambda path: kind_of(path) == kind


def planned_sketcher(args: argparse.Namespace, found: Inputs) -> Sketcher:
    """The sketcher that the command line asks for; weights that would be learned are left out."""
    _refuse_sketches(found)
    _refuse_options(args)
    weights = Idf.load(args.weights) if args.weights not in (None, "distinct") else args.weights
    shingling, numbers = settings(args, [weights] if isinstance(weights, Idf) else [], ("seed",))
    return _sketcher(args, numbers.get("seed", 1), shingling, weights)


def _refuse_sketches(found: Inputs) -> None:
    saved = next((source.path for source in found.sources if source.kind == "sketches"), None)
    if saved is not None:
        raise UsageError(f"{saved} holds sketches already; ndcore dedup takes several such files at once")


def sketch_documents(args: argparse.Namespace, found: Inputs) -> tuple[Documents, Sketches]:
    """Sketch what `found` names and save it under ``args.output``. The sketches of all documents are held in memory."""
    sketcher = planned_sketcher(args, found)
    shingling = sketcher.shingling
    with open_documents(args, found) as documents, reporting(not args.quiet) as counting:
        report = by_position(counting, "sketching", documents.position)
        if args.learn is not None:
            weights: Idf = Idf.learn(itertools.chain.from_iterable(documents.batches()), shingling, 1, args.threads, report)
            weights.save(args.learn)
            args.outcome.message = (
                f"the weights are learned: the same command with --weights {args.learn}, without --learn, goes on"
            )
            sketcher = _sketcher(args, sketcher.recipe["seed"], shingling, weights)
        if isinstance(sketcher, MinHasher):
            sketches, _ = sketch_corpus(documents, sketcher, threads=args.threads, report=report)
        else:
            sketches = _sketched(documents, sketcher, args.threads, report)
        if not documents.read and documents.ignored:
            raise nothing_found(args.inputs[0], documents.ignored)
        if not len(documents) and documents.rejected:
            raise DocumentError(*documents.rejected[0])
    sketches.ids = uniform(documents.ids)
    sketches.save(args.output)
    args.outcome.message = ""
    return documents, sketches


def _refuse_options(args: argparse.Namespace) -> None:
    """UsageError for options of other sketches, and for weights that are to be read and to be learned."""
    for kind, names in OPTIONS.items():
        given = next((name for name in names if getattr(args, name) is not None), None)
        if kind != args.kind and given is not None:
            raise UsageError(f"--{given.replace('_', '-')} is for --kind {kind}; these sketches are --kind {args.kind}")
    if args.learn is not None:
        if args.weights is not None:
            raise UsageError("--learn gives the weights; leave --weights out")
        if Path(args.learn).resolve() == Path(args.output).resolve():
            raise UsageError(f"weights and sketches cannot both be written to {args.output}")


def _sketcher(args: argparse.Namespace, seed: int, shingling: Any, weights: Any) -> Sketcher:
    if args.kind == "bottom":
        return BottomSketcher(args.size or 200, seed=seed, shingling=shingling)
    if args.kind == "mod":
        return ModSketcher(args.modulus or "adaptive", seed, shingling)
    if args.kind == "simhash":
        return SimHasher(weights=weights, seed=seed, shingling=shingling)
    return MinHasher(args.num_perm or design_filter(args.threshold or THRESHOLD).num_perm, seed=seed, shingling=shingling)


def _sketched(documents: Documents, sketcher: Sketcher, threads: int | None, report: Progress) -> Sketches:
    """Sketches of all documents, a batch at a time."""
    parts = (piece for batch in documents.batches() for piece in pieces(batch))
    done, count = [], 0
    for part in map_pieces(sketcher.sketch_piece, parts, threads):
        done.append(part)
        count += len(part.valid)
        report("sketching", count, None)
    return sketcher.gather(done)
