"""The tables of ``ndcore contamination``: items, their fields, benchmarks, documents, places and passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli.contamination_search import ContaminationSearch
from ndcore.cli.outputs import NamedDocuments, write_table
from ndcore.files.outputs import OutputDirectory
from ndcore.files.table_files import Column, Table
from ndcore.spans.field_result import FieldContamination
from ndcore.spans.token_places import Ranges

BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


def write_tables(output: OutputDirectory, searched: ContaminationSearch) -> None:
    """Write the tables of items, benchmarks, documents, places and passages, with fields also the one of fields."""
    benchmarks = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    for name, table in (
        ("items", _list_items(searched)), ("benchmarks", Table(benchmarks, searched.benchmarks())),
        ("documents", _list_documents(searched)), ("places", _list_places(searched)), ("passages", _list_passages(searched)),
        *([("fields", _list_fields(searched, searched.fields))] if searched.fields is not None else []),
    ):
        write_table(output, f"{name}.jsonl", table)


def _list_items(searched: ContaminationSearch) -> Table:
    """Make a row for each item: its benchmark, its place, what the corpus has of it, with fields or rarity the reason."""
    names = ("tokens", "covered", "grams", "found")
    items, rarity, reasons = NamedDocuments(searched.items), searched.rarity(), searched.reasons()
    columns = [Column("benchmark", "string"), *items.columns(), *(Column(name, "integer") for name in (*names, "longest")),
               Column("contaminated", "truth"), *([] if rarity is None else [Column("rarity", "number")]),
               *([] if reasons is None else [Column("reason", "string")])]
    measured = None if rarity is None else np.round(rarity, 2).tolist()
    more: list[list[Any]] = [column for column in (measured, reasons) if column is not None]
    numbers = zip(*(searched.total(name).tolist() for name in names), searched.longest().tolist(),
                  searched.contaminated.tolist(), *more, strict=True)
    return Table(columns, ((label, *items.row(position), *row)
                           for position, (label, row) in enumerate(zip(searched.labels, numbers, strict=True))))


def _list_fields(searched: ContaminationSearch, fields: FieldContamination) -> Table:
    """Make a row for each field of each item: how much of it the corpus has, and where it stands near the first field."""
    items, corpus = NamedDocuments(searched.items), NamedDocuments(searched.corpus)
    counts = ("parts", "parts_found", "tokens", "covered")
    columns = [Column("benchmark", "string"), *items.columns(), Column("field", "string"),
               *(Column(name, "integer") for name in counts), Column("percent", "number"), Column("found", "truth"),
               Column("near", "truth"), *corpus.columns("document"), Column("first_start", "integer"),
               Column("start", "integer")]
    nowhere = (None,) * (len(corpus.columns("document")) + 2)
    places = fields.near_places or ()
    near = {(item, field): place for item, field, *place in zip(*(column.tolist() for column in places), strict=True)}
    numbers = [fields.total(values).tolist() for values in (
        None, searched.result.contaminated(searched.rule), searched.result.tokens, searched.result.covered)]
    stands = None if fields.near is None else fields.near.tolist()

    def rows() -> Iterator[tuple[Any, ...]]:
        for item, label in enumerate(searched.labels):
            for field, name in enumerate(fields.fields):
                parts, found, tokens, covered = (of[item][field] for of in numbers)
                document, *starts = near.get((item, field), [None])
                place = nowhere if document is None else (*corpus.row(document), *starts)
                yield (label, *items.row(item), name, parts, found, tokens, covered,
                       round(100 * covered / tokens, 1) if tokens else None, found > 0,
                       stands[item][field] if stands is not None and field else None, *place)

    return Table(columns, rows())


def _list_documents(searched: ContaminationSearch) -> Table:
    """Make a row for each document of the corpus that has windows of contaminated items."""
    corpus = NamedDocuments(searched.corpus)
    columns = [*corpus.columns(), *(Column(name, "integer") for name in ("tokens", "covered", "longest"))]
    return Table(columns, ((*corpus.row(position), *row) for position, *row in searched.list_holders()))


def _list_places(searched: ContaminationSearch) -> Table:
    """Make a row for each run of a contaminated item that the corpus has, at its first place."""
    places = searched.places()
    chosen = searched.contaminated[searched.parts.item[places.item]]
    item, start, end, document, there, behind = (column[chosen] for column in places)
    in_item = searched.place_in_items((item, start, end))
    return _tabulate_ranges(searched, (document, there, behind), item, {
        "item_start": start, "item_end": end, **{f"item_{name}": column for name, column in in_item._asdict().items()}})


def _list_passages(searched: ContaminationSearch) -> Table:
    """Make a row for each passage of the corpus, with an item that has its first window."""
    spans = searched.spans
    return _tabulate_ranges(searched, (spans.document, spans.start, spans.end), spans.item, {"item_start": spans.item_start})


def _tabulate_ranges(searched: ContaminationSearch, ranges: Ranges, parts: Ints, of_items: dict[str, Ints]) -> Table:
    """Make a row for each range of the corpus: its document and its place there, its item with columns of its own, and
    with fields the field and the number of its part.
    """
    corpus, asked = NamedDocuments(searched.corpus), NamedDocuments(searched.items)
    here = {"start": ranges[1], "end": ranges[2], **searched.place_in_corpus(ranges)._asdict()}
    columns = [*corpus.columns(), *(Column(name, "integer") for name in here), *asked.columns("item"),
               *(Column(name, "integer") for name in of_items)]
    named: list[Sequence[Any]] = []
    if searched.fields is not None:
        columns += [Column("item_field", "string"), Column("item_part", "integer")]
        names = [searched.fields.fields[field] for field in searched.parts.field[parts].tolist()]
        named = [names, _number_parts(searched)[parts].tolist()]

    def rows() -> Iterator[tuple[Any, ...]]:
        items = searched.parts.item[parts].tolist()
        listed = (column.tolist() for column in (ranges[0], *here.values(), *of_items.values()))
        for item, (document, *numbers), *more in zip(items, zip(*listed, strict=True), *named, strict=True):
            yield *corpus.row(document), *numbers[: len(here)], *asked.row(item), *numbers[len(here) :], *more

    return Table(columns, rows())


def _number_parts(searched: ContaminationSearch) -> Ints:
    """Number the parts of each field of an item from 0."""
    parts = searched.parts
    begins = np.flatnonzero(np.append(True, (np.diff(parts.item) != 0) | (np.diff(parts.field) != 0)))
    return np.arange(len(parts.item)) - np.repeat(begins, np.diff(np.append(begins, len(parts.item))))
