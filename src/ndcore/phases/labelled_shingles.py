"""Shingles of documents with labels of `by`, and the common ones of each label, which `drop_common` leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Ints, UInts
from ndcore.pairs.common_shingles import CommonShingles
from ndcore.phases.columns import byte_rows


def mixes_of(batch: Any) -> UInts | None:
    """Return a number for each document that distinguishes labels of `by`, the column ``scope``; None without labels.

    Shingles are XORed with it, so that two labels share a shingle only by chance.
    """
    if "scope" not in batch.schema.names:
        return None
    return np.ascontiguousarray(byte_rows(batch.column("scope"))[:, :8]).view("<u8")[:, 0]


@dataclass(frozen=True)
class LabelledShingles:
    """The common shingles of each label of `by`, which do not count.

    Attributes
    ----------
    common : CommonShingles
    labels : dict of bytes to int
        The number of each label that has any; documents without labels have the label b"".
    """

    common: CommonShingles
    labels: dict[bytes, int]

    def groups(self, batch: Any) -> Ints:
        """Return the number of each document's label, in the column ``scope``; -1 for labels without common shingles."""
        if "scope" not in batch.schema.names:
            return np.full(batch.num_rows, self.labels.get(b"", -1))
        return np.array([self.labels.get(label, -1) for label in batch.column("scope").to_pylist()], np.int64)
