"""Build, extend and regroup collections for ``ndcore cluster``, in a directory from which an interrupted run resumes."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ndcore.cli import summary
from ndcore.cli.command import Outcome, blame_command, option_of
from ndcore.cli.commands import ClusterOptions
from ndcore.cli.inputs import (
    all_sketches,
    choose_settings,
    find_inputs,
    load_sketches,
    only_rejected,
    open_documents,
    refuse_bare,
    uniform,
)
from ndcore.cli.job_output import JobOutput, reading_of, stamp, stamps_of, unfinished_beside
from ndcore.collection.clustering import Clustering
from ndcore.collection.collection import Collection
from ndcore.collection.settings import FLOOR, LABELLED, LEAST, Method
from ndcore.collection.settings import Grouping as ClusterGrouping
from ndcore.files.document_fields import GroupingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.outputs import check_output, lies_in
from ndcore.files.provenance import SavedPlaces
from ndcore.files.sources import Inputs, Source
from ndcore.filters.search import design_filter
from ndcore.human import printable
from ndcore.progress import by_position, reporting
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import RUN
from ndcore.storage.job_description import COLLECTION as COLLECTION_JOB
from ndcore.storage.staging import Staging, commit_together


class CollectionOutput(JobOutput):
    """The output directory of one run: a collection, which is unfinished until the end.

    If a collection is replaced, the run works in a directory beside it, `path`, until `commit`.
    """

    others = "the output {name} {fault}; give another name, or --overwrite to replace a collection"

    def __init__(self, name: str, overwrite: bool, outcome: Outcome) -> None:
        super().__init__(name, overwrite, outcome, COLLECTION_JOB)

    def claim(self, source: dict[str, Any]) -> None:
        """Claim the directory for this run, or one beside it if ``--overwrite`` replaces a collection.

        Raises BlockingIOError if another process uses the collection; UsageError if the directory beside it holds anything
        but the remains of an interrupted run.
        """
        beside = unfinished_beside(self.name)
        there = self.description.is_in(self.path)
        if self.overwrite and (self.description.is_in(beside) or (there and _is_finished(self.path))):
            self._check_replaced()
            if there:
                with self.description.alone(self.path):
                    pass
            self.path = beside
            if self.description.is_in(beside) and _is_finished(beside) and not self._is_of(source):
                raise UsageError(f"{beside}, where the new collection is made, holds a finished or damaged one already; "
                                 f"move or remove it, or give another name than {self.name}")
        super().claim(source)

    def _is_of(self, source: dict[str, Any]) -> bool:
        """Tell whether the collection here was made from a source."""
        try:
            return bool(self.description.read(self.path)["source"] == json.loads(json.dumps(source)))
        except ValueError:
            return False

    def _goes_on(self, there: dict[str, Any], source: dict[str, Any]) -> bool:
        """Tell whether to resume the work in the directory; beside the output, even finished work that was not moved yet."""
        return super()._goes_on(there, source) or (self.path != Path(self.name) and there["source"] == source)

    def _check_replaced(self) -> None:
        """Raise UsageError if anything but a collection would be replaced."""
        check_output(self.name, "collection", overwrite=True, ours=self.description.is_in, folder=True)

    def commit(self, staging: Staging, others: Sequence[Staging]) -> bool:
        """Commit other outputs, then move a collection that was made beside the output into place; tell whether it was.

        The old collection is removed when the block of `staging` ends.
        """
        target = Path(self.name)
        if self.path == target:
            commit_together(others)
            return False
        with contextlib.ExitStack() as stack:
            if self.description.is_in(target):
                stack.enter_context(self.description.alone(target))
            staging.check, staging.made = self._check_replaced, self.path  # something else may have been put there meanwhile
            commit_together([*others, staging])
            self.path = target
        return True

    def check(self, inputs: Sequence[Source] = ()) -> None:
        """Check that a collection can be written here. Raises UsageError."""
        for source in inputs:
            if source.location and lies_in(source.location, self.name):
                raise UsageError(f"the input {source.path} lies in the output {self.name}; give another output name")
        check_output(self.name, "collection", overwrite=True, folder=True)  # an unfinished collection is resumed

    def remove(self) -> None:
        """Remove the directory; if the collection is finished, with everything in it."""
        with self.description.alone(self.path):
            shutil.rmtree(self.path)

    def finished(self) -> Collection | None:
        """Return the collection here if an earlier run of the same source has finished it, else None."""
        if not self.description.is_in(self.path):
            return None
        with self.description.alone(self.path):  # this also removes the lock of a killed job
            there = self.description.read(self.path)
        return Collection.open(self.path) if there["finished"] and there["source"] == self.source else None

    def _describe_finished(self) -> str:
        """Return the message about a complete collection."""
        if self.path != Path(self.name):
            return f"the new collection is complete in {self.path}: the same command puts it in the place of {self.name}"
        same = "the same command without --overwrite" if self.overwrite else "the same command"
        return f"the collection {self.path} is complete; {same} tells what is in it"


def _is_finished(place: Path) -> bool:
    """Tell whether a collection is finished, or may be, because its description cannot be read."""
    try:
        return bool(COLLECTION_JOB.read(place)["finished"])
    except ValueError:  # damaged, or in a newer format
        return True


def places_of(collection: Collection) -> SavedPlaces | None:
    """Return the places of the documents of a collection; None if it has none. Raises CorruptFile."""
    return None if collection.places is None else SavedPlaces(*collection.places, len(collection))


def keep_places(collection: Collection, old: Collection | None, texts: FileDocuments | Sketches | None) -> None:
    """Save the places of documents in a collection: first of an old collection's, then of new documents."""
    count = 0 if texts is None else len(texts)
    places = texts.saved_places() if isinstance(texts, FileDocuments) else SavedPlaces.unknown(count)
    if old is not None:
        places = (places_of(old) or SavedPlaces.unknown(len(old))).followed_by(places)
    if places.header["files"]:
        collection.keep_places(places.header, places.arrays)


