"""``ndcore contamination``: the items of benchmarks that stand in a corpus, and the corpus without them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ndcore._types import Bools, Ints, Text
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import checked_shingling, find_inputs, open_documents, refuse_nothing_read
from ndcore.cli.outputs import id_and_place, place_columns, print_account, report_file, write_table
from ndcore.cli.passages import (
    Cleaned,
    cut_documents,
    excerpts_around,
    print_faults,
    range_in,
    the_text_field,
    united,
    write_cleaned,
    write_empty,
)
from ndcore.files.document_fields import GroupingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import WHOLE
from ndcore.files.jsonl_output import check_rows
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.rewritten_inputs import SavedRecords, write_kept, write_rejected
from ndcore.files.sources import STDIN, Inputs, get_sizes, is_url
from ndcore.files.table_files import Column, Table
from ndcore.human import counted, printable
from ndcore.progress import Progress, by_position, reporting
from ndcore.report.marked_passages import Marked, MarkedPage, MarkedText, Standing, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import RULES, Benchmark, Contamination, RuleName, Spans
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.token_places import Ranges, TokenPlaces, place_all
from ndcore.storage.staging import commit_together
from ndcore.text.corpus import ChosenCorpus, TextCorpus, indexed_texts
from ndcore.text.shingling import Shingling

__all__ = ["WrittenContamination", "account_of", "print_report", "run_contamination", "search"]

MOST_LINES = 20  # benchmarks on the terminal
BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


@dataclass
class WrittenContamination:
    """What was written of the corpus.

    Attributes
    ----------
    kind : str or None
        "kept" (--drop), "cleaned" (--trim) or nothing.
    left_out : int
        FileDocuments that are not in it.
    repaired : int
        FileDocuments whose bytes are not UTF-8; U+FFFD replaces the invalid ones.
    """

    kind: str | None = None
    left_out: int = 0
    repaired: int = 0


# ---- documents


def write_documents(
    output: OutputDirectory, options: ContaminationOptions, field: str, searched: Searched, report: Progress
) -> WrittenContamination:
    """Write the corpus as --drop or --trim ask. `field`: of records, that holds the text."""
    corpus, spans, holders = searched.corpus, searched.spans, searched.documents
    if options.drop:
        kept = np.ones(len(corpus.ids), np.bool_)
        kept[holders.document] = False
        write_kept(output, corpus, kept, report)
        return WrittenContamination("kept", len(holders.document))
    if not options.trim:
        return WrittenContamination()
    ranges = (spans.document, spans.start, spans.end)
    texts = cut_documents(searched.shingling, searched.threads, corpus, ranges)
    empty = holders.document[holders.covered == holders.tokens]
    cleaned = Cleaned(texts, holders.document, empty)
    with output.below("cleaned.jsonl").open("xb", buffering=1 << 20) as file:
        repaired = write_cleaned(file, corpus, field, cleaned, report)
    write_empty(output, corpus, empty)
    return WrittenContamination("cleaned", len(empty), repaired)


# ---- tables


def write_tables(output: OutputDirectory, searched: Searched) -> None:
    """Write the tables of items, benchmarks, documents, places and passages."""
    for name, table in (("items", _items), ("benchmarks", _benchmarks), ("documents", _documents), ("places", _places),
                        ("passages", _passages)):
        write_table(output, f"{name}.jsonl", table(searched))


def _items(searched: Searched) -> Table:
    """Make a row for each item: its benchmark, where it stands, and what was found of it."""
    names = ("tokens", "covered", "grams", "found", "longest")
    places = place_columns(_archives(searched.items))
    columns = [Column("benchmark", "string"), Column("id", "id"), *places, *(Column(name, "integer") for name in names),
               Column("contaminated", "truth")]
    numbers = zip(*(getattr(searched.found, name).tolist() for name in names), searched.contaminated.tolist(), strict=True)
    rows = ((label, *id_and_place(searched.items, position, len(places)), *row)
            for position, (label, row) in enumerate(zip(searched.labels, numbers, strict=True)))
    return Table(columns, rows)


def _benchmarks(searched: Searched) -> Table:
    """Make a row for each benchmark."""
    columns = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    return Table(columns, searched.benchmarks())


def _documents(searched: Searched) -> Table:
    """Make a row for each document of the corpus that has windows of contaminated items."""
    names = ("tokens", "covered", "longest")
    places = place_columns(_archives(searched.corpus))
    columns = [Column("id", "id"), *places, *(Column(name, "integer") for name in names)]
    rows = ((*id_and_place(searched.corpus, position, len(places)), *row)
            for position, *row in zip(*(part.tolist() for part in searched.documents), strict=True))
    return Table(columns, rows)


def _places(searched: Searched) -> Table:
    """Make a row for each run of a contaminated item that stands in the corpus, at its first place."""
    places = searched.found.places
    item, start, end, document, there = (part[searched.contaminated[places.item]] for part in places)
    of_item, of_corpus = (item, start, end), (document, there, there + end - start)
    return _two_sides(searched, of_item, place_in_items(searched, of_item), of_corpus)


def _passages(searched: Searched) -> Table:
    """Make a row for each passage of the corpus, with an item that has its first window."""
    spans = searched.spans
    return _two_sides(searched, (spans.item, spans.item_start, None), None, (spans.document, spans.start, spans.end))


def _two_sides(
    searched: Searched, of_item: tuple[Ints, Ints, Ints | None], in_item: TokenPlaces | None, of_corpus: Ranges
) -> Table:
    """Make rows of a passage each: the document and where it stands there, the item and where it stands there."""
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


def account_of(searched: Searched, written: WrittenContamination, output: str, saved: SavedRecords) -> dict[str, Any]:
    """Make the account of the run; equal runs, equal bytes. `saved`: the rejected records that are in the output."""
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
    summary.print_files(options.report, (), stream)


# ---- the page

SHOWN = 100  # items
STANDING = 3  # places of each


def contamination_page(searched: Searched, account: dict[str, Any], command: str) -> str:
    """Render the page of a run. `account` is the content of ``summary.json``."""
    counts = account["counts"]
    shingling = searched.shingling
    runs = f"{account['min_tokens']} {shingling.unit}s"
    parameters = [("command", command), ("rule", account["rule"]), ("min_tokens", str(account["min_tokens"])),
                  ("unit", str(shingling.unit)), ("normalize", str(shingling.normalize)),
                  ("stop_words", " ".join(shingling.stop_words) or "none")]
    return marked_page(MarkedPage(
        "Items of benchmarks in a corpus",
        f"Runs of {runs}, compared exactly. Rule {account['rule']}. Marked is what stands in the corpus.",
        (Figure(counts["items"], "items"), Figure(counts["contaminated"], "contaminated"),
         Figure(counts["documents"], "documents of the corpus"), Figure(counts["with_passages"], "with passages")),
        (_benchmark_table(account["benchmarks"]),), "Contaminated items",
        _shown(searched), counts["contaminated"], parameters,
    ))


def _benchmark_table(lines: list[dict[str, Any]]) -> ReportTable:
    """Return the table of benchmarks."""
    first = sorted(lines, key=lambda line: -line["contaminated"])[:ROWS]
    rows = tuple((str(line["benchmark"]), line["items"], line["contaminated"], line["tokens"], line["covered"])
                 for line in first)
    heads = ("Benchmark", "Items", "Contaminated", "Tokens", "Tokens found")
    return ReportTable("Benchmarks", "Most contaminated items first.", heads, rows, len(lines))


def _shown(searched: Searched) -> list[MarkedText]:
    """Return the contaminated items with most of their windows found, and the longest of their places."""
    found, places = searched.found, searched.found.places
    flagged = np.flatnonzero(searched.contaminated)
    share = found.found[flagged] / found.grams[flagged]
    items = flagged[np.lexsort((-found.covered[flagged], -share))][:SHOWN]
    rows = {item: np.flatnonzero(places.item == item) for item in items.tolist()}
    listed = {item: of[np.argsort(places.start[of] - places.end[of], kind="stable")][:STANDING] for item, of in rows.items()}
    chosen = np.concatenate([np.zeros(0, np.int64), *listed.values()])
    stand = dict(zip(chosen.tolist(), _excerpts(searched, chosen), strict=True))
    marks = _marks(searched, np.concatenate([np.zeros(0, np.int64), *rows.values()]))
    return [
        MarkedText(
            str(searched.items.ids[item]),
            f"{searched.labels[item]}: {found.covered[item]:,} of {found.tokens[item]:,} tokens",
            Marked(searched.texts[item], marks[item]), [stand[row] for row in listed[item].tolist()], len(rows[item]),
        ) for item in items.tolist()
    ]


def _marks(searched: Searched, rows: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return where the places of these rows stand in each item, united."""
    places = searched.found.places
    found = place_in_items(searched, (places.item[rows], places.start[rows], places.end[rows]))
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, item in enumerate(places.item[rows].tolist()):
        marks.setdefault(item, []).append(range_in(searched.texts[item], found, at))
    return {item: united(ranges) for item, ranges in marks.items()}


