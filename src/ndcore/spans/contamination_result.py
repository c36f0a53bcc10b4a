"""The result of `contamination`: counts and places for each item, and the spans of the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from ndcore._grams import Grams
from ndcore._types import Bools, Floats, Ints, Text
from ndcore.checks import check_choice
from ndcore.human import counted
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.readonly import Frozen, NamedColumns
from ndcore.spans.contamination_reading import Hits, ItemSearch, find_items, unite_ranges
from ndcore.spans.cuts import clean_corpus
from ndcore.spans.gapped_runs import GappedPlaces, GappedRanges, GappedRuns
from ndcore.spans.word_rarity import WordRarity
from ndcore.text.corpus import Corpus, as_corpus
from ndcore.text.folding import Folding
from ndcore.text.shingling import Shingling

RuleName = Literal["any", "gpt-3", "palm"]


class Rule(NamedTuple):
    """A rule for contaminated items: the tokens of a window (None: any number), and the least share of windows."""

    min_tokens: int | None
    share: float


RULES = {"any": Rule(None, 0.0), "gpt-3": Rule(13, 0.0), "palm": Rule(8, 0.7)}


class _ContaminatedPlaces(NamedTuple):
    item: Ints
    start: Ints
    end: Ints
    document: Ints
    document_start: Ints


class ContaminatedPlaces(NamedColumns, _ContaminatedPlaces):  # type: ignore[misc]
    """The first places of items in the corpus. Consecutive windows of an item at consecutive positions are one place.

    int64 arrays: the item, its first token and last token + 1; the document, and the token where the place begins.
    """

    __slots__ = ()


class _Spans(NamedTuple):
    document: Ints
    start: Ints
    end: Ints
    item: Ints
    item_start: Ints


class Spans(NamedColumns, _Spans):  # type: ignore[misc]
    """Runs of tokens in the corpus that windows of items cover.

    int64 arrays: the document, the first token and last token + 1 of the run; an item that has its first window, and the
    token of the item where it begins.
    """

    __slots__ = ()


class _ContaminatedDocuments(NamedTuple):
    document: Ints
    tokens: Ints
    covered: Ints
    longest: Ints


class ContaminatedDocuments(NamedColumns, _ContaminatedDocuments):  # type: ignore[misc]
    """The documents of the corpus that have windows of items: position, tokens, covered tokens, longest run; int64."""

    __slots__ = ()


class Benchmark(NamedTuple):
    """The items with one label: their number, how many are contaminated, their tokens, and how many tokens are covered."""

    label: str
    items: int
    contaminated: int
    tokens: int
    covered: int


@dataclass(frozen=True, eq=False)
class Contamination(Frozen):
    """The contamination of items by a corpus: the result of `contamination`.

    Attributes
    ----------
    min_tokens : int
    tokens, covered : ndarray of int64 (items,)
        Tokens of each item, and the number of them in windows that occur in the corpus.
    grams, found : ndarray of int64 (items,)
        Distinct windows of each item, and the number of them that occur.
    longest : ndarray of int64 (items,)
        The longest run of covered tokens.
    places : ContaminatedPlaces
    spans : Spans
    documents : ContaminatedDocuments
    corpus_documents, corpus_tokens : int
        Numbers of documents of the corpus, and of their tokens.
    shingling : Shingling or None
        What a token is; None for token ids.
    folding : Folding or None
        What was folded in texts before words were compared.
    gapped : GappedPlaces or None
        The first places of runs with a gap; None: no gaps were allowed. `covered`, `longest`, `spans` and `documents` count
        these runs too; `grams`, `found` and `places` do not.
    min_rarity : float or None
        The least rarity of a contaminated item, in bits.
    rarity : ndarray of float64 (items,), or None
        The rarity of the rarest run of covered tokens of each item, in bits; see `contamination`. None: not measured.
    sampled : int
        Number of documents in which words were counted for `rarity`.
    """

    min_tokens: int
    tokens: Ints
    covered: Ints
    grams: Ints
    found: Ints
    longest: Ints
    places: ContaminatedPlaces
    spans: Spans
    documents: ContaminatedDocuments
    corpus_documents: int
    corpus_tokens: int
    shingling: Shingling | None
    folding: Folding | None
    gapped: GappedPlaces | None
    min_rarity: float | None
    rarity: Floats | None
    sampled: int

    @classmethod
    def of(
        cls, hits: Hits, gapped: GappedRuns | None, words: WordRarity | None, min_tokens: int, min_rarity: float | None,
        search: ItemSearch,
    ) -> Self:
        """Make the result from the hits of a search."""
        offsets, grams, n = hits.offsets, hits.grams, len(hits.offsets) - 1
        begins = np.flatnonzero(grams.numbers)
        numbers = grams.numbers[begins].astype(np.int64) - 1
        again = _find_repeated(grams, offsets, begins, numbers)
        distinct = np.diff(grams.starts) - np.bincount(find_items(offsets, begins[again]), minlength=n)
        occurring = hits.document[numbers] > 0
        begins, numbers = begins[occurring], numbers[occurring]
        items = find_items(offsets, begins)
        new = np.ones(len(occurring), np.bool_)
        new[again] = False
        rows, starts, ends = _cover(hits, gapped, items, begins, begins + grams.length_of(numbers))
        longest = np.zeros(n, np.int64)
        np.maximum.at(longest, rows, ends - starts)
        spans, sizes = _join_spans(hits), hits.holding
        if gapped is not None:
            spans, sizes = _unite_spans(spans, gapped.spans()), sizes + gapped.holding
        return cls(
            min_tokens, np.diff(offsets), np.bincount(rows, ends - starts, n).astype(np.int64), distinct,
            np.bincount(items[new[occurring]], minlength=n), longest, _join_places(hits, items, begins, numbers),
            spans, _sum_documents(spans, sizes), hits.documents, hits.tokens, search.shingling, search.folding,
            None if gapped is None else _outside(gapped.places(), hits, items, begins, numbers), min_rarity,
            None if words is None else words.measure_runs(grams.symbols, rows, starts, ends, n),
            0 if words is None else words.documents,
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return (f"<Contamination of {len(self)} items, {int((self.found > 0).sum())} of which have runs of "
                f"{self.min_tokens} tokens in {self.corpus_documents} documents>")

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the items with the most covered tokens."""
        total = int(np.count_nonzero(self.covered))
        most = np.argsort(-self.covered, kind="stable")[: min(ROWS, total)]
        columns = (most, self.tokens[most], self.covered[most], self.longest[most], self.found[most], self.grams[most])
        names = ("item", "tokens", "covered", "longest run", "windows found", "of")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return show_result(repr(self), NotebookTable("Items with the most covered tokens", names, rows, total))

    def contaminated(self, rule: RuleName = "any") -> Bools:
        """Tell which items are contaminated, by a rule of the literature.

        Parameters
        ----------
        rule : "any", "gpt-3" or "palm"
            "any": a window occurs, or with gaps a run with a gap. "gpt-3": a run of 13 tokens occurs (Brown et al. 2020).
            "palm": at least 70 % of the distinct runs of 8 tokens occur (Chowdhery et al. 2022). An item with fewer tokens
            is one run.

        Returns
        -------
        ndarray of bool (items,)

        Raises
        ------
        ValueError
            The rule has another number of tokens than the windows of the search, or it is about exact runs and gaps were
            allowed.
        """
        return self.matched(rule) & self.is_rare()

    def is_rare(self) -> Bools:
        """Tell which items are at least as rare as `min_rarity`; all if rarity was not measured. bool (items,)."""
        if self.rarity is None or self.min_rarity is None:
            return np.ones(len(self), np.bool_)
        return self.rarity >= self.min_rarity

    def explain_all(self, rule: RuleName = "any") -> list[str]:
        """Say in words why each item is contaminated by a rule, or why not."""
        matched, rare, verdicts = self.matched(rule), self.is_rare(), self.contaminated(rule)
        rarity = None if self.rarity is None else self.rarity.tolist()
        return [("" if verdict else "not ") + f"contaminated; {say_share(covered, tokens, match)}"
                + say_rarity(None if rarity is None or not covered else rarity[at], self.min_rarity, bool(rare[at]))
                for at, (verdict, covered, tokens, match) in enumerate(zip(
                    verdicts.tolist(), self.covered.tolist(), self.tokens.tolist(), matched.tolist(), strict=True))]

    def matched(self, rule: RuleName = "any") -> Bools:
        """Tell for which items a rule holds, regardless of rarity; see `contaminated`."""
        check_choice("rule", rule, tuple(RULES))
        tokens, share = RULES[rule]
        if tokens is not None and tokens != self.min_tokens:
            raise ValueError(f"rule={rule!r} has windows of {tokens} tokens, these have {self.min_tokens}: look for the "
                             f"items with min_tokens={tokens}")
        if self.gapped is None:
            return (self.found > 0) & (self.found >= share * self.grams)
        if rule != "any":
            raise ValueError(f"rule={rule!r} is about exact runs: look for the items without gaps, or take the rule 'any'")
        return self.covered > 0

    def by_benchmark(self, labels: Sequence[str], rule: RuleName = "any") -> list[Benchmark]:
        """Sum up the items of each label, in the order of their first items.

        Parameters
        ----------
        labels : sequence of str
            The benchmark of each item.
        rule : str
            As for `contaminated`.

        Returns
        -------
        list of Benchmark

        Raises
        ------
        ValueError
            There are more or fewer labels than items, or the rule does not fit.
        """
        return sum_benchmarks(labels, self.contaminated(rule), self.tokens, self.covered)

    def cleaned(self, corpus: Iterable[Text] | Corpus, threads: int | None = None) -> Iterator[Text]:
        """Yield each document of the corpus without `spans`, in order; "" or b"" where nothing is left.

        A cut takes the blanks that follow it and belong to no token. It never joins words: a space is inserted if no blank
        is left between two pieces.

        Parameters
        ----------
        corpus : iterable of str or bytes, a column, or a Corpus
            The documents that were searched, in the same order.
        threads : int, optional
            None: one per CPU.

        Raises
        ------
        ValueError
            The result is of token ids (`spans` has the tokens); the unit is a callable, whose tokens have no known places;
            or the corpus is not the one that was searched: it has more or fewer documents, or a shorter one.
        """
        if self.shingling is None:
            raise ValueError("this is a result of token ids, and there are no texts to cut: spans has the tokens")
        ranges = (self.spans.document, self.spans.start, self.spans.end)
        return clean_corpus(as_corpus(corpus), self.corpus_documents, self.shingling, ranges, threads, self.folding)


