"""The search of ``ndcore contamination``: items, whole or field by field, and their windows in a corpus."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Bools, Floats, Ints, Text
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.inputs import open_documents, refuse_nothing_read
from ndcore.files.document_fields import GroupingField, PartsField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.formats import WHOLE
from ndcore.files.sources import Inputs
from ndcore.progress import Progress, by_position
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import Benchmark, Contamination, RuleName, Spans, sum_benchmarks
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.field_contamination import field_contamination
from ndcore.spans.field_result import FieldContamination
from ndcore.spans.gapped_runs import GappedPlaces
from ndcore.spans.item_fields import FieldItem, ItemParts, flatten_items
from ndcore.spans.token_places import Ranges, TokenPlaces, place_all
from ndcore.text.corpus import ChosenCorpus, Corpus, TextCorpus, indexed_texts
from ndcore.text.shingling import Shingling


@dataclass(frozen=True)
class ContaminationSearch:
    """Items, a corpus, and the result for them. An item has one part, its text, or with fields several parts."""

    items: FileDocuments
    corpus: FileDocuments
    parts: ItemParts
    labels: list[str]  # the benchmark of each item
    shingling: Shingling
    rule: RuleName
    gaps: int
    require: list[str]  # fields that must be found
    result: Contamination  # for all parts
    fields: FieldContamination | None  # for all items
    contaminated: Bools  # whether each item is contaminated, by the rule
    spans: Spans  # windows of contaminated items in the corpus; its `item` is the number of a part
    documents: Holders  # the documents that have them
    threads: int | None

    def total(self, name: str) -> Ints:
        """Sum up a column of the result, such as "covered", by item."""
        values: Ints = getattr(self.result, name)
        return values if self.fields is None else self.fields.total(values).sum(1)

    def longest(self) -> Ints:
        """Return the longest run of each item."""
        longest = np.zeros(self.parts.items, np.int64)
        np.maximum.at(longest, self.parts.item, self.result.longest)
        return longest

    def places(self) -> GappedPlaces:
        """List the first places of all runs in the corpus, exact or with a gap, by part and position."""
        item, start, end, document, there = self.result.places
        exact = (item, start, end, document, there, there + end - start)
        if self.result.gapped is None:
            return GappedPlaces(*exact)
        every = [np.append(a, b) for a, b in zip(exact, self.result.gapped, strict=True)]
        order = np.lexsort((every[1], every[0]))
        return GappedPlaces(*(column[order] for column in every))

    def rarity(self) -> Floats | None:
        """Return the rarity of each item's rarest part, in bits; None: not measured."""
        if self.fields is None:
            return self.result.rarity
        return None if self.fields.rarity is None else np.asarray(self.fields.rarity.max(1, initial=0.0))

    def reasons(self) -> list[str] | None:
        """Return the reasons why each item is contaminated or not; None without fields and rarity."""
        if self.fields is not None:
            return self.fields.explain_all(self.rule, self.require)
        return None if self.result.rarity is None else self.result.explain_all(self.rule)

    def benchmarks(self) -> list[Benchmark]:
        """Sum up the items of each benchmark."""
        return sum_benchmarks(self.labels, self.contaminated, self.total("tokens"), self.total("covered"))

    def place_in_items(self, ranges: Ranges) -> TokenPlaces:
        """Convert ranges of the tokens of parts to characters and bytes."""
        return self._place(TextCorpus(self.parts.texts), len(self.parts.texts), ranges)

    def place_in_corpus(self, ranges: Ranges) -> TokenPlaces:
        """Convert ranges of the tokens of documents to characters and bytes. Reads the documents again."""
        return self._place(self.corpus, len(self.corpus.ids), ranges)

    def _place(self, texts: Corpus, count: int, ranges: Ranges) -> TokenPlaces:
        wanted = np.zeros(count, np.bool_)
        wanted[ranges[0]] = True
        pieces = indexed_texts([texts], [0], wanted)
        return place_all(pieces, self.shingling, ranges, self.threads, self.result.folding)


