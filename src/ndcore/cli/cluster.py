"""``ndcore cluster``: cluster a collection by sketches, and keep it for queries."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
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
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import repeated, with_settings
from ndcore.cli.outputs import PageFile, print_account, report_file
from ndcore.collection.clustering import Clustering
from ndcore.collection.collection import Collection
from ndcore.collection.shelf import CLASSES
from ndcore.files.errors import UsageError
from ndcore.files.provenance import Place
from ndcore.human import counted, human_bytes, pasted, printable
from ndcore.pairs.assignments import largest_clusters
from ndcore.report.collection import from_clustering
from ndcore.report.page import render
from ndcore.storage.job_description import COLLECTION
from ndcore.storage.staging import Staging, commit_together

__all__ = ["describe", "print_report", "run_cluster"]


# ---- the account, for programs, for people and as a page

LARGEST = 5  # clusters on the terminal
OF_VERSIONS = "after another with the same value of --one-per: not compared"


def describe(built: Built) -> dict[str, Any]:
    """Make what ``--json`` prints; equal runs give equal bytes."""
    collection, found, documents = built.collection, built.collection.clustering, built.documents
    rejected = [] if documents is None else documents.rejected
    sizes = np.bincount(np.bincount(found.labels, minlength=len(found)))
    return {
        "ndcore": __version__,
        "counts": {
            "read": len(found) + len(rejected), "rejected": len(rejected), "documents": len(found), "earlier": built.earlier,
            "alone": int(sizes[1]) if len(sizes) > 1 else 0, "clusters": int(sizes[2:].sum()),
            "in_clusters": int(np.dot(np.arange(len(sizes))[2:], sizes[2:])), "by_class": _count_classes(found),
            "without_sample": found.without_sample,
        },
        "cluster_sizes": {str(size): int(count) for size, count in enumerate(sizes) if size > 1 and count},
        "common": len(found.common.value), "chains": len(found.chains.representative),
        "parameters": {
            "threshold": found.threshold, "policy": found.policy, "cluster": found.cluster, "guard": found.guard,
            **found.parameters,
        },
        "recipe": {"id": collection.recipe.id, "parameters": json.loads(collection.recipe.to_json())},
        "rejected": summary.rejected_list(rejected),
        "pages_without_main_content": 0 if documents is None else documents.without_main,
        "pages_by_tags": [] if documents is None else summary.by_tags_list(documents),
        "repeated_ids": _count_repeated(built),
        "ignored": [] if documents is None else summary.ignored_list(documents.ignored),
        "excluded": 0 if documents is None else documents.excluded,
    }


def _count_classes(found: Clustering) -> dict[str, int]:
    """Count the documents of each class, except the representatives; of versions only if there are some."""
    counts = np.bincount(found.codes, minlength=len(CLASSES)).tolist()
    return {name: count for name, count in zip(CLASSES, counts, strict=True)
            if name != "kept" and (count or name != "version")}


def _count_repeated(built: Built) -> int:
    """Count the documents whose id an earlier document has."""
    if built.earlier:
        names = built.collection.names
        return len(names) - len({names[position] for position in range(len(names))})
    return 0 if built.documents is None else repeated(built.documents)


# ---- on the terminal


def print_report(built: Built, stream: TextIO) -> None:
    """Print a report for people."""
    account, found = describe(built), built.collection.clustering
    counts = account["counts"]
    word = "resemblance" if found.policy == "resemblance" else "containment"
    print(f"Clusters at {word} {found.threshold:g} or more ({found.cluster}, estimated from sketches)", file=stream)
    rows = [
        ("read", counts["read"], ""), ("alone", counts["alone"], "in no cluster"),
        ("in clusters", counts["in_clusters"], f"in {counted(counts['clusters'], 'cluster')} of two or more"),
        *((name, number, OF_VERSIONS if name == "version" else "to the representative of the cluster")
          for name, number in counts["by_class"].items() if number),
        ("rejected", counts["rejected"], "could not be read" if counts["rejected"] else ""),
    ]
    summary.print_rows(rows, stream, 11)
    for note in _notes(account, found):
        print(f"  note: {note}", file=stream)
    _print_largest(built, stream)
    size = sum(file.stat().st_size for file in built.collection.path.rglob("*") if file.is_file())
    path = str(built.collection.path)
    place = pasted([path])
    print(f"The collection is {printable(path)} ({human_bytes(size)})", file=stream)
    print(f"Next: ndcore query {place} FILE; other clusters of it: ndcore cluster {place} --threshold 0.8", file=stream)


def _notes(account: dict[str, Any], found: Clustering) -> list[str]:
    """Return the notes below the table of counts."""
    ignored = Counter(item["kind"] for item in account["ignored"])
    listed = (
        (account["counts"]["earlier"], "document", "of the collection that was extended"),
        (found.without_sample, "document",
         "without a sample (too short for the modulus, or without words), in clusters only if identical to another"),
        (account["common"], "shingle", "in too many documents (--max-holders) to propose pairs"),
        (account["chains"], "cluster",
         "held together by chains: some members do not resemble their representative enough"),
        (account["pages_without_main_content"], "page", summary.NO_MAIN),
        summary.by_tags_note(len(account["pages_by_tags"])),
        (account["repeated_ids"], "document", "with the id of an earlier one"),
        *summary.left_out(account["excluded"], ignored, "--json lists"),
    )
    return [f"{counted(number, noun)} {what}" for number, noun, what in listed if number]


def _print_largest(built: Built, stream: TextIO) -> None:
    """Print the largest clusters, a line each."""
    found, names = built.collection.clustering, built.collection.names
    total = len(found.representatives)
    if not total:
        return
    places = places_of(built.collection)
    print("The only cluster" if total == 1 else f"Largest of {total:,} clusters", file=stream)
    for label, members in largest_clusters(found.labels, LARGEST):
        classes = Counter(CLASSES[code] for code in found.codes[members].tolist())
        counts = ", ".join(f"{classes[name]:,} {name}" for name in CLASSES if classes[name])
        name = _name_document(str(names[label]), None if places is None else places.place(label))
        known = found.resemblance[members][~np.isnan(found.resemblance[members])]  # nan: without shingles
        lowest = f"; lowest {known.min():.3f}" if len(known) else ""
        print(f"  {len(members) + 1:>6,} with {name}: {counts}{lowest}", file=stream)


def _name_document(ident: str, place: Place | None) -> str:
    """Name a document by its place, and by its id where the id says something else."""
    if place is None or place.own_id(ident) is None:
        return printable(ident if place is None else str(place))
    return f"{printable(str(place))} ({printable(ident, 60)})"


# ---- for a browser


def render_page(built: Built, command_line: str) -> str:
    """Render the page of ``--report``."""
    account, names = describe(built), built.collection.names
    repeats = account["repeated_ids"]
    return render(from_clustering(
        built.collection.clustering, corpora=None if built.documents is None else (built.documents,),
        starts=(built.earlier,), name=lambda position: str(names[position]), rejected=account["counts"]["rejected"],
        notes=[f"{counted(repeats, 'document has', 'documents have')} the id of an earlier one."] if repeats else [],
        command=command_line,
    ))


# ---- the command


def run_cluster(options: ClusterOptions) -> int:
    """Run ``ndcore cluster``."""
    options = with_settings(options, "collection")
    page = report_file(options.report, options.overwrite, options.inputs, options.output)
    if options.dry_run:
        return _dry_run(options)
    with contextlib.ExitStack() as stack:
        if page is not None:
            stack.enter_context(page)
        built = _make_collection(options, page, stack)
        options.outcome.written = True
        if page is not None and not options.quiet and not options.json:
            summary.print_files(page.path, (), sys.stdout)
    if built.documents is not None:
        summary.print_rejected(built.documents.rejected, sys.stderr)  # no other file lists them
    print_account(options, describe(built), lambda: print_report(built, sys.stdout))
    return 0


def _make_collection(options: ClusterOptions, page: PageFile | None, stack: contextlib.ExitStack) -> Built:
    """Make what the inputs and the output ask for, and its page; what `stack` closes may be read afterwards."""
    first = options.inputs[0]
    alone = len(options.inputs) == 1 and COLLECTION.is_in(first)
    old = Collection.open(first) if alone else None
    if old is not None and (options.output is None or Path(options.output).resolve() == Path(first).resolve()):
        built = regroup(options, old)
        commit_together(_pages(options, built, page))
        return built
    output = _output(options)
    output.check()
    staging = stack.enter_context(Staging(output.name))  # one job on this output at a time
    stack.enter_context(output.say_what_is_left())
    built = build(options, output, stack) if old is None else rebuild(options, old, output)
    if not output.commit(staging, _pages(options, built, page)):
        return built
    return built._replace(collection=Collection.open(output.name))


def _output(options: ClusterOptions) -> CollectionOutput:
    """Return the output directory. Raises UsageError where none is named."""
    if options.output is None:
        raise UsageError("name the directory of the new collection: -o COLLECTION")
    return CollectionOutput(options.output, options.overwrite, options.outcome)


def _pages(options: ClusterOptions, built: Built, page: PageFile | None) -> list[Staging]:
    """Write the page of ``--report``, if there is one, beside its final name; return what commits it."""
    if page is None:
        return []
    page.write(render_page(built, options.command_line))
    return [page.staging]


def _dry_run(options: ClusterOptions) -> int:
    """Estimate what a collection of these inputs would take."""
    collection = next((path for path in options.inputs if COLLECTION.is_in(path)), None)
    if collection is not None:
        raise UsageError(f"--dry-run estimates what documents take, and {collection} is a collection")
    output = _output(options)
    found = find_documents(options, output)
    method = options.method or "shingles"
    sketcher = plan_sketcher(options, method)
    check_grouping_options(options, None, method)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        """Estimate the bytes of memory: sketches and their sorted entries, bounded by --memory."""
        return min(documents * 5 * each, limit) + 100 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        """Estimate the bytes of the collection."""
        return Range(documents * 2 * each, documents * (2.6 * each + 200))

    return dry_run(options, found, sketcher, Costs(memory, disk, Range(0.1, 1.0), 75), output.name)
