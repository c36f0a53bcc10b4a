"""Where documents come from: files, directories and streams, how they are named, and whether they stay as they are.

A *source* is one file (or one spooled stream). A directory becomes one source per regular file in it, sorted by path.
Every source has a name, which is its path below ``kept/`` in the output of ``ndcore dedup``.
"""

# Paths stay the strings that the user gave, and a large directory has no Path for each of its files.
# ruff: noqa: PTH100, PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH120, PTH123, PTH206

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from ndcore.collection.manifest import DESCRIPTION
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import Format, of_name, recognise
from ndcore.files.ndcore_files import COLLECTION, OUTPUT, SUMMARY, is_own_file, own_directory, own_remote, refuse_own
from ndcore.files.remote import beginnings, expanded, is_remote, listed
from ndcore.files.selection import Selection

STDIN = "-"
STDIN_NAME = "stdin.jsonl"

@dataclass(slots=True)
class Source:
    """One file of documents.

    Attributes
    ----------
    path : str
        What messages call it: the path as the user gave it.
    name : str
        Its path below ``kept/``; unique among the sources of a collection.
    label : str
        What ids are made of: the id of a text document, and ``<label>:<line>`` for records without an id.
    kind : str
        That of a `Format`; of a stream by its name, until it is read.
    compression : str
        That of a `Format`, and of what is written to ``kept/``.
    location : str
        The file to open: `path`, or the spool file of a stream.
    stored : str
        How `location` is compressed: like `compression`, save for spooled streams.
    seen : int
        Bytes of `location` that the pass under way has read, about; what a file has once it is read to its end.
    encoding, problem : str
        Those of its `Format`.
    named : bool
        Whether the input itself is this file; else it was found in a directory.
    """

    path: str
    name: str
    label: str
    kind: str
    compression: str
    location: str
    stored: str
    seen: int = 0
    encoding: str = ""
    problem: str = ""
    named: bool = True


class Ignored(NamedTuple):
    """Something in a directory that is no document and is passed over: where it is, and what it is."""

    path: str
    kind: str


