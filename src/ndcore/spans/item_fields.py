"""Split items with several fields into parts, which are searched for separately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ndcore._types import Ints, Text

FieldItem: TypeAlias = Mapping[str, Text | Iterable[Text] | None]


class ItemParts(NamedTuple):
    """The parts of items: their texts, and the numbers of the item and field of each; `items` is the number of items."""

    texts: list[Text]
    item: Ints
    field: Ints
    items: int


def check_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Check the names of fields and return them. Raises TypeError or ValueError unless they are distinct names."""
    if isinstance(fields, (str, bytes)) or not all(isinstance(name, str) for name in fields):
        raise TypeError(f"fields is {fields!r:.80}; give a list of the names of fields, such as ['question', 'answers']")
    if not fields or len(set(fields)) < len(fields):
        raise ValueError(f"fields is {list(fields)!r:.80}; give one name or several different ones")
    return tuple(fields)


def flatten_items(items: Iterable[FieldItem], fields: Sequence[str]) -> ItemParts:
    """List the parts of items, in the order of items and fields.

    Raises
    ------
    TypeError
        An item is not a mapping, or a field of it neither a text nor an iterable of texts nor None.
    ValueError
        No item has a field.
    """
    texts, places, count = list[Text](), list[tuple[int, int]](), 0
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise TypeError(f"item {number} is {item!r:.40} of type {type(item).__name__}; items are mappings, such as "
                            f"{{{fields[0]!r}: 'a text'}}")
        for field, name in enumerate(fields):
            own = _list_parts(number, name, item.get(name))
            texts += own
            places += [(number, field)] * len(own)
        count = number + 1
    columns = np.array(places, np.int64).reshape(-1, 2)
    missing = sorted(set(range(len(fields))) - set(columns[:, 1].tolist())) if count else []
    if missing:
        raise ValueError(f"no item has the field {fields[missing[0]]!r}, of {count} in all; give the names of fields that "
                         "items have")
    return ItemParts(texts, columns[:, 0].copy(), columns[:, 1].copy(), count)


def _list_parts(number: int, name: str, value: Any) -> list[Text]:
    """List the parts of a field."""
    if value is None:
        return []
    parts = [value] if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) else list(value)
    for part in parts:
        if not isinstance(part, (str, bytes)):
            raise TypeError(f"the field {name!r} of item {number} has {part!r:.40} of type {type(part).__name__}; a field "
                            "is a text, several texts, or None")
    return parts
