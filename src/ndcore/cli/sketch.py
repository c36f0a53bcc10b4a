"""What ``ndcore sketch`` saves: sketches of any kind, with ids, and digests by which equal documents are known."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

from ndcore.cli.dedup_run import open_documents, settings
from ndcore.cli.sketch_arguments import OPTIONS
from ndcore.cli.summary import nothing_found
from ndcore.dedup.first_pass import sketch_corpus
from ndcore.files.document_fields import Ids
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.sources import Inputs
from ndcore.filters.search import design_filter
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, by_position, reporting
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import Idf
from ndcore.text.inputs import pieces

THRESHOLD = 0.8


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


def uniform(ids: Ids) -> list[Any]:
    """The ids as they can be saved: all integers of 64 bits, or all strings."""
    listed = list(ids)
    if all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in listed):
        return listed
    return [str(ident) for ident in listed]
