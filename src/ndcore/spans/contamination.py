"""Find the items of benchmarks that stand in a corpus."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ndcore._grams import MAX_LENGTH, GramHits, Grams, Symbols
from ndcore._types import AnyArray, Ints, Text, UInts
from ndcore._vocabulary import Vocabulary
from ndcore.checks import checked_int
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.spans.contamination_hits import Found, Hits
from ndcore.spans.contamination_result import Contamination
from ndcore.spans.repeats_reading import symbol_shingling
from ndcore.text.corpus import Corpus, pieces_once
from ndcore.text.inputs import as_texts, pieces
from ndcore.text.shingling import Shingling, given_shingling, joined_samples

__all__ = ["contamination"]


def contamination(
    items: Iterable[Text],
    corpus: Iterable[Text] | Corpus,
    min_tokens: int = 13,
    *,
    shingling: Shingling | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Contamination:
    """Find the items, such as the questions of a benchmark, whose tokens stand in a corpus, exactly.

    A window of `min_tokens` consecutive tokens of an item occurs if a document of the corpus has the same tokens one after
    another. An item with fewer tokens is one window. Windows are compared token by token, so there are neither false
    positives nor false negatives.

    Parameters
    ----------
    items : iterable of str or bytes, or a column of them
        Texts whose tokens are looked for. All are in memory.
    corpus : iterable of str or bytes, a column, or a Corpus
        Documents. They are read once, in order; an iterator is never stored.
    min_tokens : int
        Tokens of a window, 1 to 1024. The literature has 13 (Brown et al. 2020) and 8 (Chowdhery et al. 2022).
    shingling : Shingling, optional
        Its unit, normalize and stop words decide what a token is; None: words. Its width is not used.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in documents.

    Returns
    -------
    Contamination
        Counts of each item, the places of its windows, and the spans of each document of the corpus.

    Raises
    ------
    TypeError, ValueError
        A text is neither str nor bytes, min_tokens is out of range, or the items have more than 2^31 − 1 windows.

    Notes
    -----
    O(tokens) for the corpus, and as many products as a window has tokens for each window that occurs. Memory: about 60 bytes
    for each token of the items, and 40 bytes for each span of the corpus; the corpus itself is held 1 MiB for each thread
    at a time. Reading the corpus takes no GIL.

    References
    ----------
    Brown et al. (2020), Language models are few-shot learners, appendix C, arXiv:2005.14165. Chowdhery et al. (2022), PaLM:
    scaling language modeling with pathways, §8, arXiv:2204.02311.

    Examples
    --------
    >>> found = contamination(["who wrote the book", "a new one"], ["He asked: Who wrote the book?"], min_tokens=3)
    >>> found.covered, found.contaminated()
    (array([4, 0]), array([ True, False]))
    """
    length = checked_int("min_tokens", min_tokens, 1, MAX_LENGTH)
    thread_count(threads)
    asked = _read_items(as_texts(items), given_shingling(shingling), length, threads)
    hits = Hits(asked.grams, asked.offsets, asked.numbers, asked.vocabulary)
    with reporting(progress) as report:
        work = partial(_look_up, asked)
        for found in map_pieces(work, pieces_once(corpus), threads):
            hits.add(found)
            report("looking for the items", hits.documents, None)
        hits.settle()
    return Contamination.of(hits, length)


class _Items(NamedTuple):
    """The items, ready to be looked for."""

    shingling: Shingling
    grams: Grams
    offsets: Ints  # of the tokens of each item
    numbers: AnyArray  # of all tokens, equal exactly for equal tokens
    vocabulary: Vocabulary


def _read_items(texts: Sequence[Text], shingling: Shingling, length: int, threads: int | None) -> _Items:
    """Read the items with secret polynomials under which their tokens have different symbols."""
    while True:
        reader = symbol_shingling(shingling, secrets.randbits(64))
        vocabulary, parts, numbered = Vocabulary(), list[tuple[UInts, Ints]](), list[AnyArray]()
        work = partial(_symbols, reader)
        for symbols, begins, tapes in map_pieces(work, pieces(texts, threads=thread_count(threads)), threads):
            parts.append((symbols, begins))
            for tape, size in zip(tapes, np.diff(begins), strict=True):
                numbered.append(vocabulary.number(tape, np.zeros(1, np.int64), np.full(1, size)))
        symbols, offsets = joined_samples(parts)
        numbers = np.concatenate([np.empty(0, np.uint32), *numbered])
        if _differ(symbols, numbers, len(vocabulary)):
            return _Items(reader, Grams(symbols, offsets, length), offsets, numbers, vocabulary)


def _symbols(shingling: Shingling, piece: tuple[int, Sequence[Text]]) -> tuple[UInts, Ints, list[bytes]]:
    """Return the symbols of a piece's tokens, their offsets, and the canonical bytes of each text."""
    batch = shingling.batch(piece[1])
    sink = shingling.shingler.symbols(batch, Symbols(len(piece[1])))
    return sink.values, sink.begins, shingling.shingler.canonical(batch, bytes)


def _differ(symbols: UInts, numbers: AnyArray, count: int) -> bool:
    """Tell whether different tokens have different symbols. `count`: numbers of tokens."""
    symbol_of = np.zeros(count, np.uint64)
    symbol_of[numbers] = symbols
    return len(np.unique(symbol_of)) == count


def _look_up(items: _Items, piece: tuple[int, Sequence[Text]]) -> Found:
    """Look through documents (position of the first, texts) on this thread."""
    first, texts = piece
    shingler, batch = items.shingling.shingler, items.shingling.batch(texts)
    sink = shingler.symbols(batch, GramHits(len(texts), items.grams))
    tokens, counts = np.frombuffer(sink.counted, np.int64), np.diff(sink.begins)
    rows = np.flatnonzero(counts)
    tapes = shingler.canonical(batch, bytes, rows.tolist()) if len(rows) else []
    return Found(len(texts), int(tokens.sum()), first + rows, tokens[rows], counts[rows], sink.positions.astype(np.int64),
                 sink.numbers, tapes)
