"""``ndcore contamination``: find the items of benchmarks in a corpus, and write the corpus without them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._types import Bools, Ints, Text
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, Listing, Note, Notes, TextBlock, files_written, present
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import find_inputs, make_shingling, open_documents, refuse_nothing_read
from ndcore.cli.outputs import NamedDocuments, report_file, write_table
from ndcore.cli.passages import (
    Cleaned,
    cut_documents,
    excerpts_around,
    fault_notes,
    range_in,
    the_text_field,
    unite,
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
from ndcore.report.marked_passages import Marked, MarkedText, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import RULES, Benchmark, Contamination, RuleName, Spans
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.token_places import Ranges, TokenPlaces, place_all
from ndcore.stats.ratio import Range
from ndcore.storage.staging import commit_together
from ndcore.text.corpus import ChosenCorpus, TextCorpus, indexed_texts
from ndcore.text.shingling import Shingling

BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


@dataclass
class WrittenContamination:
    """What was written of the corpus."""

    kind: str | None = None  # "kept" (--drop), "cleaned" (--trim) or nothing
    left_out: int = 0  # documents that are not in it
    repaired: int = 0  # documents with bytes that are not UTF-8, which U+FFFD replaces


# ---- documents


def write_documents(
    output: OutputDirectory, options: ContaminationOptions, field: str, searched: ContaminationSearch, report: Progress
) -> WrittenContamination:
    """Write the corpus as --drop or --trim ask; `field` holds the text of records."""
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


def write_tables(output: OutputDirectory, searched: ContaminationSearch) -> None:
    """Write the tables of items, benchmarks, documents, places and passages."""
    benchmarks = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    for name, table in (
        ("items", _list_items(searched)), ("benchmarks", Table(benchmarks, searched.benchmarks())),
        ("documents", _list_documents(searched)), ("places", _list_places(searched)), ("passages", _list_passages(searched)),
    ):
        write_table(output, f"{name}.jsonl", table)


def _list_items(searched: ContaminationSearch) -> Table:
    """Make a row for each item: its benchmark, its place, and what the corpus has of it."""
    names = ("tokens", "covered", "grams", "found", "longest")
    items = NamedDocuments(searched.items)
    columns = [Column("benchmark", "string"), *items.columns(), *(Column(name, "integer") for name in names),
               Column("contaminated", "truth")]
    numbers = zip(*(getattr(searched.result, name).tolist() for name in names), searched.contaminated.tolist(), strict=True)
    return Table(columns, ((label, *items.row(position), *row)
                           for position, (label, row) in enumerate(zip(searched.labels, numbers, strict=True))))


def _list_documents(searched: ContaminationSearch) -> Table:
    """Make a row for each document of the corpus that has windows of contaminated items."""
    corpus = NamedDocuments(searched.corpus)
    columns = [*corpus.columns(), *(Column(name, "integer") for name in ("tokens", "covered", "longest"))]
    return Table(columns, ((*corpus.row(position), *row) for position, *row in searched.list_holders()))


def _list_places(searched: ContaminationSearch) -> Table:
    """Make a row for each run of a contaminated item that the corpus has, at its first place."""
    places = searched.result.places
    item, start, end, document, there = (column[searched.contaminated[places.item]] for column in places)
    in_item = place_in_items(searched, (item, start, end))
    return _tabulate_ranges(searched, (document, there, there + end - start), item, {
        "item_start": start, "item_end": end, **{f"item_{name}": column for name, column in in_item._asdict().items()}})


def _list_passages(searched: ContaminationSearch) -> Table:
    """Make a row for each passage of the corpus, with an item that has its first window."""
    spans = searched.spans
    return _tabulate_ranges(searched, (spans.document, spans.start, spans.end), spans.item, {"item_start": spans.item_start})


def _tabulate_ranges(searched: ContaminationSearch, ranges: Ranges, items: Ints, of_items: dict[str, Ints]) -> Table:
    """Make a row for each range of the corpus: its document and its place there, and its item with columns of its own."""
    corpus, asked = NamedDocuments(searched.corpus), NamedDocuments(searched.items)
    here = {"start": ranges[1], "end": ranges[2], **place_in_corpus(searched, ranges)._asdict()}
    columns = [*corpus.columns(), *(Column(name, "integer") for name in here), *asked.columns("item"),
               *(Column(name, "integer") for name in of_items)]

    def rows() -> Iterator[tuple[Any, ...]]:
        listed = (column.tolist() for column in (ranges[0], items, *here.values(), *of_items.values()))
        for document, item, *numbers in zip(*listed, strict=True):
            yield *corpus.row(document), *numbers[: len(here)], *asked.row(item), *numbers[len(here) :]

    return Table(columns, rows())


def place_in_items(searched: ContaminationSearch, ranges: Ranges) -> TokenPlaces:
    """Convert ranges of the tokens of items to characters and bytes."""
    wanted = np.zeros(len(searched.texts), np.bool_)
    wanted[ranges[0]] = True
    pieces = indexed_texts([TextCorpus(searched.texts)], [0], wanted)
    return place_all(pieces, searched.shingling, ranges, searched.threads)


def place_in_corpus(searched: ContaminationSearch, ranges: Ranges) -> TokenPlaces:
    """Convert ranges of the tokens of documents to characters and bytes; the documents are read again."""
    wanted = np.zeros(len(searched.corpus.ids), np.bool_)
    wanted[ranges[0]] = True
    pieces = indexed_texts([searched.corpus], [0], wanted)
    return place_all(pieces, searched.shingling, ranges, searched.threads)


# ---- the account, and the page

SHOWN = 100  # items on the page
PLACES_SHOWN = 3  # of each of them


def contamination_account(
    searched: ContaminationSearch, written: WrittenContamination, output: str, page: str | None, saved: SavedRecords
) -> Account:
    """Make the account of a run; `saved` are the rejected records that are in the output."""
    result, holders = searched.result, searched.documents
    data = {
        "ndcore": __version__,
        "output": output,
        "written": written.kind,
        "rule": searched.rule,
        "min_tokens": result.min_tokens,
        "counts": {
            "items": len(result),
            "contaminated": int(searched.contaminated.sum()),
            "shorter_than_a_run": int(np.count_nonzero((result.tokens > 0) & (result.tokens < result.min_tokens))),
            "read": searched.corpus.read,
            "documents": result.corpus_documents,
            "with_passages": len(holders.document),
            "passages": len(searched.spans.document),
            "left_out": written.left_out,
            "rejected": len(searched.corpus.rejected),
        },
        "tokens": {"items": int(result.tokens.sum()), "covered": int(result.covered.sum()), "corpus": result.corpus_tokens,
                   "in_passages": int(holders.covered.sum())},
        "benchmarks": [dict(zip(BENCHMARK, each, strict=True)) for each in searched.benchmarks()],
        "not_utf8": written.repaired,
        "items": summary.what_was_read(searched.items),
        **summary.what_was_read(searched.corpus, saved),
    }
    table = tabulate_benchmarks(data)
    return Account(data, tell(data, table, page), tables=(table,))


def tabulate_benchmarks(data: dict[str, Any]) -> ReportTable:
    """Make the table of the benchmarks of which most items are contaminated."""
    worst = sorted(data["benchmarks"], key=lambda each: -each["contaminated"])
    rows = tuple((str(each["benchmark"]), *(each[name] for name in BENCHMARK[1:])) for each in worst[:ROWS])
    heads = ("Benchmark", "Items", "Contaminated", "Tokens", "Tokens found")
    return ReportTable("Benchmarks", "Most contaminated items first.", heads, rows, len(worst))


def tell(data: dict[str, Any], benchmarks: ReportTable, page: str | None) -> Iterator[str | TextBlock]:
    """Tell people what was found and written."""
    counts, run = data["counts"], counted(data["min_tokens"], "token")
    share = 100 * counts["contaminated"] / counts["items"]
    yield (f"{counts['contaminated']:,} of {counted(counts['items'], 'item')} ({share:.1f} %) are contaminated: rule "
           f"{data['rule']}, runs of {run}")
    yield Listing([f"{contaminated:8,} of {items:8,}  {printable(str(name), 60)}"
                   for name, items, contaminated, *_ in benchmarks.rows],
                  benchmarks.total - len(benchmarks.rows), "benchmark", ", in benchmarks.jsonl")
    yield (f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')} hold "
           f"{counted(counts['passages'], 'passage')} of them, {counted(data['tokens']['in_passages'], 'token')}")
    if data["written"] == "kept":
        yield f"{counted(counts['left_out'], 'document')} left out of kept/"
    elif data["written"] == "cleaned":
        yield f"The passages were cut; nothing is left of {counted(counts['left_out'], 'document')}"
    yield Notes([Note(counts["shorter_than_a_run"], "item", "with fewer tokens than a run: such an item counts wherever it "
                      "stands as a whole; leave out the ones that stand everywhere")])
    yield fault_notes(data, data["output"])
    yield f"Written: {printable(data['output'])}"
    yield from files_written(page)


def contamination_page(searched: ContaminationSearch, account: Account, command: str) -> str:
    """Render the page of a run."""
    data, shingling = account.data, searched.shingling
    counts = data["counts"]
    parameters = [("command", command), ("rule", data["rule"]), ("min_tokens", str(data["min_tokens"])),
                  ("unit", str(shingling.unit)), ("normalize", str(shingling.normalize)),
                  ("stop_words", " ".join(shingling.stop_words) or "none")]
    return marked_page(
        "Items of benchmarks in a corpus",
        f"Runs of {data['min_tokens']} {shingling.unit}s, compared exactly. Rule {data['rule']}. Marked is what stands in "
        "the corpus.",
        (Figure(counts["items"], "items"), Figure(counts["contaminated"], "contaminated"),
         Figure(counts["documents"], "documents of the corpus"), Figure(counts["with_passages"], "with passages")),
        account.tables, "Contaminated items", _choose_items(searched), counts["contaminated"], parameters,
    )


def _choose_items(searched: ContaminationSearch) -> list[MarkedText]:
    """Return the contaminated items of which the corpus has most windows, each with its longest places there."""
    result, places = searched.result, searched.result.places
    flagged = np.flatnonzero(searched.contaminated)
    share = result.found[flagged] / result.grams[flagged]
    items = flagged[np.lexsort((-result.covered[flagged], -share))][:SHOWN]
    rows = {item: np.flatnonzero(places.item == item) for item in items.tolist()}
    longest = {item: of[np.argsort(places.start[of] - places.end[of], kind="stable")][:PLACES_SHOWN]
               for item, of in rows.items()}
    chosen = np.concatenate([np.zeros(0, np.int64), *longest.values()])
    documents, there = places.document[chosen], places.document_start[chosen]
    here = place_in_corpus(searched, (documents, there, there + places.end[chosen] - places.start[chosen]))
    excerpts = dict(zip(chosen.tolist(), excerpts_around(searched.corpus, documents, here), strict=True))
    marks = _mark_items(searched, np.concatenate([np.zeros(0, np.int64), *rows.values()]))
    return [
        MarkedText(
            str(searched.items.ids[item]),
            f"{searched.labels[item]}: {result.covered[item]:,} of {result.tokens[item]:,} tokens",
            Marked(searched.texts[item], marks[item]), [excerpts[row] for row in longest[item].tolist()], len(rows[item]),
        ) for item in items.tolist()
    ]


def _mark_items(searched: ContaminationSearch, rows: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return the ranges of each item that these rows have, united."""
    places = searched.result.places
    in_items = place_in_items(searched, (places.item[rows], places.start[rows], places.end[rows]))
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, item in enumerate(places.item[rows].tolist()):
        marks.setdefault(item, []).append(range_in(searched.texts[item], in_items, at))
    return {item: unite(ranges) for item, ranges in marks.items()}