def _excerpts(searched: Searched, rows: Ints) -> list[Standing]:
    """Return the documents where places stand, in the order of the rows."""
    places = searched.found.places
    documents, there = places.document[rows], places.document_start[rows]
    found = place_in_corpus(searched, (documents, there, there + places.end[rows] - places.start[rows]))
    return excerpts_around(searched.corpus, documents, found)


# ---- the search


@dataclass(frozen=True)
class Searched:
    """What was found.

    Attributes
    ----------
    items, corpus : FileDocuments
    texts : list of str or bytes
        The items.
    labels : list of str
        The benchmark of each item.
    shingling : Shingling
    rule : str
    found : Contamination
        Of all items.
    contaminated : ndarray of bool (items,)
        By the rule.
    spans, documents
        Of the windows of contaminated items in the corpus.
    threads : int or None
    """

    items: FileDocuments
    corpus: FileDocuments
    texts: list[Text]
    labels: list[str]
    shingling: Shingling
    rule: RuleName
    found: Contamination
    contaminated: Bools
    spans: Spans
    documents: Holders
    threads: int | None

    def benchmarks(self) -> list[Benchmark]:
        """Sum up the items of each benchmark."""
        return self.found.by_benchmark(self.labels, self.rule)


def search(
    options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling, min_tokens: int,
    stack: contextlib.ExitStack, report: Progress,
) -> Searched:
    """Read the items, and look for them in the corpus.

    Raises
    ------
    DocumentError
        A document cannot be read, or there are no items.
    """
    groups = GroupingField(options.benchmark_field, "--benchmark-field") if options.benchmark_field else None
    fields: dict[str, Any] = {"text_field": options.item_field or "text", "id_field": options.item_id_field or "id",
                              "require_id": options.item_id_field is not None, "by": groups,
                              "named_by": ("--item-field", "--item-id-field")}
    asked = stack.enter_context(open_documents(options, items, **fields))
    documents = stack.enter_context(open_documents(options, corpus))
    if options.trim:
        check_rows(documents, options.text_field or ["text"], True, False)
    texts = [text for batch in asked.batches() for text in batch]
    refuse_nothing_read(asked, options.inputs[0])
    if not any(map(shingling.tokens, texts)):
        raise DocumentError(options.inputs[0], None, f"holds no items with a token, of {len(texts)} in all")
    how: dict[str, Any] = {"min_tokens": min_tokens, "shingling": shingling, "threads": options.threads}
    progress = by_position(report, "looking for the items", documents.position)
    found = contamination(texts, documents, **how, progress=progress)
    refuse_nothing_read(documents, options.corpus[0])
    contaminated = found.contaminated(options.rule)
    spans, holders = found.spans, found.documents
    if (contaminated != (found.found > 0)).any():
        spans, holders = _of_some(texts, documents, found, contaminated, how)
    return Searched(asked, documents, texts, _labels(asked, groups), shingling, options.rule, found, contaminated, spans,
                    holders, options.threads)


