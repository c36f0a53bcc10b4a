"""The account of a run: ``summary.json`` for programs, and a report for people.

Equal runs write equal bytes, so the account has no times.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

from ndcore.dedup.classes import describe_classes
from ndcore.dedup.filter_choice import FilterChoice
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, Rejected
from ndcore.files.formats import WHOLE
from ndcore.files.outputs import STDOUT
from ndcore.files.rewritten_inputs import SavedRecords
from ndcore.files.single_pass import SinglePass
from ndcore.files.sources import Ignored, Source, read_otherwise
from ndcore.files.verdicts import NamedVerdicts
from ndcore.human import counted, human_bytes, printable
from ndcore.pairs.common_shingles import COMMON_CLASSES

_MEANING = {
    "identical": "the same text as its representative, character for character",
    "lexical": "the same words in the same order",
    "shingle": "the same set of shingles",
    "version": "another document of the same value of --one-per comes first",
}
NO_MAIN = "without recognizable main content, read whole"
BY_TAGS = "too deeply nested for a parser, or with too many attributes, compared by the text between the tags"
BARE = "without shingles (empty, or without words), kept unless equal to the byte (of HTML: the page)"


def input_counts(documents: FileDocuments, verdicts: NamedVerdicts | None) -> list[dict[str, Any]]:
    """Count the documents of each file of records, and of all text files and pages together."""
    found: list[dict[str, Any]] = []
    texts: dict[str, Any] | None = None
    for index, source in enumerate(documents.sources):
        span = documents.span(index)
        accepted, rejected, blank = documents.counts(index)
        line: dict[str, Any] = {"read": accepted + rejected, "rejected": rejected}
        if verdicts is not None:
            kept = int(verdicts.kept[span.start : span.stop].sum())
            line |= {"kept": kept, "dropped": accepted - kept}
        if source.kind in WHOLE:
            texts = texts or {"name": "text files", "files": 0}
            texts["files"] += 1
            for key, number in line.items():
                texts[key] = texts.get(key, 0) + number
        elif source.kind == "archive":
            found.append({"name": source.name, **line, "records_not_documents": documents.kinds(index)})
        else:
            found.append({"name": source.name, **line, "blank_lines": blank})
    return [*found, texts] if texts else found


def archive_counts(documents: FileDocuments) -> dict[str, Any]:
    """Count, over all archives, the records that are not documents, by kind, and the payloads that were decoded already."""
    kinds: Counter[str] = Counter()
    for index in range(len(documents.sources)):
        kinds.update(documents.kinds(index))
    return {"records_not_documents": dict(sorted(kinds.items())), "payloads_decoded_already": documents.decoded_already}


def ignored_list(ignored: list[Ignored]) -> list[dict[str, str]]:
    """Return the paths in directories that were passed over, and the kind of each."""
    return [item._asdict() for item in ignored]


def what_was_read(documents: FileDocuments, saved: SavedRecords | None = None) -> dict[str, Any]:
    """Return the part of an account that says what was read, rejected and passed over; `saved` as in `rejected_list`."""
    return {
        "inputs": input_counts(documents, None),
        "read_otherwise": read_otherwise(documents.sources),
        "rejected": rejected_list(documents.rejected, saved),
        "ignored": ignored_list(documents.ignored),
        "excluded": documents.excluded,
        "pages_by_tags": by_tags_list(documents),
    }


def by_tags_list(documents: FileDocuments | SinglePass) -> list[dict[str, Any]]:
    """Return the pages that no parser read: id and place."""
    if isinstance(documents, SinglePass):
        return [{"id": ident, **place.fields()} for ident, place in documents.by_tags]
    return [{"id": documents.ids[i], **documents.place(i).fields()} for i in documents.by_tags]


def by_tags_note(number: int, lists: str = "--json lists") -> tuple[int, str, str]:
    """Return the note, as (number, noun, what), on the pages of `by_tags_list`; `lists` says where they are."""
    return number, "page", f"{BY_TAGS}; {lists} them"


def rejected_list(rejected: list[Rejected], saved: SavedRecords | None = None) -> list[dict[str, Any]]:
    """Return the rejected documents: path, line (row in Parquet, record in an archive; null for a whole file), reason.

    With `saved`, of a command that writes them to its output, also the file there; null where their bytes are not at hand.
    """
    return [
        {"path": item.path, "line": item.number, "reason": item.reason}
        | ({} if saved is None else {"saved_in": saved.get((item.path, item.number))})
        for item in rejected
    ]


def print_rejected(rejected: list[Rejected], stream: TextIO) -> None:
    """Print a line for every rejected document, where no file lists them."""
    for item in rejected:
        place = item.path if item.number is None else f"{item.path}:{item.number}"
        print(f"ndcore: rejected {printable(place)}: {printable(item.reason)}", file=stream)


def print_unread(documents: FileDocuments, stream: TextIO) -> None:
    """Print a line for every document and path that was not read, or not by a parser, where no file lists them."""
    print_rejected(documents.rejected, stream)
    print_ignored(documents.ignored, stream)
    print_by_tags(by_tags_list(documents), stream)


def print_by_tags(pages: list[dict[str, Any]], stream: TextIO) -> None:
    """Print a line for every page of `by_tags_list`, where no file lists them."""
    for page in pages:
        place = page["file"] if page["line"] is None else f"{page['file']}:{page['line']}"
        print(f"ndcore: {printable(place)} is {BY_TAGS}", file=stream)


def print_ignored(ignored: list[Ignored], stream: TextIO) -> None:
    """Print a line for every path that was passed over, where no file lists them."""
    for item in ignored:
        print(f"ndcore: passed over {printable(item.path)}: {printable(item.kind)}", file=stream)


def print_readings(sources: Sequence[Source]) -> None:
    """Print, on standard error, how files were read that are not in UTF-8, or whose delimiter was detected."""
    for how, paths in read_otherwise(sources).items():
        more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
        print(f"ndcore: note: read {how}: {', '.join(map(printable, paths[:3]))}{more}", file=sys.stderr)


def lists(output: str) -> str:
    """Say where the documents and paths that were not read are listed: subject and verb of a sentence."""
    return "standard error lists" if output == STDOUT else "summary.json lists"


def counts(read: int, rejected: int, verdicts: NamedVerdicts) -> dict[str, Any]:
    """Count read, kept, dropped and rejected documents. Raises AssertionError where they do not add up, a bug of ndcore."""
    dropped = verdicts.counts()
    kept = int(verdicts.kept.sum())
    if read != kept + sum(dropped.values()) + rejected:
        raise AssertionError(f"{read} read, {kept} kept, {dropped} dropped and {rejected} rejected do not add up")
    return {
        "read": read,
        "kept": kept,
        "dropped": sum(dropped.values()),
        "dropped_by_class": dropped,
        "rejected": rejected,
    }


def report(
    summary: dict[str, Any], verdicts: NamedVerdicts, output: str, stream: TextIO, shown: Callable[[int], str], example: str
) -> None:
    """Print the report for people: totals, notes, the largest clusters, where the output is, and what to do next.

    Parameters
    ----------
    summary : dict
        The content of ``summary.json``.
    output : str
        The output of the command: a directory, or ``-``.
    shown : callable
        Names a document on the terminal, from its position as in `Verdicts.name`.
    example : str
        A command that shows a pair; empty where no pair can be shown.
    """
    totals = summary["counts"]
    rows = [("read", totals["read"], ""), ("kept", totals["kept"], "")]
    meanings = _meanings(summary["parameters"])
    rows += [(name, number, f"dropped: {meanings[name]}") for name, number in totals["dropped_by_class"].items()]
    rows.append(
        ("rejected", totals["rejected"], f"could not be read; {lists(output)} them" if totals["rejected"] else "")
    )
    print(_headline(summary), file=stream)
    if also := rules(summary):
        print(f"  rules: {'; '.join(also)}", file=stream)
    print_rows(rows, stream)
    for note in notes(summary, output):
        print(f"  note: {note}", file=stream)
    _clusters(verdicts, stream, shown)
    _losses(summary, verdicts, output, stream, shown)
    _where(summary, output, stream)
    if example:
        print(example, file=stream)


def _headline(summary: dict[str, Any]) -> str:
    parameters = summary["parameters"]
    shingling = f"{parameters['unit']} shingles of {parameters['width']}"
    kind = "estimated from sketches" if summary["estimated"] else "exact"
    what = "Documents contained in another at" if parameters["drop"] == "contained" else "Near-duplicates at resemblance"
    return f"{what} {parameters['threshold']:g} or more ({shingling}, {kind})"


def _meanings(parameters: dict[str, Any]) -> dict[str, str]:
    """Say what each class means with the parameters of the run."""
    return _MEANING | describe_classes(contained=parameters["drop"] == "contained",
                                       common=parameters["drop_common"] is not None)


def rules(summary: dict[str, Any]) -> list[str]:
    """Say in words which pairs count, beside the threshold."""
    parameters, found = summary["parameters"], []
    if parameters["must_agree"]:
        found.append(f"{' and '.join(parameters['must_agree'])} must agree")
    if parameters["min_shingles"]:
        found.append(f"documents of fewer than {counted(parameters['min_shingles'], 'shingle')} are left alone")
    if parameters["drop_common"] is not None:
        number, share = summary["common_shingles"], 100 * parameters["drop_common"]
        verb = "counts" if number == 1 else "count"
        found.append(f"{counted(number, 'shingle')} in more than {share:g}% of the documents, and in at least "
                     f"{COMMON_CLASSES}, {verb} for nothing")
    if parameters["max_lost"] is not None:
        found.append(f"no drop loses a run of more than {counted(parameters['max_lost'], 'word')}")
    if parameters["reassign"]:
        found.append("each dropped document is listed under the kept one with the highest score")
    return found


def notes(summary: dict[str, Any], output: str) -> list[str]:
    """Return one sentence for each unusual thing that happened; `output` as on the command line."""
    shared = "shingle" if summary["filter"]["kind"] == "prefix" else "feature"
    others = summary.get("records_not_documents", {})
    ignored: Counter[str] = Counter(item["kind"] for item in summary["ignored"])
    kinds = _commonest(others)
    listed = (
        (summary["without_shingles"], "document", BARE),
        (summary["pages_without_main_content"], "page", NO_MAIN),
        by_tags_note(len(summary["pages_by_tags"]), lists(output)),
        (summary["invalid_utf8_bytes"], "byte", "outside of well-formed UTF-8, read as a bound between words"),
        (summary["blank_lines"], "blank line", "passed over"),
        (summary["without_keep_field"], "document", "without a value in the field of --keep, last in the order of keeping"),
        (sum(others.values()), "record", f"of archives kept untouched, not being a document ({kinds})"),
        (summary.get("payloads_decoded_already", 0), "payload", "read as stored, without the coding that its headers name"),
        (summary["repeated_ids"], "document", "with the id of an earlier one; file and line tell them apart"),
        *left_out(summary["excluded"], ignored, lists(output)),
        (len(summary["common"]), shared, "so common that documents holding it are paired with representatives only"),
    )
    return [f"{counted(number, noun)} {what}" for number, noun, what in listed if number]


def print_rows(rows: Sequence[tuple[str, int, str]], stream: TextIO, names: int = 10) -> None:
    """Print (name, number, meaning) in columns; `names`: width of the names."""
    width = max(len(f"{number:,}") for _, number, _ in rows)
    for name, number, meaning in rows:
        print(f"  {name:<{names}} {number:>{width},}  {meaning}".rstrip(), file=stream)


def print_notes(notes: Iterable[tuple[int, str, str]], stream: TextIO) -> None:
    """Print a line for each (number, noun, what) with a number."""
    for number, noun, what in notes:
        if number:
            print(f"  note: {counted(number, noun)} {what}", file=stream)


def print_files(report: str | None, tables: Iterable[str], stream: TextIO) -> None:
    """Print where the page of ``--report`` and the tables are."""
    if report is not None:
        print(f"The report for a browser is {printable(report)}", file=stream)
    for path in tables:
        print(f"A table for other programs is {printable(path)}", file=stream)


def left_out(excluded: int, ignored: Mapping[str, int], lists: str) -> list[tuple[int, str, str]]:
    """Return the notes, as (number, noun, what), on paths in directories that were not read; `lists` says where they are."""
    return [
        (excluded, "path", "left out by --include and --exclude"),
        (sum(ignored.values()), "path", f"passed over ({_commonest(ignored)}); {lists} them"),
    ]


def nothing_found(path: str, ignored: Sequence[Ignored]) -> DocumentError:
    """Return the error that an input has no documents, with the kinds of what it has."""
    if not ignored:
        return DocumentError(path, None, "no documents: the directory holds no files that are read")
    what = _commonest(Counter(item.kind for item in ignored))
    return DocumentError(path, None, f"no documents among {counted(len(ignored), 'path')} ({what})")


def _commonest(numbers: Mapping[str, int]) -> str:
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    more = f", {len(ordered) - 4} other kinds" if len(ordered) > 4 else ""
    return ", ".join(f"{number:,} {kind}" for kind, number in ordered[:4]) + more


def _clusters(verdicts: NamedVerdicts, stream: TextIO, shown: Callable[[int], str]) -> None:
    largest = verdicts.largest(5)
    if not largest:
        return
    total = verdicts.clusters()
    print("The only cluster" if total == 1 else f"Largest of {total:,} clusters", file=stream)
    for cluster in largest:
        classes = ", ".join(f"{number:,} {name}" for name, number in cluster.classes.items())
        place = " (in --against)" if cluster.against else ""
        name = shown(cluster.representative)
        lowest = "" if cluster.lowest is None else f"; lowest {cluster.lowest:.3f}"
        print(f"  {cluster.dropped:>6,} dropped for {name}{place}: {classes}{lowest}", file=stream)


def _losses(
    summary: dict[str, Any], verdicts: NamedVerdicts, output: str, stream: TextIO, shown: Callable[[int], str]
) -> None:
    """Print what the drops cost: the total, and the largest losses."""
    losses = summary["lost"]
    if losses is None:
        return
    if not losses["shingles"]:
        print("The drops cost nothing: every shingle is in a kept document", file=stream)
        return
    more = "" if output == STDOUT else "; clusters.jsonl begins with the largest losses"
    shingles, documents = counted(losses["shingles"], "shingle"), counted(losses["documents"], "document")
    print(f"The drops cost {shingles} of {documents} that no kept document has{more}", file=stream)
    for position in verdicts.by_loss()[: min(5, losses["documents"])].tolist():
        said = verdicts.describe(position)
        representative = shown(int(verdicts.labels[position]))
        print(f"  {said['lost']:>6,} of {shown(position)}, {said['class']}: dropped for {representative}", file=stream)


def promise(summary: dict[str, Any]) -> str:
    """Say which pairs the filter may have missed, and what a complete one would cost."""
    miss, complete = summary["filter"]["miss"], summary["complete_filter"]
    if not miss:
        choice = summary["filter"]["choice"]
        why = "" if choice is None else f" It was chosen because {FilterChoice(**choice)}."
        return f"No pair at or above the threshold is missed: the filter is complete.{why}"
    sentence = f"A pair exactly at the threshold is missed with probability {miss:.2g}, a closer one less often."
    if complete is None:
        return sentence
    looked_up, size = complete["looked_up_of_100"], human_bytes(complete["shingle_bytes"])
    costs = f"it reads about {size} of shingles, and looks up {looked_up:.0f} of 100."
    return f"{sentence}\n--filter complete misses none: {costs}"


def below(steps: Sequence[Mapping[str, float]], inputs: Sequence[str]) -> str:
    """Say how many pairs are estimated below the threshold, and which command shows such pairs."""
    listed = ", ".join(f"{step['pairs']:,.0f} ± {2 * step['error']:,.0f} at {step['low']:g} to {step['high']:g}"
                       for step in reversed(steps))
    return f"Pairs below, estimated: {listed}. To judge some: {shlex.join(['ndcore', 'judge', *inputs, '-o', 'judged'])}"


def _where(summary: dict[str, Any], output: str, stream: TextIO) -> None:
    if output == STDOUT:
        repaired = summary["replaced_bytes"]
        if repaired:
            print(f"U+FFFD stands for bytes that are not UTF-8 in the text of {counted(repaired, 'document')}", file=stream)
        which = "All" if summary["parameters"]["annotate"] else "The kept"
        print(f"{which} records are on standard output; with -o OUTDIR, clusters.jsonl says what was dropped, and for what",
              file=stream)
    else:
        folder = "annotated" if summary["parameters"]["annotate"] else "kept"
        rejected = ", rejected/" if any(item.get("saved_in") for item in summary["rejected"]) else ""
        print(
            f"Output in {printable(output)}: {folder}/{rejected}, clusters.jsonl (what was dropped, and for what), "
            "summary.json", file=stream,
        )
    print(promise(summary), file=stream)
    if steps := [step for step in summary["pairs_below"] or () if step["pairs"] >= 0.5]:
        print(below(steps, summary["parameters"]["inputs"]), file=stream)
    if summary["estimated"]:
        print(
            "Where a text was not at hand, pairs were judged by sketches alone; "
            f"{summary['expected_spurious']:.2g} spurious matches are expected of fingerprints that collide.",
            file=stream,
        )
