"""Check arguments that several functions take, each with one wording. Imports nothing of ndcore."""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

MAX_MINIMA = 1 << 16  # of a signature, and members of a bottom sketch
EXTRAS = {  # optional package -> the extra of ndcore that has it
    "msgspec": "cli", "rich": "cli", "shtab": "cli", "zstandard": "cli", "pyarrow": "parquet", "matplotlib": "plot",
    "fsspec": "remote", "httpx": "client", "PyStemmer": "stem", "brotli": "web", "fastwarc": "web", "resiliparse": "web",
    "pyspark": "spark", "scrapy": "scrapy", "starlette": "serve", "uvicorn": "serve", "w3lib": "store",
    "prometheus-client": "metrics", "pygments": "code", "isal": "gzip",
}
MOST_NUMBERED = (1 << 32) - 1  # documents, and entries of one run: their numbers have 32 bits in kernels and files

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def is_int(value: object) -> bool:
    """Tell whether a value is an int of Python or NumPy; a bool is not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Tell whether a value is an int or float of Python or NumPy; a bool is not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def checked_threshold(threshold: float) -> float:
    """Return the threshold as a float. Raises ValueError unless it is a number above 0 and at most 1."""
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold is a resemblance above 0 and at most 1, got {threshold!r:.80}")
    return float(threshold)


def parsed_size(text: str) -> int:
    """Parse a size such as 512M or 2G, in powers of 1024, to bytes. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " ")) if match else 0
    if size <= 0:
        raise ValueError(f"{text!r:.80} is not a size; write for instance 512M or 2G")
    return size


def checked_memory_limit(limit: int | str | None, parts: int = 1) -> int | None:
    """Return a memory limit in bytes, given as a number or as a size (see `parsed_size`), divided by `parts`; 1 or more.

    Raises ValueError for a limit below one byte or a str that is not a size, TypeError for other types.
    """
    if limit is None:
        return None
    if isinstance(limit, str):
        try:
            limit = parsed_size(limit)
        except ValueError as error:
            raise ValueError(f"memory_limit: {error}") from None
    if not is_number(limit):
        raise TypeError(f"memory_limit is a number of bytes or a size as '2G', got {limit!r:.80}")
    if not 1 <= limit < float("inf"):
        raise ValueError(f"memory_limit is a number of bytes from 1 on, or a size as '2G', got {limit!r}")
    return max(1, int(limit) // parts)


def check_ids(ids: Any, n: int | None) -> None:
    """Check before documents are read that these can be the ids of `n` documents (None: not known yet).

    Raises
    ------
    TypeError
        For a number, a single str or bytes, a mapping or a set.
    ValueError
        If there are more or fewer ids than documents.
    """
    if isinstance(ids, (str, bytes, bytearray, Mapping, AbstractSet)) or not isinstance(ids, Iterable):
        meant = f"; did you mean threshold={float(ids)!r}?" if isinstance(ids, (float, np.floating)) and 0 < ids <= 1 else ""
        raise TypeError(f"ids are a list, or another iterable, of an id for each document; got {ids!r:.40} of type "
                        f"{type(ids).__name__}{meant}")
    if n is not None and isinstance(ids, Sized) and len(ids) != n:
        raise ValueError(f"there are {len(ids)} ids and {n} documents; give one for each")


def position_of(document: Any, ids: Sequence[Any] | None, total: int) -> int:
    """Return the position of a document: an int is a position; a str or bytes is looked up among the ids.

    Raises IndexError for a position outside 0 … total − 1, KeyError for an unknown id, ValueError for an id of several
    documents, TypeError for other types, and for an id if there are no ids.
    """
    if is_int(document):
        if not 0 <= document < total:
            raise IndexError(f"there is no document {document}; positions are 0 to {total - 1}")
        return int(document)
    if not isinstance(document, (str, bytes)):
        raise TypeError("a document is named by its position or, where ids are str or bytes, by its id; "
                        f"got {document!r:.80}")
    if ids is None:
        raise TypeError(f"the document is named {document!r:.80}, but no ids were given: name it by its position")
    same = [i for i, name in enumerate(ids) if type(name) is not int and name == document]
    if not same:
        raise KeyError(f"no document has the id {document!r:.80}; ids are as {ids[0]!r:.80}" if len(ids) else
                       f"no document has the id {document!r:.80}; there are none")
    if len(same) > 1:
        raise ValueError(f"{len(same)} documents have the id {document!r:.80}, at positions {same[0]}, {same[1]}"
                         f"{', …' if len(same) > 2 else ''}: name one by its position")
    return same[0]


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or NaT."""
    return value is None or bool(value != value)  # NaN is not equal to itself


def missing(package: str, purpose: str) -> str:
    """Return the message that `purpose` needs a package, with the command that installs it."""
    return f"{purpose} needs {package}: {install_command(package)}"


def install_command(package: str) -> str:
    """Return the command that installs an optional package, with the extra of ndcore that has it."""
    return f"pip install 'ndcore[{EXTRAS[package]}]'" if package in EXTRAS else f"pip install '{package}'"


def imported(module: str, purpose: str) -> Any:
    """Import an optional package for `purpose`. Raises ImportError that names the package to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(missing(module.partition(".")[0].replace("_", "-"), purpose)) from error


class Late:
    """A module of an optional package, which is `imported` for a purpose when a name of it is used."""

    def __init__(self, module: str, purpose: str) -> None:
        self._module, self._purpose = module, purpose

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # tools that look at all names of a module need no optional package
            raise AttributeError(name)
        return getattr(imported(self._module, self._purpose), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Late, (self._module, self._purpose)


def checked_int(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """Return the value as an int. Raises TypeError for other types, bool among them, ValueError outside least … most."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r:.80} of type {type(value).__name__}; it must be an int")
    number = operator.index(value)
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}; it must be at least {least}")
    if most is not None and number > most:
        raise ValueError(f"{name} is {number}; it must be at most {most}")
    return number


def checked_probability(name: str, value: float, example: str) -> float:
    """Return the value as a float. Raises ValueError unless it lies strictly between 0 and 1."""
    if isinstance(value, str) or not hasattr(value, "__float__") or not 0.0 < value < 1.0:
        raise ValueError(f"{name} is {value}; it must lie strictly between 0 and 1, for example {example}")
    return float(value)


def check_choice(name: str, value: Any, accepted: Collection[str]) -> None:
    """Raise ValueError unless the value is one of the accepted ones."""
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r:.80}")


def check_numbered(n: int, what: str, advice: str) -> None:
    """Raise ValueError if `n` items are too many for 32-bit numbers."""
    if n > MOST_NUMBERED:
        raise ValueError(f"{n:,} {what} are more than {MOST_NUMBERED:,}, which have numbers of 32 bits: {advice}")


def checked_shape(groups: int, group_size: int, need: int) -> tuple[int, int, int]:
    """Return the shape of a filter. Raises ValueError if no pair could ever share `need` features."""
    groups = checked_int("groups", groups, 1)
    group_size = checked_int("group_size", group_size, 1)
    need = checked_int("need", need, 1)
    if need > groups:
        raise ValueError(f"need={need} of groups={groups} features can never be shared; need is at most groups")
    return groups, group_size, need