# ---- the search


@dataclass(frozen=True)
class ContaminationSearch:
    """Items, a corpus, and what the corpus has of the items."""

    items: FileDocuments
    corpus: FileDocuments
    texts: list[Text]  # of the items
    labels: list[str]  # the benchmark of each item
    shingling: Shingling
    rule: RuleName
    result: Contamination  # of all items
    contaminated: Bools  # the items that are, by the rule
    spans: Spans  # windows of contaminated items in the corpus
    documents: Holders  # the documents that have them
    threads: int | None

    def benchmarks(self) -> list[Benchmark]:
        """Sum up the items of each benchmark."""
        return self.result.by_benchmark(self.labels, self.rule)

    def list_holders(self) -> Iterator[tuple[int, ...]]:
        """Iterate over the documents that have windows: position, tokens, covered tokens, longest passage."""
        return zip(*(column.tolist() for column in self.documents), strict=True)


def search(
    options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling, min_tokens: int,
    stack: contextlib.ExitStack, report: Progress,
) -> ContaminationSearch:
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
    result = contamination(texts, documents, **how, progress=progress)
    refuse_nothing_read(documents, options.corpus[0])
    contaminated = result.contaminated(options.rule)
    spans, holders = result.spans, result.documents
    if (contaminated != (result.found > 0)).any():
        spans, holders = _search_again(texts, documents, result, contaminated, how)
    return ContaminationSearch(asked, documents, texts, _name_benchmarks(asked, groups), shingling, options.rule, result,
                               contaminated, spans, holders, options.threads)