DEFAULTS: dict[str, Any] = {"threshold": 0.5, "policy": "resemblance", "cluster": "star", "guard": None}
MAX_HOLDERS = 1000


class Built(NamedTuple):
    """A collection that the command made, and the new documents or sketches in it; None if all are older."""

    collection: Collection
    texts: FileDocuments | Sketches | None = None

    @property
    def documents(self) -> FileDocuments | None:
        """New documents whose texts were read."""
        return self.texts if isinstance(self.texts, FileDocuments) else None

    @property
    def earlier(self) -> int:
        """The number of documents of the collection that was extended."""
        return 0 if self.texts is None else len(self.collection) - len(self.texts)


# ---- from a collection alone

_REGROUPED = {"inputs", "output", "report", "json", "threshold", "policy", "cluster", "guard", "threads", "quiet"}
_READING = {"text_field", "id_field", "html_part", "archives", "encoding", "delimiter", "include", "exclude", "hidden",
            "on_error"}
_APART = ("by", "one_per", "must_agree", "min_shingles")


def regroup(options: ClusterOptions, old: Collection) -> Built:
    """Make new clusters from the pairs of a collection, in place."""
    _refuse_useless(options, _REGROUPED.__contains__, "gets other clusters in its place, from the pairs that were counted",
                    "give -o COLLECTION for another collection, or leave it out")
    check_grouping_options(options, old.clustering, old.clustering.parameters["method"], old.clustering.floor)
    collection = old.rethreshold(options.threshold, options.policy, options.cluster, options.guard, threads=options.threads)
    options.outcome.message = f"the collection {collection.path} has its new clusters"
    return Built(collection)


def rebuild(options: ClusterOptions, old: Collection, output: CollectionOutput) -> Built:
    """Build another collection from the sketches of a collection."""
    _refuse_useless(options, lambda name: name not in _READING, "is all that is read", "leave it out")
    _refuse_useless(options, lambda name: name not in _APART, "keeps its documents apart as it was made", "leave it out")
    output.check()
    method = options.method or old.parameters["method"]
    check_grouping_options(options, None, method)
    choose_settings(options, [old.clustering.segments.parts[0]], modulus=options.modulus, seed=options.seed)
    output.claim(_describe_source(options, old, Inputs([])))
    collection = _take_up_finished(options, output, None, None)
    if collection is None:
        with output.refuse_others():
            collection = Collection.build(
                output.path, old, method=method, source=output.source, **_collect_parameters(options))
    keep_places(collection, old, None)
    return Built(collection)


def _refuse_useless(options: ClusterOptions, takes: Callable[[str], bool], does: str, advice: str) -> None:
    """Raise UsageError for an option that has no meaning for a collection alone; `does`: what the command does with it."""
    for name, names in options.list_given():
        if not takes(name) and (name != "overwrite" or options.report is None):
            raise UsageError(f"{names[-1]} does nothing where the collection {options.inputs[0]} {does}; {advice}")


# ---- from documents


def find_documents(options: ClusterOptions, output: CollectionOutput) -> Inputs:
    """Find the inputs, and check that the output can be written. Raises UsageError."""
    (inputs,) = find_inputs(options, (options.inputs, {SKETCHES, COLLECTION}))
    if not inputs.sources:
        raise summary.nothing_to_read(options.inputs[0], inputs.ignored)
    output.check(inputs.sources)
    return inputs


