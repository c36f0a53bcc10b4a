"""A collection like the one that AltaVista clustered in 1996, of any size (Broder, Glassman, Manasse and Zweig 1997, §7).

There: 30,000,000 documents, 150 GB; at 50 % resemblance 3.6 million clusters with 12.3 million documents, of which 2.1
million clusters (5.3 million documents) had identical documents only. Here the same shares of made-up documents, any of
which can be made by itself, and whose family is known:

single     one document, unrelated to all others
excerpt    two: a document, and a passage of it, 10 to 28 % as long
remote     two: a document, and a version in which 30 to 50 % of the phrases are others
identical  2 or more, equal byte for byte
mixed      2 or more versions of a document, some of them more than once: most have single phrases replaced, some a passage
           inserted or removed, some other case and punctuation only. In one family of twenty so many phrases are replaced
           that two versions resemble each other 40 to 60 %

Sizes of families follow power laws, sizes of documents a log-normal law. A family is scattered over the collection.
Documents of many families share headers, footers and licences: a seventh of a document at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from families import Scattered, power_law
from numpy.typing import NDArray
from phrases import RECIPE, REPLACE, RESTYLE, Bank, Batch, Recipes, draw, draws, machine_bank

KINDS = ("single", "excerpt", "remote", "identical", "mixed")
SINGLE, EXCERPT, REMOTE, IDENTICAL, MIXED = range(5)
BATCH = 4096  # documents, about 20 MB

DOCUMENTS = 30_000_000
CLUSTERS = {IDENTICAL: (2_100_000, 5_300_000), MIXED: (1_500_000, 7_000_000)}  # clusters, documents in them
RELATED = {EXCERPT: 600_000, REMOTE: 600_000}  # families of two that do not resemble each other; not of the paper
LARGEST = 5000  # documents of a family
VERSIONS = 500  # of a document: fewer than 1000, from which on the paper leaves a shingle out

MEDIAN_BYTES, SIGMA = 2430, 1.2  # of the log-normal law, without headers and the like: 5 KB in the mean
MOST_BYTES = 190_000
LEAST = np.array([10, 100, 60, 10, 12])  # phrases of a document, by kind; 10 are about 200 bytes
ALTERED = 60  # phrases of a document, at least, in which more than the last one is changed

SITE, HEADER, FOOTER, LICENCE = range(4)
SHARES = (0.2, 0.15, 0.35, 0.25)  # of the families; a header is of the site, or a common one; only long documents have them
HOLDERS = (50, 4000, 4000, 16_000)  # families that draw the same one; two thirds, four fifths and an eighth are long enough
LONGEST_SHARE = 12  # a header or footer is of documents so many times as long
LICENCE_PHRASES, LICENCE_LEAST = 50, 400

# What is drawn of the key of a family, or of a version.
(TEXT, SIZE_A, SIZE_B, TOP, TOP_WHICH, BOTTOM, BOTTOM_WHICH, TERMS, TERMS_WHICH, LOOSE) = range(10)
(CHANGES, WAY, AMOUNT, WHERE) = range(4)
MEMBER, VERSION = 1 << 20, 1 << 40  # and onwards: of the members, of the versions

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Figures(NamedTuple):
    """What the paper reports of a clustering at 50 % resemblance."""

    clusters: int
    clustered: int  # documents in clusters
    identical_clusters: int  # of identical documents only
    identical: int  # documents in these


class Members(NamedTuple):
    """Of documents: the family, its kind (of KINDS), which of its members, and which version of the text (0: as written)."""

    family: Ints
    kind: Ints
    member: Ints
    version: Ints


class Collection:
    """`documents` documents; two with the same arguments on the same machine are equal."""

    def __init__(self, documents: int = DOCUMENTS, seed: int = 1, bank: Bank | None = None) -> None:
        if not 1 <= documents < 1 << 40:
            raise ValueError(f"documents={documents} is not from 1 to 2^40 - 1")
        self.documents, self.seed = documents, seed
        self.bank = bank or machine_bank()
        self.kind, self.size, self.count = _classes(documents)
        self._first_slot = np.concatenate([[0], np.cumsum(self.size * self.count)])
        self._first_family = np.concatenate([[0], np.cumsum(self.count)])
        self.families = int(self._first_family[-1])
        self._key = draw(seed, 0)
        self._scatter = Scattered(documents, draw(seed, 1))
        self._pools = [max(1, round(self.families * share / of)) for share, of in zip(SHARES, HOLDERS, strict=True)]

    def __len__(self) -> int:
        return self.documents

    @property
    def batches(self) -> int:
        """How many batches there are."""
        return -(-self.documents // BATCH)

    def batch(self, number: int, memory: NDArray[np.uint8] | None = None) -> Batch:
        """The documents from number * BATCH on, BATCH of them or as many as are left; see Bank.write for `memory`."""
        first = number * BATCH
        if not 0 <= first < self.documents:
            raise ValueError(f"there is no batch {number}; there are {self.batches}")
        return self.bank.write(self.recipes(np.arange(first, min(first + BATCH, self.documents))), memory)

    def figures(self) -> Figures:
        """What a clustering at 50 % finds if no family falls apart and none is joined to another."""
        pairs = [(int(self.count[self.kind == kind].sum()), int((self.count * self.size)[self.kind == kind].sum()))
                 for kind in (IDENTICAL, MIXED)]
        return Figures(pairs[0][0] + pairs[1][0], pairs[0][1] + pairs[1][1], *pairs[0])

    def members(self, documents: Ints) -> Members:
        """What these documents are."""
        slot = self._scatter.slots(documents)
        of = np.searchsorted(self._first_slot, slot, "right") - 1
        within, size = slot - self._first_slot[of], self.size[of]
        family, member = self._first_family[of] + within // size, within % size
        version = np.where(self.kind[of] == MIXED, self._version(family, member, size), member)
        return Members(family, self.kind[of], member, np.where(self.kind[of] == IDENTICAL, 0, version))

    def documents_of(self, family: int) -> Ints:
        """The documents of a family, its members in order."""
        of = int(np.searchsorted(self._first_family, family, "right")) - 1
        size = int(self.size[of])
        first = int(self._first_slot[of]) + (family - int(self._first_family[of])) * size
        return self._scatter.documents(np.arange(first, first + size))

    def _family_keys(self, family: Ints) -> Keys:
        return draws(np.full(1, self._key, np.uint64), family.astype(np.uint64))

    def _version(self, family: Ints, member: Ints, size: Ints) -> Ints:
        """Of the members of mixed families: the first two are versions 0 and 1, 30 % of the others 0, the rest any."""
        keys = draws(self._family_keys(family), (MEMBER + member).astype(np.uint64))
        versions = np.clip(np.ceil(0.6 * size), 2, VERSIONS).astype(np.int64)
        later: Ints = 1 + (uniform(keys, 1) * (versions - 1)).astype(np.int64)
        later[uniform(keys, 0) < 0.3] = 0
        later[member < 2] = member[member < 2]
        return later

    def recipes(self, documents: Ints) -> Recipes:
        """How these documents are written."""
        are = self.members(documents)
        keys = self._family_keys(are.family)
        phrases = self._phrases(keys, are.kind)
        made = np.zeros(len(documents), RECIPE)
        part = made["segments"]
        part["key"][:, [1, 3]] = draws(keys, TEXT)[:, None]
        part["count"][:, 1] = phrases
        self._surround(part, keys, phrases)
        _change(made, are, keys, phrases)
        return made

    def _phrases(self, keys: Keys, kind: Ints) -> Ints:
        """Of the text without header, footer and licence."""
        normal = np.sqrt(-2 * np.log1p(-uniform(keys, SIZE_A))) * np.cos(2 * np.pi * uniform(keys, SIZE_B))
        size = np.minimum(MOST_BYTES, MEDIAN_BYTES * np.exp(SIGMA * normal))
        phrases: Ints = np.maximum(LEAST[kind], (size / self.bank.mean_bytes).astype(np.int64))
        return phrases

    def _surround(self, part: NDArray[np.void], keys: Keys, phrases: Ints) -> None:
        """A header (segment 0), a licence (4) and a footer (5) for some."""
        top, bottom, terms = (uniform(keys, which) for which in (TOP, BOTTOM, TERMS))
        of_site, common = self._shared(SITE, keys, TOP_WHICH), self._shared(HEADER, keys, TOP_WHICH)
        headers, footers = np.where(top < SHARES[SITE], of_site, common), self._shared(FOOTER, keys, BOTTOM_WHICH)
        for segment, shared, held, least, several in (
            (0, headers, top < SHARES[SITE] + SHARES[HEADER], 3, 6), (5, footers, bottom < SHARES[FOOTER], 2, 3),
        ):
            length = least + (shared % np.uint64(several)).astype(np.int64)
            held &= phrases >= LONGEST_SHARE * length
            part["key"][:, segment], part["count"][:, segment] = shared, np.where(held, length, 0)
        part["key"][:, 4] = self._shared(LICENCE, keys, TERMS_WHICH)
        part["count"][:, 4] = np.where((terms < SHARES[LICENCE]) & (phrases >= LICENCE_LEAST), LICENCE_PHRASES, 0)

    def _shared(self, what: int, keys: Keys, which: int) -> Keys:
        """The key of the header (footer, licence) that each family has."""
        chosen = (uniform(keys, which) * self._pools[what]).astype(np.uint64)
        return draws(np.full(1, draw(self.seed, 2 + what), np.uint64), chosen)


def uniform(keys: Keys, n: int) -> Floats:
    """Item n of what belongs to each key, as a number of [0, 1)."""
    return (draws(keys, n) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _classes(documents: int) -> tuple[Ints, Ints, Ints]:
    """(kind, size, number) of the families, by kind, then size."""
    scale = documents / DOCUMENTS
    found = [(kind, 2, round(families * scale)) for kind, families in RELATED.items()]
    for kind, (families, members) in CLUSTERS.items():
        sizes, counts = power_law(round(families * scale), round(members * scale), LARGEST)
        found += [(kind, size, count) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)]
    related = sum(size * count for _, size, count in found)
    kinds, sizes, counts = np.array([(SINGLE, 1, documents - related), *found], np.int64).T
    return kinds, sizes, counts


def _change(made: Recipes, are: Members, keys: Keys, phrases: Ints) -> None:
    """Make the versions that are not the first different from it."""
    versions = draws(keys, (VERSION + are.version).astype(np.uint64))
    way, amount = uniform(versions, WAY), uniform(versions, AMOUNT)
    changed, long = are.version > 0, phrases >= ALTERED
    mixed, remote, excerpt = (changed & (are.kind == kind) for kind in (MIXED, REMOTE, EXCERPT))
    lexical = mixed & (way < 0.12) & (are.version > 1)
    passage = mixed & (way > 0.8) & long & ~lexical
    replaced = remote | (mixed & ~lexical & ~passage)

    few, many = 0.001 * 30**amount, 0.05 + 0.02 * amount
    rate = np.where(long, np.where(uniform(keys, LOOSE) < 0.05, many, few), 0)
    rate = np.where(remote, 0.3 + 0.2 * amount, np.where(lexical, 0.25, rate))
    made["version"], made["below"] = draws(versions, CHANGES), (rate * 2.0**32).astype(np.uint64) << np.uint64(32)
    made["change"][replaced], made["change"][lexical] = REPLACE, RESTYLE

    share = np.where(excerpt, 0.1 + 0.18 * amount, 0.07 * amount)
    length = 1 + (share * phrases).astype(np.int64)
    at = (uniform(versions, WHERE) * (phrases - length)).astype(np.int64)
    inserted = passage & (way < 0.9)
    _edit(made, inserted, passage & ~inserted, at, length, phrases)
    part = made["segments"]
    part["count"][excerpt] = 0
    part["first"][excerpt, 1], part["count"][excerpt, 1] = at[excerpt], length[excerpt]


def _edit(made: Recipes, inserted: Bools, removed: Bools, at: Ints, length: Ints, phrases: Ints) -> None:
    """A passage more (segment 2), or less between segments 1 and 3."""
    part, edited = made["segments"], inserted | removed
    behind = at + np.where(removed, length, 0)
    part["count"][edited, 1] = at[edited]
    part["key"][:, 2], part["count"][:, 2] = made["version"], np.where(inserted, length, 0)
    part["first"][:, 3], part["count"][:, 3] = behind, np.where(edited, phrases - behind, 0)
