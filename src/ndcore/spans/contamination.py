"""Find the items of benchmarks that occur in a corpus."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from ndcore._grams import MAX_LENGTH
from ndcore._types import AnyArray, Ints, Text
from ndcore.checks import checked_int
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.spans.contamination_reading import Hits, HitTaker, IdSearch, ItemSearch, TextSearch, WindowHits
from ndcore.spans.contamination_result import Contamination
from ndcore.spans.gapped_runs import MAX_GAPS, GappedRuns, seed_length
from ndcore.spans.reading import Ids, are_ids, check_ids, refuse_shingling
from ndcore.spans.word_rarity import WordRarity
from ndcore.text.corpus import Corpus
from ndcore.text.folding import Fold, Folding
from ndcore.text.inputs import as_texts
from ndcore.text.shingling import Shingling, given_shingling


def contamination(
    items: Iterable[Text] | Ids,
    corpus: Iterable[Text] | Corpus | Ids,
    min_tokens: int = 13,
    *,
    gaps: int = 0,
    min_rarity: float | None = None,
    fold: Collection[Fold] = (),
    shingling: Shingling | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Contamination:
    """Find the items, such as the questions of a benchmark, whose tokens occur in a corpus, exactly.

    A window of `min_tokens` consecutive tokens of an item occurs if a document of the corpus has the same tokens one after
    another. An item with fewer tokens is one window. Windows are compared token by token, so there are neither false
    positives nor false negatives.

    Parameters
    ----------
    items : iterable of str or bytes, a column of them, or token ids
        Texts whose tokens are looked for. All are in memory. Token ids are a pair (ids, offsets) of arrays: item i has
        ids[offsets[i] : offsets[i + 1]], of dtype uint8, 16, 32 or 64.
    corpus : iterable of str or bytes, a column, a Corpus, or token ids
        Documents. They are read once, in order; an iterator is never stored. Token ids, if the items are; their array may be
        a memory map.
    min_tokens : int
        Tokens of a window, 1 to 1024. The literature has 13 (Brown et al. 2020) and 8 (Chowdhery et al. 2022).
    gaps : int
        Tokens, 0 to 32. Above 0, near matches are found too: two seeds of n = ⌈min_tokens / 2⌉ tokens of an item, with at
        most `gaps` tokens, of any kind, between them in the item and in a document. An item of fewer than 2 n tokens has
        none. Text between two changes that are fewer than n tokens apart is missed. 0: exact runs only.
    min_rarity : float, optional
        Bits, at least 0. If given, the rarity of the runs found of each item is measured, and an item counts as
        contaminated only if a run is at least this rare: runs of frequent words occur by chance. The rarity of a run is the
        sum over its distinct words of log2((N + 1) / (m + 1)), where m of N documents have the word, in a sample of at most
        8,192 documents. 0: measure only.
    fold : collection of "entities", "letters" and "accents"
        What is folded in items and documents before words are compared. "entities": character references of HTML become
        their characters. "letters": Greek, Cyrillic and other letters that look like one of a to z become that letter
        (UTS #39). "accents": accents of Latin, Greek and Cyrillic letters are left out. Places are still those in the
        original texts.
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
        A text is neither str nor bytes, or only one side is token ids; min_tokens, gaps or min_rarity is out of range; fold
        has another kind, or is for another unit than words; or the items have more than 2^31 − 1 windows.

    Notes
    -----
    O(tokens) for a corpus in which runs of the items are rare. In the worst case, a token costs O(min_tokens).
    Memory: about 60 bytes for each token of the items, with gaps 26·(gaps + 1) more; 12 for each window that occurs in the
    documents at hand, and 40 for each span of the corpus; the corpus itself is held 1 MiB for each thread at a time. Reading
    the corpus takes no GIL, except for folding.

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
    search = open_search(items, corpus, min_tokens, gaps, min_rarity, fold, shingling, threads)
    return Contamination.of(*look_for(search, threads, progress), min_tokens, min_rarity, search.whole)


class GappedSearch(NamedTuple):
    """A search for items, with a search for their seeds if runs may have gaps."""

    whole: ItemSearch
    seeds: ItemSearch | None
    seed: int  # tokens
    gaps: int
    rarity: WordRarity | None

    def look_up(self, piece: Any) -> tuple[WindowHits, WindowHits | None, list[tuple[int, Ints]]]:
        """Search the documents of a piece, in any thread; return the hits of both searches, and the words for `rarity`."""
        return (self.whole.look_up(piece), None if self.seeds is None else self.seeds.look_up(piece),
                [] if self.rarity is None else self.rarity.look_up(piece))


def look_for(
    search: GappedSearch, threads: int | None, progress: bool | Progress | None, also: HitTaker | None = None
) -> tuple[Hits, GappedRuns | None, WordRarity | None]:
    """Search all documents; return the hits, which `also` gets too, the runs with gaps, and the counts of words."""
    hits, seeds = Hits(search.whole, also), search.seeds
    gapped = None if seeds is None else GappedRuns(seeds.grams, seeds.offsets, search.seed, search.gaps)
    with reporting(progress) as report:
        for piece, of_seeds, words in map_pieces(search.look_up, search.whole.pieces(), threads):
            hits.add(piece)
            if gapped is not None and of_seeds is not None:
                gapped.add(of_seeds)
            if search.rarity is not None:
                search.rarity.add(words)
            report("looking for the items", hits.documents, None)
        hits.settle()
        report("looking for the items", hits.documents, hits.documents)
    return hits, gapped, search.rarity


def open_search(
    items: Any, corpus: Any, min_tokens: int, gaps: int, min_rarity: float | None, fold: Collection[Fold],
    shingling: Shingling | None, threads: int | None,
) -> GappedSearch:
    """Open the search for the items in the corpus. Raises TypeError or ValueError as `contamination` does."""
    length, gaps = checked_int("min_tokens", min_tokens, 1, MAX_LENGTH), checked_int("gaps", gaps, 0, MAX_GAPS)
    folding, seed = Folding(fold), seed_length(length)
    if min_rarity is not None and not (isinstance(min_rarity, (int, float)) and 0 <= min_rarity < math.inf):
        raise ValueError(f"min_rarity is {min_rarity!r}; give a number of bits, at least 0, or None")
    thread_count(threads)
    for name, value in (("items", items), ("corpus", corpus)):
        if value is None:
            raise TypeError(f"{name} is None; give a list or another iterable of str or bytes, or a pair (ids, offsets)")
    if are_ids(items=items, corpus=corpus):
        refuse_shingling(shingling)
        if folding:
            raise ValueError("fold=… is for texts; token ids are tokens already")
        ids, documents = check_ids("items", items), check_ids("corpus", corpus)
        of_ids = IdSearch(ids, documents, length)
        seeds = IdSearch(_with_seeds(*ids, seed), documents, seed) if gaps else None
        return GappedSearch(of_ids, seeds, seed, gaps, _open_rarity(of_ids, min_rarity))
    shingling = given_shingling(shingling)
    if folding and shingling.unit != "word":
        raise ValueError(f"fold=… is for words, and unit is {shingling.unit!r}; leave fold out, or take the unit word")
    texts = as_texts(items)
    whole = TextSearch(texts, corpus, shingling, length, threads, folding or None)
    rarity = _open_rarity(whole, min_rarity)
    if not gaps:
        return GappedSearch(whole, None, seed, gaps, rarity)
    enough = np.diff(whole.offsets) >= 2 * seed
    some = [text if has else "" for text, has in zip(texts, enough.tolist(), strict=True)]
    return GappedSearch(whole, TextSearch(some, (), shingling, seed, threads, folding or None), seed, gaps, rarity)


def _open_rarity(search: ItemSearch, min_rarity: float | None) -> WordRarity | None:
    """Make the counter of the items' words; None if rarity is not measured."""
    return None if min_rarity is None else WordRarity(search.grams.symbols, search)


def _with_seeds(ids: AnyArray, offsets: Ints, seed: int) -> tuple[AnyArray, Ints]:
    """Drop the tokens of items that have fewer than two seeds."""
    sizes = np.diff(offsets)
    enough = sizes >= 2 * seed
    return ids[np.repeat(enough, sizes)], np.append(0, np.cumsum(np.where(enough, sizes, 0)))