def say_share(covered: int, tokens: int, matched: bool) -> str:
    """Say in words how many tokens are covered, and whether that is enough for the rule."""
    if not tokens:
        return "empty"
    if not covered:
        return f"0 of {counted(tokens, 'token')}"
    rule = "" if matched else ", too little for the rule"
    return f"{covered:,} of {counted(tokens, 'token')} ({100 * covered / tokens:.0f} %){rule}"


def say_rarity(bits: float | None, least: float | None, rare: bool) -> str:
    """Say in words how rare a run is; empty if rarity was not measured, or nothing was found."""
    if bits is None:
        return ""
    return f", rarity {bits:.1f} bits" if rare else f", common words only: rarity {bits:.1f} bits, below {least:g}"


def sum_benchmarks(labels: Sequence[str], contaminated: Bools, tokens: Ints, covered: Ints) -> list[Benchmark]:
    """Sum up the items of each label, in the order of their first items. Raises ValueError unless each has a label."""
    if len(labels) != len(tokens):
        raise ValueError(f"there are {len(labels)} labels for {len(tokens)} items; give one for each")
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return [Benchmark(label, len(of), int(contaminated[of].sum()), int(tokens[of].sum()), int(covered[of].sum()))
            for label, of in rows.items()]


def _find_repeated(grams: Grams, offsets: Ints, begins: Ints, numbers: Ints) -> Ints:
    """Find the windows that equal an earlier window of their item; the windows begin at `begins`."""
    firsts = grams.places[numbers].astype(np.int64)
    others = np.flatnonzero(firsts != begins)
    items = find_items(offsets, begins[others])
    inside = firsts[others] >= offsets[items]
    outside, items = others[~inside], items[~inside]  # their first places are in earlier items
    order = np.lexsort((numbers[outside], items))
    outside, items = outside[order], items[order]
    same = np.flatnonzero((np.diff(items) == 0) & (np.diff(numbers[outside]) == 0))
    return np.concatenate([others[inside], outside[same + 1]])


