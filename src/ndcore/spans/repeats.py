"""Find the repeated passages of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ndcore._repeats import MAX_WINDOW
from ndcore._types import AnyPath, Ints, UInts
from ndcore.checks import checked_int, checked_memory_limit
from ndcore.pairs.keep_order import KeepOrder, number_labels
from ndcore.parallel import beside, thread_count
from ndcore.progress import Progress, reporting
from ndcore.spans.reading import IdReading, Ids, TextReading, TokenReading, are_ids, check_ids, refuse_shingling
from ndcore.spans.repeats_layout import Layout, RepeatedRanges
from ndcore.spans.repeats_result import Repeats
from ndcore.spans.repeats_rows import Choice, find_rows
from ndcore.spans.repeats_windows import WindowCounts, find_units
from ndcore.spans.repeats_work import WorkPlace, working
from ndcore.storage.spill import ScratchArrays
from ndcore.text.corpus import Corpus, as_corpus
from ndcore.text.shingling import Shingling, given_shingling

MOST = (1 << 64) - 1  # copies

Texts = Iterable[str | bytes] | Corpus
Given = ArrayLike | Callable[[], ArrayLike]


def repeats(
    texts: Texts | Ids,
    min_tokens: int = 50,
    *,
    shingling: Shingling | None = None,
    against: Texts | Ids | None = None,
    keep: Literal["first", "longest"] | Given = "first",
    by: Given | None = None,
    within: bool = True,
    min_copies: int = 2,
    max_copies: int | None = None,
    exceptions: Texts | Ids | None = None,
    memory_limit: int | str | None = None,
    work: AnyPath | WorkPlace | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Repeats:
    """Find the passages of a collection that exactly equal a passage at an earlier place.

    A token is repeated if one of the windows of `min_tokens` tokens that cover it equals a window at an earlier place: in an
    earlier document in keep order, or in the same document before it, without overlap. No window crosses the end of a
    document. The repeated tokens of a document are split into rows from left to right: each row is the longest run from its
    first token that occurs at an earlier place, and its source is the earliest of these places.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or token ids
        Texts are read several times, so an iterator is first written to a compressed temporary file. Token ids are a pair
        (ids, offsets) of arrays: document i has ids[offsets[i] : offsets[i + 1]], of dtype uint8, 16, 32 or 64, which may
        be a memory map.
    min_tokens : int
        L, the tokens of a window: 1 to 65536.
    shingling : Shingling, optional
        What a token is: its unit, stop words and normalize; None: words. Its width is not used.
    against : as texts, optional
        An existing collection. Then only its places are sources, and only `texts` have rows.
    keep : "first", "longest" (in tokens), or priorities
        Keep order: earlier documents are sources of later ones. Priorities: one per document, smallest first, ties by
        position; an array, or a callable that returns it after the texts were read.
    by : array, optional
        A label per document, or a callable that returns them after the texts were read: passages of documents with different
        labels are never compared. Not with `against` or `exceptions`.
    within : bool
        False: only places in other documents are sources.
    min_copies, max_copies : int, optional
        A window counts only if it occurs at this many places in the collection, at least and at most. A run counts if it
        occurs at `min_copies` places or more.
    exceptions : as texts, optional
        Texts whose windows do not count: licences, for example.
    memory_limit : int or str, optional
        Bytes, or a size as "2G", for sort entries, numbers of tokens and units. Beyond it they go to temporary files.
    work : path, optional
        A directory for the finished steps of the search; it is made if missing. After an interruption the same call resumes
        there. It is removed when the result is returned. It takes about 1.2 bytes for each token, then 16 bytes for each
        window that may be repeated.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).

    Returns
    -------
    Repeats
        ``.rows``, ``.tokens``, ``.total``, and the texts without the rows: ``.cleaned()``.

    Raises
    ------
    TypeError, ValueError
        A parameter or a text is not accepted, or parameters exclude each other. `work` holds an unfinished search of other
        documents, with other parameters or of another version of ndcore.
    CorruptFile
        A file in `work` has impossible values.
    FileExistsError, BlockingIOError
        `work` holds something else; another process uses it.

    Notes
    -----
    Fingerprints with secret polynomials find the windows, and tokens confirm them, so there are neither false positives nor
    false negatives. Texts are read once, and twice more if they have windows that may be repeated. Time: O(tokens), and O(n
    log n) for n units, which are runs of windows that occur together at all of their places. Memory: 1.2 bytes a token at L
    = 50 to choose windows, 32 bytes a window that may be repeated, 4 bytes a repeated token, and 48 bytes a unit; beyond
    `memory_limit` in temporary files. Those of units are mapped, so that the system writes them out where memory is short.
    Always in memory are the tokens of the documents that are being read, with 12 bytes more for each.

    References
    ----------
    Lee et al., "Deduplicating training data makes language models better", 2022. DOI 10.18653/v1/2022.acl-long.577.

    >>> found = repeats(["the cat sat on the mat", "a dog: the cat sat on the rug"], min_tokens=3)
    >>> found.tokens, found.total, list(found.cleaned())
    (5, 14, ['the cat sat on the mat', 'a dog: rug'])
    """
    min_tokens = checked_int("min_tokens", min_tokens, 1, MAX_WINDOW)
    fewest = checked_int("min_copies", min_copies, 2)
    most = checked_int("max_copies", max_copies, fewest) if max_copies is not None else MOST
    if not isinstance(within, bool):
        raise TypeError(f"within is True or False, got {within!r:.80}")
    if by is not None and (against is not None or exceptions is not None):
        raise ValueError("by=… cannot be combined with against=… or exceptions=…, whose documents have no labels")
    limit = checked_memory_limit(memory_limit, 3)  # for entries by fingerprint, by place, numbers of tokens; later, units
    thread_count(threads)
    reading = _open_reading({"texts": texts, "against": against, "exceptions": exceptions}, shingling)
    exempt: list[int] = []
    made: list[RepeatedRanges] = []
    counted, scratch = WindowCounts(min_tokens, min(fewest, MOST), min(most, MOST), limit), ScratchArrays(limit)

    def lay_out(sizes: Ints) -> Layout:
        n, others = reading.counts[0], reading.counts[1]
        exempt.append(len(sizes) - n - others)
        keep_order = KeepOrder.of(keep, n, others, sizes[:n])
        order = np.concatenate([np.arange(n + others, len(sizes)), keep_order.order])
        codes = number_labels("by", by, n)
        labels = np.zeros(len(sizes), np.uint64) if codes is None else codes.astype(np.uint64)
        return Layout.of(sizes, order, labels, exempt[0])

    def find_beginning(layout: Layout) -> int:
        """Find the first place of the texts."""
        return int(layout.bases[exempt[0] + reading.counts[1]])

    def make_rows(layout: Layout, cut: UInts) -> None:
        sources = None if against is None else find_beginning(layout)
        made[:] = [find_rows(layout, cut, Choice(min_tokens, counted.fewest, within, sources), scratch)]

    texts_read = reading if isinstance(reading, TextReading) else None
    parameters = {"min_tokens": min_tokens, "min_copies": fewest, "max_copies": max_copies,
                  "against": against is not None, "exceptions": exceptions is not None,
                  "shingling": None if texts_read is None else texts_read.shingling.recipe.parameters}
    with reporting(progress) as report, working(work, parameters) as unfinished:
        layout, cut = find_units(reading, counted, lay_out, unfinished, scratch, make_rows, threads=threads, report=report)
        ranges = unfinished.rows(layout, within, find_beginning(layout))
        rest = layout, reading.counts[0], min_tokens, texts_read, threads
        if ranges is not None:
            return Repeats(ranges, *rest)
        if not made:
            make_rows(layout, cut)
        with beside(partial(unfinished.put_rows, made[0], within), threads):
            return Repeats(made[0], *rest)


def _open_reading(collections: dict[str, Any], shingling: Shingling | None) -> TokenReading:
    """Open the documents for reading: texts, against, exceptions."""
    if collections["texts"] is None:
        raise TypeError("texts is None; give a list or another iterable of str or bytes, or a pair (ids, offsets)")
    if not are_ids(**collections):
        return TextReading([as_corpus([] if given is None else given, name) for name, given in collections.items()],
                           given_shingling(shingling))
    refuse_shingling(shingling)
    return IdReading([check_ids(name, given) for name, given in collections.items()])
