"""``ndcore cluster``: collections in clusters."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import (
    COLLECTION,
    SKETCHES,
    all_sketches,
    choose_settings,
    find_inputs,
    load_sketches,
    only_rejected,
    open_documents,
    repeated,
    text_field,
    uniform,
)
from ndcore.cli.outputs import check_report, write_page
from ndcore.cli.summary import printable
from ndcore.clusters.assignments import largest_clusters
from ndcore.collection.classes import CLASSES
from ndcore.collection.clustering import Clustering
from ndcore.collection.collection import Collection
from ndcore.collection.manifest import DESCRIPTION, described, is_collection
from ndcore.collection.settings import FLOOR, LEAST, Grouping
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.output_paths import check_output
from ndcore.files.provenance import Place, SavedPlaces
from ndcore.files.sources import Inputs
from ndcore.human import counted, human_bytes
from ndcore.progress import by_position, reporting
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN

__all__ = ["cluster"]

SHOWN = 5  # clusters on the terminal


def cluster(args: Any) -> int:
    """``ndcore cluster``."""
    begun = time.monotonic()
    check_report(args.report, args.overwrite, args.inputs, args.output)
    if args.dry_run:
        return _dry_run(args)
    made: Collection
    documents: Documents | Sketches | None
    with contextlib.ExitStack() as stack, _telling_what_is_left(args):
        if len(args.inputs) == 1 and is_collection(args.inputs[0]):
            made, documents = _again(args), None
        else:
            made, documents = _build(args, stack)
        if args.report is not None:
            _write_report(args, made, documents)
    args.outcome.written = True
    if args.json:
        print(json.dumps(_account(made, documents), indent=2))
    elif not args.quiet:
        _report(made, documents, sys.stdout)
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - begun:.1f} seconds", file=sys.stderr)
    return 0


def _dry_run(args: Any) -> int:
    """What a collection of these inputs would take."""
    collection = next((path for path in args.inputs if is_collection(path)), None)
    if collection is not None:
        raise UsageError(f"--dry-run estimates what documents take, and {collection} is a collection")
    found = _found(args)
    method = args.method or "shingles"
    sketcher = _sketcher(args, method)
    assert sketcher is not None
    _check_grouping(args, None, method)
    limit = math.inf if args.memory_limit is None else args.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        return min(documents * 5 * each, limit) + 100 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        return Range(documents * 2 * each, documents * (2.6 * each + 200))

    return dry_run(args, found, sketcher, Costs(memory, disk, Range(0.1, 1.0), 75), args.output)


# ---- making


def _again(args: Any) -> Collection:
    """Other clusters of a collection that is there, or another collection of its sketches."""
    old = Collection.open(args.inputs[0])
    anew = args.output is None or Path(args.output).resolve() == Path(args.inputs[0]).resolve()
    _refuse_others(args, anew)
    if anew:
        found = old.clustering
        _check_grouping(args, found, found.parameters["method"], found.floor)
        made = old.rethreshold(args.threshold, args.policy, args.cluster, args.guard, threads=args.threads)
        args.outcome.message = f"the collection {made.path} has its new clusters"
        return made
    _check_output(args, Inputs([]))
    _check_grouping(args, None, args.method or old.parameters["method"])
    choose_settings(args, [old.clustering.segments.parts[0]], modulus=args.modulus, seed=args.seed)
    source = _source(args, old, Inputs([]))
    _make_way(args, source)
    before = _finished(args, None, None, source)
    if before is not None:
        return _with_places(before, old, None)
    with _refusing(args):
        made = Collection.build(
            args.output, old, method=args.method or old.parameters["method"], source=source, **_how(args)
        )
    return _with_places(made, old, None)


_REGROUPED = {"inputs", "output", "report", "json", "threshold", "policy", "cluster", "guard", "threads", "quiet"}
_OF_TEXTS = {"text_field", "id_field", "html_part", "include", "exclude", "hidden", "on_error"}


def _refuse_others(args: Any, anew: bool) -> None:
    """UsageError for an option that means nothing for a collection alone.

    Other clusters in its place (`anew`) take the options of `_REGROUPED`; another collection of it takes all but those of
    documents, which are not read.
    """
    for action in args.actions:
        taken = action.dest in _REGROUPED if anew else action.dest not in _OF_TEXTS
        taken = taken or (action.dest == "overwrite" and args.report is not None)
        if not taken and getattr(args, action.dest, action.default) != action.default:
            does = "gets other clusters in its place, of what was counted" if anew else "is all that is read"
            advice = "; give -o COLLECTION for another collection, or leave it out" if anew else "; leave it out"
            option = action.option_strings[-1]
            raise UsageError(f"{option} does nothing where the collection {args.inputs[0]} {does}{advice}")


def _asked(args: Any, before: Clustering | None) -> dict[str, Any]:
    """What clusters are asked for: by the options, else as in a collection, else by default."""
    default = {"threshold": 0.5, "policy": "resemblance", "cluster": "star", "guard": None}
    asked = {name: getattr(args, name) for name in default}
    return {
        name: value if value is not None else default[name] if before is None else getattr(before, name)
        for name, value in asked.items()
    }


def _check_grouping(
    args: Any, before: Clustering | None, method: str, floor: float | None = None
) -> None:
    """UsageError where there are no such clusters; `floor`: where the pairs of `before` begin, if no others are counted."""
    asked = _asked(args, before)
    if floor is not None:
        asked["guard"] = args.guard  # as of `Clustering.rethreshold`
    try:
        Grouping(**asked, least=LEAST).check(method, min(FLOOR, asked["threshold"]) if floor is None else floor)
    except ValueError as error:
        raise UsageError(str(error)) from error


def places_of(made: Collection) -> SavedPlaces | None:
    """Return where the documents of a collection stand, as far as ndcore cluster has kept that. CorruptFile."""
    return None if made.places is None else SavedPlaces(*made.places, len(made))


def _with_places(made: Collection, old: Collection | None, texts: Documents | Sketches | None) -> Collection:
    """Keep where the documents stand: those of an old collection, and new ones, if there are any, after them."""
    count = 0 if texts is None else len(texts)
    places = texts.saved_places() if isinstance(texts, Documents) else SavedPlaces.unknown(count)
    if old is not None:
        places = (places_of(old) or SavedPlaces.unknown(len(old))).followed_by(places)
    if places.header["files"]:
        made.keep_places(places.header, places.arrays)
    return made


@contextlib.contextmanager
def _telling_what_is_left(args: Any) -> Iterator[None]:
    """Say in ``args.outcome.message`` what an interruption, or an error, leaves: a collection to go on with."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError, OSError, DocumentError) as error:
        source = getattr(args, "source", None)  # None: the run has not come to the output yet
        if source is not None and is_collection(args.output):
            args.outcome.message = _left(args, source, error)
        raise


