"""Find the items of benchmarks, field by field, in a corpus."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ndcore._types import Text
from ndcore.checks import checked_int
from ndcore.progress import Progress
from ndcore.spans.contamination import look_for, open_search
from ndcore.spans.contamination_result import Contamination
from ndcore.spans.field_result import FieldContamination
from ndcore.spans.item_fields import FieldItem, check_fields, flatten_items
from ndcore.spans.near_fields import NearFields
from ndcore.text.corpus import Corpus
from ndcore.text.folding import Fold
from ndcore.text.shingling import Shingling

MAX_NEAR = 1 << 16


def field_contamination(
    items: Iterable[FieldItem],
    corpus: Iterable[Text] | Corpus,
    fields: Sequence[str],
    min_tokens: int = 13,
    *,
    near: int | None = None,
    gaps: int = 0,
    min_rarity: float | None = None,
    fold: Collection[Fold] = (),
    shingling: Shingling | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> FieldContamination:
    """Find which fields of items, such as questions and answers, occur in a corpus, exactly.

    Each text of a field is a part, and is searched for as `contamination` searches for an item. A field with several texts,
    such as a list of answers, is found if one of its parts is found.

    Parameters
    ----------
    items : iterable of mappings
        Maps names of fields to a text, several texts, or None. All items are in memory.
    corpus : iterable of str or bytes, a column, or a Corpus
        As for `contamination`.
    fields : sequence of str
        Names of the fields to search for. Nearness is measured from the first field.
    min_tokens : int
        Tokens of a window, 1 to 1024. A part with fewer tokens is one window.
    near : int, optional
        Tokens, 0 to 65536. If given, `FieldContamination.near` tells which fields occur within `near` tokens of a window of
        the first field of their item in a document. None: do not measure it.
    gaps, min_rarity, fold, shingling, threads, progress
        As for `contamination`. Parts of later fields that are shorter than `min_tokens` need not be rare: use `near` for
        them. `near` counts exact windows only, with gaps too.

    Returns
    -------
    FieldContamination

    Raises
    ------
    TypeError, ValueError
        An item is not a mapping of fields to texts, no item has one of the fields, or as raised by `contamination`.

    Notes
    -----
    The costs of `contamination`. With `near`, each hit of a first field is also compared with each distinct window of
    other fields within `near` tokens, and for each pair of near windows the items that have the rarer one are looked up.

    Examples
    --------
    >>> items = [{"question": "Which river flows through Bern?", "answers": ["Aare", "the Aare"]}]
    >>> corpus = ["Which river flows through Bern? The Aare."]
    >>> found = field_contamination(items, corpus, ["question", "answers"], 5, near=10)
    >>> found.found(), found.near
    (array([[ True,  True]]), array([[ True,  True]]))
    """
    names = check_fields(fields)
    if near is not None:
        near = checked_int("near", near, 0, MAX_NEAR)
    parts = flatten_items(items, names)
    search = open_search(parts.texts, corpus, min_tokens, gaps, min_rarity, fold, shingling, threads)
    grams, offsets = search.whole.grams, search.whole.offsets
    pairs = None if near is None else NearFields(grams, offsets, parts.item, parts.field, near)
    hits = look_for(search, threads, progress, None if pairs is None else pairs.take)
    result = Contamination.of(*hits, min_tokens, min_rarity, search.whole)
    return FieldContamination.of(names, parts, result, near, None if pairs is None else pairs.places())
