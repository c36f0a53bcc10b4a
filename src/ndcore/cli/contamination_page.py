"""The page of ``ndcore contamination``: contaminated items, with their passages marked, and where these occur."""

from __future__ import annotations

import numpy as np

from ndcore._types import Ints, Text
from ndcore.cli.account import Account
from ndcore.cli.contamination_search import ContaminationSearch
from ndcore.cli.passages import colour_ranges, excerpts_by_item, range_in, unite
from ndcore.human import counted
from ndcore.report.marked_passages import Marked, MarkedText, marked_page
from ndcore.report.model import Figure
from ndcore.spans.gapped_runs import GappedPlaces
from ndcore.text.inputs import as_bytes

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
    return marked_page(
        "Items of benchmarks in a corpus",
        f"Runs of {data['min_tokens']} {shingling.unit}s, {_describe_gaps(searched)}. Rule {data['rule']}. Marked is what "
        "stands in the corpus.",
        (Figure(counts["items"], "items"), Figure(counts["contaminated"], "contaminated"),
         Figure(counts["documents"], "documents of the corpus"), Figure(counts["with_passages"], "with passages")),
        account.tables, "Contaminated items" if searched.rarity() is None else "Items found, the rarest first",
        _choose_items(searched), counts["contaminated"] if searched.rarity() is None else touched, parameters,
    )


def _describe_gaps(searched: ContaminationSearch) -> str:
    """Describe how runs are compared."""
    gaps = searched.gaps
    return f"with gaps of up to {counted(gaps, str(searched.shingling.unit))}" if gaps else "compared exactly"


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