def _left(args: Any, source: dict[str, Any], error: BaseException) -> str:
    """Return what to say of the collection of this source that is there; one without a single document is taken away.

    Nothing of another collection, and of one whose description cannot be read: they are not of this run.
    """
    place = Path(args.output)
    try:
        there = described(place)
    except (OSError, ValueError):
        return ""
    if there["source"] != source:
        return ""
    if there["finished"]:
        same = "the same command without --overwrite" if args.overwrite else "the same command"
        complete = f"the collection {place} is complete; {same} tells what is in it"
        return complete if isinstance(error, KeyboardInterrupt) else ""
    if not any(place.rglob("*.ndc")):
        shutil.rmtree(place)
        return ""
    same = "the same command with --on-error skip" if isinstance(error, DocumentError) else "the same command"
    return f"what was done so far is in {place}: {same} goes on from there"


@contextlib.contextmanager
def _refusing(args: Any) -> Iterator[None]:
    """UsageError where the output is something else than a collection to go on with."""
    try:
        yield
    except FileExistsError as error:
        raise UsageError(f"the output {args.output} {error.strerror}; give another name, or --overwrite to replace a "
                         "collection") from error


def _how(args: Any) -> dict[str, Any]:
    return {
        **_asked(args, None),
        "max_holders": args.max_holders or 1000, "run": args.run_length or RUN,
        "memory_limit": args.memory_limit, "threads": args.threads, "progress": not args.quiet,
    }


def _found(args: Any) -> Inputs:
    """What the inputs stand for, once the output is known to be one that can be written."""
    if args.output is None:
        raise UsageError("name the directory of the new collection: -o COLLECTION")
    (found,) = find_inputs(args, (args.inputs, {SKETCHES, COLLECTION}))
    if not found.sources:
        raise summary.nothing_found(args.inputs[0], found.ignored)
    _check_output(args, found)
    return found