def _of_some(
    texts: list[Text], corpus: FileDocuments, found: Contamination, contaminated: Bools, how: dict[str, Any]
) -> tuple[Spans, Holders]:
    """Look for contaminated items alone, in the documents that have windows of any; return their spans and documents."""
    chosen = np.flatnonzero(contaminated)
    holding = ChosenCorpus(corpus, found.documents.document, len(corpus.ids))
    again = contamination([texts[i] for i in chosen.tolist()], holding, **how)
    there = found.documents.document
    return (again.spans._replace(document=there[again.spans.document], item=chosen[again.spans.item]),
            again.documents._replace(document=there[again.documents.document]))


def _labels(items: FileDocuments, groups: GroupingField | None) -> list[str]:
    """Name the benchmark of each item: by the field, or by the file; text files by their folder."""
    if groups is not None:
        return [str(groups.values[code]) for code in groups.codes().tolist()]
    labels: list[str] = []
    for index, source in enumerate(items.sources):
        folder = source.name.rpartition("/")[0] if source.kind in WHOLE else ""
        labels += [folder or source.name] * len(items.span(index))
    return labels


# ---- the command

MIN_TOKENS = 13


def run_contamination(options: ContaminationOptions) -> int:
    """Run ``ndcore contamination``, and return the exit code."""
    min_tokens = _min_tokens(options)
    _refuse_items_in_corpus(options)
    output = OutputDirectory(options.output, options.overwrite)
    found = find_inputs(options, (options.inputs, ()), (options.corpus, ()))
    output.refuse_overlap([source for inputs in found for source in inputs.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.corpus], options.output)
    field = the_text_field(options, "take one field, or --drop") if options.trim else ""
    shingling = checked_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    if options.dry_run:
        return _dry_run(options, found[0], found[1], shingling)
    with contextlib.ExitStack() as stack, output, reporting(not options.quiet) as report:
        if page is not None:
            stack.enter_context(page)
        searched = search(options, found[0], found[1], shingling, min_tokens, stack, report)
        write_tables(output, searched)
        written = write_documents(output, options, field, searched, report)
        saved = write_rejected(output, searched.corpus)
        account = account_of(searched, written, options.output, saved)
        if page is not None:
            page.write(contamination_page(searched, account, options.command_line))
        write_summary(output, account)
        commit_together([each.staging for each in (page, output) if each is not None])
        options.outcome.written = True
    print_account(options, account, lambda: print_report(account, options, sys.stdout))
    return 0