@dataclass(slots=True)
class Inputs:
    """What a list of inputs stands for.

    Attributes
    ----------
    sources : list of Source
        In reading order.
    ignored : list of Ignored
        What directories hold and nobody asked to leave out: hidden files and folders, links to directories, sockets,
        devices, what ndcore wrote itself, and files that are no text.
    excluded : int
        Files and folders that patterns left out.
    companions : list of (str, str)
        Path, and name below ``kept/``, of ignored files that belong to the documents beside them.
    paths : list of str
        The inputs, patterns of URLs replaced by what they stand for.
    """

    sources: list[Source]
    ignored: list[Ignored] = field(default_factory=list)
    excluded: int = 0
    companions: list[tuple[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


def is_stream(path: str) -> bool:
    """Whether `path` can be read only once: standard input, a FIFO, a socket, a terminal."""
    if path == STDIN:
        return True
    mode = os.stat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def find(
    inputs: Sequence[str], accept: Collection[str] = (), selection: Selection | None = None, binary: bool = False
) -> Inputs:
    """Find the sources that `inputs` name, in the order given; directories are walked and sorted by path.

    Symbolic links to files are followed, links to directories are not (they are listed as ignored). The format of a file
    is that of its first bytes (`recognise`); in directories what is no text is ignored. URLs are read through fsspec:
    files, directories, and patterns.

    Parameters
    ----------
    inputs : sequence of str
    accept : collection of str
        What of ndcore's own may be an input: "sketches" (files of them) and "collection" (directories); each is a source of
        that kind.
    selection : Selection, optional
        Which files of directories are read. None: all but hidden ones.
    binary : bool
        Whether files that are no text are documents too, as their bytes are.

    Raises
    ------
    DocumentError
        An input does not exist or a directory cannot be listed.
    UsageError
        An input is given twice, or lies inside another one; it is of ndcore's own and not accepted.
    """
    selection = Selection() if selection is None else selection
    inputs = [item for path in inputs for item in (expanded(path) if is_url(path) else [path])]
    for path in inputs:
        if path != STDIN and not is_url(path) and not os.path.exists(path):
            raise DocumentError(path, None, _missing(path))
    refuse_overlaps(inputs)
    names = distinct_names(inputs)
    found = Inputs([], paths=inputs)
    for path, name in zip(inputs, names, strict=True):
        if is_url(path):
            _find_remote(path, name, f"{name}/" if len(inputs) > 1 else "", found, selection, binary)
            continue
        own = None if path == STDIN else refuse_own(path, accept)
        if own is not None:
            found.sources.append(Source(path, name, name, own, "", path, ""))
        elif path != STDIN and os.path.isdir(path):
            prefix = f"{name}/" if len(inputs) > 1 else ""
            _find_in_directory(path, name, prefix, found, selection, binary)
        else:
            found.sources.append(_single(path, name, binary))
    return found


def _missing(path: str) -> str:
    if os.path.islink(path):
        return f"symbolic link to {os.readlink(path)}, which does not exist"
    return "no such file or directory"


def _single(path: str, name: str, binary: bool) -> Source:
    if is_stream(path):
        kind, compression = of_name(name)
        return Source(path, name, name, kind or "text", compression, "", compression)
    return _source(path, name, name, format_of(path, binary), True)


def _source(path: str, name: str, label: str, found: Format, named: bool) -> Source:
    return Source(
        path, name, label, found.kind, found.compression, path, found.compression,
        encoding=found.encoding, problem=found.problem, named=named,
    )


def format_of(path: str, binary: bool = False) -> Format:
    """Return the format of a file by its first bytes; by its name alone where it cannot be read.

    With `binary`, what is no text is a text whose encoding nobody asks for.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            return _recognised(path, file, binary)
    except OSError:  # reported by who reads it
        kind, compression = of_name(path)
        return Format(kind or "text", compression)


def _recognised(name: str, file: IO[bytes], binary: bool) -> Format:
    found = recognise(name, file)
    if binary and found.kind == "text" and (found.binary or found.encoding):
        return found._replace(encoding="", problem="", binary="")
    return found


def starts_with(path: str, magic: bytes) -> bool:
    """Whether a file begins with `magic`; of a stream, which can be read only once, False. Raises DocumentError."""
    try:
        if is_stream(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise DocumentError(path, None, f"cannot be read: {error.strerror or error}") from error


def is_url(path: str) -> bool:
    """Whether an input is a URL, and no file that happens to be called so."""
    return is_remote(path) and not os.path.lexists(path)


def _find_remote(url: str, name: str, prefix: str, found: Inputs, selection: Selection, binary: bool) -> None:
    """Find the files of a URL. They are streams: the first pass copies them."""
    below = listed(url)
    own = _own_folders(url, below or (), selection)
    found.ignored.extend(Ignored(path, _OWN[kind]) for path, kind in own.values())
    chosen: list[tuple[str, str]] = []
    for path, relative in below or ():
        if any(relative.startswith(folder) for folder in own):
            continue
        ignored = _passed_over(relative, selection)
        if ignored == _EXCLUDED:
            found.excluded += 1
        elif ignored:
            found.ignored.append(Ignored(path, ignored))
        else:
            chosen.append((path, relative))
    descriptions = _descriptions([relative for _, relative in chosen])
    for path, relative in chosen:
        if relative in descriptions:
            found.companions.append((path, f"{name}/{relative}"))
            found.ignored.append(Ignored(path, "description of a dataset"))
    files = [(path, f"/{relative}") for path, relative in chosen if relative not in descriptions]
    files = [(url, "")] if below is None else files
    for (path, relative), head in zip(files, beginnings([path for path, _ in files]), strict=True):
        kind = _recognised(posixpath.basename(path), io.BytesIO(head), binary)
        if kind.binary and below is not None:
            found.ignored.append(Ignored(path, kind.binary))
        else:
            label = f"{prefix}{relative[1:]}" if relative else name
            source = _source(path, f"{name}{relative}", label, kind, below is None)
            source.location = ""
            found.sources.append(source)


def _own_folders(url: str, below: Sequence[tuple[str, str]], selection: Selection) -> dict[str, tuple[str, str]]:
    """Return URL and kind of the outermost folders that ndcore wrote, by their paths with ``/`` behind.

    UsageError where that is the directory itself.
    """
    marks = [pair for pair in below if posixpath.basename(pair[1]) in (DESCRIPTION, SUMMARY)]
    own: dict[str, tuple[str, str]] = {}
    heads = beginnings([path for path, _ in marks])
    for (path, relative), head in sorted(zip(marks, heads, strict=True), key=lambda item: item[0][1].count("/")):
        folder, _, name = relative.rpartition("/")
        kind = own_remote(name, head)
        if kind is None or not _entered(folder, selection) or any(relative.startswith(outer) for outer in own):
            continue
        if not folder:
            hint = "its documents are below kept/ or annotated/: name that" if kind == OUTPUT else "name the documents"
            raise UsageError(f"{url} is {_ARTICLES[kind]} {_OWN[kind]}, and no folder of documents; {hint}")
        own[f"{folder}/"] = path.removesuffix(f"/{name}"), kind
    return own


def _passed_over(relative: str, selection: Selection) -> str:
    """Why a file of a directory is not read, by its path alone; else empty."""
    if not selection.hidden and any(part.startswith(".") for part in relative.split("/")):
        return "hidden file"
    return "" if _entered(posixpath.dirname(relative), selection) and selection.reads(relative) else _EXCLUDED


def _entered(folder: str, selection: Selection) -> bool:
    """Whether files are looked for in a folder: it and those that it lies in are neither excluded nor hidden."""
    parts = folder.split("/") if folder else []
    if not selection.hidden and any(part.startswith(".") for part in parts):
        return False
    return all(selection.enters("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


def _find_in_directory(
    directory: str, name: str, prefix: str, found: Inputs, selection: Selection, binary: bool
) -> None:
    entries = sorted(_walk(directory, selection))
    belonging = _descriptions([relative for relative, ignored in entries if not ignored])
    for relative, ignored in entries:
        path = os.path.join(directory, relative)
        if ignored == _EXCLUDED:
            found.excluded += 1
            continue
        if relative in belonging:
            found.companions.append((path, f"{name}/{relative}"))
            ignored = "description of a dataset"
        if ignored:
            found.ignored.append(Ignored(path, ignored))
            continue
        kind = format_of(path, binary)
        if kind.binary:
            found.ignored.append(Ignored(path, kind.binary))
        else:
            found.sources.append(_source(path, f"{name}/{relative}", f"{prefix}{relative}", kind, False))


def _descriptions(files: list[str]) -> set[str]:
    """Return the files that describe Arrow files beside them, as ``save_to_disk`` of Hugging Face's ``datasets`` writes."""
    datasets = {posixpath.dirname(file) for file in files if file.endswith(".arrow")}
    splits = {posixpath.dirname(folder) for folder in datasets if folder}
    found = {posixpath.join(folder, name) for folder in datasets for name in ("state.json", "dataset_info.json")}
    found |= {posixpath.join(folder, "dataset_dict.json") for folder in splits}
    return found & set(files)


def _walk(directory: str, selection: Selection) -> Iterator[tuple[str, str]]:
    """Yield the relative path, and what it is if it is not read, of every file below `directory`, in no particular order.

    A folder that is not entered is one path.
    """
    pending = [""]
    while pending:
        below = pending.pop()
        here = os.path.join(directory, below) if below else directory
        try:
            entries = list(os.scandir(here))
        except OSError as error:
            raise DocumentError(here, None, f"cannot be listed: {error.strerror or error}") from error
        own = own_directory(Path(here), {entry.name for entry in entries} & {DESCRIPTION, SUMMARY}) if below else None
        if own is not None:
            yield below, _OWN[own]
            continue
        for entry in entries:
            relative = f"{below}/{entry.name}" if below else entry.name
            folder = entry.is_dir(follow_symlinks=False)
            if not selection.hidden and entry.name.startswith("."):
                yield relative, "hidden folder" if folder else "hidden file"
            elif not (selection.enters(relative) if folder else selection.reads(relative)):
                yield relative, _EXCLUDED
            elif folder:
                pending.append(relative)
            elif is_own_file(entry.path):
                yield relative, "file of ndcore"
            else:
                yield relative, "" if entry.is_file() or _dangling(entry) else _special(entry)


_EXCLUDED = "excluded"
_OWN = {COLLECTION: "collection of ndcore", OUTPUT: "output of ndcore dedup"}
_ARTICLES = {COLLECTION: "a", OUTPUT: "an"}


def _special(entry: os.DirEntry[str]) -> str:
    """What a directory entry is that is neither a file nor a directory."""
    if entry.is_dir():
        return "link to a directory"
    mode = entry.stat().st_mode
    return "FIFO" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"


def _dangling(entry: os.DirEntry[str]) -> bool:
    """A link to nothing is a document that cannot be read, not something to pass over in silence."""
    return entry.is_symlink() and not os.path.exists(entry.path)


def refuse_overlaps(inputs: Sequence[str]) -> None:
    """Raise UsageError where an input is given twice or lies inside another: its documents would be read twice.

    Patterns of URLs are to be expanded before.
    """
    local = [re.sub(r"^(?:file|local)://", "", path) if is_url(path) else path for path in inputs]
    real = [path if path == STDIN else os.path.realpath(path) for path in local]
    seen: dict[str, str] = {}
    for path, resolved in zip(inputs, real, strict=True):
        if resolved in seen:
            raise UsageError(f"the input {path!r} is given twice (also as {seen[resolved]!r}); name it once")
        seen[resolved] = path
    for path, resolved in zip(inputs, real, strict=True):
        parent = "" if path == STDIN else os.path.dirname(resolved)
        while parent and parent != os.path.dirname(parent):
            if parent in seen:
                raise UsageError(f"the input {path!r} lies inside the input {seen[parent]!r}; name only one of them")
            parent = os.path.dirname(parent)


def distinct_names(inputs: Sequence[str]) -> list[str]:
    """One name per input: the shortest trailing path that tells it from the others, and below none of them.

    >>> distinct_names(["2024/a.jsonl", "2025/a.jsonl", "b.jsonl"])
    ['2024/a.jsonl', '2025/a.jsonl', 'b.jsonl']
    """
    parts = [_parts(path) for path in inputs]
    depth = [1] * len(parts)
    while True:
        names = [tuple(p[-d:]) for p, d in zip(parts, depth, strict=True)]
        clashes = _clashes(names)
        grown = [i for i in clashes if depth[i] < len(parts[i])]
        if not grown:
            return ["/".join(name) for name in names]
        for i in grown:
            depth[i] += 1


def _parts(path: str) -> list[str]:
    if path == STDIN:
        return [STDIN_NAME]
    if is_url(path):
        path = re.sub(r"^.*://|[?#].*$", "/", path)
    parts = [part for part in os.path.abspath(path).split(os.sep) if part] or ["root"]
    if not os.path.isdir(path) and os.path.exists(path) and is_stream(path) and of_name(path)[0] in ("", "text"):
        parts[-1] += ".jsonl"
    return parts


def _clashes(names: list[tuple[str, ...]]) -> list[int]:
    owners: dict[tuple[str, ...], list[int]] = {}
    for i, name in enumerate(names):
        owners.setdefault(name, []).append(i)
    clashing = {i for group in owners.values() if len(group) > 1 for i in group}
    for i, name in enumerate(names):
        for length in range(1, len(name)):
            if name[:length] in owners:
                clashing.update(owners[name[:length]], [i])
    return sorted(clashing)


def stamp(status: os.stat_result) -> tuple[int, int, int]:
    """What tells that a file is still the one that was read first: size, modification time (ns), inode."""
    return status.st_size, status.st_mtime_ns, status.st_ino & (2**63 - 1)