def build(options: ClusterOptions, output: CollectionOutput, stack: contextlib.ExitStack) -> Built:
    """Build a collection of documents or sketches, or extend or resume one; `stack` closes the documents."""
    inputs = find_documents(options, output)
    old = _take_collection(options, inputs)
    before = None if old is None else old.clustering
    fields = {name: GroupingField(field, option_of(name)) for name in LABELLED if (field := getattr(options, name))}
    _check_apart(options, old, inputs)
    texts: FileDocuments | Sketches
    if all_sketches(inputs.sources, "IN"):
        texts = load_sketches([source.path for source in inputs.sources])
        method = _choose_method(options, old, texts)
        check_grouping_options(options, before, method)
        choose_settings(options, [texts], modulus=options.modulus, seed=options.seed)
    else:
        texts = stack.enter_context(open_documents(options, inputs, memory_limit=options.memory_limit, **fields))
        method = _choose_method(options, old, texts)
        check_grouping_options(options, before, method)
        texts.spool()
    output.claim(_describe_source(options, old, inputs))
    collection = _take_up_finished(options, output, before, texts)
    if collection is None:
        with output.refuse_others():
            labels = {name: partial(_list_labels, grouping) for name, grouping in fields.items()}
            collection = _build(options, output, old, texts, method, labels, _count_text_bytes(inputs))
    keep_places(collection, old, texts)
    return Built(collection, texts)


def _build(
    options: ClusterOptions, output: CollectionOutput, old: Collection | None, texts: FileDocuments | Sketches,
    method: Method, labels: Mapping[str, Callable[[], list[str]]], text_bytes: int,
) -> Collection:
    """Build a collection of new texts, or of an old collection and new texts."""
    with reporting(not options.quiet) as report:
        how = {**_collect_parameters(options), **labels, "source": output.source, "text_bytes": text_bytes}
        ids: Any = texts.ids
        if isinstance(texts, FileDocuments):
            how["progress"] = by_position(report, "sketching", texts.position)
            ids = _LaterIds(texts, output.path)
        if old is None:
            sketcher = None if isinstance(texts, Sketches) else plan_sketcher(options, method)
            return Collection.build(output.path, texts, ids, sketcher=sketcher, method=method,
                                    must_agree=options.must_agree, min_shingles=options.min_shingles or 0, **how)
        choose_settings(options, [old.clustering.segments.parts[0]], modulus=options.modulus, seed=options.seed)
        if options.method not in (None, old.parameters["method"]):
            raise UsageError(
                f"{old.path} was made with --method {old.parameters['method']}, not {options.method}; leave it out"
            )
        as_before = options.take(*DEFAULTS, "max_holders")  # None: as in the old collection
        return old.extend(output.path, texts, ids, **{**how, **as_before, "run": options.run_length})


def _check_apart(options: ClusterOptions, old: Collection | None, inputs: Inputs) -> None:
    """Raise UsageError for options that keep documents apart unlike `old`, or that the inputs do not support."""
    there = {} if old is None else old.clustering.parameters
    for name in _APART:
        option, given, known = option_of(name), getattr(options, name), there.get(name)
        if given and name != "min_shingles" and all_sketches(inputs.sources, "IN"):
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        if given and name in LABELLED:
            refuse_bare(option, inputs.sources)
        if old is None:
            continue
        if name in LABELLED and known and not given:
            raise UsageError(f"{old.path} was made with {option}: name the field of the new documents with {option} FIELD")
        if given and given != known and not (name in LABELLED and known):
            made = f"with {option} {' '.join(known) if name == 'must_agree' else known}" if known else f"without {option}"
            raise UsageError(f"{old.path} was made {made}; leave {option} out")


def _list_labels(grouping: GroupingField) -> list[str]:
    """List the value of a field of each document as text, as JSON if possible, so that values of different types differ."""
    names = [json.dumps(value) if isinstance(value, (str, int)) else f"date {value}" for value in grouping.values]
    return [names[code] for code in grouping.codes().tolist()]


def _take_collection(options: ClusterOptions, inputs: Inputs) -> Collection | None:
    """Remove the collection to extend from the inputs, and return it, if there is one."""
    collections = [source for source in inputs.sources if source.kind == COLLECTION]
    if not collections:
        return None
    if len(collections) > 1:
        raise UsageError(f"one collection can be extended at a time, not {' and '.join(x.path for x in collections)}")
    inputs.sources.remove(collections[0])
    if not inputs.sources:
        raise DocumentError(options.inputs[0], None, "there are no documents beside the collection")
    return Collection.open(collections[0].path)


