"""The outputs of ``ndcore contamination``: the tables, and the page with the passages of contaminated items marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import Ints, Text
from ndcore.cli.account import Account
from ndcore.cli.contamination_search import ContaminationSearch
from ndcore.cli.outputs import NamedDocuments, write_table
from ndcore.cli.passages import colour_ranges, excerpts_by_item, range_in, unite
from ndcore.files.outputs import OutputDirectory
from ndcore.files.table_files import BATCH as ROWS
from ndcore.files.table_files import Blocks, Column, Table, Values
from ndcore.human import counted
from ndcore.report.marked_passages import Marked, MarkedText, marked_page
from ndcore.report.model import Figure
from ndcore.spans.field_result import FieldContamination
from ndcore.spans.gapped_runs import GappedPlaces
from ndcore.spans.token_places import Ranges
from ndcore.text.inputs import as_bytes

# ---- the tables

BENCHMARK = ("benchmark", "items", "contaminated", "tokens", "covered")


def write_tables(output: OutputDirectory, searched: ContaminationSearch) -> None:
    """Write the tables of items, benchmarks, documents, places and passages; with fields, also the table of fields.

    A passage of the corpus has the item of its first window.
    """
    benchmarks = [Column(BENCHMARK[0], "string"), *(Column(name, "integer") for name in BENCHMARK[1:])]
    spans = searched.spans
    passages = _tabulate_ranges(
        searched, (spans.document, spans.start, spans.end), spans.item, {"item_start": spans.item_start})
    for name, table in (
        ("items", _list_items(searched)), ("benchmarks", Table(benchmarks, searched.benchmarks())),
        ("documents", _list_documents(searched)), ("places", _list_places(searched)), ("passages", passages),
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
    return Table(columns, Blocks([[*corpus.values(positions), *numbers]]))


def _list_places(searched: ContaminationSearch) -> Table:
    """Make a row for each run of a contaminated item that the corpus has, at its first place."""
    places = searched.places()
    chosen = searched.contaminated[searched.parts.item[places.item]]
    item, start, end, document, there, behind = (column[chosen] for column in places)
    in_item = searched.place_in_items((item, start, end))
    return _tabulate_ranges(searched, (document, there, behind), item, {
        "item_start": start, "item_end": end, **{f"item_{name}": column for name, column in in_item._asdict().items()}})


def _tabulate_ranges(searched: ContaminationSearch, ranges: Ranges, parts: Ints, of_items: dict[str, Ints]) -> Table:
    """Make a row for each range of the corpus: its document and its place there, its item with further columns, and with
    fields the field and the number of its part.
    """
    corpus, asked = NamedDocuments(searched.corpus), NamedDocuments(searched.items)
    here = {"start": ranges[1], "end": ranges[2], **searched.place_in_corpus(ranges)._asdict()}
    columns = [*corpus.columns(), *(Column(name, "integer") for name in here), *asked.columns("item"),
               *(Column(name, "integer") for name in of_items)]
    names, numbers = None if searched.fields is None else searched.fields.fields, _number_parts(searched)
    if names is not None:
        columns += [Column("item_field", "string"), Column("item_part", "integer")]

    def blocks() -> Iterator[list[Values]]:
        for start in range(0, len(parts), ROWS):
            some = slice(start, start + ROWS)
            own = parts[some]
            named: list[Values] = []
            if names is not None:
                named = [[names[field] for field in searched.parts.field[own].tolist()], numbers[own].tolist()]
            yield [*corpus.values(ranges[0][some]), *(column[some] for column in here.values()),
                   *asked.values(searched.parts.item[own]), *(column[some] for column in of_items.values()), *named]

    return Table(columns, Blocks(blocks()))


def _number_parts(searched: ContaminationSearch) -> Ints:
    """Number the parts of each field of an item from 0."""
    parts = searched.parts
    begins = np.flatnonzero(np.append(True, (np.diff(parts.item) != 0) | (np.diff(parts.field) != 0)))
    return np.arange(len(parts.item)) - np.repeat(begins, np.diff(np.append(begins, len(parts.item))))


# ---- the page

SHOWN = 100  # items on the page
DOCUMENTS_SHOWN = 3  # documents for each item


def contamination_page(searched: ContaminationSearch, account: Account, command: str) -> str:
    """Render the page of a run."""
    data, shingling = account.data, searched.shingling
    counts = data["counts"]
    parameters = [("command", command), ("rule", data["rule"]), ("min_tokens", str(data["min_tokens"])),
                  ("unit", str(shingling.unit)), ("normalize", str(shingling.normalize)),
                  ("stop_words", " ".join(shingling.stop_words) or "none")]
    if searched.result.folding is not None:
        parameters.append(("fold", ", ".join(searched.result.folding.kinds)))
    touched = int((searched.total("covered") > 0).sum())
    gaps = f"with gaps of up to {counted(searched.gaps, str(shingling.unit))}" if searched.gaps else "compared exactly"
    return marked_page(
        "Items of benchmarks in a corpus",
        f"Runs of {data['min_tokens']} {shingling.unit}s, {gaps}. Rule {data['rule']}. What occurs in the corpus is marked.",
        (Figure(counts["items"], "items"), Figure(counts["contaminated"], "contaminated"),
         Figure(counts["documents"], "documents of the corpus"), Figure(counts["with_passages"], "with passages")),
        account.tables, "Contaminated items" if searched.rarity() is None else "Items found, the rarest first",
        _choose_items(searched), counts["contaminated"] if searched.rarity() is None else touched, parameters,
    )


def _choose_items(searched: ContaminationSearch) -> list[MarkedText]:
    """Choose the contaminated items with the most windows in the corpus; with rarity, the rarest first.

    Each has the documents with its longest runs: one block for each document, with all passages of the item, in its own
    colour.
    """
    places, tokens, covered = searched.places(), searched.total("tokens"), searched.total("covered")
    rarity, flagged = searched.rarity(), np.flatnonzero(searched.contaminated)
    share = searched.total("found")[flagged] / searched.total("grams")[flagged]
    items = flagged[np.lexsort((-covered[flagged], -share))][:SHOWN]
    if rarity is not None:  # items with only common words come last
        flagged = np.flatnonzero(covered > 0)
        items = flagged[np.lexsort((-rarity[flagged], ~searched.contaminated[flagged]))][:SHOWN]
    item_of = searched.parts.item[places.item]
    rows = {item: np.flatnonzero(item_of == item) for item in items.tolist()}
    longest = {item: of[np.argsort(places.start[of] - places.end[of], kind="stable")] for item, of in rows.items()}
    reasons = searched.reasons()
    documents = {item: list(dict.fromkeys(places.document[of].tolist()))[:DOCUMENTS_SHOWN] for item, of in longest.items()}
    shown = {item: of[np.isin(places.document[of], documents[item])] for item, of in rows.items()}
    chosen = np.concatenate([np.zeros(0, np.int64), *shown.values()])
    here = searched.place_in_corpus((places.document[chosen], places.document_start[chosen], places.document_end[chosen]))
    owners = searched.parts.item[places.item[chosen]]
    made = excerpts_by_item(searched.corpus, owners, places.document[chosen], here)
    texts: list[MarkedText] = []
    for item, of in rows.items():
        groups = [of[places.document[of] == document] for document in documents[item]]
        marks = [_mark_parts(searched, places, group) for group in [*groups, of[~np.isin(of, shown[item])]]]
        blocks = [made[item, document]._replace(source=number) for number, document in enumerate(documents[item])]
        note = f"{covered[item]:,} of {tokens[item]:,} tokens" if reasons is None else reasons[item]
        texts.append(MarkedText(str(searched.items.ids[item]), f"{searched.labels[item]}: {note}",
                                _join_parts(searched, item, marks), blocks, len(np.unique(places.document[of]))))
    return texts


def _mark_parts(searched: ContaminationSearch, places: GappedPlaces, rows: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return the united ranges of these rows, for each part."""
    texts = searched.parts.texts
    in_parts = searched.place_in_items((places.item[rows], places.start[rows], places.end[rows]))
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, part in enumerate(places.item[rows].tolist()):
        marks.setdefault(part, []).append(range_in(texts[part], in_parts, at))
    return {part: unite(ranges) for part, ranges in marks.items()}


