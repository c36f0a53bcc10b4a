"""The classes of documents in a clustering: how each relates to the document that stands for it."""

from __future__ import annotations

__all__ = ["CLASSES", "CONTAINED", "IDENTICAL", "KEPT", "LEXICAL", "NEAR", "SHINGLE"]

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained")
KEPT, IDENTICAL, LEXICAL, SHINGLE, NEAR, CONTAINED = range(6)  # positions in CLASSES; below NEAR, sketches are equal
