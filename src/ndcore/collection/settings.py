"""The settings of the four phases, and the job with its documents, all checked before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore._types import AnyArray, Ints
from ndcore.checks import check_choice, check_ids, checked_memory_limit, checked_threshold, is_int
from ndcore.collection.segments import Segments
from ndcore.collection.shelf import IDENTICAL, LEXICAL
from ndcore.filters.design import FilterDesign
from ndcore.filters.search import design_filter
from ndcore.pairs.keep_order import number_labels
from ndcore.parallel import thread_count
from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_shingles import checked_run
from ndcore.storage.packed_ids import pack_ids
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.corpus import Corpus, TextCorpus, as_corpus
from ndcore.text.shingling import Shingling

Method = Literal["shingles", "super-shingles", "features"]
Policy = Literal["resemblance", "containment"]
ClusterBy = Literal["star", "components", "greedy", "popular"]
Given = Corpus | Sketches | Segments
Labels = ArrayLike | Callable[[], ArrayLike]

METHODS = ("shingles", "super-shingles", "features")
POLICIES = ("resemblance", "containment")
CLUSTERINGS = ("star", "components", "greedy", "popular")
LABELLED = ("by", "one_per")  # options with a label for each document
FLOOR = 0.5  # pairs are kept from this containment on, so that other thresholds can be used later
LEAST = 8  # members of a sample that suffice for a containment


@dataclass(frozen=True)
class Settings:
    """The settings of phases one to three, which determine the counted pairs.

    Without a sketcher, sketches are given. `must_agree` has the names of the keys, `labelled` the options for which
    documents have labels: "by", "one_per". The others are parameters of `cluster`.
    """

    recipe: Recipe
    sketcher: Sketcher | None
    method: str
    threshold: float
    max_holders: int
    run: int
    filter: FilterDesign | None
    min_shingles: int = 0
    must_agree: tuple[str, ...] = ()
    labelled: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, texts: Any, *, shingling: Shingling | None = None, sketcher: Sketcher | None, method: str, threshold: float,
        max_holders: int, run: int, filter: FilterDesign | None, min_shingles: int = 0, must_agree: tuple[str, ...] = (),
        labelled: tuple[str, ...] = (),
    ) -> Settings:
        """Check the settings for these texts, and fill in the defaults. Raises TypeError or ValueError as `cluster` does."""
        _check_numbers(method, threshold, max_holders, run, min_shingles)
        if sketcher is not None and not isinstance(sketcher, (ModSketcher, BottomSketcher, MinHasher)):
            raise TypeError(f"sketcher is a ModSketcher, BottomSketcher or MinHasher, got {sketcher!r:.80}")
        if shingling is not None and not isinstance(shingling, Shingling):
            raise TypeError(f"shingling is a Shingling, got {shingling!r:.80}")
        if shingling is not None and sketcher is not None:
            raise ValueError("shingling=… cannot be combined with sketcher=…: give the sketcher the shingling, for example "
                             "ModSketcher(shingling=Shingling(width=10))")
        recipe = None if sketcher is None else sketcher.recipe
        if isinstance(texts, (Sketches, Segments)):
            if recipe is not None:
                recipe.check(texts.recipe)
            recipe = texts.recipe
            if shingling is not None:
                recipe.check(Recipe({**recipe.parameters, "shingling": shingling.recipe.parameters}))
        if method == "features":
            filter = filter or _filter_for(recipe, threshold)
        if recipe is None:
            sketcher = _default_sketcher(method, filter, shingling)
            recipe = sketcher.recipe
        _check_recipe(recipe, method, filter)
        filter = filter if method == "features" else None
        return cls(recipe, sketcher, method, float(threshold), int(max_holders), run, filter, int(min_shingles), must_agree,
                   labelled)

    @property
    def floor(self) -> float:
        """The containment from which on pairs are kept."""
        return min(FLOOR, self.threshold)

    @property
    def combined(self) -> bool:
        """Whether documents are paired by combinations of two features, of which one suffices (Broder 2000, §3)."""
        return self.filter is not None and self.filter.need == 2 and self.filter.groups <= 16

    @property
    def needed(self) -> int:
        """The number of values that the pairing sets of two documents must share for them to be compared."""
        return 1 if self.filter is None or self.combined else self.filter.need

    def plain(self) -> dict[str, Any]:
        """Return the settings as values for JSON; `from_plain` reads them."""
        filter = None if self.filter is None else [self.filter.groups, self.filter.group_size, self.filter.need]
        return {"recipe": self.recipe.id, **self.described(), "threshold": self.threshold, "run": self.run, "filter": filter}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], recipe: Recipe) -> Settings:
        """Restore settings from `plain`, for sketches of this recipe. Raises KeyError, TypeError or ValueError."""
        if plain["recipe"] != recipe.id:
            raise ValueError(f"the sketches are of the recipe {recipe.id}, not {plain['recipe']}")
        filter, least = None, plain.get("min_shingles", 0)
        _check_numbers(plain["method"], plain["threshold"], plain["max_holders"], plain["run"], least)
        if plain["filter"] is not None:
            groups, size, need = plain["filter"]
            filter = FilterDesign.of(groups, size, need, threshold=plain["threshold"], num_perm=recipe["num_perm"])
        _check_recipe(recipe, plain["method"], filter)
        labelled, agreed = tuple(name for name in LABELLED if plain.get(name)), plain.get("must_agree", [])
        if not isinstance(agreed, list) or not all(isinstance(name, str) for name in agreed):
            raise TypeError(f"must_agree is {agreed!r:.80}, not a list of names")
        return cls(recipe, None, plain["method"], plain["threshold"], plain["max_holders"], plain["run"], filter, least,
                   tuple(agreed), labelled)

    def expected_bytes(self, text: int) -> int:
        """Estimate the bytes on disk of sketches and sorted entries, from the bytes of the text.

        A shingle begins every 7 bytes; documents have 5 KB for adaptive samples, and 2 KB for signatures.
        """
        kind = self.recipe["kind"]
        if kind == "mod":
            members = text / 5000 * 75 if self.recipe["modulus"] == "adaptive" else text / 7 / self.recipe["modulus"]
            return int(26 * members)
        width = self.recipe["size"] if kind == "bottom" else self.recipe["num_perm"]
        return int(text / 2000 * 12 * width)

    def described(self) -> dict[str, Any]:
        """Describe how pairs are found: the method and its parameters, and the options that were given."""
        described: dict[str, Any] = {"method": self.method, "max_holders": self.max_holders}
        if self.method == "super-shingles":
            described["run"] = self.run
        if self.filter is not None:
            described |= {"groups": self.filter.groups, "group_size": self.filter.group_size, "need": self.filter.need}
        options = {"min_shingles": self.min_shingles, "must_agree": [*self.must_agree], **dict.fromkeys(self.labelled, True)}
        return described | {name: value for name, value in options.items() if value}


@dataclass(frozen=True)
class Grouping:
    """The settings of phase four, which makes clusters of the counted pairs; parameters of `cluster`."""

    threshold: float
    policy: Policy
    cluster: ClusterBy
    guard: float | None
    least: int

    def check(self, method: str, floor: float, options: Iterable[str] = ()) -> None:
        """Raise ValueError for unknown values, or if pairs counted by this method from `floor` on cannot be used.

        `options`: names of the options with which they were counted.
        """
        check_threshold(self.threshold, floor)
        checked_count("least", self.least)
        check_choice("policy", self.policy, POLICIES)
        check_choice("cluster", self.cluster, CLUSTERINGS)
        if self.cluster == "popular" and self.policy != "resemblance":
            raise ValueError("cluster='popular' clusters by resemblance; by containment, use star, components or greedy")
        if self.cluster == "popular" and method != "shingles":
            raise ValueError("cluster='popular' is made of mod sketches: use method='shingles'")
        if self.cluster == "popular" and (apart := sorted({"by", "must_agree"}.intersection(options))):
            raise ValueError("cluster='popular' compares documents with what is popular in a cluster, so "
                             f"{' and '.join(apart)} cannot keep them apart; use star, greedy or components")
        if method == "features" and self.policy == "containment":
            raise ValueError("signatures do not tell containment; use method='shingles' with policy='containment'")
        if self.guard is not None and (self.cluster != "components" or not 0 < self.guard <= self.threshold):
            raise ValueError(f"guard={self.guard!r} is for cluster='components', above 0 and at most the threshold, "
                             f"{self.threshold:g}")


class EarlierDocuments(NamedTuple):
    """The documents of an extended collection: sketches, leaders, in what way they equal these, labels by option.

    They precede the new documents. Their texts are gone, and digests were not kept.
    """

    segments: Segments
    leaders: Ints
    same: NDArray[np.uint8]
    labels: Mapping[str, list[Any]]

    def digests(self, new: NDArray[np.uint8] | None, n: int) -> NDArray[np.uint8]:
        """Return rows of digests of `n` documents: stand-ins for the earlier ones, then `new` (None: stand-ins too).

        Two stand-ins are equal if the digests are known to have been. A stand-in equals a real digest with probability
        2^-128.
        """
        rows = np.full((n, 4), 0x6E64636F7265, np.uint64)
        rows[:, 1] = rows[:, 3] = np.arange(n)
        for column, same in ((1, self.same == IDENTICAL), (3, (self.same == IDENTICAL) | (self.same == LEXICAL))):
            rows[np.flatnonzero(same), column] = self.leaders[same]
        digests = rows.view(np.uint8)
        if new is not None:
            digests[len(self.segments) :] = new
        return digests


@dataclass(frozen=True)
class Job:
    """The checked settings and documents of a clustering.

    Attributes
    ----------
    given : Corpus, Sketches or Segments
    earlier : EarlierDocuments or None
    settings : Settings
        The settings of phases one to three.
    grouping : Grouping
        The settings of phase four.
    tell_apart : bool
    agreement : Agreement or None
        Reads the keys of texts.
    keys : uint8 (m, 16) or None
        Digests of the keys of documents whose texts are gone.
    labels : mapping
        The labels of the given documents by the name of the option: an array, or a callable that returns it once texts are
        read.
    memory_limit : int or None
        Bytes for the work of a phase: half of the limit. The other half is for results.
    share : int or None
        The share of each thread in these bytes.
    threads : int or None
    """

    given: Given
    earlier: EarlierDocuments | None
    settings: Settings
    grouping: Grouping
    tell_apart: bool
    agreement: Agreement | None
    keys: NDArray[np.uint8] | None
    labels: Mapping[str, Labels]
    memory_limit: int | None
    share: int | None
    threads: int | None

    @classmethod
    def of(
        cls, texts: Any, earlier: EarlierDocuments | None = None, *, policy: Policy, cluster: ClusterBy,
        guard: float | None, least: int, tell_apart: bool, memory_limit: int | str | None, threads: int | None,
        must_agree: MustAgree = None, by: Labels | None = None, one_per: Labels | None = None, agreed: tuple[str, ...] = (),
        keys: NDArray[np.uint8] | None = None, ids: Sequence[Any] | None = None, **settings: Any,
    ) -> Job:
        """Check the parameters of `cluster`, and fill in its defaults. Raises TypeError or ValueError as `cluster` does.

        `texts`: sketches, or documents in any form. `settings` are parameters of `Settings.of`, `agreed` the names of the
        keys where all of them are known. `ids` are checked as far as the number of documents is known.
        """
        given = texts if isinstance(texts, (Sketches, Segments)) else as_corpus(texts)
        labels = {name: column for name, column in zip(LABELLED, (by, one_per), strict=True) if column is not None}
        for name, column in labels.items():
            if not callable(column) and (n := length(given)) is not None:
                number_labels(name, column, n)
        agreement = Agreement.of(must_agree)
        if agreement is not None:
            agreed = agreement.names
            if isinstance(given, (Sketches, Segments)):
                raise ValueError(f"must_agree={[*agreed]} needs the texts, and sketches are given: give the texts, or leave "
                                 "it out")
        checked = Settings.of(given, must_agree=agreed, labelled=tuple(labels), **settings)
        grouping = Grouping(checked.threshold, policy, cluster, guard, least)
        grouping.check(checked.method, checked.floor, checked.described())
        half = checked_memory_limit(memory_limit, 2)
        count = thread_count(threads)
        share = None if half is None else max(1, half // count)
        if ids is not None:
            check_ids(ids, length(given))
        return cls(given, earlier, checked, grouping, bool(tell_apart), agreement, keys, labels, half, share, threads)

    @property
    def length(self) -> int | None:
        """The number of given documents; None if they must be read to know it."""
        return length(self.given)

    @property
    def first(self) -> int:
        """The position of the first given document, after the earlier ones."""
        return 0 if self.earlier is None else len(self.earlier.segments)

    @property
    def shingling(self) -> Shingling | None:
        """The shingling for reading texts again, to tell documents with equal sketches apart; None if they are not."""
        return self.settings.sketcher.shingling if self.settings.sketcher is not None and self.tell_apart else None


def as_list(labels: ArrayLike) -> list[Any]:
    """Convert labels to Python objects."""
    return list(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels).tolist()


def pack_labels(name: str, labels: list[Any]) -> dict[str, AnyArray]:
    """Pack labels into the arrays of their slot. Raises TypeError for labels that cannot be saved."""
    try:
        return pack_ids(labels)
    except TypeError:
        raise TypeError(f"{name}: labels that a collection keeps are all str or all integers of 64 bits") from None


def length(given: Given) -> int | None:
    """Return the number of documents, or None if they must be read to know it."""
    if isinstance(given, TextCorpus):
        return len(given.texts)
    return len(given) if isinstance(given, (Sketches, Segments)) else None


# ---- checks


def check_threshold(threshold: float, floor: float) -> None:
    """Raise ValueError for a threshold below `floor`, for which pairs were not counted."""
    checked_threshold(threshold)
    if threshold < floor:
        raise ValueError(f"pairs were counted from {floor:g} on, a threshold of {threshold:g} needs more of them: "
                         f"cluster again with threshold={threshold:g}")


def checked_count(name: str, value: int) -> int:
    """Check a number of members or documents, and return it. Raises ValueError unless it is an int of at least 1."""
    if not is_int(value) or value < 1:
        raise ValueError(f"{name} must be an int of at least 1, got {value!r}")
    return int(value)


def _check_numbers(method: str, threshold: float, max_holders: int, run: int, min_shingles: int) -> None:
    """Raise TypeError or ValueError for numbers out of range."""
    if not is_int(min_shingles) or min_shingles < 0:
        raise ValueError(f"min_shingles must be an int of at least 0, got {min_shingles!r:.80}")
    check_choice("method", method, METHODS)
    checked_threshold(threshold)
    checked_count("max_holders", max_holders)
    checked_run(run)


def _default_sketcher(method: str, filter: FilterDesign | None, shingling: Shingling | None) -> Sketcher:
    """Make the default sketcher of a method."""
    if method == "features":
        assert filter is not None
        return MinHasher(max(84, filter.groups * filter.group_size), shingling=shingling)
    return ModSketcher("adaptive" if method == "shingles" else 25, shingling=shingling)


def _filter_for(recipe: Recipe | None, threshold: float) -> FilterDesign | None:
    """Design a filter for the threshold, and for the signatures of the recipe if there are any."""
    if recipe is None:
        return design_filter(threshold)
    if recipe["kind"] != "minhash":
        return None  # the recipe is refused later
    return design_filter(threshold, num_perm=recipe["num_perm"], max_num_perm=recipe["num_perm"])


def _check_recipe(recipe: Recipe, method: str, filter: FilterDesign | None) -> None:
    """Raise ValueError if a method cannot use sketches of this recipe."""
    kind = recipe["kind"]
    if method == "shingles" and (kind != "mod" or recipe["size"] is not None):
        what = "mod sketches with a size" if kind == "mod" else f"{kind} sketches"
        raise ValueError(f"method='shingles' takes mod sketches of whole samples, these are {what}: use ModSketcher, "
                         "or method='super-shingles' for bottom and 'features' for minhash sketches")
    if method == "super-shingles" and (kind not in ("mod", "bottom") or (kind == "mod" and recipe["modulus"] == "adaptive")):
        what = "adaptive mod" if kind == "mod" else kind
        raise ValueError(f"super-shingles are made of bottom sketches, or of mod sketches of one modulus; these are {what} "
                         "sketches: use ModSketcher(25)")
    if method == "features":
        if kind != "minhash" or filter is None:
            raise ValueError(f"features are made of signatures, these are {kind} sketches: use a MinHasher")
        if filter.groups * filter.group_size > recipe["num_perm"]:
            raise ValueError(f"the filter takes {filter.groups * filter.group_size} minima, the signatures have "
                             f"{recipe['num_perm']}: use MinHasher({filter.groups * filter.group_size})")
