"""The texts that batch functions accept, and their division into pieces of work for threads."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from ndcore._arrow import ArrowTexts, read_arrow
from ndcore._batch import first_other, text_lengths
from ndcore._types import Ints, Text
from ndcore.parallel import cut

PIECE = 1 << 20  # about as many bytes of text are one piece of work
LEAST_PIECE = 1 << 16
PIECES = 8  # least number of pieces per thread, so that few threads are idle at the end


class Digested(bytes):
    """The digest of an original that is not kept itself."""

    __slots__ = ()


class Extracted(str):
    """A text with its original: the HTML page, or the bytes in another encoding, from which it was extracted.

    Documents without shingles are identical if their originals are.

    Attributes
    ----------
    original : str or bytes
        The original, or its digest (Digested) for a text that is read again from a store.
    fell_back : bool
        True: the requested part is missing, so this is the whole text.
    by_tags : bool
        True: the page was not parsed, so this is the text between its tags.
    page_title : str
        The title of the page; empty without one. (`title` is a method of str.)
    """

    __slots__ = ("by_tags", "fell_back", "original", "page_title")
    original: Text
    fell_back: bool
    page_title: str
    by_tags: bool

    @classmethod
    def of(
        cls, text: str, original: Text, fell_back: bool = False, page_title: str = "", by_tags: bool = False
    ) -> Extracted:
        """Return `text` with its original."""
        extracted = cls(text)
        extracted.original, extracted.fell_back, extracted.page_title = original, fell_back, page_title
        extracted.by_tags = by_tags
        return extracted


def is_by_tags(text: object) -> bool:
    """Tell whether a text was taken from between the tags of a page that was not parsed."""
    return isinstance(text, Extracted) and text.by_tags


def digest(data: Any) -> bytes:
    """Return BLAKE2b-128 of a bytes-like object, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def as_bytes(text: Text) -> bytes:
    """Return the bytes of a text; str as UTF-8 with surrogatepass."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    return text if type(text) is bytes else bytes(text)  # numpy.bytes_ are bytes, but not for extensions


def original_digest(text: Text) -> bytes:
    """Return the digest of the original of a text; a text that was not extracted is its own. O(len)."""
    original = text.original if isinstance(text, Extracted) else text
    return bytes(original) if isinstance(original, Digested) else digest(as_bytes(original))


def as_texts(texts: Iterable[Text], first: int = 0, name: str = "texts") -> Sequence[Text]:
    """Convert texts to a list of str and bytes, or to views of the buffers of their Arrow arrays.

    Parameters
    ----------
    texts : iterable of str or bytes, NumPy array of them, or a column
        A column is anything with `__arrow_c_stream__` or `__arrow_c_array__`: of pyarrow, polars, pandas, nanoarrow … Its
        buffers are not copied; the result keeps them alive. pandas columns of Python objects become lists.
    first : int
        Position of the first text, for messages.
    name : str
        The name of the argument, for messages.

    Raises
    ------
    TypeError
        `texts` is a single str or bytes, a path, a mapping, a set or a table, or an element is neither str nor bytes; the
        message gives its position.
    ValueError
        A column violates the format of Arrow.
    """
    if isinstance(texts, ArrowTexts):
        return texts
    if type(texts) is not list:
        _check_kind(texts, name)
        if _has_arrow_buffers(texts):
            return read_arrow(texts)
    listed = _list_texts(texts)
    position = first_other(listed)
    if position >= 0:
        tokens = isinstance(listed[position], (list, tuple, set, frozenset))
        raise TypeError(f"document {first + position} is {_describe(listed[position])}; texts are str or bytes"
                        f"{'; sketch_tokens of sketchers takes tokens of your own' if tokens else ''}")
    return listed


def _check_kind(texts: Any, name: str) -> None:
    """Raise TypeError for iterables that are not a sequence of documents: a str, a path, a mapping, a set, a table."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{name} is one {type(texts).__name__}; give a list of documents, [text] for a single one, "
                        "ndcore.load(path) for saved sketches; the ndcore command reads files of documents")
    if isinstance(texts, os.PathLike):
        raise TypeError(f"{name} is the path {os.fsdecode(texts)!r:.80}; give the documents, or sketches by "
                        "ndcore.load(path); files of documents are read by the ndcore command")
    if isinstance(texts, Mapping):
        raise TypeError(f"{name} is a {type(texts).__name__}, whose keys would be taken for documents; give "
                        "list(d.values()), and list(d) as ids where a function takes ids")
    if isinstance(texts, KeysView):
        raise TypeError(f"{name} is a {type(texts).__name__}; give list(…) of it")
    if isinstance(texts, AbstractSet):
        raise TypeError(f"{name} is a {type(texts).__name__}, which has no order to tell its documents apart by; give "
                        "sorted(…), a list")
    if getattr(texts, "ndim", 1) == 2 and hasattr(texts, "columns"):
        raise TypeError(f"{name} is a table with the columns {', '.join(map(repr, list(texts.columns)[:5]))}; give the "
                        "column of the texts, as table['text']")


def _describe(value: object) -> str:
    """Describe a value that is not a text, for messages."""
    return "None (a missing value)" if value is None else f"{value!r:.40} of type {type(value).__name__}"


def _has_arrow_buffers(texts: object) -> bool:
    """Tell whether texts have the Arrow PyCapsule interface, with buffers that are not made from Python objects."""
    if not hasattr(texts, "__arrow_c_stream__") and not hasattr(texts, "__arrow_c_array__"):
        return False
    dtype = getattr(texts, "dtype", None)  # in pandas: of NumPy, or one with a storage
    return not isinstance(dtype, np.dtype) and getattr(dtype, "storage", None) != "python"


def _list_texts(texts: Any) -> list[Text]:
    """Convert texts without Arrow buffers to a list."""
    if isinstance(texts, list):
        return texts if type(texts) is list else list(texts)  # the kernels read the items of a list itself
    for method in ("to_list", "tolist"):  # pandas; NumPy
        if hasattr(texts, method):
            values = getattr(texts, method)()
            if isinstance(values, list):
                return values
    try:
        return list(texts)
    except TypeError:
        raise TypeError(f"texts is {_describe(texts)}; give a list or another iterable of str or bytes") from None


def lengths(texts: Sequence[Text]) -> Ints:
    """Return the approximate length of each text, a str in code points, others in bytes."""
    if isinstance(texts, ArrowTexts):
        return texts.lengths
    return text_lengths(texts if type(texts) is list else list(texts))


def take(texts: Sequence[Text], positions: Ints) -> Sequence[Text]:
    """Select the texts at these positions, in their order."""
    return texts.take(positions) if isinstance(texts, ArrowTexts) else [texts[i] for i in positions.tolist()]


def pieces(texts: Sequence[Text], size: int = PIECE, threads: int = 1) -> Iterator[tuple[int, Sequence[Text]]]:
    """Split texts into consecutive pieces (position of the first, texts) of about `size` bytes; a longer text is alone.

    Several threads get PIECES or more each, unless these have less than LEAST_PIECE bytes.
    """
    sizes = lengths(texts)
    total = int(sizes.sum())
    if 0 < total <= min(size, LEAST_PIECE):
        yield 0, texts
        return
    if threads > 1:
        size = max(min(size, LEAST_PIECE), min(size, total // (PIECES * threads)))
    for part in cut(sizes, size):
        yield part.start, texts[part]
