"""Cut passages out of documents, and extract them with their context for the page of ``--report``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from ndcore._types import Ints, Text
from ndcore.cli.account import Note, Notes
from ndcore.cli.commands import RecordOptions
from ndcore.cli.outputs import write_table
from ndcore.cli.summary import by_tags_note, lists
from ndcore.files.documents import FileDocuments
from ndcore.files.edited_inputs import write_edited
from ndcore.files.errors import UsageError
from ndcore.files.jsonl_output import Edited, write_lines
from ndcore.files.outputs import OutputDirectory
from ndcore.files.table_files import BATCH as ROWS
from ndcore.files.table_files import Blocks, Column, Table
from ndcore.progress import Progress
from ndcore.report.marked_passages import DocumentWithPassage, excerpt_all
from ndcore.spans.cuts import clean_some
from ndcore.spans.token_places import Ranges, TokenPlaces
from ndcore.text.folding import Folding
from ndcore.text.shingling import Shingling


class Cleaned(NamedTuple):
    """The documents after passages were cut."""

    cut: Ints  # documents that lost something, ascending and distinct
    texts: Iterator[Text]  # the new texts of these documents
    empty: Ints  # documents of which nothing is left


def the_text_field(options: RecordOptions, instead: str) -> str:
    """Return the one field that holds the text. Raises UsageError if there are several; `instead` ends the message."""
    fields = options.text_field or ["text"]
    if len(fields) > 1:
        raise UsageError(f"a cleaned text goes back to the field it came from, and --text-field names several; {instead}")
    return fields[0]


def cut_documents(
    shingling: Shingling, threads: int | None, documents: FileDocuments, ranges: Ranges, empty: Ints,
    folding: Folding | None = None,
) -> Cleaned:
    """Cut ranges of tokens out of documents. Bytes are cut between characters, since they are written as text.

    empty: documents of which nothing is left. folding: the tokens are of the folded text.
    """
    left = clean_some(documents, len(documents.ids), shingling, ranges, threads, folding)
    return Cleaned(np.unique(ranges[0]), left, empty)


def write_cleaned(
    output: OutputDirectory | IO[bytes], documents: FileDocuments, field: str, cleaned: Cleaned, report: Progress
) -> int:
    """Write the documents that are not empty: to a directory in their own formats, else as JSON lines.

    Returns the number of documents written as JSON lines that are not UTF-8.
    """
    wanted, cut = np.ones(len(documents.ids), np.bool_), np.zeros(len(documents.ids), np.bool_)
    wanted[cleaned.empty], cut[cleaned.cut] = False, True
    texts = zip(cleaned.cut.tolist(), cleaned.texts, strict=True)

    def text_of(position: int) -> Text:
        """Return the text of a document that lost something; writers call this in ascending order."""
        for at, text in texts:
            if at == position:
                return text
        raise IndexError(position)

    edited = Edited(field, cut, text_of)
    if isinstance(output, OutputDirectory):
        repaired = write_edited(output, documents, wanted, edited, report)
    else:
        repaired = write_lines(output, documents, wanted, None, report, edited)
    for _ in texts:  # empty texts behind the last one that was written; then the iterator makes its checks
        pass
    return repaired


def write_empty(output: OutputDirectory, documents: FileDocuments, empty: Ints) -> None:
    """Write ``empty.jsonl``: the id and place of each document of which nothing is left."""
    columns = [Column("id", "id"), Column("file", "string"), Column("line", "integer")]
    some = (empty[start : start + ROWS] for start in range(0, len(empty), ROWS))
    blocks = ([documents.ids.take(positions), *documents.places(positions)[:2]] for positions in some)
    write_table(output, "empty.jsonl", Table(columns, Blocks(blocks)))


def fault_notes(data: dict[str, Any], output: str) -> Notes:
    """List the notes of an account on documents that could not be read, or only in part."""
    pages = [*data["pages_by_tags"], *data.get("items", {"pages_by_tags": ()})["pages_by_tags"]]
    return Notes([
        Note(data["counts"]["rejected"], "document", "could not be read"),
        Note(data["not_utf8"], "document", "had bytes that are not UTF-8"),
        by_tags_note({"pages_by_tags": pages}, lists(output)),
    ])


def range_in(text: Text, places: TokenPlaces, at: int) -> tuple[int, int]:
    """Return the bounds of range number `at`, in the characters or bytes of its text."""
    if isinstance(text, str):
        return int(places.start_char[at]), int(places.end_char[at])
    return int(places.start_byte[at]), int(places.end_byte[at])


def unite(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Unite ranges that overlap or touch, and sort them."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def excerpts_by_item(
    corpus: FileDocuments, items: Ints, documents: Ints, places: TokenPlaces
) -> dict[tuple[int, int], DocumentWithPassage]:
    """Extract for each item and document the text around the ranges of both. The documents are read once more."""
    wanted = np.zeros(len(corpus.ids), np.bool_)
    wanted[documents] = True
    made: dict[tuple[int, int], DocumentWithPassage] = {}
    for positions, texts in corpus.selected(wanted):
        for position, text in zip(positions.tolist(), texts, strict=True):
            own = np.flatnonzero(documents == position)
            for item in np.unique(items[own]).tolist():
                ranges = unite(range_in(text, places, at) for at in own[items[own] == item].tolist())
                made[item, position] = DocumentWithPassage(
                    str(corpus.ids[position]), str(corpus.place(position)), excerpt_all(text, ranges))
    return made


def colour_ranges(groups: Iterable[Iterable[tuple[int, int]]]) -> list[tuple[int, int, int]]:
    """Assign each position in ranges to the first group that has it: (start, end, number), ascending without overlap."""
    taken: list[tuple[int, int, int]] = []
    for number, ranges in enumerate(groups):
        new = []
        for start, end in unite(ranges):
            at = start
            for first, last, _ in taken:
                if first < end and last > at:
                    new += [(at, first, number)] if at < first else []
                    at = last
            new += [(at, end, number)] if at < end else []
        taken = sorted([*taken, *new])
    return taken
