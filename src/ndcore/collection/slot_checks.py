"""What must be true of the values in the slots of a collection.

Each function takes the arrays of a slot and the number n of documents. It returns what is wrong, in words, or None. All take
linear time.
"""

from __future__ import annotations

import numpy as np

from ndcore._types import Arrays
from ndcore.collection.classes import CLASSES, NEAR

__all__ = ["clusters", "directory", "documents", "entries", "ids", "nothing", "paired", "pairs", "ranges", "runs", "slabs"]

LARGEST = (1 << 64) - 1


def documents(arrays: Arrays, n: int) -> str | None:
    """Find a leader that is not the first of its documents, or an unknown kind of sameness."""
    leader, same = arrays["leader"], arrays["same"]
    own = np.arange(n, dtype=np.uint32)
    if (leader > own).any() or (leader[leader] != leader).any():
        return "a leader is not the first of its documents"
    if (same >= NEAR).any() or ((same == 0) != (leader == own)).any():
        return "a document is the same as its leader in no known way"
    return None


def slabs(arrays: Arrays, n: int) -> str | None:
    """Find a gap or an overlap between slabs, which cover all 64-bit values."""
    low, high = arrays["slabs"][:, 0], arrays["slabs"][:, 1]
    follow = len(low) and low[0] == 0 and high[-1] == LARGEST and (low <= high).all()
    if not follow or (high[:-1] + np.uint64(1) != low[1:]).any():
        return "its slabs do not follow each other from the lowest value to the highest"
    return None


def entries(arrays: Arrays, n: int) -> str | None:
    """Find an entry of an unknown document, or out of order."""
    keys, documents = arrays["keys"], arrays["documents"]
    if len(documents) and documents.max() >= n:
        return f"an entry names document {documents.max()} of {n}"
    if ((keys[1:] < keys[:-1]) | ((keys[1:] == keys[:-1]) & (documents[1:] <= documents[:-1]))).any():
        return "its entries do not ascend"
    return None


def directory(arrays: Arrays, n: int) -> str | None:
    """Find a value that does not ascend."""
    first = arrays["first"]
    return "its values do not ascend" if (first[1:] < first[:-1]).any() else None


def runs(arrays: Arrays, n: int) -> str | None:
    """Find an unknown document in a run, a run of fewer than two, or one out of order."""
    holders, ends, of_common = arrays["holders"], arrays["ends"], arrays["crowd"]
    for documents in (holders, of_common):
        if len(documents) and documents.max() >= n:
            return f"a value is held by document {documents.max()} of {n}"
    if (ends[-1] if len(ends) else 0) != len(holders) or (np.diff(ends.astype(np.int64), prepend=0) < 2).any():
        return f"its runs of 2 documents and more do not end one after another, the last of {len(holders)}"
    later = np.ones(len(holders), np.bool_)
    later[:1] = later[ends[:-1]] = False
    if (holders[1:] <= holders[:-1])[later[1:]].any():
        return "the documents of a run do not ascend"
    fault = paired(arrays, n)
    if fault is None and int(arrays["common"][:, 1].sum()) != len(of_common):
        fault = f"common values are not held by {len(of_common)} documents"
    return fault


def paired(arrays: Arrays, n: int) -> str | None:
    """Find a common value with an impossible number of holders, or an unknown example."""
    holders, examples = arrays["common"][:, 1], arrays["common"][:, 2]
    if ((holders < 1) | (holders > n) | (examples >= n)).any():
        return f"a common value is held by none of {n} documents"
    return None


def ranges(arrays: Arrays, n: int) -> str | None:
    """Find a gap or an overlap between ranges, which cover all documents."""
    first, last, size = arrays["ranges"].T
    if (np.append(first, n) != np.append(0, last)).any() or (first >= last).any() or (size < 0).any():
        return f"its ranges do not follow each other from the first of {n} documents to the last"
    return None


def pairs(arrays: Arrays, n: int) -> str | None:
    """Find a pair of unknown documents, out of order, or with impossible counts."""
    a, b, common = arrays["a"], arrays["b"], arrays["common"]
    if len(b) and (b.max() >= n or (a >= b).any()):
        return f"a pair is not of an earlier and a later one of {n} documents"
    if ((a[1:] < a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] <= b[:-1]))).any():
        return "its pairs do not ascend"
    if ((common > arrays["in_a"]) | (common > arrays["in_b"])).any():
        return "a pair has more members in common than one of the two has"
    return None


def clusters(arrays: Arrays, n: int) -> str | None:
    """Find a label, class, resemblance, list of members or chain that cannot be."""
    labels, codes, resemblance = arrays["labels"], arrays["codes"], arrays["resemblance"]
    own = np.arange(n, dtype=np.uint32)
    if (labels > own).any() or (labels[labels] != labels).any():
        return "a representative is not the first of its cluster"
    if (codes >= len(CLASSES)).any() or ((codes == 0) != (labels == own)).any():
        return "a document is in its cluster for no known reason"
    if ((resemblance < 0) | (resemblance > 1)).any():
        return "a resemblance is not between 0 and 1"
    group, member = arrays["group"], arrays["member"]
    if len(member) != int(np.count_nonzero(np.bincount(labels, minlength=n)[labels] > 1)) or (len(member) and (
            member.max() >= n or (labels[member] != group).any() or (group[1:] < group[:-1]).any()
            or ((group[1:] == group[:-1]) & (member[1:] <= member[:-1])).any())):
        return "the members of clusters are not those that the labels tell"
    chained, size = arrays["chains_representative"], arrays["chains_size"]
    if ((chained < 0) | (chained >= n)).any() or (chained[1:] <= chained[:-1]).any():
        return f"chains are not of ascending ones of {n} documents"
    if ((size < 1) | (size > n) | (arrays["chains_apart"] < 0) | (arrays["chains_apart"] > size)
            | (arrays["chains_hops"] < 0) | (arrays["chains_hops"] > size)).any():
        return f"a chain is of no number of {n} documents"
    return None


def ids(arrays: Arrays, n: int) -> str | None:
    """Find an order that does not permute the documents, or does not sort their ids."""
    if "order" not in arrays:
        return None
    order, seen = arrays["order"], np.zeros(n, np.bool_)
    if n and order.max() >= n:
        return f"the order of the ids names document {order.max()} of {n}"
    seen[order] = True
    if not seen.all():
        return "the order of the ids does not permute the documents"
    keys = arrays["ids"][order] if "ids" in arrays else arrays["keys"]
    if (keys[1:] < keys[:-1]).any():
        return "the ids do not ascend in their order"
    if "ids" in arrays:
        return None
    ends, data = arrays["id_offsets"], arrays["id_bytes"]
    if ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any():
        return f"the ids do not lie one after another in {len(data)} bytes"
    return None


def nothing(arrays: Arrays, n: int) -> str | None:
    """Find nothing: any values are accepted."""
    return None
