"""The tables of ``ndcore contamination``: items, their fields, benchmarks, documents, places and passages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli.contamination_search import ContaminationSearch
from ndcore.cli.outputs import NamedDocuments, write_table
from ndcore.files.outputs import OutputDirectory
from ndcore.files.table_files import BATCH as ROWS
from ndcore.files.table_files import Blocks, Column, Table
from ndcore.spans.field_result import FieldContamination
from ndcore.spans.token_places import Ranges

BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


def write_tables(output: OutputDirectory, searched: ContaminationSearch) -> None:
    """Write the tables of items, benchmarks, documents, places and passages; with fields, also the table of fields."""
    benchmarks = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    for name, table in (
        ("items", _list_items(searched)), ("benchmarks", Table(benchmarks, searched.benchmarks())),
        ("documents", _list_documents(searched)), ("places", _list_places(searched)), ("passages", _list_passages(searched)),
        *([("fields", _list_fields(searched, searched.fields))] if searched.fields is not None else []),
    ):
        write_table(output, f"{name}.jsonl", table)


def _list_items(searched: ContaminationSearch) -> Table:
    """Make a row for each item: its benchmark, its place, its windows in the corpus; with fields or rarity, the reason."""
    names = ("tokens", "covered", "grams", "found")
    items, rarity, reasons = NamedDocuments(searched.items), searched.rarity(), searched.reasons()
    columns = [Column("benchmark", "string"), *items.columns(), *(Column(name, "integer") for name in (*names, "longest")),
               Column("contaminated", "truth"), *([] if rarity is None else [Column("rarity", "number")]),
               *([] if reasons is None else [Column("reason", "string")])]
    measured = None if rarity is None else np.round(rarity, 2).tolist()
    more: list[list[Any]] = [column for column in (measured, reasons) if column is not None]
    return Table(columns, Blocks([[
        searched.labels, *items.values(np.arange(searched.parts.items)), *(searched.total(name).tolist() for name in names),
        searched.longest().tolist(), searched.contaminated.tolist(), *more]]))


def _list_fields(searched: ContaminationSearch, fields: FieldContamination) -> Table:
    """Make a row for each field of each item: its windows in the corpus, and where it is near the first field."""
    items, corpus = NamedDocuments(searched.items), NamedDocuments(searched.corpus)
    counts = ("parts", "parts_found", "tokens", "covered")
    columns = [Column("benchmark", "string"), *items.columns(), Column("field", "string"),
               *(Column(name, "integer") for name in counts), Column("percent", "number"), Column("found", "truth"),
               Column("near", "truth"), *corpus.columns("document"), Column("first_start", "integer"),
               Column("start", "integer")]
    nowhere = (None,) * (len(corpus.columns("document")) + 2)
    near: dict[tuple[int, int], tuple[Any, ...]] = {}
    if fields.near_places is not None:
        item_of, field_of, document, *starts = fields.near_places
        near_columns = (*corpus.values(document), *(column.tolist() for column in starts))
        near = dict(zip(zip(item_of.tolist(), field_of.tolist(), strict=True), zip(*near_columns, strict=True), strict=True))
    numbers = [fields.total(values).tolist() for values in (
        None, searched.result.contaminated(searched.rule), searched.result.tokens, searched.result.covered)]
    stands = None if fields.near is None else fields.near.tolist()

    def rows() -> Iterator[tuple[Any, ...]]:
        named = zip(*items.values(np.arange(searched.parts.items)), strict=True)
        for item, (label, ident) in enumerate(zip(searched.labels, named, strict=True)):
            for field, name in enumerate(fields.fields):
                parts, found, tokens, covered = (of[item][field] for of in numbers)
                yield (label, *ident, name, parts, found, tokens, covered,
                       round(100 * covered / tokens, 1) if tokens else None, found > 0,
                       stands[item][field] if stands is not None and field else None, *near.get((item, field), nowhere))

    return Table(columns, rows())


def _list_documents(searched: ContaminationSearch) -> Table:
    """Make a row for each document of the corpus that has windows of contaminated items."""
    corpus = NamedDocuments(searched.corpus)
    columns = [*corpus.columns(), *(Column(name, "integer") for name in ("tokens", "covered", "longest"))]
    positions, *numbers = searched.documents
    return Table(columns, Blocks([[*corpus.values(positions), *(column.tolist() for column in numbers)]]))


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
    """Make a row for each range of the corpus: its document and its place there, its item with further columns, and with
    fields the field and the number of its part.
    """
    corpus, asked = NamedDocuments(searched.corpus), NamedDocuments(searched.items)
    here = {"start": ranges[1], "end": ranges[2], **searched.place_in_corpus(ranges)._asdict()}
    columns = [*corpus.columns(), *(Column(name, "integer") for name in here), *asked.columns("item"),
               *(Column(name, "integer") for name in of_items)]
    if searched.fields is not None:
        columns += [Column("item_field", "string"), Column("item_part", "integer")]

    names, numbers = None if searched.fields is None else searched.fields.fields, _number_parts(searched)

    def blocks() -> Iterator[list[list[Any]]]:
        for start in range(0, len(parts), ROWS):
            some = slice(start, start + ROWS)
            own = parts[some]
            named: list[list[Any]] = []
            if names is not None:
                named = [[names[field] for field in searched.parts.field[own].tolist()], numbers[own].tolist()]
            yield [*corpus.values(ranges[0][some]), *(column[some].tolist() for column in here.values()),
                   *asked.values(searched.parts.item[own]), *(column[some].tolist() for column in of_items.values()), *named]

    return Table(columns, Blocks(blocks()))


def _number_parts(searched: ContaminationSearch) -> Ints:
    """Number the parts of each field of an item from 0."""
    parts = searched.parts
    begins = np.flatnonzero(np.append(True, (np.diff(parts.item) != 0) | (np.diff(parts.field) != 0)))
    return np.arange(len(parts.item)) - np.repeat(begins, np.diff(np.append(begins, len(parts.item))))