def _join_places(hits: Hits, items: Ints, begins: Ints, numbers: Ints) -> ContaminatedPlaces:
    """Join windows that are consecutive in an item and, at their first places, in a document."""
    documents, positions = hits.document[numbers] - 1, hits.position[numbers]
    goes_on = (np.diff(items) == 0) & (np.diff(begins) == 1) & (np.diff(documents) == 0) & (np.diff(positions) == 1)
    first = np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(items)])
    last = np.concatenate([first[1:], [len(items)]])[: len(first)] - 1
    base = hits.offsets[items[first]]
    ends = begins[last] + hits.grams.length_of(numbers[last])
    return ContaminatedPlaces(items[first], begins[first] - base, ends - base, documents[first], positions[first])


def _join_spans(hits: Hits) -> Spans:
    """Concatenate the spans of all pieces, with an item for each."""
    empty = np.zeros(0, np.int64)
    document, start, end, number = (np.concatenate([empty, *parts]) for parts in zip(*hits.spans, strict=True)) \
        if hits.spans else (empty,) * 4
    places = hits.grams.places[number].astype(np.int64)
    items = find_items(hits.offsets, places)
    return Spans(document, start, end, items, places - hits.offsets[items])


def _cover(
    hits: Hits, gapped: GappedRuns | None, items: Ints, begins: Ints, ends: Ints
) -> tuple[Ints, Ints, Ints]:
    """Find the runs of covered tokens: their items, first tokens and last tokens + 1, in the tokens of all items."""
    if gapped is not None:
        of, positions = gapped.seeds_found()
        seeds = hits.offsets[of] + positions
        items, begins = np.append(items, of), np.append(begins, seeds)
        ends = np.append(ends, seeds + gapped.seed)
        order = np.argsort(begins, kind="stable")
        items, begins, ends = items[order], begins[order], ends[order]
    starts, stops, first = unite_ranges(items, begins, ends)
    return items[first], starts, stops


