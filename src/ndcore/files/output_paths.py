"""Check the paths of outputs before anything is read: every command writes only where these checks allow it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ndcore.files.errors import UsageError
from ndcore.files.remote import is_remote
from ndcore.files.sources import STDIN

__all__ = ["STDOUT", "check_apart", "check_output", "lies_in"]

STDOUT = "-"


def check_output(
    path: str,
    what: str,
    *,
    overwrite: bool = False,
    ours: Callable[[Path], bool] | None = None,
    folder: bool = False,
    inputs: Iterable[str] = (),
) -> None:
    """Check that an output can be written to `path`, and that nothing is lost by it.

    Parameters
    ----------
    path : str
        The path as the user gave it.
    what : str
        The output as a noun without article: "index", "file of sketches".
    overwrite : bool
        An existing file or folder may be replaced.
    ours : callable, optional
        Tells whether the existing file is of the same kind: nothing else is replaced. None: any file is.
    folder : bool
        The output is a folder.
    inputs : iterable of str
        Files and folders that are read: the output must not be one of them, or lie in one.

    Raises
    ------
    UsageError
        The path is ``-`` or empty, has no folder to lie in, exists and may not be replaced, or lies in an input.
    """
    if path == STDOUT:
        raise UsageError(f"the output -: {_article(what)} {what} cannot be written to standard output; name a "
                         f"{'directory' if folder else 'file'} (a file called - is ./-)")
    if not path:  # to the system the current directory, which nobody means
        raise UsageError(f"the output has an empty name; name a {'directory' if folder else 'file'}")
    if is_remote(path):
        raise UsageError(f"the output {path} is a URL; ndcore writes to local disks: name a path, and copy it afterwards")
    place = Path(path)
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no directory {parent}; make it first")
    if not folder and place.is_dir():
        raise UsageError(f"the output {path} is a directory; name a file")
    if os.path.lexists(path):
        if not overwrite:
            raise UsageError(f"the output {path} exists already; give another name, or --overwrite to replace it")
        if folder and (place.is_symlink() or not place.is_dir()):
            raise UsageError(f"the output {path} exists and is not a directory; give another name")
        if ours is not None and not (folder and not any(place.iterdir())) and not ours(place):
            raise UsageError(f"the output {path} exists and is not {_article(what)} {what}; --overwrite replaces nothing "
                             "else: give another name, or remove it yourself")
    for other in inputs:
        if other != STDIN and lies_in(path, other):
            raise UsageError(f"the output {path} lies in the input {other}; name a place that is not read next time")


def check_apart(paths: Iterable[str | None]) -> None:
    """Raise UsageError where two outputs would be the same file, or one lies in another."""
    given = [path for path in paths if path not in (None, STDOUT)]
    for a, b in itertools.permutations(given, 2):
        if lies_in(str(a), str(b)):
            raise UsageError(f"the outputs {a} and {b} are the same, or one lies in the other; give each its own name")


def lies_in(path: str, place: str) -> bool:
    """Tell whether a path is a place, or lies below it. Links are followed; one in a circle is a place of its own."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place))


def _article(noun: str) -> str:
    """Choose "a" or "an" for a noun."""
    return "an" if noun[:1].lower() in "aeiou" else "a"
