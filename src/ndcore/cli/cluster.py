"""``ndcore cluster``: cluster a collection by sketches, and save it for queries."""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, Figures, Listing, Note, Notes, TextBlock, files_written, present, recipe_data
from ndcore.cli.cluster_build import (
    Built,
    CollectionOutput,
    build,
    check_grouping_options,
    find_documents,
    places_of,
    plan_sketcher,
    rebuild,
    regroup,
)
from ndcore.cli.commands import ClusterOptions
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import count_repeated, with_settings
from ndcore.cli.outputs import PageFile, report_file
from ndcore.collection.collection import Collection
from ndcore.collection.shelf import CLASSES
from ndcore.files.errors import UsageError
from ndcore.files.provenance import Place
from ndcore.human import counted, human_bytes, pasted, printable
from ndcore.pairs.assignments import largest_clusters
from ndcore.report.collection import from_clustering
from ndcore.report.page import render
from ndcore.stats.ratio import Range
from ndcore.storage.job_description import COLLECTION
from ndcore.storage.staging import Staging, commit_together

# ---- the account

LARGEST = 5  # clusters on the terminal
OF_VERSIONS = "after another with the same value of --one-per: not compared"


def cluster_account(built: Built, page: str | None = None) -> Account:
    """Make the account of a collection; `page` is the page of ``--report``."""
    collection, clustering, documents = built.collection, built.collection.clustering, built.documents
    rejected = 0 if documents is None else len(documents.rejected)
    sizes = np.bincount(np.bincount(clustering.labels, minlength=len(clustering)))
    counts = np.bincount(clustering.codes, minlength=len(CLASSES)).tolist()
    if built.earlier:
        names = collection.names
        with_known_id = len(names) - len({names[position] for position in range(len(names))})
    else:
        with_known_id = 0 if documents is None else count_repeated(documents)
    data: dict[str, Any] = {
        "ndcore": __version__,
        "counts": {
            "read": len(clustering) + rejected, "rejected": rejected, "documents": len(clustering),
            "earlier": built.earlier, "alone": int(sizes[1]) if len(sizes) > 1 else 0, "clusters": int(sizes[2:].sum()),
            "in_clusters": int(np.dot(np.arange(len(sizes))[2:], sizes[2:])),
            "by_class": {name: count for name, count in zip(CLASSES, counts, strict=True)
                         if name != "kept" and (count or name != "version")},
            "without_sample": clustering.without_sample,
        },
        "cluster_sizes": {str(size): int(count) for size, count in enumerate(sizes) if size > 1 and count},
        "common": len(clustering.common.value), "chains": len(clustering.chains.representative),
        "parameters": {"threshold": clustering.threshold, "policy": clustering.policy, "cluster": clustering.cluster,
                       "guard": clustering.guard, **clustering.parameters},
        "recipe": recipe_data(collection.recipe),
        "pages_without_main_content": 0 if documents is None else documents.without_main,
        "pages_by_tags": [] if documents is None else summary.by_tags_list(documents),
        "repeated_ids": with_known_id,
        **summary.what_was_not_read(documents),
    }
    notes = (
        Note(built.earlier, "document", "of the collection that was extended"),
        Note(clustering.without_sample, "document",
             "without a sample (too short for the modulus, or without words), in clusters only if identical to another"),
        Note(len(clustering.common.value), "shingle", "in too many documents (--max-holders) to propose pairs"),
        Note(len(clustering.chains.representative), "cluster",
             "held together by chains: some members do not resemble their representative enough"),
        Note(0 if documents is None else documents.without_main, "page", summary.NO_MAIN),
        summary.by_tags_note(data),
        Note(with_known_id, "document", "with the id of an earlier one"),
        *summary.left_out(data),
    )
    return Account(data, itertools.chain(_tell(built, data["counts"], notes), files_written(page)), notes)


def _tell(built: Built, counts: dict[str, Any], notes: Sequence[Note]) -> Iterator[str | TextBlock]:
    """Describe a collection for people: counts, notes, the largest clusters, its directory, and the next commands."""
    clustering = built.collection.clustering
    word = "resemblance" if clustering.policy == "resemblance" else "containment"
    yield f"Clusters at {word} {clustering.threshold:g} or more ({clustering.cluster}, estimated from sketches)"
    yield Figures([
        ("read", counts["read"], ""), ("alone", counts["alone"], "in no cluster"),
        ("in clusters", counts["in_clusters"], f"in {counted(counts['clusters'], 'cluster')} of two or more"),
        *((name, number, OF_VERSIONS if name == "version" else "to the representative of the cluster")
          for name, number in counts["by_class"].items() if number),
        ("rejected", counts["rejected"], "could not be read" if counts["rejected"] else ""),
    ])
    yield Notes(notes)
    if total := len(clustering.representatives):
        yield "The only cluster" if total == 1 else f"Largest of {total:,} clusters"
        yield Listing(_list_largest(built.collection))
    size = sum(file.stat().st_size for file in built.collection.path.rglob("*") if file.is_file())
    path = str(built.collection.path)
    place = pasted([path])
    yield f"The collection is {printable(path)} ({human_bytes(size)})"
    yield f"Next: ndcore query {place} FILE; other clusters of it: ndcore cluster {place} --threshold 0.8"


