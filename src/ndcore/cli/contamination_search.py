"""The search of ``ndcore contamination``: items and corpus are read, and what a rule calls contaminated is told apart."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Bools, Text
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.inputs import open_documents, refuse_nothing_read
from ndcore.files.document_fields import Grouping
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError
from ndcore.files.formats import WHOLE
from ndcore.files.jsonl_output import check_rows
from ndcore.files.sources import Inputs
from ndcore.progress import Progress, by_position
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import Benchmark, Contamination, RuleName, Spans
from ndcore.spans.contamination_result import Documents as Holders
from ndcore.text.corpus import ChosenCorpus
from ndcore.text.shingling import Shingling

__all__ = ["Searched", "search"]


@dataclass(frozen=True)
class Searched:
    """What was found.

    Attributes
    ----------
    items, corpus : Documents
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

    items: Documents
    corpus: Documents
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
    groups = Grouping(options.benchmark_field, "--benchmark-field") if options.benchmark_field else None
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
    texts: list[Text], corpus: Documents, found: Contamination, contaminated: Bools, how: dict[str, Any]
) -> tuple[Spans, Holders]:
    """Look for contaminated items alone, in the documents that have windows of any; return their spans and documents."""
    chosen = np.flatnonzero(contaminated)
    holding = ChosenCorpus(corpus, found.documents.document, len(corpus.ids))
    again = contamination([texts[i] for i in chosen.tolist()], holding, **how)
    there = found.documents.document
    return (again.spans._replace(document=there[again.spans.document], item=chosen[again.spans.item]),
            again.documents._replace(document=there[again.documents.document]))


def _labels(items: Documents, groups: Grouping | None) -> list[str]:
    """Name the benchmark of each item: by the field, or by the file; text files by their folder."""
    if groups is not None:
        return [str(groups.values[code]) for code in groups.codes().tolist()]
    labels: list[str] = []
    for index, source in enumerate(items.sources):
        folder = source.name.rpartition("/")[0] if source.kind in WHOLE else ""
        labels += [folder or source.name] * len(items.span(index))
    return labels
