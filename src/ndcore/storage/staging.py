"""A hidden directory beside an output, locked by the job that writes it; the next job removes the remains of a killed one.

``.NAME.ndcore.tmp`` has a file ``lock``, and the unfinished output at ``new/NAME``. If an output is replaced and the system
cannot exchange two directories, the old one is first moved to ``old/NAME``; if the job is killed at that point, the next
job moves it back.

A job with several outputs renames them together (`commit_together`).
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ndcore._types import AnyPath
from ndcore.storage.disk_space import naming, sync, sync_tree
from ndcore.storage.lock import TEMPORARY, CannotLock, Lock

ADVICE = "another job writes this output: wait until it has ended, or give another name"
LOCK, NEW, OLD = "lock", "new", "old"


class Staging:
    """A lock on one output, and a temporary place for it. Use it in a ``with`` block.

    Parameters
    ----------
    path : path
        The output: a file or a directory, which may exist, in a directory that exists.
    check : callable, optional
        Raises an error if the existing output must not be replaced; called by `commit`.

    Attributes
    ----------
    made : Path or None
        A directory beside the output, used instead of `new` because it outlives a killed job. It is not exchanged with the
        old output: after a kill it would be unknown which of the two is which.

    Raises
    ------
    BlockingIOError
        In the ``with`` statement: another job writes this output.

    Notes
    -----
    If the system cannot lock files, each job has a directory of its own, no job is refused, and the remains of killed jobs
    stay, except an output that one was about to replace, which is put back.
    """

    def __init__(self, path: AnyPath, check: Callable[[], None] = lambda: None) -> None:
        self._named, self.check = os.fspath(path), check
        self.made: Path | None = None
        self.target = Path(os.path.realpath(path))
        self._place = self.target.parent / _name_of(self.target.name)
        self._lock: Lock | None = None
        self._held = False

    def recover(self) -> None:
        """Remove the remains of killed jobs beside the output; put back an output that one was about to replace.

        Raises BlockingIOError if another job writes this output.
        """
        sweep(self.target.parent)
        try:
            lock = Lock(self._place, ADVICE, LOCK, create=False)
        except BlockingIOError as error:
            error.filename = self._named
            raise
        except (ImportError, OSError):  # nobody writes it, or the system cannot tell
            return
        self._lock = lock  # a job that was killed just now
        self._end()

    def __enter__(self) -> Self:
        sweep(self.target.parent)
        while self._lock is None:
            with contextlib.suppress(FileExistsError):
                self._place.mkdir()
            try:
                self._lock = Lock(self._place, ADVICE, LOCK)
            except BlockingIOError as error:
                error.filename = self._named
                raise
            except FileNotFoundError:  # the job that had it has ended this moment
                continue
            except (ImportError, CannotLock):
                self._take_own()
                break
        self._held = True
        if self._lock is not None:
            _clear(self._place)  # a job was killed since the sweep
        return self

    def _take_own(self) -> None:
        """Make a directory for this job alone, if the system cannot lock files."""
        with contextlib.suppress(OSError):
            (self._place / LOCK).unlink(missing_ok=True)
            self._place.rmdir()
        self._place = self.target.parent / _name_of(self.target.name, secrets.token_hex(8))
        self._place.mkdir()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._held:
            self._end()

    def _end(self) -> None:
        """Remove the directory, and release the lock."""
        _clear(self._place)
        if self._lock is not None:
            self._lock.remove()
        with contextlib.suppress(OSError):  # the next job is in it already
            self._place.rmdir()
        self._lock, self._held = None, False

    @property
    def new(self) -> Path:
        """The temporary path of the output, in a directory that exists; only inside the ``with`` block."""
        assert self._held
        (self._place / NEW).mkdir(exist_ok=True)
        return self._place / NEW / self.target.name

    def commit(self) -> None:
        """Rename the output to its final name; the output that it replaces is removed at the end of the block."""
        commit_together([self])

    @property
    def _made(self) -> Path:
        """The finished output before it is renamed."""
        return self.made or self.new

    def _prepare(self) -> None:
        """Check the final name, and wait until the output is on disk."""
        self.check()  # another job may have written it meanwhile
        made = self._made
        with naming(self._named, inside=made):
            self._identity = made.stat()
            (sync_tree if made.is_dir() else sync)(made)

    def _take_name(self) -> None:
        """Rename the output to its final name; keep the output that it replaces."""
        made = self._made
        if not os.path.lexists(self.target):
            made.rename(self.target)
        elif self.made is not None or not exchange(made, self.target):
            old = self._place / OLD / self.target.name
            old.parent.mkdir()
            try:
                os.link(self.target, old)  # a file keeps its name until the new one has it
            except OSError:
                self.target.rename(old)
            made.replace(self.target)

    def _give_back(self) -> None:
        """Restore the replaced output under the name, if the new output has taken it."""
        made = self._made
        if os.path.lexists(self.target) and os.path.samestat(self._identity, self.target.lstat()):
            if os.path.lexists(made):
                exchange(made, self.target)
            else:
                self.target.rename(made)
        _put_back(self._place)


@contextlib.contextmanager
def new_directory(path: AnyPath) -> Iterator[Path]:
    """Yield a directory to fill, which gets the path at the end of the block, or is removed if the block fails.

    Its content is synced at the end. Raises FileExistsError if anything but an empty directory is at the path.
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(path) and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(17, "exists already; give a path that does not, or an empty directory", os.fspath(path))
    with Staging(path) as staging, naming(path, inside=staging.new):
        staging.new.mkdir()
        yield staging.new
        staging.new.rename(target)  # fails where something has come into an empty directory meanwhile
        sync(target.parent)


