"""The documents of a run, then those to compare against, with what the first pass found out about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Bools, Ints, Text
from ndcore.checks import check_documents, check_numbered
from ndcore.dedup.first_pass import Reading, read_corpus
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketcher import end_to_end
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import column_limit, spooled_together
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus, as_corpus, indexed_texts
from ndcore.text.digests import OF_BYTES, OF_TOKENS, first_equal, read_digests
from ndcore.text.shingling import Shingling

__all__ = ["Documents", "Side", "read_documents"]


class Side:
    """What was given as `texts` or as `against`: texts that can be read again, or sketches in their place."""

    sketches: Sketches | None
    corpus: Corpus | None

    def __init__(self, given: Any, name: str) -> None:
        check_documents(given, name)
        self.sketches = given if isinstance(given, Sketches) else None
        self.corpus = None if self.sketches is not None else as_corpus(given)

    def read(
        self, sketcher: MinHasher, agreement: Agreement | None, *, threads: int | None, memory_limit: int | None,
        report: Progress,
    ) -> Reading:
        """Sketch the texts, or take the sketches; RecipeMismatch if another recipe made them."""
        if self.corpus is not None:
            return read_corpus(self.corpus, sketcher, threads=threads, memory_limit=memory_limit, report=report,
                               agreement=agreement)
        assert self.sketches is not None
        sketcher.recipe.check(self.sketches.recipe)
        rows, digests = np.ascontiguousarray(self.sketches.values), self.sketches.digests
        known = np.full(len(rows), digests is not None)
        digests = np.zeros((len(rows), 32), np.uint8) if digests is None else digests
        return Reading(rows, digests, known, None, self.sketches.valid, 0, None)


@dataclass(frozen=True)
class Documents:
    """Signatures and digests by position: 0 … n − 1 are the documents, the others come from `against`.

    `corpora` are the texts of either side, None for sketches. Other columns are as in `Reading`; digests are set only where
    `known`, and `digest` adds more. `keys` are there if near-duplicates must agree in any. `given` are the sketches that
    stand for the first side.
    """

    corpora: tuple[Corpus | None, Corpus | None]
    n: int
    rows: AnyArray
    digests: NDArray[np.uint8]
    known: Bools
    valid: Bools
    keys: NDArray[np.uint8] | None
    invalid_bytes: int
    sketcher: MinHasher
    given: Sketches | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def recipe(self) -> Recipe:
        """Recipe of the signatures; made at the first access."""
        return self.sketcher.recipe

    @property
    def shingling(self) -> Shingling:
        """The shingling of the signatures."""
        return self.sketcher.shingling

    def has_text(self, positions: Ints) -> Bools:
        """Tell which of these documents can be read again."""
        new, old = (corpus is not None for corpus in self.corpora)
        return np.where(positions < self.n, new, old)

    def texts(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Read documents again: yield (positions, texts) in pieces of work for threads."""
        return indexed_texts(self.corpora, (0, self.n), wanted)

    def digest(self, wanted: Bools, *, threads: int | None, report: Progress) -> None:
        """Read documents again to fill in their digests; of documents with the same bytes, tokens are digested once."""
        which = np.flatnonzero(wanted)
        if not len(which):
            return
        read = partial(read_digests, self.corpora, (0, self.n), shingling=self.shingling, digests=self.digests,
                       valid=self.valid, threads=threads, report=report)
        read(wanted=wanted, parts=(OF_BYTES,))
        firsts, own = which, np.ones(len(which), np.bool_)
        if not callable(self.shingling.unit):  # which may return other tokens
            firsts = which[first_equal(self.digests[which, :16], [np.where(self.valid[which], -1, which)])]
            own = firsts == which
        tokens = np.zeros(len(self), np.bool_)
        tokens[which[own]] = True
        read(wanted=tokens, parts=(OF_TOKENS,))
        self.digests[which, 16:] = self.digests[firsts, 16:]
        self.known[which] = True


def read_documents(
    sides: Sequence[Side], sketcher: MinHasher, agreement: Agreement | None, *, threads: int | None,
    memory_limit: int | None, report: Progress,
) -> tuple[Documents, Ints | None]:
    """Return the documents of both sides, end to end, and the lengths of the first side's texts in bytes."""
    readings = [
        side.read(sketcher, agreement, threads=threads, memory_limit=memory_limit, report=report) for side in sides
    ]
    rows, digests, known, _, valid, _, keys = zip(*readings, strict=True)
    check_numbered(sum(map(len, rows)), "documents", "remove near-duplicates in parts, each --against those before it")
    limit = column_limit(memory_limit)
    documents = Documents(
        (sides[0].corpus, sides[1].corpus if len(sides) > 1 else None), len(rows[0]), spooled_together(rows, memory_limit),
        spooled_together(digests, limit, "r+"), end_to_end(known), end_to_end(valid),
        None if agreement is None else spooled_together(keys, limit), readings[0].invalid_bytes, sketcher, sides[0].sketches,
    )
    return documents, readings[0].lengths