def search(
    options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling, min_tokens: int,
    stack: contextlib.ExitStack, report: Progress,
) -> ContaminationSearch:
    """Read the items, and search for them in the corpus. Raises DocumentError if one cannot be read, or there are none."""
    groups = GroupingField(options.benchmark_field, "--benchmark-field") if options.benchmark_field else None
    columns = [PartsField(name, "--fields") for name in options.fields or ()]
    fields: dict[str, Any] = {"text_field": options.item_field or "text", "id_field": options.item_id_field or "id",
                              "require_id": options.item_id_field is not None, "by": groups, "parts": columns,
                              "named_by": ("--item-field", "--item-id-field")}
    questions = stack.enter_context(open_documents(options, items, **fields))
    documents = stack.enter_context(open_documents(options, corpus))
    texts = [text for batch in questions.batches() for text in batch]
    refuse_nothing_read(questions, options.inputs[0])
    rows = _combine_fields(columns, len(texts), options.inputs[0])
    if options.fields:
        parts = flatten_items(rows, options.fields)
    else:  # whole items
        parts = ItemParts(texts, np.arange(len(texts)), np.zeros(len(texts), np.int64), len(texts))
    if not any(map(shingling.tokens, parts.texts)):
        raise DocumentError(options.inputs[0], None, f"holds no items with a token, of {len(texts)} in all")
    how: dict[str, Any] = {"min_tokens": min_tokens, "gaps": options.gaps, "fold": options.fold or (),
                           "shingling": shingling, "threads": options.threads}
    rare: dict[str, Any] = {"min_rarity": options.min_rarity}
    progress = by_position(report, "looking for the items", documents.position)
    of_fields, require = None, list(options.require or (options.fields or () if options.near is not None else ()))
    if options.fields:
        of_fields = field_contamination(rows, documents, options.fields, **how, **rare, near=options.near,
                                        progress=progress)
        result, contaminated = of_fields.parts, of_fields.contaminated(options.rule, require)
    else:
        result = contamination(texts, documents, **how, **rare, progress=progress)
        contaminated = result.contaminated(options.rule)
    refuse_nothing_read(documents, options.corpus[0])
    spans, holders, chosen = result.spans, result.documents, contaminated[parts.item]
    if of_fields is not None:  # a short answer occurs in many documents that have nothing else of its item
        chosen &= (parts.field == 0) | (result.tokens >= min_tokens)
    if (chosen != (result.covered > 0)).any():
        spans, holders = _search_again(parts.texts, documents, result, chosen, how)
    labels = _name_benchmarks(questions, groups)
    return ContaminationSearch(questions, documents, parts, labels, shingling, options.rule, options.gaps, require, result,
                               of_fields, contaminated, spans, holders, options.threads)


def _combine_fields(columns: list[PartsField], count: int, path: str) -> list[FieldItem]:
    """Combine the fields of each item. Raises DocumentError if no item has a field."""
    for column in columns:
        if not any(column.parts):
            raise DocumentError(path, None, f"no item has a text in the field {column.field!r}, of {count} in all; name the "
                                "right one with --fields")
    return [{column.field: column.parts[row] for column in columns} for row in range(count)] if columns else []


def _search_again(
    texts: list[Text], corpus: FileDocuments, result: Contamination, chosen: Bools, how: dict[str, Any]
) -> tuple[Spans, Holders]:
    """Return the spans and documents of chosen parts only, from the documents that have windows of any part."""
    rows, there = np.flatnonzero(chosen), result.documents.document
    again = contamination([texts[i] for i in rows.tolist()], ChosenCorpus(corpus, there, len(corpus.ids)), **how)
    return (again.spans._replace(document=there[again.spans.document], item=rows[again.spans.item]),
            again.documents._replace(document=there[again.documents.document]))


def _name_benchmarks(items: FileDocuments, groups: GroupingField | None) -> list[str]:
    """Name the benchmark of each item by a field or by its file; for text files, by their folder."""
    if groups is not None:
        return [str(groups.values[code]) for code in groups.codes().tolist()]
    labels: list[str] = []
    for index, source in enumerate(items.sources):
        folder = source.name.rpartition("/")[0] if source.kind in WHOLE else ""
        labels += [folder or source.name] * len(items.span(index))
    return labels
