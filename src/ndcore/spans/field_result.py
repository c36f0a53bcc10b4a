"""The result of `field_contamination`: which fields of items occur in a corpus, and the reasons of verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Bools, Floats, Ints
from ndcore.human import counted
from ndcore.notebook import NotebookTable, show_result
from ndcore.readonly import Frozen
from ndcore.spans.contamination_result import Contamination, RuleName, say_rarity, say_share
from ndcore.spans.item_fields import ItemParts
from ndcore.spans.near_fields import NearPlaces


@dataclass(frozen=True, eq=False)
class FieldContamination(Frozen):
    """The contamination of items by a corpus, field by field: the result of `field_contamination`.

    Attributes
    ----------
    fields : tuple of str
    parts : Contamination
        The result for the parts, in the order of items and fields: counts, places in the corpus, spans of documents.
    part_item, part_field : ndarray of int64 (parts,)
        For each part, the number of its item and of its field.
    within : int or None
        The largest distance in tokens of fields that are near each other.
    near_places : NearPlaces or None
        A place of each field that is near the first one; None if nearness was not measured.
    """

    fields: tuple[str, ...]
    parts: Contamination
    part_item: Ints
    part_field: Ints
    items: int
    within: int | None
    near_places: NearPlaces | None

    @classmethod
    def of(
        cls, fields: tuple[str, ...], parts: ItemParts, result: Contamination, within: int | None, places: NearPlaces | None
    ) -> FieldContamination:
        """Make the result from the result for the parts."""
        return cls(fields, result, parts.item, parts.field, parts.items, within, places)

    def __len__(self) -> int:
        return self.items

    def __repr__(self) -> str:
        counts = ", ".join(f"{int(sum_)} with {name!r}" for name, sum_ in zip(self.fields, self.found().sum(0), strict=True))
        return f"<FieldContamination of {len(self)} items: {counts} in {self.parts.corpus_documents} documents>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was found of each field."""
        items, covered, tokens = self.found().sum(0).tolist(), self.covered.sum(0).tolist(), self.tokens.sum(0).tolist()
        rows = zip(self.fields, items, covered, tokens, strict=True)
        return show_result(repr(self), NotebookTable("Fields", ("field", "items found", "tokens covered", "of"), rows))

    def total(self, values: Any) -> Ints:
        """Sum up values of the parts, such as ``parts.covered``, by item and field: int64 (items, fields)."""
        shape = (self.items, len(self.fields))
        sums = np.bincount(self.part_item * shape[1] + self.part_field, values, shape[0] * shape[1])
        return sums.astype(np.int64).reshape(shape)

    @property
    def tokens(self) -> Ints:
        """Tokens of each field, summed over its parts: int64 (items, fields)."""
        return self.total(self.parts.tokens)

    @property
    def covered(self) -> Ints:
        """Tokens of each field in windows that occur in the corpus: int64 (items, fields)."""
        return self.total(self.parts.covered)

    @property
    def near(self) -> Bools | None:
        """Whether each field is near the first one; for the first one, whether it occurs. bool (items, fields), or None."""
        if self.near_places is None:
            return None
        near = np.zeros((self.items, len(self.fields)), np.bool_)
        near[self.near_places.item, self.near_places.field] = True
        near[:, 0] = self.found()[:, 0]
        return near

    @property
    def rarity(self) -> Floats | None:
        """The rarity of the rarest part of each field, in bits: float64 (items, fields); None: not measured."""
        if self.parts.rarity is None:
            return None
        rarity = np.zeros((self.items, len(self.fields)))
        np.maximum.at(rarity, (self.part_item, self.part_field), self.parts.rarity)
        return rarity

    def found(self, rule: RuleName = "any") -> Bools:
        """Tell which fields have a part that is found by a rule; see `Contamination.contaminated`.

        With `min_rarity` the part must be rare, unless it is of a later field and shorter than `min_tokens`.

        Parameters
        ----------
        rule : "any", "gpt-3" or "palm"

        Returns
        -------
        ndarray of bool (items, fields)

        Raises
        ------
        ValueError
            The rule has another number of tokens than the windows of the search.
        """
        short = (self.part_field > 0) & (self.parts.tokens < self.parts.min_tokens)
        return self.total(self.parts.matched(rule) & (self.parts.is_rare() | short)) > 0

    def contaminated(self, rule: RuleName = "any", require: Sequence[str] = ()) -> Bools:
        """Tell which items are contaminated.

        Parameters
        ----------
        rule : "any", "gpt-3" or "palm"
            The rule by which a part is found.
        require : sequence of str
            Fields that must all be found. With ``near=…``, they must also be near the first field. None: any one field
            suffices.

        Returns
        -------
        ndarray of bool (items,)

        Raises
        ------
        ValueError
            A required field is not one of `fields`, or the rule does not fit.
        """
        wanted, matched = self._number(require), self.found(rule)
        if not wanted:
            return np.asarray(matched.any(1))
        near = self.near
        return np.asarray((matched if near is None else matched & near)[:, wanted].all(1))

    def explain(self, item: int, rule: RuleName = "any", require: Sequence[str] = ()) -> str:
        """Say in words why an item is contaminated, or why not.

        Parameters
        ----------
        item : int
            Its number, from 0.
        rule, require
            As for `contaminated`.

        Raises
        ------
        IndexError
            There is no such item.
        """
        if not 0 <= item < self.items:
            raise IndexError(f"there is no item {item}; there are {self.items}, from 0")
        return self.explain_all(rule, require, [item])[0]

    def explain_all(
        self, rule: RuleName = "any", require: Sequence[str] = (), items: Sequence[int] | None = None
    ) -> list[str]:
        """Say in words why items are contaminated, or why not; None: all items."""
        wanted, found, near = self._number(require), self.found(rule), self.near
        tokens, covered = self.tokens.tolist(), self.covered.tolist()
        verdicts, rarity = self.contaminated(rule, require).tolist(), self.rarity
        matched = self.total(self.parts.matched(rule)) > 0 if rarity is not None else found
        reasons = []
        for item in range(self.items) if items is None else items:
            said = []
            for field, name in enumerate(self.fields):
                share = say_share(covered[item][field], tokens[item][field], bool(matched[item, field]))
                if rarity is not None and covered[item][field]:
                    share += say_rarity(rarity[item, field], self.parts.min_rarity, bool(found[item, field]))
                if near is not None and field and found[item, field]:
                    side = "within" if near[item, field] else "not within"
                    share += f", {side} {counted(self.within or 0, 'token')} of {self.fields[0]}"
                must = " (required)" if field in wanted else ""
                said.append(f"{name}{must}: {share}")
            verdict = "contaminated" if verdicts[item] else "not contaminated"
            reasons.append(f"{verdict}; {'; '.join(said)}")
        return reasons

    def _number(self, require: Sequence[str]) -> list[int]:
        """Return the numbers of required fields."""
        if isinstance(require, str):
            raise TypeError(f"require is {require!r}; give a list of names of fields, [{require!r}] for one")
        for name in require:
            if name not in self.fields:
                raise ValueError(f"require has {name!r}; the fields are {', '.join(self.fields)}")
        return [self.fields.index(name) for name in require]
