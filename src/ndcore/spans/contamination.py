"""Find the items of benchmarks that occur in a corpus."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ndcore._grams import MAX_LENGTH
from ndcore._types import Text
from ndcore.checks import checked_int
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.spans.contamination_reading import Hits, HitTaker, IdSearch, ItemSearch, TextSearch
from ndcore.spans.contamination_result import Contamination
from ndcore.spans.reading import Ids, are_ids, check_ids, refuse_shingling
from ndcore.text.corpus import Corpus
from ndcore.text.folding import Fold, Folding
from ndcore.text.inputs import as_texts
from ndcore.text.shingling import Shingling, given_shingling


def contamination(
    items: Iterable[Text] | Ids,
    corpus: Iterable[Text] | Corpus | Ids,
    min_tokens: int = 13,
    *,
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
    fold : collection of "entities", "letters" and "accents"
        What is folded in items and documents before words are compared. "entities": character references of HTML become
        their characters. "letters": Greek, Cyrillic and other letters that look like one of a to z become that letter
        (UTS #39). "accents": accents of Latin, Greek and Cyrillic letters are left out. Places still are of the texts as
        they are given.
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
        A text is neither str nor bytes, or only one side is token ids; min_tokens is out of range; fold has another kind, or
        is for another unit than words; or the items have more than 2^31 − 1 windows.

    Notes
    -----
    O(tokens) for a corpus in which runs of the items are rare. Of any corpus and items a token costs at most O(min_tokens).
    Memory: about 60 bytes for each token of the items, 12 for each window that occurs in the documents at hand, and 40 for
    each span of the corpus; the corpus itself is held 1 MiB for each thread at a time. Reading the corpus takes no GIL.

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
    search = open_search(items, corpus, min_tokens, fold, shingling, threads)
    return Contamination.of(look_for(search, threads, progress), min_tokens, search)


def look_for(
    search: ItemSearch, threads: int | None, progress: bool | Progress | None, also: HitTaker | None = None
) -> Hits:
    """Look for the items in all documents; return the hits, which `also` gets too."""
    hits = Hits(search, also)
    with reporting(progress) as report:
        for piece in map_pieces(search.look_up, search.pieces(), threads):
            hits.add(piece)
            report("looking for the items", hits.documents, None)
        hits.settle()
        report("looking for the items", hits.documents, hits.documents)
    return hits


def open_search(
    items: Any, corpus: Any, min_tokens: int, fold: Collection[Fold], shingling: Shingling | None, threads: int | None
) -> ItemSearch:
    """Open the search of the items in the corpus. Raises TypeError or ValueError as `contamination` does."""
    length = checked_int("min_tokens", min_tokens, 1, MAX_LENGTH)
    folding = Folding(fold)
    thread_count(threads)
    for name, value in (("items", items), ("corpus", corpus)):
        if value is None:
            raise TypeError(f"{name} is None; give a list or another iterable of str or bytes, or a pair (ids, offsets)")
    if are_ids(items=items, corpus=corpus):
        refuse_shingling(shingling)
        if folding:
            raise ValueError("fold=… is for texts; token ids are tokens already")
        return IdSearch(check_ids("items", items), check_ids("corpus", corpus), length)
    shingling = given_shingling(shingling)
    if folding and shingling.unit != "word":
        raise ValueError(f"fold=… is for words, and unit is {shingling.unit!r}; leave fold out, or take the unit word")
    return TextSearch(as_texts(items), corpus, shingling, length, threads, folding or None)
