"""What ``ndcore contamination`` writes: tables, the corpus without passages or documents, the account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ndcore._types import Ints
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.cleaned_output import Cleaned, cut_documents, print_faults, write_cleaned, write_empty
from ndcore.cli.contamination_search import ContaminationOptions, Searched
from ndcore.cli.outputs import id_and_place, place_columns, write_table
from ndcore.files.documents import FileDocuments
from ndcore.files.outputs import OutputDirectory
from ndcore.files.rewritten_inputs import SavedRecords, write_kept
from ndcore.files.table_files import Column, Table
from ndcore.human import counted, printable
from ndcore.progress import Progress
from ndcore.spans.token_places import Ranges, TokenPlaces, place_all
from ndcore.text.corpus import TextCorpus, indexed_texts

__all__ = ["Written", "account_of", "place_in_corpus", "place_in_items", "print_report", "write_documents", "write_tables"]

MOST_LINES = 20  # benchmarks on the terminal
BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


@dataclass
class Written:
    """What was written of the corpus.

    Attributes
    ----------
    kind : str or None
        "kept" (--drop), "cleaned" (--trim) or nothing.
    left_out : int
        Documents that are not in it.
    repaired : int
        Documents whose bytes are not UTF-8; U+FFFD replaces the invalid ones.
    """

    kind: str | None = None
    left_out: int = 0
    repaired: int = 0


# ---- documents


def write_documents(
    output: OutputDirectory, options: ContaminationOptions, field: str, searched: Searched, report: Progress
) -> Written:
    """Write the corpus as --drop or --trim ask. `field`: of records, that holds the text."""
    corpus, spans, holders = searched.corpus, searched.spans, searched.documents
    if options.drop:
        kept = np.ones(len(corpus.ids), np.bool_)
        kept[holders.document] = False
        write_kept(output, corpus, kept, report)
        return Written("kept", len(holders.document))
    if not options.trim:
        return Written()
    ranges = (spans.document, spans.start, spans.end)
    texts = cut_documents(searched.shingling, searched.threads, corpus, ranges)
    empty = holders.document[holders.covered == holders.tokens]
    cleaned = Cleaned(texts, holders.document, empty)
    with output.below("cleaned.jsonl").open("xb", buffering=1 << 20) as file:
        repaired = write_cleaned(file, corpus, field, cleaned, report)
    write_empty(output, corpus, empty)
    return Written("cleaned", len(empty), repaired)


# ---- tables


def write_tables(output: OutputDirectory, searched: Searched) -> None:
    """Write the tables of items, benchmarks, documents, places and passages."""
    for name, table in (("items", _items), ("benchmarks", _benchmarks), ("documents", _documents), ("places", _places),
                        ("passages", _passages)):
        write_table(output, f"{name}.jsonl", table(searched))


def _items(searched: Searched) -> Table:
    """Return a row for each item: its benchmark, where it stands, and what was found of it."""
    names = ("tokens", "covered", "grams", "found", "longest")
    places = place_columns(_archives(searched.items))
    columns = [Column("benchmark", "string"), Column("id", "id"), *places, *(Column(name, "integer") for name in names),
               Column("contaminated", "truth")]
    numbers = zip(*(getattr(searched.found, name).tolist() for name in names), searched.contaminated.tolist(), strict=True)
    rows = ((label, *id_and_place(searched.items, position, len(places)), *row)
            for position, (label, row) in enumerate(zip(searched.labels, numbers, strict=True)))
    return Table(columns, rows)


def _benchmarks(searched: Searched) -> Table:
    """Return a row for each benchmark."""
    columns = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    return Table(columns, searched.benchmarks())


def _documents(searched: Searched) -> Table:
    """Return a row for each document of the corpus that has windows of contaminated items."""
    names = ("tokens", "covered", "longest")
    places = place_columns(_archives(searched.corpus))
    columns = [Column("id", "id"), *places, *(Column(name, "integer") for name in names)]
    rows = ((*id_and_place(searched.corpus, position, len(places)), *row)
            for position, *row in zip(*(part.tolist() for part in searched.documents), strict=True))
    return Table(columns, rows)


def _places(searched: Searched) -> Table:
    """Return a row for each run of a contaminated item that stands in the corpus, at its first place."""
    places = searched.found.places
    item, start, end, document, there = (part[searched.contaminated[places.item]] for part in places)
    of_item, of_corpus = (item, start, end), (document, there, there + end - start)
    return _two_sides(searched, of_item, place_in_items(searched, of_item), of_corpus)


def _passages(searched: Searched) -> Table:
    """Return a row for each passage of the corpus, with an item that has its first window."""
    spans = searched.spans
    return _two_sides(searched, (spans.item, spans.item_start, None), None, (spans.document, spans.start, spans.end))


def _two_sides(
    searched: Searched, of_item: tuple[Ints, Ints, Ints | None], in_item: TokenPlaces | None, of_corpus: Ranges
) -> Table:
    """Return rows of a passage each: the document and where it stands there, the item and where it stands there."""
    here, there = place_columns(_archives(searched.corpus)), place_columns(_archives(searched.items))
    numbers: dict[str, Ints] = {"start": of_corpus[1], "end": of_corpus[2],
                                **place_in_corpus(searched, of_corpus)._asdict(), "item_start": of_item[1]}
    if of_item[2] is not None and in_item is not None:
        numbers |= {"item_end": of_item[2], **{f"item_{name}": column for name, column in in_item._asdict().items()}}
    split = list(numbers).index("item_start")
    names = list(numbers)
    columns = [Column("id", "id"), *here, *(Column(name, "integer") for name in names[:split]), Column("item", "id"),
               *(Column(f"item_{column.name}", column.kind) for column in there),
               *(Column(name, "integer") for name in names[split:])]

    def rows() -> Iterator[tuple[Any, ...]]:
        listed = (column.tolist() for column in (of_corpus[0], of_item[0], *numbers.values()))
        for document, item, *values in zip(*listed, strict=True):
            yield (*id_and_place(searched.corpus, document, len(here)), *values[:split],
                   *id_and_place(searched.items, item, len(there)), *values[split:])

    return Table(columns, rows())


def place_in_items(searched: Searched, ranges: Ranges) -> TokenPlaces:
    """Find the characters and bytes of ranges of items."""
    wanted = np.zeros(len(searched.texts), np.bool_)
    wanted[ranges[0]] = True
    pieces = indexed_texts([TextCorpus(searched.texts)], [0], wanted)
    return place_all(pieces, searched.shingling, ranges, searched.threads)


def place_in_corpus(searched: Searched, ranges: Ranges) -> TokenPlaces:
    """Find the characters and bytes of ranges of documents of the corpus, which are read again."""
    wanted = np.zeros(len(searched.corpus.ids), np.bool_)
    wanted[ranges[0]] = True
    pieces = indexed_texts([searched.corpus], [0], wanted)
    return place_all(pieces, searched.shingling, ranges, searched.threads)


def _archives(documents: FileDocuments) -> bool:
    """Tell whether some documents come from archives, whose places have an offset and a date."""
    return any(source.kind == "archive" for source in documents.sources)


# ---- the account


def account_of(searched: Searched, written: Written, output: str, saved: SavedRecords) -> dict[str, Any]:
    """Return the account of the run; equal runs, equal bytes. `saved`: the rejected records that are in the output."""
    found, holders = searched.found, searched.documents
    return {
        "ndcore": __version__,
        "output": output,
        "written": written.kind,
        "rule": searched.rule,
        "min_tokens": found.min_tokens,
        "counts": {
            "items": len(found),
            "contaminated": int(searched.contaminated.sum()),
            "shorter_than_a_run": int(np.count_nonzero((found.tokens > 0) & (found.tokens < found.min_tokens))),
            "read": searched.corpus.read,
            "documents": found.corpus_documents,
            "with_passages": len(holders.document),
            "passages": len(searched.spans.document),
            "left_out": written.left_out,
            "rejected": len(searched.corpus.rejected),
        },
        "tokens": {"items": int(found.tokens.sum()), "covered": int(found.covered.sum()), "corpus": found.corpus_tokens,
                   "in_passages": int(holders.covered.sum())},
        "benchmarks": [dict(zip(BENCHMARK, each, strict=True)) for each in searched.benchmarks()],
        "not_utf8": written.repaired,
        "items": summary.what_was_read(searched.items),
        **summary.what_was_read(searched.corpus, saved),
    }


def print_report(account: dict[str, Any], options: ContaminationOptions, stream: TextIO) -> None:
    """Print the account for people."""
    counts, benchmarks = account["counts"], account["benchmarks"]
    share = 100 * counts["contaminated"] / counts["items"]
    print(f"{counts['contaminated']:,} of {counted(counts['items'], 'item')} ({share:.1f} %) are contaminated: rule "
          f"{account['rule']}, runs of {counted(account['min_tokens'], 'token')}", file=stream)
    listed = sorted(benchmarks, key=lambda each: -each["contaminated"])[:MOST_LINES]
    for each in listed:
        print(f"  {each['contaminated']:8,} of {each['items']:8,}  {printable(each['benchmark'], 60)}", file=stream)
    if len(benchmarks) > len(listed):
        print(f"  and {counted(len(benchmarks) - len(listed), 'benchmark')} more, in benchmarks.jsonl", file=stream)
    print(f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')} hold "
          f"{counted(counts['passages'], 'passage')} of them, {counted(account['tokens']['in_passages'], 'token')}",
          file=stream)
    if account["written"] == "kept":
        print(f"{counted(counts['left_out'], 'document')} left out of kept/", file=stream)
    elif account["written"] == "cleaned":
        print(f"The passages were cut; nothing is left of {counted(counts['left_out'], 'document')}", file=stream)
    if counts["shorter_than_a_run"]:
        print(f"  note: {counted(counts['shorter_than_a_run'], 'item')} with fewer tokens than a run: such an item counts "
              "wherever it stands as a whole; leave out the ones that stand everywhere", file=stream)
    pages = len(account["pages_by_tags"]) + len(account["items"]["pages_by_tags"])
    print_faults(counts["rejected"], account["not_utf8"], summary.by_tags_note(pages, summary.lists(options.output)), stream)
    print(f"Written: {printable(options.output)}", file=stream)
    if options.report is not None:
        print(f"The report for a browser is {printable(options.report)}", file=stream)
