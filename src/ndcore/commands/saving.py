"""What ``ndcore sketch`` saves: signatures, ids, and digests by which equal documents are known without their texts."""

from __future__ import annotations

import argparse
from typing import Any

from ndcore.commands.deduplicating import open_documents, settings
from ndcore.designing import design_filter
from ndcore.documents import Documents
from ndcore.files.columns import Ids
from ndcore.files.sources import DocumentError, Inputs, UsageError
from ndcore.progress import reporting
from ndcore.reading import sketch_corpus
from ndcore.sketches import Sketches
from ndcore.sketching import MinHasher


def sketch_documents(args: argparse.Namespace, found: Inputs) -> tuple[Documents, Sketches]:
    """Sketch what `found` names and save it under ``args.output``. The sketches of all documents are held in memory."""
    saved = next((source.path for source in found.sources if source.kind == "sketches"), None)
    if saved is not None:
        raise UsageError(f"{saved} holds sketches already; ndcore dedup takes several such files at once")
    shingling, numbers = settings(args, ())
    num_perm = numbers.get("num_perm") or design_filter(args.threshold).num_perm
    hasher = MinHasher(num_perm=num_perm, seed=numbers.get("seed", 1), shingling=shingling)
    with open_documents(args, found) as documents, reporting(not args.quiet) as report:
        sketches, _ = sketch_corpus(documents, hasher, threads=args.threads, report=report)
        if not len(documents) and documents.rejected:
            raise DocumentError(*documents.rejected[0])
    sketches.ids = uniform(documents.ids)
    sketches.save(args.output)
    return documents, sketches


def uniform(ids: Ids) -> list[Any]:
    """The ids as they can be saved: all integers of 64 bits, or all strings."""
    listed = list(ids)
    if all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in listed):
        return listed
    return [str(ident) for ident in listed]