def _build(args: Any, stack: contextlib.ExitStack) -> tuple[Collection, Documents | Sketches]:
    """Build a collection, or go on with one; `stack` closes what is read."""
    found = _found(args)
    old = _extended(args, found)
    before = None if old is None else old.clustering
    texts: Documents | Sketches
    if all_sketches(found.sources, "IN"):
        texts = load_sketches([source.path for source in found.sources])
        _check_grouping(args, before, _method(args, old, texts))
        choose_settings(args, [texts], modulus=args.modulus, seed=args.seed)
        ids: Any = texts.ids
    else:
        texts = stack.enter_context(open_documents(args, found))
        _check_grouping(args, before, _method(args, old, texts))
        texts.spool()
        ids = _Later(texts, args.output)
    source = _source(args, old, found)
    _make_way(args, source)
    known: dict[str, Any] = {"source": source, "text_bytes": _text_bytes(found)}
    made = _finished(args, old, texts, source)
    if made is not None:
        return _with_places(made, old, texts), texts
    with _refusing(args), reporting(not args.quiet) as counting:
        how = _how(args)
        if isinstance(texts, Documents):
            how["progress"] = by_position(counting, "sketching", texts.position)
        if old is not None:
            return _with_places(_extend(args, old, texts, ids, {**known, **how}), old, texts), texts
        method = _method(args, None, texts)
        sketcher = None if isinstance(texts, Sketches) else _sketcher(args, method)
        made = Collection.build(args.output, texts, ids, sketcher=sketcher, method=method, **known, **how)
        return _with_places(made, old, texts), texts


def _extended(args: Any, found: Inputs) -> Collection | None:
    """Return the collection among the inputs, which is taken out of them; None without."""
    collections = [source for source in found.sources if source.kind == COLLECTION]
    if not collections:
        return None
    if len(collections) > 1:
        raise UsageError(f"one collection can be extended at a time, not {' and '.join(x.path for x in collections)}")
    found.sources.remove(collections[0])
    if not found.sources:
        raise DocumentError(args.inputs[0], None, "there are no documents beside the collection")
    return Collection.open(collections[0].path)


def _extend(
    args: Any, old: Collection, texts: Documents | Sketches, ids: Any, how: dict[str, Any]
) -> Collection:
    """Build a collection of an old one and of new documents; what of `how` is no option of the command is as there."""
    choose_settings(args, [old.clustering.segments.parts[0]], modulus=args.modulus, seed=args.seed)
    if args.method not in (None, old.parameters["method"]):
        raise UsageError(f"{old.path} was made with --method {old.parameters['method']}, not {args.method}; leave it out")
    changes = {name: getattr(args, name) for name in ("threshold", "policy", "cluster", "guard", "max_holders")}
    return old.extend(args.output, texts, ids, **{**how, **changes, "run": args.run_length})


def _finished(
    args: Any, old: Collection | None, texts: Documents | Sketches | None, source: dict[str, Any]
) -> Collection | None:
    """Return the collection that this very command has finished before, when it was interrupted after that; or None."""
    if not is_collection(args.output):
        return None
    there = described(Path(args.output))
    if not there["finished"] or there["source"] != source:
        return None
    made = Collection.open(args.output)
    asked = _asked(args, None if old is None else old.clustering)
    if any(getattr(made.clustering, name) != value for name, value in asked.items()):
        return None
    if isinstance(texts, Documents):
        texts.scan()
    if not args.quiet:
        print(f"ndcore: {printable(args.output)} was finished before, of the same documents: nothing is done again",
              file=sys.stderr)
    return made


class _Later:
    """The ids of documents, once they have been read. DocumentError where there is none but rejected ones."""

    def __init__(self, documents: Documents, output: str) -> None:
        self.documents, self.output = documents, output

    def __iter__(self) -> Any:
        error = only_rejected(self.documents)
        if error is not None:
            shutil.rmtree(self.output)  # an unfinished collection of nothing
            raise error
        return iter(uniform(self.documents.ids))


def _check_output(args: Any, found: Inputs) -> None:
    place = Path(args.output)
    for source in found.sources:
        if source.location and Path(source.location).resolve().is_relative_to(place.resolve()):
            raise UsageError(f"the input {source.path} lies in the output {args.output}; give another output name")
    check_output(args.output, "collection", overwrite=True, folder=True)  # what is unfinished goes on


def _make_way(args: Any, source: dict[str, Any]) -> None:
    """With ``--overwrite``, remove the collection in the output, unless it is what this command left when interrupted.

    What is in the output from now on is of this run if it is of ``args.source``.
    """
    place = Path(args.output)
    if args.overwrite and is_collection(place):
        try:
            there = described(place)
            left = not there["finished"] and there["source"] == source
        except ValueError:  # damaged, or of a newer format
            left = False
        if not left:
            shutil.rmtree(place)
    args.source = source


