"""The main job in two steps: tasks sketch all documents, then one place decides on those that may be near-duplicates.

Candidate pairs follow from the features alone. A document in no candidate pair, of which there is no other copy, is kept,
and changes nothing for the others: the result for the rest, in the same order, is the result for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import Bools
from ndcore.checks import checked_int
from ndcore.filters.design import FilterDesign
from ndcore.pairs.candidates import find_candidates
from ndcore.phases.columns import arrow, as_batch, byte_rows, numbers
from ndcore.phases.sketches import sketch_documents
from ndcore.progress import resolve
from ndcore.sketch.minhash import MinHasher
from ndcore.text.digests import first_equal


def sketch_table(table: Any, *, text: str, sketcher: MinHasher, design: FilterDesign) -> Any:
    """Sketch the texts of a pyarrow Table, empty or not, and return a Table: `sketch_documents` says its columns."""
    pa = arrow()
    batches = list(sketch_documents(table.to_batches(), text=text, sketcher=sketcher, design=design))
    if not batches:
        others = {name: pa.array([], table.schema.field(name).type) for name in table.column_names if name != text}
        none = pa.array([], pa.binary())
        batches = [as_batch(**others, length=np.empty(0, np.int64), valid=np.empty(0, np.bool_), bytes=none, deciding=none,
                            features=none)]
    return pa.Table.from_batches(batches)


def check_ids(ids: Any) -> None:
    """Raise ValueError where a value of an Arrow column repeats, or is missing.

    Rows are chosen by their ids: with a repeated one all copies would be dropped, with a missing one the row would be lost.
    """
    import pyarrow.compute as pc

    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py()
        raise ValueError(f"{ids.null_count} ids are missing (null), the first in row {row}; give every "
                         "document an id")
    counts = pc.value_counts(ids)
    if len(counts) < len(ids):
        worst = counts[int(np.argmax(counts.field("counts").to_numpy()))].as_py()
        raise ValueError(f"{worst['counts']} documents have the id {worst['values']!r:.80}; ids are unique: make them so, "
                         "or use another column")


def find_contenders(sketches: Any, *, design: FilterDesign, max_holders: int = 1000) -> Bools:
    """Find the documents that may be near-duplicates of others: in a candidate pair, or with a digest in common.

    Parameters
    ----------
    sketches : pyarrow Table with ``valid``, ``deciding`` and ``features``
        The results of `sketch_table`, in any order. Of a column ``id`` values must be unique, and none may be missing.
    design : FilterDesign
        The one that the documents were sketched for.
    max_holders : int
        As in `ndcore.near_duplicates`. All documents of a feature that more documents share are among the result.

    Returns
    -------
    ndarray of bool (n,)
        `ndcore.near_duplicates` keeps the other documents, and gives these alone the representatives that they have among
        all, by filter="lsh" and the same threshold, num_perm, seed, shingling and max_holders. Not with drop="contained",
        filter="complete", one_per, drop_common, must_agree, lost or against, which concern other documents, too.

    Raises
    ------
    ValueError
        The features are of another number of groups; an id repeats, or is missing.

    Notes
    -----
    O(groups · n) to sort, O(pairs that share a feature). Holds the features, 8 bytes for each group, and 8 bytes a pair.
    """
    max_holders = checked_int("max_holders", max_holders, 1)
    if not len(sketches):
        return np.zeros(0, np.bool_)
    if "id" in sketches.column_names:
        check_ids(sketches["id"])
    batch = sketches.select(["valid", "deciding", "features"]).combine_chunks().to_batches()[0]
    features = np.ascontiguousarray(byte_rows(batch.column("features"))).view("<u8")
    if features.shape[1] != design.groups:
        raise ValueError(f"the documents have {features.shape[1]} features, and the design {design.groups} groups; give the "
                         "design that they were sketched for")
    leader = first_equal(byte_rows(batch.column("deciding")))
    contends = (np.bincount(leader, minlength=len(leader)) > 1)[leader]
    compared = np.flatnonzero(numbers(batch, "valid") & (leader == np.arange(len(leader))))
    equal_features = FilterDesign.of(design.groups, 1, design.need, threshold=design.threshold)
    found = find_candidates(features, compared, equal_features, equal_minima=0, max_holders=max_holders,
                            first_fixed=len(features), report=resolve(None))
    for positions in (found.a, found.b, found.runs.documents):
        contends[positions] = True
    return contends
