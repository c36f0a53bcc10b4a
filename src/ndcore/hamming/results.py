"""Results of searches of fingerprints: matches of queries, and pairs."""

from __future__ import annotations

from typing import NamedTuple

from ndcore._types import AnyArray, Ints
from ndcore.readonly import NamedColumns

MAX_PAIRS = 1 << 28  # more are refused


class _Matches(NamedTuple):
    query: Ints
    id: AnyArray
    distance: Ints


class Matches(NamedColumns, _Matches):  # type: ignore[misc]
    """Matches of queries, one element of each array per match. Read-only.

    Attributes
    ----------
    query : int64 (m,), ascending
        Position of the query.
    id : array (m,), with the dtype of the ids
        Id of the fingerprint found.
    distance : int64 (m,)
        Differing bits; ascending for each query. At the same distance the fingerprint added first comes first.
    """

    __slots__ = ()


class _Pairs(NamedTuple):
    a: AnyArray
    b: AnyArray
    distance: Ints


class Pairs(NamedColumns, _Pairs):  # type: ignore[misc]
    """Pairs of fingerprints, ordered by the time that `a`, then `b`, was added. Read-only.

    Attributes
    ----------
    a, b : array (m,), with the dtype of the ids
        Ids of both fingerprints; `a` was added first.
    distance : int64 (m,)
        Differing bits.
    """

    __slots__ = ()