def _source(args: Any, old: Collection | None, found: Inputs) -> dict[str, Any]:
    """Return what tells that inputs are those of an interrupted run, read and sketched in the same way.

    Of a file, its size and date; of a stream, which has been copied, a digest of the copy; of a collection, its description.
    """
    known = {} if old is None else {"collection": [str(old.path), *_stamp(old.path / DESCRIPTION)]}
    stamps: list[list[Any]] = []
    for source in found.sources:
        if not source.location:  # a stream that is no document
            continue
        if source.location == source.path:
            stamps.append([source.path, *_stamp(Path(source.location))])
        else:
            with Path(source.location).open("rb") as file:
                stamps.append([source.path, hashlib.file_digest(file, "blake2b").hexdigest()[:32]])
    reading = {"text_field": text_field(args), "id_field": args.id_field, "html": args.html_part}
    options = ("threshold", "method", "max_holders", "run_length", "modulus", "seed", "width", "unit", "normalize",
               "stop_words")
    return {**known, "inputs": stamps, "reading": reading, "options": {name: getattr(args, name) for name in options}}


def _stamp(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _text_bytes(found: Inputs) -> int:
    """Estimate how much text the inputs hold; compressed ones four times their size."""
    sizes = 0
    for source in found.sources:
        if source.kind != "sketches" and source.location:
            packed = source.stored or source.kind == "parquet"
            sizes += Path(source.location).stat().st_size * (4 if packed else 1)
    return sizes


def _method(args: Any, old: Collection | None, texts: Documents | Sketches) -> Any:
    if args.method is not None or old is not None:
        return args.method or (None if old is None else old.parameters["method"])
    if isinstance(texts, Sketches):
        return {"minhash": "features", "bottom": "super-shingles"}.get(texts.recipe["kind"], "shingles")
    return "shingles"


def _sketcher(args: Any, method: str) -> Sketcher | None:
    shingling, numbers = choose_settings(args, (), modulus=args.modulus, seed=args.seed)
    seed = numbers.get("seed", 1)
    if method == "features":
        from ndcore.filters.search import design_filter

        return MinHasher(design_filter(0.5 if args.threshold is None else args.threshold).num_perm, 32, seed, shingling)
    return ModSketcher(numbers.get("modulus", "adaptive" if method == "shingles" else 25), seed, shingling)


# ---- telling


def _account(made: Collection, documents: Documents | Sketches | None) -> dict[str, Any]:
    """What a program wants to know; equal runs, equal bytes."""
    found = made.clustering
    sizes = np.bincount(np.bincount(found.labels, minlength=len(found)))
    return {
        "ndcore": __version__,
        "counts": {
            "read": len(found) + (len(documents.rejected) if isinstance(documents, Documents) else 0),
            "rejected": len(documents.rejected) if isinstance(documents, Documents) else 0,
            "documents": len(found), "earlier": _earlier(made, documents), "alone": int(sizes[1]) if len(sizes) > 1 else 0,
            "clusters": int(sizes[2:].sum()), "in_clusters": int(np.dot(np.arange(len(sizes))[2:], sizes[2:])),
            "by_class": _by_class(found), "without_sample": found.without_sample,
        },
        "cluster_sizes": {str(size): int(count) for size, count in enumerate(sizes) if size > 1 and count},
        "common": len(found.common.value), "chains": len(found.chains.representative),
        "parameters": {
            "threshold": found.threshold, "policy": found.policy, "cluster": found.cluster, "guard": found.guard,
            **found.parameters,
        },
        "recipe": {"id": made.recipe.id, "parameters": json.loads(made.recipe.to_json())},
        "rejected": summary.rejected_list(documents.rejected) if isinstance(documents, Documents) else [],
        "pages_without_main_content": documents.without_main if isinstance(documents, Documents) else 0,
        "repeated_ids": _repeated(made, documents),
        "ignored": summary.ignored_list(documents.ignored) if isinstance(documents, Documents) else [],
        "excluded": documents.excluded if isinstance(documents, Documents) else 0,
    }


def _earlier(made: Collection, documents: Documents | Sketches | None) -> int:
    """Return how many documents are of the collection that was extended."""
    return 0 if documents is None else len(made) - len(documents)


def _repeated(made: Collection, documents: Documents | Sketches | None) -> int:
    if _earlier(made, documents):
        return len(made) - len({made.names[position] for position in range(len(made))})
    return repeated(documents) if isinstance(documents, Documents) else 0


def _by_class(found: Clustering) -> dict[str, int]:
    counts = np.bincount(found.codes, minlength=len(CLASSES)).tolist()
    return {name: count for name, count in zip(CLASSES, counts, strict=True) if name != "kept"}


def _report(made: Collection, documents: Documents | Sketches | None, stream: TextIO) -> None:
    account, found = _account(made, documents), made.clustering
    counts = account["counts"]
    word = "resemblance" if found.policy == "resemblance" else "containment"
    print(f"Clusters at {word} {found.threshold:g} or more ({found.cluster}, estimated from sketches)", file=stream)
    rows = [
        ("read", counts["read"], ""), ("alone", counts["alone"], "in no cluster"),
        ("in clusters", counts["in_clusters"], f"in {counted(counts['clusters'], 'cluster')} of two and more"),
        *((name, number, "with the document that stands for it") for name, number in counts["by_class"].items() if number),
        ("rejected", counts["rejected"], "could not be read" if counts["rejected"] else ""),
    ]
    width = max(len(f"{number:,}") for _, number, _ in rows)
    for name, number, meaning in rows:
        print(f"  {name:<11} {number:>{width},}  {meaning}".rstrip(), file=stream)
    for note in _notes(account, found):
        print(f"  note: {note}", file=stream)
    _largest(made, stream)
    size = sum(file.stat().st_size for file in made.path.rglob("*") if file.is_file())
    print(f"The collection is {printable(str(made.path))} ({human_bytes(size)})", file=stream)
    place = printable(str(made.path))
    print(f"Next: ndcore query {place} FILE; other clusters of it: ndcore cluster {place} --threshold 0.8", file=stream)


def _notes(account: dict[str, Any], found: Clustering) -> list[str]:
    ignored = Counter(item["kind"] for item in account["ignored"])
    listed = (
        (account["counts"]["earlier"], "document", "of the collection that was extended"),
        (found.without_sample, "document",
         "without a sample (too short for the modulus, or without words), in clusters only if the same as another"),
        (account["common"], "shingle", "common to so many documents that no pairs were proposed by it"),
        (account["chains"], "cluster",
         "held together by chains: some members do not resemble their representative enough"),
        (account["pages_without_main_content"], "page", summary.NO_MAIN),
        (account["repeated_ids"], "document", "with the id of an earlier one"),
        *summary.left_out(account["excluded"], ignored, "--json lists"),
    )
    return [f"{counted(number, noun)} {what}" for number, noun, what in listed if number]


def _largest(made: Collection, stream: TextIO) -> None:
    found = made.clustering
    total = len(found.representatives)
    if not total:
        return
    places = places_of(made)
    print("The only cluster" if total == 1 else f"Largest of {total:,} clusters", file=stream)
    for label, members in largest_clusters(found.labels, SHOWN):
        classes = Counter(CLASSES[code] for code in found.codes[members].tolist())
        told = ", ".join(f"{classes[name]:,} {name}" for name in CLASSES if classes[name])
        name = _told(str(made.names[label]), None if places is None else places.place(label))
        known = found.resemblance[members][~np.isnan(found.resemblance[members])]  # nan: without shingles
        lowest = f"; lowest {known.min():.3f}" if len(known) else ""
        print(f"  {len(members) + 1:>6,} with {name}: {told}{lowest}", file=stream)


def _told(ident: str, place: Place | None) -> str:
    """What people are told of a document: where it stands, and its id where that says something else."""
    if place is None or place.own_id(ident) is None:
        return printable(ident if place is None else str(place))
    return f"{printable(str(place))} ({printable(ident, 60)})"


def _write_report(args: Any, made: Collection, documents: Documents | Sketches | None) -> None:
    from ndcore.report.collection import from_clustering
    from ndcore.report.page import render

    account = _account(made, documents)
    repeats = account["repeated_ids"]
    notes = [f"{counted(repeats, 'document has', 'documents have')} the id of an earlier one."] if repeats else []
    page = render(from_clustering(
        made.clustering, corpora=(documents,) if isinstance(documents, Documents) else None,
        starts=(_earlier(made, documents),),
        name=lambda position: str(made.names[position]), rejected=account["counts"]["rejected"],
        notes=notes, command=args.command_line,
    ))
    write_page(args.report, page)
    if not args.quiet and not args.json:
        print(f"The report for a browser is {printable(args.report)}")
