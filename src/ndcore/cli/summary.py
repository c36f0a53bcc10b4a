"""Describe the inputs in accounts: documents of each file, and what was rejected, skipped or read in another way."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from ndcore.cli.account import Note
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, Rejected
from ndcore.files.formats import ARCHIVED, WHOLE
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import Place
from ndcore.files.rewritten_inputs import SavedRecords
from ndcore.files.single_pass import SinglePass
from ndcore.files.sources import Ignored, Source, read_otherwise
from ndcore.files.verdicts import NamedVerdicts
from ndcore.human import counted, printable

NO_MAIN = "without recognizable main content, read whole"
BY_TAGS = "too deeply nested for a parser, or with too many attributes, compared by the text between the tags"


# ---- for programs


def what_was_read(documents: FileDocuments, saved: SavedRecords | None = None) -> dict[str, Any]:
    """Describe, for an account, the documents read, rejected and skipped; `saved` as for `rejected_list`."""
    return {
        "inputs": input_counts(documents, None),
        "read_otherwise": read_otherwise(documents.sources),
        **what_was_not_read(documents, saved),
        "pages_by_tags": by_tags_list(documents),
    }


def what_was_not_read(documents: FileDocuments | None, saved: SavedRecords | None = None) -> dict[str, Any]:
    """Describe the documents rejected (`saved` as for `rejected_list`) and skipped; None: no documents."""
    return {
        "rejected": [] if documents is None else rejected_list(documents.rejected, saved),
        "ignored": [] if documents is None else ignored_list(documents.ignored),
        "excluded": 0 if documents is None else documents.excluded,
    }


def input_counts(documents: FileDocuments, verdicts: NamedVerdicts | None) -> list[dict[str, Any]]:
    """Count the documents of each file of records; all text files and pages count together."""
    files: list[dict[str, Any]] = []
    texts: dict[str, Any] | None = None
    numbers = [] if verdicts is None else documents.count_by_source(verdicts.kept).tolist()
    for index, source in enumerate(documents.sources):
        accepted, rejected, blank = documents.counts(index)
        line: dict[str, Any] = {"read": accepted + rejected, "rejected": rejected}
        if verdicts is not None:
            line |= {"kept": numbers[index], "dropped": accepted - numbers[index]}
        if source.kind in WHOLE:
            texts = texts or {"name": "text files", "files": 0}
            texts["files"] += 1
            for key, number in line.items():
                texts[key] = texts.get(key, 0) + number
        elif source.kind in ARCHIVED:
            files.append({"name": source.name, **line, "records_not_documents": documents.kinds(index)})
        else:
            files.append({"name": source.name, **line, "blank_lines": blank})
    return [*files, texts] if texts else files


def archive_counts(documents: FileDocuments) -> dict[str, Any]:
    """Count, over all archives, the records that are not documents, by kind, and payloads that were decoded already."""
    kinds: Counter[str] = Counter()
    for index, source in enumerate(documents.sources):
        if source.kind in ARCHIVED:
            kinds.update(documents.kinds(index))
    return {"records_not_documents": dict(sorted(kinds.items())), "payloads_decoded_already": documents.decoded_already}


def ignored_list(ignored: Iterable[Ignored]) -> list[dict[str, str]]:
    """List the paths in directories that were skipped, each with its kind."""
    return [item._asdict() for item in ignored]


def by_tags_list(documents: FileDocuments | SinglePass) -> list[dict[str, Any]]:
    """List the pages that a parser could not read, each with its id and its place."""
    if isinstance(documents, SinglePass):
        return [{"id": ident, **place.fields()} for ident, place in documents.by_tags]
    return [{"id": documents.ids[i], **documents.place(i).fields()} for i in documents.by_tags]


def rejected_list(rejected: Iterable[Rejected], saved: SavedRecords | None = None) -> list[dict[str, Any]]:
    """List the rejected documents: path, line (row in Parquet, record in an archive; null for a whole file), reason.

    A command that writes them to its output gives `saved`; then each has its file there, or null if its bytes are not
    available.
    """
    return [
        {"path": item.path, "line": item.number, "reason": item.reason}
        | ({} if saved is None else {"saved_in": saved.get((item.path, item.number))})
        for item in rejected
    ]


# ---- for people


def lists(output: str) -> str:
    """Name the list of documents and paths that were not read, as the subject and verb of a sentence."""
    return "standard error lists" if output == STDOUT else "summary.json lists"


def by_tags_note(data: Mapping[str, Any], lists: str = "--json lists") -> Note:
    """Return the note on the pages of `by_tags_list` in an account's data; `lists` says where they are listed."""
    return Note(len(data["pages_by_tags"]), "page", f"{BY_TAGS}; {lists} them")


def left_out(data: Mapping[str, Any], lists: str = "--json lists") -> tuple[Note, Note]:
    """List the notes on paths in directories that were not read; `lists` says where they are listed."""
    kinds = commonest(Counter(item["kind"] for item in data["ignored"]))
    return (Note(data["excluded"], "path", "left out by --include and --exclude"),
            Note(len(data["ignored"]), "path", f"passed over ({kinds}); {lists} them"))


def nothing_to_read(path: str, ignored: Sequence[Ignored]) -> DocumentError:
    """Return the error that an input has no documents, with the kinds of the files that it has."""
    if not ignored:
        return DocumentError(path, None, "no documents: the directory holds no files that are read")
    kinds = commonest(Counter(item.kind for item in ignored))
    return DocumentError(path, None, f"no documents among {counted(len(ignored), 'path')} ({kinds})")


def commonest(numbers: Mapping[str, int]) -> str:
    """Count in words the four most frequent kinds, and the other kinds."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    more = f", {len(ordered) - 4} other kinds" if len(ordered) > 4 else ""
    return ", ".join(f"{number:,} {kind}" for kind, number in ordered[:4]) + more


def print_rejected(rejected: Iterable[Rejected], stream: TextIO) -> None:
    """Print a line for every rejected document, if no file lists them."""
    for item in rejected:
        place = str(Place(item.path, item.number))
        print(f"ndcore: rejected {printable(place)}: {printable(item.reason)}", file=stream)


def print_unread(documents: FileDocuments, stream: TextIO) -> None:
    """Print a line for every document and path that was not read, or not by a parser, if no file lists them."""
    print_rejected(documents.rejected, stream)
    for item in documents.ignored:
        print(f"ndcore: passed over {printable(item.path)}: {printable(item.kind)}", file=stream)
    for position in documents.by_tags:
        print(f"ndcore: {printable(str(documents.place(position)))} is {BY_TAGS}", file=stream)


def print_readings(sources: Sequence[Source]) -> None:
    """Report on standard error how files were read that are not UTF-8, or whose delimiter was detected."""
    for how, paths in read_otherwise(sources).items():
        more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
        print(f"ndcore: note: read {how}: {', '.join(map(printable, paths[:3]))}{more}", file=sys.stderr)
