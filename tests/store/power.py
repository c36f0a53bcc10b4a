"""A record of what a program does to the files below a directory, and the states in which a loss of power may leave them.

Strict POSIX: bytes are on disk after an fsync of their file, names after an fsync of their directory, and nothing before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

STATES = ("strict", "names", "bytes", "holes", "all")


def _opened(descriptor: int) -> Path:
    """The path of an open file."""
    return Path(f"/proc/self/fd/{descriptor}").readlink()


class Trace:
    """Records calls of `os` that change files below a directory: `events` of (name, path, …), paths relative to it.

    Files that are written through Python's own buffers appear with their contents at their fsync, which is before they get
    the name that counts.
    """

    def __init__(self, root: Path, patch: Any) -> None:
        self.root, self.events = root, list[tuple[Any, ...]]()
        self._real = {name: getattr(os, name) for name in (
            "open", "pwrite", "ftruncate", "fsync", "fdatasync", "mkdir", "replace", "unlink", "rmdir")}
        for name in self._real:
            patch.setattr(os, name, getattr(self, f"_{name}"))

    def note(self, *what: Any) -> None:
        self.events.append(("note", *what))

    def _place(self, path: Any, dir_fd: int | None = None) -> str | None:
        """Return a path below the directory; None for others."""
        if isinstance(path, int):
            path = str(_opened(path)).removesuffix(" (deleted)")
        elif dir_fd is not None:
            path = _opened(dir_fd) / path
        path = Path(path).absolute()
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else None

    def _add(self, name: str, place: str | None, *more: Any) -> None:
        if place is not None:
            self.events.append((name, place, *more))

    def _open(self, path, flags, mode=0o777, *, dir_fd=None):
        place = self._place(path, dir_fd)
        there = place is not None and (self.root / place).exists()
        descriptor = self._real["open"](path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT and not there:
            self._add("create", place)
        elif flags & os.O_TRUNC:
            self._add("ftruncate", place, 0)
        return descriptor

    def _pwrite(self, descriptor, data, at):
        done = self._real["pwrite"](descriptor, data, at)
        self._add("pwrite", self._place(descriptor), at, bytes(data)[:done])
        return done

    def _ftruncate(self, descriptor, size):
        self._real["ftruncate"](descriptor, size)
        self._add("ftruncate", self._place(descriptor), size)

    def _fsync(self, descriptor):
        place = self._place(descriptor)
        if place is not None:
            if (self.root / place).is_file():
                self._add("content", place, (self.root / place).read_bytes())
            self._add("fsync", place)

    _fdatasync = _fsync

    def _mkdir(self, path, mode=0o777, *, dir_fd=None):
        self._real["mkdir"](path, mode, dir_fd=dir_fd)
        self._add("mkdir", self._place(path, dir_fd))

    def _replace(self, source, target):
        self._real["replace"](source, target)
        self._add("replace", self._place(source), self._place(target))

    def _unlink(self, path, *, dir_fd=None):
        place = self._place(path, dir_fd)
        self._real["unlink"](path, dir_fd=dir_fd)
        self._add("unlink", place)

    def _rmdir(self, path, *, dir_fd=None):
        place = self._place(path, dir_fd)
        self._real["rmdir"](path, dir_fd=dir_fd)
        self._add("unlink", place)


class Node:
    """A file or a directory: what the program sees, what is on disk, and the writes between both."""

    def __init__(self, directory: bool) -> None:
        self.directory = directory
        self.names, self.synced_names = dict[str, Node](), dict[str, Node]()
        self.content, self.synced = bytearray(), b""
        self.writes: list[tuple[int, bytes]] = []

    def files(self, state: str, at: str = "") -> dict[str, bytes | None]:
        """Return the files that are there after a loss of power, and directories as None."""
        found: dict[str, bytes | None] = {}
        for name, node in (self.synced_names if state in ("strict", "bytes") else self.names).items():
            if node.directory:
                found |= {at + name: None, **node.files(state, f"{at}{name}/")}
            else:
                found[at + name] = node.left(state)
        return found

    def left(self, state: str) -> bytes:
        """Return what is left of the bytes of a file."""
        if state in ("bytes", "all"):
            return bytes(self.content)
        content = bytearray(self.synced)
        if state == "holes":  # the first of the writes that were not synced is lost, those after it are not
            for at, data in self.writes[1:]:
                content.extend(bytes(max(0, at + len(data) - len(content))))
                content[at : at + len(data)] = data
        return bytes(content)


class Disk:
    """What a disk holds as the events of a trace go on."""

    def __init__(self) -> None:
        self.root = Node(True)

    def _node(self, place: str) -> Node:
        node = self.root
        for name in [] if place == "." else place.split("/"):
            node = node.names[name]
        return node

    def apply(self, name: str, place: str, *more: Any) -> None:
        parent, _, last = place.rpartition("/")
        above = self._node(parent or ".")
        if name in ("create", "mkdir"):
            above.names[last] = Node(name == "mkdir")
        elif name == "unlink":
            above.names.pop(last, None)  # a temporary file may never have been synced
        elif name == "replace":
            target, _, new = more[0].rpartition("/")
            self._node(target or ".").names[new] = above.names.pop(last)
        elif name == "content":
            node = above.names.setdefault(last, Node(False))
            if bytes(node.content) != more[0]:
                assert not node.writes
                node.content = bytearray(more[0])
        elif name == "pwrite":
            node, at, data = above.names[last], *more
            node.content.extend(bytes(max(0, at + len(data) - len(node.content))))
            node.content[at : at + len(data)] = data
            node.writes.append((at, data))
        elif name == "ftruncate":
            node = above.names[last]
            del node.content[more[0]:]
            node.writes = [(at, data[: max(0, more[0] - at)]) for at, data in node.writes if at < more[0]]
        else:
            assert name == "fsync"
            node = self._node(place)
            node.synced, node.writes, node.synced_names = bytes(node.content), [], dict(node.names)


def lay(files: dict[str, bytes | None], place: Path) -> None:
    """Make files in an empty directory."""
    for name, content in files.items():
        if content is None:
            (place / name).mkdir()
        else:
            (place / name).write_bytes(content)