def _min_tokens(options: ContaminationOptions) -> int:
    """Return the tokens of a run. Raises UsageError where the rule has another number."""
    of_rule = RULES[options.rule].min_tokens
    if of_rule is not None and options.min_tokens not in (None, of_rule):
        raise UsageError(f"--rule {options.rule} has runs of {of_rule} tokens, and --min-tokens is {options.min_tokens}; "
                         "leave one of them out")
    return options.min_tokens or of_rule or MIN_TOKENS


def _refuse_items_in_corpus(options: ContaminationOptions) -> None:
    """Raise UsageError where items are part of the corpus, so that each would be found."""
    places = [[(path, Path(os.path.realpath(path))) for path in paths if path not in (STDIN, "") and not is_url(path)]
              for paths in (options.inputs, options.corpus)]
    for item, place in places[0]:
        for path, other in places[1]:
            if place.is_relative_to(other) or other.is_relative_to(place):
                raise UsageError(f"the items {item} lie in the corpus {path}, or it in them: each item would be found; keep "
                                 "them apart")


def _dry_run(options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling) -> int:
    """Estimate what the run would take: the corpus is read once, and documents with passages again, or all to be cut."""
    held = 12 * sum(get_sizes(items.sources))  # 60 bytes a token

    def memory(documents: float, stored: float, each: float) -> float:
        return held + 50 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        return Range(0.5 * stored if options.drop or options.trim else 0.0, 1.2 * stored if options.trim else 1.0 * stored)

    again = Range(1.0, 2.0) if options.trim else Range(0.0, 1.0)
    reader = ModSketcher(1 << 40, shingling=shingling)
    return dry_run(options, corpus, reader, Costs(memory, disk, again, 0), options.output)