def _outside(places: GappedPlaces, hits: Hits, items: Ints, begins: Ints, numbers: Ints) -> GappedPlaces:
    """Drop places whose tokens of the item all lie in one exact run; windows that occur begin at `begins`."""
    starts, ends, _ = unite_ranges(items, begins, begins + hits.grams.length_of(numbers))
    first, last = (hits.offsets[places.item] + column for column in (places.start, places.end))
    at = np.searchsorted(starts, first, "right") - 1
    inside = (at >= 0) & (np.append(ends, 0)[at] >= last)
    return GappedPlaces(*(column[~inside] for column in places))


def _unite_spans(exact: Spans, gapped: GappedRanges) -> Spans:
    """Unite the spans of exact windows and of runs with a gap."""
    document, start, end, item, item_start = (np.append(a, b) for a, b in zip(exact, gapped, strict=True))
    order = np.lexsort((start, document))
    document, start, end = document[order], start[order], end[order]
    starts, ends, begun = unite_ranges(document, start, end)
    return Spans(document[begun], starts, ends, item[order[begun]], item_start[order[begun]])


def _sum_documents(spans: Spans, holding: list[tuple[Ints, Ints]]) -> ContaminatedDocuments:
    """Sum up the spans of each document. holding: pairs of arrays with documents and their numbers of tokens."""
    empty = np.zeros(0, np.int64)
    document, at = np.unique(np.concatenate([empty, *(part[0] for part in holding)]), return_index=True)
    tokens = np.concatenate([empty, *(part[1] for part in holding)])[at]
    rows, sizes = np.searchsorted(document, spans.document), spans.end - spans.start
    longest = np.zeros(len(document), np.int64)
    np.maximum.at(longest, rows, sizes)
    return ContaminatedDocuments(document, tokens, np.bincount(rows, sizes, len(document)).astype(np.int64), longest)
