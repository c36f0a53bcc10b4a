"""The file of an index: its header, its arrays, and the checks that they fit each other."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, Literal, NamedTuple

import numpy as np

from ndcore._types import AnyArray, AnyPath, Arrays, UInts
from ndcore.hamming.fingerprints import WIDE, word_shape
from ndcore.hamming.ids import RowIds
from ndcore.hamming.results import Matches
from ndcore.hamming.sorted_tables import RowMatches, SortedTables
from ndcore.hamming.substring_plan import SubstringPlan
from ndcore.hamming.table_designs import PermutedTable
from ndcore.hamming.table_plan import TablePlan, checked_search
from ndcore.readonly import frozen
from ndcore.recipe import Recipe, stored_recipe
from ndcore.storage import container
from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import PackedStrings

KIND = "hamming"


class StoredIndex(NamedTuple):
    """Contents of the file of an index.

    Attributes
    ----------
    bits, max_distance, compress, plan, recipe
        Parameters of `HammingIndex`.
    ids : RowIds
        Ids of all rows.
    tables : SortedTables or None
        All fingerprints, in one level; None of an empty index.
    """

    bits: int
    max_distance: int
    compress: bool
    plan: TablePlan | Literal["auto"]
    recipe: Recipe | None
    ids: RowIds
    tables: SortedTables | None


def write_index(path: AnyPath, stored: StoredIndex) -> None:
    """Write an index to one checksummed file, atomically."""
    arrays: dict[str, AnyArray] = {}
    plan: TablePlan | SubstringPlan | Literal["auto"] = stored.plan
    tables: list[Any] | int | None = None  # the permuted tables, or the number of substrings
    if stored.tables is not None:
        arrays.update(stored.tables.arrays())
        plan = stored.tables.plan
    if isinstance(plan, TablePlan):
        tables = [[table.prefix, [list(run) for run in table.runs]] for table in plan.tables]
    elif isinstance(plan, SubstringPlan):
        tables = plan.substrings
    ids = stored.ids.stored
    if isinstance(ids, PackedStrings):
        arrays.update(id_bytes=ids.data, id_ends=ids.ends)
    elif ids is not None:
        arrays["ids"] = ids
    container.write(path, KIND, {
        "bits": stored.bits, "max_distance": stored.max_distance, "planned": stored.plan != "auto",
        "compress": stored.compress, "tables": tables, "count": stored.ids.count, "following": stored.ids.following,
        "str": isinstance(ids, PackedStrings) and ids.text,
        "recipe": None if stored.recipe is None else stored.recipe.to_json(),
    }, arrays)


def read_index(path: AnyPath, verify: bool) -> StoredIndex:
    """Map the file of an index into memory. Raises CorruptFile if its header and arrays do not fit each other.

    verify: compare the checksums, too. Whether the tables are sound is for `SortedTables.check` to say.
    """
    header, arrays = container.read(path, KIND, mmap=True, verify=verify)
    try:
        return _read_stored(header, arrays, os.fspath(path))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise CorruptFile(f"{os.fspath(path)}: no sound index: {error}") from error


def _read_stored(header: dict[str, Any], arrays: Arrays, place: str) -> StoredIndex:
    recipe = None if header.get("recipe") is None else stored_recipe(header["recipe"])
    count = operator.index(header["count"])
    following = None if header["following"] is None else operator.index(header["following"])
    bits, max_distance = checked_search(header["bits"], header["max_distance"], "auto")
    compress = bool(header["compress"])
    if compress and bits in WIDE:
        raise ValueError(f"tables of {bits} bits are not compressed")
    ids: AnyArray | PackedStrings | None = arrays.get("ids")
    if "id_bytes" in arrays:
        ids = PackedStrings.restored(bool(header["str"]), arrays["id_bytes"], arrays["id_ends"], count, place)
    row_ids = RowIds.restored(ids, count, following)
    if count and (header["tables"] is None or "rows" not in arrays):
        raise ValueError(f"it has {count} fingerprints and no tables")
    if header["tables"] is None:
        return StoredIndex(bits, max_distance, compress, "auto", recipe, row_ids, None)
    if bits in WIDE:
        different = len(arrays["fingerprints"])
        substrings = SubstringPlan(bits, max_distance, math.log2(max(1, different)), operator.index(header["tables"]))
        wide = SortedTables.restored(substrings, arrays, count, compress, place)
        return StoredIndex(bits, max_distance, compress, "auto", recipe, row_ids, wide)
    plan = TablePlan(bits, max_distance, math.log2(max(1, count)), tuple(
        PermutedTable(prefix, tuple((low, width) for low, width in runs)) for prefix, runs in header["tables"]))
    tables = SortedTables.restored(plan, arrays, count, compress, place) if count else None
    return StoredIndex(bits, max_distance, compress, plan if header["planned"] else "auto", recipe, row_ids, tables)


class SavedFingerprints:
    """The different fingerprints of a saved index, ascending, with their ids. Checksums are not compared."""

    bits: int

    def __init__(self, path: AnyPath) -> None:
        stored = read_index(path, verify=False)
        self.bits, self._ids, self._tables, self._place = stored.bits, stored.ids, stored.tables, os.fspath(path)

    def __len__(self) -> int:
        """Return the number of different fingerprints."""
        return self._tables.keys.count if self._tables else 0

    def fingerprints(self, begin: int, end: int) -> UInts:
        """Read the fingerprints from one position up to another."""
        if self._tables is None:
            return np.empty((0, *word_shape(self.bits)), np.uint64)
        fingerprints = self._tables.keys.fingerprints(begin, end)
        if self.bits < 64 and int(fingerprints.max(initial=0)) >> self.bits:
            raise CorruptFile(f"{self._place}: a fingerprint, {fingerprints.max()}, has more than {self.bits} bits")
        return fingerprints

    def matches(self, pairs: RowMatches) -> Matches:
        """Give matches their ids. Their `row` is the position of the fingerprint here."""
        query, row, distance = (self._tables.expanded(*pairs) if self._tables else pairs).ordered()
        return frozen(Matches(query, self._ids[row], distance))
