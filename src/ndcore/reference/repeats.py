"""Repeated passages of a collection, and contamination of items by a corpus, by brute force (DESIGN.md, section 5).

Documents are sequences of tokens. Every run is compared with every place, token by token.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Document = Sequence[Hashable]
Allowed = Callable[["TokenPlace", "TokenPlace", int], bool]


class TokenPlace(NamedTuple):
    """A place in a collection: the rank of the document in keep order, its number, and a position in its tokens."""

    rank: int
    document: int
    at: int


class RepeatedRun(NamedTuple):
    """A run of repeated tokens, start to end − 1 of a document, and the earlier place that it equals."""

    document: int
    start: int
    end: int
    source: int
    source_start: int
    copies: int


def find_run(run: Document, document: Document) -> list[int]:
    """List the positions from which a document has the tokens of a run, one after another."""
    n = len(run)
    return [i for i in range(len(document) - n + 1) if list(document[i : i + n]) == list(run)]


@dataclass(frozen=True)
class TokenizedCollection:
    """Documents in keep order, and which windows count.

    Attributes
    ----------
    documents : sequence of sequences of tokens
    min_tokens : int
        Tokens of a window.
    order : sequence of int, optional
        Documents in keep order; None: as they come.
    by : sequence, optional
        A label per document: only documents with the same label are compared.
    min_copies, max_copies : int
        The fewest and the most places of a window that counts; a run counts if it occurs at `min_copies` places or more.
    within : bool
        Whether a place in the same document may be a source.
    against : frozenset of int, optional
        Only these documents are sources, and their own tokens are never repeated.
    exceptions : sequence of sequences of tokens
        Windows that occur in one of these do not count.
    """

    documents: Sequence[Document]
    min_tokens: int
    order: Sequence[int] | None = None
    by: Sequence[Hashable] | None = None
    min_copies: int = 2
    max_copies: int | None = None
    within: bool = True
    against: frozenset[int] | None = None
    exceptions: Sequence[Document] = ()

    def places(self, run: Document, like: int) -> list[TokenPlace]:
        """List all places where a run occurs, in documents with the label of document `like`, in keep order."""
        places = []
        for rank, d in enumerate(self.order if self.order is not None else range(len(self.documents))):
            tokens = self.documents[d]
            if self.by is None or self.by[d] == self.by[like]:
                places += [TokenPlace(rank, d, i) for i in find_run(run, tokens)]
        return places

    def counts(self, window: Document, like: int) -> bool:
        """Tell whether a window counts."""
        copies = len(self.places(window, like))
        if any(find_run(window, exception) for exception in self.exceptions):
            return False
        return self.min_copies <= copies and (self.max_copies is None or copies <= self.max_copies)

    def is_source(self, source: TokenPlace, own: TokenPlace, size: int) -> bool:
        """Tell whether the run at `source` is an earlier place of the run of this size at `own`."""
        if source >= own or (self.against is not None and source.document not in self.against):
            return False
        return source.document != own.document or (self.within and source.at + size <= own.at)

    def is_other(self, other: TokenPlace, own: TokenPlace, size: int) -> bool:
        """Tell whether the run at `other` is a place, earlier or later, that `copies="none"` takes into account."""
        return self.is_source(other, own, size) or (self.against is None and self.is_source(own, other, size))

    def sources(self, d: int, start: int, end: int) -> list[TokenPlace]:
        """List the earlier places of a run of document d, all of whose windows count."""
        run, size = self.documents[d][start:end], self.min_tokens
        places = self.places(run, d)
        if len(places) < self.min_copies or (self.against is not None and d in self.against):
            return []
        if not all(self.counts(run[i : i + size], d) for i in range(len(run) - size + 1)):
            return []
        own = next(p for p in places if (p.document, p.at) == (d, start))
        return [p for p in places if self.is_source(p, own, end - start)]

    def mark(self, d: int, allowed: Allowed) -> list[bool]:
        """Mark the tokens of document d that a counting window covers of which another place is allowed."""
        tokens, size = self.documents[d], self.min_tokens
        marks = [False] * len(tokens)
        if self.against is not None and d in self.against:
            return marks
        for i in range(len(tokens) - size + 1):
            window = tokens[i : i + size]
            places = self.places(window, d)
            own = next(p for p in places if (p.document, p.at) == (d, i))
            if self.counts(window, d) and any(allowed(p, own, size) for p in places):
                marks[i : i + size] = [True] * size
        return marks

    def repeated(self, d: int) -> list[bool]:
        """Mark the repeated tokens of document d."""
        return self.mark(d, self.is_source)

    def cut_none(self, d: int) -> list[bool]:
        """Mark the tokens of document d that ``copies="none"`` cuts: at all places of a repeated run."""
        return self.mark(d, self.is_other)

    def rows(self, d: int) -> list[RepeatedRun]:
        """Cut the repeated tokens of document d into rows, from left to right.

        A row begins at the first repeated token that is in no row, and goes as far as a run of `min_tokens` or more that
        covers this token and has an earlier place. Of the runs that go so far the one that begins last decides, and the
        earliest of its places is the source. `copies` are the places of that run from the row's start on, or of the whole
        run if it begins before the row.
        """
        marks, rows, t = self.repeated(d), [], 0
        while t < len(marks):
            if not marks[t]:
                t += 1
                continue
            runs = [
                (end, start) for start in range(max(0, t - self.min_tokens + 1), t + 1)
                for end in range(max(start + self.min_tokens, t + 1), len(marks) + 1) if self.sources(d, start, end)
            ]
            end, start = max(runs)
            source = self.sources(d, start, end)[0]
            copies = len(self.places(self.documents[d][start:end], d))
            rows.append(RepeatedRun(d, t, end, source.document, source.at + t - start, copies))
            t = end
        return rows


def spans(text: str, places: Sequence[tuple[int, int]], ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find what cutting removes, in characters: the first, and the last + 1; equal where nothing is removed.

    Parameters
    ----------
    places : sequence of (int, int)
        Each token's first character, its last + 1. Tokens may share characters, as bytes of one do.
    ranges : sequence of (int, int)
        First tokens, last tokens + 1, ascending. Ranges that follow each other without a token between are one, which is
        removed up to the blanks of ASCII that follow and are in no token; each goes up to the next one. A character that it
        shares with a token before it or behind it stays.
    """
    removed: list[tuple[int, int]] = []
    i = 0
    while i < len(ranges):
        n = 1
        while i + n < len(ranges) and ranges[i + n][0] == ranges[i + n - 1][1]:
            n += 1
        first, last = ranges[i][0], ranges[i + n - 1][1]
        begin = max([places[first][0], *(end for _, end in places[:first])])
        behind = min([len(text), *(start for start, _ in places[last:])])
        end = max(begin, min(places[last - 1][1], behind))
        bounds = [begin]
        for token, _ in ranges[i + 1 : i + n]:
            bounds.append(min(end, max([begin, places[token][0], *(end for _, end in places[:token])])))
        while begin < end < behind and text[end] in "\t\n\v\f\r ":
            end += 1
        removed += zip(bounds, [*bounds[1:], end], strict=True)
        i += n
    return removed


# ---------------------------------------------------------------------------------------------- contamination


class Item(NamedTuple):
    """An item: its tokens, how many are covered, its distinct windows, how many occur, its longest covered run."""

    tokens: int
    covered: int
    grams: int
    found: int
    longest: int


def windows(tokens: Document, length: int) -> list[tuple[Hashable, ...]]:
    """List the windows of ``length`` tokens of an item; a shorter item is one window, an empty one has none."""
    n = min(length, len(tokens))
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)] if n else []


def contamination(items: Sequence[Document], corpus: Sequence[Document], length: int) -> list[Item]:
    """Count for each item the tokens that its windows cover which occur in the corpus."""
    counted = []
    for tokens in items:
        own = windows(tokens, length)
        known = {window: any(find_run(window, document) for document in corpus) for window in own}
        flags = [False] * len(tokens)
        for start, window in enumerate(own):
            for i in range(start, start + len(window)):
                flags[i] |= known[window]
        runs = "".join("x" if flag else " " for flag in flags).split()
        counted.append(Item(len(tokens), sum(flags), len(known), sum(known.values()), max(map(len, runs), default=0)))
    return counted