def commit_together(jobs: Sequence[Staging]) -> None:
    """Rename several outputs to their final names, the main one last; either all of them or, if one fails, none.

    All are checked, and on disk, before the first one is renamed. If the process is killed in between, the later outputs are
    the old ones: if the main one is new, so are the others.
    """
    for job in jobs:
        job._prepare()
    with contextlib.ExitStack() as undo:
        for job in jobs:
            undo.callback(job._give_back)
            with naming(job._named, inside=job._made):
                job._take_name()
        undo.pop_all()


def sweep(folder: Path) -> None:
    """Remove the remains of killed jobs in a directory, and put back the outputs that they were about to replace.

    Files and directories that a process holds, or that `Staging` and `held_file` would not make, are left alone.
    """
    left = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if entry.name.startswith(".") and entry.name.endswith(TEMPORARY)]
    for path in left:
        with contextlib.suppress(OSError, ImportError):  # locked, of another user, or gone meanwhile
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                lock = Lock(folder, "", path.name, create=False)
                lock.remove()
            elif stat.S_ISDIR(mode):
                _sweep_directory(path)


def _sweep_directory(place: Path) -> None:
    """Clear the directory of a job that has ended. OSError if it has not ended, or if the directory may be foreign."""
    names = {entry.name for entry in place.iterdir()}
    if not names <= {LOCK, NEW, OLD}:
        return
    if LOCK not in names:  # from a system that cannot lock files: it is unknown whether its job has ended
        _put_back(place)
        place.rmdir()
        return
    lock = Lock(place, "", LOCK, create=False)
    _clear(place)
    lock.remove()
    place.rmdir()


def _clear(place: Path) -> None:
    """Empty the directory of a job, except its lock; put the old output back if there is no new one."""
    _put_back(place)
    for name in (NEW, OLD):
        shutil.rmtree(place / name, ignore_errors=True)


def _put_back(place: Path) -> None:
    """Move an output back to its name, if a job was killed after it had moved the output away."""
    with contextlib.suppress(OSError):
        for old in (place / OLD).iterdir():
            target = place.parent / old.name
            if not os.path.lexists(target):
                old.rename(target)


def _name_of(name: str, own: str = "") -> str:
    """Name the directory of a job that writes an output of this name; `own` makes it one of several."""
    if len(os.fsencode(name)) > 200:
        name = f"{name[:40]}.{hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()}"
    return f".{name}{own and '.'}{own}{TEMPORARY}"


def exchange(a: Path, b: Path) -> bool:
    """Exchange two files or directories in one step; return False if the system cannot."""
    names = os.fsencode(a), os.fsencode(b)
    here, swap = -100, 2  # AT_FDCWD; RENAME_EXCHANGE, and RENAME_SWAP on macOS
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, ctypes.c_uint(swap)) == 0)
        return bool(library.renameat2(here, names[0], here, names[1], ctypes.c_uint(swap)) == 0)
    except (OSError, TypeError, AttributeError):  # Windows, and C libraries without the function
        return False
