"""``ndcore sketch``: save sketches of any kind, with ids, and with digests that identify equal documents."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ndcore._version import __version__
from ndcore.choices import SIMHASH_BITS
from ndcore.cli import summary
from ndcore.cli.account import Account, Note, Notes, TextBlock, present, recipe_data
from ndcore.cli.command import option_of
from ndcore.cli.commands import SketchOptions
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import choose_settings, find_inputs, load_weights, open_documents, refuse_nothing_read, uniform
from ndcore.dedup.documents import sketch_corpus
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import SKETCHES
from ndcore.files.outputs import check_output
from ndcore.files.sources import Inputs
from ndcore.filters.search import design_filter
from ndcore.human import counted, pasted, printable
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, by_position, reporting
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import Idf
from ndcore.sketch.winnow import Winnower
from ndcore.stats.ratio import Range
from ndcore.storage.container import kind_of
from ndcore.storage.staging import Staging
from ndcore.text.inputs import pieces

THRESHOLD = 0.8
# kind of sketch -> the options that only it has
OPTIONS = {"minhash": ("num_perm", "threshold"), "bottom": ("size",), "mod": ("modulus",),
           "simhash": ("bits", "weights", "learn"), "winnow": ("window",)}
NEXT = {  # kind of sketch -> what to do with the file
    "minhash": "ndcore dedup {0} -o OUTDIR, or ndcore dedup IN -o OUTDIR --against {0}",
    "bottom": "ndcore cluster {0} -o COLLECTION",
    "mod": "ndcore cluster {0} -o COLLECTION",
    "simhash": "ndcore hamming pairs {0}, or ndcore hamming build {0} -o INDEX",
    "winnow": "ndcore.load({1!r}) in Python, which has the positions; ndcore info {0}",
}


def run_sketch(options: SketchOptions) -> int:
    output, overwrite, paths = options.output, options.overwrite, options.inputs
    check_output(output, "file of sketches", overwrite=overwrite, ours=_match("sketches"), inputs=paths)
    if options.learn is not None:
        if options.weights is None and Path(options.learn).is_file() and not overwrite:
            advice = f"take its weights with --weights {options.learn}, or --overwrite it"
            raise UsageError(f"{options.learn} exists already: {advice}")
        check_output(options.learn, "file of weights", overwrite=overwrite, ours=_match("idf"), inputs=paths)
    (inputs,) = find_inputs(options, (paths, {SKETCHES}))
    sketcher = _plan_sketcher(options, inputs)
    if options.dry_run:
        return _estimate(options, inputs, sketcher)
    with contextlib.ExitStack() as stack:
        for path in filter(None, (output, options.learn)):
            stack.enter_context(Staging(path))
        check_output(output, "file of sketches", overwrite=overwrite, ours=_match("sketches"))  # another job may have ended
        documents, sketches = _save_sketches(options, inputs, sketcher)
    options.outcome.written = True
    summary.print_rejected(documents.rejected, sys.stderr)  # no other file lists them
    return present(options, _make_account(options, documents, sketches))


def _match(kind: str) -> Callable[[Path], bool]:
    """Make the function that tells whether a file of ndcore has a given kind."""
    return lambda path: kind_of(path) == kind


# ---- sketching


def _plan_sketcher(options: SketchOptions, inputs: Inputs) -> Sketcher:
    """Make the sketcher of the options, without weights that must be learned first.

    Raises UsageError if the inputs are sketches, or an option belongs to another kind of sketch.
    """
    saved = next((source.path for source in inputs.sources if source.kind == SKETCHES), None)
    if saved is not None:
        raise UsageError(f"{saved} holds sketches already; ndcore dedup takes several such files at once")
    _refuse_options(options)
    weights = options.weights if options.weights in (None, "distinct") else load_weights(options.weights)
    shingling, numbers = choose_settings(options, [weights] if isinstance(weights, Idf) else [], seed=options.seed)
    return _make_sketcher(options, numbers.get("seed", 1), shingling, weights)


def _refuse_options(options: SketchOptions) -> None:
    """Raise UsageError for options of another kind of sketch, and for weights that are both read and learned."""
    for kind, names in OPTIONS.items():
        given = next((name for name in names if getattr(options, name) is not None), None)
        if kind != options.kind and given is not None:
            raise UsageError(f"{option_of(given)} is for --kind {kind}; these sketches are --kind {options.kind}")
    if options.learn is not None:
        if options.weights is not None:
            raise UsageError("--learn gives the weights; leave --weights out")
        if Path(options.learn).resolve() == Path(options.output).resolve():
            raise UsageError(f"weights and sketches cannot both be written to {options.output}")


def _make_sketcher(options: SketchOptions, seed: int, shingling: Any, weights: Any) -> Sketcher:
    """Make the sketcher of the kind in the options."""
    if options.kind == "bottom":
        return BottomSketcher(options.size or 200, seed=seed, shingling=shingling)
    if options.kind == "mod":
        return ModSketcher(options.modulus or "adaptive", seed, shingling)
    if options.kind == "simhash":
        bits: Any = int(options.bits or SIMHASH_BITS[0])
        return SimHasher(bits, weights, seed, shingling)
    if options.kind == "winnow":
        return Winnower(options.window or 16, shingling, seed=seed)
    num_perm = options.num_perm or design_filter(options.threshold or THRESHOLD).num_perm
    return MinHasher(num_perm, seed=seed, shingling=shingling)


def _save_sketches(options: SketchOptions, inputs: Inputs, sketcher: Sketcher) -> tuple[FileDocuments, Sketches]:
    """Sketch all documents in memory, then save the sketches."""
    with open_documents(options, inputs) as documents, reporting(not options.quiet) as counting:
        report = by_position(counting, "sketching", documents.position)
        if options.learn is not None:
            texts, shingling = itertools.chain.from_iterable(documents.batches()), sketcher.shingling
            weights = Idf.learn(texts, shingling, threads=options.threads, progress=report)
            weights.save(options.learn)
            options.outcome.message = (
                f"the weights are learned: the same command with --weights {options.learn}, without --learn, goes on"
            )
            sketcher = _make_sketcher(options, sketcher.recipe["seed"], shingling, weights)
        if isinstance(sketcher, MinHasher):
            sketches, _ = sketch_corpus(documents, sketcher, threads=options.threads, report=report)
        else:
            sketches = _sketch_all(documents, sketcher, options.threads, report)
        refuse_nothing_read(documents, options.inputs[0])
    sketches.ids = list(uniform(documents.ids))
    sketches.save(options.output)
    options.outcome.message = ""
    return documents, sketches


def _sketch_all(documents: FileDocuments, sketcher: Sketcher, threads: int | None, report: Progress) -> Sketches:
    """Sketch all documents, a batch at a time."""
    parts = (piece for batch in documents.batches() for piece in pieces(batch))
    done, count = [], 0
    for part in map_pieces(sketcher.sketch_piece, parts, threads):
        done.append(part)
        count += len(part.valid)
        report("sketching", count, None)
    return sketcher.gather(done)


def _estimate(options: SketchOptions, inputs: Inputs, sketcher: Sketcher) -> int:
    """Estimate the costs of the run: the file has the sketches, ids and, with signatures, digests."""
    fixed = 60 if isinstance(sketcher, MinHasher) else 26
    costs = Costs(
        memory=lambda documents, stored, each: documents * (3 * each + 700),
        disk=lambda documents, stored, each: Range(documents * (each + fixed - 10), documents * (each + fixed + 40)),
        again=Range(1.0, 1.3) if options.learn is not None else Range(0.0, 0.3), entries=0,
    )
    return dry_run(options, inputs, sketcher, costs, options.output)


# ---- the account


def _make_account(options: SketchOptions, documents: FileDocuments, sketches: Sketches) -> Account:
    """Make the account of a run."""
    size, empty = Path(options.output).stat().st_size, len(sketches) - int(sketches.valid.sum())
    data = {
        "ndcore": __version__,
        "output": options.output,
        "file_bytes": size,
        "counts": {"read": documents.read, "sketched": len(sketches), "without_shingles": empty,
                   "rejected": len(documents.rejected)},
        "recipe": recipe_data(sketches.recipe),
        **summary.what_was_read(documents),
    }
    notes = [*summary.left_out(data), Note(documents.without_main, "page", summary.NO_MAIN), summary.by_tags_note(data)]

    def tell() -> Iterator[str | TextBlock]:
        without = f", {empty:,} of them without shingles," if empty else ""
        yield f"Sketched {counted(len(sketches), 'document')}{without} to {printable(options.output)} ({size:,} bytes)"
        yield Notes(notes)
        yield f"Next: {NEXT[options.kind].format(pasted([options.output]), options.output)}"

    return Account(data, tell())
