"""The rules of a verdict: which pairs are near-duplicates, and what follows for the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ndcore.checks import check_choice, checked_threshold, is_int, is_number
from ndcore.choices import DROPS, FILTERS
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.representatives import CLUSTERINGS
from ndcore.recipe import Recipe
from ndcore.sketch.weights import UNIT, Idf
from ndcore.text.agreement import Agreement

VERIFICATIONS = ("fingerprints", "tokens")

# The options of a local function or command that another caller refuses, and why. It accepts the others, with the same
# result.
_MACHINE, _SHOWN = "Spark's own settings decide", "Spark's user interface shows the steps"
_FILES = "only the local command writes this output"
_WEIGHED = "a table of the weights of all shingles would have to go to every task"
CALLERS: dict[str, dict[str, str]] = {
    "collection": {
        "drop": 'drop="contained" is policy="containment" there',
        "drop_common": "samples of different moduli do not tell how many documents have a shingle. Values of more than "
                       "max_holders documents propose no pairs, and count in pairs that others propose",
        "lost": "counts the shingles of texts, and a collection keeps samples of them",
        "max_lost": "runs of words need the texts, and a collection keeps samples of them",
        "reassign": "the first document of a cluster represents it; other clusters of the same pairs come from rethreshold",
        "against": "an earlier collection and new documents are clustered together by Collection.extend",
        "keep": "documents are clustered in the order in which they come: give them in that order",
        "filter='lsh'": "the method says what documents must share: features does as LSH, with a design of your own",
        "filter='complete'": "the method shingles, the default, misses no pair of the samples",
        "verify": "samples are compared, and texts are not read again for it",
        "weights": "samples of different moduli have no common weight",
    },
    "store": {
        "texts": "pages come one at a time, with their keys", "ids": "each page has a key",
        "drop": 'drop="contained" needs the rare shingles of all documents, which more pages change',
        "filter='complete'": "it needs the rare shingles of all documents, which more pages change",
        "filter='lsh'": "pages are always sought by LSH",
        "drop_common": "which shingles are common changes with each page, and verdicts that were given do not",
        "lost": "what the kept documents lack changes with each page, and verdicts that were given do not",
        "max_lost": "a store compares sets of shingles, which have no order",
        "reassign": "a page joins an earlier one when it comes, and verdicts that were given do not change",
        "keep": "the order is the one in which pages come", "cluster": "stars: a page joins one that is there already",
        "verify": "fingerprints are compared: tuples of tokens would be made of each text again",
        "by": 'scope="host" keeps the pages of different hosts apart', "one_per": "a key has one page, its last version",
        "against": "the pages that are there already are what a page is compared with", "max_holders": "no pairs are listed",
        "memory_limit": "texts and indexes are on disk", "weights": "they need the complete filter",
    },
    "spark.near_duplicates": {
        "max_lost": "sets of shingles are moved, and they have no order",
        "weights": _WEIGHED, "verify": "tuples of tokens get their numbers in one place", "ids": "id=… names columns",
        "memory_limit": _MACHINE, "threads": _MACHINE, "progress": _SHOWN,
    },
    "spark.collection": {
        "against": "add first what has precedence",
        "keep": "documents are decided on in the order in which they are added; a longer one that comes later, or one of "
                "another priority, would take the place of one that was kept",
        "drop": 'drop="contained" needs the rare shingles of all documents, which each batch changes',
        "filter='complete'": "it needs the rare shingles of all documents, which each batch changes",
        "cluster='components'": "a document that comes later joins clusters, and all their texts would be read again",
        "one_per": "a repeated key is one label of this kind",
        "drop_common": "which shingles are common changes with each batch",
        "lost": "what the kept documents lack changes with each batch", "weights": "they need the complete filter",
        "reassign": "a document that comes later would move older ones",
        "directory": "steps are kept in the collection", "task_pairs": "it has its default",
    },
    "spark.cluster": {
        **dict.fromkeys(("by", "one_per", "must_agree", "min_shingles"), "clusters on Spark carry no labels and keys"),
        "guard": "it goes from pair to pair in one place", "ids": "id=… names columns",
        "memory_limit": _MACHINE, "threads": _MACHINE, "progress": _SHOWN,
    },
    "spark.hamming_join": {
        "span": "a DataFrame has no order", "threads": _MACHINE, "progress": _SHOWN,
    },
    "spark dedup": {
        "--max-lost": "sets of shingles are moved, and they have no order", "--weights": _WEIGHED,
        "--memory": _MACHINE, "--threads": _MACHINE, "--quiet": _SHOWN,
        **dict.fromkeys(("--annotate", "--table", "--pairs", "--report", "--json"), _FILES),
        "--overwrite": "an output that exists is never replaced",
        **dict.fromkeys(("--include", "--exclude", "--hidden"), "name the files, or their directories"),
        "--on-error": "a record that cannot be read ends the job",
    },
}


@dataclass(frozen=True)
class Rules:
    """The parameters of `near_duplicates` that decide its verdicts; see there.

    Attributes
    ----------
    threshold : float
    filter : str
        "auto", "lsh", "complete", or "design" for a FilterDesign. "auto" becomes "complete" if that was chosen.
    drop, cluster, verify : str
    must_agree : tuple of str
        Names of the keys.
    min_shingles, max_holders : int
    drop_common : float or None
    lost, reassign : bool
    max_lost : int or None
    weights : Idf or None
    """

    threshold: float = 0.8
    filter: str = "auto"
    drop: str = "resembling"
    cluster: str = "star"
    must_agree: tuple[str, ...] = ()
    min_shingles: int = 0
    drop_common: float | None = None
    lost: bool = False
    reassign: bool = False
    max_lost: int | None = None
    weights: Idf | None = None
    max_holders: int = 1000
    verify: str = "fingerprints"

    @classmethod
    def of(cls, agreement: Agreement | None, filter: str | FilterDesign, **given: Any) -> Rules:
        """Check the parameters before anything is read. Raises TypeError or ValueError if one is not accepted."""
        design = isinstance(filter, FilterDesign)
        if not design and not (isinstance(filter, str) and filter in FILTERS):
            raise ValueError(f"filter must be 'auto', 'lsh', 'complete' or a FilterDesign, got {filter!r}")
        rules = cls(filter="design" if design else str(filter), must_agree=agreement.names if agreement else (), **given)
        rules._check()
        return rules

    def _check(self) -> None:
        """Raise TypeError or ValueError for a value that is not accepted, or for two that exclude each other."""
        checked_threshold(self.threshold)
        for name, accepted in (("drop", DROPS), ("cluster", CLUSTERINGS), ("verify", VERIFICATIONS)):
            check_choice(name, getattr(self, name), accepted)
        for name, least in (("max_holders", 2), ("min_shingles", 0)):
            if not is_int(getattr(self, name)) or getattr(self, name) < least:
                raise ValueError(f"{name} must be an int of at least {least}, got {getattr(self, name)!r:.80}")
        share = self.drop_common
        if share is not None and not (is_number(share) and 0 < share < 1):
            raise ValueError(f"drop_common is a share of the documents, above 0 and below 1, as 0.05; got {share!r:.80}")
        most = self.max_lost
        if most is not None:
            if not is_int(most) or most < 0:
                raise ValueError(f"max_lost is a number of words, an int of at least 0, got {most!r:.80}")
            if self.cluster != "star" or self.reassign:
                other = "reassign=True" if self.reassign else f"cluster={self.cluster!r}"
                raise ValueError(f"max_lost={most} needs cluster='star' without reassign, got {other}: it is checked for "
                                 "each document against the one before it that it joins")
        for name in ("lost", "reassign"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} is True or False, got {getattr(self, name)!r:.80}")
        self._check_weights()
        if self.contained and self.cluster != "star":
            raise ValueError(f"drop='contained' needs cluster='star', got {self.cluster!r}: containment has a direction, "
                             "and only in a star each document is contained in its representative")
        if self.contained and self.filter in ("lsh", "design"):
            raise ValueError("drop='contained' needs filter='auto' or 'complete': LSH finds documents that "
                             "resemble each other, and an excerpt resembles its source little")

    def _check_weights(self) -> None:
        """Raise TypeError or ValueError for weights that are not accepted, or that another rule excludes."""
        if self.weights is None:
            return
        if not isinstance(self.weights, Idf):
            raise TypeError(f"weights must be an Idf or None, got {self.weights!r:.80}")
        if not len(self.weights) and (missing := self.weights.feature_weights.missing) <= 0:
            raise ValueError(f"all shingles weigh {missing / UNIT} by these weights, learned from {self.weights.documents} "
                             f"documents with min_df={self.weights.min_df}; weights of shingles are above 0: learn them "
                             "with a smaller min_df")
        if self.filter in ("lsh", "design"):
            raise ValueError("weights need filter='auto' or 'complete': LSH finds documents that have many shingles in "
                             "common, and these may weigh little")
        if self.verify == "tokens":
            raise ValueError("weights need verify='fingerprints': they are known by the fingerprints of shingles")

    @property
    def contained(self) -> bool:
        """Whether a document is dropped if it is contained in another."""
        return self.drop == "contained"

    @property
    def scored(self) -> bool:
        """Whether the score of a pair can differ from its resemblance."""
        return self.contained or self.drop_common is not None or self.weights is not None

    @property
    def prefix(self) -> PrefixFilter | None:
        """The filter, if candidates are found by their shingles instead of their signatures; else None."""
        weighted = self.weights is not None
        if self.contained:
            return PrefixFilter(self.threshold, "contained", weighted)
        return PrefixFilter(self.threshold, weighted=weighted) if self.filter == "complete" or weighted else None

    @property
    def needs_all_sets(self) -> bool:
        """Whether the shingle sets of all documents are needed, not only of candidates."""
        return self.prefix is not None or self.drop_common is not None or self.lost

    @property
    def forms_sets(self) -> bool:
        """Whether the first pass forms the shingle sets of all documents, and no signatures."""
        return self.needs_all_sets and self.verify == "fingerprints"  # tuples of tokens are numbered only for compared texts

    @property
    def chooses(self) -> bool:
        """Whether the choice between LSH and the complete filter is still open."""
        return self.filter == "auto" and not self.needs_all_sets and self.verify == "fingerprints"

    def refuse_sketches(self, why: str = "sketches do not hold the shingles. Give the texts, or leave it out") -> None:
        """Raise ValueError if a rule needs the texts; `why` ends the message."""
        needing = {
            "filter='complete'": self.filter == "complete", "drop='contained'": self.contained,
            f"must_agree={list(self.must_agree)}": bool(self.must_agree),
            f"min_shingles={self.min_shingles}": self.min_shingles > 0,
            f"drop_common={self.drop_common}": self.drop_common is not None, "lost=True": self.lost,
            f"max_lost={self.max_lost}": self.max_lost is not None, "weights=…": self.weights is not None,
        }
        wanted = [name for name, needed in needing.items() if needed]
        if wanted:
            raise ValueError(f"{wanted[0]} needs the texts; {why}")

    def recipe(self, sketches: Recipe, filter: FilterDesign | PrefixFilter) -> Recipe:
        """Make the record of these rules, the filter and the sketches."""
        if isinstance(filter, FilterDesign):
            described: dict[str, Any] = {"kind": "lsh", "groups": filter.groups, "group_size": filter.group_size,
                                     "need": filter.need}
        else:
            described = {"kind": "prefix"}
        given = asdict(replace(self, weights=None)) | {"must_agree": _keys(self.must_agree), "filter": described}
        del given["weights"]  # recipes without weights do not name them
        if self.weights is not None:
            given["weights"] = self.weights.named
        return Recipe({"kind": "near_duplicates", "version": 1, **given, "sketches": sketches.parameters})


def _keys(names: Sequence[str]) -> dict[str, bool]:
    """Convert names to the keys of a mapping, the form of lists in recipes, whose names have no dot."""
    return {name.replace(".", ":"): True for name in names}
