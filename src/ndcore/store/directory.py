"""The directory of a store: description, lock, log, derived files, and the state that they make."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.checks import is_int
from ndcore.progress import Progress, resolve
from ndcore.storage.container import CorruptFile
from ndcore.storage.lock import Lock
from ndcore.store import engine
from ndcore.store.batches import Batch
from ndcore.store.log import Log
from ndcore.store.manifest import Manifest, is_begun, is_store
from ndcore.store.opening import Checkpoints, covered_by
from ndcore.store.pages import Page, Pages, Preparer
from ndcore.store.records import Dictionary, encode
from ndcore.store.settings import Settings
from ndcore.store.state import State
from ndcore.store.verdict import Verdict

__all__ = ["Directory"]

ADVICE = "open it with read_only=True, or write through its socket"  # where another process writes


class Directory:
    """An open directory. `state` is what is live; the caller holds a lock around all calls."""

    path: Path
    manifest: Manifest
    settings: Settings
    preparer: Preparer
    read_only: bool

    def __init__(self, path: Path, manifest: Manifest, settings: Settings, preparer: Preparer, lock: Lock | None) -> None:
        self.path, self.manifest, self.settings, self.preparer = path, manifest, settings, preparer
        self.read_only, self._lock, self.closed = lock is None, lock, False
        self.log: Log
        self.state: State
        self._checkpoints: Checkpoints

    @classmethod
    def open(cls, path: Path, given: Mapping[str, Any], *, read_only: bool, report: Progress) -> Directory:
        """Open the directory of a store; create it if there is none and it may be written."""
        if not hasattr(os, "pread"):
            raise OSError(errno.ENOTSUP, "stores need pread and flock: on Windows use WSL, or a Collection", str(path))
        if not is_store(path):
            if read_only:
                raise FileNotFoundError(2, "there is no store; open it without read_only=True to create one", str(path))
            if path.exists() and not is_begun(path):
                raise FileExistsError(17, "exists and holds something else than a store", str(path))
            settings = Settings.of(given)
            path.mkdir(parents=True, exist_ok=True)
        lock = None if read_only else Lock(path, ADVICE)
        try:
            if not is_store(path):
                manifest = Manifest.create(path, settings.as_dict(), {"log": "log-0", "derived": "derived-0"})
            else:
                manifest = Manifest.read(path)
            if lock is not None:
                manifest.mend(path)
            settings = Settings.from_dict(manifest.settings)
            settings.check(given)
            made = cls(path, manifest, settings, Preparer(settings, settings.sketcher(given.get("shingling"))), lock)
            made._load(report)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return made

    def _load(self, report: Progress) -> None:
        """Open the log and the derived files that the description names."""
        place = self._place("log")
        if not self.read_only and not (place.is_dir() and any(place.iterdir())):
            if self._place("derived").exists():  # made after the log
                raise CorruptFile(f"{place}: the log of the store is gone, and its pages with it: restore it from a copy, "
                                  f"or remove {self.path} to begin anew")
            self.log = Log.create(place, self.manifest.tag)
        else:
            self.log = Log.open(place, tag=self.manifest.tag, read_only=self.read_only,
                                start=covered_by(self._place("derived")))
        self._checkpoints = Checkpoints(self._place("derived"), self.settings, self.preparer, self.log,
                                        read_only=self.read_only)
        self.state = self._checkpoints.load(report)
        if not self.read_only:
            if self._checkpoints.lost:
                self._write_anew(report, damaged=True, missing=self._checkpoints.lost)
                return
            self._sweep()

    def _place(self, name: str) -> Path:
        """Return a directory that the description names."""
        found = self.manifest.state.get(name)
        if not isinstance(found, str) or not found.startswith(name + "-") or "/" in found or os.sep in found:
            raise ValueError(f"{self.path}: the description names {found!r:.80} as its {name}; it is damaged")
        return self.path / found

    def _sweep(self) -> None:
        """Delete what an interrupted compaction left."""
        current = {self.manifest.state["log"], self.manifest.state["derived"]}
        for entry in self.path.iterdir():
            if entry.name.startswith(("log-", "derived-")) and entry.name not in current:
                shutil.rmtree(entry, ignore_errors=True)

    def decide(self, pages: Sequence[Page] | Pages) -> list[Verdict]:
        """Decide on pages, in their order; all or none are kept."""
        self._keep_dictionary()
        if len(pages) == 1:
            decision = engine.decide(self.state, pages[0])
            position = self.log.append([encode(decision.record)])[0]
            engine.apply(self.state, decision, position)
            return [decision.verdict]
        together = pages if isinstance(pages, Pages) else Pages.of(pages)
        try:
            return Batch(self.state, together, partial(_write, self.state)).decide()
        except BaseException:
            self.reload()
            raise

    def _keep_dictionary(self) -> None:
        """Write a dictionary that was trained, twice: all later texts need it."""
        trained = self.state.evidence.codec.trained()
        if trained is not None:
            self.log.append([encode(Dictionary(0, trained))] * 2)
            self.state.evidence.codec.learn(trained)

    def reload(self) -> None:
        """Make the state again, as the log says."""
        for index in self.state.indexes:
            index.close()
        self._checkpoints = Checkpoints(self._place("derived"), self.settings, self.preparer, self.log,
                                        read_only=self.read_only)
        self.state = self._checkpoints.load(resolve(None))

    @contextlib.contextmanager
    def trusting(self) -> Iterator[None]:
        """Let the next opening make all derived files again, where one turns out to be damaged."""
        try:
            yield
        except CorruptFile as error:
            if self.read_only:
                raise
            self._checkpoints.drop()
            raise CorruptFile(f"{error}; close the store and open it again: then it is made again from its log") from error

    def checkpoint(self) -> None:
        """Write the derived files."""
        self.log.sync()
        self._checkpoints.write(self.state)

    def refresh(self) -> None:
        """Follow the writer, if this is a reader."""
        if not self.read_only:
            return
        manifest = Manifest.read(self.path)
        if manifest.state != self.manifest.state:
            self.manifest = manifest
            self._load(resolve(None))
            return
        self.log.refresh()
        if self._checkpoints.newer:  # which has on disk what this process would hold in memory
            self.reload()
            return
        self._checkpoints.replay(self.state, resolve(None))

    def check_open(self) -> None:
        """Raise ValueError if the store is closed."""
        if self.closed:
            raise ValueError(f"the store {os.fspath(self.path)!r} is closed; open it again")

    def check_writable(self) -> None:
        """Raise ValueError unless the store is open for writing."""
        self.check_open()
        if self.read_only:
            raise ValueError(f"the store {os.fspath(self.path)!r} was opened with read_only=True; open it without to write")

    def sizes(self) -> dict[str, Any]:
        """Return the bytes on disk, and how many pages were lost because their records were damaged."""
        found = {}
        for name in ("log", "derived"):
            total = 0
            for root, _, files in os.walk(self._place(name)):
                for file in files:
                    with contextlib.suppress(OSError):
                        total += Path(root, file).stat().st_size
            found[f"{name}_bytes"] = total
        return {**found, "lost": self.manifest.state.get("lost", 0)}

    def check(self, report: Progress) -> list[str]:
        """Read everything and return what is wrong."""
        from ndcore.store.checking import problems_of

        return problems_of(self.state, report)

    def compact(self, report: Progress) -> None:
        """Write the store anew with what is live, and without records that are damaged."""
        self.check_writable()
        try:
            self._write_anew(report, damaged=False)
        except CorruptFile:
            self._write_anew(report, damaged=True)
        self.checkpoint()

    def _write_anew(self, report: Progress, *, damaged: bool, missing: int = 0) -> None:
        """Write the live pages to a new log, and open it.

        damaged: decide on them again, as far as they can be read; missing: records that are known to be lost.
        """
        from ndcore.store.compaction import rewrite
        from ndcore.store.salvage import salvage

        number = 1 + max(int(self.manifest.state[name].rpartition("-")[2]) for name in ("log", "derived"))
        names = {"log": f"log-{number}", "derived": f"derived-{number}"}
        for name in names.values():
            shutil.rmtree(self.path / name, ignore_errors=True)
        log = Log.create(self.path / names["log"], self.manifest.tag)
        lost: list[str] = []
        if damaged:
            made = Checkpoints(self.path / names["derived"], self.settings, self.preparer, log, read_only=False)
            state = made.load(report)
            lost = salvage(self.state, state, partial(_write, state), report)
            made.write(state)
            for index in state.indexes:
                index.close()
        else:
            rewrite(self.state, log, report)
        log.sync()
        log.close()
        before = self.manifest.state.get("lost", 0)
        missing += len(lost) + (before if is_int(before) else 0)
        self.manifest = self.manifest.with_state(self.path, **names, lost=missing)
        self._release()
        self._load(report)
        self.checkpoint()

    def close(self) -> None:
        """Write a checkpoint where that spares reading, and close the files."""
        if self.closed:
            return
        try:
            if not self.read_only:
                self.log.sync()
                if self._checkpoints.behind:
                    self._checkpoints.write(self.state)
        finally:
            self.closed = True
            self._release()
            if self._lock is not None:
                self._lock.release()

    def _release(self) -> None:
        """Close the log and the indexes."""
        for index in self.state.indexes:
            index.close()
        self.log.close()


def _write(state: State, numbers: Sequence[int], payloads: Sequence[bytes]) -> None:
    """Write the records that wait to the log of a state, and tell the state where they are: `Write`."""
    positions = state.log.append(payloads)
    state.place(np.array(numbers, np.int64), np.array(positions, np.int64))
    state.cover(positions[-1] + 1)
