"""Room on disks: an error of writing names the path that the user knows, what is free there, and what is needed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ndcore.human import human_bytes

__all__ = ["FULL", "TEMPORARY", "name_place", "naming"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TEMPORARY = "temporary files; set TMPDIR to a directory with room"


def name_place(
    error: OSError, path: str | os.PathLike[str], *, inside: Path | None = None, need: int = 0, hint: str = ""
) -> None:
    """Give an error of writing the path that the user knows.

    Parameters
    ----------
    error : OSError
        It stays as it is where it names another place already.
    path : path
        What is written, as the user named it.
    inside : Path, optional
        What the error may name in place of it: a file or folder that becomes `path` when it is whole.
    need : int
        Bytes that `path` takes in all, where that is known.
    hint : str
        What to do.
    """
    place = os.fspath(path)
    named = error.filename
    if error.errno in FULL and error.filename2 is not None:
        named = error.filename2  # where it was copied to
    if named is not None:
        named = Path(os.fsdecode(named))
        if inside is None or not named.is_relative_to(inside):
            return
        place = str(Path(place, named.relative_to(inside)))
    error.filename, error.filename2 = place, None
    if error.errno in FULL:
        details = [hint] if hint else []
        with contextlib.suppress(OSError):
            known = next(parent for parent in (Path(path), *Path(path).absolute().parents) if parent.is_dir())
            details.append(f"{human_bytes(shutil.disk_usage(known).free)} are free there")
        if need:
            details.append(f"{human_bytes(need)} are needed")
        error.strerror = f"{error.strerror or os.strerror(error.errno)} ({'; '.join(details)})"


@contextlib.contextmanager
def naming(
    path: str | os.PathLike[str], *, inside: Path | None = None, need: int = 0, hint: str = ""
) -> Iterator[None]:
    """Let errors of writing in the block go through `name_place`."""
    try:
        yield
    except OSError as error:
        name_place(error, path, inside=inside, need=need, hint=hint)
        raise