def _list_largest(collection: Collection) -> Iterator[str]:
    """Yield a line for each of the largest clusters."""
    clustering, places = collection.clustering, places_of(collection)
    for label, members in largest_clusters(clustering.labels, LARGEST):
        classes = Counter(CLASSES[code] for code in clustering.codes[members].tolist())
        counts = ", ".join(f"{classes[name]:,} {name}" for name in CLASSES if classes[name])
        name = _name_document(str(collection.names[label]), None if places is None else places.place(label))
        known = clustering.resemblance[members][~np.isnan(clustering.resemblance[members])]  # nan: without shingles
        lowest = f"; lowest {known.min():.3f}" if len(known) else ""
        yield f"{len(members) + 1:>6,} with {name}: {counts}{lowest}"


def _name_document(ident: str, place: Place | None) -> str:
    """Name a document by its place, and by its id if that differs."""
    if place is None or place.own_id(ident) is None:
        return printable(ident if place is None else str(place))
    return f"{printable(str(place))} ({printable(ident, 60)})"


# ---- the command


def run_cluster(options: ClusterOptions) -> int:
    options = with_settings(options, "collection")
    page = report_file(options.report, options.overwrite, options.inputs, options.output)
    if options.dry_run:
        return _estimate(options)
    with contextlib.ExitStack() as stack:
        if page is not None:
            stack.enter_context(page)
        built = _make_collection(options, page, stack)
        options.outcome.written = True
    if built.documents is not None:
        summary.print_rejected(built.documents.rejected, sys.stderr)  # no other file lists them
    return present(options, cluster_account(built, options.report))


def _make_collection(options: ClusterOptions, page: PageFile | None, stack: contextlib.ExitStack) -> Built:
    """Make the collection and its page; `stack` closes its files, which the caller can read until then."""
    first = options.inputs[0]
    alone = len(options.inputs) == 1 and COLLECTION.is_in(first)
    old = Collection.open(first) if alone else None
    if old is not None and (options.output is None or Path(options.output).resolve() == Path(first).resolve()):
        built = regroup(options, old)
        commit_together(_write_page(options, built, page))
        return built
    output = _open_output(options)
    output.check()
    staging = stack.enter_context(Staging(output.name))  # keeps other jobs away from this output
    stack.enter_context(output.say_what_is_left())
    built = build(options, output, stack) if old is None else rebuild(options, old, output)
    if not output.commit(staging, _write_page(options, built, page)):
        return built
    return built._replace(collection=Collection.open(output.name))


def _open_output(options: ClusterOptions) -> CollectionOutput:
    """Return the output directory. Raises UsageError if none is named."""
    if options.output is None:
        raise UsageError("name the directory of the new collection: -o COLLECTION")
    return CollectionOutput(options.output, options.overwrite, options.outcome)


def _write_page(options: ClusterOptions, built: Built, page: PageFile | None) -> list[Staging]:
    """Write the page of ``--report``, if requested, beside its final name; return the object that commits it."""
    if page is None:
        return []
    data, names = cluster_account(built).data, built.collection.names
    repeats = counted(data["repeated_ids"], "document has", "documents have")
    page.write(render(from_clustering(
        built.collection.clustering, corpora=None if built.documents is None else (built.documents,),
        starts=(built.earlier,), name=lambda position: str(names[position]), rejected=data["counts"]["rejected"],
        notes=[f"{repeats} the id of an earlier one."] if data["repeated_ids"] else [], command=options.command_line,
    )))
    return [page.staging]


def _estimate(options: ClusterOptions) -> int:
    """Estimate the costs of a collection of these inputs."""
    collection = next((path for path in options.inputs if COLLECTION.is_in(path)), None)
    if collection is not None:
        raise UsageError(f"--dry-run estimates what documents take, and {collection} is a collection")
    output = _open_output(options)
    inputs = find_documents(options, output)
    method = options.method or "shingles"
    sketcher = plan_sketcher(options, method)
    check_grouping_options(options, None, method)
    limit = math.inf if options.memory_limit is None else options.memory_limit
    costs = Costs(
        memory=lambda documents, stored, each: min(documents * 5 * each, limit) + 100 * documents,  # sketches and entries
        disk=lambda documents, stored, each: Range(documents * 2 * each, documents * (2.6 * each + 200)),
        again=Range(0.1, 1.0), entries=75,
    )
    return dry_run(options, inputs, sketcher, costs, output.name)
