"""What the batch functions accept as texts, and how they are cut into pieces of work for threads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._arrow import ArrowTexts, read_arrow
from ndcore._pipeline import text_lengths
from ndcore._types import Text
from ndcore.checks import check_documents

__all__ = ["Extracted", "as_bytes", "as_texts", "digest", "lengths", "original_digest", "pieces", "take"]

PIECE = 1 << 20  # about so many bytes of text are one piece of work
LEAST_PIECE = 1 << 16
PIECES = 8  # of a thread, at least: then the last ones leave few threads idle


class Extracted(str):
    """A text with what it was extracted from: a page of HTML, bytes in another encoding.

    Where an extraction leaves nothing to compare, the originals decide which documents are identical.

    Attributes
    ----------
    original : str or bytes
        What it was extracted from.
    fell_back : bool
        Whether a part was asked for that is not there, so that this is the whole.
    """

    __slots__ = ("fell_back", "original")
    original: Text
    fell_back: bool

    @classmethod
    def of(cls, text: str, original: Text, fell_back: bool = False) -> Extracted:
        """Return `text` with what it was extracted from."""
        made = cls(text)
        made.original, made.fell_back = original, fell_back
        return made


def digest(data: Any) -> bytes:
    """Return BLAKE2b-128 of a bytes-like object, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def as_bytes(text: Text) -> bytes:
    """Return the bytes of a text; of str, UTF-8 with surrogatepass."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def original_digest(text: Text) -> bytes:
    """Return the digest of what a text was extracted from, or of its own bytes where it was not. O(len)."""
    return digest(as_bytes(text.original if isinstance(text, Extracted) else text))


def as_texts(texts: Iterable[Text], first: int = 0) -> Sequence[Text]:
    """A list of str and bytes, or texts in the buffers of Arrow arrays.

    Parameters
    ----------
    texts : iterable of str or bytes, NumPy array of them, or a column
        A column is anything with `__arrow_c_stream__` or `__arrow_c_array__`: of pyarrow, polars, pandas, nanoarrow … It
        is read where it lies and kept alive by what is returned. pandas columns whose items are Python objects are lists.
    first : int
        Position of the first of them, for messages.

    Raises
    ------
    TypeError
        A single str or bytes, a path, a mapping, a set, a table, or an element that is neither str nor bytes; its position
        is named.
    ValueError
        A column breaks the rules of Arrow.
    """
    if isinstance(texts, ArrowTexts):
        return texts
    check_documents(texts)
    if _has_arrow_buffers(texts):
        return read_arrow(texts)
    listed = _listed(texts)
    found = text_lengths(listed)
    if found.min(initial=0) < 0:
        position = int(np.argmax(found < 0))
        raise TypeError(f"document {first + position} is {_named(listed[position])}; texts are str or bytes")
    return listed


def _named(value: object) -> str:
    return "None (a missing value)" if value is None else f"{value!r:.40} of type {type(value).__name__}"


def _has_arrow_buffers(texts: object) -> bool:
    """Whether texts speaks the Arrow PyCapsule protocol, and would not have to make the buffers of Python objects."""
    if not hasattr(texts, "__arrow_c_stream__") and not hasattr(texts, "__arrow_c_array__"):
        return False
    dtype = getattr(texts, "dtype", None)  # of pandas: NumPy's, or one that says where its texts are
    return not isinstance(dtype, np.dtype) and getattr(dtype, "storage", None) != "python"


def _listed(texts: Any) -> list[Text]:
    if isinstance(texts, list):
        return texts
    for method in ("to_list", "tolist"):  # pandas; NumPy
        if hasattr(texts, method):
            found = getattr(texts, method)()
            if isinstance(found, list):
                return found
    try:
        return list(texts)
    except TypeError:
        raise TypeError(f"texts is {_named(texts)}; give a list or another iterable of str or bytes") from None


def lengths(texts: Sequence[Text]) -> NDArray[np.int64]:
    """About how long each text is: in bytes or, of a str, in code points."""
    return texts.lengths if isinstance(texts, ArrowTexts) else text_lengths(list(texts))


def take(texts: Sequence[Text], positions: NDArray[np.int64]) -> Sequence[Text]:
    """The texts at these positions, in their order."""
    return texts.take(positions) if isinstance(texts, ArrowTexts) else [texts[i] for i in positions.tolist()]


def pieces(texts: Sequence[Text], size: int = PIECE, threads: int = 1) -> Iterator[tuple[int, Sequence[Text]]]:
    """Consecutive pieces (position of the first, texts) of about `size` bytes each; a longer text is one of its own.

    For several threads, PIECES or more for each, as long as they have LEAST_PIECE bytes.
    """
    ends = np.cumsum(lengths(texts))
    if threads > 1 and len(texts):
        size = max(min(size, LEAST_PIECE), min(size, int(ends[-1]) // (PIECES * threads)))
    start = 0
    while start < len(texts):
        before = int(ends[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + size, "right")))
        yield start, texts[start:end]
        start = end
