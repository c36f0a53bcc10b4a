"""Load sketches of every kind from files."""

from __future__ import annotations

import os

from ndcore._types import AnyPath
from ndcore.sketch.file_format import NEWEST, unpack_arrays
from ndcore.sketch.simhash import Simhashes
from ndcore.sketch.sketches import KIND, Sketches
from ndcore.sketch.winnow import Winnowed
from ndcore.storage import container

__all__ = ["load"]

# kinds of recipes whose sketches are of a class of their own
CLASSES: dict[str, type[Sketches]] = {"simhash": Simhashes, "winnow": Winnowed}


def load(path: AnyPath, mmap: bool = False, *, verify: bool = True) -> Sketches:
    """Load sketches from a file that `Sketches.save` wrote.

    Parameters
    ----------
    path : str or path
    mmap : bool
        Map the arrays into memory instead of reading them, except values of 32 or 40 bits.
    verify : bool
        Read every byte: compare the checksums of the arrays, and check that samples ascend. False is for mapped files that
        were verified before.

    Returns
    -------
    Sketches

    Raises
    ------
    CorruptFile
        The file is damaged, or was not written by ndcore; the message names it and the reason.
    ValueError, OSError
        The file is of another kind, or cannot be opened.

    Notes
    -----
    Nobody may truncate a file while it is mapped: reading past its end ends the process (SIGBUS). `Sketches.save` replaces
    files, which is safe.
    """
    header, arrays = container.read(path, KIND, mmap, verify=verify, revision=NEWEST)
    try:
        recipe, fields = unpack_arrays(header, arrays, verify)
        return CLASSES.get(recipe["kind"], Sketches)(recipe=recipe, **fields)
    except (KeyError, ValueError, TypeError, IndexError, UnicodeDecodeError) as error:
        raise container.CorruptFile(f"{os.fspath(path)}: the sketches in it do not fit together: {error}") from error
