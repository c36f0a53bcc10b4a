"""The settings of a store, fixed when it is created."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ndcore.checks import check_choice, checked_int, checked_threshold
from ndcore.choices import AGREEMENTS, EVIDENCE, KEYS, SCOPES
from ndcore.filters.design import FilterDesign
from ndcore.filters.search import design_filter
from ndcore.recipe import Recipe
from ndcore.sketch.minhash import MinHasher
from ndcore.text.agreement import Agreement
from ndcore.text.shingling import Shingling, given_shingling

CHOICES = {"evidence": EVIDENCE, "scope": SCOPES, "keys": KEYS}
FREE = ("threshold", "min_shingles", "groups", "group_size", "need", "secret")  # settings in which merged stores may differ


@dataclass(frozen=True)
class StoreSettings:
    """The settings of a store.

    Attributes
    ----------
    threshold : float
    shingling : str
        The recipe of the shingling, as JSON.
    num_perm, seed, groups, group_size, need : int
        Parameters of the signatures and of the filter.
    evidence : "text", "shingles" or "sketch"
    scope : "all" or "host"
    keys : "plain" or "url"
    secret : str
        The secret key of the hashes of keys, in hexadecimal.
    min_shingles : int
    must_agree : tuple of str
        The names of the keys. Older descriptions have neither `min_shingles` nor `must_agree`.
    """

    threshold: float
    shingling: str
    num_perm: int
    seed: int
    groups: int
    group_size: int
    need: int
    evidence: str
    scope: str
    keys: str
    secret: str
    min_shingles: int = 0
    must_agree: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> StoreSettings:
        """Make the settings of a new store from the arguments of `Store.open`; None stands for the default.

        Raises TypeError or ValueError for an argument that is not accepted.
        """
        known = {name: value for name, value in given.items() if value is not None}
        threshold = checked_threshold(known.get("threshold", 0.8))
        design = choose_filter(known.get("filter", "auto"), threshold, checked_int("num_perm", known.get("num_perm", 84), 1))
        chosen = {name: known.get(name, accepted[0]) for name, accepted in CHOICES.items()}
        for name, value in chosen.items():
            check_choice(name, value, CHOICES[name])
        shingling = given_shingling(known.get("shingling"))
        seed = MinHasher(1, 32, known.get("seed", 1)).seed
        made = cls(threshold, shingling.recipe.to_json(), design.num_perm, seed, design.groups, design.group_size,
                   design.need, **chosen, secret=secrets.token_hex(16),
                   min_shingles=checked_int("min_shingles", known.get("min_shingles", 0), 0),
                   must_agree=_names(known.get("must_agree")))
        made._check_evidence()
        return made

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> StoreSettings:
        """Restore the settings from `as_dict`. Raises ValueError if they are damaged."""
        try:
            settings = cls(**{**stored, "must_agree": _names(stored.get("must_agree"))})
            checked_int("min_shingles", settings.min_shingles, 0)
            settings._check_evidence()
            FilterDesign.of(settings.groups, settings.group_size, settings.need, threshold=settings.threshold,
                            num_perm=settings.num_perm)
            Recipe.from_json(settings.shingling)
            bytes.fromhex(settings.secret)
            for name, accepted in CHOICES.items():
                check_choice(name, getattr(settings, name), accepted)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"the settings of the store are damaged: {error}") from error
        return settings

    def _check_evidence(self) -> None:
        """Raise ValueError for an option that needs evidence that is not kept."""
        if self.min_shingles and self.evidence == "sketch":
            raise ValueError(f"min_shingles={self.min_shingles} counts shingles, and evidence='sketch' keeps none: give "
                             "evidence='text' or 'shingles', or leave it out")
        if self.must_agree and self.evidence != "text":
            raise ValueError(f"must_agree={[*self.must_agree]} compares keys of the texts, and evidence={self.evidence!r} "
                             "keeps no texts: give evidence='text', or leave it out")

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, for JSON."""
        return asdict(self)

    def check(self, given: Mapping[str, Any]) -> None:
        """Compare the arguments of `Store.open` with these settings; None agrees with everything.

        Raises ValueError that names the first difference.
        """
        known = {name: value for name, value in given.items() if value is not None}
        others: dict[str, Callable[[Any], Any]] = {
            "num_perm": self._num_perm, "filter": self._filter,
            "must_agree": lambda value: value if _names(value) == self.must_agree else [*self.must_agree],
        }
        for name, value in known.items():
            if name == "shingling":
                if given_shingling(value).recipe.to_json() != self.shingling:
                    raise ValueError(f"the store was created with another shingling ({self.shingling}), got {value!r}; "
                                     "leave the argument out, or create another store")
                continue
            fixed = others[name](value) if name in others else getattr(self, name)
            if fixed != value:
                raise ValueError(f"the store was created with {name}={fixed!r}, got {value!r}; leave the argument out, or "
                                 "create another store")

    def check_mergeable(self, other: StoreSettings) -> None:
        """Raise ValueError if the evidence of another store would have another meaning in this one."""
        a, b = self.as_dict(), other.as_dict()
        for name in sorted({*a, *b} - set(FREE)):
            if a.get(name) != b.get(name):
                raise ValueError(f"the store has {name}={a.get(name)!r:.80}, the other one {b.get(name)!r:.80}; stores are "
                                 "merged where both have the same settings, except threshold, min_shingles and filter")

    def sketcher(self, shingling: Shingling | None = None) -> MinHasher:
        """Make the sketcher; a shingling with a callable must be given."""
        chosen = Shingling.from_recipe(Recipe.from_json(self.shingling)) if shingling is None else shingling
        return MinHasher(self.num_perm, 32, self.seed, chosen)

    def _num_perm(self, value: Any) -> Any:
        """Return the number of minima to compare with; the filter may have raised the requested number."""
        return value if isinstance(value, int) and value <= self.num_perm else self.num_perm

    def _filter(self, value: Any) -> Any:
        """Return the filter to compare with."""
        if isinstance(value, FilterDesign):
            same = (value.groups, value.group_size, value.need) == (self.groups, self.group_size, self.need)
            return value if same else f"groups={self.groups}, group_size={self.group_size}, need={self.need}"
        return "auto"


def _names(must_agree: Any) -> tuple[str, ...]:
    """Read `must_agree` as names. Raises TypeError or ValueError for functions, which the next program would not have."""
    agreement = Agreement.of(must_agree)
    names = () if agreement is None else agreement.names
    for name in names:
        if name not in AGREEMENTS:
            raise ValueError(f"must_agree holds the function {name!r:.80}, and a store outlives the program that has it: "
                             f"give names, of {', '.join(AGREEMENTS)}")
    return names


def choose_filter(chosen: Any, threshold: float, num_perm: int) -> FilterDesign:
    """Return the filter that a caller chose: a `FilterDesign`, or "auto"; its signatures have at least `num_perm` minima."""
    if isinstance(chosen, FilterDesign):
        return FilterDesign.of(chosen.groups, chosen.group_size, chosen.need, threshold=threshold,
                               num_perm=max(num_perm, chosen.groups * chosen.group_size))
    check_choice("filter", chosen, ("auto",))
    return design_filter(threshold, num_perm=num_perm)