def _join_parts(searched: ContaminationSearch, item: int, marks: list[dict[int, list[tuple[int, int]]]]) -> Marked:
    """Return the text of an item with the marks of each source; with fields, all parts, each after the name of its field.

    The last marks belong to sources that are not shown, and have no colour.
    """
    parts, fields = searched.parts, searched.fields
    own = range(*np.searchsorted(parts.item, [item, item + 1]).tolist())
    in_bytes = any(isinstance(parts.texts[part], bytes) for part in own)
    pieces: list[Text] = []
    ranges: list[tuple[int, int]] = []
    sources: list[int | None] = []
    at = 0
    for part in own:
        text = parts.texts[part]
        head, tail = ("", "") if fields is None else (f"{fields.fields[parts.field[part]]}: ", "\n")
        at += len(as_bytes(head) if in_bytes else head)
        for start, end, number in colour_ranges(of.get(part, []) for of in marks):
            if in_bytes and isinstance(text, str):
                start, end = len(as_bytes(text[:start])), len(as_bytes(text[:end]))
            ranges.append((at + start, at + end))
            sources.append(number if number < len(marks) - 1 else None)
        pieces += [as_bytes(each) if in_bytes else each for each in (head, text, tail)]
        at += sum(map(len, pieces[-2:]))
    whole: Text = b"".join(map(as_bytes, pieces)) if in_bytes else "".join(map(str, pieces))
    return Marked(whole, ranges, sources=sources)