def _search_again(
    texts: list[Text], corpus: FileDocuments, result: Contamination, contaminated: Bools, how: dict[str, Any]
) -> tuple[Spans, Holders]:
    """Return the spans and documents of contaminated items alone, from the documents that have windows of any item."""
    chosen, there = np.flatnonzero(contaminated), result.documents.document
    again = contamination([texts[i] for i in chosen.tolist()], ChosenCorpus(corpus, there, len(corpus.ids)), **how)
    return (again.spans._replace(document=there[again.spans.document], item=chosen[again.spans.item]),
            again.documents._replace(document=there[again.documents.document]))


def _name_benchmarks(items: FileDocuments, groups: GroupingField | None) -> list[str]:
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
    min_tokens = _choose_min_tokens(options)
    _refuse_items_in_corpus(options)
    output = OutputDirectory(options.output, options.overwrite)
    items, corpus = find_inputs(options, (options.inputs, ()), (options.corpus, ()))
    output.refuse_overlap([*items.sources, *corpus.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.corpus], options.output)
    field = the_text_field(options, "take one field, or --drop") if options.trim else ""
    shingling = make_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    if options.dry_run:
        return _estimate(options, items, corpus, shingling)
    with contextlib.ExitStack() as stack, output, reporting(not options.quiet) as report:
        if page is not None:
            stack.enter_context(page)
        searched = search(options, items, corpus, shingling, min_tokens, stack, report)
        write_tables(output, searched)
        written = write_documents(output, options, field, searched, report)
        saved = write_rejected(output, searched.corpus)
        account = contamination_account(searched, written, options.output, options.report, saved)
        if page is not None:
            page.write(contamination_page(searched, account, options.command_line))
        write_summary(output, account.data)
        commit_together([each.staging for each in (page, output) if each is not None])
        options.outcome.written = True
    return present(options, account)


def _choose_min_tokens(options: ContaminationOptions) -> int:
    """Return the number of tokens of a run. Raises UsageError where the rule has another one."""
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


def _estimate(options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling) -> int:
    """Estimate what the run would take: the corpus is read once, and documents with passages again (for --trim, all)."""
    held = 12 * sum(get_sizes(items.sources))  # 60 bytes a token
    costs = Costs(
        memory=lambda documents, stored, each: held + 50 * documents,
        disk=lambda documents, stored, each: Range(0.5 * stored if options.drop or options.trim else 0.0,
                                                   1.2 * stored if options.trim else 1.0 * stored),
        again=Range(1.0, 2.0) if options.trim else Range(0.0, 1.0), entries=0,
    )
    return dry_run(options, corpus, ModSketcher(1 << 40, shingling=shingling), costs, options.output)
