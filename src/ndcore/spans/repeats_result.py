"""The result of `repeats`: rows, figures, and the texts without the repeated passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from ndcore._types import Bools, Ints, Text
from ndcore.checks import check_choice, imported
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.spans.cuts import clean_and_place, clean_corpus, cut_corpus, find_corpus_spans
from ndcore.spans.reading import TextReading
from ndcore.spans.repeats_layout import Layout, RepeatedRanges, merge_ranges
from ndcore.spans.token_places import Ranges, TokenPlaces, place_all
from ndcore.text.corpus import Corpus
from ndcore.text.shingling import Shingling

Copies = Literal["one", "none"]


class Repeats:
    """The repeated passages of a collection of n documents.

    Attributes
    ----------
    documents, starts, ends : ndarray of int64, shape (rows,)
        Row i has the tokens starts[i] to ends[i] − 1 of documents[i]. Rows ascend, do not overlap, and cover exactly the
        repeated tokens.
    sources, source_starts : ndarray of int64, shape (rows,)
        The document sources[i] has the same tokens from source_starts[i] on, earlier in keep order. Documents of `against`
        have the numbers n, n + 1, …
    copies : ndarray of int64, shape (rows,)
        Number of places in the collection at which the row's run occurs. A row of fewer than `min_tokens` tokens is the end
        of a longer run, whose places are counted.
    sizes, repeated : ndarray of int64, shape (n,)
        Tokens, and repeated tokens, of each document.
    min_tokens : int
    """

    documents: Ints
    starts: Ints
    ends: Ints
    sources: Ints
    source_starts: Ints
    copies: Ints
    sizes: Ints
    repeated: Ints
    min_tokens: int

    def __init__(self, found: RepeatedRanges, layout: Layout, n: int, min_tokens: int, reading: TextReading | None,
                 threads: int | None) -> None:
        ranked, *columns = found.rows.view(np.int64).T  # rows of a document ascend
        documents = layout.order[ranked]
        sequence = np.argsort(documents, kind="stable")
        self.documents, self.min_tokens, self.sizes = documents[sequence], min_tokens, layout.sizes[:n]
        self.starts, self.ends, places, self.copies = (column[sequence] for column in columns)
        ranks = np.searchsorted(layout.bases, places, "right") - 1
        self.sources, self.source_starts = layout.order[ranks], places - layout.bases[ranks]
        self.repeated = np.bincount(self.documents, self.ends - self.starts, n).astype(np.int64)
        self._everywhere = (layout.order[found.everywhere[0]], *found.everywhere[1:])
        self._reading, self._threads = reading, threads
        for value in (self.documents, self.starts, self.ends, self.sources, self.source_starts, self.copies, self.sizes,
                      self.repeated):
            value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        return (f"<Repeats of {len(self.sizes)} documents: {self.tokens:,} of {self.total:,} tokens in {len(self):,} rows "
                f"of {self.min_tokens} tokens or more>")

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows, in tokens."""
        columns = (self.documents, self.starts, self.ends, self.sources, self.source_starts, self.copies)
        rows = zip(*(column[:ROWS].tolist() for column in columns), strict=True)
        names = ("document", "start", "end", "source", "source_start", "copies")
        return show_result(repr(self), NotebookTable("Tokens start to end - 1 of a document are also in its source", names,
                                                     rows, len(self)))

    @property
    def tokens(self) -> int:
        """Number of repeated tokens."""
        return int(self.repeated.sum())

    @property
    def total(self) -> int:
        """Number of tokens of all documents."""
        return int(self.sizes.sum())

    @cached_property
    def rows(self) -> Any:
        """A pyarrow Table of the rows.

        Columns: document, start, end; start_char, end_char, start_byte, end_byte; source, source_start, source_end, and
        their source_start_char …; copies. Characters are code points; bytes count in the text as UTF-8. Tokens of unit
        byte may share a character: a row has only characters that no token outside of it shares. Rows of token ids, or of a
        callable unit, have no characters and bytes.

        Raises ImportError without pyarrow: ``pip install 'ndcore[parquet]'``.
        """
        pa = imported("pyarrow", "Repeats.rows")
        return pa.table({name: pa.array(column) for name, column in self.columns.items()})

    @cached_property
    def columns(self) -> dict[str, Ints]:
        """The columns of `rows` as arrays, by their names. Texts with rows or sources are read once more."""
        if self._reading is None or callable(self._reading.shingling.unit):
            return self._name_columns(None)
        ranges = self._list_placed()
        pieces = _read_pieces(self._reading, ranges)
        return self._name_columns(place_all(pieces, self._reading.shingling, ranges, self._threads))

    @property
    def _source_ends(self) -> Ints:
        return self.source_starts + self.ends - self.starts

    def _name_columns(self, places: TokenPlaces | None) -> dict[str, Ints]:
        """Name the columns of `rows`. places: of the ranges of `_list_placed`; None where tokens have no places."""
        placed = {} if places is None else places._asdict()
        here = {name: column[: len(self)] for name, column in placed.items()}
        there = {f"source_{name}": column[len(self) :] for name, column in placed.items()}
        return {"document": self.documents, "start": self.starts, "end": self.ends, **here,
                "source": self.sources, "source_start": self.source_starts, "source_end": self._source_ends, **there,
                "copies": self.copies}

    def _list_placed(self) -> Ranges:
        """List the ranges of the rows, then the ranges of their sources."""
        return (np.concatenate([self.documents, self.sources]), np.concatenate([self.starts, self.source_starts]),
                np.concatenate([self.ends, self._source_ends]))

    def cuts(self, copies: Copies = "one") -> Ranges:
        """List the ranges of tokens that cutting removes: (documents, first tokens, last tokens + 1), int64 each.

        Parameters
        ----------
        copies : "one" or "none"
            "one": the rows. An equal token stays at an earlier place, but the rest of a passage may be spread over several
            places. "none": every place of each passage that occurs at several places.

        Returns
        -------
        tuple of ndarray
            The ranges ascend and do not touch.

        Raises
        ------
        ValueError
            `copies` is something else.
        """
        check_choice("copies", copies, ("one", "none"))
        documents, firsts, lasts = (self.documents, self.starts, self.ends) if copies == "one" else self._everywhere
        bases = np.cumsum(self.sizes + 1) - self.sizes - 1
        sequence = np.argsort(documents, kind="stable")  # ranges of a document ascend
        base = bases[documents[sequence]]
        begins, ends = merge_ranges(base + firsts[sequence], base + lasts[sequence])
        of = np.searchsorted(bases, begins, "right") - 1
        return of, begins - bases[of], ends - bases[of]

    def empty(self, copies: Copies = "one") -> Ints:
        """Find the documents with tokens of which cutting leaves none; return their positions, int64. See `cuts`."""
        return find_emptied(self.cuts(copies), self.sizes)

    def kept(self, copies: Copies = "one") -> tuple[Bools, Ints]:
        """Tell which token ids are left, bool (total,), and their offsets, int64 (n + 1,).

        The cleaned corpus has ids[kept], of the original ids, and these offsets. See `cuts`.
        """
        documents, firsts, lasts = self.cuts(copies)
        bases = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])
        change = np.zeros(self.total + 1, np.int64)
        np.add.at(change, bases[documents] + firsts, 1)
        np.add.at(change, bases[documents] + lasts, -1)
        uncut = np.cumsum(change[:-1]) == 0
        return uncut, np.concatenate([np.zeros(1, np.int64), np.cumsum(uncut)])[bases]

    def pieces(self, copies: Copies = "one") -> Iterator[list[Text]]:
        """Yield for each text, in order, the pieces between the cuts, none of them empty.

        Take the pieces as separate documents in later runs, so that no passage crosses a cut. A cut takes the blanks that
        follow it. See `cuts`.

        Raises
        ------
        ValueError
            The result is of token ids (use `kept`), or the unit is a callable, whose tokens have no known places.
        """
        return cut_corpus(*self._texts(), self.cuts(copies), self._threads)

    def cleaned(self, copies: Copies = "one") -> Iterator[Text]:
        """Yield each text without its repeated passages, in order; "" or b"" where nothing is left.

        A cut never joins words: a space is inserted if no blank is left between two pieces. See `cuts` and `pieces`.
        """
        return clean_corpus(*self._texts(), self.cuts(copies), self._threads)

    def spans(self, copies: Copies = "one") -> Iterator[list[tuple[int, int, int]]]:
        """Yield the spans that cutting removes from each text, in order: (first character, last character + 1, score).

        Characters are code points. Spans ascend and do not overlap; each includes the blanks that follow it. `pieces`
        yields the text outside of them, except that spans have whole characters where unit byte cuts bytes within one.
        The score of a span is the `copies` of its row; with copies="none" it is 1. Raises as `pieces` does.
        """
        ranges: Ranges = (self.documents, self.starts, self.ends)
        scores = self.copies
        if copies != "one":
            ranges = self.cuts(copies)
            scores = np.ones(len(ranges[0]), np.int64)
        bounds = np.searchsorted(ranges[0], np.arange(len(self.sizes) + 1))
        spans = find_corpus_spans(*self._texts(), ranges, self._threads)
        return _list_spans(spans, np.diff(bounds).tolist(), iter(scores.tolist()))

    def _texts(self) -> tuple[Corpus, int, Shingling]:
        """Return the texts, their number, and what a token is. Raises ValueError for a result of token ids."""
        reading = self._text_reading()
        return reading.corpora[0], len(self.sizes), reading.shingling

    def _text_reading(self) -> TextReading:
        """Return what reads the texts. Raises ValueError for a result of token ids."""
        if self._reading is None:
            raise ValueError("this is a result of token ids, and there are no texts to cut: use kept(), which tells the "
                             "tokens that are left")
        return self._reading