def _take_up_finished(
    options: ClusterOptions, output: CollectionOutput, before: Clustering | None, texts: FileDocuments | Sketches | None
) -> Collection | None:
    """Return the collection that an earlier run of the same command had finished when it was interrupted, or None."""
    collection = output.finished()
    if collection is None:
        return None
    wanted = _choose_grouping(options, before)
    if any(getattr(collection.clustering, name) != value for name, value in wanted.items()):
        if options.overwrite:
            output.remove()
        return None
    if isinstance(texts, FileDocuments):
        texts.scan()
    if not options.quiet:
        print(f"ndcore: {printable(output.name)} was finished before, from the same documents: nothing is done again",
              file=sys.stderr)
    return collection


class _LaterIds:
    """The ids of documents, once they have been read. If all were rejected, the output is removed."""

    def __init__(self, documents: FileDocuments, output: Path) -> None:
        self.documents, self.output = documents, output

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the ids. Raises DocumentError if all documents were rejected."""
        error = only_rejected(self.documents)
        if error is not None:
            shutil.rmtree(self.output)  # an unfinished collection of nothing
            raise error
        return uniform(self.documents.ids)


# ---- parameters


def _choose_grouping(options: ClusterOptions, before: Clustering | None) -> dict[str, Any]:
    """Choose the parameters of the clusters: from the options, else from earlier clusters, else the defaults."""
    return {name: value if value is not None else DEFAULTS[name] if before is None else getattr(before, name)
            for name, value in options.take(*DEFAULTS).items()}


def check_grouping_options(
    options: ClusterOptions, before: Clustering | None, method: str, floor: float | None = None
) -> None:
    """Raise UsageError if these parameters do not go together; earlier clusters, `before`, have the defaults.

    `floor` is the lowest resemblance of the pairs of `before`, if no other pairs are counted.
    """
    chosen = _choose_grouping(options, before)
    if floor is not None:
        chosen["guard"] = options.guard  # like `Clustering.rethreshold`
    else:
        floor = min(FLOOR, chosen["threshold"])
    apart = [name for name in _APART if getattr(options, name) or (before is not None and name in before.parameters)]
    with blame_command(options):
        ClusterGrouping(**chosen, least=LEAST).check(method, floor, apart)


def _collect_parameters(options: ClusterOptions) -> dict[str, Any]:
    """Return the parameters of `Collection.build` that the options give, except method and sketcher."""
    return {
        **_choose_grouping(options, None),
        "max_holders": options.max_holders or MAX_HOLDERS, "run": options.run_length or RUN, "progress": not options.quiet,
        **options.take("memory_limit", "threads"),
    }


def _choose_method(options: ClusterOptions, old: Collection | None, texts: FileDocuments | Sketches) -> Method:
    """Choose the method: from the options, the old collection, or the kind of sketches."""
    if options.method is not None:
        return options.method
    if old is not None:
        method: Method = old.parameters["method"]
        return method
    kind = texts.recipe["kind"] if isinstance(texts, Sketches) else "mod"
    return "features" if kind == "minhash" else "super-shingles" if kind == "bottom" else "shingles"


def plan_sketcher(options: ClusterOptions, method: str) -> Sketcher:
    """Choose the sketcher of new documents."""
    shingling, numbers = choose_settings(options, (), modulus=options.modulus, seed=options.seed)
    seed = numbers.get("seed", 1)
    if method == "features":
        threshold = DEFAULTS["threshold"] if options.threshold is None else options.threshold
        return MinHasher(design_filter(threshold).num_perm, 32, seed, shingling)
    return ModSketcher(numbers.get("modulus", "adaptive" if method == "shingles" else 25), seed, shingling)


# ---- inputs


def _describe_source(options: ClusterOptions, old: Collection | None, inputs: Inputs) -> dict[str, Any]:
    """Describe the inputs, and how they are read and sketched, so that an interrupted run is recognised.

    A collection is described by its description, other inputs by `stamps_of`.
    """
    known = {} if old is None else {"collection": [str(old.path), *stamp(old.path / COLLECTION_JOB.file)]}
    names = ["threshold", "method", "max_holders", "run_length", "modulus", "seed", "width", "unit", "normalize",
             "stop_words", *(name for name in _APART if getattr(options, name))]
    return {**known, "inputs": stamps_of(inputs), "reading": reading_of(options),
            "options": options.take(*names)}


def _count_text_bytes(inputs: Inputs) -> int:
    """Estimate the bytes of text in the inputs; for compressed ones, four times their size."""
    sizes = 0
    for source in inputs.sources:
        if source.kind != "sketches" and source.location:
            packed = source.stored or source.kind == "parquet"
            sizes += Path(source.location).stat().st_size * (4 if packed else 1)
    return sizes