def clean_changed(result: Repeats, cuts: Ranges) -> tuple[Iterator[Text], dict[str, Ints]]:
    """Return the texts that have cuts, in order, as `Repeats.cleaned` yields them, and the columns of `Repeats.columns`.

    The texts are read once: the columns are complete when the iterator of texts has ended. Bytes are cut between characters.
    cuts: of `Repeats.cuts`.
    """
    reading, ranges = result._text_reading(), result._list_placed()
    pieces = _read_pieces(reading, ranges, cuts)
    texts, places = clean_and_place(pieces, sum(reading.counts), reading.shingling, cuts, ranges, result._threads)
    return texts, result._name_columns(places)


def _read_pieces(reading: TextReading, *given: Ranges) -> Iterator[tuple[Ints, Sequence[Text]]]:
    """Read the documents of ranges, in pieces."""
    wanted = np.zeros(sum(reading.counts), np.bool_)
    for documents, _, _ in given:
        wanted[documents] = True
    return reading.pieces(wanted)


def find_emptied(cuts: Ranges, sizes: Ints) -> Ints:
    """Find the documents with tokens of which these cuts leave none. sizes: tokens of each document."""
    documents, firsts, lasts = cuts
    cut = np.bincount(documents, lasts - firsts, len(sizes)).astype(np.int64)
    emptied: Ints = np.flatnonzero((cut == sizes) & (sizes > 0))
    return emptied


def _list_spans(
    found: Iterator[tuple[Ints, Ints]], counts: list[int], scores: Iterator[int]
) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the spans of each document with their scores, without empty ones. counts: ranges of each document."""
    spans = chain.from_iterable(zip(starts.tolist(), ends.tolist(), strict=True) for starts, ends in found)
    for count in counts:
        scored = zip(islice(spans, count), islice(scores, count), strict=True) if count else ()
        yield [(start, end, score) for (start, end), score in scored if start < end]
    for _ in spans:  # runs the checks at the end of the iterator; no span is left
        pass
